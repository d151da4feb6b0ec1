"""What every family of marginals shares: a block of columns of one kind, and what a pass asks of it.

Shapes: k states, J factors (those of all starts side by side), n columns of the block, T rows of a
tile. Labels are (k, J, T); statistics and parameters have the factor on axis 1 and the column last.
State 0 is the reference: log-odds and sums are kept for the other k - 1 states, and the sums of
state 0 follow from the column's totals.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from hicorex import kernels

# Every state's marginal is estimated as if it had seen one more sample of the column's marginal.
PRIOR_SAMPLES = 1.0

# What each family has in another form, and what others pass along without a look inside.
Parameters = Any
Coefficients = Any
Tile = Any
FamilySamples = Any
FamilyBlock = Any
Sums = tuple[np.ndarray, ...]


class Samples(Protocol):
    """The samples of a block where they are stored: a named tuple of arrays."""

    @property
    def row_cells(self) -> int:
        """The number of cells of a sample, on average."""

    def __iter__(self) -> Iterator[np.ndarray]: ...

    def cut(self, rows: slice) -> Self:
        """Some consecutive samples."""

    def take(self, rows: np.ndarray) -> Self:
        """Some samples, (M,)."""

    def append(self, others: Sequence[Self]) -> Self:
        """These samples, and after them those of others."""

    def shuffle(self, block: FamilyBlock, rng: np.random.Generator) -> Self:
        """The samples of a block, each column in another order."""


class Block(ABC):
    """A block of columns, and what is the same in every pass over weighted samples; the samples are elsewhere.

    totals : the sums over all samples, which no label changes
    observed : (n,) the weight of the samples in which a column is observed
    total : the weight of all samples
    freedom : (n,) the parameters of a column's marginal in one state
    n_features : (n,) the number of features that ``features`` gives of a column
    dependence_is_information : whether ``dependence`` is exact
    least_prior_samples : the weakest smoothing that leaves the parameters of a rare state of use
    informative : (n,), False for columns that do not vary
    """

    totals: Sums
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

    def over(self, totals: Sums, total: float) -> Self:
        """This block over samples with these totals, of this weight."""
        block = copy.copy(self)
        block.total, block.totals = total, totals
        block.observed = block.observed_weight()
        return block

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns, n."""

    @property
    def stored_cells(self) -> float:
        """The cells of a sample that are stored, on average, by the totals."""
        return self.n_columns

    @abstractmethod
    def observed_weight(self) -> np.ndarray:
        """The weight of the samples in which each column is observed, (n,), by the totals."""

    @abstractmethod
    def tile(self, samples: FamilySamples, rows: slice) -> Tile:
        """Some samples, in the form that the other methods take."""

    @abstractmethod
    def sum_columns(self, tile: Tile, sample_weight: np.ndarray) -> Sums:
        """The totals of a tile."""

    @abstractmethod
    def neutral(self, n_states: int, n_factors: int) -> Parameters:
        """Parameters that make no difference between states."""

    @abstractmethod
    def prime(
        self, parameters: Parameters, factor: int, column: int, scores: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Let one column alone decide the label of a factor, in place; scores set its categories apart, if any."""

    @abstractmethod
    def features(self, tile: Tile, columns: np.ndarray) -> list[np.ndarray]:
        """Each column as features (f, T) whose cross products measure dependence."""

    @abstractmethod
    def estimate(self, sums: Sums, label_sum: np.ndarray, prior_samples: float) -> Parameters:
        """p(x_i | y_j) from the sums of a pass and of its labels (k, J), drawn towards p(x_i) (eq:marg)."""

    @abstractmethod
    def dependence(self, parameters: Parameters, prior: np.ndarray) -> np.ndarray:
        """A stand-in in closed form for I(Y_j:X_i), by which the factors of a variable are ordered, (J, n)."""

    @abstractmethod
    def information(
        self, parameters: Parameters, prior: np.ndarray, factors: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """I(Y_j:X_i) of some pairs of factor and column."""

    @abstractmethod
    def coefficients(
        self, parameters: Parameters, alpha: np.ndarray, prior: np.ndarray, questions: "Questions"
    ) -> Coefficients:
        """Parameters, structure and questions in the form that a pass over tiles uses."""

    @abstractmethod
    def scores(self, tile: Tile, coefficients: Coefficients) -> np.ndarray:
        """sum_i alpha_ij (log p(x_i | y_j=s) - log p(x_i | y_j=0)), ((k - 1) J, T)."""

    @abstractmethod
    def measure(
        self, tile: Tile, labels: np.ndarray, sample_weight: np.ndarray, coefficients: Coefficients
    ) -> "Answers":
        """The sums of one tile, under labels (k, J, T)."""

    @abstractmethod
    def log_mixture(self, tile: Tile, coefficients: Coefficients) -> np.ndarray:
        """sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)) of each sample, (J, T)."""

    @abstractmethod
    def log_mixture_sum(self, answers: "Answers", coefficients: Coefficients) -> np.ndarray:
        """The sum of log_mixture over all samples of a pass, (J,)."""


class Estimate(NamedTuple):
    """Parameters, p(y) (k, J), and the dependence (J, n) of each variable on each factor."""

    parameters: Parameters
    prior: np.ndarray
    dependence: np.ndarray


class Pairs(NamedTuple):
    """The pairs of factor and column, (P,) each, that belong together, column by column, and their alpha."""

    factors: np.ndarray
    columns: np.ndarray
    alpha: np.ndarray

    @classmethod
    def of(cls, alpha: np.ndarray) -> "Pairs":
        """Those of which alpha (J, n) is not zero."""
        return cls(*kernels.structure.linked_pairs(alpha))


class Questions(NamedTuple):
    """What one pass measures about a block beyond its marginal statistics.

    links (S, D, n) asks for the joint statistics of a variable and its factors, -1 after the last;
    order (S, m, n) asks for the right guesses of each factor and the first right ones in this order.
    Factors are counted within their start.
    """

    links: np.ndarray | None = None
    order: np.ndarray | None = None

    def take(self, starts: list[int]) -> "Questions":
        """The questions of some of the starts."""
        return Questions(*(None if array is None else array[starts] for array in self))


class Answers(NamedTuple):
    """What a pass over a tile measured of a block: sums, so that those of tiles add up.

    sums : of the marginals
    log_mixture : of sum_i alpha_ij log(p_j(x_i) / p(x_i | y_j=0)), (J,), if the totals do not tell them
    joint : of the linked columns, in the joint states of their factors
    guesses : right ones of each factor, and those that it is the first to have right, (2, J, n)
    """

    sums: Sums
    log_mixture: np.ndarray | None = None
    joint: np.ndarray | None = None
    guesses: np.ndarray | None = None


SomeSamples = TypeVar("SomeSamples", bound=Samples)
SomeParameters = TypeVar("SomeParameters", bound=tuple)


def join(parts: Sequence[SomeSamples]) -> SomeSamples:
    """The samples of several parts, one after the other."""
    first, *others = parts
    return first.append(others) if others else first


def linked(links: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where some start links a variable to two factors or more.

    Returns the starts (Q,), the columns (Q,) and the links (D, Q), to the depth of the deepest, with
    the factors counted over all starts.
    """
    start, column = map(np.ascontiguousarray, np.nonzero(links[:, 1] >= 0))
    factors = np.empty((links.shape[1], start.size), np.intp)
    kernels.structure.linked_factors(links, start, column, n_factors, factors)
    depth = max(2, int((factors.max(axis=1, initial=-1) >= 0).sum()))
    return start, column, factors[:depth]


