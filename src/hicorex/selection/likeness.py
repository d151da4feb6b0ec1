"""How alike the factors of several fits are: a real factor is found again in other samples, a split one is not."""

from collections.abc import Sequence

import numpy as np
from scipy.special import xlogy

# The entropy of a factor that says something; that of others is rounding.
LEAST_ENTROPY = 1e-3


def reproducibility(labels: Sequence[np.ndarray], n_states: int, sample_weight: np.ndarray) -> float:
    """How well the worst factor of a fit is found again by the other fits, from 0 to 1, the mean over fits.

    A factor is found again as well as the one of another fit that is most like it; 1 for a single fit.

    labels : for each fit, the most likely states (m, N) of its factors, of the same samples
    """
    if len(labels) < 2:
        return 1.0
    if not all(map(len, labels)):
        return 0.0
    share = sample_weight / sample_weight.sum()
    worst = []
    for i, one in enumerate(labels):
        others = [other for j, other in enumerate(labels) if j != i]
        worst.append(np.mean([likeness(one, other, n_states, share).max(axis=1) for other in others], axis=0).min())
    return float(np.mean(worst))


def likeness(one: np.ndarray, other: np.ndarray, n_states: int, share: np.ndarray) -> np.ndarray:
    """I(Y:Y') over the larger entropy, of labels (m, N) and (m', N), (m, m'); 0 where both are constant."""
    states = np.arange(n_states)[:, None]
    left, right = ((of[:, None] == states).reshape(-1, share.size).astype(np.float32) for of in (one, other))
    tables = (left * share.astype(np.float32)) @ right.T
    tables = tables.reshape(len(one), n_states, len(other), n_states).transpose(0, 2, 1, 3).astype(float)
    entropies = [-xlogy(p, p).sum(axis=-1) for p in (tables.sum(axis=3), tables.sum(axis=2))]
    joint = -xlogy(tables, tables).sum(axis=(2, 3))
    information = sum(entropies) - joint
    return np.clip(information / np.maximum(np.maximum(*entropies), LEAST_ENTROPY), 0, 1)
