"""Categorical marginals p(x_i | y_j): tables of probabilities."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from hicorex import kernels
from hicorex.marginals.base import (
    PRIOR_SAMPLES,
    Answers,
    Block,
    Joint,
    Questions,
    linked,
    most_likely,
    take_rows,
    unbiased,
)

# Dependence between columns is measured on their most frequent categories; the rest count as one.
MOST_FEATURES = 8


class Parameters(NamedTuple):
    """p(x_i = v | y_j = s) and its logarithm for every category of every column, (k, J, F); 1 for missing values."""

    p: np.ndarray
    log_p: np.ndarray


class PassCoefficients(NamedTuple):
    """Parameters, structure and questions in the form that a pass over tiles uses."""

    table: np.ndarray
    constant: np.ndarray
    log_mixture: np.ndarray
    log_odds: np.ndarray
    guess: np.ndarray | None
    questions: Questions
    columns: np.ndarray
    links: np.ndarray | None


class Ratios(NamedTuple):
    """Of some columns (Q,) with factors (d, Q): tables (1 + d, k^d, F_Q) by joint state and category.

    The first has log p(v | y_S) / p(v), the others what that is less without each factor; those of a column begin at
    offsets (Q,).
    """

    columns: np.ndarray
    offsets: np.ndarray
    factors: np.ndarray
    tables: np.ndarray


class Tile:
    """Some samples of a block: codes (n, T), and x, the same as numbers, if the block is binary."""

    def __init__(self, codes: np.ndarray, x: np.ndarray | None):
        self._codes = codes
        self.x = x

    @cached_property
    def codes(self) -> np.ndarray:
        """The codes, column after column."""
        return np.ascontiguousarray(self._codes)


class Samples(NamedTuple):
    """Coded columns, (n, N), unsigned."""

    codes: np.ndarray


class Categorical(Block):
    """A block of coded columns.

    sizes (n,) the number of categories of each column. The categories of all columns lie side by side,
    F of them, those of column i from ``offsets[i]`` on, the last one, code ``sizes[i]``, standing for
    missing values. ``binary`` says that all columns have two categories and that none is missing: one
    column of a matrix product says it all.
    """

    dependence_is_information = True
    least_prior_samples = 1e-9

    def __init__(self, sizes: np.ndarray, binary: bool, dtype):
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

    def take(self, samples: Samples, rows: np.ndarray) -> Samples:
        """Some samples (M,), or other samples for each column (n, M)."""
        return Samples(take_rows(samples.codes, rows))

    def codes_of(self, samples: Samples) -> Iterable[np.ndarray]:
        """The codes (N,) of one column after the other."""
        return samples.codes

    def tile(self, samples: Samples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""
        codes = samples.codes[:, rows]
        return Tile(codes, codes.astype(self.dtype) if self.binary else None)

    def sum_columns(self, tile: Tile, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """The weight of each category, (F,)."""
        count = np.zeros((self.offsets[-1], 1))
        kernels.categorical.count_labels(tile.codes, self.offsets, weight[:, None], count)
        return (count[:, 0],)

    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""
        return np.add.reduceat(self.totals[0] * self.is_category, self.offsets[:-1])

    def estimate(self, sums, label_count: np.ndarray, prior_samples: float) -> Parameters:
        """Parameters from the sums of a pass: the sample's, drawn towards the column's own."""
        count, total, marginal = np.ascontiguousarray(sums[0]), self.totals[0], self._marginal
        p = np.empty((*label_count.shape, self.offsets[-1]), self.dtype)
        if self.binary:
            kernels.categorical.binary_estimates(count, label_count, total, marginal, prior_samples, p)
        else:
            kernels.categorical.estimates(count, total, marginal, self.offsets, prior_samples, p)
        return Parameters(p, np.log(p))

    def missing_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is missing, (n,)."""
        return self.totals[0][~self.is_category]

    def surprisals(self, prior_samples: float) -> np.ndarray:
        """-log p(v) of each category, as if so many samples more were spread over a column's categories, (F,)."""
        count = self.totals[0] + prior_samples / np.maximum(self.sizes, 1)[self.column_of]
        p = count / np.maximum(self.observed + prior_samples, 1e-300)[self.column_of]
        return -np.log(np.where(self.is_category & (p > 0), p, 1))

    def look_up(self, tile: Tile, table: np.ndarray) -> np.ndarray:
        """The sum over the columns of the entries of a table (F,) that each sample points to, (T,)."""
        total = np.zeros((tile.codes.shape[1], 1))
        kernels.categorical.add_table_rows(tile.codes, self.offsets, table[:, None], total)
        return total[:, 0]

    def log_odds(self, parameters: Parameters) -> np.ndarray:
        """log p(v | y=s) - log p(v | y=0), (k - 1, J, F)."""
        return parameters.log_p[1:] - parameters.log_p[0]

    def dependence(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i), (J, n)."""
        information = np.empty((prior.shape[1], self.n_columns))
        if self.binary:
            kernels.categorical.binary_information(prior, *parameters, information)
        else:
            kernels.categorical.information(prior[:, :, None], *parameters, self.is_category, self.offsets, information)
        return information

    def information(self, parameters: Parameters, prior: np.ndarray, factors, columns) -> np.ndarray:
        """I(Y_j:X_i) of some pairs of factor and column."""
        return self.dependence(parameters, prior)[factors, columns]

    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: Questions
    ) -> PassCoefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""
        log_odds = self.log_odds(parameters)
        constant = np.zeros((log_odds.shape[0] * alpha.shape[0], 1), self.dtype)
        if self.binary:
            zero, one = log_odds[..., ::3], log_odds[..., 1::3]
            constant = (zero * alpha).sum(axis=2).reshape(-1, 1).astype(self.dtype)
            table = ((one - zero) * alpha).reshape(-1, self.n_columns).astype(self.dtype)
        else:
            weighted = (log_odds * alpha[:, self.column_of]).reshape(-1, self.offsets[-1])
            table = np.ascontiguousarray(weighted.T.astype(self.dtype))
        guess = None
        if questions.order is not None:
            guess = np.where(self.is_category, parameters.log_p.argmax(axis=0), -1).astype(np.int8)
        columns, links = np.empty(0, int), None
        if questions.links is not None and questions.links.shape[1] > 1:
            _, columns, links = linked(questions.links, alpha.shape[0] // len(questions.links))
        log_mixture = np.zeros((len(alpha), self.offsets[-1]))
        kernels.categorical.log_mixtures(alpha, prior, *parameters, self.offsets, log_mixture)
        return PassCoefficients(table, constant, log_mixture, log_odds, guess, questions, columns, links)

    def scores(self, tile: Tile, coefficients: PassCoefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""
        if tile.x is not None:
            return coefficients.table @ tile.x + coefficients.constant
        scores = np.zeros((tile.codes.shape[1], coefficients.table.shape[1]), self.dtype)
        kernels.categorical.add_table_rows(tile.codes, self.offsets, coefficients.table, scores)
        return np.ascontiguousarray(scores.T)

    def log_mixture(self, tile: Tile, coefficients: PassCoefficients, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""
        out = np.zeros((alpha.shape[0], tile.codes.shape[1]))
        kernels.categorical.add_linked(tile.codes, self.offsets, alpha, coefficients.log_mixture, out)
        return out

    def measure(self, tile: Tile, labels: np.ndarray, weight: np.ndarray, coefficients: PassCoefficients) -> Answers:
        """The sums of one tile, under labels (k, J, T)."""
        weighted = (labels[1:] * weight).reshape(-1, weight.size)
        if tile.x is not None:
            sums = weighted @ tile.x.T
        else:
            count = np.zeros((self.offsets[-1], len(weighted)), self.dtype)
            kernels.categorical.count_labels(tile.codes, self.offsets, np.ascontiguousarray(weighted.T), count)
            sums = count.T
        sums = sums.reshape(labels.shape[0] - 1, labels.shape[1], -1)
        joint = guesses = None
        if coefficients.links is not None:
            joint = self._joint(tile, labels, weight, coefficients)
        if coefficients.questions.order is not None:
            guesses = np.zeros((2, labels.shape[1], self.n_columns))
            label = most_likely(labels, np.int8)
            order = coefficients.questions.order
            kernels.structure.categorical_guesses(
                tile.codes, self.offsets, coefficients.guess, label, weight, order, *guesses
            )
        return Answers((sums,), None, joint, guesses)

    def log_mixture_sum(self, answers: Answers, coefficients: PassCoefficients, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij sum_l log(p_j(x_i) / p(x_i | y_j=0)), (J,)."""
        return coefficients.log_mixture @ self.totals[0]

    def of_pairs(self, parameters: Parameters, factors: np.ndarray, columns: np.ndarray) -> Parameters:
        """The parameters (k, F_Q) of pairs of factor and column."""
        entries, _ = self._entries(columns)
        factors = np.repeat(factors, self.sizes[columns] + 1)
        return Parameters(*(array[:, factors, entries] for array in parameters))

    def of_columns(self, joint: np.ndarray, columns: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The joint sums of some of the linked columns."""
        return joint[own if self.binary else np.repeat(own, self.sizes[columns] + 1)]

    def joint_parameters(
        self, joint: np.ndarray, columns: np.ndarray, prior_samples: float
    ) -> tuple[np.ndarray, Parameters]:
        """Probabilities (states, Q) and parameters (states, F_Q) of the joint states of some columns."""
        entries, offsets = self._entries(columns)
        if self.binary:
            ones = joint[..., 1]
            joint = np.stack([joint[..., 0] - ones, ones, 0 * ones], axis=1).reshape(-1, joint.shape[1])
        count = np.ascontiguousarray(np.maximum(joint.T, 0))
        seen = np.add.reduceat(count * self.is_category[entries], offsets[:-1], axis=1)
        p = np.empty((len(count), 1, entries.size), self.dtype)
        marginal = self._marginal[entries]
        kernels.categorical.estimates(count[1:, None], count.sum(axis=0), marginal, offsets, prior_samples, p)
        return seen / seen.sum(axis=0), Parameters(p[:, 0], np.log(p[:, 0]))

    def conditional_information(self, joint, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before) from joint counts (F_Q, states), the last factor fastest."""
        entries, offsets = self._entries(columns)
        probability, parameters = self.joint_parameters(joint, columns, PRIOR_SAMPLES)
        probability = probability.reshape(-1, n_states, columns.size).swapaxes(0, 1)
        by_state = (a.reshape(-1, n_states, entries.size).swapaxes(0, 1) for a in parameters)
        parameters = Parameters(*map(np.ascontiguousarray, by_state))
        before = probability.sum(axis=0)
        weight = np.ascontiguousarray(probability / np.where(before > 0, before, 1))
        information = np.empty(before.shape)
        kernels.categorical.information(weight, *parameters, self.is_category[entries], offsets, information)
        return (before * information).sum(axis=0)

    def ratios(self, joint: Joint, n_states: int, share: float) -> Ratios:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint, in the form that add_explained takes."""
        entries, offsets = self._entries(joint.columns)
        own = np.repeat(np.arange(joint.columns.size), np.diff(offsets))
        mixture = np.log((joint.probability[:, own] * joint.parameters.p).sum(axis=0))
        log_ratio = (joint.parameters.log_p - mixture) * self.is_category[entries]
        known = unbiased(log_ratio, share)
        tables, states = [known], (n_states,) * len(joint.factors)
        for place in range(len(states)):
            lost = known
            if len(states) > 1:
                without = _log_ratio_without(joint.probability[:, own], place, log_ratio, states)
                lost = known - np.repeat(unbiased(without, share), n_states, axis=place).reshape(known.shape)
            tables.append(lost)
        factors = joint.factors.astype(np.intp, order="C")
        return Ratios(joint.columns, offsets, factors, np.stack(tables).astype(float, order="C"))

    def add_explained(
        self, tile: Any, ratios: Ratios, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray
    ) -> None:
        """Add the mean of log p(x_i | y_S) / p(x_i) over labels (k, J, T) to explained (T,), nothing where missing."""
        kernels.categorical.add_explained(tile.codes, *ratios, labels, explained, unique)

    def own_scores(
        self, tile: Tile, coefficients: PassCoefficients, alpha: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        """What each column adds to the scores of one factor, its own, (k - 1, n, T)."""
        table = coefficients.log_odds[:, factors[self.column_of], np.arange(self.offsets[-1])]
        return table[:, self._places(tile)] * alpha[factors, np.arange(self.n_columns)][:, None]

    def tabulate(self, tile: Tile, label: np.ndarray, weight: np.ndarray, n_states: int) -> np.ndarray:
        """Counts (k, F) of the categories in each state of a label of each column's own (n, T)."""
        place = (label * self.offsets[-1] + self._places(tile)).ravel()
        repeated = np.broadcast_to(weight, label.shape).ravel()
        return np.bincount(place, repeated, minlength=n_states * self.offsets[-1]).reshape(n_states, -1)

    def independence(self, table: np.ndarray) -> np.ndarray:
        """Probability (n,) of such a table if the label says nothing: chi-square test, rare categories pooled."""
        n_states, starts = len(table), self.offsets[:-1]
        table = table * self.is_category
        common = table.sum(axis=0) >= 5 * n_states
        rest = np.add.reduceat(table * ~common, starts, axis=1)
        of_state = np.add.reduceat(table, starts, axis=1)
        share = of_state / np.maximum(of_state.sum(axis=0), 1e-300)
        statistic = np.add.reduceat(_chi_square(table, share[:, self.column_of]) * common, starts)
        statistic += _chi_square(rest, share)
        kept = np.add.reduceat(common.astype(int), starts) + (rest.sum(axis=0) > 0)
        freedom = (kept - 1) * ((of_state > 0).sum(axis=0) - 1)
        return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)

    def prime(
        self, parameters: Parameters, factor: int, column: int, scores: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Let the states of a factor be sets of one column's categories with like scores."""
        k, size = len(parameters.p), self.sizes[column]
        own = slice(self.offsets[column], self.offsets[column] + size)
        all_scores = rng.normal(size=size)
        all_scores[: scores.size] = scores
        share = self.totals[0][own]
        order = np.argsort(all_scores, kind="stable")
        middle = np.cumsum(share[order]) - share[order] / 2
        odds = rng.normal(scale=0.1, size=(k, size))
        odds[np.minimum(k * middle / max(share.sum(), 1e-300), k - 1).astype(int), order] += 2
        parameters.p[:, factor, own] = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        parameters.log_p[:, factor, own] = np.log(parameters.p[:, factor, own])

    def neutral(self, n_states: int, n_factors: int) -> Parameters:
        """Parameters that make no difference between states."""
        size = np.where(self.is_category, self.sizes[self.column_of], 1)
        p = np.tile((1 / size).astype(self.dtype), (n_states, n_factors, 1))
        return Parameters(p, np.log(p))

    def features(self, tile: Tile, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as indicators (at most MOST_FEATURES, T) of its categories."""
        return [(tile.codes[i] == np.arange(self.n_features[i])[:, None]).astype(float) for i in columns]

    def _places(self, tile: Tile) -> np.ndarray:
        """Where each cell's category lies among all F, (n, T)."""
        return self.offsets[:-1, None] + tile.codes.astype(np.intp)

    @property
    def _marginal(self) -> np.ndarray:
        """The share of each category in its column, 0 for missing values, (F,)."""
        return self.totals[0] * self.is_category / np.maximum(self.observed, 1e-300)[self.column_of]

    def _entries(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the categories of some columns lie among all F, and where each column's begin and end there."""
        width = self.sizes[columns] + 1
        offsets = np.concatenate([[0], np.cumsum(width)])
        return np.arange(offsets[-1]) + np.repeat(self.offsets[columns] - offsets[:-1], width), offsets

    def _joint(self, tile: Tile, labels: np.ndarray, weight: np.ndarray, coefficients: PassCoefficients) -> np.ndarray:
        columns, links = coefficients.columns, coefficients.links
        assert links is not None
        n_joint = labels.shape[0] ** len(links)
        if tile.x is not None:
            moments = np.zeros((columns.size, n_joint, 2), self.dtype)
            kernels.structure.joint_moments(tile.x, columns, weight[None], labels, links, moments)
            return moments
        entries, offsets = self._entries(columns)
        joint = np.zeros((entries.size, n_joint), self.dtype)
        kernels.structure.joint_counts(tile.codes, columns, offsets, weight, labels, links, joint)
        return joint


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


def _chi_square(count: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Pearson's statistic of each column of counts (k, ...) against the shares of the states."""
    expected = count.sum(axis=0) * share
    return ((count - expected) ** 2 / np.where(expected > 0, expected, 1)).sum(axis=0)
