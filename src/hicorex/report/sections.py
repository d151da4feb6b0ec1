"""The sections of the report, each as HTML."""

import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import hicorex
from hicorex.findings.description import Description, FactorDescription
from hicorex.findings.numbers import count, short
from hicorex.findings.reasons import why_this_size
from hicorex.findings.text import shortened
from hicorex.findings.words import heading, how_much, members_of, no_further_layer
from hicorex.fitted.surprise import UNUSUAL
from hicorex.input.column_kinds import KINDS, ColumnDecision
from hicorex.input.words import reason_in_words
from hicorex.plot import bounds as draw_bounds
from hicorex.plot import convergence as draw_convergence
from hicorex.plot import sizing as draw_sizing
from hicorex.plot.bounds import layer_parts
from hicorex.plot.pointwise import draw_pointwise
from hicorex.plot.sorted_data import sorted_image
from hicorex.report.figures import inline_png, inline_svg
from hicorex.report.map import Map
from hicorex.report.markup import Markup, element, joined, shown
from hicorex.report.odd import Telling, name_cell, telling_values
from hicorex.report.parts import (
    factor_button,
    figure,
    long_head,
    note,
    number_cell,
    scrolling_table,
    side_by_side,
    sortable_heads,
    terms,
)
from hicorex.report.samples import (
    SURPRISING,
    UNUSUAL_NAMED,
    USUAL,
    Samples,
    Surprising,
    Unusual,
    surprising_samples,
    unusual_samples,
)
from hicorex.support.names import factor_name
from hicorex.support.printing import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hicorex.estimators.base import LayeredEstimator

# Factors that the table lists, variables that lead each of them, and factors that the summary names.
MOST_ROWS, LEADING, NAMED = 1000, 6, 5
# Columns of the file that are listed, and cells of a side of the images, which are no place to read values off.
MOST_COLUMNS, MOST_CELLS = 300, 400
WORDS = {
    "total correlation": "how much the variables depend on each other, all together; 0 if they are independent",
    "nat": "the unit of it: two copies of a fair coin share 0.69 nats, which is one bit",
    "factor": "something hidden that is in one of a few states in each sample, and that variables follow",
    "alpha": "how far a variable belongs to a factor, from 0 to 1",
    "weight": "of a link: alpha times what the factor knows of the variable, in nats",
    "surprise": "how far a sample is from what is usual, in standard deviations",
}
CROSS_FITTED = (
    "The picture is of the cross-fitted bound: models of these sizes were fitted to some of the samples and evaluated "
    "on the others. That of the samples of the fit, beside it, is too high where samples are few."
)
COMES_BACK = (
    "How much a factor comes back in fits to halves of the samples goes from 0 to 1; from 0.5 on it is called stable."
)
OF_THE_FIT = "It is that of the samples of the fit, which is too high where samples are few."
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "matplotlib")


def summary(told: Description, nodes: dict[str, int]) -> Markup:
    """What the model has learned in words, with the factors that explain most."""
    pieces = [element("p", heading(told)), element("p", how_much(told))]
    if told.chance_above:
        pieces.append(element("p", no_further_layer(told)))
    first = [row for row in told.of_layer(1) if row.explains]
    if first and told.explains:
        items = []
        for row in first[:NAMED]:
            words = f" explains {short(row.explains)} nats ({members_of(row)}): {_leading(row)}"
            items.append(element("li", factor_button(row.factor, nodes), words))
        pieces += [element("p", "The factors that explain most:"), element("ul", *items)]
    loose = told.unassigned
    if loose:
        names = ", ".join(shown(name) for name in loose[:LEADING]) + (", \u2026" if len(loose) > LEADING else "")
        pieces.append(element("p", f"{count(len(loose), 'variable')} without a significant link: {names}"))
    return joined([*pieces, element("details", element("summary", "What the words mean"), terms(WORDS))])


def _leading(row: FactorDescription) -> str:
    return ", ".join(shown(name) for name in row.leading(LEADING))


