"""Gaussian marginals p(x_i | y_j) on standardised columns."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, logsumexp

from hicorex import kernels
from hicorex.marginals.base import PRIOR_SAMPLES, Answers, Block, Joint, Questions, all_states, linked

# Relative to the column's own variance: below it, float32 sums carry no information.
VARIANCE_FLOOR = 1e-4


class Parameters(NamedTuple):
    """Mean and variance of each column in each state of each factor, (k, J, n)."""

    mean: np.ndarray
    variance: np.ndarray


class Coefficients(NamedTuple):
    """log p(x | y=s) - log p(x | y=0) = constant + linear x + quadratic x^2, (k - 1, J, n)."""

    constant: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


class Weights(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses."""

    linear: np.ndarray
    quadratic: np.ndarray
    constant: np.ndarray
    constant_if_observed: np.ndarray
    pairs: tuple[np.ndarray, ...]
    coefficients: Coefficients
    questions: Questions
    columns: np.ndarray | None
    links: np.ndarray | None


class Gaussian(Block):
    """A block of standardised columns.

    values (N, n), 0 where missing; present (N, n_missing) for the columns ``missing``;
    informative (n,), False for columns that do not vary.
    """

    rank_is_information = False

    def __init__(self, values: np.ndarray, missing: np.ndarray, present: np.ndarray, informative: np.ndarray):
        self.values = values
        self.missing = missing
        self.present = present
        self.freedom = np.full(values.shape[1], 2.0)
        self.informative = informative

    @property
    def n_columns(self) -> int:
        """The number of columns, n."""
        return self.values.shape[1]

    def sum_columns(self, rows: slice, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """Sums of x and x^2 (n,) and the weight observed (n,)."""
        x = self.values[rows].astype(float)
        count = np.full(self.n_columns, weight.sum())
        count[self.missing] = weight @ self.present[rows]
        return weight @ x, weight @ (x * x), count

    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""
        return self.totals[2]

    def estimate(self, sums, label_count: np.ndarray) -> Parameters:
        """Parameters from the sums of a pass: the sample's, drawn towards the column's own."""
        total_x, total_xx, total_count = self.totals
        x = all_states(sums[0], total_x)
        xx = all_states(sums[1], total_xx)
        count = label_count[:, :, None]
        if self.missing.size:
            count = np.repeat(count, self.n_columns, axis=2)
            count[:, :, self.missing] = all_states(sums[2], total_count[self.missing])
        return smoothed(np.maximum(count, 0), x, xx)

    def log_odds(self, parameters: Parameters) -> Coefficients:
        """Coefficients of log p(x | y=s) - log p(x | y=0)."""
        precision = 1 / parameters.variance
        linear = parameters.mean * precision
        constant = -0.5 * (np.log(parameters.variance) + parameters.mean * linear)
        return Coefficients(constant[1:] - constant[0], linear[1:] - linear[0], -0.5 * (precision[1:] - precision[0]))

    def rank(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """A stand-in (J, n) in closed form for I(Y_j:X_i): the log of the variance explained, at most H(Y_j)."""
        mean, variance = parameters
        weight = prior[:, :, None]
        centre = (weight * mean).sum(axis=0)
        whole = (weight * (variance + mean * mean)).sum(axis=0) - centre * centre
        explained = 0.5 * (np.log(whole) - (weight * np.log(variance)).sum(axis=0))
        entropy = -(prior * np.log(prior)).sum(axis=0)
        return np.minimum(explained, entropy[:, None])

    def information(self, parameters: Parameters, prior: np.ndarray, factors, columns) -> np.ndarray:
        """I(Y_j:X_i) of the mixtures of some pairs of factor and column."""
        mean, variance = (array[:, factors, columns] for array in parameters)
        return mixture_information(prior[:, factors], mean, variance)

    def weights(self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions) -> Weights:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        dtype = self.values.dtype
        coefficients = self.log_odds(parameters)
        linear = (coefficients.linear * alpha).astype(dtype)
        quadratic = (coefficients.quadratic * alpha).astype(dtype)
        constant = coefficients.constant * alpha
        if_observed = constant[:, :, self.missing].astype(dtype)
        complete = constant.sum(axis=2) - constant[:, :, self.missing].sum(axis=2)
        factors, columns = np.nonzero(alpha)
        log_prior = np.log(prior[:, factors])
        pairs = (
            columns,
            log_prior[0].astype(dtype),
            (coefficients.constant[:, factors, columns] + log_prior[1:]).astype(dtype),
            coefficients.linear[:, factors, columns].astype(dtype),
            coefficients.quadratic[:, factors, columns].astype(dtype),
        )
        link_columns = links = None
        if questions.links is not None:
            _, link_columns, links = linked(questions.links, alpha.shape[0] // len(questions.links))
        return Weights(linear, quadratic, complete, if_observed, pairs, coefficients, questions, link_columns, links)

    def scores(self, rows: slice, weights: Weights) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        x = self.values[rows]
        flat = (-1, self.n_columns)
        scores = weights.linear.reshape(flat) @ x.T
        scores += weights.quadratic.reshape(flat) @ (x * x).T
        if self.missing.size:
            observed = self.present[rows].astype(x.dtype)
            scores += weights.constant_if_observed.reshape(-1, self.missing.size) @ observed.T
        return scores + weights.constant.reshape(-1, 1).astype(x.dtype)

    def log_mixture(self, rows: slice, weights: Weights, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        x = self.values[rows].T
        columns, reference, constant, linear, quadratic = weights.pairs
        factors = np.nonzero(alpha)[0]
        log_mixture = np.zeros((alpha.shape[0], x.shape[1]))
        observed = self._is_observed(rows)
        for pair, (j, i) in enumerate(zip(factors, columns, strict=True)):
            z = reference[pair]
            for s in range(len(constant)):
                z = np.logaddexp(z, constant[s, pair] + x[i] * (linear[s, pair] + x[i] * quadratic[s, pair]))
            log_mixture[j] += alpha[j, i] * z * observed[i]
        return log_mixture

    def measure(self, rows: slice, labels: np.ndarray, weight: np.ndarray, weights: Weights) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        x = self.values[rows]
        weighted = (labels[1:] * weight).reshape(-1, x.shape[0])
        shape = (labels.shape[0] - 1, labels.shape[1], -1)
        sums = [(weighted @ x).reshape(shape), (weighted @ (x * x)).reshape(shape)]
        if self.missing.size:
            sums.append((weighted @ self.present[rows].astype(x.dtype)).reshape(shape))
        log_mixture = np.zeros(weights.pairs[0].size, x.dtype)
        kernels.log_mixture_sums(x, weight, *weights.pairs, log_mixture)
        joint = guesses = None
        if weights.links is not None:
            joint = self._joint(rows, labels, weight, weights)
        if weights.questions.order is not None:
            values = np.where(self._is_observed(rows), x.T, np.nan)
            guesses = np.zeros((2, labels.shape[1], self.n_columns))
            kernels.gaussian_guesses(
                values,
                *(array.astype(x.dtype) for array in weights.coefficients),
                labels.argmax(axis=0).astype(np.int8),
                weight,
                weights.questions.order,
                *guesses,
            )
        return Answers(tuple(s.astype(float) for s in sums), log_mixture.astype(float), joint, guesses)

    def log_mixture_sum(self, answers: Answers, weights: Weights, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        sums = answers.log_mixture
        factors, columns = np.nonzero(alpha)
        if self.missing.size:  # what the zeros in place of missing values have added
            _, reference, constant, _, _ = weights.pairs
            sums = sums - (self.total - self.observed[columns]) * np.logaddexp.reduce([reference, *constant], axis=0)
        return np.bincount(factors, alpha[factors, columns] * sums, minlength=alpha.shape[0])

    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters (k, Q) of pairs of factor and column."""
        return Parameters(*(array[:, factors, columns] for array in parameters))

    def of_columns(self, joint: np.ndarray, columns: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The joint sums of some of the linked columns."""
        return joint[own]

    def parameters_of(self, joint: Joint, own: np.ndarray) -> Parameters:
        """The parameters of some of the columns of a joint."""
        return Parameters(*(array[:, own] for array in joint.parameters))

    def joint_parameters(self, joint: np.ndarray, columns) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters (states, Q) of joint states."""
        count, x, xx = (np.maximum(joint[..., 0], 0).T, joint[..., 1].T, joint[..., 2].T)
        return count / count.sum(axis=0), smoothed(count, x, xx)

    def conditional_information(self, joint, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before) from joint moments (Q, states, 3), the last factor fastest."""
        n_links = joint.shape[0]
        probability, parameters = self.joint_parameters(joint, columns)
        grouped = [a.reshape(-1, n_states, n_links).swapaxes(0, 1) for a in (probability, *parameters)]
        before = grouped[0].sum(axis=0)
        weight = grouped[0] / np.where(before > 0, before, 1)
        information = mixture_information(*(a.reshape(n_states, -1) for a in (weight, *grouped[1:])))
        return (before * information.reshape(before.shape)).sum(axis=0)

    def log_ratio(self, rows: slice, joint: Joint) -> np.ndarray:
        """log p(x_i | y_S) / p(x_i) of each sample for some columns, (states, T, Q); 0 where missing."""
        x = self.values[rows][:, joint.columns].astype(float)
        mean, variance = (array[:, None] for array in joint.parameters)
        log_p = -0.5 * ((x - mean) ** 2 / variance + np.log(variance))
        log_p -= logsumexp(log_p, axis=0, b=joint.probability[:, None])
        return log_p * self._is_observed(rows).T[:, joint.columns]

    def own_scores(self, rows: slice, weights: Weights, alpha: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """What each column adds to the scores of one factor, its own, (k - 1, T, n)."""
        x = self.values[rows].astype(float)
        columns = np.arange(self.n_columns)
        constant, linear, quadratic = (array[:, factors, columns][:, None] for array in weights.coefficients)
        scores = alpha[factors, columns] * (constant + x * (linear + x * quadratic))
        return scores * self._is_observed(rows).T

    def tabulate(self, rows: slice, label: np.ndarray, weight: np.ndarray, n_states: int) -> np.ndarray:
        """Sums of 1, x, x^2 and |x| in each state of a label of each column's own (T, n): (4, k, n)."""
        x = self.values[rows].astype(float)
        weight = weight[:, None] * self._is_observed(rows).T
        powers = np.stack([np.ones_like(x), x, x * x, np.abs(x)])
        return np.stack([(powers * (weight * (label == s))).sum(axis=1) for s in range(n_states)], axis=1)

    def independence(self, table: np.ndarray) -> np.ndarray:
        """Probability (n,) of such a table if the label says nothing: F tests for location and spread."""
        count, x, xx, size = table
        return np.minimum(1, 2 * np.minimum(variance_test(count, x, xx), variance_test(count, size, xx)))

    def prime(self, parameters: Parameters, factor: int, column: int, rng: np.random.Generator) -> None:
        """Let the states of a factor be ranges of one column's values."""
        k = parameters.mean.shape[0]
        centres = np.linspace(-1, 1, k) if k > 2 else np.array([-0.8, 0.8])
        parameters.mean[:, factor, column] = centres + rng.normal(scale=0.05, size=k)
        parameters.variance[:, factor, column] = 0.5

    def neutral(self, n_states: int, n_factors: int) -> Parameters:
        """Parameters that make no difference between states."""
        shape = (n_states, n_factors, self.n_columns)
        return Parameters(np.zeros(shape), np.ones(shape))

    def features(self, rows: slice, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as features (T, 1) whose cross products measure dependence."""
        x = self.values[rows].astype(float)
        return [x[:, [i]] for i in columns]

    def _is_observed(self, rows: slice) -> np.ndarray:
        observed = np.ones((self.n_columns, rows.stop - rows.start), bool)
        observed[self.missing] = self.present[rows].T
        return observed

    def _joint(self, rows, labels, weight, weights):
        columns, links = weights.columns, weights.links
        x = self.values[rows]
        own = weight[None]
        if self.missing.size:
            own = self._is_observed(rows)[columns] * weight
        joint = np.zeros((columns.size, labels.shape[0] ** links.shape[0], 3), x.dtype)
        kernels.joint_moments(np.ascontiguousarray(x.T[columns]), own, labels, links, joint)
        return joint.astype(float)


def smoothed(count: np.ndarray, x: np.ndarray, xx: np.ndarray) -> Parameters:
    """Mean and variance from moments, with PRIOR_SAMPLES more of mean 0 and variance 1."""
    size = count + PRIOR_SAMPLES
    mean = x / size
    variance = (xx + PRIOR_SAMPLES) / size - mean * mean
    return Parameters(mean, np.maximum(variance, VARIANCE_FLOOR))


def variance_test(count: np.ndarray, x: np.ndarray, xx: np.ndarray) -> np.ndarray:
    """p-value (n,) of the F test that groups (k, n) with these sums have the same mean."""
    total = count.sum(axis=0)
    filled = count > 0
    between = (x**2 / np.where(filled, count, 1)).sum(axis=0) - x.sum(axis=0) ** 2 / np.maximum(total, 1e-300)
    within = (xx - x**2 / np.where(filled, count, 1)).sum(axis=0)
    freedom, rest = filled.sum(axis=0) - 1, total - filled.sum(axis=0)
    testable = (freedom > 0) & (rest > 0) & (between > 0)
    ratio = between * rest / np.maximum(within * freedom, 1e-300)
    return np.where(testable, fdtrc(np.maximum(freedom, 1), np.maximum(rest, 1e-9), np.maximum(ratio, 0)), 1.0)


def mixture_information(weight: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """I(Y:X) (P,) of Gaussian mixtures with weight, mean and variance (k, P)."""
    information = np.empty(mean.shape[1])
    nodes, node_weight = _hermite(15)
    log_weight = np.log(np.maximum(weight, 1e-30))
    kernels.mixture_information(log_weight, mean, 1 / variance, nodes, node_weight, information)
    return information


@lru_cache
def _hermite(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weight / weight.sum()
