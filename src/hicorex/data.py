"""A table as blocks of marginals over weighted samples."""

from dataclasses import dataclass

import numpy as np

from hicorex.marginals import Categorical

# Tiles depend on the shape of the table alone, so that results do not depend on the threads.
TILE_CELLS = 2**19


@dataclass(frozen=True)
class Data:
    """A table as blocks of marginals over weighted samples, to be passed over in tiles of rows.

    columns : for each block, the indices of its columns in the table
    """

    blocks: list
    columns: list[np.ndarray]
    weight: np.ndarray
    tiles: list[slice]

    @property
    def n_columns(self) -> int:
        """The number of columns of the table."""
        return sum(columns.size for columns in self.columns)

    @property
    def total(self) -> float:
        """The weight of all samples."""
        return float(self.weight.sum(dtype=float))

    @classmethod
    def of(cls, blocks: list, columns: list[np.ndarray], weight: np.ndarray) -> "Data":
        """Blocks over samples of the given weights (n_samples,)."""
        height = int(np.clip(TILE_CELLS // sum(c.size for c in columns), 128, 4096))
        tiles = _row_slices(weight.size, height)
        return cls([block.weighted(weight, tiles) for block in blocks], columns, weight, tiles)

    @classmethod
    def of_labels(cls, labels: np.ndarray, n_states: int, weight: np.ndarray) -> "Data":
        """Labels (m, N) of a layer as the table of the next one."""
        codes = labels.astype(np.uint8)
        return cls.of(
            [Categorical(codes, np.full(len(codes), n_states), weight.dtype)], [np.arange(len(codes))], weight
        )

    @property
    def small_tiles(self) -> list[slice]:
        """Tiles for work that makes many values of every cell."""
        return _row_slices(self.weight.size, -(-self.tiles[0].stop // 8))

    def reweighted(self, weight: np.ndarray) -> "Data":
        """The same samples with other weights."""
        return Data.of(self.blocks, self.columns, weight.astype(self.weight.dtype))

    def take(self, rows: np.ndarray) -> "Data":
        """Some of the samples."""
        return Data.of([block.take(rows) for block in self.blocks], self.columns, self.weight[rows])

    def shuffled(self, rng: np.random.Generator) -> "Data":
        """Every column in an order of its own, so that all dependence is lost."""
        order = np.arange(self.weight.size)
        blocks = [block.take(rng.permuted(np.tile(order, (block.n_columns, 1)), axis=1)) for block in self.blocks]
        return Data.of(blocks, self.columns, self.weight)

    def to_table(self, blocks: list[np.ndarray]) -> np.ndarray:
        """Arrays with the block's columns last, put together in the table's order of columns."""
        table = np.empty((*blocks[0].shape[:-1], self.n_columns), blocks[0].dtype)
        for array, columns in zip(blocks, self.columns, strict=True):
            table[..., columns] = array
        return table


def _row_slices(n_rows: int, height: int) -> list[slice]:
    return [slice(first, min(first + height, n_rows)) for first in range(0, n_rows, height)]
