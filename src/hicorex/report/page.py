"""The page itself: the pieces of the report put into one HTML file that needs nothing else."""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import hicorex
from hicorex.groups import Grouping
from hicorex.plot.canvas import PALETTE
from hicorex.report import sections
from hicorex.report.contents import Samples, details_of, map_of, shown
from hicorex.report.figures import css_colours
from hicorex.results import description

if TYPE_CHECKING:
    from hicorex.explainer import Explainer

SECTIONS = {
    "summary": "Summary",
    "hierarchy": "Hierarchy",
    "table": "Factors",
    "explained": "Bounds",
    "samples": "Samples",
    "convergence": "Fit",
    "made": "Reproduction",
}
# The palette of the pictures, brighter, for a dark page.
DARK_PALETTE = ("#8f5eff", "#f39fb5", "#4b9b5c", "#e3e299", "#92c6f9", "#b4638a", "#7af2ef", "#8fa546", "#d933c4")
DARK = (
    "--ink: #e8e8e6; --paper: #16181c; --soft: #22252b; --line: #3a3e46; --muted: #9a9a98; --accent: #7db8f5; "
    "color-scheme: dark;"
)


def page_of(
    model: "Explainer",
    samples: Samples | None,
    groupings: Sequence[Grouping],
    title: str,
    decisions: Sequence[Any],
) -> str:
    """The whole page as text."""
    told = description(model)
    drawn = map_of(model, groupings)
    script = _resource("page.js")
    data = {
        "map": drawn.payload,
        "factors": {
            drawn.factors[row["factor"]]: _facts(row) for row in told["factors"] if row["factor"] in drawn.factors
        },
        "details": details_of(model, samples, drawn),
    }
    return Template(_resource("page.html")).substitute(
        title=escape(shown(title)),
        version=hicorex.__version__,
        style=_style(),
        script=script,
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        navigation="".join(f'<a href="#{id}">{name}</a>' for id, name in SECTIONS.items()),
        summary=sections.summary(told, drawn.factors),
        map_note=sections.map_note(drawn, told),
        factors=sections.factors(told, drawn.factors),
        explained=sections.explained(model, told),
        samples=sections.samples(model, told, samples, drawn.factors),
        convergence=sections.convergence(model),
        made=sections.made(model, told, decisions),
        data=_json(data),
    )


def _resource(name: str) -> str:
    return (files("hicorex.report") / name).read_text(encoding="utf-8")


def _style() -> str:
    """The style sheet, with the palettes for both kinds of pages."""
    dark = f"{DARK} {css_colours(DARK_PALETTE)}"
    return (
        f":root {{ {css_colours(PALETTE)} }}\n{_resource('page.css')}"
        f':root[data-theme="dark"] {{ {dark} }}\n'
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
    )


def _json(data: Any) -> str:
    """Data that no name in it can end the element of."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _facts(row: dict[str, Any]) -> dict[str, Any]:
    """What the panel says of a factor."""
    return {key: row[key] for key in ("layer", "states", "explains", "contribution", "contribution_stderr")}
