"""How the levels of a child lie in each joint state of its factors: p(v | y), as the bound of the factors goes by it.

The factors' own term is log p(x_i | y) / p(x_i), with p(x_i) the mixture. So the x of all samples, weighted by that
ratio, are as if they had the state y, and no state has too few.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.pairs.levels import MOST_LEVELS, CellReader
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.marginals import Categorical
from hicorex.marginals.base import Block

# Levels to a standard deviation of a number.
FINE = 4.0


class Marginal(NamedTuple):
    """p(x_i | y) of a column in the joint states of its factors.

    probability : (S,), of the states
    p : (S, V), of the categories; None for numbers
    mean, variance : (S,), of numbers
    """

    probability: np.ndarray
    p: np.ndarray | None
    mean: np.ndarray
    variance: np.ndarray


class ChildTables(NamedTuple):
    """By column, joint state and level: p(v | y), and p(v | y) / p(v), one table after the other."""

    spread: np.ndarray
    ratio: np.ndarray


def marginals_of(layer: LayerEvaluator | None, data: Data) -> list[Marginal]:
    """p(x_i | y) of each column of a table; of one state where there is no factor."""
    one, nothing = np.ones(1), np.zeros(1)
    marginals = [Marginal(one, None, nothing, one)] * data.n_columns
    if layer is None:
        return marginals
    for block, columns, joints in zip(data.blocks, data.columns, layer.joints, strict=True):
        for joint in joints:
            probability = joint.probability / joint.probability.sum(axis=0)
            places = columns[joint.columns].tolist()
            if isinstance(block, Categorical):
                stops = np.cumsum(block.sizes[joint.columns] + 1)
                for at, (column, stop) in enumerate(zip(places, stops.tolist(), strict=True)):
                    size = int(block.sizes[joint.columns[at]])
                    p = joint.parameters.p[:, stop - size - 1 : stop - 1].astype(float)
                    marginals[column] = Marginal(probability[:, at], p, nothing, one)
            else:
                mean, variance, _ = (array.astype(float) for array in joint.parameters)
                for at, column in enumerate(places):
                    marginals[column] = Marginal(probability[:, at], None, mean[:, at], variance[:, at])
    return marginals


def child_levels(marginals: Sequence[Marginal], is_number: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The centre and the scale of the levels of each column, (S,) each, by its own distribution in the states."""
    levels = []
    for marginal, number in zip(marginals, is_number.tolist(), strict=True):
        scale = FINE / np.sqrt(marginal.variance) if number else np.ones(marginal.probability.size)
        centre = marginal.mean - MOST_LEVELS / 2 / scale if number else np.zeros(scale.size)
        levels.append((centre, scale))
    return levels


def child_tables(
    columns: np.ndarray,
    levels: Sequence[tuple[np.ndarray, np.ndarray]],
    marginals: Sequence[Marginal],
    reader: CellReader,
    data: Data,
    engine: Engine,
) -> ChildTables:
    """The tables of some columns (c,) that have these levels; numbers take a pass over the samples."""
    chosen = [marginals[i] for i in columns.tolist()]
    numbers = reader.is_number[columns]
    of_numbers = iter(_tables_of_numbers(columns[numbers], numbers, levels, chosen, reader, data, engine))
    spreads, ratios = [np.empty(0)], [np.empty(0)]
    for column, marginal, number in zip(columns.tolist(), chosen, numbers.tolist(), strict=True):
        if number:
            spread, share = next(of_numbers)
        else:
            block = data.blocks[reader.block[column]]
            spread, share = _table_of_categories(block, reader, column, marginal)
        spreads.append(spread.ravel())
        ratios.append(np.where(share > 0, spread / np.where(share > 0, share, 1), 0).ravel())
    return ChildTables(np.concatenate(spreads), np.concatenate(ratios))


def _tables_of_numbers(
    columns: np.ndarray,
    numbers: np.ndarray,
    levels: Sequence[tuple[np.ndarray, np.ndarray]],
    chosen: Sequence[Marginal],
    reader: CellReader,
    data: Data,
    engine: Engine,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """p(v | y) and p(v) of each of the columns of numbers, (S, L)."""
    if not columns.size:
        return
    at = np.flatnonzero(numbers).tolist()
    states = np.concatenate([[0], np.cumsum([chosen[i].probability.size for i in at])])
    centre, scale = (np.concatenate([levels[i][which] for i in at]) for which in range(2))
    log_weight = np.log(np.maximum(np.concatenate([chosen[i].probability for i in at]), 1e-300))
    mean = np.concatenate([chosen[i].mean for i in at])
    precision = 1 / np.concatenate([chosen[i].variance for i in at])
    arrays = states, centre, scale, log_weight, mean, precision
    sums = engine.sum(partial(_sum_numbers, data.blocks, reader, columns, arrays), data.parts)
    for first, stop in pairwise(states.tolist()):
        spread, share = sums[:, first:stop]
        total = np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        yield spread / total, share / total


def _sum_numbers(
    blocks: Sequence[Block], reader: CellReader, columns: np.ndarray, arrays: tuple, part: Part, rows: slice
) -> np.ndarray:
    """The sums over a tile of kernels.pairs.child_ratios."""
    sample_weight = part.sample_weight[rows].astype(float)
    x = reader.read(blocks, part.tile(blocks, rows), columns)
    out = np.zeros((2, int(arrays[0][-1]), MOST_LEVELS))
    kernels.pairs.child_ratios(x, np.arange(columns.size), *arrays, sample_weight, MOST_LEVELS, out)
    return out


def _table_of_categories(
    block: Categorical, reader: CellReader, column: int, marginal: Marginal
) -> tuple[np.ndarray, np.ndarray]:
    """p(v | y) and p(v) of the levels of a column of categories, (S, L)."""
    place = int(reader.place[column])
    size = int(block.sizes[place])
    share = block.marginal[block.offsets[place] : block.offsets[place] + size]
    ratio = np.ones((marginal.probability.size, size))
    if marginal.p is not None:
        ratio = marginal.p / np.maximum(marginal.probability @ marginal.p, 1e-300)
    level = reader.rare.get(column, np.arange(size))
    into = (level[:, None] == np.arange(int(reader.n_levels[column]))).astype(float)
    return (ratio * share) @ into, np.broadcast_to(share @ into, (len(ratio), into.shape[1]))
