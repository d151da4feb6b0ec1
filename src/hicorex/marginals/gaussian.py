"""Gaussian marginals p(x_i | y_j) on standardised columns."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hicorex import kernels
from hicorex.marginals.base import (
    PRIOR_SAMPLES,
    Answers,
    Block,
    Pairs,
    Questions,
    Sums,
    all_states,
    linked_if_asked,
    most_likely,
    without_tiny,
)

# Relative to the variance of the column: below it, float32 sums carry no information.
VARIANCE_FLOOR = 1e-4
# Of the quadrature: more change the information of a mixture by less than a thousandth.
N_NODES = 9
# Products with fewer rows than this are faster in one loop over x that squares it on the way.
FEW_ROWS = 8
# Columns that are taken to double precision at a time.
FEW_COLUMNS = 256


class Parameters(NamedTuple):
    """Mean, variance and its logarithm of each column in each state of each factor, (k, J, n)."""

    mean: np.ndarray
    variance: np.ndarray
    log_variance: np.ndarray


class LogOdds(NamedTuple):
    """log p(x | y=s) - log p(x | y=0) = constant + linear x + quadratic x^2, (k - 1, P) of pairs."""

    constant: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


class PassCoefficients(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses."""

    pairs: Pairs
    log_odds: LogOdds
    log_prior: np.ndarray
    guess: list[np.ndarray] | None
    questions: Questions
    columns: np.ndarray
    links: np.ndarray | None


class Tile:
    """Some samples of a block: x (n, T), and which are observed in columns with gaps, (n_gaps, T)."""

    def __init__(self, x: np.ndarray, present: np.ndarray):
        self.x = x
        self.present = present

    @cached_property
    def square(self) -> np.ndarray:
        """x^2, (n, T)."""
        return self.x * self.x

    def observed(self, gaps: np.ndarray) -> np.ndarray:
        """Which cells are observed, (n, T), if the columns ``gaps`` lack some."""
        observed = np.ones(self.x.shape, bool)
        observed[gaps] = self.present
        return observed


class Samples(NamedTuple):
    """Standardised columns (n, N), 0 where missing, and which are observed in columns with gaps, (n_gaps, N)."""

    values: np.ndarray
    present: np.ndarray

    @property
    def row_cells(self) -> int:
        """The number of cells of a sample."""
        return len(self.values)

    def cut(self, rows: slice) -> "Samples":
        """Some consecutive samples."""
        return Samples(*(array[:, rows] for array in self))

    def take(self, rows: np.ndarray) -> "Samples":
        """Some samples, (M,)."""
        return Samples(*(np.take(array, rows, axis=1) for array in self))

    def append(self, others: Sequence["Samples"]) -> "Samples":
        """These samples, and after them those of others."""
        return Samples(*(np.concatenate(arrays, axis=1) for arrays in zip(self, *others, strict=True)))

    def shuffle(self, block: "Gaussian", rng: np.random.Generator) -> "Samples":
        """The samples of a block, each column in another order."""
        n_columns, n_samples = self.values.shape
        rows = rng.permuted(np.tile(np.arange(n_samples), (n_columns, 1)), axis=1)
        present = np.take_along_axis(self.present, rows[block.gaps], axis=1)
        return Samples(np.take_along_axis(self.values, rows, axis=1), present)


