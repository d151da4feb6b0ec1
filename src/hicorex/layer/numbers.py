"""Columns as numbers: each column of any kind as one number a sample, by which leading directions are found.

A numeric column is its values. The categories of others are put on a scale: the one along which other columns follow
them most, so that ordered answers come out in their order. A second number tells what the first cannot: the square of a
value, a second scale of categories. Extreme answers and volatile days show there.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.subspace import is_small, iterated, leading_directions
from hicorex.marginals import Categorical
from hicorex.marginals.base import Block, FamilyBlock, FamilySamples

# Cells of the numbers; of larger tables some rows, and then some columns, stand for all.
MOST_CELLS, FEWEST_ROWS = 2**23, 2000
# Of a column with more categories the rest count as one.
MOST_CATEGORIES = 8
# Cells by which scales are chosen, and directions beyond the number of factors.
CELLS_OF_SCALES, FURTHER_DIRECTIONS = 2**20, 10
# Smaller tables are worked on in double precision.
CELLS_IN_DOUBLE = 2**20
# Columns that are taken to double precision at a time.
FEW_COLUMNS = 64
# Squares beyond this many standard deviations tell no more.
FARTHEST = 3.0


class Numbers(NamedTuple):
    """Columns of mean 0 and variance 1 over some samples, those that vary.

    sample : these samples
    share : (R,) the share of each in the weight of all
    columns : by block, the columns that the first numbers are of
    first : (R, n) the numbers of columns
    make_second : makes second numbers (R, n2), of the columns that have any
    """

    sample: Data
    share: np.ndarray
    columns: list[np.ndarray]
    first: np.ndarray
    make_second: Callable[[], np.ndarray]


def numbers_of(data: Data, n_factors: int, engine: Engine) -> Numbers:
    """The columns of a table as numbers."""
    n_varying = sum(int(block.informative.sum()) for block in data.blocks)
    sample = some_rows(data, max(FEWEST_ROWS, MOST_CELLS // max(n_varying, 1)), engine)
    weight = sample.sample_weight.astype(float)
    share = weight / weight.sum()
    chosen = _most_varied(sample.blocks, max(1, MOST_CELLS // sample.n_samples))
    nothing = np.empty((0, share.size), np.float32)
    first, makers = [nothing], []
    for block, samples, columns in zip(sample.blocks, sample.samples, chosen, strict=True):
        if not isinstance(block, Categorical):
            first.append(block.tile(samples, slice(None)).x[columns])
            makers.append(partial(_squares, block, samples, columns))
        elif columns.size:
            codes = few_codes(block, samples, columns, MOST_CATEGORIES)
            scales, several = _scales(codes, share, n_factors)
            first.append(_on_scale(codes, scales[0]))
            makers.append(partial(_on_scale, codes[several], scales[1, several]))

    def make_second() -> np.ndarray:
        return _standardised(_joined([nothing, *(make() for make in makers)]), share)

    return Numbers(sample, share, chosen, _standardised(_joined(first), share), make_second)


def some_rows(data: Data, most: int, engine: Engine) -> Data:
    """The samples, or where there are more, ``most`` of them, in memory; the same ones whatever the seed."""
    if data.n_samples <= most:
        return data if data.in_memory else data.take(np.arange(data.n_samples), engine)
    rows = np.random.default_rng(0).choice(data.n_samples, most, replace=False)
    return data.take(np.sort(rows), engine)


def weighted_quantiles(values: np.ndarray, share: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The least values that have these shares of the weight at or below them; of samples of any weight."""
    order = np.argsort(values, kind="stable")
    order = order[share[order] > 0]
    reached = np.cumsum(share[order])
    at = np.searchsorted(reached / reached[-1], places - 1e-9)
    return values[order[np.minimum(at, order.size - 1)]]


def _most_varied(blocks: list[Block], most: int) -> list[np.ndarray]:
    """By block, the columns that vary; of more than ``most``, numbers and those of the most even categories."""
    columns = [np.flatnonzero(block.informative) for block in blocks]
    variety = np.concatenate([_variety(block)[some] for block, some in zip(blocks, columns, strict=True)])
    order = np.random.default_rng(0).permutation(variety.size) if variety.size > most else np.arange(variety.size)
    return some_of(columns, order[np.argsort(-variety[order], kind="stable")][:most])


def some_of(columns: list[np.ndarray], chosen: np.ndarray) -> list[np.ndarray]:
    """By block, those of its columns that are chosen among the columns of all blocks, one after the other."""
    kept = np.zeros(sum(of_block.size for of_block in columns), bool)
    kept[chosen] = True
    ends = np.cumsum([of_block.size for of_block in columns])[:-1]
    return [of_block[mask] for of_block, mask in zip(columns, np.split(kept, ends), strict=True)]


def _variety(block: Block) -> np.ndarray:
    """1 - sum_v p(v)^2 of categories, 1 of numbers, (n,)."""
    if not isinstance(block, Categorical):
        return np.ones(block.n_columns)
    return 1 - np.add.reduceat(block.marginal**2, block.offsets[:-1])


def few_codes(block: Categorical, samples: FamilySamples, columns: np.ndarray, most: int) -> np.ndarray:
    """The codes (n, R) of some columns, the rarest of more than ``most`` categories as one, -1 where missing."""
    wanted = set(columns.tolist())
    few = []
    for i, codes in enumerate(block.codes_of(samples)):
        if i in wanted:
            size = block.sizes[i]
            place = np.arange(size + 1)
            if size > most:
                count = block.totals[0][block.offsets[i] : block.offsets[i] + size]
                place[:size] = most - 1
                place[np.argsort(-count, kind="stable")[: most - 1]] = np.arange(most - 1)
            place[size] = -1
            few.append(place.astype(np.int8)[codes])
    return np.stack(few)


