"""The sections of the report, each as HTML; whatever people have named is escaped."""

import platform
from collections.abc import Sequence
from functools import partial
from html import escape
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import hicorex
from hicorex.plot import bounds as draw_bounds
from hicorex.plot import convergence as draw_convergence
from hicorex.plot.bounds import layer_parts
from hicorex.plot.pointwise import draw_pointwise
from hicorex.plot.sorted_data import sorted_image
from hicorex.report.contents import SURPRISING, USUAL, Map, Samples, shown, surprising_samples
from hicorex.report.figures import inline_png, inline_svg
from hicorex.results import count, explains, heading, how_much, leading, no_more, printable, short, shortened

if TYPE_CHECKING:
    from hicorex.explainer import Explainer

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


def _number(x: float | None) -> str:
    """A cell of a table that sorts by the whole number."""
    return f'<td class="number" data-value="{"-Infinity" if x is None else repr(x)}">{short(x)}</td>'


def _sortable(first: str, *numbers: str) -> str:
    """The heads of columns that sort: a name and then numbers."""
    kinds = ["", *(" class=number data-number" for _ in numbers)]
    return "".join(
        f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'
        for name, kind in zip((first, *numbers), kinds, strict=True)
    )


def _factor(name: str, nodes: dict[str, int]) -> str:
    """The name of a factor, which opens its panel if the map has it."""
    if name not in nodes:
        return escape(name)
    return f'<button type="button" class="link" data-factor="{nodes[name]}">{escape(name)}</button>'


def summary(told: dict[str, Any], nodes: dict[str, int]) -> str:
    """What was found in words, with the factors that explain most."""
    paragraphs = [heading(told), how_much(told), no_more(told)]
    pieces = [f"<p>{escape(text)}</p>" for text in paragraphs if text]
    first = [row for row in told["factors"] if row["layer"] == 1 and row["explains"]]
    if first and explains(told):
        pieces.append("<p>The factors that explain most:</p><ul>")
        for row in first[:NAMED]:
            members = count(row["n_variables"], "variable") if row["n_variables"] else "no significant link"
            pieces.append(
                f"<li>{_factor(row['factor'], nodes)} explains {short(row['explains'])} nats ({members}): "
                f"{escape(_leading(row))}</li>"
            )
        pieces.append("</ul>")
    loose = told["unassigned"]
    if loose:
        names = ", ".join(shown(name) for name in loose[:LEADING]) + (", \u2026" if len(loose) > LEADING else "")
        pieces.append(f"<p>{count(len(loose), 'variable')} without a significant link: {escape(names)}</p>")
    words = "".join(f"<dt>{word}</dt><dd>{meaning}</dd>" for word, meaning in WORDS.items())
    return f"{''.join(pieces)}<details><summary>What the words mean</summary><dl>{words}</dl></details>"


def _leading(row: dict[str, Any]) -> str:
    return ", ".join(shown(name) for name in leading(row, LEADING))


def map_note(drawn: Map, told: dict[str, Any]) -> str:
    """How to read the map, and what is not on it."""
    text = (
        "Variables are on the outside, each factor next to those that belong to it most. The width of a link is "
        "alpha \u00d7 mutual information; the size of a factor is what it explains, the number on it that of its name. "
        "Variables without a significant link are hollow. Click a factor or a variable for details; drag to move, use "
        "the buttons, or the wheel after a click or with Ctrl, to zoom."
    )
    left_out = drawn.n_links - len(drawn.payload["below"])
    missing = told["n_variables"] - len(drawn.variables)
    if left_out:
        text += f" Of {count(drawn.n_links, 'link')}, the {len(drawn.payload['below']):,} strongest are shown."
    if missing:
        text += f" Not on it, since without {'such ' if left_out else ''}a link: {count(missing, 'variable')}."
    return escape(text)