def map_note(drawn: Map, told: Description) -> str:
    """How to read the map, and what is not on it."""
    text = (
        "Variables are on the outside, each factor next to those that belong to it most. The width of a link is "
        "alpha \u00d7 mutual information; the size of a factor is what it explains, on it stands its number or how "
        "its name begins. "
        "Variables without a significant link are hollow. Click a factor or a variable for details; drag to move, use "
        "the buttons, or the wheel after a click or with Ctrl, to zoom."
    )
    left_out = drawn.n_links - len(drawn.payload["below"])
    missing = told.n_variables - len(drawn.variables)
    if drawn.payload["weak"] is not None:
        text += " Factors that do not come back in fits to halves of the samples are pale, such links dashed."
    if left_out:
        text += f" Of {count(drawn.n_links, 'link')}, the {len(drawn.payload['below']):,} strongest are shown."
    if missing:
        text += f" Not on it, since without {'such ' if left_out else ''}a link: {count(missing, 'variable')}."
    return text


def factors(told: Description, nodes: dict[str, int]) -> Markup:
    """The table of factors, in which people can type names for them."""
    rows = []
    numbered = [factor_name(k, j) for k, size in enumerate(told.layers, start=1) for j in range(size)]
    for row, called in zip(told.factors[:MOST_ROWS], numbered, strict=False):
        cells = [element("td", factor_button(row.factor, nodes))]
        cells += [element("td", number, class_="number") for number in (row.layer, row.states)]
        cells += [number_cell(number) for number in (row.explains, row.contribution, row.contribution_stderr)]
        if row.reproducibility is not None:
            cells.append(number_cell(row.reproducibility, f"{row.reproducibility:.2f}"))
        cells += [element("td", row.n_variables, class_="number"), element("td", _leading(row))]
        given = "" if row.factor == called else row.factor
        label = f"Name of {row.factor}"
        field = element("input", type="text", value=given, maxlength=200, data_name=called, aria_label=label)
        cells.append(element("td", field, class_="name"))
        rows.append(element("tr", *cells))
    measured = [] if told.factors[0].reproducibility is None else ["comes back"]
    names = ("layer", "states", "explains", "lost without it", "std. error", *measured, "variables")
    head = sortable_heads("factor", *names)
    n = len(told.factors)
    more = f" The {MOST_ROWS:,} first of {n:,} factors are listed." if n > MOST_ROWS else ""
    words = (
        "In nats, on the samples of the fit: what a factor explains, and what the lower bound would lose without it, "
        "with its standard error. That is less where other factors could stand in for it, and more where it completes "
        "what they tell of a variable. "
        f"{COMES_BACK if measured else ''}{more}"
    )
    field = element("input", type="search", id="filter", placeholder="words")
    save = element("button", "save names", type="button", id="save-names")
    how = " Names typed in the last column can be saved to a file, which hicorex edit MODEL --names FILE takes."
    heads = joined([head, long_head("led by"), long_head("name")])
    status = element("span", count(len(rows), "factor"), id="factors-shown", role="status")
    return joined(
        [
            note(words + how),
            element("p", element("label", "Filter ", field), " ", status, " ", save, class_="filter"),
            scrolling_table(heads, rows, tall=True, id="factors", class_="sortable"),
        ]
    )


def explained(model: "LayeredEstimator", told: Description) -> Markup:
    """The bounds as a picture and by layer."""
    bounds, crossed = told.bounds, told.cross_fitted
    picture = inline_svg(lambda ax: draw_bounds(crossed or bounds, ax=ax), "Bounds on the total correlation", 8, 2.4)
    heads = ["layer", "factors", "cross-fitted bound up to here", "adds", "of the samples of the fit", "adds"]
    both = [bounds] if crossed is None else [crossed, bounds]
    heads = heads if crossed is not None else [*heads[:2], *heads[4:]]
    rows = []
    for k, row in enumerate(bounds.layers):
        cells = [element("td", shown(row.name)), element("td", row.n_factors, class_="number")]
        for of in both:
            parts = layer_parts(of)
            adds = number_cell(parts[k]) if k < len(parts) else element("td", "does not count", class_="number")
            cells += [number_cell(of.layers[k].lower), adds]
        rows.append(element("tr", *cells))
    entropy = ""
    if bounds.entropy_lower is not None:
        lower, upper = short(bounds.entropy_lower), short(bounds.entropy_upper)
        entropy = element("p", f"The entropy of the table is between {lower} and {upper} nats.")
    head = joined(element("th", name, scope="col", class_="number" if i else None) for i, name in enumerate(heads))
    words = (
        "What the layers explain adds up to a lower bound on the total correlation; the whiskers are one standard "
        "error. A layer counts as long as it raises the bound. "
        f"{CROSS_FITTED if crossed is not None else OF_THE_FIT}"
        " An upper bound, where there is one, tells how much can be left at most."
    )
    return joined([element("p", words), figure(picture), entropy, scrolling_table(head, rows)])


