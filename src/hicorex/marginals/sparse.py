"""Categorical marginals of sparse columns: most cells hold 0, and work is done for the others alone.

Every statistic is that of a table of zeros and what the other cells change in it.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csc_array, csr_array, vstack

from hicorex import kernels
from hicorex.marginals.base import Answers, Coefficients, FamilySamples, Questions, Sums, Tile, most_likely
from hicorex.marginals.categorical import Categorical, Parameters

# Columns that are made dense at a time, where nothing better is known.
SLICE = 256
# What is less of the weight of all samples than this share is rounding.
ROUNDING = 1e-12
# A number of columns that no table exceeds, where rows are all that matters.
WIDEST = np.iinfo(np.int32).max


class Samples(NamedTuple):
    """The cells that do not hold 0, row after row: indptr (N + 1,), and of each cell its column and its code."""

    indptr: np.ndarray
    columns: np.ndarray
    codes: np.ndarray

    @property
    def n_samples(self) -> int:
        """The number of samples, N."""
        return self.indptr.size - 1

    @property
    def row_cells(self) -> int:
        """The number of stored cells of a sample, on average."""
        return -(-self.codes.size // max(self.n_samples, 1))

    @classmethod
    def of_matrix(cls, matrix: csr_array) -> "Samples":
        """The cells of a matrix of codes."""
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.int32))

    def to_matrix(self, n_columns: int = WIDEST) -> csr_array:
        """The cells as a matrix of codes."""
        return csr_array((self.codes, self.columns, self.indptr), (self.n_samples, n_columns))

    def cut(self, rows: slice) -> "Samples":
        """Some consecutive samples."""
        first, last, _ = rows.indices(self.n_samples)
        cells = slice(self.indptr[first], self.indptr[last])
        return Samples(self.indptr[first : last + 1] - cells.start, self.columns[cells], self.codes[cells])

    def take(self, rows: np.ndarray) -> "Samples":
        """Some samples, (M,)."""
        return Samples.of_matrix(self.to_matrix()[rows])

    def append(self, others: Sequence["Samples"]) -> "Samples":
        """These samples, and after them those of others."""
        return Samples.of_matrix(vstack([samples.to_matrix() for samples in (self, *others)], "csr"))

    def shuffle(self, block: "SparseCategorical", rng: np.random.Generator) -> "Samples":
        """The samples of a block, each column in another order: its cells go to rows drawn anew."""
        matrix = self.to_matrix(block.n_columns)
        by_column = matrix.tocsc()
        counts = np.diff(by_column.indptr)
        rows = [rng.choice(self.n_samples, count, replace=False) for count in counts[counts > 0].tolist()]
        column = np.repeat(np.arange(block.n_columns), counts)
        place = (np.concatenate(rows) if rows else np.empty(0, int), column)
        return Samples.of_matrix(csr_array((by_column.data, place), matrix.shape))


class SparsePassCoefficients(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses: a table by cell (C, P).

    tuples (D, p) are the distinct links, tuple_of (Q,) says which is whose; used lists the rows of the table that are
    not zero for column i from firsts[i] on.
    """

    table: np.ndarray
    constant: np.ndarray
    log_mixture: np.ndarray
    guess: np.ndarray | None
    questions: Questions
    columns: np.ndarray
    links: np.ndarray | None
    firsts: np.ndarray
    used: np.ndarray
    tuples: np.ndarray | None
    tuple_of: np.ndarray | None