def _scales(codes: np.ndarray, share: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Two scales (2, n, categories) of the categories of columns, and which columns have need of the second, (n,).

    They are the two combinations of a column's categories that the leading directions of all categories follow most.
    """
    n_columns = len(codes)
    p = np.zeros((n_columns, MOST_CATEGORIES))
    for first in range(0, n_columns, FEW_COLUMNS):  # comparisons become double precision in a product
        for v in range(codes.max(initial=0) + 1):
            p[first : first + FEW_COLUMNS, v] = (codes[first : first + FEW_COLUMNS] == v) @ share
    several = (p > 0).sum(axis=1) > 2
    unit = np.where(p > 0, 1 / np.sqrt(np.maximum(p, 1e-30)), 0)
    if not several.any():
        # Two categories have but one scale.
        return np.stack([unit * (np.arange(MOST_CATEGORIES) == 1)] * 2), several
    step = max(1, codes.size // max(CELLS_OF_SCALES, 1000 * n_columns))
    codes, share = codes[:, ::step], share[::step] / share[::step].sum()
    cells = codes + MOST_CATEGORIES * np.arange(n_columns)[:, None]
    present = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=0))])
    column = cells.T[present.T]
    table = csr_array((unit.ravel()[column], column, indptr), (codes.shape[1], p.size))
    centre, root = table.T @ share, np.sqrt(share)[:, None]
    n_directions = min(n_factors + FURTHER_DIRECTIONS, codes.shape[1], n_columns)
    if is_small(table.shape, n_directions):
        loadings, _ = leading_directions(table.toarray() - centre, share, n_directions)
        directions = loadings / np.linalg.norm(loadings, axis=0)
    else:
        directions = iterated(
            lambda v: root * (table @ v - centre @ v),
            lambda u: table.T @ (root * u) - np.outer(centre, (root * u).sum(axis=0)),
            table.shape,
            n_directions,
        )
    # What the other columns' share of the scores tells of each category.
    scores = table @ directions - centre @ directions
    spread = np.sqrt(np.maximum(share @ scores**2, 1e-30))
    root_p, mine = np.sqrt(p)[:, :, None], directions.reshape(*p.shape, -1)
    followed = (table.T @ (share[:, None] * scores) - np.outer(centre, share @ scores)).reshape(mine.shape)
    followed = (followed - mine + root_p * (root_p * mine).sum(axis=1, keepdims=True)) / spread
    energy, vectors = np.linalg.eigh(followed @ followed.transpose(0, 2, 1))
    scales = vectors[:, :, [-1, -2]].transpose(2, 0, 1)
    # The order of the categories is as good a scale unless another is better by more than chance.
    order = root_p[:, :, 0] * (np.arange(MOST_CATEGORIES) - p @ np.arange(MOST_CATEGORIES)[:, None])
    order /= np.maximum(np.linalg.norm(order, axis=1, keepdims=True), 1e-30)
    in_order = (np.einsum("nv,nvq->nq", order, followed) ** 2).sum(axis=1)
    chance = followed.shape[2] * ((p > 0).sum(axis=1) - 1) / codes.shape[1]
    scales[0] = np.where((energy[:, -1] > in_order + 3 * chance)[:, None], scales[0], order)
    return scales * unit, several


def _squares(block: FamilyBlock, samples: FamilySamples, columns: np.ndarray) -> np.ndarray:
    return np.minimum(block.tile(samples, slice(None)).x[columns] ** 2, FARTHEST**2)


def _on_scale(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The number (n, R) of each code on the scale of its column (n, categories); NaN where missing."""
    with_missing = np.column_stack([scale, np.full(len(scale), np.nan)]).astype(np.float32)
    numbers = np.empty(codes.shape, np.float32)
    for out, of_column, code in zip(numbers, with_missing, codes, strict=True):
        np.take(of_column, code, out=out, mode="wrap")  # -1 is the last
    return numbers


def _joined(of_blocks: list[np.ndarray]) -> np.ndarray:
    """Arrays one after the other; the list is left empty, so that few copies are there at a time."""
    with_columns = [of_block for of_block in of_blocks if len(of_block)] or of_blocks[:1]
    of_blocks.clear()
    return with_columns[0] if len(with_columns) == 1 else np.concatenate(with_columns)


def _standardised(numbers: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Numbers (n, R) as columns (R, n) of mean 0 and variance 1; 0 where missing. They are overwritten."""
    numbers = numbers.astype(float if numbers.size <= CELLS_IN_DOUBLE else np.float32, copy=False)
    share, missing = share.astype(numbers.dtype), np.isnan(numbers)
    gaps = missing.any()
    numbers[missing] = 0
    observed = np.maximum(1 - missing @ share if gaps else np.ones(len(numbers), numbers.dtype), 1e-6)[:, None]
    numbers -= (numbers @ share)[:, None] / observed
    numbers[missing] = 0
    spread = np.sqrt(np.einsum("nr,nr,r->n", numbers, numbers, share)[:, None] / observed)
    numbers /= np.maximum(spread, numbers.dtype.type(1e-6))
    return numbers.T
