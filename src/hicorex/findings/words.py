"""What there is to tell of a model in words: the one place where numbers and reasons become sentences."""

from typing import TYPE_CHECKING

from hicorex.bounds.pairs.result import ResidualPair
from hicorex.findings.description import BY_GAUSSIAN, BY_PAIRS, Description, FactorDescription, description
from hicorex.findings.numbers import count, short
from hicorex.findings.reasons import why_no_upper
from hicorex.findings.states import StateDescription
from hicorex.findings.text import fill
from hicorex.selection.folds import FEWEST_SAMPLES

if TYPE_CHECKING:
    from hicorex.bounds.result import Bounds
    from hicorex.estimators.base import LayeredEstimator

# The number of variables that introduce a factor, and of factors of a layer that the summary lists.
FEW, MOST_FACTORS = 5, 10
# The number of factors of the first layer whose states it describes, and of these states.
MOST_DESCRIBED, MOST_STATES = 3, 6
# The columns of a phrase on a variable in a state, or on a pair.
PHRASE_WIDTH = 72

NOTHING = (
    "Nothing is explained: what the factors tell of how the variables depend on each other is no more than they cost. "
    "The variables may be independent. Otherwise: does a value such as -999 stand for a missing one? Are there sums or "
    "notes among the rows? Do numbers have heavy tails, for which there is the kind rank?"
)


def summary(model: "LayeredEstimator") -> str:
    """A dozen lines in plain words: how much is explained, and by what."""
    told = description(model)
    lines = fill(heading(told)) + fill(how_much(told))
    if told.explains:
        for layer in range(1, len(told.layers) + 1):
            lines += ["", *_about_layer(layer, told)]
        if told.pairs:
            lines += ["", *_about_pairs(told.pairs)]
        if told.unassigned:
            lines += ["", *_about_unassigned(told.unassigned)]
    if told.chance_above:
        lines += ["", *fill(no_further_layer(told))]
    return "\n".join(lines)


def heading(told: Description) -> str:
    """How large the table and the model are."""
    sizes = told.layers
    shape = f"{count(sum(sizes), 'factor')} in {count(len(sizes), 'layer')}"
    if len(sizes) > 1:
        shape += f" ({', '.join(map(str, sizes))})"
    return f"{count(told.n_samples, 'sample')}, {count(told.n_variables, 'variable')}; {shape}."


def how_much(told: Description) -> str:
    """How much is explained, and how sure that is; or that it is nothing."""
    if not told.explains:
        return NOTHING
    bounds = told.bounds
    text = _lower_bound(told)
    if bounds.upper is None:
        text += f" There is no upper bound: {why_no_upper(bounds.no_upper)}."
    else:
        text += f" The total correlation is at most {short(bounds.upper)} nats."
    text += how_much_there_is(told)
    if told.n_stable is not None:
        come = "comes" if told.n_stable == 1 else "come"
        text += f" {told.n_stable:,} of {count(len(told.used), 'factor')} {come} back in fits to halves of the samples."
    if len(told.unassigned) == told.n_variables:
        text += " No link of a variable to a factor is significant: all of it may be chance."
    return text


def how_much_there_is(told: Description) -> str:
    """How much dependence there is at least, and the share of the factors; nothing where nobody has looked further."""
    there = told.dependence
    known = told.cross_fitted or told.bounds
    if there.by == BY_PAIRS:
        return f" {how_much_with_pairs(known)}"
    if there.by == BY_GAUSSIAN:
        text = (
            f" There are at least {short(there.lower)} nats (standard error {short(there.stderr, 2)}) of dependence, "
            "as a Gaussian factor model of the numbers shows: the factors explain "
            f"{short(there.explained)}, {there.share:.0%} of it"
        )
        if told.with_pairs is not None and known.lower_with_pairs is not None:
            text += f", and single pairs of variables another {short(known.lower_with_pairs - there.explained)}"
        return f"{text}."
    if there.share is None or known.lower_with_pairs is None:
        return ""
    others = " and a Gaussian factor model of the numbers" if known.lower_gaussian is not None else ""
    return f" Single pairs of variables{others} show no more dependence than that."


