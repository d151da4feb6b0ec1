"""Gaussian marginals of a variable given the joint states of several factors."""

from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.marginals.base import PRIOR_SAMPLES
from hicorex.marginals.gaussian import VARIANCE_FLOOR, Gaussian, Parameters, Tile, mixture_information
from hicorex.marginals.joint import Joint, JointMarginals, shares_of


class Ratios(NamedTuple):
    """Of some columns (Q,) with factors (d, Q): what log p(x | y_S) / p(x) follows from.

    log_weight (k^d, Q) of their joint states and log_rest (d, k^(d-1), Q) of those without one factor;
    log p(x | s) = level - half_precision (x - mean)^2, (k^d, Q); ``bias_correction`` as in ``unbiased``;
    gaps as of the block
    """

    columns: np.ndarray
    factors: np.ndarray
    log_weight: np.ndarray
    log_rest: np.ndarray
    level: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray
    bias_correction: np.floating
    gaps: np.ndarray

    def add_explained(self, tile: Tile, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray) -> None:
        """Add the mean of the log-ratios over labels (k, J, T) to explained (T,), nothing where missing."""
        present = np.empty((self.columns.size, 0), bool)
        if self.gaps.size:
            present = tile.observed(self.gaps)[self.columns]
        labels = labels.astype(self.level.dtype)
        kernels.gaussian.add_explained(tile.x, present, tuple(self[:-1]), labels, explained, unique)


class JointGaussian(JointMarginals):
    """What a Gaussian block makes of joint moments (Q, states, 3)."""

    def __init__(self, block: Gaussian):
        self._block = block

    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters (k, Q) of pairs of factor and column."""
        return Parameters(*(array[:, factors, columns] for array in parameters))

    def of_columns(self, joint: np.ndarray, columns: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The joint sums of some of the linked columns."""
        return joint[chosen]

    def parameters(self, joint: np.ndarray, columns: np.ndarray, prior_samples: float) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters (states, Q) of joint states."""
        count, x, square = (np.maximum(joint[..., 0], 0).T, joint[..., 1].T, joint[..., 2].T)
        return shares_of(count), smoothed(count, x, square, prior_samples)

    def conditional_information(self, joint: np.ndarray, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before), the last factor fastest (left of eq:alpha)."""
        before = np.empty(joint.shape[0] * joint.shape[1] // n_states)
        mixtures = np.empty((3, n_states, before.size), self._block.dtype)
        kernels.gaussian.joint_mixtures(joint, PRIOR_SAMPLES, VARIANCE_FLOOR, before, mixtures)
        return (before * mixture_information(mixtures)).reshape(len(joint), -1).sum(axis=1)

    def explained_share(self, joint: Joint) -> np.ndarray:
        """The share of the variance that lies between the joint states (eta squared), of the columns of a joint."""
        weight = joint.probability / joint.probability.sum(axis=0)
        mean = joint.parameters.mean.astype(float)
        between = (weight * (mean - (weight * mean).sum(axis=0)) ** 2).sum(axis=0)
        return between / (between + (weight * joint.parameters.variance).sum(axis=0))

    def ratios(self, joint: Joint, n_states: int, bias_correction: float) -> Ratios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint."""
        n_columns = joint.columns.size
        states = joint.probability.reshape(*[n_states] * len(joint.factors), n_columns)
        rest = np.stack([states.sum(axis=place).reshape(-1, n_columns) for place in range(len(joint.factors))])
        mean, variance, log_variance = joint.parameters
        dtype = self._block.dtype
        numbers = (_log(joint.probability), _log(rest), -0.5 * log_variance, mean, 0.5 / variance)
        log_weight, log_rest, level, mean, half_precision = (array.astype(dtype, order="C") for array in numbers)
        return Ratios(
            joint.columns,
            joint.factors.astype(np.intp, order="C"),
            log_weight,
            log_rest,
            level,
            mean,
            half_precision,
            np.array([bias_correction], dtype)[0],
            self._block.gaps,
        )


def smoothed(count: np.ndarray, x: np.ndarray, square: np.ndarray, prior_samples: float) -> Parameters:
    """Mean and variance from moments, with ``prior_samples`` samples more of mean 0 and variance 1."""
    size = count + prior_samples
    mean = x / size
    variance = (square + prior_samples) / size - mean * mean
    variance = np.maximum(variance, VARIANCE_FLOOR)
    return Parameters(mean, variance, np.log(variance))


def _log(probability: np.ndarray) -> np.ndarray:
    """Logarithms, so low of 0 that a state which never occurs does not dwarf the others, but finite."""
    return np.where(probability > 0, np.log(np.maximum(probability, 1e-300)), -1e30)
