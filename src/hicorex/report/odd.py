"""What the page shows on a click on a sample: the variables that say most about it, and their values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hicorex.exceptions import quietly
from hicorex.findings.numbers import short
from hicorex.findings.states import DATES, day
from hicorex.fitted.explanation import LEAST_NATS
from hicorex.input.readers import rows_of
from hicorex.report.details import Values, read_values
from hicorex.report.markup import Markup, element, joined, shown
from hicorex.report.samples import Samples, largest
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The variables of a sample that are shown.
TOLD = 5


class TellingValue(NamedTuple):
    """A value of a sample, in words, and how many nats it is more surprising than usual, or better explained."""

    variable: str
    value: str
    nats: float


class Telling(NamedTuple):
    """The values that say most about a sample; ``odd`` says that they go badly with the others."""

    values: tuple[TellingValue, ...]
    odd: bool


def telling_values(
    model: "LayeredEstimator", samples: Samples, which: Sequence[int], odd: Sequence[bool]
) -> list[Telling]:
    """For some of the samples their odd values, or those that their factors explain best."""
    if not which:
        return []
    rows = np.array(which)
    with quietly():  # which has been said of all samples before
        explained = model.explain(rows_of(samples.X, rows))
    nats = np.where(np.array(odd)[:, None], explained.odd, explained.explained)
    leading = [[i for i in largest(of_sample, TOLD).tolist() if of_sample[i] > LEAST_NATS] for of_sample in nats]
    columns = np.unique(np.concatenate([np.array(own, int) for own in leading]))
    variables = read_values(model.fitted_.layers[0], samples.X, rows, columns) if columns.size else {}
    names, forms = names_of(model)[0], model.fitted_.reading.get("forms", {})
    are_dates = {i: forms.get(names[i], [""])[0] in DATES for i in columns.tolist()}
    told = []
    for at, (own, is_odd) in enumerate(zip(leading, odd, strict=True)):
        values = (
            TellingValue(shown(names[i]), _in_words(variables[i], at, are_dates[i]), float(nats[at, i])) for i in own
        )
        told.append(Telling(tuple(values), is_odd))
    return told


def name_cell(name: str, telling: Telling) -> Markup:
    """The cell of a sample's name, which opens on a click and shows its values."""
    if not telling.values:
        return element("td", name)
    words = "More surprising than usual, given the others:" if telling.odd else "What its factors explain most:"
    rows = [
        element("li", f"{value.variable}: {value.value} ", element("span", f"{value.nats:+.2f} nats", class_="note"))
        for value in telling.values
    ]
    body = joined([element("p", words, class_="note"), element("ul", *rows)])
    return element("td", element("details", element("summary", name), body, class_="telling"), data_value=name)


def _in_words(variable: Values, row: int, is_date: bool) -> str:
    """The value of a variable in a row."""
    value = variable.column[row]
    if variable.values is None:
        if np.isnan(value):
            return "missing"
        return day(float(value)) if is_date else short(float(value))
    return variable.values[int(value)] if value < len(variable.values) else "missing"
