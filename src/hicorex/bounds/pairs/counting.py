"""Counts of the levels of pairs of columns, given the joint states of the child's factors."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from hicorex import kernels
from hicorex.bounds.pairs.children import FINE, ChildTables
from hicorex.bounds.pairs.levels import MOST_LEVELS, CellReader

# Cells of a table by state; larger ones are pooled over states.
MOST_STATE_CELLS = 4096
# A number varies in a state at least so much, in standard deviations of the column.
LEAST_SPREAD = 0.03
# No log-ratio is less, as of numbers that nearly repeat each other and differ once: one sample must not cost the bound.
LEAST_LOG_RATIO = -50.0


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
        # All arrays in one order, so that no loop is compiled for two.
        pairs, factors = np.ascontiguousarray(pairs), np.ascontiguousarray(links[:, pairs[0]])
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

    def child_levels(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The centre and the scale of the levels of the child of each pair, (S,) each."""
        cuts = self.states[1:-1]
        return list(zip(np.split(self.centre[0], cuts), np.split(self.scale[0], cuts), strict=True))

    def with_children(self, levels: Sequence[tuple[np.ndarray, np.ndarray]]) -> Self:
        """The same with the levels of the children, centre and scale (S,) by column."""
        of_child = [levels[i] for i in self.columns[0].tolist()]
        centre, scale = (np.concatenate([np.empty(0), *(pair[at] for pair in of_child)]) for at in range(2))
        return self._replace(centre=np.stack([centre, self.centre[1]]), scale=np.stack([scale, self.scale[1]]))

    def with_parents(self, moments: np.ndarray, is_number: np.ndarray) -> Self:
        """The same with the levels of the parents that are numbers, by their moments (states, 3)."""
        count = moments[:, 0] + 1  # one more sample, distributed as the column
        mean = moments[:, 1] / count
        variance = np.maximum((moments[:, 2] + 1) / count - mean**2, LEAST_SPREAD**2)
        scale = FINE / np.sqrt(variance)
        number = np.repeat(is_number[self.columns[1]], np.diff(self.states))
        centre = np.where(number, mean - MOST_LEVELS / 2 / scale, self.centre[1])
        scale = np.where(number, scale, self.scale[1])
        return self._replace(centre=np.stack([self.centre[0], centre]), scale=np.stack([self.scale[0], scale]))


class Counts(NamedTuple):
    """Counts by the layout: of joint levels, the same times the child's ratio, of parents, of children."""

    joint: np.ndarray
    own: np.ndarray
    parents: np.ndarray
    children: np.ndarray

    @classmethod
    def none(cls, layout: Layout, n_parts: int) -> Self:
        """Of no samples, in so many parts."""
        sizes = (layout.joint[-1], layout.joint[-1], layout.parents[-1], layout.children[-1])
        return cls(*(np.zeros((n_parts, size)) for size in sizes))

    def part(self, at: int) -> Self:
        """Of one part of the samples."""
        return type(self)(*(array[at] for array in self))

    def total(self) -> Self:
        """Of all parts."""
        return type(self)(*(array.sum(axis=0) for array in self))


class Gains(NamedTuple):
    """What pairs gain of some samples.

    total : (P,), in sum over the samples
    excess : by state and level of the parent, what a log-ratio must be lessened by to make a bound
    constant : (P,), what is to be added to it
    """

    total: np.ndarray
    excess: np.ndarray
    constant: np.ndarray


def count(
    cells: np.ndarray,
    layout: Layout,
    ratio: np.ndarray,
    labels: np.ndarray,
    sample_weight: np.ndarray,
    part: np.ndarray,
    n_parts: int,
) -> Counts:
    """The counts of samples, cells (c, T) and labels (k, J, T), each in the part that part (T,) says."""
    counts = Counts.none(layout, n_parts)
    kernels.pairs.count(cells, tuple(layout), ratio, labels, sample_weight, part, *counts)
    return counts


def log_ratios(layout: Layout, is_number: np.ndarray, counts: Counts, prior_samples: float) -> np.ndarray:
    """log q(v | y, a) / q(v | y) of all cells of the tables, from counts."""
    out = np.zeros(layout.joint[-1])
    arrays = counts.joint, counts.parents, counts.children
    kernels.pairs.log_ratios(tuple(layout), is_number[layout.columns], *arrays, prior_samples, out)
    return np.maximum(out, LEAST_LOG_RATIO)


def gains(layout: Layout, log_ratio: np.ndarray, counts: Counts, spread: np.ndarray, own: float) -> Gains:
    """What pairs gain of samples with these counts.

    For any f(x, a, y), E log f - E' [r (f - 1)] <= I(X_i:X_parent,Y) - E log r, where r is p(x | y) / p(x) of the
    factors' own term and E' takes x apart from y and a. ``own`` is the share of a sample in the weight of all if
    pairs of a sample and itself are to be left out of E', so that its estimate has no bias; else 0.
    """
    excess = np.zeros(layout.parents[-1])
    kernels.pairs.excess_ratios(tuple(layout), log_ratio, counts.parents, spread, excess)
    sums = np.zeros((3, layout.columns.shape[1]))
    kernels.pairs.mean_gains(tuple(layout), log_ratio, counts.joint, counts.own, counts.parents, excess, sums)
    log_f, apart, itself = sums
    bias = own / (1 - own) * (itself - apart) if own < 1 else np.zeros_like(apart)
    seen = np.zeros(apart.size)
    if apart.size:
        seen = np.add.reduceat(counts.joint, layout.joint[:-1])
    return Gains(log_f - apart + bias, excess, bias / np.maximum(seen, 1e-300))


def spread_of(layout: Layout, tables: ChildTables, columns: np.ndarray, sizes: np.ndarray) -> ChildTables:
    """The tables of each pair's child, from those of columns (c,), rising, of these sizes."""
    starts = _offsets(sizes)[np.searchsorted(columns, layout.columns[0])]
    wanted = np.diff(layout.children)
    at = np.arange(layout.children[-1]) + np.repeat(starts - layout.children[:-1], wanted)
    return ChildTables(tables.spread[at], tables.ratio[at])


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
