"""A table as blocks of marginals over weighted samples, which come in parts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.engine.base import Mapper
from hicorex.engine.reduction import ARITY, add_up
from hicorex.marginals.base import Block, Samples, Sums, Tile, join

# Tiles depend on the shape of the table alone, so that results do not depend on the threads.
TILE_CELLS = 2**19


def tile_height(row_cells: int) -> int:
    """The number of rows of a tile of a table with ``row_cells`` cells in a row."""
    return int(np.clip(TILE_CELLS // max(row_cells, 1), 128, 4096))


def row_slices(n_rows: int, height: int) -> list[slice]:
    """All rows, ``height`` at a time."""
    return [slice(first, min(first + height, n_rows)) for first in range(0, n_rows, height)]


class Part(NamedTuple):
    """Consecutive samples of a table, at most ARITY tiles.

    samples : by block
    sample_weight : (T,)
    first : which sample of the table is the first
    height : rows of a tile
    """

    samples: list[Samples]
    sample_weight: np.ndarray
    first: int
    height: int

    def tiles(self, finer: int = 1) -> list[slice]:
        """The rows of each tile, or of finer ones."""
        return row_slices(self.sample_weight.size, -(-self.height // finer))

    def tile(self, blocks: Sequence[Block], rows: slice, map_blocks: Mapper = map) -> list[Tile]:
        """Some samples by block, in the form that the methods of the blocks take."""
        return list(map_blocks(lambda b: blocks[b].tile(self.samples[b], rows), range(len(blocks))))

    def take(self, rows: np.ndarray) -> tuple[list[Samples], np.ndarray]:
        """Those of some samples of the table that are in this part, by block, and their weights."""
        here = rows[(rows >= self.first) & (rows < self.first + self.sample_weight.size)] - self.first
        return [samples.take(here) for samples in self.samples], self.sample_weight[here]


@dataclass(frozen=True)
class Data:
    """A table as blocks of marginals over weighted samples, to be passed over in tiles of rows.

    columns : for each block, the indices of its columns in the table
    parts : the samples, where the engine finds them
    height : rows of a tile
    total : the weight of all samples
    """

    blocks: list[Block]
    columns: list[np.ndarray]
    parts: Sequence[Any]
    n_samples: int
    height: int
    total: float

    @property
    def n_columns(self) -> int:
        """The number of columns of the table."""
        return sum(columns.size for columns in self.columns)

    @property
    def lone_tile(self) -> bool:
        """Whether all samples are in one tile."""
        return self.n_samples <= self.height

    @property
    def in_memory(self) -> bool:
        """Whether all samples are in the memory of this process."""
        return isinstance(self.parts, list) and isinstance(self.parts[0], Part)

    @property
    def sample_weight(self) -> np.ndarray:
        """The weights of samples in memory, (n_samples,)."""
        return np.concatenate([part.sample_weight for part in self.parts])

    @classmethod
    def of(
        cls,
        blocks: Sequence[Block],
        columns: list[np.ndarray],
        samples: Sequence[Samples],
        sample_weight: np.ndarray,
    ) -> "Data":
        """Blocks over samples in memory, of the given weights (n_samples,)."""
        height = tile_height(sum(of_block.row_cells for of_block in samples))
        parts = [
            Part([of_block.cut(rows) for of_block in samples], sample_weight[rows], rows.start, height)
            for rows in row_slices(sample_weight.size, ARITY * height)
        ]
        sums = add_up(totals_of(blocks, part, rows) for part in parts for rows in part.tiles())
        return cls.with_totals(blocks, columns, parts, sample_weight.size, height, sums)

    @classmethod
    def with_totals(
        cls,
        blocks: Sequence[Block],
        columns: list[np.ndarray],
        parts: Sequence[Any],
        n_samples: int,
        height: int,
        sums: tuple[np.ndarray, list[Sums]],
    ) -> "Data":
        """Blocks over samples in parts, whose ``totals_of`` sum up to ``sums``."""
        total, by_block = sums
        over = [block.over(totals, float(total)) for block, totals in zip(blocks, by_block, strict=True)]
        return cls(over, columns, parts, n_samples, height, float(total))

    def take(self, rows: np.ndarray, engine: Engine) -> "Data":
        """Some of the samples, in memory."""
        rising = np.sort(rows)
        parts, weights = zip(*engine.each(lambda part: part.take(rising), self.parts), strict=True)
        samples = [join(of_block) for of_block in zip(*parts, strict=True)]
        sample_weight = np.concatenate(weights)
        if not np.array_equal(rows, rising):
            order = np.argsort(np.argsort(rows))
            samples = [of_block.take(order) for of_block in samples]
            sample_weight = sample_weight[order]
        return Data.of(self.blocks, self.columns, samples, sample_weight)

    @property
    def samples(self) -> list[Samples]:
        """The samples of all parts, which are in memory, by block."""
        return [join(of_block) for of_block in zip(*(part.samples for part in self.parts), strict=True)]

    def shuffled(self, rng: np.random.Generator) -> "Data":
        """Samples in memory, each column in another order, so that all dependence is lost."""
        samples = [of_block.shuffle(block, rng) for block, of_block in zip(self.blocks, self.samples, strict=True)]
        return Data.of(self.blocks, self.columns, samples, self.sample_weight)

    def to_table(self, blocks: list[np.ndarray]) -> np.ndarray:
        """Arrays with the block's columns last, put together in the table's order of columns."""
        table = np.empty((*blocks[0].shape[:-1], self.n_columns), blocks[0].dtype)
        for array, columns in zip(blocks, self.columns, strict=True):
            table[..., columns] = array
        return table


def totals_of(blocks: Sequence[Block], part: Part, rows: slice) -> tuple[np.ndarray, list[Sums]]:
    """The weight of a tile, and the totals of its columns by block."""
    sample_weight = part.sample_weight[rows].astype(float)
    tiles = part.tile(blocks, rows)
    totals = [block.sum_columns(tile, sample_weight) for block, tile in zip(blocks, tiles, strict=True)]
    return sample_weight.sum(), totals


def digest_of(part: Part) -> bytes:
    """What tells some samples from any others."""
    digest = hashlib.sha256(np.ascontiguousarray(part.sample_weight).data)
    for samples in part.samples:
        for array in samples:
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
