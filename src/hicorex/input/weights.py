"""Weights of samples: whole numbers count rows, others say how much each sample stands for.

Weights that are not whole numbers are known but for a factor, so that their scale must not matter. They are scaled to
sum to the number of equally weighted samples that would tell as much (Kish), (sum w)^2 / sum w^2. So every sum over
samples, and with it each prior, test and standard error, knows how many samples there are in effect.
"""

from typing import Any

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.input.sources import Source

# Whole numbers of a larger sum than anyone has rows are relative too: sums in single precision stay finite.
MOST_ROWS = 2**40
# A weight below this share of the largest changes no sum; it counts as this share, so that no logarithm is of zero.
LEAST_SHARE = 2.0**-52
# With fewer samples in effect, one has all the weight.
FEWEST = 1 + 1e-6


def weighted(source: Source, sample_weight: Any) -> tuple[Source, np.ndarray | None]:
    """The samples of positive weight, and the number of samples that each stands for; None for one each."""
    if sample_weight is None:
        return source, None
    weight = check_weights(sample_weight, source.shape[0], "sample_weight")
    counts = as_samples(weight[weight > 0], "sample_weight")
    return source if weight.all() else source.take(np.flatnonzero(weight)), counts


def check_weights(given: Any, n_samples: int, name: str) -> np.ndarray:
    """Weights (n_samples,) as float64.

    They must be finite and not negative, and at least two positive. Messages call them by ``name``.
    """
    try:
        weight = np.asarray(given)
        if weight.dtype.kind not in "fiub":
            weight = np.array([float(value) for value in weight.tolist()])
        weight = np.array(np.broadcast_to(weight, n_samples) if weight.ndim == 0 else weight, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise HicorexError(f"{name} holds something else than numbers; give one number for each sample.") from None
    if weight.shape != (n_samples,):
        raise HicorexError(f"{name} has shape {weight.shape}; give one number for each of the {n_samples} samples.")
    for bad, what in ((np.isnan(weight), "a missing value"), (np.isinf(weight), "an infinity"), (weight < 0, "")):
        if bad.any():
            row = int(bad.argmax())
            what = what or f"the negative number {weight[row]:.4g}"
            raise HicorexError(f"{name} has {what} in row {row}; give 0 to leave a sample out, or a positive number.")
    if np.count_nonzero(weight) < 2:
        raise HicorexError(f"{name} is zero for all samples, or for all but one; give at least two a positive weight.")
    return weight


def counts_rows(weight: np.ndarray) -> bool:
    """Whether weights are whole numbers, which count rows."""
    # The sum is looked at last, since that of huge numbers overflows.
    return bool((weight == np.rint(weight)).all() and weight.max() <= MOST_ROWS and weight.sum() <= MOST_ROWS)


def as_samples(weight: np.ndarray, name: str) -> np.ndarray:
    """Positive weights, as they were given, so that they sum to the number of samples in effect."""
    if counts_rows(weight):
        return weight
    share = np.maximum(weight / weight.max(), LEAST_SHARE)
    total, square = share.sum(), share @ share
    if total**2 < FEWEST * square:
        raise HicorexError(f"{name} gives all weight to one sample; give others a larger share.")
    return share * (total / square)
