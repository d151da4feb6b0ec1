"""A text by which people, or a machine that writes, can give the factors their names."""

from typing import TYPE_CHECKING

from hicorex.findings.description import TOP, FactorDescription, description
from hicorex.findings.numbers import short
from hicorex.findings.states import StateDescription
from hicorex.support.printing import printable

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

HEAD = (
    "Below are hidden factors that were found in a table. A factor is in one of a few states in each row of the table, "
    "and the variables listed with it follow it, the first one most. Variables of a layer above the first are factors "
    "of the layer below.\n"
    "Give each factor a short name, of one to four words, that says what its variables have in common and that no "
    "other factor has. Answer with lines of CSV alone, under the heading:\n"
    "factor,name"
)


def names_prompt(model: "LayeredEstimator", n_variables: int = TOP) -> str:
    """Top variables and states of each factor that explains anything, with a request for names."""
    told = description(model)
    pieces = [HEAD]
    for row, states in zip(told.factors, told.states, strict=True):
        if row.explains:
            pieces.append("\n".join(_of_factor(row, states, n_variables)))
    return "\n\n".join(pieces) + "\n"


def _of_factor(row: FactorDescription, states: list[StateDescription], most: int) -> list[str]:
    """What there is to say of one factor, line by line."""
    lines = [f"{printable(row.factor)} (layer {row.layer}, explains {short(row.explains)} nats)"]
    lines.append(f"  variables: {', '.join(map(printable, row.leading(most)))}")
    for state in states:
        lines.append(
            f"  state {state.state}, {state.probability:.0%} of rows: {', '.join(map(printable, state.variables))}"
        )
    return lines
