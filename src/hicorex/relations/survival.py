"""Times until an event that has not come for all: whether they differ from state to state."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import chdtrc

from hicorex.exceptions import HicorexError


class Survival(NamedTuple):
    """Times of samples, (N,), and whether the event came then or the sample was only seen until then, (N,).

    A sample without either has a time of NaN.
    """

    time: np.ndarray
    event: np.ndarray

    @classmethod
    def of(cls, time: np.ndarray, event: np.ndarray, names: Sequence[str] = ("time", "event")) -> Self:
        """From two columns of numbers; what cannot be times or events is refused by name."""
        if np.any(time < 0) or np.any(np.isinf(time)):
            raise HicorexError(
                f"Column {names[0]!r} of survival holds {time[(time < 0) | np.isinf(time)][0]:g}; "
                "give times of zero or more."
            )
        odd = event[~np.isnan(event) & (event != 0) & (event != 1)]
        if odd.size:
            raise HicorexError(
                f"Column {names[1]!r} of survival holds {odd[0]:g}; give 1 where the event came, and "
                "0 where a sample was only seen until then."
            )
        unknown = np.isnan(time) | np.isnan(event)
        return cls(np.where(unknown, np.nan, time), np.where(unknown, False, event == 1))

    @property
    def observed(self) -> np.ndarray:
        """Of which samples the time is known, (N,)."""
        return ~np.isnan(self.time)


def log_rank(survival: Survival, weighted: np.ndarray) -> np.ndarray:
    """p-values (J,) of the log-rank test that samples in all states of a label live equally long.

    weighted : (k, J, N), the weight of each sample in its state, 0 in others
    """
    at_risk, deaths = _at_risk(survival, weighted)
    n, d = at_risk.sum(axis=0), deaths.sum(axis=0)
    share = at_risk / n
    excess = (deaths - d * share).sum(axis=2)
    spread = d * (n - d) / np.maximum(n - 1, 1)
    covariance = -np.einsum("sjt,ujt,jt->jsu", share, share, spread)
    diagonal = np.arange(len(weighted))
    covariance[:, diagonal, diagonal] += (share * spread).sum(axis=2).T
    p = np.ones(weighted.shape[1])
    for j, of_factor in enumerate(excess.T):
        freedom = int((at_risk[:, j] > 0).any(axis=1).sum()) - 1
        if freedom > 0:
            p[j] = chdtrc(freedom, of_factor @ np.linalg.pinv(covariance[j], hermitian=True) @ of_factor)
    return p


def residuals(survival: Survival, sample_weight: np.ndarray) -> np.ndarray:
    """The martingale residual of each sample, (N,): whether the event came, less the hazard that it lived through.

    Large where the event came early, below zero where it should have come; NaN where the time is unknown.
    """
    at_risk, deaths = _at_risk(survival, sample_weight[None, None])
    hazard = np.cumsum(deaths[0, 0] / at_risk[0, 0])
    lived = np.append(0, hazard)[np.searchsorted(_times(survival), survival.time, "right")]
    return np.where(survival.observed, survival.event - lived, np.nan)


def _times(survival: Survival) -> np.ndarray:
    """The times at which the event came, rising."""
    return np.unique(survival.time[survival.event])


def _at_risk(survival: Survival, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the samples of each state that live until a time of an event, and that have it then, (k, J, T)."""
    times = _times(survival)
    known = np.flatnonzero(survival.observed)
    order = known[np.argsort(-survival.time[known], kind="stable")]
    alive = np.searchsorted(-survival.time[order], -times, "right")  # the number of samples that live so long
    at_risk = np.cumsum(weighted[:, :, order], axis=2)[:, :, np.maximum(alive - 1, 0)]
    deaths = np.zeros((*weighted.shape[:2], times.size))
    with_event = np.flatnonzero(survival.event)
    place = np.searchsorted(times, survival.time[with_event])
    np.add.at(deaths.transpose(2, 0, 1), place, weighted[:, :, with_event].transpose(2, 0, 1))
    return at_risk, deaths
