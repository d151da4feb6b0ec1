"""What notebooks show of a fitted model: the report in small, without a script."""

from html import escape
from typing import TYPE_CHECKING

from hicorex.graph import graph_of
from hicorex.plot import graph as draw_graph
from hicorex.plot.canvas import PALETTE
from hicorex.report.contents import shown
from hicorex.report.figures import css_colours, inline_svg
from hicorex.results import FEW, count, description, heading, how_much, short

if TYPE_CHECKING:
    from hicorex.explainer import Explainer

# Factors in the table, links in the picture, and variables whose names are written.
MOST_FACTORS, MOST_LINKS, MOST_NAMED = 8, 300, 60


def small_report(model: "Explainer") -> str:
    """A picture of the hierarchy, how much is explained, and by what, as an HTML element."""
    told = description(model)
    pieces = [f"<p>{escape(heading(told))} {escape(how_much(told))}</p>"]
    edges = graph_of(model).strongest(MOST_LINKS).edges
    if edges:
        least = min(edge.weight for edge in edges)
        named = told["n_variables"] <= MOST_NAMED
        picture = inline_svg(
            lambda ax: draw_graph(model, threshold=least, labels=named, ax=ax), "The hierarchy of factors", 5, 5
        )
        pieces.append(f'<div style="max-width: 30em">{picture}</div>')
    used = [row for row in told["factors"] if row["explains"]]
    rows = "".join(
        f'<tr><td style="text-align: left">{row["factor"]}</td><td>{short(row["explains"])}</td>'
        f'<td>{row["n_variables"]}</td><td style="text-align: left">'
        f"{escape(', '.join(shown(name) for name in row['top_variables'][:FEW]))}</td></tr>"
        for row in used[:MOST_FACTORS]
    )
    if rows:
        heads = "".join(f"<th>{name}</th>" for name in ("factor", "explains, nats", "variables", "led by"))
        pieces.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    if len(used) > MOST_FACTORS:
        pieces.append(f"<p>and {count(len(used) - MOST_FACTORS, 'more factor')}</p>")
    return f'<div class="hicorex" style="--paper: #fff; {css_colours(PALETTE)}">{"".join(pieces)}</div>'
