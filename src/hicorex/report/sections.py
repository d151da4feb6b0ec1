"""The sections of the report, each as HTML."""

import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import hicorex
from hicorex.findings.description import Description, FactorDescription
from hicorex.findings.text import shortened
from hicorex.findings.words import count, heading, how_much, members_of, no_further_layer, short
from hicorex.input.column_kinds import KINDS, ColumnDecision
from hicorex.input.words import reason_in_words
from hicorex.plot import bounds as draw_bounds
from hicorex.plot import convergence as draw_convergence
from hicorex.plot.bounds import layer_parts
from hicorex.plot.pointwise import draw_pointwise
from hicorex.plot.sorted_data import sorted_image
from hicorex.printing import printable
from hicorex.report.contents import SURPRISING, USUAL, Map, Samples, shown, surprising_samples
from hicorex.report.figures import inline_png, inline_svg
from hicorex.report.markup import Markup, element, joined

if TYPE_CHECKING:
    from hicorex.base import LayeredEstimator

# Factors that the table lists, variables that lead each of them, and factors that the summary names.
MOST_ROWS, LEADING, NAMED = 1000, 6, 5
# Columns of the file that are listed, and cells of a side of the images, which are no place to read values off.
MOST_COLUMNS, MOST_CELLS = 300, 400
WORDS = {
    "total correlation": "how much the variables depend on each other, all together; 0 if they are independent",
    "nat": "the unit of it: two copies of a fair coin share 0.69 nats, which is one bit",
    "factor": "something hidden that is in one of a few states in each sample, and that variables follow",
    "alpha": "the share in which a variable belongs to a factor, from 0 to 1",
    "weight": "of a link: alpha times what the factor knows of the variable, in nats",
    "surprise": "how far a sample is from what is usual, in standard deviations",
}
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "matplotlib")


def _number(x: float | None, shown: str | None = None) -> Markup:
    """A cell of a table that sorts by the whole number."""
    whole = "-Infinity" if x is None else repr(x)
    return element("td", short(x) if shown is None else shown, class_="number", data_value=whole)


def _sortable(first: str, *numbers: str) -> Markup:
    """The heads of columns that sort: a name and then numbers."""
    heads = [element("th", _button(first), scope="col")]
    heads += [element("th", _button(name), scope="col", class_="number", data_number=True) for name in numbers]
    return joined(heads)


def _button(*inside: Any, **attributes: Any) -> Markup:
    return element("button", *inside, type="button", **attributes)


def _factor(name: str, nodes: dict[str, int]) -> str:
    """The name of a factor, which opens its panel if the map has it."""
    return _button(name, class_="link", data_factor=nodes[name]) if name in nodes else name


def _table(heads: Markup, rows: Sequence[Markup], tall: bool = False, **attributes: Any) -> Markup:
    """A table that scrolls by itself where there is little room."""
    table = element("table", element("thead", element("tr", heads)), element("tbody", *rows), **attributes)
    return element("div", table, class_="tall scroll" if tall else "scroll")


def summary(told: Description, nodes: dict[str, int]) -> Markup:
    """What was found in words, with the factors that explain most."""
    pieces = [element("p", heading(told)), element("p", how_much(told))]
    if told.chance_above:
        pieces.append(element("p", no_further_layer(told)))
    first = [row for row in told.of_layer(1) if row.explains]
    if first and told.explains:
        items = []
        for row in first[:NAMED]:
            words = f" explains {short(row.explains)} nats ({members_of(row)}): {_leading(row)}"
            items.append(element("li", _factor(row.factor, nodes), words))
        pieces += [element("p", "The factors that explain most:"), element("ul", *items)]
    loose = told.unassigned
    if loose:
        names = ", ".join(shown(name) for name in loose[:LEADING]) + (", \u2026" if len(loose) > LEADING else "")
        pieces.append(element("p", f"{count(len(loose), 'variable')} without a significant link: {names}"))
    return joined([*pieces, element("details", element("summary", "What the words mean"), _pairs(WORDS))])


def _leading(row: FactorDescription) -> str:
    return ", ".join(shown(name) for name in row.leading(LEADING))


