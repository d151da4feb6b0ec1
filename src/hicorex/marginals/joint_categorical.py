"""Categorical marginals of a variable given the joint states of several factors."""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from hicorex import kernels
from hicorex.marginals.base import PRIOR_SAMPLES
from hicorex.marginals.categorical import Categorical, Parameters, Tile
from hicorex.marginals.joint import Joint, JointMarginals, LogRatios, shares_of, unbiased


class Ratios(NamedTuple):
    """Of some columns (Q,) with factors (d, Q): tables (1 + d, k^d, F_Q) by joint state and category.

    The first has log p(v | y_S) / p(v), the others what that is less without each factor; those of a column begin at
    offsets (Q,).
    """

    columns: np.ndarray
    offsets: np.ndarray
    factors: np.ndarray
    tables: np.ndarray

    def add_explained(self, tile: Tile, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray) -> None:
        """Add the mean of the log-ratios over labels (k, J, T) to explained (T,), nothing where missing."""
        kernels.categorical.add_explained(tile.codes, *self, labels, explained, unique)


class JointCategorical(JointMarginals):
    """What a block of coded columns makes of joint counts (F_Q, states), or if binary of moments (Q, states, 2)."""

    def __init__(self, block: Categorical):
        self._block = block

    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters (k, F_Q) of pairs of factor and column."""
        entries, _ = self._block.entries(columns)
        factors = np.repeat(factors, self._block.sizes[columns] + 1)
        return Parameters(*(array[:, factors, entries] for array in parameters))

    def of_columns(self, joint: np.ndarray, columns: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The joint sums of some of the linked columns."""
        return joint[chosen if self._block.binary else np.repeat(chosen, self._block.sizes[columns] + 1)]

    def parameters(self, joint: np.ndarray, columns: np.ndarray, prior_samples: float) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters (states, F_Q) of the joint states of some columns."""
        block = self._block
        entries, offsets = block.entries(columns)
        count = np.ascontiguousarray(np.maximum(self._counts(joint).T, 0))
        seen = np.add.reduceat(count * block.is_category[entries], offsets[:-1], axis=1)
        p = np.empty((len(count), 1, entries.size), block.dtype)
        marginal = block.marginal[entries]
        kernels.categorical.estimates(count[1:, None], count.sum(axis=0), marginal, offsets, prior_samples, p)
        return shares_of(seen), Parameters(p[:, 0], np.log(p[:, 0]))

    def conditional_information(self, joint: np.ndarray, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before), the last factor fastest (left of eq:alpha)."""
        entries, offsets = self._block.entries(columns)
        marginal, information = self._block.marginal[entries], np.empty(columns.size)
        kernels.categorical.conditional_information(
            self._counts(joint), marginal, offsets, PRIOR_SAMPLES, n_states, information
        )
        return information

    def explained_share(self, joint: Joint) -> np.ndarray:
        """I(Y_S:X_i) / H(X_i) of the columns of a joint, by the mixture over the joint states."""
        entries, offsets = self._block.entries(joint.columns)
        column_of = np.repeat(np.arange(joint.columns.size), np.diff(offsets))
        p = joint.parameters.p.astype(float) * self._block.is_category[entries]
        probability = joint.probability[:, column_of] / joint.probability.sum(axis=0)[column_of]
        uncertain = np.add.reduceat(-xlogy(of := (probability * p).sum(axis=0), of), offsets[:-1])
        left = np.add.reduceat((probability * -xlogy(p, p)).sum(axis=0), offsets[:-1])
        return np.clip(1 - left / np.where(uncertain > 0, uncertain, left + 1), 0, 1) * (uncertain > 0)

    def _counts(self, joint: np.ndarray) -> np.ndarray:
        """The counts (F_Q, states) of joint sums."""
        if not self._block.binary:
            return joint
        ones = joint[..., 1]
        return np.stack([joint[..., 0] - ones, ones, 0 * ones], axis=1).reshape(-1, joint.shape[1])

    def ratios(self, joint: Joint, n_states: int, bias_correction: float) -> LogRatios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint."""
        return self._tables(joint, n_states, bias_correction)

    def _tables(self, joint: Joint, n_states: int, bias_correction: float) -> Ratios:
        entries, offsets = self._block.entries(joint.columns)
        column_of = np.repeat(np.arange(joint.columns.size), np.diff(offsets))
        mixture = np.log((joint.probability[:, column_of] * joint.parameters.p).sum(axis=0))
        log_ratio = (joint.parameters.log_p - mixture) * self._block.is_category[entries]
        known = unbiased(log_ratio, bias_correction)
        tables, states = [known], (n_states,) * len(joint.factors)
        for place in range(len(states)):
            lost = known
            if len(states) > 1:
                without = _log_ratio_without(joint.probability[:, column_of], place, log_ratio, states)
                rest = np.repeat(unbiased(without, bias_correction), n_states, axis=place)
                lost = known - rest.reshape(known.shape)
            tables.append(lost)
        factors = joint.factors.astype(np.intp, order="C")
        return Ratios(joint.columns, offsets, factors, np.stack(tables).astype(float, order="C"))


def _log_ratio_without(
    probability: np.ndarray, place: int, log_ratio: np.ndarray, states: tuple[int, ...]
) -> np.ndarray:
    """Log-ratios (prod(states), ...) if one of the factors, by its place, is left out: (*states, ...), 1 for its."""
    shape = (*states, *log_ratio.shape[1:])
    probability = probability.reshape(*states, *probability.shape[1:])
    rest = probability.sum(axis=place, keepdims=True)
    # Joint states that never occur have no weight either.
    given = np.where(rest > 0, probability / np.where(rest > 0, rest, 1), 1 / states[place])
    log_ratio = np.where(given > 0, log_ratio.reshape(shape), -np.inf)
    largest = log_ratio.max(axis=place, keepdims=True)
    return largest + np.log((given * np.exp(log_ratio - largest)).sum(axis=place, keepdims=True))