def samples(model: "LayeredEstimator", told: Description, given: Samples | None, nodes: dict[str, int]) -> Markup:
    """Point-wise total correlation, the surprising samples and why, and the sorted table as a picture."""
    if given is None:
        return note("The report was made without samples: give them to see which are surprising.")
    total = given.log_z.sum(axis=1)
    surprise = model.fitted_.usual.of_samples(total)
    picture = inline_svg(
        lambda ax: draw_pointwise(total, surprise, index=given.rows, ax=ax), "Point-wise total correlation", 9, 3.2
    )
    spread = f", evenly spread over {given.n_all:,}" if given.n_all > len(total) else ""
    surprising, unusual = surprising_samples(model, given, total, surprise), unusual_samples(model, given, total)
    of_surprising = telling_values(
        model, given, [row.row for row in surprising], [row.surprise < 0 for row in surprising]
    )
    of_unusual = telling_values(model, given, [row.row for row in unusual], [True] * len(unusual))
    before, after = sorted_image(model, given.X, given.states, MOST_CELLS)
    words = (
        f"{count(len(total), 'sample')}{spread}; the model was fitted to {count(told.n_samples, 'sample')}. "
        "How much of each sample the factors explain is its point-wise total correlation. Far below what is usual, a "
        "sample breaks the dependence that the model has learned; far above, it follows it unusually strongly."
    )
    return joined(
        [
            element("p", words),
            figure(picture),
            element("h3", "The most surprising samples"),
            _surprising(surprising, of_surprising, shown(given.title), nodes),
            element("h3", "The most unusual samples as a whole"),
            _unusual(unusual, of_unusual, shown(given.title)),
            element("h3", "The table, sorted"),
            note("Rows are samples, columns variables; from low (blue) to high (red), grey where values are missing."),
            side_by_side(
                figure(inline_png(before, "The table as it came"), "As it came"),
                figure(inline_png(after, "The table sorted by factors"), "Rows sorted by states, columns by factor"),
            ),
        ]
    )


def _surprising(found: list[Surprising], telling: list[Telling], title: str, nodes: dict[str, int]) -> Markup:
    """The table of surprising samples, with what their values tell; ``title`` says what their names are."""
    if not found:
        return element("p", f"None is {USUAL} standard deviations from what is usual.")
    rows = []
    for sample, values in zip(found, telling, strict=True):
        reasons = [joined([factor_button(why.factor, nodes), f" ({why.deviation:+.1f})"]) for why in sample.reasons]
        numbers = number_cell(sample.total_correlation), number_cell(sample.surprise, f"{sample.surprise:+.1f}")
        rows.append(element("tr", name_cell(sample.name, values), *numbers, element("td", joined(reasons, ", "))))
    words = (
        f"Those {USUAL} standard deviations or more from the mean of the fit, at most {SURPRISING}; in parentheses, "
        "the surprise of each factor which says so most. A click on a name shows the values that say so."
    )
    heads = joined([sortable_heads(title, "total correlation", "surprise"), long_head("factors that say so")])
    return joined([note(words), scrolling_table(heads, rows, tall=True, id="surprising", class_="sortable")])


