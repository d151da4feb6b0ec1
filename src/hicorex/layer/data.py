"""A table as blocks of marginals over weighted samples, which come in parts."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.engine.reduction import ARITY, add_up
from hicorex.marginals.base import Block

# Tiles depend on the shape of the table alone, so that results do not depend on the threads.
TILE_CELLS = 2**19


def tile_height(row_cells: int) -> int:
    """Rows of a tile of a table of so many cells in a row."""
    return int(np.clip(TILE_CELLS // max(row_cells, 1), 128, 4096))


def row_slices(n_rows: int, height: int) -> list[slice]:
    """Rows so many at a time."""
    return [slice(first, min(first + height, n_rows)) for first in range(0, n_rows, height)]


class Part(NamedTuple):
    """Consecutive samples of a table, at most ARITY tiles of so many rows.

    samples : by block
    sample_weight : (T,)
    first : which sample of the table is the first
    height : rows of a tile
    """

    samples: list[Any]
    sample_weight: np.ndarray
    first: int
    height: int

    def tiles(self, finer: int = 1) -> list[slice]:
        """The rows of each tile, or of finer ones."""
        return row_slices(self.sample_weight.size, -(-self.height // finer))

    def tile(self, blocks: Sequence[Block], rows: slice, map_blocks: Callable = map) -> list[Any]:
        """Some samples by block, in the form that the methods of the blocks take."""
        return list(map_blocks(lambda b: blocks[b].tile(self.samples[b], rows), range(len(blocks))))

    def take(self, blocks: Sequence[Block], rows: np.ndarray) -> tuple[list[Any], np.ndarray]:
        """Those of some samples of the table, by block, and their weights."""
        own = rows[(rows >= self.first) & (rows < self.first + self.sample_weight.size)] - self.first
        return [
            block.take(samples, own) for block, samples in zip(blocks, self.samples, strict=True)
        ], self.sample_weight[own]


@dataclass(frozen=True)
class Data:
    """A table as blocks of marginals over weighted samples, to be passed over in tiles of rows.

    columns : for each block, the indices of its columns in the table
    parts : the samples, where the engine finds them
    height : rows of a tile
    total : the weight of all samples
    """

    blocks: list
    columns: list[np.ndarray]
    parts: Sequence
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
    def of(cls, blocks: list, columns: list[np.ndarray], samples: list[Any], weight: np.ndarray) -> "Data":
        """Blocks over samples in memory, of the given weights (n_samples,)."""
        height = tile_height(sum(block.row_cells(own) for block, own in zip(blocks, samples, strict=True)))
        parts = []
        for rows in row_slices(weight.size, ARITY * height):
            own = [block.cut(all_samples, rows) for block, all_samples in zip(blocks, samples, strict=True)]
            parts.append(Part(own, weight[rows], rows.start, height))
        return cls._in_memory(blocks, columns, parts)

    @classmethod
    def _in_memory(cls, blocks: list, columns: list[np.ndarray], parts: Sequence[Part]) -> "Data":
        sums = add_up(totals_of(blocks, part, rows) for part in parts for rows in part.tiles())
        n_samples = sum(part.sample_weight.size for part in parts)
        return cls.with_totals(blocks, columns, parts, n_samples, parts[0].height, sums)

    @classmethod
    def with_totals(
        cls, blocks: list, columns: list[np.ndarray], parts: Sequence, n_samples: int, height: int, sums: Any
    ) -> "Data":
        """Blocks over samples in parts, whose ``totals_of`` sum up to ``sums``."""
        total, by_block = sums
        blocks = [block.over(own, float(total)) for block, own in zip(blocks, by_block, strict=True)]
        return cls(blocks, columns, parts, n_samples, height, float(total))

    def take(self, rows: np.ndarray, engine: Engine) -> "Data":
        """Some of the samples, in memory."""
        blocks, rising = self.blocks, np.sort(rows)
        parts, weights = zip(*engine.each(lambda part: part.take(blocks, rising), self.parts), strict=True)
        samples = [block.join(own) for block, own in zip(blocks, zip(*parts, strict=True), strict=True)]
        weight = np.concatenate(weights)
        if not np.array_equal(rows, rising):
            order = np.argsort(np.argsort(rows))
            samples = [block.take(own, order) for block, own in zip(blocks, samples, strict=True)]
            weight = weight[order]
        return Data.of(blocks, self.columns, samples, weight)

    def shuffled(self, rng: np.random.Generator) -> "Data":
        """Samples in memory, every column in an order of its own, so that all dependence is lost."""
        samples = [
            block.shuffle(own, self.n_samples, rng) for block, own in zip(self.blocks, self._whole(), strict=True)
        ]
        return Data.of(self.blocks, self.columns, samples, self.sample_weight)

    def to_table(self, blocks: list[np.ndarray]) -> np.ndarray:
        """Arrays with the block's columns last, put together in the table's order of columns."""
        table = np.empty((*blocks[0].shape[:-1], self.n_columns), blocks[0].dtype)
        for array, columns in zip(blocks, self.columns, strict=True):
            table[..., columns] = array
        return table

    def _whole(self) -> list[Any]:
        """The samples of all parts, in memory, by block."""
        by_block: Iterable = zip(*(part.samples for part in self.parts), strict=True)
        return [block.join(own) for block, own in zip(self.blocks, by_block, strict=True)]


def totals_of(blocks: list, part: Part, rows: slice) -> tuple[np.ndarray, list]:
    """The weight of a tile, and the totals of its columns by block."""
    weight = part.sample_weight[rows].astype(float)
    tiles = part.tile(blocks, rows)
    return weight.sum(), [block.sum_columns(tile, weight) for block, tile in zip(blocks, tiles, strict=True)]


def digest_of(part: Part) -> bytes:
    """What tells some samples from any others."""
    digest = hashlib.sha256(np.ascontiguousarray(part.sample_weight).data)
    for samples in part.samples:
        for array in samples:
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
