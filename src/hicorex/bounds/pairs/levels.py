"""Columns of any kind as cells that pairs are counted by: numbers, or levels of categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from hicorex.layer.data import Data
from hicorex.marginals import Categorical, Gaussian, SparseCategorical
from hicorex.marginals.base import Block, Tile

# Levels of a number, a quarter of a standard deviation each; of more categories the rarest are one level.
MOST_LEVELS = 24


@dataclass(frozen=True)
class CellReader:
    """Reads cells of tiles.

    block, place : (n,), the block of each column of the table, and which column of the block it is
    is_number : (n,)
    n_levels : (n,), 1 for columns that do not vary
    rare : by column of more categories than levels, the level of each category
    """

    block: np.ndarray
    place: np.ndarray
    is_number: np.ndarray
    n_levels: np.ndarray
    rare: dict[int, np.ndarray]

    @classmethod
    def of(cls, blocks: Sequence[Block], columns: Sequence[np.ndarray], rare: dict[int, np.ndarray]) -> Self:
        """The reader of blocks, with the table's columns of each."""
        n_columns = sum(part.size for part in columns)
        block_of, place_of, n_levels = np.ones((3, n_columns), np.int64)
        is_number = np.zeros(n_columns, bool)
        for b, (block, part) in enumerate(zip(blocks, columns, strict=True)):
            block_of[part], place_of[part] = b, np.arange(part.size)
            is_number[part] = isinstance(block, Gaussian)
            sizes = block.sizes if isinstance(block, Categorical) else MOST_LEVELS
            n_levels[part] = np.where(block.informative, np.minimum(sizes, MOST_LEVELS), 1)
        return cls(block_of, place_of, is_number, n_levels, rare)

    def read(self, blocks: Sequence[Block], tiles: Sequence[Tile], columns: np.ndarray) -> np.ndarray:
        """The cells (c, T) of some columns of a tile, NaN where missing."""
        cells: np.ndarray | None = None
        for b, (block, tile) in enumerate(zip(blocks, tiles, strict=True)):
            rows = np.flatnonzero(self.block[columns] == b)
            if not rows.size:
                continue
            some = self._of_block(block, tile, columns[rows])
            if cells is None:
                cells = np.empty((columns.size, some.shape[1]))
            cells[rows] = some
        return np.empty((0, 0)) if cells is None else cells

    def _of_block(self, block: Block, tile: Tile, columns: np.ndarray) -> np.ndarray:
        places = self.place[columns]
        if isinstance(block, Gaussian):
            cells = tile.x[places].astype(float)
            gaps = block.gap_of[places]
            cells[gaps >= 0] = np.where(tile.present[gaps[gaps >= 0]], cells[gaps >= 0], np.nan)
            return cells
        assert isinstance(block, Categorical)
        codes = tile.dense(places) if isinstance(block, SparseCategorical) else tile.codes[places]
        cells = codes.astype(float)
        cells[codes == block.sizes[places][:, None]] = np.nan
        for row, column in enumerate(columns.tolist()):
            if column in self.rare:
                there = codes[row] < self.rare[column].size
                cells[row, there] = self.rare[column][codes[row, there]]
        return cells


def rare_levels(data: Data) -> dict[int, np.ndarray]:
    """By column of more categories than levels, the level of each: the most frequent have their own."""
    rare = dict[int, np.ndarray]()
    for block, columns in zip(data.blocks, data.columns, strict=True):
        if isinstance(block, Categorical):
            for place in np.flatnonzero(block.sizes > MOST_LEVELS).tolist():
                count = block.totals[0][block.offsets[place] : block.offsets[place] + block.sizes[place]]
                levels = np.full(count.size, MOST_LEVELS - 1, np.int8)
                levels[np.argsort(-count, kind="stable")[: MOST_LEVELS - 1]] = np.arange(MOST_LEVELS - 1)
                rare[int(columns[place])] = levels
    return rare
