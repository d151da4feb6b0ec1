"""All bounds of a stack of layers, from the evidence of samples."""

from collections.abc import Sequence

from hicorex.bounds.evidence import Evidence
from hicorex.bounds.lower import factor_bounds, hierarchical_lower_bound, layer_bounds, paired_lower_bound
from hicorex.bounds.result import Bounds
from hicorex.bounds.upper import label_upper_bound, marginal_entropy, theorem_upper_bound


def bounds_of(parts: Sequence[Evidence], cross_fitted: bool = False) -> Bounds:
    """The bounds from the evidence of one part of the samples, or of several parts, each with its model.

    TC(X) lies between ``lower`` (Thm hierarchy) and ``upper``; the upper bound of the paper (Thm tcub) stands beside.
    H(X) = sum_i H(X_i) - TC(X) turns them into bounds on the entropy.
    """
    layers = layer_bounds(parts)
    lower = hierarchical_lower_bound(parts, layers)
    with_pairs, with_pairs_stderr = paired_lower_bound(parts) or (None, None)
    upper = theorem = entropy_upper = None
    no_upper = next((part.no_upper for part in parts if part.no_upper), None)
    if no_upper is None:
        upper = label_upper_bound(parts)
        theorem = theorem_upper_bound(parts, layers)
        entropy_upper = marginal_entropy(parts) - lower.value
    return Bounds(
        lower=lower.value,
        lower_stderr=lower.stderr,
        depth=lower.depth,
        objective=sum(layer.objective for layer in layers),
        upper=upper.value if upper else None,
        upper_stderr=upper.stderr if upper else None,
        upper_theorem=theorem,
        entropy_lower=upper.label_entropy if upper else None,
        entropy_upper=entropy_upper,
        no_upper=no_upper,
        layers=layers,
        factors=() if cross_fitted else factor_bounds(parts[0]),
        n_samples=sum(part.n_samples for part in parts),
        lower_with_pairs=with_pairs,
        lower_with_pairs_stderr=with_pairs_stderr,
    )