def map_note(drawn: Map, told: Description) -> str:
    """How to read the map, and what is not on it."""
    text = (
        "Variables are on the outside, each factor next to those that belong to it most. The width of a link is "
        "alpha \u00d7 mutual information; the size of a factor is what it explains, the number on it that of its name. "
        "Variables without a significant link are hollow. Click a factor or a variable for details; drag to move, use "
        "the buttons, or the wheel after a click or with Ctrl, to zoom."
    )
    left_out = drawn.n_links - len(drawn.payload["below"])
    missing = told.n_variables - len(drawn.variables)
    if left_out:
        text += f" Of {count(drawn.n_links, 'link')}, the {len(drawn.payload['below']):,} strongest are shown."
    if missing:
        text += f" Not on it, since without {'such ' if left_out else ''}a link: {count(missing, 'variable')}."
    return text


def factors(told: Description, nodes: dict[str, int]) -> Markup:
    """The table of factors."""
    rows = []
    for row in told.factors[:MOST_ROWS]:
        cells = [element("td", _factor(row.factor, nodes))]
        cells += [element("td", number, class_="number") for number in (row.layer, row.states)]
        cells += [_number(number) for number in (row.explains, row.contribution, row.contribution_stderr)]
        cells += [element("td", row.n_variables, class_="number"), element("td", _leading(row))]
        rows.append(element("tr", *cells))
    head = _sortable("factor", "layer", "states", "explains", "lost without it", "std. error", "variables")
    n = len(told.factors)
    more = f" The {MOST_ROWS:,} first of {n:,} factors are listed." if n > MOST_ROWS else ""
    note = (
        "In nats: what a factor explains, and what the lower bound would lose without it, which is less where others "
        f"could stand in for it, with its standard error.{more}"
    )
    field = element("input", type="search", id="filter", placeholder="words")
    status = element("span", count(len(rows), "factor"), id="factors-shown", role="status")
    return joined(
        [
            _note(note),
            element("p", element("label", "Filter ", field), " ", status, class_="filter"),
            _table(joined([head, _long("led by")]), rows, tall=True, id="factors", class_="sortable"),
        ]
    )


def explained(model: "LayeredEstimator", told: Description) -> Markup:
    """The bounds as a picture and by layer."""
    picture = inline_svg(lambda ax: draw_bounds(model, ax=ax), "Bounds on the total correlation", 8, 2.4)
    bounds = told.bounds
    heads = ("layer", "factors", "lower bound up to here", "adds")
    rows = []
    for row, added in zip_longest(bounds.layers, layer_parts(bounds)):
        adds = element("td", "does not count", class_="number") if added is None else _number(added)
        size = element("td", row.n_factors, class_="number")
        rows.append(element("tr", element("td", shown(row.name)), size, _number(row.lower), adds))
    entropy = ""
    if bounds.entropy_lower is not None:
        lower, upper = short(bounds.entropy_lower), short(bounds.entropy_upper)
        entropy = element("p", f"The entropy of the table is between {lower} and {upper} nats.")
    head = joined(element("th", name, scope="col", class_="number" if i else None) for i, name in enumerate(heads))
    words = (
        "What the layers explain adds up to a lower bound on the total correlation; the whiskers are one standard "
        "error. A layer counts as long as it raises the bound. An upper bound, where there is one, tells how much can "
        "be left at most."
    )
    return joined([element("p", words), _figure(picture), entropy, _table(head, rows)])


