"""Categorical marginals p(x_i | y_j): tables of probabilities."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hicorex import kernels
from hicorex.marginals.base import Answers, Block, Pairs, Questions, Sums, linked_if_asked, most_likely, without_tiny

# Dependence between columns is measured on their most frequent categories; the rest count as one.
MOST_FEATURES = 8


class Parameters(NamedTuple):
    """p(x_i = v | y_j = s) and its logarithm for every category of every column, (k, J, F); 1 for missing values."""

    p: np.ndarray
    log_p: np.ndarray


class PassCoefficients(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses.

    Entries E of pairs are their columns' categories and missing values, those of each from starts (P + 1,) on:
    alpha log(p(v | y_j=s) / p(v | y_j=0)) in table (k - 1, E), alpha log(p_j(v) / p(v | y_j=0)) in log_mixture (1, E).
    """

    n_factors: int
    pairs: Pairs
    starts: np.ndarray
    table: np.ndarray
    log_mixture: np.ndarray
    guess: np.ndarray | None
    questions: Questions
    columns: np.ndarray
    links: np.ndarray | None


class Tile:
    """Some samples of a block: codes (n, T), and x, the same as numbers, if the block is binary."""

    def __init__(self, codes: np.ndarray, x: np.ndarray | None):
        self._codes = codes
        self.x = x
        self.n_rows = codes.shape[1]

    @cached_property
    def codes(self) -> np.ndarray:
        """The codes, column after column."""
        return np.ascontiguousarray(self._codes)


class Samples(NamedTuple):
    """Coded columns, (n, N), unsigned."""

    codes: np.ndarray

    @property
    def row_cells(self) -> int:
        """The number of cells of a sample."""
        return len(self.codes)

    def cut(self, rows: slice) -> "Samples":
        """Some consecutive samples."""
        return Samples(self.codes[:, rows])

    def take(self, rows: np.ndarray) -> "Samples":
        """Some samples, (M,)."""
        return Samples(np.take(self.codes, rows, axis=1))

    def append(self, others: Sequence["Samples"]) -> "Samples":
        """These samples, and after them those of others."""
        return Samples(np.concatenate([self.codes, *(other.codes for other in others)], axis=1))

    def shuffle(self, block: "Categorical", rng: np.random.Generator) -> "Samples":
        """The samples of a block, each column in another order."""
        n_columns, n_samples = self.codes.shape
        rows = rng.permuted(np.tile(np.arange(n_samples), (n_columns, 1)), axis=1)
        return Samples(np.take_along_axis(self.codes, rows, axis=1))