class Gaussian(Block):
    """A block of standardised columns, of which the columns ``gaps`` lack some values.

    informative (n,), False for columns that do not vary.
    """

    dependence_is_information = False
    least_prior_samples = PRIOR_SAMPLES  # a state of one sample would have no variance

    def __init__(self, gaps: np.ndarray, informative: np.ndarray, dtype: DTypeLike):
        self.gaps = gaps
        self.gap_of = np.full(informative.size, -1)
        self.gap_of[gaps] = np.arange(gaps.size)
        self.freedom = np.full(informative.size, 2.0)
        self.informative = informative
        self.n_features = np.ones(informative.size, int)
        self.dtype = np.dtype(dtype)

    @property
    def n_columns(self) -> int:
        """The number of columns, n."""
        return self.informative.size

    def tile(self, samples: Samples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""
        return Tile(np.ascontiguousarray(samples.values[:, rows]), samples.present[:, rows])

    def sum_columns(self, tile: Tile, sample_weight: np.ndarray) -> Sums:
        """Sums of x and x^2 (n,) and the weight observed (n,)."""
        total, square = np.empty((2, self.n_columns))
        firsts = range(0, max(self.n_columns // FEW_COLUMNS, 1) * FEW_COLUMNS, FEW_COLUMNS)
        for first, stop in zip(firsts, [*firsts[1:], self.n_columns], strict=True):
            x = tile.x[first:stop].astype(float)
            np.matmul(x, sample_weight, out=total[first:stop])
            x *= x
            np.matmul(x, sample_weight, out=square[first:stop])
        count = np.full(self.n_columns, sample_weight.sum())
        count[self.gaps] = tile.present @ sample_weight
        return total, square, count

    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""
        return self.totals[2]

    def estimate(self, sums: Sums, label_sum: np.ndarray, prior_samples: float) -> Parameters:
        """Mean and variance of p(x_i | y_j) under the labels, drawn towards those of the column (eq:marg)."""
        total_x, total_square, total_count = self.totals
        count = label_sum[:, :, None]
        if self.gaps.size:
            count = np.repeat(count, self.n_columns, axis=2)
            count[:, :, self.gaps] = all_states(sums[2], total_count[self.gaps])
        shape = (*label_sum.shape, self.n_columns)
        mean, variance = np.empty((2, *shape), self.dtype)
        kernels.gaussian.estimates(
            sums[0], sums[1], total_x, total_square, count, prior_samples, VARIANCE_FLOOR, mean, variance
        )
        return Parameters(mean, variance, np.log(variance))

    def log_odds(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> LogOdds:
        """The log-odds log p(x | y=s) - log p(x | y=0) of pairs of factor and column, (P,) each."""
        log_odds = LogOdds(*np.empty((3, len(parameters.mean) - 1, factors.size), self.dtype))
        kernels.gaussian.log_odds(*parameters, factors, columns, *log_odds)
        return log_odds

    def dependence(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """A stand-in (J, n) in closed form for I(Y_j:X_i): the log of the variance explained, at most H(Y_j)."""
        dependence = np.empty(parameters.mean.shape[1:])
        kernels.gaussian.dependences(*parameters, prior, dependence)
        return dependence

    def information(
        self, parameters: Parameters, prior: np.ndarray, factors: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """I(Y_j:X_i) of the mixtures of some pairs of factor and column."""
        mixtures = np.empty((3, len(prior), factors.size), self.dtype)
        pairs = np.ascontiguousarray(factors), np.ascontiguousarray(columns)
        kernels.gaussian.mixtures_of_pairs(prior, *parameters[:2], *pairs, mixtures)
        return mixture_information(mixtures)

    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions
    ) -> PassCoefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        pairs = Pairs.of(alpha)
        guess = None
        if questions.order is not None:
            every = np.indices(alpha.shape).reshape(2, -1)
            guess = [array.reshape(-1, *alpha.shape) for array in self.log_odds(parameters, *every)]
        return PassCoefficients(
            pairs,
            self.log_odds(parameters, *pairs[:2]),
            np.log(prior).astype(self.dtype),
            guess,
            questions,
            *linked_if_asked(questions, len(alpha)),
        )

    def scores(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        pairs, log_odds, log_prior = coefficients[:3]
        scores = np.zeros((len(log_prior) - 1, log_prior.shape[1], tile.x.shape[1]), self.dtype)
        kernels.gaussian.add_scores(tile.x, tile.present, self.gap_of, tuple(pairs), tuple(log_odds), scores)
        return scores.reshape(-1, tile.x.shape[1])

    def log_mixture(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        pairs, log_odds, log_prior = coefficients[:3]
        out = np.zeros((log_prior.shape[1], tile.x.shape[1]))
        kernels.gaussian.log_mixtures(tile.x, tile.present, self.gap_of, tuple(pairs), log_prior, tuple(log_odds), out)
        return out

    def measure(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: PassCoefficients
    ) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        labels = without_tiny(labels)
        weighted = (labels[1:] * sample_weight).reshape(-1, sample_weight.size)
        shape = (labels.shape[0] - 1, labels.shape[1], -1)
        if len(weighted) <= FEW_ROWS:
            sums = [np.empty((len(weighted), self.n_columns), weighted.dtype) for _ in range(2)]
            kernels.gaussian.moment_sums(tile.x, weighted, *sums)
        else:
            sums = [weighted @ tile.x.T, weighted @ tile.square.T]
        if self.gaps.size:
            sums.append(weighted @ tile.present.T.astype(weighted.dtype))
        pairs, log_odds, log_prior = coefficients[:3]
        log_mixture = np.zeros(labels.shape[1])
        kernels.gaussian.log_mixture_sums(
            tile.x, tile.present, self.gap_of, sample_weight, tuple(pairs), log_prior, tuple(log_odds), log_mixture
        )
        joint = guesses = None
        if coefficients.links is not None:
            joint = self._joint(tile, labels, sample_weight, coefficients)
        if coefficients.questions.order is not None:
            assert coefficients.guess is not None
            guesses = np.zeros((2, labels.shape[1], self.n_columns))
            kernels.structure.gaussian_guesses(
                np.where(tile.observed(self.gaps), tile.x, np.nan),
                *coefficients.guess,
                most_likely(labels, np.int8),
                sample_weight,
                coefficients.questions.order,
                *guesses,
            )
        return Answers(tuple(s.reshape(shape) for s in sums), log_mixture, joint, guesses)

    def log_mixture_sum(self, answers: Answers, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        assert answers.log_mixture is not None
        return answers.log_mixture

    def prime(
        self, parameters: Parameters, factor: int, column: int, scores: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Let the states of a factor be ranges of one column's values."""
        k = parameters.mean.shape[0]
        centres = np.linspace(-1, 1, k) if k > 2 else np.array([-0.8, 0.8])
        parameters.mean[:, factor, column] = centres + rng.normal(scale=0.05, size=k)
        parameters.variance[:, factor, column] = 0.5
        parameters.log_variance[:, factor, column] = np.log(0.5)

    def neutral(self, n_states: int, n_factors: int) -> Parameters:
        """Parameters that make no difference between states."""
        shape = (n_states, n_factors, self.n_columns)
        mean, variance, log_variance = np.zeros((3, *shape), self.dtype)
        return Parameters(mean, variance + 1, log_variance)

    def features(self, tile: Tile, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as features (1, T) whose cross products measure dependence."""
        return [tile.x[[i]].astype(float) for i in columns]

    def _joint(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: PassCoefficients
    ) -> np.ndarray:
        columns, links = coefficients.columns, coefficients.links
        assert links is not None
        observed_weight = tile.observed(self.gaps)[columns] * sample_weight if self.gaps.size else sample_weight[None]
        joint = np.zeros((columns.size, labels.shape[0] ** len(links), 3), tile.x.dtype)
        kernels.structure.joint_moments(tile.x, columns, observed_weight, labels, links, joint)
        return joint


def mixture_information(mixtures: np.ndarray) -> np.ndarray:
    """I(Y:X) (P,) of Gaussian mixtures: weight, mean and variance (3, k, P), in whose precision it is computed."""
    information = np.empty(mixtures.shape[2], mixtures.dtype)
    kernels.gaussian.information(*mixtures, *_hermite(N_NODES, mixtures.dtype), information)
    return information.astype(float)


@lru_cache
def _hermite(n_nodes: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    nodes, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes.astype(dtype), (weight / weight.sum()).astype(dtype)
