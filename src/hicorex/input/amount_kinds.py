"""Whether amounts are Gaussian as they are, or by their ranks: the way in which they tell more of other columns.

A monotone map of a variable leaves its information as it is, not what Gaussian marginals see of it: ranks tame heavy
tails and skew, and blur clusters that stand apart. So each column is put to a trial by columns that go with it. Those
make the states of a stand-in for a factor, and the Gaussian of each state in turn tells how much a sample's value says
of its state, with the column as it is and with its normal scores. Where both stand-ins, single columns and their sum,
are told more by ranks, it is ranks.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from hicorex.marginals.base import PRIOR_SAMPLES
from hicorex.marginals.gaussian import VARIANCE_FLOOR

# Partners of a column, and states of stand-ins: of numbers, and of categories, the rarest of which are one.
N_PARTNERS, N_STATES, MOST_STATES = 5, 4, 8
# Rounds in which a stand-in of numbers is cut into states.
N_ROUNDS = 10
# Ranks must tell this share more, and more than chance lets any parameter tell, this number of nats over the samples.
MARGIN, BY_CHANCE = 1.01, 0.2
# Columns of a larger correlation than this are copies, which know no more of one another than each of itself.
TWINS = 0.9999
# Kurtosis from which on tails are heavy, that of a Gaussian being 3.
HEAVY = 5
# From this share of the columns on the others, if they tell as much either way, are read alike.
MOST_AGREE = 0.75
# A value that more than this share of the samples has cannot be spread by ranks.
MOST_OF_ONE_VALUE = 0.5


class Trial(NamedTuple):
    """What columns of amounts tell of stand-ins, in nats, (2, c): of single columns, and of sums of columns.

    plain, ranked : as they are, and by their ranks
    heavy, clumped : (c,), whether it has heavy tails, and whether most samples have one value
    chance : (2, 1), what is no more than chance
    """

    plain: np.ndarray
    ranked: np.ndarray
    heavy: np.ndarray
    clumped: np.ndarray
    chance: np.ndarray

    @property
    def by_rank(self) -> np.ndarray:
        """(c,), which columns tell more by their ranks, whichever stand-in is asked.

        Not less will do of heavy tails. Columns that tell as much either way go with all others where these agree.
        """
        more = (self.ranked > MARGIN * self.plain + self.chance).all(axis=0)
        less = (self.plain > MARGIN * self.ranked + self.chance).all(axis=0)
        sure = np.where(self.heavy, ~less, more) & ~self.clumped
        return ~less & ~self.clumped if sure.mean() >= MOST_AGREE else sure

    @property
    def all_by_rank(self) -> bool:
        """Whether all columns together tell more by their ranks."""
        least = MARGIN * self.plain.mean(axis=1) + self.chance[:, 0]
        return bool((self.ranked.mean(axis=1) > least).all())


def try_amounts(numbers: np.ndarray, coded: Sequence[np.ndarray], weight: np.ndarray) -> Trial:
    """What columns of amounts tell as they are and by their ranks.

    Parameters
    ----------
    numbers : (n_samples, c), NaN where missing
    coded : codes (n_samples,) of the categories of other columns, from 0
    weight : (n_samples,), how many samples each stands for
    """
    here = ~np.isnan(numbers.T)
    plain = np.stack([_standardised(column, weight) for column in numbers.T])
    ranked = np.stack([_standardised(_normal_scores(column, weight), weight) for column in numbers.T])
    states = [_few_states(codes, weight) for codes in coded]
    together = (ranked * weight) @ ranked.T / weight.sum()
    together[np.abs(together) > TWINS] = 0
    strength = np.hstack([together**2, _explained(ranked, states, weight)])
    told = np.zeros((2, 2, len(plain)))
    partners = _strongest(strength)
    for partner in np.unique(partners).tolist():
        of = np.flatnonzero((partners == partner).any(axis=1) & (strength[:, partner] > 0))
        labels = states[partner - len(plain)] if partner >= len(plain) else _cut(ranked[[partner]], weight)[0]
        for i, values in enumerate((plain, ranked)):
            told[i, 0, of] += _told(values[of], labels[None], here[of] * weight)
    share = np.zeros_like(together)
    nearest = _strongest(together**2)
    np.put_along_axis(share, nearest, np.take_along_axis(together, nearest, axis=1), axis=1)
    labels = _cut(share @ ranked, weight)
    for i, values in enumerate((plain, ranked)):
        told[i, 1] = _told(values, labels, here * weight)
    clumped = [_largest_share(column, weight) > MOST_OF_ONE_VALUE for column in numbers.T]
    chance = BY_CHANCE * 2 * N_STATES * np.array([[N_PARTNERS], [1]]) / weight.sum()
    heavy = plain**4 @ weight > HEAVY * weight.sum()
    return Trial(told[0], told[1], heavy, np.array(clumped, bool), chance)


def _standardised(column: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A column of mean 0 and variance 1, 0 where missing; all 0 if it is constant."""
    here = ~np.isnan(column)
    values = np.where(here, column, 0)
    values = values / max(np.abs(values).max(initial=0), np.finfo(float).tiny)
    share = here * weight / max((here * weight).sum(), np.finfo(float).tiny)
    away = np.where(here, values - share @ values, 0)
    spread = np.sqrt(share @ away**2)
    return away / spread if spread > 0 else away * 0


