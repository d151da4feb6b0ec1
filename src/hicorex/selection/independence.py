"""Whether a column depends on a label that was found without it: one test for each family of marginals."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import chdtrc, fdtrc

from hicorex import kernels
from hicorex.marginals import Categorical, Gaussian, SparseCategorical, categorical, gaussian
from hicorex.marginals.base import Block, Parameters, Tile
from hicorex.marginals.sparse import SparseTile


class IndependenceTest(ABC):
    """Tests each column of a block against the label that one factor, its owner, has without the column."""

    @abstractmethod
    def tabulate(self, tile: Tile, scores: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Sums of each column in the states of that label; scores (k - 1, J, T) are the log-odds of all labels."""

    @abstractmethod
    def probabilities(self, table: np.ndarray) -> np.ndarray:
        """Probability (n,) of such sums, or stranger ones, if the label says nothing about the column."""


class GaussianTest(IndependenceTest):
    """F tests for location and spread."""

    def __init__(self, block: Gaussian, parameters: gaussian.Parameters, alpha: np.ndarray, owner: np.ndarray):
        self._gaps, self._owner = block.gaps, owner
        columns = np.arange(block.n_columns)
        weight = alpha[owner, columns].astype(block.dtype)
        self._log_odds = [(weight * array)[:, :, None] for array in block.log_odds(parameters, owner, columns)]

    def tabulate(self, tile: gaussian.Tile, scores: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Sums of 1, x, x^2 and |x| in each state: (4, k, n)."""
        x, observed = tile.x, tile.observed(self._gaps)
        label = label_without(scores[:, self._owner], self._added(x, observed))
        # In single precision squares of values far out leave no room for large weights.
        largest = sample_weight.max()
        weight = observed * (sample_weight / largest).astype(x.dtype)
        size = np.abs(x)
        table = np.empty((4, len(scores) + 1, len(x)))
        for s in range(len(scores) + 1):
            in_state = weight * (label == s)
            table[0, s] = in_state.sum(axis=1, dtype=float)
            for power, values in enumerate((x, tile.square, size), start=1):
                table[power, s] = np.einsum("it,it->i", in_state, values)
        return table * largest

    def _added(self, x: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """What each column adds to the scores of its owner, (k - 1, n, T)."""
        constant, linear, quadratic = self._log_odds
        added = constant + x * (linear + x * quadratic)
        return added * observed if self._gaps.size else added

    def probabilities(self, table: np.ndarray) -> np.ndarray:
        """The smaller p-value of two F tests, times two."""
        count, x, square, size = table
        return np.minimum(1, 2 * np.minimum(variance_test(count, x, square), variance_test(count, size, square)))


class CategoricalTest(IndependenceTest):
    """A chi-square test in which rare categories are pooled."""

    def __init__(self, block: Categorical, parameters: categorical.Parameters, alpha: np.ndarray, owner: np.ndarray):
        self._block, self._owner = block, owner
        log_p = parameters.log_p[:, owner[block.column_of], np.arange(block.offsets[-1])]
        self._log_odds = log_p[1:] - log_p[0]
        self._alpha = alpha[owner, np.arange(block.n_columns)]

    def tabulate(self, tile: Tile, scores: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Counts (k, F) of the categories in each state."""
        n_entries, n_states = self._block.offsets[-1], len(scores) + 1
        place = self._block.offsets[:-1, None] + tile.codes.astype(np.intp)
        label = label_without(scores[:, self._owner], self._log_odds[:, place] * self._alpha[:, None])
        repeated = np.broadcast_to(sample_weight, label.shape).ravel()
        count = np.bincount((label * n_entries + place).ravel(), repeated, minlength=n_states * n_entries)
        return count.reshape(n_states, -1)

    def probabilities(self, table: np.ndarray) -> np.ndarray:
        """The p-value of the chi-square test."""
        block = self._block
        n_states, starts = len(table), block.offsets[:-1]
        table = table * block.is_category
        common = table.sum(axis=0) >= 5 * n_states
        rest = np.add.reduceat(table * ~common, starts, axis=1)
        of_state = np.add.reduceat(table, starts, axis=1)
        state_share = of_state / np.maximum(of_state.sum(axis=0), 1e-300)
        statistic = np.add.reduceat(_chi_square(table, state_share[:, block.column_of]) * common, starts)
        statistic += _chi_square(rest, state_share)
        kept = np.add.reduceat(common.astype(int), starts) + (rest.sum(axis=0) > 0)
        freedom = (kept - 1) * ((of_state > 0).sum(axis=0) - 1)
        return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)


class SparseTest(CategoricalTest):
    """The same test, by the cells that are stored."""

    def __init__(
        self, block: SparseCategorical, parameters: categorical.Parameters, alpha: np.ndarray, owner: np.ndarray
    ):
        super().__init__(block, parameters, alpha, owner)
        self._zeros = block.zeros
        self._added = self._log_odds.astype(float)
        self._added *= self._alpha[block.column_of]

    def tabulate(self, tile: SparseTile, scores: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Counts (k, F) of the categories in each state."""
        offsets = self._block.offsets
        table = np.zeros((len(scores) + 1, offsets[-1]))
        kernels.sparse.tabulate_without(
            *tile.cells, offsets, self._zeros, self._owner, scores, self._added, sample_weight, table
        )
        return table


_TESTS = {Gaussian: GaussianTest, Categorical: CategoricalTest, SparseCategorical: SparseTest}


def independence_test(block: Block, parameters: Parameters, alpha: np.ndarray, owner: np.ndarray) -> IndependenceTest:
    """The test of a block's columns against the labels of their owners (n,), under parameters and alpha (J, n)."""
    return _TESTS[type(block)](block, parameters, alpha, owner)


def label_without(scores: np.ndarray, added: np.ndarray) -> np.ndarray:
    """The most likely state (n, T) if scores (k - 1, n, T) lacked what the column itself has added to them."""
    without = scores - added
    return np.where((without > 0).any(axis=0), without.argmax(axis=0) + 1, 0)


def variance_test(count: np.ndarray, x: np.ndarray, square: np.ndarray) -> np.ndarray:
    """p-value (n,) of the F test that groups (k, n) with these sums have the same mean."""
    total = count.sum(axis=0)
    filled = count > 0
    between = (x**2 / np.where(filled, count, 1)).sum(axis=0) - x.sum(axis=0) ** 2 / np.maximum(total, 1e-300)
    within = (square - x**2 / np.where(filled, count, 1)).sum(axis=0)
    freedom, rest = filled.sum(axis=0) - 1, total - filled.sum(axis=0)
    testable = (freedom > 0) & (rest > 0) & (between > 0)
    with np.errstate(over="ignore"):  # infinite where groups do not vary at all
        ratio = between * rest / np.maximum(within * freedom, 1e-300)
    return np.where(testable, fdtrc(np.maximum(freedom, 1), np.maximum(rest, 1e-9), np.maximum(ratio, 0)), 1.0)


def _chi_square(count: np.ndarray, state_share: np.ndarray) -> np.ndarray:
    """Pearson's statistic of each column of counts (k, ...) against the shares of the states."""
    expected = count.sum(axis=0) * state_share
    return ((count - expected) ** 2 / np.where(expected > 0, expected, 1)).sum(axis=0)
