"""The page itself: the pieces of the report put into one HTML file that needs nothing else."""

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import hicorex
from hicorex.findings.description import Description, FactorDescription, description
from hicorex.findings.groups import Grouping
from hicorex.input.column_kinds import ColumnDecision
from hicorex.plot.canvas import PALETTE
from hicorex.report import sections
from hicorex.report.details import details_of
from hicorex.report.figures import css_colours
from hicorex.report.map import map_of
from hicorex.report.markup import Markup, element, filled, joined, one_script, resource, script_data, shown
from hicorex.report.pairs import pairs
from hicorex.report.samples import Samples

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

SECTIONS = {
    "summary": "Summary",
    "hierarchy": "Hierarchy",
    "table": "Factors",
    "explained": "Bounds",
    "pairs": "Pairs",
    "samples": "Samples",
    "convergence": "Fit",
    "made": "Reproduction",
}
# The files of the script, which moves the map, in their order.
SCRIPT = ("data", "drawing", "moving", "panel", "controls", "start")
# The palette of the pictures, brighter, for a dark page.
DARK_PALETTE = ("#8f5eff", "#f39fb5", "#4b9b5c", "#e3e299", "#92c6f9", "#b4638a", "#7af2ef", "#8fa546", "#d933c4")
DARK = (
    "--ink: #e8e8e6; --paper: #16181c; --soft: #22252b; --line: #3a3e46; --muted: #9a9a98; --accent: #7db8f5; "
    "color-scheme: dark;"
)


def page_of(
    model: "LayeredEstimator",
    samples: Samples | None,
    groupings: Sequence[Grouping],
    title: str,
    decisions: Sequence[ColumnDecision],
) -> Markup:
    """The whole page."""
    told = description(model)
    drawn = map_of(model, groupings)
    script = one_script(SCRIPT)
    data = {
        "map": drawn.payload,
        "factors": {
            drawn.factors[row.factor]: _facts(row, told) for row in told.factors if row.factor in drawn.factors
        },
        "details": details_of(model, samples, drawn),
    }
    return filled(
        resource("page.html"),
        title=shown(title),
        version=hicorex.__version__,
        style=_style(),
        script=script,
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        navigation=joined(element("a", name, href=f"#{id}") for id, name in SECTIONS.items()),
        summary=sections.summary(told, drawn.factors),
        map_note=sections.map_note(drawn, told),
        factors=sections.factors(told, drawn.factors),
        explained=sections.explained(model, told),
        pairs=pairs(told),
        samples=sections.samples(model, told, samples, drawn.factors),
        convergence=sections.convergence(model),
        made=sections.made(model, told, decisions),
        data=script_data(data),
    )


def _style() -> Markup:
    """The style sheet, with the palettes for both kinds of pages."""
    return filled(resource("page.css"), light=css_colours(PALETTE), dark=f"{DARK} {css_colours(DARK_PALETTE)}")


def _facts(row: FactorDescription, told: Description) -> dict[str, Any]:
    """What the panel says of a factor."""
    in_words = [", ".join(map(shown, state.variables)) for state in told.states_of(row.factor)]
    keys = ("layer", "states", "explains", "contribution", "contribution_stderr", "reproducibility")
    return {key: getattr(row, key) for key in keys} | {"in_words": in_words}
