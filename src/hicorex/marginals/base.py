"""What every family of marginals shares: a block of columns of one kind, and what a pass asks of it.

Shapes: k states, J factors (those of all starts side by side), n columns of the block, T rows of a
tile. Labels are (k, J, T); statistics and parameters have the factor on axis 1 and the column last.
State 0 is the reference: log-odds and sums are kept for the other k - 1 states, and the sums of
state 0 follow from the column's totals.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from hicorex import kernels
from hicorex.kernels.structure import LARGEST_RATIO

# Every state's marginal is estimated as if it had seen one more sample of the column's own marginal.
PRIOR_SAMPLES = 1.0

# Each family has named tuples of arrays and tiles of its own, which others pass along without a look inside.
Parameters = Any
Coefficients = Any
Tile = Any


class Block(ABC):
    """A block of columns, and what is the same in every pass over weighted samples; the samples are elsewhere.

    totals : the sums over all samples, which no label changes
    observed : (n,) the weight of the samples in which a column is observed
    total : the weight of all samples
    freedom : (n,) the parameters of a column's marginal in one state
    n_features : (n,) how many features ``features`` gives of a column
    dependence_is_information : whether ``dependence`` is exact
    least_prior_samples : the weakest smoothing that leaves the parameters of a rare state of use
    informative : (n,), False for columns that do not vary
    """

    totals: tuple[np.ndarray, ...]
    observed: np.ndarray
    total: float
    freedom: np.ndarray
    informative: np.ndarray
    n_features: np.ndarray
    dependence_is_information: bool
    least_prior_samples: float

    @cached_property
    def distinct_freedom(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct values of freedom, and which of them each column has."""
        return np.unique(self.freedom, return_inverse=True)

    def over(self, totals: tuple[np.ndarray, ...], total: float) -> Self:
        """This block over samples with these totals, of this weight."""
        block = copy.copy(self)
        block.total, block.totals = total, totals
        block.observed = block.observed_weight()
        return block

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns, n."""

    def cut(self, samples: Any, rows: slice) -> Any:
        """Some consecutive samples."""
        return type(samples)(*(array[:, rows] for array in samples))

    def join(self, parts: Sequence[Any]) -> Any:
        """The samples of several parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return type(parts[0])(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))

    @abstractmethod
    def take(self, samples: Any, rows: np.ndarray) -> Any:
        """Some samples (M,), or other samples for each column (n, M)."""

    def shuffle(self, samples: Any, n_samples: int, rng: np.random.Generator) -> Any:
        """The samples, every column in an order of its own."""
        return self.take(samples, rng.permuted(np.tile(np.arange(n_samples), (self.n_columns, 1)), axis=1))

    def row_cells(self, samples: Any) -> int:
        """How many cells a sample has, on average."""
        return self.n_columns

    @abstractmethod
    def tile(self, samples: Any, rows: slice) -> Any:
        """Some samples, in the form that the other methods take."""

    @abstractmethod
    def sum_columns(self, tile: Any, weight: np.ndarray) -> tuple[np.ndarray, ...]:
        """The totals of a tile."""

    @abstractmethod
    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,)."""

    @abstractmethod
    def neutral(self, n_states: int, n_factors: int) -> Any:
        """Parameters that make no difference between states."""

    @abstractmethod
    def prime(self, parameters: Any, factor: int, column: int, scores: np.ndarray, rng: np.random.Generator) -> None:
        """Let one column alone decide the label of a factor, in place; scores set its categories apart, if any."""

    @abstractmethod
    def features(self, tile: Any, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as features (f, T) whose cross products measure dependence."""

    @abstractmethod
    def estimate(self, sums: tuple[np.ndarray, ...], label_count: np.ndarray, prior_samples: float) -> Any:
        """Parameters from the sums of a pass and of its labels (k, J), drawn towards the column's own marginal."""

    @abstractmethod
    def dependence(self, parameters: Any, prior: np.ndarray) -> np.ndarray:
        """A stand-in in closed form for I(Y_j:X_i), by which the factors of a variable are ordered, (J, n)."""

    @abstractmethod
    def information(self, parameters: Any, prior: np.ndarray, factors: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """I(Y_j:X_i) of some pairs of factor and column."""

    @abstractmethod
    def coefficients(self, parameters: Any, alpha: np.ndarray, prior: np.ndarray, questions: "Questions") -> Any:
        """Parameters, structure and questions in the form that a pass over tiles uses."""

    @abstractmethod
    def scores(self, tile: Any, coefficients: Any) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""

    @abstractmethod
    def measure(self, tile: Any, labels: np.ndarray, weight: np.ndarray, coefficients: Any) -> "Answers":
        """The sums of one tile, under labels (k, J, T)."""

    @abstractmethod
    def log_mixture(self, tile: Any, coefficients: Any, alpha: np.ndarray) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""

    @abstractmethod
    def log_mixture_sum(self, answers: "Answers", coefficients: Any, alpha: np.ndarray) -> np.ndarray:
        """The sum of log_mixture over all samples of a pass, (J,)."""

    @abstractmethod
    def conditional_information(self, joint: np.ndarray, n_states: int, columns: np.ndarray) -> np.ndarray:
        """I(Y_last : X | the factors before) of linked columns (Q,) from their joint sums, the last factor fastest."""

    @abstractmethod
    def joint_parameters(self, joint: np.ndarray, columns: np.ndarray, prior_samples: float) -> tuple[np.ndarray, Any]:
        """Probabilities (states, Q) and parameters of the joint states of linked columns (Q,)."""

    @abstractmethod
    def of_pairs(self, parameters: Any, factors: np.ndarray, columns: np.ndarray) -> Any:
        """The parameters of pairs of factor and column, in the form of joint_parameters."""

    @abstractmethod
    def of_columns(self, joint: np.ndarray, columns: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The joint sums of those linked columns (Q,) for which own (Q,) holds."""

    @abstractmethod
    def ratios(self, joint: "Joint", n_states: int, share: float) -> Any:
        """log p(x_i | y_S) / p(x_i) of the columns of a joint, in the form that add_explained takes.

        ``share`` as in ``unbiased``.
        """

    @abstractmethod
    def add_explained(
        self, tile: Any, ratios: Any, labels: np.ndarray, explained: np.ndarray, unique: np.ndarray
    ) -> None:
        """Add the mean of log p(x_i | y_S) / p(x_i) over labels (k, J, T) to explained (T,), nothing where missing.

        What that would be less without each factor goes to unique (J, T).
        """

    @abstractmethod
    def own_scores(self, tile: Any, coefficients: Any, alpha: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """What each column adds to the scores of one factor, its own (n,): (k - 1, n, T)."""

    @abstractmethod
    def tabulate(self, tile: Any, label: np.ndarray, weight: np.ndarray, n_states: int) -> np.ndarray:
        """Sums of each column in the states of a label of its own (n, T)."""

    def tabulate_without(
        self, tile: Any, scores: np.ndarray, weight: np.ndarray, coefficients: Any, alpha: np.ndarray, owner: np.ndarray
    ) -> np.ndarray:
        """Sums of each column in the states that the label of its owner (n,) has without it; scores (k - 1, J, T)."""
        without = scores[:, owner] - self.own_scores(tile, coefficients, alpha, owner)
        label = np.where((without > 0).any(axis=0), without.argmax(axis=0) + 1, 0)
        return self.tabulate(tile, label, weight, len(scores) + 1)

    @abstractmethod
    def independence(self, table: np.ndarray) -> np.ndarray:
        """Probability (n,) of such sums, or stranger ones, if the label says nothing about the column."""


class Estimate(NamedTuple):
    """Parameters, p(y) (k, J), and the dependence (J, n) of each variable on each factor."""

    parameters: Any
    prior: np.ndarray
    dependence: np.ndarray


class Joint(NamedTuple):
    """Marginals of some columns (Q,) given the joint states of their factors (d, Q).

    probability (k^d, Q) of the joint states, the last factor fastest; parameters as the family's own.
    """

    columns: np.ndarray
    factors: np.ndarray
    probability: np.ndarray
    parameters: Any


class Questions(NamedTuple):
    """What one pass measures about a block beyond its marginal statistics.

    links (S, D, n) asks for the joint statistics of a variable and its factors, -1 after the last;
    order (S, m, n) asks for the right guesses of each factor and the first right ones in this order.
    Factors are counted within their start.
    """

    links: np.ndarray | None = None
    order: np.ndarray | None = None

    def take(self, starts) -> "Questions":
        """The questions of some of the starts."""
        return Questions(*(None if array is None else array[starts] for array in self))


class Answers(NamedTuple):
    """What a pass over a tile found out about a block: sums, so that those of tiles add up."""

    sums: tuple[np.ndarray, ...]
    log_mixture: np.ndarray | None = None
    joint: np.ndarray | None = None
    guesses: np.ndarray | None = None


def linked(links: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where some start links a variable to two factors or more.

    Returns the starts (Q,), the columns (Q,) and the links (D, Q), to the depth of the deepest, with
    the factors counted over all starts.
    """
    start, column = map(np.ascontiguousarray, np.nonzero(links[:, 1] >= 0))
    local = links[start, :, column].T
    local = local[: max(2, int((local >= 0).any(axis=1).sum()))]
    return start, column, np.ascontiguousarray(np.where(local < 0, -1, local + n_factors * start))


def most_likely(labels: np.ndarray, dtype: Any = np.intp) -> np.ndarray:
    """The most likely state of each factor, the first of equals, (J, T), of labels (k, J, T)."""
    states = np.empty(labels.shape[1:], dtype)
    kernels.labels.most_likely(labels, states)
    return states


def take_rows(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some samples of column after column (n, N): the same (M,) of all, or others of each (n, M)."""
    return np.take(values, rows, axis=1) if rows.ndim == 1 else np.take_along_axis(values, rows, axis=1)


def take_factors(parameters, factors):
    """The parameters of some of the factors."""
    # Loops are compiled again for every order of an array in memory that they meet.
    return type(parameters)(*(np.ascontiguousarray(array[:, factors]) for array in parameters))


def all_states(sums: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Sums of every state (k, J, n) from those of states 1 to k - 1 and the total (n,)."""
    return np.concatenate([(total - sums.sum(axis=0))[None], sums])


def unbiased(log_ratio: np.ndarray, share: float) -> np.ndarray:
    """Log-ratios whose mean over N new samples is not low for p(y) being that of the same samples; share is 1 / 2N.

    To first order the mean of log p(x | y) / sum_y p(y) p(x | y) falls short by that of (ratio - 1) / 2N,
    as the entropy of frequencies does by (states - 1) / 2N. Bounds on the samples themselves have share 0.
    """
    # States that never occur may have any ratio; they have no weight.
    return log_ratio + share * np.expm1(np.minimum(log_ratio, LARGEST_RATIO)) if share else log_ratio