class SparseTile:
    """Some samples: cells column after column from ``starts`` (n + 1,) on, with their rows and codes."""

    def __init__(self, samples: Samples, rows: slice, zero: np.ndarray):
        first, last, _ = rows.indices(samples.n_samples)
        indptr = samples.indptr[first : last + 1]
        self.n_rows = indptr.size - 1
        self.zero = zero
        self.cells = kernels.sparse.by_column(indptr, samples.columns, samples.codes, zero.size)

    @cached_property
    def codes(self) -> np.ndarray:
        """The codes of all cells, (n, T)."""
        return self.dense(np.arange(self.zero.size))

    def cells_of(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the codes of a column's cells."""
        starts, rows, codes = self.cells
        cells = slice(starts[column], starts[column + 1])
        return rows[cells], codes[cells]

    def dense(self, columns: np.ndarray) -> np.ndarray:
        """The codes of all cells of some columns, (len(columns), T)."""
        dense = np.repeat(self.zero[columns].astype(np.int32)[:, None], self.n_rows, axis=1)
        for column, i in zip(dense, columns.tolist(), strict=True):
            rows, codes = self.cells_of(i)
            column[rows] = codes
        return dense


class SparseCategorical(Categorical):
    """A block of coded columns of which only some cells are stored; all others have the code of 0.

    zero : (n,) the code of 0 in each column, that of missing values where 0 is no category
    zeros : (n,) where these lie among all F
    places : (n,) where the cells of a column belong in tables by cell: among all F, or if the block is binary,
        so that all cells have code 1, one place a column
    """

    def __init__(self, sizes: np.ndarray, zero: np.ndarray, binary: bool, dtype: DTypeLike):
        super().__init__(sizes, binary, dtype)
        self.zero = zero
        self.zeros = self.offsets[:-1] + zero
        self.places = np.arange(sizes.size) - 1 if binary else self.offsets[:-1]

    @property
    def stored_cells(self) -> float:
        """The cells of a sample that are stored, on average, by the totals."""
        return float(self.n_columns - self.totals[0][self.zeros].sum() / self.total)

    def codes_of(self, samples: FamilySamples) -> Iterable[np.ndarray]:
        """The codes (N,) of one column after the other."""
        tile = self.tile(samples, slice(None))
        return (tile.dense(np.array([i]))[0] for i in range(self.n_columns))

    def tile(self, samples: FamilySamples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""
        return SparseTile(samples, rows, self.zero)

    def sum_columns(self, tile: Tile, sample_weight: np.ndarray) -> Sums:
        """The weight of each category, (F,)."""
        count = np.zeros((self.offsets[-1], 1))
        kernels.sparse.count_labels(*tile.cells, self.offsets, sample_weight[:, None], count)
        total = sample_weight.sum()
        rest = self._rest(count, np.array([total]))[:, 0]
        # A category that never occurs must not seem to.
        full = np.diff(tile.cells[0]) == tile.n_rows
        count[self.zeros, 0] = np.where(full | (rest < ROUNDING * total), 0, rest)
        return (count[:, 0],)

    def look_up(self, tile: Tile, table: np.ndarray) -> np.ndarray:
        """The sum over the columns of the entries of a table (F,) that each sample points to, (T,)."""
        every = np.arange(self.n_columns + 1)
        return self._add_up(tile, *self._by_cell(table[None]), every, np.zeros(self.n_columns, int))[0]

    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions
    ) -> Coefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        log_odds = (parameters.log_p[1:] - parameters.log_p[0]) * alpha[:, self.column_of]
        constant, table = self._by_cell(log_odds.reshape(-1, self.offsets[-1]).astype(self.dtype))
        log_mixture = np.zeros((len(alpha), self.offsets[-1]))
        kernels.categorical.log_mixtures(alpha, prior, *parameters, self.offsets, log_mixture)
        guess, columns, links = self._asked(parameters, questions)
        tuples = tuple_of = None
        if links is not None:
            tuples, tuple_of = distinct(links)
        of_cells = table, constant.astype(self.dtype), log_mixture
        used = _used(np.tile(alpha, (len(prior) - 1, 1)))
        return SparsePassCoefficients(*of_cells, guess, questions, columns, links, *used, tuples, tuple_of)

    def scores(self, tile: Tile, coefficients: Coefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        return self._add_up(tile, coefficients.constant, coefficients.table, coefficients.firsts, coefficients.used)

    def log_mixture(self, tile: Tile, coefficients: Coefficients) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        # The rows of the first state stand for their factors.
        of_first = coefficients.used < len(coefficients.log_mixture)
        firsts = np.concatenate([[0], np.cumsum(of_first)])[coefficients.firsts]
        return self._add_up(tile, *self._by_cell(coefficients.log_mixture), firsts, coefficients.used[of_first])

    def log_mixture_sum(self, answers: Answers, coefficients: Coefficients) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        return coefficients.log_mixture @ self.totals[0]

    def measure(self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: Coefficients) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        weighted = (labels[1:] * sample_weight).reshape(-1, sample_weight.size)
        # In double precision, since what zeros have is a difference.
        count = np.zeros((self.n_columns if self.binary else self.offsets[-1], len(weighted)))
        kernels.sparse.count_labels(*tile.cells, self.places, np.ascontiguousarray(weighted.T), count)
        if not self.binary:
            count[self.zeros] = self._rest(count, weighted.sum(axis=1, dtype=float))
        sums = count.astype(self.dtype).T.reshape(labels.shape[0] - 1, labels.shape[1], -1)
        joint = guesses = None
        if coefficients.links is not None:
            joint = self._joint(tile, labels, sample_weight, coefficients)
        if coefficients.questions.order is not None:
            guesses = self._guesses(tile, labels, sample_weight, coefficients)
        return Answers((sums,), None, joint, guesses)

    def features(self, tile: Tile, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as indicators (at most MOST_FEATURES, T) of its categories."""
        codes = tile.dense(columns)
        return [
            (column == np.arange(self.n_features[i])[:, None]).astype(float)
            for column, i in zip(codes, columns, strict=True)
        ]

    def _by_cell(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A table (C, F) as the sum of what zeros have, (C,), and how much more cells have than these, (C, P)."""
        zeros = table[:, self.zeros]
        more = table[:, 1::3] - zeros if self.binary else table - zeros[:, self.column_of]
        return zeros.sum(axis=1, dtype=float), np.ascontiguousarray(more)

    def _add_up(
        self, tile: Tile, constant: np.ndarray, table: np.ndarray, firsts: np.ndarray, used: np.ndarray
    ) -> np.ndarray:
        """What the cells of each sample add to a constant (C,) by a table (C, P), with some rows in use: (C, T)."""
        out = np.repeat(constant[:, None], tile.n_rows, axis=1)
        kernels.sparse.add_table(*tile.cells, self.places, table, firsts, used, out)
        return out

    def _rest(self, count: np.ndarray, total: np.ndarray) -> np.ndarray:
        """What the cells (F, C) of each column leave of a total (C,), (n, C)."""
        return np.maximum(total - np.add.reduceat(count, self.offsets[:-1], axis=0), 0)

    def _joint(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: Coefficients
    ) -> np.ndarray:
        columns, links = coefficients.columns, coefficients.links
        n_joint = labels.shape[0] ** len(links)
        total = self._totals(labels, sample_weight, coefficients.tuples, n_joint)[coefficients.tuple_of]
        entries, offsets = self.entries(columns)
        counts = np.zeros((columns.size if self.binary else entries.size, n_joint))
        if self.binary and len(labels) == 2:
            kernels.sparse.joint_ones(*tile.cells[:2], columns, sample_weight, labels[1], links, counts)
        else:
            places = np.arange(columns.size) - 1 if self.binary else offsets[:-1]
            kernels.sparse.joint_counts(*tile.cells, columns, places, sample_weight, labels, links, counts)
        if self.binary:
            return np.stack([total, counts], axis=2).astype(self.dtype)
        if columns.size:
            seen = np.add.reduceat(counts, offsets[:-1], axis=0)
            counts[offsets[:-1] + self.zero[columns]] = np.maximum(total - seen, 0)
        return counts.astype(self.dtype)

    def _totals(self, labels: np.ndarray, sample_weight: np.ndarray, tuples: np.ndarray, n_joint: int) -> np.ndarray:
        """The weight of all samples in the joint states of some tuples of factors (D, p), (p, k^D)."""
        if len(labels) == 2:
            totals = np.zeros((tuples.shape[1], n_joint))
            kernels.sparse.joint_totals(sample_weight, labels[1], tuples, totals)
            return totals
        # The moments of a column of zeros.
        moments = np.zeros((tuples.shape[1], n_joint, 2), self.dtype)
        nothing, first = np.zeros((1, sample_weight.size), self.dtype), np.zeros(len(moments), int)
        kernels.structure.joint_moments(nothing, first, sample_weight[None], labels, tuples, moments)
        return moments[..., 0]

    def _guesses(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: Coefficients
    ) -> np.ndarray:
        guesses = np.zeros((2, labels.shape[1], self.n_columns))
        label = most_likely(labels, np.int8)
        for first in range(0, self.n_columns, SLICE):
            columns = np.arange(first, min(first + SLICE, self.n_columns))
            order = np.ascontiguousarray(coefficients.questions.order[:, :, columns])
            some = np.zeros((2, labels.shape[1], columns.size))
            kernels.structure.categorical_guesses(
                tile.dense(columns), self.offsets[columns], coefficients.guess, label, sample_weight, order, *some
            )
            guesses[:, :, columns] = some
        return guesses


def samples_of(starts: np.ndarray, rows: np.ndarray, codes: np.ndarray, n_samples: int) -> Samples:
    """Cells that lie column after column as samples."""
    matrix = csc_array((codes.astype(np.int32), rows, starts), (n_samples, starts.size - 1))
    return Samples.of_matrix(matrix.tocsr())


def _used(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each column the rows in which alpha (C, n) is not zero, and where those of each begin and end."""
    columns, used = np.nonzero(alpha.T)
    return np.searchsorted(columns, np.arange(alpha.shape[1] + 1)), used


def distinct(links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of links (D, Q), -1 for none, and which of them each is."""
    size = links.max(initial=0) + 2
    key = np.zeros(links.shape[1], np.int64)
    for factor in links:
        key = key * size + factor + 1
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return np.ascontiguousarray(links[:, first]), which