def factors(told: dict[str, Any], nodes: dict[str, int]) -> str:
    """The table of factors."""
    rows = []
    for row in told["factors"][:MOST_ROWS]:
        rows.append(
            f"<tr><td>{_factor(row['factor'], nodes)}</td>"
            + "".join(f'<td class="number">{row[key]}</td>' for key in ("layer", "states"))
            + "".join(_number(row[key]) for key in ("explains", "contribution", "contribution_stderr"))
            + f'<td class="number">{row["n_variables"]}</td><td>{escape(_leading(row))}</td></tr>'
        )
    head = _sortable("factor", "layer", "states", "explains", "lost without it", "std. error", "variables")
    n = len(told["factors"])
    more = f" The {MOST_ROWS:,} first of {n:,} factors are listed." if n > MOST_ROWS else ""
    return (
        '<p class="note">In nats: what a factor explains, and what the lower bound would lose without it, which is '
        f"less where others could stand in for it, with its standard error.{more}</p>"
        '<p class="filter"><label>Filter <input type="search" id="filter" placeholder="words"></label> '
        f'<span id="factors-shown" role="status">{count(len(rows), "factor")}</span></p>'
        f'<div class="tall scroll"><table id="factors" class="sortable"><thead><tr>{head}'
        f'<th scope="col" class="long">led by</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def explained(model: "Explainer", told: dict[str, Any]) -> str:
    """The bounds as a picture and by layer."""
    picture = inline_svg(lambda ax: draw_bounds(model, ax=ax), "Bounds on the total correlation", 8, 2.4)
    bounds = told["bounds"]
    heads = ("layer", "factors", "lower bound up to here", "adds")
    rows = []
    for row, added in zip_longest(bounds["layers"], layer_parts(model.bounds_)):
        adds = '<td class="number">does not count</td>' if added is None else _number(added)
        size = f'<td class="number">{row["n_factors"]}</td>'
        rows.append(f"<tr><td>{row['name']}</td>{size}{_number(row['lower'])}{adds}</tr>")
    entropy = ""
    if bounds["entropy_lower"] is not None:
        entropy = (
            f"<p>The entropy of the table is between {short(bounds['entropy_lower'])} and "
            f"{short(bounds['entropy_upper'])} nats.</p>"
        )
    head = "".join(f'<th scope="col"{" class=number" if i else ""}>{name}</th>' for i, name in enumerate(heads))
    return (
        "<p>What the layers explain adds up to a lower bound on the total correlation; the whiskers are one standard "
        "error. A layer counts as long as it raises the bound. An upper bound, where there is one, tells how much can "
        "be left at most.</p>"
        f"{_figure(picture)}{entropy}"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def samples(model: "Explainer", told: dict[str, Any], samples: Samples | None, nodes: dict[str, int]) -> str:
    """Point-wise total correlation, the surprising samples and why, and the sorted table as a picture."""
    if samples is None:
        return '<p class="note">The report was made without samples: give them to see which are surprising.</p>'
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
        reasons = ", ".join(f"{_factor(why.factor, nodes)} ({why.deviation:+.1f})" for why in own.reasons)
        rows.append(
            f"<tr><td>{escape(own.name)}</td>{_number(own.total_correlation)}"
            f'<td class="number" data-value="{own.surprise!r}">{own.surprise:+.1f}</td><td>{reasons}</td></tr>'
        )
    head = _sortable(shown(samples.title), "total correlation", "surprise")
    spread = f", evenly spread over {samples.n_all:,}" if samples.n_all > len(total) else ""
    before, after = sorted_image(model, samples.X, samples.states, MOST_CELLS)
    return (
        f"<p>{count(len(total), 'sample')}{spread}; the model was fitted to {count(told['n_samples'], 'sample')}. "
        "How much of each sample the factors explain is its point-wise total correlation. Far below what is usual, a "
        "sample breaks the dependence that the model has learned; far above, it follows it unusually strongly.</p>"
        f"{_figure(picture)}"
        "<h3>The most surprising samples</h3>"
        + (_surprising(head, rows) if rows else f"<p>None is {USUAL} standard deviations from what is usual.</p>")
        + "<h3>The table, sorted</h3>"
        '<p class="note">Rows are samples, columns variables; from low (blue) to high (red), grey where values are '
        "missing.</p>"
        f'<div class="pair">{_figure(inline_png(before, "The table as it came"), "As it came")}'
        f"{_figure(inline_png(after, 'The table sorted by factors'), 'Rows sorted by states, columns by factor')}"
        "</div>"
    )


def _surprising(head: str, rows: list[str]) -> str:
    return (
        f'<p class="note">Those {USUAL} standard deviations or more from the mean of the fit, at most {SURPRISING}; in '
        "parentheses, the surprise of each factor which says so most.</p>"
        f'<div class="tall scroll"><table id="surprising" class="sortable"><thead><tr>{head}'
        '<th scope="col" class="long">factors that say so</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def convergence(model: "Explainer") -> str:
    """The objective at each iteration, layer by layer."""
    pieces = []
    for k in range(1, len(model._stack) + 1):
        title = f"Objective of layer {k} by iteration"
        picture = inline_svg(partial(_draw_layer, model, k), title, 4.5, 2.8)
        pieces.append(_figure(picture, f"Layer {k}"))
    return f'<div class="pair">{"".join(pieces)}</div>'


def _draw_layer(model: "Explainer", layer: int, ax: Any) -> None:
    draw_convergence(model, layer=layer, ax=ax)


def made(model: "Explainer", told: dict[str, Any], decisions: Sequence[Any]) -> str:
    """Parameters, versions, and what was made of the columns of the file."""
    parameters = {name: value for name, value in model.get_params().items() if name != "marginals"}
    kinds = model._stack[0]._schema.kinds
    parameters["marginals"] = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in sorted(set(kinds)))
    stop = f"There is no further layer: {told['stop_reason']}. " if told["stop_reason"] else ""
    seed = "" if model.random_state is not None else " Without a random_state, each fit begins elsewhere."
    versions = {"hicorex": hicorex.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    return (
        f"<p>{escape(stop)}The same table, parameters, random_state and versions give the same model, whatever the "
        f"number of threads.{seed}</p><h3>Parameters of {type(model).__name__}</h3>{_list(parameters)}"
        f"<h3>Versions</h3>{_list(versions)}{_columns(decisions)}"
    )


def _columns(decisions: Sequence[Any]) -> str:
    """What was made of each column, those that are not used first."""
    if not decisions:
        return ""
    order = sorted(decisions, key=lambda own: own.kind in ("gaussian", "rank", "categorical"))
    rows = "".join(
        f"<tr><td>{escape(shown(own.name))}</td><td>{escape(own.kind)}</td>"
        f'<td class="number">{own.missing:.1%}</td><td>{escape(shortened(printable(own.why), 200))}</td></tr>'
        for own in order[:MOST_COLUMNS]
    )
    rest = len(order) - MOST_COLUMNS
    more = f'<p class="note">and {count(rest, "more column")}</p>' if rest > 0 else ""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("column", "read as", "missing", "why"))
    return (
        f'<h3>Columns of the file</h3><div class="tall scroll"><table id="columns"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _list(entries: dict[str, Any]) -> str:
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(shown(value))}</dd>" for name, value in entries.items())
    return f"<dl>{''.join(pairs)}</dl>"


def _figure(picture: str, caption: str = "") -> str:
    return f"<figure>{picture}{f'<figcaption>{caption}</figcaption>' if caption else ''}</figure>"
