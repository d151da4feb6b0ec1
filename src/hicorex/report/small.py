"""What notebooks show of a fitted model: the report in small, without a script."""

from typing import TYPE_CHECKING

from hicorex.findings.description import description
from hicorex.findings.graph import graph_of
from hicorex.findings.numbers import count, short
from hicorex.findings.words import FEW, heading, how_much
from hicorex.plot import graph as draw_graph
from hicorex.plot.canvas import PALETTE
from hicorex.report.figures import css_colours, inline_svg
from hicorex.report.markup import Markup, element, shown

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# Factors in the table, links in the picture, and variables whose names are written.
MOST_FACTORS, MOST_LINKS, MOST_NAMED = 8, 300, 60


def small_report(model: "LayeredEstimator") -> Markup:
    """A picture of the hierarchy, how much is explained, and by what, as an HTML element."""
    told = description(model)
    pieces = [element("p", f"{heading(told)} {how_much(told)}")]
    edges = graph_of(model).strongest(MOST_LINKS).edges
    if edges:
        least = min(edge.weight for edge in edges)
        named = told.n_variables <= MOST_NAMED
        picture = inline_svg(
            lambda ax: draw_graph(model, threshold=least, labels=named, ax=ax), "The hierarchy of factors", 5, 5
        )
        pieces.append(element("div", picture, style="max-width: 30em"))
    used = [row for row in told.factors if row.explains]
    rows = [
        element(
            "tr",
            element("td", row.factor, style="text-align: left"),
            element("td", short(row.explains)),
            element("td", row.n_variables),
            element("td", ", ".join(shown(name) for name in row.top_variables[:FEW]), style="text-align: left"),
        )
        for row in used[:MOST_FACTORS]
    ]
    if rows:
        heads = [element("th", name) for name in ("factor", "explains, nats", "variables", "led by")]
        pieces.append(element("table", element("thead", element("tr", *heads)), element("tbody", *rows)))
    if len(used) > MOST_FACTORS:
        pieces.append(element("p", f"and {count(len(used) - MOST_FACTORS, 'more factor')}"))
    return element("div", *pieces, class_="hicorex", style=f"--paper: #fff; {css_colours(PALETTE)}")