def how_much_with_pairs(bounds: "Bounds") -> str:
    """How much dependence there is at least, by factors and pairs of variables, and the share of the factors."""
    assert bounds.lower_with_pairs is not None
    there = f"{short(bounds.lower_with_pairs)} nats (standard error {short(bounds.lower_with_pairs_stderr, 2)})"
    share = max(bounds.lower, 0) / bounds.lower_with_pairs
    return (
        f"There are at least {there} of dependence: the factors explain {short(max(bounds.lower, 0))}, {share:.0%} of "
        f"it, and single pairs of variables another {short(bounds.lower_with_pairs - max(bounds.lower, 0))}."
    )


def _lower_bound(told: Description) -> str:
    """The bound to rely on, or why there is none, and beside it that of the samples of the fit."""
    in_sample, crossed, samples = _nats(told.bounds), told.cross_fitted, count(told.n_samples, "sample")
    of_fit = f"On the samples of the fit, as all figures below, it is {in_sample}"
    if crossed is None and told.n_samples < FEWEST_SAMPLES:
        text = f"{samples} are too few to hold some of them out, and so to tell how much is explained. {of_fit}."
    elif crossed is None:
        text = (
            f"On the samples of the fit the factors explain {in_sample} of the total correlation, the dependence among "
            "the variables. This is too high where samples are few: it was not cross-fitted, so that nobody knows how "
            "much of it other samples would show."
        )
    elif told.is_sure:
        text = (
            f"The factors explain at least {_nats(crossed)} of the total correlation, the dependence among the "
            f"variables: so much models of this size explain of samples that they were not fitted to. {of_fit}."
        )
    else:
        text = (
            f"{samples} are too few: held-out samples show nothing that can be told. Of samples that they were not "
            f"fitted to, models of this size explain {_nats(crossed)}. {of_fit}, which may be all chance."
        )
    shown, n_layers = crossed or told.bounds, len(told.layers)
    if shown.depth < n_layers:
        text += f" The bound counts {shown.depth} of the {n_layers} layers, since the others add nothing."
    return text


def _nats(bounds: "Bounds") -> str:
    return f"{short(bounds.lower)} nats (standard error {short(bounds.lower_stderr, 2)})"


def no_further_layer(told: Description) -> str:
    """Why there is no further layer; nothing for a model that has but one."""
    return f"There is no further layer: {told.stop_reason}." if told.stop_reason else ""


def members_of(row: FactorDescription) -> str:
    """How many variables or factors have a factor as their main one."""
    noun = "variable" if row.layer == 1 else "factor"
    return count(row.n_variables, noun) if row.n_variables else f"main factor of no {noun}"


def _about_layer(layer: int, told: Description) -> list[str]:
    rows = told.of_layer(layer)
    used = [row for row in rows if row.explains]
    lines = [f"Layer {layer}: {count(len(rows), 'factor')} of {rows[0].states} states"]
    for row in used[:MOST_FACTORS]:
        start = f"{row.factor}: {short(row.explains)} nats, {members_of(row)}, led by"
        lines += fill(start, row.leading(FEW), "  ")
        if layer == 1 and row in used[:MOST_DESCRIBED]:
            lines += _about_states(told.states_of(row.factor))
    if len(used) > MOST_FACTORS:
        lines += fill(f"and {len(used) - MOST_FACTORS:,} more", indent="  ")
    if len(used) < len(rows):
        lines += fill(f"{count(len(rows) - len(used), 'factor')} left empty", indent="  ")
    return lines


def _about_states(states: list[StateDescription]) -> list[str]:
    """What the states of a factor are, a line or two each."""
    lines = []
    for state in states[:MOST_STATES]:
        share = "less than 1%" if state.probability < 0.005 else f"{state.probability:.0%}"
        lines += fill(f"state {state.state}, {share} of samples:", state.phrases, "    ", PHRASE_WIDTH)
    if len(states) > MOST_STATES:
        lines += fill(f"and {count(len(states) - MOST_STATES, 'more state')}", indent="    ")
    return lines


def _about_pairs(pairs: list[ResidualPair]) -> list[str]:
    lines = ["Beyond the factors:"]
    for pair in pairs[:FEW]:
        said = (pair.variable, f" {pair.kind} ", pair.other, f": {short(pair.gain, 2)} nats")
        lines += fill("", [said], "  ", PHRASE_WIDTH)
    return lines + (fill(f"and {count(len(pairs) - FEW, 'more pair')}", indent="  ") if len(pairs) > FEW else [])


def _about_unassigned(names: list[str]) -> list[str]:
    more = ["..."] if len(names) > FEW else []
    return fill(f"{count(len(names), 'variable')} without a significant link to a factor:", [*names[:FEW], *more])
