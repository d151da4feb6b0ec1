"""The variables that lead each factor, and how often its leading state is met in groups of samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from hicorex.exceptions import HicorexError
from hicorex.findings.graph import weights_of
from hicorex.support.names import factor_names, names_of
from hicorex.support.printing import printable

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.layer import FittedLayer


class LeadingVariable(NamedTuple):
    """A variable of a factor.

    weight : alpha times mutual information, in nats
    sign : 1 where the variable is higher in the leading state of the factor than in the others on average, -1 where it
        is lower, 0 for categories without an order. The leading state is that in which the first of the variables with
        an order is highest, or where none has one the rarest state
    lift : how much more frequent the value of a category that tells most of the leading state is there than over all
        samples, of two numbers the larger one, as of a word that is present; None for numbers
    """

    name: str
    weight: float
    sign: int
    lift: float | None


def leading_variables(
    model: "LayeredEstimator", factor: int | str, n: int, names: Sequence[str] | None = None
) -> list[LeadingVariable]:
    """The variables of a factor, by its name or number, by falling weight; ``names`` are those of the table's columns.

    Raises
    ------
    HicorexError
        If there is no such factor, or if there are not as many names as columns.
    """
    k, j = place_of(model, factor)
    layer, known = model.fitted_.layers[k], names_of(model)[k]
    if names is not None and k == 0:
        if len(names) != layer.encoder.n_columns:
            raise HicorexError(f"names has {len(names)} names for {layer.encoder.n_columns} columns; give one each.")
        known = [str(name) for name in names]
    weights = weights_of(layer)[:, j]
    leading = _leading(weights, n)
    state = leading_state(layer, j)
    return [LeadingVariable(known[i], float(weights[i]), *_sign_and_lift(layer, i, j, state)) for i in leading]


def place_of(model: "LayeredEstimator", factor: int | str) -> tuple[int, int]:
    """The layer, from 0, and the number there of a factor, by its name or its number among those of all layers."""
    names = factor_names(model)
    if isinstance(factor, str):
        if factor not in names:
            raise HicorexError(f"No factor is called {printable(repr(factor))}; they are {names[0]} to {names[-1]}.")
        factor = names.index(factor)
    if not 0 <= factor < len(names):
        raise HicorexError(f"factor is {factor}; this model has factors 0 to {len(names) - 1}.")
    ends = np.cumsum([layer.n_factors for layer in model.fitted_.layers])
    k = int(np.searchsorted(ends, factor, side="right"))
    return k, int(factor - (ends[k - 1] if k else 0))


def leading_state(layer: "FittedLayer", j: int) -> int:
    """The state of a factor that its leading variables tell of."""
    weights = weights_of(layer)[:, j]
    for i in _leading(weights, weights.size):
        levels = _levels(layer, i, j)
        if levels is not None:
            return int(levels.argmax())
    return int(layer.state.prior[:, j].argmin())


def shares_by(model: "LayeredEstimator", X: Any, by: Any, bins: int | None = None) -> Any:
    """How often the leading state of each factor is met in each group of samples; see ``factors_by``."""
    import pandas as pd

    groups = pd.Series(np.asarray(by) if not hasattr(by, "dtype") else by).reset_index(drop=True)
    posteriors = model.posteriors(X)
    if groups.ndim != 1 or len(groups) != len(posteriors):
        raise HicorexError(f"by has {len(groups)} values for {len(posteriors)} samples; give one each.")
    if bins is not None:
        if not (pd.api.types.is_numeric_dtype(groups) or pd.api.types.is_datetime64_any_dtype(groups)):
            raise HicorexError("bins cuts numbers or times into intervals, and by is neither; leave bins out.")
        groups = pd.cut(groups, bins)
    names = factor_names(model)
    states = [leading_state(layer, j) for layer in model.fitted_.layers for j in range(layer.n_factors)]
    shares = pd.DataFrame(posteriors[:, np.arange(len(states)), states], columns=names)
    by_group = shares.groupby(groups.to_numpy() if bins is None else groups, observed=False, sort=True)
    found = by_group.mean()
    found.insert(0, "n_samples", by_group.size())
    return found


def _leading(weights: np.ndarray, n: int) -> list[int]:
    """The columns of most weight, falling, of those that have any."""
    return [i for i in np.argsort(-weights, kind="stable")[:n].tolist() if weights[i] > 0]


def _levels(layer: "FittedLayer", i: int, j: int) -> np.ndarray | None:
    """How high a column is on average in each state of a factor, (k,); None of categories without an order."""
    if i not in layer.encoder.categories:
        block, at = _place(layer, i)
        return layer.state.parameters[block].mean[:, j, at].astype(float)
    categories = layer.encoder.categories[i]
    if layer.reads_labels or categories.dtype.kind not in "biuf":
        return None
    return _probabilities(layer, i, j) @ categories.astype(float)


def _sign_and_lift(layer: "FittedLayer", i: int, j: int, state: int) -> tuple[int, float | None]:
    prior = layer.state.prior[:, j]
    levels = _levels(layer, i, j)
    sign = 0 if levels is None else int(np.sign(levels[state] - prior @ levels))
    if i not in layer.encoder.categories:
        return sign, None
    p = _probabilities(layer, i, j)
    overall = prior @ p
    ordered_pair = levels is not None and p.shape[1] == 2
    value = 1 if ordered_pair else int((xlogy(p[state], p[state]) - xlogy(p[state], overall)).argmax())
    return sign, float(p[state, value] / overall[value])


def _probabilities(layer: "FittedLayer", i: int, j: int) -> np.ndarray:
    """The probabilities of a column's categories in the states of a factor, (k, categories)."""
    block, at = _place(layer, i)
    sizes = [layer.encoder.categories[column].size + 1 for column in layer.encoder.parts[block][: at + 1].tolist()]
    first = sum(sizes[:-1])
    return layer.state.parameters[block].p[:, j, first : first + sizes[-1] - 1].astype(float)


def _place(layer: "FittedLayer", i: int) -> tuple[int, int]:
    """The block of a column, and its number there."""
    return next((b, int(at[0])) for b, part in enumerate(layer.encoder.parts) if (at := np.flatnonzero(part == i)).size)
