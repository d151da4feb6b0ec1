"""Upper bounds on the total correlation of discrete variables (Thm tcub, and a tighter one)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hicorex.bounds.evidence import Evidence, pooled_mean, with_error
from hicorex.bounds.result import LayerBounds

# A factor that knows less than this, in nats, always has the same label.
UNUSED = 1e-9


class UpperBound(NamedTuple):
    """An upper bound on TC(X), its standard error, and the entropy H(Y^1) of the joint labels that it rests on."""

    value: float
    stderr: float
    label_entropy: float


def theorem_upper_bound(parts: Sequence[Evidence], layers: Sequence[LayerBounds]) -> float | None:
    """TC(X) <= sum_k (TC_L(Y^{k-1}; Y^k) + sum_i H(Y_i^{k-1} | Y^k)), up to a layer of one factor (Thm tcub, eq:tcub).

    The smallest over all layers in which at most one factor is in use; None if there is no such layer.
    """
    terms = np.cumsum([layer.contribution + (layer.conditional_entropy or 0) for layer in layers])
    single = [all((part.layers[k].information > UNUSED).sum() <= 1 for part in parts) for k in range(len(layers))]
    return float(terms[single].min()) if any(single) else None


def label_upper_bound(parts: Sequence[Evidence]) -> UpperBound:
    """TC(X) <= sum_i H(X_i) - H(Y^1), since most likely labels Y^1 are a function of X, so that H(X) >= H(Y^1).

    It is tighter than Thm tcub, which for such labels comes down to sum_i H(X_i) - H(Y^r).
    """
    label_entropy = difference = square = 0.0
    for part in parts:
        weight, surprisal, surprisal_square = part.joint_labels.T
        of_label = -np.log(weight / part.total)
        label_entropy += weight @ of_label
        difference += (surprisal - weight * of_label).sum()
        square += (surprisal_square - 2 * of_label * surprisal + of_label**2 * weight).sum()
    label_entropy = float(label_entropy / sum(part.total for part in parts))
    _, stderr = with_error(parts, difference, square)
    return UpperBound(marginal_entropy(parts) - label_entropy, stderr, label_entropy)


def marginal_entropy(parts: Sequence[Evidence]) -> float:
    """sum_i H(X_i)."""
    return pooled_mean(parts, [part.surprisal for part in parts])[0]
