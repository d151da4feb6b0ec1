"""Lower bounds on the total correlation (Thm basic, tclb, hierarchy)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hicorex.bounds.evidence import Evidence, pooled_mean
from hicorex.bounds.result import FactorBounds, LayerBounds
from hicorex.support.names import factor_name, layer_name


class LowerBound(NamedTuple):
    """A lower bound on TC(X), its standard error, and the number of layers that it counts."""

    value: float
    stderr: float
    depth: int


def hierarchical_lower_bound(parts: Sequence[Evidence], layers: Sequence[LayerBounds]) -> LowerBound:
    """TC(X) >= sum_k TC_L(Y^{k-1}; Y^k) (Thm hierarchy), over as many layers as make it largest.

    Evidence of new samples says how many layers count, so that they do not choose their own bound.
    """
    best = 1 + int(np.argmax([layer.lower for layer in layers]))
    depths = [part.depth or best for part in parts]
    value, stderr = pooled_mean(parts, [part.explained(depth) for part, depth in zip(parts, depths, strict=True)])
    return LowerBound(value, stderr, max(set(depths), key=depths.count))


def paired_lower_bound(parts: Sequence[Evidence]) -> tuple[float, float] | None:
    """The lower bound of layers and pairs, and its standard error; None where no pairs were learned.

    TC(X) >= sum_i I(X_i:Y_{S_i},X_parent) - sum_j I(Y_j:X) + TC(Y), if the parents make a forest.
    """
    if not all(part.paired for part in parts):
        return None
    return pooled_mean(parts, [part.explained_with_pairs for part in parts])


def layer_bounds(parts: Sequence[Evidence]) -> tuple[LayerBounds, ...]:
    """What each layer explains, from the bottom up.

    TC(X) >= TC(X;Y) = TC(Y) + TC_L(X;Y) (eq:basic, Thm basic), and TC(Y) >= 0, so that TC_L(X;Y) alone is a bound too
    (Cor tclb).
    """
    return tuple(_layer_bounds(parts, k) for k in range(len(parts[0].soft)))


def _layer_bounds(parts: Sequence[Evidence], k: int) -> LayerBounds:
    """TC_L(Y^{k-1}; Y^k) of layer k = 0, 1, ... (eq:tcl), and the bound up to it (Thm hierarchy).

    What the layer leaves open is sum_i H(Y_i^{k-1} | Y^k) = sum_i H(Y_i^{k-1}) - sum_j I(Y_j^k:Y^{k-1}) - TC_L.
    """
    row_share = np.array([part.total for part in parts]) / sum(part.total for part in parts)
    means = [part.layers[k] for part in parts]
    contribution, stderr = pooled_mean(parts, [part.explained_by(k) for part in parts])
    lower, _ = pooled_mean(parts, [part.explained(k + 1) for part in parts])
    inputs = [part.entropies[k] for part in parts]
    conditional_entropy = None
    if None not in inputs:
        cost = row_share @ [of_part.information.sum() for of_part in means]
        conditional_entropy = float(row_share @ np.array(inputs, float) - cost - contribution)
    return LayerBounds(
        name=layer_name(k + 1),
        n_factors=len(means[0].log_z),
        objective=float(row_share @ [of.log_z.sum() - part.excess[k] for of, part in zip(means, parts, strict=True)]),
        contribution=contribution,
        contribution_stderr=stderr,
        lower=lower,
        conditional_entropy=conditional_entropy,
    )


def factor_bounds(part: Evidence) -> tuple[FactorBounds, ...]:
    """What each factor of each layer explains, in the order of the layers."""
    return tuple(
        FactorBounds(factor_name(k, j), *map(float, numbers))
        for k, means in enumerate(part.layers, start=1)
        for j, numbers in enumerate(zip(means.log_z, means.unique, means.unique_stderr, means.information, strict=True))
    )
