"""Whether columns depend on labels that were found without them: one test for each family of marginals."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtri, xlogy
from scipy.stats import rankdata

from hicorex import kernels
from hicorex.marginals import Categorical, Gaussian, Ordered, SparseCategorical, categorical, gaussian
from hicorex.marginals.base import Block, FamilySamples, Parameters, Tile
from hicorex.marginals.sparse import SparseTile

# Of the odds that numbers seem to depend on a label by chance: what their location may spend, and their spread.
LOCATION, SPREAD = 0.8, 0.2
# Categories that each state would have fewer times are tested as one.
LEAST_COUNT = 5
# Cells that are ranked at a time, if a column has no more.
FEW_CELLS = 2**20

# What a column itself adds to the scores of its owner, in the form that a family has it.
OwnTerms = Any


class IndependenceTest(ABC):
    """Tests the columns of a block by samples in memory.

    Sums are arrays whose last axis is the columns, or their categories, and the states of the label come after what
    is summed: (..., k, n) against one label for each column, (..., k, J, n) against J labels each.
    """

    @abstractmethod
    def tabulate(self, tile: Tile, at: slice, labels: np.ndarray) -> np.ndarray:
        """Sums of each column in the states of labels (k, J, T) of the samples ``at``, times their weight."""

    @abstractmethod
    def own_terms(self, parameters: Parameters, alpha: np.ndarray, owner: np.ndarray) -> OwnTerms:
        """What each column adds to the scores of one factor, its owner (n,), under parameters and alpha (J, n)."""

    @abstractmethod
    def tabulate_without(
        self, tile: Tile, at: slice, scores: np.ndarray, owner: np.ndarray, own: OwnTerms, sample_weight: np.ndarray
    ) -> np.ndarray:
        """Sums of each column in the states of the label that its owner has without it.

        scores (k - 1, J, T) are the log-odds of all labels.
        """

    @abstractmethod
    def probabilities(self, table: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Probability (n,) or (J, n) of such sums, or stranger ones, if the label says nothing about the column.

        ``columns`` are some of them, None for all.
        """