def samples(model: "LayeredEstimator", told: Description, samples: Samples | None, nodes: dict[str, int]) -> Markup:
    """Point-wise total correlation, the surprising samples and why, and the sorted table as a picture."""
    if samples is None:
        return _note("The report was made without samples: give them to see which are surprising.")
    total = samples.log_z.sum(axis=1)
    surprise = model._surprise_of_samples(total)
    picture = inline_svg(
        lambda ax: draw_pointwise(total, surprise, index=samples.rows, ax=ax),
        "Point-wise total correlation",
        9,
        3.2,
    )
    rows = []
    for own in surprising_samples(model, samples, total, surprise):
        reasons = [joined([_factor(why.factor, nodes), f" ({why.deviation:+.1f})"]) for why in own.reasons]
        numbers = _number(own.total_correlation), _number(own.surprise, f"{own.surprise:+.1f}")
        rows.append(element("tr", element("td", own.name), *numbers, element("td", joined(reasons, ", "))))
    head = _sortable(shown(samples.title), "total correlation", "surprise")
    spread = f", evenly spread over {samples.n_all:,}" if samples.n_all > len(total) else ""
    before, after = sorted_image(model, samples.X, samples.states, MOST_CELLS)
    words = (
        f"{count(len(total), 'sample')}{spread}; the model was fitted to {count(told.n_samples, 'sample')}. "
        "How much of each sample the factors explain is its point-wise total correlation. Far below what is usual, a "
        "sample breaks the dependence that the model has learned; far above, it follows it unusually strongly."
    )
    usual = element("p", f"None is {USUAL} standard deviations from what is usual.")
    return joined(
        [
            element("p", words),
            _figure(picture),
            element("h3", "The most surprising samples"),
            _surprising(head, rows) if rows else usual,
            element("h3", "The table, sorted"),
            _note("Rows are samples, columns variables; from low (blue) to high (red), grey where values are missing."),
            _pair(
                _figure(inline_png(before, "The table as it came"), "As it came"),
                _figure(inline_png(after, "The table sorted by factors"), "Rows sorted by states, columns by factor"),
            ),
        ]
    )


def _surprising(head: Markup, rows: list[Markup]) -> Markup:
    note = (
        f"Those {USUAL} standard deviations or more from the mean of the fit, at most {SURPRISING}; in parentheses, "
        "the surprise of each factor which says so most."
    )
    heads = joined([head, _long("factors that say so")])
    return joined([_note(note), _table(heads, rows, tall=True, id="surprising", class_="sortable")])


def convergence(model: "LayeredEstimator") -> Markup:
    """The objective at each iteration, layer by layer."""
    pieces = []
    for k in range(1, len(model._stack) + 1):
        title = f"Objective of layer {k} by iteration"
        picture = inline_svg(partial(_draw_layer, model, k), title, 4.5, 2.8)
        pieces.append(_figure(picture, f"Layer {k}"))
    return _pair(*pieces)


def _draw_layer(model: "LayeredEstimator", layer: int, ax: Any) -> None:
    draw_convergence(model, layer=layer, ax=ax)


def made(model: "LayeredEstimator", told: Description, decisions: Sequence[ColumnDecision]) -> Markup:
    """Parameters, versions, and what was made of the columns of the file."""
    parameters = {name: value for name, value in model.get_params().items() if name != "marginals"}
    kinds = model._stack[0]._schema.kinds
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
            _pairs({name: shown(value) for name, value in parameters.items()}),
            element("h3", "Versions"),
            _pairs(versions),
            _columns(decisions),
        ]
    )


def _columns(decisions: Sequence[ColumnDecision]) -> str:
    """What was made of each column, those that are not used first."""
    if not decisions:
        return ""
    order = sorted(decisions, key=lambda own: own.kind in KINDS)
    rows = [
        element(
            "tr",
            element("td", shown(own.name)),
            element("td", own.kind),
            element("td", f"{own.missing:.1%}", class_="number"),
            element("td", shortened(printable(reason_in_words(own)), 200)),
        )
        for own in order[:MOST_COLUMNS]
    ]
    rest = len(order) - MOST_COLUMNS
    more = _note(f"and {count(rest, 'more column')}") if rest > 0 else ""
    heads = joined(element("th", name, scope="col") for name in ("column", "read as", "missing", "why"))
    return joined([element("h3", "Columns of the file"), _table(heads, rows, tall=True, id="columns"), more])


def _pairs(entries: dict[str, Any]) -> Markup:
    """Terms, and what there is to say of each."""
    return element("dl", *(joined([element("dt", name), element("dd", value)]) for name, value in entries.items()))


def _note(text: str) -> Markup:
    return element("p", text, class_="note")


def _long(head: str) -> Markup:
    """The head of a column of many words."""
    return element("th", head, scope="col", class_="long")


def _pair(*figures: Markup) -> Markup:
    return element("div", *figures, class_="pair")


def _figure(picture: Markup, caption: str = "") -> Markup:
    return element("figure", picture, element("figcaption", caption) if caption else "")
