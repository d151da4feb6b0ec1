"""Samples that are too many for memory, in a file without a name that ends with its process."""

import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError, NotWrittenError
from hicorex.input.sources import Source
from hicorex.layer.data import Part


class _Place(NamedTuple):
    """Where an array lies in the file."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]


class _Scratch:
    """A file of arrays, written one after the other and read in any order by any thread."""

    def __init__(self) -> None:
        self._folder = tempfile.gettempdir()
        try:
            self._file: BinaryIO = tempfile.TemporaryFile(dir=self._folder, buffering=0, prefix="hicorex-")  # noqa: SIM115
        except OSError as error:
            raise self._failed("written", error) from None
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._end = 0

    def write(self, array: np.ndarray) -> _Place:
        array = np.ascontiguousarray(array)
        place = _Place(self._end, array.dtype, array.shape)
        rest = array.reshape(-1).view(np.uint8).data
        try:
            with self._lock:
                self._file.seek(self._end)
                while rest:
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._failed("written", error) from None
        self._end += array.nbytes
        return place

    def read(self, place: _Place) -> np.ndarray:
        array = np.empty(place.shape, place.dtype)
        rest = array.reshape(-1).view(np.uint8).data
        try:
            with self._lock:
                self._file.seek(place.offset)
                while rest:
                    got = self._file.readinto(rest)  # type: ignore[attr-defined]
                    if not got:
                        raise OSError("it ends too early")
                    rest = rest[got:]
        except OSError as error:
            raise self._failed("read", error) from None
        return array

    def _failed(self, what: str, error: OSError) -> HicorexError:
        return NotWrittenError(
            f"The scratch file in {self._folder} cannot be {what}: {(error.strerror or str(error)).lower()}; free some "
            "space there, or name a folder with more of it in the environment variable TMPDIR."
        )


class Spool(Sequence):
    """Parts of the samples of a fit, on disk."""

    def __init__(self) -> None:
        self._file = _Scratch()
        self._parts: list[tuple[list[tuple[type, list[_Place]]], _Place, int, int]] = []

    def append(self, part: Part) -> None:
        """Add the part that follows the others."""
        samples = [(type(own), [self._file.write(array) for array in own]) for own in part.samples]
        self._parts.append((samples, self._file.write(part.sample_weight), part.first, part.height))

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, at: Any) -> Any:
        samples, weight, first, height = self._parts[at]
        own = [kind(*map(self._file.read, places)) for kind, places in samples]
        return Part(own, self._file.read(weight), first, height)


class SpooledTable(Source):
    """An array on disk, written some rows at a time."""

    names = None

    def __init__(self, parts: Iterable[np.ndarray]):
        self._file = _Scratch()
        n_rows, self._row = 0, np.empty((0, 0))
        for rows in parts:
            self._file.write(rows)
            self._row, n_rows = rows[:0], n_rows + len(rows)
        self.shape = (n_rows, self._row.shape[1])

    def read(self, first: int, stop: int) -> np.ndarray:
        """Rows ``first`` to ``stop - 1`` as a new array."""
        self._check_range(first, stop)
        width, dtype = self.shape[1], self._row.dtype
        return self._file.read(_Place(first * width * dtype.itemsize, dtype, (stop - first, width)))

    def n_bytes(self) -> int:
        """The size of the whole table in memory."""
        return self.shape[0] * self.shape[1] * self._row.dtype.itemsize