def _normal_scores(column: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The normal quantile of the middle rank of each value, NaN where missing."""
    here = ~np.isnan(column)
    if not here.any():
        return column
    _, where = np.unique(column[here], return_inverse=True)
    of_value = np.bincount(where, weight[here])
    scores = np.full(column.size, np.nan)
    middle = (np.cumsum(of_value) - of_value / 2) / of_value.sum()
    scores[here] = ndtri(np.clip(middle, np.finfo(float).tiny, np.nextafter(1, 0)))[where]
    return scores


def _largest_share(column: np.ndarray, weight: np.ndarray) -> float:
    """The share of the samples that have the most frequent value."""
    here = ~np.isnan(column)
    _, where = np.unique(column[here], return_inverse=True)
    return float(np.bincount(where, weight[here], minlength=1).max() / max(weight[here].sum(), np.finfo(float).tiny))


def _few_states(codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Codes of the most frequent categories; those of all others are one."""
    size = np.bincount(codes, weight)
    place = np.empty(size.size, int)
    place[np.argsort(-size, kind="stable")] = np.arange(size.size)
    return np.minimum(place, MOST_STATES - 1)[codes]


def _cut(scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of scores (c, N), each cut into states where they lie apart: codes (c, N)."""
    share = weight / weight.sum()
    centre = scores @ share
    spread = np.sqrt((scores - centre[:, None]) ** 2 @ share)
    centres = centre[:, None] + spread[:, None] * ndtri((np.arange(N_STATES) + 0.5) / N_STATES)
    for _ in range(N_ROUNDS):
        between = (centres[:, 1:] + centres[:, :-1]) / 2
        labels = (scores[:, :, None] > between[:, None, :]).sum(axis=2)
        for state in range(N_STATES):
            own = (labels == state) * share
            size = own.sum(axis=1)
            mean = (own * scores).sum(axis=1) / np.where(size > 0, size, 1)
            centres[:, state] = np.where(size > 0, mean, centres[:, state])
    return labels


def _explained(values: np.ndarray, states: Sequence[np.ndarray], weight: np.ndarray) -> np.ndarray:
    """What the states of others explain of the variance of each column (c, N), beyond chance: shares (c, n_others)."""
    explained = np.zeros((len(values), len(states)))
    total = weight.sum()
    for at, codes in enumerate(states):
        size = np.bincount(codes, weight)
        inside = np.stack([np.bincount(codes, weight * row, minlength=size.size) for row in values])
        explained[:, at] = (inside**2 / np.where(size > 0, size, 1)).sum(axis=1) / total - (size.size - 1) / total
    return np.maximum(explained, 0)


def _strongest(strength: np.ndarray) -> np.ndarray:
    """The partners of each column, (c, at most N_PARTNERS)."""
    return np.argsort(-strength, axis=1, kind="stable")[:, :N_PARTNERS]


def _told(values: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """What each column (c, N) tells of its states, (c, N) or (1, N), if each is Gaussian, in nats: E log q(y|x) / p(y).

    weight : (c, N), 0 where missing
    """
    log_joint, log_prior = [], []
    total = np.maximum(weight.sum(axis=1), np.finfo(float).tiny)
    for state in range(int(labels.max(initial=0)) + 1):
        own = (labels == state) * weight
        size = own.sum(axis=1)
        mean = (own * values).sum(axis=1) / (size + PRIOR_SAMPLES)
        square = ((own * values**2).sum(axis=1) + PRIOR_SAMPLES) / (size + PRIOR_SAMPLES)
        variance = np.maximum(square - mean**2, VARIANCE_FLOOR)[:, None]
        log_prior.append(np.log(np.maximum(size / total, np.finfo(float).tiny)))
        log_joint.append(log_prior[-1][:, None] - (np.log(variance) + (values - mean[:, None]) ** 2 / variance) / 2)
    joint = np.stack(log_joint)
    codes = np.broadcast_to(labels, values.shape)
    log_odds = np.take_along_axis(joint, codes[None], axis=0)[0] - logsumexp(joint, axis=0)
    log_odds -= np.take_along_axis(np.stack(log_prior).T, codes, axis=1)
    return np.maximum((weight * log_odds).sum(axis=1) / total, 0)
