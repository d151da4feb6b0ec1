"""Counts of the levels of pairs of columns, given the joint states of the child's factors."""

from typing import NamedTuple, Self

import numpy as np

from hicorex import kernels
from hicorex.bounds.pairs.levels import CellReader

# Cells of a table by state; larger ones are pooled over states.
MOST_STATE_CELLS = 4096
# Levels to a standard deviation of a number.
FINE = 4.0
# A number varies in a state at least so much, in standard deviations of the column.
LEAST_SPREAD = 0.03


class Layout(NamedTuple):
    """Which levels of which pairs are counted; the arrays are those of kernels.pairs."""

    columns: np.ndarray
    factors: np.ndarray
    states: np.ndarray
    n_levels: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    pooled: np.ndarray
    joint: np.ndarray
    parents: np.ndarray
    children: np.ndarray

    @classmethod
    def of(cls, reader: CellReader, pairs: np.ndarray, links: np.ndarray, n_states: int) -> Self:
        """The layout of pairs (2, P) of child and parent, by the factors of each column (D, n), -1 after the last."""
        factors = np.ascontiguousarray(links[:, pairs[0]])
        n_joint = n_states ** (factors >= 0).sum(axis=0)
        n_levels = reader.n_levels[pairs]
        cells = n_levels.prod(axis=0)
        pooled = reader.is_number[pairs].any(axis=0) | (n_joint * cells > MOST_STATE_CELLS)
        states = _offsets(n_joint)
        return cls(
            pairs,
            factors,
            states,
            n_levels,
            np.zeros((2, states[-1])),
            np.ones((2, states[-1])),
            pooled,
            _offsets(np.where(pooled, 1, n_joint) * cells),
            _offsets(n_joint * n_levels[1]),
            _offsets(n_joint * n_levels[0]),
        )

    def among(self, rows: np.ndarray) -> Self:
        """The same for cells of some columns alone, rising."""
        return self._replace(columns=np.searchsorted(rows, self.columns))

    def scaled(self, moments: np.ndarray, is_number: np.ndarray) -> Self:
        """Levels of numbers about their mean in each state, from moments (2, states, 3)."""
        count = moments[..., 0] + 1  # one more sample, distributed as the column
        mean = moments[..., 1] / count
        variance = np.maximum((moments[..., 2] + 1) / count - mean**2, LEAST_SPREAD**2)
        scale = FINE / np.sqrt(variance)
        number = np.repeat(is_number[self.columns], np.diff(self.states), axis=1)
        half = np.repeat(self.n_levels / 2, np.diff(self.states), axis=1)
        return self._replace(
            centre=np.where(number, mean - half / scale, self.centre), scale=np.where(number, scale, self.scale)
        )


class Counts(NamedTuple):
    """Counts by the layout: of joint levels, of parents, of children; squared weights by state."""

    joint: np.ndarray
    parents: np.ndarray
    children: np.ndarray
    squares: np.ndarray

    @classmethod
    def none(cls, layout: Layout, n_parts: int) -> Self:
        """Of no samples, in so many parts."""
        sizes = (layout.joint[-1], layout.parents[-1], layout.children[-1], layout.states[-1])
        return cls(*(np.zeros((n_parts, size)) for size in sizes))

    def part(self, at: int) -> Self:
        """Of one part of the samples."""
        return type(self)(*(array[at] for array in self))

    def total(self) -> Self:
        """Of all parts."""
        return type(self)(*(array.sum(axis=0) for array in self))


def count(
    cells: np.ndarray, layout: Layout, labels: np.ndarray, sample_weight: np.ndarray, part: np.ndarray, n_parts: int
) -> Counts:
    """The counts of samples, cells (c, T) and labels (k, J, T), each in the part that part (T,) says."""
    counts = Counts.none(layout, n_parts)
    kernels.pairs.count(cells, tuple(layout), labels, sample_weight, part, *counts)
    return counts


def log_ratios(layout: Layout, is_number: np.ndarray, counts: Counts, prior_samples: float) -> np.ndarray:
    """log q(v | y, a) / q(v | y) of all cells of the tables, from counts."""
    out = np.zeros(layout.joint[-1])
    numbers = is_number[layout.columns]
    kernels.pairs.log_ratios(tuple(layout), numbers, *counts[:3], prior_samples, out)
    return out


class Expected(NamedTuple):
    """Ratios expected if parent and child were independent given the states.

    of_parents, of_children : by level, as the counts of these
    totals : (3, P), the weight of samples with both, and the mean ratio with and without pairs of equal samples
    """

    of_parents: np.ndarray
    of_children: np.ndarray
    totals: np.ndarray


def expected(layout: Layout, log_ratio: np.ndarray, counts: Counts) -> Expected:
    """The ratios expected under independence of samples with these counts."""
    result = Expected(
        np.zeros(layout.parents[-1]), np.zeros(layout.children[-1]), np.zeros((3, layout.columns.shape[1]))
    )
    kernels.pairs.expected_ratios(tuple(layout), log_ratio, *counts, *result)
    return result


def gains(layout: Layout, log_ratio: np.ndarray, counts: Counts, new: bool) -> np.ndarray:
    """What each pair gains in sum over samples with these counts, (P,); ``new`` for samples not in the tables."""
    totals = expected(layout, log_ratio, counts).totals
    if not new:
        totals[2] = totals[1]
    out = np.zeros(layout.columns.shape[1])
    kernels.pairs.mean_gains(tuple(layout), log_ratio, counts.joint, totals, out)
    return out


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
