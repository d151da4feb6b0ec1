"""What every family of marginals shares: a block of columns of one kind, and what a pass asks of it.

Shapes: k states, J factors (those of all starts side by side), n columns of the block, T rows of a
tile. Labels are (k, J, T); statistics and parameters have the factor on axis 1 and the column last.
State 0 is the reference: log-odds and sums are kept for the other k - 1 states, and the sums of
state 0 follow from the column's totals.
"""

import copy
from typing import NamedTuple, Self

import numpy as np

# Every state's marginal is estimated as if it had seen one more sample of the column's own marginal.
PRIOR_SAMPLES = 1.0


class Block:
    """A block of columns, and what is the same in every pass over weighted samples.

    totals : the sums over all samples, which no label changes
    observed : (n,) the weight of the samples in which a column is observed
    total : the weight of all samples
    freedom : (n,) the parameters of a column's marginal in one state
    informative : (n,), False for columns that do not vary
    """

    totals: tuple[np.ndarray, ...]
    observed: np.ndarray
    total: float
    freedom: np.ndarray
    informative: np.ndarray

    def weighted(self, weight: np.ndarray, tiles: list[slice]) -> Self:
        """This block over samples of the given weights (N,)."""
        block = copy.copy(self)
        block.total = float(weight.sum(dtype=float))
        parts = [self.sum_columns(tile, weight[tile].astype(float)) for tile in tiles]
        block.totals = tuple(sum(part) for part in zip(*parts, strict=True))
        block.observed = block.observed_weight()
        return block


class Estimate(NamedTuple):
    """Parameters, p(y) (k, J), and a score (J, n) that ranks factors by what they know of a variable."""

    parameters: tuple[np.ndarray, ...]
    prior: np.ndarray
    rank: np.ndarray


class Joint(NamedTuple):
    """Marginals of some columns (Q,) given the joint states of their factors (d, Q).

    probability (k^d, Q) of the joint states, the last factor fastest; parameters as the family's own.
    """

    columns: np.ndarray
    factors: np.ndarray
    probability: np.ndarray
    parameters: tuple[np.ndarray, ...]


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
    log_mixture: np.ndarray | None
    joint: np.ndarray | None
    guesses: np.ndarray | None

    def __add__(self, other: "Answers") -> "Answers":  # type: ignore[override]
        def add(a, b):
            return None if a is None else a + b

        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return Answers(sums, *(add(a, b) for a, b in zip(self[1:], other[1:], strict=True)))


def linked(links: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where some start links a variable to two factors or more.

    Returns the starts (Q,), the columns (Q,) and the links (D, Q) with the factors counted over all starts.
    """
    start, column = np.nonzero(links[:, 1] >= 0)
    local = links[start, :, column].T
    return start, column, np.ascontiguousarray(np.where(local < 0, -1, local + n_factors * start))


def take_factors(parameters, factors):
    """The parameters of some of the factors."""
    return type(parameters)(*(array[:, factors] for array in parameters))


def all_states(sums: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Sums of every state (k, J, n) from those of states 1 to k - 1 and the total (n,)."""
    return np.concatenate([(total - sums.sum(axis=0))[None], sums])