class Categorical(Block):
    """A block of coded columns.

    sizes (n,) the number of categories of each column. The categories of all columns lie side by side,
    F of them, those of column i from ``offsets[i]`` on, the last one, code ``sizes[i]``, standing for
    missing values. ``binary`` says that all columns have two categories and that none is missing: one
    column of a matrix product says it all.
    """

    dependence_is_information = True
    least_prior_samples = 1e-9

    def __init__(self, sizes: np.ndarray, binary: bool, dtype: DTypeLike):
        self.sizes = sizes
        self.binary = binary
        self.dtype = np.dtype(dtype)
        self.offsets = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.intp)
        self.column_of = np.repeat(np.arange(sizes.size), sizes + 1)
        self.is_category = np.ones(self.offsets[-1], bool)
        self.is_category[self.offsets[1:] - 1] = False
        self.freedom = np.maximum(sizes - 1.0, 0)
        self.informative = sizes > 1
        self.n_features = np.minimum(sizes, MOST_FEATURES)

    @property
    def n_columns(self) -> int:
        """The number of columns, n."""
        return self.sizes.size

    def codes_of(self, samples: Samples) -> Iterable[np.ndarray]:
        """The codes (N,) of one column after the other."""
        return samples.codes

    def tile(self, samples: Samples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""
        codes = samples.codes[:, rows]
        return Tile(codes, codes.astype(self.dtype) if self.binary else None)

    def sum_columns(self, tile: Tile, sample_weight: np.ndarray) -> Sums:
        """The weight of each category, (F,)."""
        count = np.zeros((self.offsets[-1], 1))
        kernels.categorical.count_labels(tile.codes, self.offsets, sample_weight[:, None], count)
        return (count[:, 0],)

    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""
        return np.add.reduceat(self.totals[0] * self.is_category, self.offsets[:-1])

    def estimate(self, sums: Sums, label_sum: np.ndarray, prior_samples: float) -> Parameters:
        """p(x_i | y_j) under the labels, drawn towards p(x_i) (eq:marg)."""
        count, total, marginal = np.ascontiguousarray(sums[0]), self.totals[0], self.marginal
        p = np.empty((*label_sum.shape, self.offsets[-1]), self.dtype)
        if self.binary:
            kernels.categorical.binary_estimates(count, label_sum, total, marginal, prior_samples, p)
        else:
            kernels.categorical.estimates(count, total, marginal, self.offsets, prior_samples, p)
        return Parameters(p, np.log(p))

    def missing_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is missing, (n,)."""
        return self.totals[0][~self.is_category]

    def surprisals(self, prior_samples: float) -> np.ndarray:
        """-log p(v) of each category, as if ``prior_samples`` more were spread over a column's categories, (F,)."""
        count = self.totals[0] + prior_samples / np.maximum(self.sizes, 1)[self.column_of]
        p = count / np.maximum(self.observed + prior_samples, 1e-300)[self.column_of]
        return -np.log(np.where(self.is_category & (p > 0), p, 1))

    def look_up(self, tile: Tile, table: np.ndarray) -> np.ndarray:
        """The sum over the columns of the entries of a table (F,) that each sample points to, (T,)."""
        total = np.zeros((tile.codes.shape[1], 1))
        kernels.categorical.add_table_rows(tile.codes, self.offsets, table[:, None], total)
        return total[:, 0]

    def dependence(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i), (J, n)."""
        information = np.empty((prior.shape[1], self.n_columns))
        if self.binary:
            kernels.categorical.binary_information(prior, *parameters, information)
        else:
            kernels.categorical.information(prior, *parameters, self.is_category, self.offsets, information)
        return information

    def information(
        self, parameters: Parameters, prior: np.ndarray, factors: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """I(Y_j:X_i) of some pairs of factor and column."""
        return self.dependence(parameters, prior)[factors, columns]

    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions
    ) -> PassCoefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        pairs = Pairs.of(alpha)
        starts = np.concatenate([[0], np.cumsum(self.sizes[pairs.columns] + 1)])
        table, log_mixture = (np.empty((rows, starts[-1]), self.dtype) for rows in (len(prior) - 1, 1))
        kernels.categorical.linked_tables(prior, *parameters, tuple(pairs), self.offsets, starts, table, log_mixture[0])
        guess, columns, links = self._asked(parameters, questions)
        return PassCoefficients(len(alpha), pairs, starts, table, log_mixture, guess, questions, columns, links)

    def scores(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        n_factors, pairs, starts, table = coefficients[:4]
        scores = np.zeros((len(table), n_factors, tile.n_rows), self.dtype)
        if tile.x is not None:
            kernels.categorical.add_lines(tile.x, tuple(pairs), table, scores)
        else:
            kernels.categorical.add_linked(tile.codes, tuple(pairs), starts, table, scores)
        return scores.reshape(-1, tile.n_rows)

    def log_mixture(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        n_factors, pairs, starts, _, log_mixture = coefficients[:5]
        out = np.zeros((1, n_factors, tile.n_rows), self.dtype)
        kernels.categorical.add_linked(tile.codes, tuple(pairs), starts, log_mixture, out)
        return out[0]

    def measure(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: PassCoefficients
    ) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        labels = without_tiny(labels)
        weighted = (labels[1:] * sample_weight).reshape(-1, sample_weight.size)
        if tile.x is not None:
            sums = weighted @ tile.x.T
        else:
            count = np.zeros((self.offsets[-1], len(weighted)), self.dtype)
            kernels.categorical.count_labels(tile.codes, self.offsets, np.ascontiguousarray(weighted.T), count)
            sums = count.T
        sums = sums.reshape(labels.shape[0] - 1, labels.shape[1], -1)
        joint = guesses = None
        if coefficients.links is not None:
            joint = self._joint(tile, labels, sample_weight, coefficients)
        if coefficients.questions.order is not None:
            guesses = np.zeros((2, labels.shape[1], self.n_columns))
            label = most_likely(labels, np.int8)
            order = coefficients.questions.order
            kernels.structure.categorical_guesses(
                tile.codes, self.offsets, coefficients.guess, label, sample_weight, order, *guesses
            )
        return Answers((sums,), None, joint, guesses)

    def log_mixture_sum(self, answers: Answers, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        n_factors, pairs, starts, _, log_mixture = coefficients[:5]
        entries, _ = self.entries(pairs.columns)
        factors = np.repeat(pairs.factors, np.diff(starts))
        return np.bincount(factors, log_mixture[0] * self.totals[0][entries], n_factors)

    def prime(
        self, parameters: Parameters, factor: int, column: int, scores: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Let the states of a factor be sets of one column's categories with like scores."""
        k, size = len(parameters.p), self.sizes[column]
        entries = slice(self.offsets[column], self.offsets[column] + size)
        all_scores = rng.normal(size=size)
        all_scores[: scores.size] = scores
        count = self.totals[0][entries]
        order = np.argsort(all_scores, kind="stable")
        middle = np.cumsum(count[order]) - count[order] / 2
        odds = rng.normal(scale=0.1, size=(k, size))
        odds[np.minimum(k * middle / max(count.sum(), 1e-300), k - 1).astype(int), order] += 2
        parameters.p[:, factor, entries] = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        parameters.log_p[:, factor, entries] = np.log(parameters.p[:, factor, entries])

    def neutral(self, n_states: int, n_factors: int) -> Parameters:
        """Parameters that make no difference between states."""
        size = np.where(self.is_category, self.sizes[self.column_of], 1)
        p = np.tile((1 / size).astype(self.dtype), (n_states, n_factors, 1))
        return Parameters(p, np.log(p))

    def features(self, tile: Tile, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as indicators (at most MOST_FEATURES, T) of its categories."""
        return [(tile.codes[i] == np.arange(self.n_features[i])[:, None]).astype(float) for i in columns]

    @property
    def marginal(self) -> np.ndarray:
        """The share of each category in its column, 0 for missing values, (F,)."""
        return self.totals[0] * self.is_category / np.maximum(self.observed, 1e-300)[self.column_of]

    def entries(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the categories of some columns lie among all F, and where each column's begin and end there."""
        width = self.sizes[columns] + 1
        offsets = np.concatenate([[0], np.cumsum(width)])
        return np.arange(offsets[-1]) + np.repeat(self.offsets[columns] - offsets[:-1], width), offsets

    def _asked(
        self, parameters: Parameters, questions: Questions
    ) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
        """The state that each category suggests (J, F), if asked for guesses; what linked_if_asked tells."""
        guess = None
        if questions.order is not None:
            guess = np.where(self.is_category, parameters.log_p.argmax(axis=0), -1).astype(np.int8)
        return guess, *linked_if_asked(questions, parameters.p.shape[1])

    def _joint(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: PassCoefficients
    ) -> np.ndarray:
        columns, links = coefficients.columns, coefficients.links
        assert links is not None
        n_joint = labels.shape[0] ** len(links)
        if tile.x is not None:
            moments = np.zeros((columns.size, n_joint, 2), self.dtype)
            kernels.structure.joint_moments(tile.x, columns, sample_weight[None], labels, links, moments)
            return moments
        entries, offsets = self.entries(columns)
        joint = np.zeros((entries.size, n_joint), self.dtype)
        kernels.structure.joint_counts(tile.codes, columns, offsets, sample_weight, labels, links, joint)
        return joint
