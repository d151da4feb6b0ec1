"""The states of a factor in words: how many samples are in each, and what its leading variables are there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import xlogy

from hicorex.findings.graph import weights_of
from hicorex.findings.numbers import short
from hicorex.findings.text import value_names
from hicorex.input.column_kinds import Written
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.layer import FittedLayer

# How columns are written whose numbers are days since the first of January 1970.
DATES = (Written.DATE, Written.DATE_BY_DAY)
# The number of variables by which a state is described.
DESCRIBED = 3
# An answer that this share of the samples of a state gave stands for all of them; else their mean does.
NEARLY_ALL = 0.9


class StateDescription(NamedTuple):
    """A state of a factor.

    state : 0, 1, ...
    probability : p(y_j)
    phrases : what the leading variables are in it, in pieces: the name, a sign, what it is, and the share of samples.
        Of categories the most telling value, of numbers the mean, of answers that are numbers the one that nearly all
        gave or else the mean
    """

    state: int
    probability: float
    phrases: tuple[tuple[str, ...], ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """What the leading variables are in it, "sex = woman (98%)"."""
        return tuple(map("".join, self.phrases))


def states_of_factors(model: "LayeredEstimator") -> list[list[StateDescription]]:
    """The states of each factor, from the bottom up; none of factors without links."""
    names, forms = names_of(model), model.fitted_.reading.get("forms", {})
    described = []
    for k, layer in enumerate(model.fitted_.layers):
        weights = weights_of(layer)
        wanted = [np.argsort(-weights[:, j], kind="stable")[:DESCRIBED] for j in range(layer.n_factors)]
        place = {i: (b, at) for b, part in enumerate(layer.encoder.parts) for at, i in enumerate(part.tolist())}
        offsets = [
            np.cumsum([0, *(layer.encoder.categories[i].size + 1 for i in part.tolist())])
            if layer.encoder.is_coded(part)
            else np.empty(0, int)
            for part in layer.encoder.parts
        ]
        for j, leading in enumerate(wanted):
            words = []
            for i in leading[weights[leading, j] > 0].tolist():
                is_date = k == 0 and forms.get(names[0][i], [""])[0] in DATES
                words.append(_in_states(layer, names[k][i], i, j, place[i], offsets[place[i][0]], is_date))
            described.append(
                [
                    StateDescription(s, float(p), tuple(of_states))
                    for s, (p, of_states) in enumerate(
                        zip(layer.state.prior[:, j], zip(*words, strict=True), strict=True)
                    )
                ]
                if words
                else []
            )
    return described


def _in_states(
    layer: "FittedLayer",
    name: str,
    i: int,
    factor: int,
    place: tuple[int, int],
    offsets: np.ndarray,
    is_date: bool,
) -> Sequence[tuple[str, ...]]:
    """What a column is in each state of a factor, in pieces.

    place : its block, and its number there, where categories begin at offsets
    """
    block, at = place
    encoder, parameters = layer.encoder, layer.state.parameters[block]
    if not offsets.size:
        mean = parameters.mean[:, factor, at].astype(float)
        numbers = (mean * encoder.spread[i] + encoder.centre[i]) * encoder.size[i]
        if i in encoder.ranks:
            values, scores = encoder.ranks[i]
            numbers = np.interp(numbers, scores, values)
        about = day if is_date else _about
        return [(name, " about ", about(number)) for number in numbers.tolist()]
    categories = encoder.categories[i]
    p = parameters.p[:, factor, offsets[at] : offsets[at] + categories.size].astype(float)
    called = [f"state {value}" if layer.reads_labels else value for value in value_names(categories)]
    overall = layer.state.prior[:, factor] @ p
    telling = (xlogy(p, p) - xlogy(p, overall)).argmax(axis=1)
    if not layer.reads_labels and categories.dtype.kind in "iuf" and categories.size > 2:
        means, usual = (p @ categories.astype(float)).tolist(), p.argmax(axis=1)
        return [
            (name, " = ", called[v], f" ({p[s, v]:.0%})") if p[s, v] >= NEARLY_ALL else (name, " about ", _about(mean))
            for s, (v, mean) in enumerate(zip(usual.tolist(), means, strict=True))
        ]
    return [(name, " = ", called[v], f" ({p[s, v]:.0%})") for s, v in enumerate(telling.tolist())]


def _about(number: float) -> str:
    """A mean in few digits, but for years, which have four and no comma."""
    return f"{number:.0f}" if 1000 <= number < 10_000 else short(number, 3)


def day(number: float) -> str:
    """A date, from days since the first of January 1970."""
    return str(np.datetime64(round(number), "D"))