class GaussianTest(IndependenceTest):
    """F tests of normal scores, for location and spread: exact whatever the distribution of a column."""

    def __init__(self, block: Gaussian, samples: gaussian.Samples, sample_weight: np.ndarray):
        self._block = block
        self._observed = block.tile(samples, slice(None)).observed(block.gaps)
        self._location, self._spread = np.empty((2, *samples.values.shape), np.float32)
        step = max(1, FEW_CELLS // max(samples.values.shape[1], 1))
        for first in range(0, len(samples.values), step):  # a copy of all values would take memory
            some = slice(first, first + step)
            values = np.where(self._observed[some], samples.values[some], np.nan)
            self._location[some], self._spread[some] = normal_scores(values), normal_scores(np.abs(values))
        squares = [np.einsum("it,it,t->i", of, of, sample_weight) for of in (self._location, self._spread)]
        self._location_square, self._spread_square = squares

    def tabulate(self, tile: gaussian.Tile, at: slice, labels: np.ndarray) -> np.ndarray:
        """Sums of 1 and the normal scores of x and of |x|: (3, k, J, n)."""
        weighted = labels.reshape(-1, labels.shape[2]).astype(np.float32)
        numbers = (self._observed[:, at].astype(np.float32), self._location[:, at], self._spread[:, at])
        return np.stack([weighted @ of.T for of in numbers]).reshape(3, *labels.shape[:2], -1).astype(float)

    def own_terms(self, parameters: gaussian.Parameters, alpha: np.ndarray, owner: np.ndarray) -> OwnTerms:
        """Coefficients of 1, x and x^2 in what each column adds, (k - 1, n, 1)."""
        columns = np.arange(self._block.n_columns)
        own_alpha = alpha[owner, columns].astype(self._block.dtype)
        return [(own_alpha * array)[:, :, None] for array in self._block.log_odds(parameters, owner, columns)]

    def tabulate_without(
        self,
        tile: gaussian.Tile,
        at: slice,
        scores: np.ndarray,
        owner: np.ndarray,
        own: OwnTerms,
        sample_weight: np.ndarray,
    ) -> np.ndarray:
        """Sums of 1 and the normal scores of x and of |x|: (3, k, n)."""
        observed, (constant, linear, quadratic) = self._observed[:, at], own
        label = label_without(scores[:, owner], (constant + tile.x * (linear + tile.x * quadratic)) * observed)
        table = np.empty((3, len(scores) + 1, len(tile.x)))
        for s in range(len(scores) + 1):
            in_state = (observed & (label == s)) * sample_weight
            table[0, s] = in_state.sum(axis=1)
            for row, numbers in enumerate((self._location, self._spread), start=1):
                table[row, s] = np.einsum("it,it->i", in_state, numbers[:, at])
        return table

    def probabilities(self, table: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """The p-values of two F tests in one."""
        some = slice(None) if columns is None else columns
        count, location, spread = table[..., some]
        of_location = variance_test(count, location, self._location_square[some]) / LOCATION
        return np.minimum(1, np.minimum(of_location, variance_test(count, spread, self._spread_square[some]) / SPREAD))


class CategoricalTest(IndependenceTest):
    """A likelihood-ratio test in which rare categories are pooled."""

    def __init__(self, block: Categorical, samples: FamilySamples, sample_weight: np.ndarray):
        self._block = block

    def tabulate(self, tile: Tile, at: slice, labels: np.ndarray) -> np.ndarray:
        """Counts (k, J, F) of the categories in each state."""
        weighted = np.ascontiguousarray(labels.reshape(-1, labels.shape[2]).T, float)
        return self._count(tile, weighted).T.reshape(*labels.shape[:2], -1)

    def _count(self, tile: Tile, weighted: np.ndarray) -> np.ndarray:
        """The sums (F, C) of weights (T, C) over the samples of each category."""
        count = np.zeros((self._block.offsets[-1], weighted.shape[1]))
        kernels.categorical.count_labels(tile.codes, self._block.offsets, weighted, count)
        return count

    def own_terms(self, parameters: categorical.Parameters, alpha: np.ndarray, owner: np.ndarray) -> OwnTerms:
        """What each category adds, (k - 1, F)."""
        block = self._block
        log_p = parameters.log_p[:, owner[block.column_of], np.arange(block.offsets[-1])].astype(float)
        return (log_p[1:] - log_p[0]) * alpha[owner, np.arange(block.n_columns)][block.column_of]

    def tabulate_without(
        self, tile: Tile, at: slice, scores: np.ndarray, owner: np.ndarray, own: OwnTerms, sample_weight: np.ndarray
    ) -> np.ndarray:
        """Counts (k, F) of the categories in each state."""
        n_entries, n_states = self._block.offsets[-1], len(scores) + 1
        place = self._block.offsets[:-1, None] + tile.codes.astype(np.intp)
        label = label_without(scores[:, owner], own[:, place])
        repeated = np.broadcast_to(sample_weight, label.shape).ravel()
        count = np.bincount((label * n_entries + place).ravel(), repeated, minlength=n_states * n_entries)
        return count.reshape(n_states, -1)

    def probabilities(self, table: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """The p-value of the likelihood-ratio test, with Williams's correction for small counts."""
        block = self._block
        starts, is_category = block.offsets[:-1], block.is_category
        if columns is not None:
            entries = np.flatnonzero(np.isin(block.column_of, columns))
            starts = np.searchsorted(block.column_of[entries], columns)
            table, is_category = table[..., entries], is_category[entries]
        table = table * is_category
        of_category = table.sum(axis=0)
        common = of_category >= LEAST_COUNT * len(table)
        rest = np.add.reduceat(table * ~common, starts, axis=-1)
        of_state = np.add.reduceat(table, starts, axis=-1)
        of_rest, total = rest.sum(axis=0), of_state.sum(axis=0)
        cells = np.add.reduceat(xlogy(table, table) * common, starts, axis=-1) + xlogy(rest, rest)
        of_common = np.where(common, of_category, 0)
        margins = np.add.reduceat(xlogy(of_common, of_common), starts, axis=-1) + xlogy(of_rest, of_rest)
        margins += xlogy(of_state, of_state).sum(axis=0) - xlogy(total, total)
        kept = np.add.reduceat(common.astype(int), starts, axis=-1) + (of_rest > 0)
        freedom = (kept - 1) * ((of_state > 0).sum(axis=0) - 1)
        by_category = np.add.reduceat(_inverse(of_common), starts, axis=-1) + _inverse(of_rest)
        spread = (total * by_category - 1) * (total * _inverse(of_state).sum(axis=0) - 1)
        correction = 1 + spread / np.maximum(6 * total * freedom, 1e-300)
        statistic = np.maximum(2 * (cells.sum(axis=0) - margins), 0) / correction
        return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)


class SparseTest(CategoricalTest):
    """The same test, by the cells that are stored."""

    _block: SparseCategorical

    def _count(self, tile: SparseTile, weighted: np.ndarray) -> np.ndarray:
        offsets = self._block.offsets
        count = np.zeros((offsets[-1], weighted.shape[1]))
        kernels.sparse.count_labels(*tile.cells, offsets, weighted, count)
        count[self._block.zeros] = np.maximum(weighted.sum(axis=0) - np.add.reduceat(count, offsets[:-1], axis=0), 0)
        return count

    def tabulate_without(
        self,
        tile: SparseTile,
        at: slice,
        scores: np.ndarray,
        owner: np.ndarray,
        own: OwnTerms,
        sample_weight: np.ndarray,
    ) -> np.ndarray:
        """Counts (k, F) of the categories in each state."""
        offsets = self._block.offsets
        table = np.zeros((len(scores) + 1, offsets[-1]))
        kernels.sparse.tabulate_without(
            *tile.cells, offsets, self._block.zeros, owner, scores, own, sample_weight, table
        )
        return table


_TESTS = {
    Gaussian: GaussianTest,
    Categorical: CategoricalTest,
    Ordered: CategoricalTest,
    SparseCategorical: SparseTest,
}


def independence_test(block: Block, samples: FamilySamples, sample_weight: np.ndarray) -> IndependenceTest:
    """The test of a block's columns by samples in memory."""
    return _TESTS[type(block)](block, samples, sample_weight)


def label_without(scores: np.ndarray, added: np.ndarray) -> np.ndarray:
    """The most likely state (n, T) if scores (k - 1, n, T) lacked what the column itself has added to them."""
    without = scores - added
    return np.where((without > 0).any(axis=0), without.argmax(axis=0) + 1, 0)


def normal_scores(values: np.ndarray) -> np.ndarray:
    """The quantiles of a normal distribution that stand for the ranks of values (n, N); 0 where they are NaN.

    >>> normal_scores(np.array([[3.0, np.nan, 1.0]])).astype(float).round(2).tolist()
    [[0.67, 0.0, -0.67]]
    """
    ranks = rankdata(values, axis=1, nan_policy="omit")
    observed = np.maximum(np.count_nonzero(~np.isnan(values), axis=1), 1)[:, None]
    return np.where(np.isnan(values), 0, ndtri((ranks - 0.5) / observed)).astype(np.float32)


def variance_test(count: np.ndarray, x: np.ndarray, square: np.ndarray) -> np.ndarray:
    """p-value (...) of the F test that groups (k, ...) with these counts and sums have the same mean.

    square : (...) the sum of x^2 over all groups
    """
    total = count.sum(axis=0)
    filled = count > 0
    of_groups = (x**2 / np.where(filled, count, 1)).sum(axis=0)
    between = of_groups - x.sum(axis=0) ** 2 / np.maximum(total, 1e-300)
    within = square - of_groups
    freedom, rest = filled.sum(axis=0) - 1, total - filled.sum(axis=0)
    testable = (freedom > 0) & (rest > 0) & (between > 0)
    with np.errstate(over="ignore"):  # infinite where groups do not vary at all
        ratio = between * rest / np.maximum(within * freedom, 1e-300)
    return np.where(testable, fdtrc(np.maximum(freedom, 1), np.maximum(rest, 1e-9), np.maximum(ratio, 0)), 1.0)


def _inverse(count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, 1 / np.where(count > 0, count, 1), 0)