def linked_if_asked(questions: Questions, n_factors: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The columns (Q,) that questions link to several factors, and the links (D, Q), None if none are asked for."""
    if questions.links is None or questions.links.shape[1] < 2:
        return np.empty(0, int), None
    _, columns, links = linked(questions.links, n_factors // len(questions.links))
    return columns, links


def most_likely(labels: np.ndarray, dtype: DTypeLike = np.intp) -> np.ndarray:
    """The most likely state of each factor, the first of equals, (J, T), of labels (k, J, T)."""
    states = np.empty(labels.shape[1:], dtype)
    kernels.labels.most_likely(labels, states)
    return states


def without_tiny(labels: np.ndarray) -> np.ndarray:
    """Labels (k, J, T) to sum up, in single precision with 0 for the tiniest.

    Products with those would be subnormal numbers, which are slow.
    """
    if labels.dtype != np.float32:
        return labels
    kept = np.empty_like(labels)
    kernels.labels.drop_tiny(labels.reshape(-1), kept.reshape(-1))
    return kept


def take_factors(parameters: SomeParameters, factors: np.ndarray | slice) -> SomeParameters:
    """The parameters of some of the factors."""
    # Loops are compiled again for every order of an array in memory that they meet.
    return type(parameters)(*(np.ascontiguousarray(array[:, factors]) for array in parameters))


def all_states(sums: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Sums of every state (k, J, n) from those of states 1 to k - 1 and the total (n,)."""
    return np.concatenate([(total - sums.sum(axis=0))[None], sums])
