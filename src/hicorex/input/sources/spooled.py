"""Tables that the program itself writes to disk, as the labels of a layer."""

from collections.abc import Iterable

import numpy as np

from hicorex.input.sources.base import Source
from hicorex.input.spool import Place, Scratch


class SpooledSource(Source):
    """An array on disk, written some rows at a time."""

    names = None

    def __init__(self, parts: Iterable[np.ndarray]):
        self._file = Scratch()
        n_rows, self._row = 0, np.empty((0, 0))
        for rows in parts:
            self._file.write(rows)
            self._row, n_rows = rows[:0], n_rows + len(rows)
        self.shape = (n_rows, self._row.shape[1])

    def read(self, first: int, stop: int) -> np.ndarray:
        """Rows ``first`` to ``stop - 1`` as a new array."""
        self._check_range(first, stop)
        width, dtype = self.shape[1], self._row.dtype
        return self._file.read(Place(first * width * dtype.itemsize, dtype, (stop - first, width)))

    def n_bytes(self) -> int:
        """The size of the whole table in memory."""
        return self.shape[0] * self.shape[1] * self._row.dtype.itemsize
