"""Gaussian marginals p(x_i | y_j) on standardised columns."""

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtrc

from hicorex import kernels
from hicorex.marginals.base import (
    PRIOR_SAMPLES,
    Answers,
    Block,
    Joint,
    Questions,
    all_states,
    linked,
    most_likely,
    take_rows,
)

# Relative to the column's own variance: below it, float32 sums carry no information.
VARIANCE_FLOOR = 1e-4
# Of the quadrature: more change the information of a mixture by less than a thousandth.
N_NODES = 9
# Products with fewer rows than this are faster in one loop over x that squares it on the way.
FEW_ROWS = 8


class Parameters(NamedTuple):
    """Mean, variance and its logarithm of each column in each state of each factor, (k, J, n)."""

    mean: np.ndarray
    variance: np.ndarray
    log_variance: np.ndarray


class LogOdds(NamedTuple):
    """log p(x | y=s) - log p(x | y=0) = constant + linear x + quadratic x^2, (k - 1, J, n)."""

    constant: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


class PassCoefficients(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses."""

    linear: np.ndarray
    quadratic: np.ndarray
    constant: np.ndarray
    constant_if_observed: np.ndarray
    alpha: np.ndarray
    log_prior: np.ndarray
    log_odds: LogOdds
    questions: Questions
    columns: np.ndarray
    links: np.ndarray | None


class Ratios(NamedTuple):
    """Of some columns (Q,) with factors (d, Q): log_weight (k^d, Q) of their joint states and log_rest (d, k^(d-1), Q)
    of those without one factor; log p(x | s) = level - half_precision (x - mean)^2, (k^d, Q); ``share`` as in unbiased.
    """

    columns: np.ndarray
    factors: np.ndarray
    log_weight: np.ndarray
    log_rest: np.ndarray
    level: np.ndarray
    mean: np.ndarray
    half_precision: np.ndarray
    share: Any


class Tile:
    """Some samples of a block: x (n, T), and which are observed in columns with gaps, (n_gaps, T)."""

    def __init__(self, x: np.ndarray, present: np.ndarray):
        self.x = x
        self.present = present

    @cached_property
    def square(self) -> np.ndarray:
        """x^2, (n, T)."""
        return self.x * self.x


class Samples(NamedTuple):
    """Standardised columns (n, N), 0 where missing, and which are observed in columns with gaps, (n_gaps, N)."""

    values: np.ndarray
    present: np.ndarray


class Gaussian(Block):
    """A block of standardised columns, of which the columns ``gaps`` lack some values.

    informative (n,), False for columns that do not vary.
    """

    dependence_is_information = False
    least_prior_samples = PRIOR_SAMPLES  # a state of one sample would have no variance

    def __init__(self, gaps: np.ndarray, informative: np.ndarray, dtype):
        self.gaps = gaps
        self.freedom = np.full(informative.size, 2.0)
        self.informative = informative
        self.n_features = np.ones(informative.size, int)
        self.dtype = np.dtype(dtype)

    @property
    def n_columns(self) -> int:
        """The number of columns, n."""
        return self.informative.size

    def take(self, samples: Samples, rows: np.ndarray) -> Samples:
        """Some samples (M,), or other samples for each column (n, M)."""
        present = take_rows(samples.present, rows if rows.ndim == 1 else rows[self.gaps])
        return Samples(take_rows(samples.values, rows), present)

    def tile(self, samples: Samples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""
        return Tile(np.ascontiguousarray(samples.values[:, rows]), samples.present[:, rows])

    def sum_columns(self, tile: Tile, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sums of x and x^2 (n,) and the weight observed (n,)."""
        x = tile.x.astype(float)
        count = np.full(self.n_columns, weight.sum())
        count[self.gaps] = tile.present @ weight
        return x @ weight, (x * x) @ weight, count

    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""
        return self.totals[2]

    def estimate(self, sums, label_count: np.ndarray, prior_samples: float) -> Parameters:
        """Parameters from the sums of a pass: the sample's, drawn towards the column's own."""
        total_x, total_square, total_count = self.totals
        count = label_count[:, :, None]
        if self.gaps.size:
            count = np.repeat(count, self.n_columns, axis=2)
            count[:, :, self.gaps] = all_states(sums[2], total_count[self.gaps])
        shape = (*label_count.shape, self.n_columns)
        mean, variance = np.empty((2, *shape), self.dtype)
        kernels.gaussian.estimates(
            sums[0], sums[1], total_x, total_square, count, prior_samples, VARIANCE_FLOOR, mean, variance
        )
        return Parameters(mean, variance, np.log(variance))

    def log_odds(self, parameters: Parameters) -> LogOdds:
        """The log-odds log p(x | y=s) - log p(x | y=0)."""
        n_states, *shape = parameters.mean.shape
        log_odds = LogOdds(*(np.empty((n_states - 1, *shape), self.dtype) for _ in range(3)))
        kernels.gaussian.log_odds(*parameters, *log_odds)
        return log_odds

    def dependence(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """A stand-in (J, n) in closed form for I(Y_j:X_i): the log of the variance explained, at most H(Y_j)."""
        dependence = np.empty(parameters.mean.shape[1:])
        kernels.gaussian.dependences(*parameters, prior, dependence)
        return dependence

    def information(self, parameters: Parameters, prior: np.ndarray, factors, columns) -> np.ndarray:
        """I(Y_j:X_i) of the mixtures of some pairs of factor and column."""
        mean, variance, _ = self.of_pairs(parameters, factors, columns)
        return mixture_information(prior[:, factors], mean, variance, self.dtype)

    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions
    ) -> PassCoefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        dtype = self.dtype
        log_odds = self.log_odds(parameters)
        share = alpha.astype(dtype)
        constant = log_odds.constant * share
        if_observed = constant[:, :, self.gaps]
        complete = constant.sum(axis=2, dtype=float) - if_observed.sum(axis=2, dtype=float)
        columns, links = np.empty(0, int), None
        if questions.links is not None and questions.links.shape[1] > 1:
            _, columns, links = linked(questions.links, alpha.shape[0] // len(questions.links))
        return PassCoefficients(
            log_odds.linear * share,
            log_odds.quadratic * share,
            complete.reshape(-1, 1).astype(dtype),
            if_observed,
            alpha,
            np.log(prior).astype(dtype),
            log_odds,
            questions,
            columns,
            links,
        )

    def scores(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        linear, quadratic = (array.reshape(-1, self.n_columns) for array in coefficients[:2])
        if len(linear) <= FEW_ROWS:
            scores = np.zeros((len(linear), tile.x.shape[1]), tile.x.dtype)
            kernels.gaussian.quadratic_scores(tile.x, linear, quadratic, scores)
        else:
            scores = linear @ tile.x
            scores += quadratic @ tile.square
        if self.gaps.size:
            scores += coefficients.constant_if_observed.reshape(-1, self.gaps.size) @ tile.present.astype(scores.dtype)
        scores += coefficients.constant
        return scores

    def log_mixture(self, tile: Tile, coefficients: PassCoefficients, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        log_mixture = np.zeros((alpha.shape[0], tile.x.shape[1]))
        gap_of = np.full(self.n_columns, -1)
        gap_of[self.gaps] = np.arange(self.gaps.size)
        kernels.gaussian.log_mixtures(
            tile.x, tile.present, gap_of, alpha, coefficients.log_prior, *coefficients.log_odds, log_mixture
        )
        return log_mixture

    def measure(self, tile: Tile, labels: np.ndarray, weight: np.ndarray, coefficients: PassCoefficients) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        weighted = (labels[1:] * weight).reshape(-1, weight.size)
        shape = (labels.shape[0] - 1, labels.shape[1], -1)
        if len(weighted) <= FEW_ROWS:
            sums = [np.empty((len(weighted), self.n_columns), weighted.dtype) for _ in range(2)]
            kernels.gaussian.moment_sums(tile.x, weighted, *sums)
        else:
            sums = [weighted @ tile.x.T, weighted @ tile.square.T]
        if self.gaps.size:
            sums.append(weighted @ tile.present.T.astype(weighted.dtype))
        log_mixture = np.zeros((labels.shape[1], self.n_columns), weighted.dtype)
        kernels.gaussian.log_mixture_sums(
            tile.x, weight, coefficients.alpha, coefficients.log_prior, *coefficients.log_odds, log_mixture
        )
        joint = guesses = None
        if coefficients.links is not None:
            joint = self._joint(tile, labels, weight, coefficients)
        if coefficients.questions.order is not None:
            guesses = np.zeros((2, labels.shape[1], self.n_columns))
            kernels.structure.gaussian_guesses(
                np.where(self._observed_cells(tile), tile.x, np.nan),
                *coefficients.log_odds,
                most_likely(labels, np.int8),
                weight,
                coefficients.questions.order,
                *guesses,
            )
        return Answers(tuple(s.reshape(shape) for s in sums), log_mixture, joint, guesses)

    def log_mixture_sum(self, answers: Answers, coefficients: PassCoefficients, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        sums = answers.log_mixture
        if self.gaps.size:  # what the zeros in place of missing values have added
            zeros = np.concatenate(
                [
                    coefficients.log_prior[:1, :, None] + 0 * alpha,
                    coefficients.log_prior[1:, :, None] + coefficients.log_odds.constant,
                ]
            )
            sums = sums - (self.total - self.observed) * np.logaddexp.reduce(zeros, axis=0)
        return (alpha * sums).sum(axis=1)

    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters (k, Q) of pairs of factor and column."""
        return Parameters(*(array[:, factors, columns] for array in parameters))

    def of_columns(self, joint: np.ndarray, columns: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The joint sums of some of the linked columns."""
        return joint[own]

    def joint_parameters(
        self, joint: np.ndarray, columns: np.ndarray, prior_samples: float
    ) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters (states, Q) of joint states."""
        count, x, xx = (np.maximum(joint[..., 0], 0).T, joint[..., 1].T, joint[..., 2].T)
        return count / count.sum(axis=0), smoothed(count, x, xx, prior_samples)

    def conditional_information(self, joint, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before) from joint moments (Q, states, 3), the last factor fastest."""
        n_links = joint.shape[0]
        probability, parameters = self.joint_parameters(joint, columns, PRIOR_SAMPLES)
        grouped = [a.reshape(-1, n_states, n_links).swapaxes(0, 1) for a in (probability, *parameters[:2])]
        before = grouped[0].sum(axis=0)
        weight = grouped[0] / np.where(before > 0, before, 1)
        weight, mean, variance = (a.reshape(n_states, -1) for a in (weight, *grouped[1:]))
        information = mixture_information(weight, mean, variance, self.dtype)
        return (before * information.reshape(before.shape)).sum(axis=0)

    def ratios(self, joint: Joint, n_states: int, share: float) -> Ratios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint, in the form that add_explained takes."""
        n_columns = joint.columns.size
        states = joint.probability.reshape(*[n_states] * len(joint.factors), n_columns)
        rest = np.stack([states.sum(axis=place).reshape(-1, n_columns) for place in range(len(joint.factors))])
        mean, variance, log_variance = joint.parameters
        numbers = _log(joint.probability), _log(rest), -0.5 * log_variance, mean, 0.5 / variance, np.float64(share)
        in_order = (number.astype(self.dtype, order="C") for number in numbers)
        return Ratios(joint.columns, joint.factors.astype(np.intp, order="C"), *in_order)

    def add_explained(
        self, tile: Tile, ratios: Ratios, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray
    ) -> None:
        """Add the mean of log p(x_i | y_S) / p(x_i) over labels (k, J, T) to explained (T,), nothing where missing."""
        present = np.empty((ratios.columns.size, 0), bool)
        if self.gaps.size:
            present = self._observed_cells(tile)[ratios.columns]
        kernels.gaussian.add_explained(tile.x, present, tuple(ratios), labels.astype(self.dtype), explained, unique)

    def own_scores(
        self, tile: Tile, coefficients: PassCoefficients, alpha: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        """What each column adds to the scores of one factor, its own, (k - 1, n, T)."""
        columns = np.arange(self.n_columns)
        share = alpha[factors, columns].astype(tile.x.dtype)
        constant, linear, quadratic = ((share * a[:, factors, columns])[:, :, None] for a in coefficients.log_odds)
        scores = constant + tile.x * (linear + tile.x * quadratic)
        return scores * self._observed_cells(tile) if self.gaps.size else scores

    def tabulate(self, tile: Tile, label: np.ndarray, weight: np.ndarray, n_states: int) -> np.ndarray:
        """Sums of 1, x, x^2 and |x| in each state of a label of each column's own (n, T): (4, k, n)."""
        x = tile.x
        # In single precision squares of values far out leave no room for large weights.
        largest = weight.max()
        observed = self._observed_cells(tile) * (weight / largest).astype(x.dtype)
        size = np.abs(x)
        table = np.empty((4, n_states, self.n_columns))
        for s in range(n_states):
            own = observed * (label == s)
            table[0, s] = own.sum(axis=1, dtype=float)
            for power, values in enumerate((x, tile.square, size), start=1):
                table[power, s] = np.einsum("it,it->i", own, values)
        return table * largest

    def independence(self, table: np.ndarray) -> np.ndarray:
        """Probability (n,) of such a table if the label says nothing: F tests for location and spread."""
        count, x, xx, size = table
        return np.minimum(1, 2 * np.minimum(variance_test(count, x, xx), variance_test(count, size, xx)))

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

    def _observed_cells(self, tile: Tile) -> np.ndarray:
        observed = np.ones(tile.x.shape, bool)
        observed[self.gaps] = tile.present
        return observed

    def _joint(self, tile: Tile, labels: np.ndarray, weight: np.ndarray, coefficients: PassCoefficients) -> np.ndarray:
        columns, links = coefficients.columns, coefficients.links
        assert links is not None
        own = self._observed_cells(tile)[columns] * weight if self.gaps.size else weight[None]
        joint = np.zeros((columns.size, labels.shape[0] ** len(links), 3), tile.x.dtype)
        kernels.structure.joint_moments(tile.x, columns, own, labels, links, joint)
        return joint


def smoothed(count: np.ndarray, x: np.ndarray, xx: np.ndarray, prior_samples: float) -> Parameters:
    """Mean and variance from moments, with so many samples more of mean 0 and variance 1."""
    size = count + prior_samples
    mean = x / size
    variance = (xx + prior_samples) / size - mean * mean
    variance = np.maximum(variance, VARIANCE_FLOOR)
    return Parameters(mean, variance, np.log(variance))


def _log(probability: np.ndarray) -> np.ndarray:
    """Logarithms, so low of 0 that a state which never occurs does not dwarf the others, but finite."""
    return np.where(probability > 0, np.log(np.maximum(probability, 1e-300)), -1e30)


def variance_test(count: np.ndarray, x: np.ndarray, xx: np.ndarray) -> np.ndarray:
    """p-value (n,) of the F test that groups (k, n) with these sums have the same mean."""
    total = count.sum(axis=0)
    filled = count > 0
    between = (x**2 / np.where(filled, count, 1)).sum(axis=0) - x.sum(axis=0) ** 2 / np.maximum(total, 1e-300)
    within = (xx - x**2 / np.where(filled, count, 1)).sum(axis=0)
    freedom, rest = filled.sum(axis=0) - 1, total - filled.sum(axis=0)
    testable = (freedom > 0) & (rest > 0) & (between > 0)
    with np.errstate(over="ignore"):  # infinite where groups do not vary at all
        ratio = between * rest / np.maximum(within * freedom, 1e-300)
    return np.where(testable, fdtrc(np.maximum(freedom, 1), np.maximum(rest, 1e-9), np.maximum(ratio, 0)), 1.0)


def mixture_information(weight: np.ndarray, mean: np.ndarray, variance: np.ndarray, dtype: Any) -> np.ndarray:
    """I(Y:X) (P,) of Gaussian mixtures with weight, mean and variance (k, P), computed in dtype."""
    log_weight = np.log(np.maximum(weight, 1e-30))
    height = log_weight - 0.5 * np.log(variance)
    mixture = weight, height, mean, 1 / variance, np.sqrt(variance), *_hermite(N_NODES)
    rest = np.zeros(mean.shape[1], dtype)
    kernels.gaussian.equivocation(*(array.astype(dtype, order="C") for array in mixture), rest)
    return np.maximum(-(weight * log_weight).sum(axis=0) - rest, 0)


@lru_cache
def _hermite(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weight / weight.sum()