def _unusual(found: list[Unusual], telling: list[Telling], title: str) -> Markup:
    """The table of samples of much surprisal, with what their values tell; ``title`` says what their names are."""
    if not found:
        return element("p", f"None is {UNUSUAL} standard deviations or more from what is usual.")
    rows = [
        element(
            "tr",
            name_cell(row.name, values),
            *map(number_cell, (row.odd_values, row.odd_combination)),
            element("td", f"odd {row.which}"),
        )
        for row, values in zip(found, telling, strict=True)
    ]
    words = (
        f"Those that are {UNUSUAL} standard deviations or more less likely than usual, at most {UNUSUAL_NAMED}: "
        "because single values are rare, or because the values go together badly, in nats beyond what is usual. Below "
        "0 a sample is less odd than usual in this way. A click on a name shows its odd values."
    )
    heads = joined([sortable_heads(title, "by its values", "by their combination"), long_head("which is more")])
    return joined([note(words), scrolling_table(heads, rows, tall=True, id="unusual", class_="sortable")])


def convergence(model: "LayeredEstimator") -> Markup:
    """The objective at each iteration, layer by layer."""
    pieces = []
    for k in range(1, len(model.fitted_.layers) + 1):
        title = f"Objective of layer {k} by iteration"
        picture = inline_svg(partial(_draw_layer, model, k), title, 4.5, 2.8)
        pieces.append(figure(picture, f"Layer {k}"))
    return joined([side_by_side(*pieces), _sizes(model)])


def _sizes(model: "LayeredEstimator") -> Markup:
    """What other sizes would explain, for each layer whose size was chosen, and why it was."""
    pieces = []
    for k, layer in enumerate(model.fitted_.layers, start=1):
        if layer.sizing is not None:
            title = f"Sizes tried for layer {k}"
            picture = inline_svg(partial(_draw_sizes, model, k), title, 4.5, 2.8)
            pieces.append(figure(picture, f"Layer {k}: {why_this_size(layer.sizing)}"))
    return joined([element("h3", "Sizes tried"), side_by_side(*pieces)] if pieces else [])


def _draw_sizes(model: "LayeredEstimator", layer: int, ax: "Axes") -> None:
    draw_sizing(model, layer=layer, ax=ax)


def _draw_layer(model: "LayeredEstimator", layer: int, ax: "Axes") -> None:
    draw_convergence(model, layer=layer, ax=ax)


def made(model: "LayeredEstimator", told: Description, decisions: Sequence[ColumnDecision]) -> Markup:
    """Parameters, versions, and what was made of the columns of the file."""
    parameters = {name: value for name, value in model.get_params().items() if name != "marginals"}
    kinds = model.fitted_.layers[0].encoder.kinds
    parameters["marginals"] = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in sorted(set(kinds)))
    seed = "" if model.random_state is not None else " Without a random_state, each fit begins elsewhere."
    versions = {"hicorex": hicorex.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    words = (
        f"{no_further_layer(told)} The same table, parameters, random_state and versions give the same model, whatever "
        f"the number of threads.{seed}"
    )
    return joined(
        [
            element("p", words.strip()),
            element("h3", f"Parameters of {type(model).__name__}"),
            terms({name: shown(value) for name, value in parameters.items()}),
            element("h3", "Versions"),
            terms(versions),
            _columns(decisions),
        ]
    )


def _columns(decisions: Sequence[ColumnDecision]) -> str:
    """What was made of each column, those that are not used first."""
    if not decisions:
        return ""
    order = sorted(decisions, key=lambda decision: decision.kind in KINDS)
    rows = [
        element(
            "tr",
            element("td", shown(decision.name)),
            element("td", decision.kind),
            element("td", f"{decision.missing:.1%}", class_="number"),
            element("td", shortened(printable(reason_in_words(decision)), 200)),
        )
        for decision in order[:MOST_COLUMNS]
    ]
    rest = len(order) - MOST_COLUMNS
    more = note(f"and {count(rest, 'more column')}") if rest > 0 else ""
    heads = joined(element("th", name, scope="col") for name in ("column", "read as", "missing", "why"))
    return joined([element("h3", "Columns of the file"), scrolling_table(heads, rows, tall=True, id="columns"), more])
