"""Marginals of a variable given the joint states of several factors: what better factors leave to others.

Q is the number of columns that are linked to several factors, d the number of these factors.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from hicorex.kernels.structure import LARGEST_RATIO
from hicorex.marginals.base import Parameters, Tile


class Joint(NamedTuple):
    """Marginals of some columns (Q,) given the joint states of their factors (d, Q).

    probability (k^d, Q) of the joint states, the last factor fastest; parameters as the family has them.
    """

    columns: np.ndarray
    factors: np.ndarray
    probability: np.ndarray
    parameters: Parameters


class LogRatios(Protocol):
    """log p(x_i | y_S) / p(x_i) of the columns of a joint, S the factors of column i."""

    def add_explained(self, tile: Tile, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray) -> None:
        """Add the mean of the log-ratios over labels (k, J, T) to explained (T,), nothing where missing.

        What that would be less without each factor goes to unique (J, T).
        """


class JointMarginals(ABC):
    """What a block makes of the joint sums of a pass."""

    @abstractmethod
    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters of pairs of factor and column, in the form of those of joint states."""

    @abstractmethod
    def of_columns(self, joint: np.ndarray, columns: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The joint sums of those linked columns (Q,) for which ``chosen`` (Q,) holds."""

    @abstractmethod
    def parameters(self, joint: np.ndarray, columns: np.ndarray, prior_samples: float) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters of the joint states of linked columns (Q,)."""

    @abstractmethod
    def conditional_information(self, joint: np.ndarray, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before) of linked columns (Q,), the last factor fastest (left of eq:alpha)."""

    @abstractmethod
    def explained_share(self, joint: Joint) -> np.ndarray:
        """The share of the uncertainty of the columns of a joint that their factors explain, from 0 to 1, (Q,)."""

    @abstractmethod
    def ratios(self, joint: Joint, n_states: int, bias_correction: float) -> LogRatios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint; ``bias_correction`` as in ``unbiased``."""


def shares_of(count: np.ndarray) -> np.ndarray:
    """The share of each joint state in counts (states, Q); those of a column that no sample shows are equal."""
    total = count.sum(axis=0)
    return np.where(total > 0, count / np.where(total > 0, total, 1), 1 / len(count))


def unbiased(log_ratio: np.ndarray, bias_correction: float) -> np.ndarray:
    """Log-ratios whose mean over N new samples is not low for p(y) being that of the same samples.

    To first order the mean of log p(x | y) / sum_y p(y) p(x | y) falls short by that of (ratio - 1) / 2N,
    as the entropy of frequencies does by (states - 1) / 2N. The correction is 1 / 2N, for the samples of the
    marginals themselves 0.
    """
    # States that never occur may have any ratio; they have no weight.
    if not bias_correction:
        return log_ratio
    return log_ratio + bias_correction * np.expm1(np.minimum(log_ratio, LARGEST_RATIO))
