"""Samples too large for memory, in a file that has no name and goes when its process ends."""

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, overload

import numpy as np

from hicorex.exceptions import NotWrittenError
from hicorex.layer.data import Part


class Place(NamedTuple):
    """Where an array lies in the file."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]


@contextmanager
def scratch_errors(what: str) -> Iterator[None]:
    """What cannot be done with a scratch file is told with its folder."""
    folder = tempfile.gettempdir()
    try:
        yield
    except OSError as error:
        raise NotWrittenError(
            f"The scratch file in {folder} cannot be {what}: {(error.strerror or str(error)).lower()}; free some "
            "space there, or name a folder with more of it in the environment variable TMPDIR."
        ) from None


def scratch_file() -> BinaryIO:
    """A new file without a name, which goes when it is closed or its process ends."""
    with scratch_errors("written"):
        return tempfile.TemporaryFile(buffering=0, prefix="hicorex-")


class Scratch:
    """A file of arrays, written one after the other and read in any order by any thread."""

    def __init__(self) -> None:
        self._file = scratch_file()
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._end = 0

    def write(self, array: np.ndarray) -> Place:
        """Add an array at the end, and say where it lies."""
        array = np.ascontiguousarray(array)
        place = Place(self._end, array.dtype, array.shape)
        rest = array.reshape(-1).view(np.uint8).data
        with scratch_errors("written"), self._lock:
            self._file.seek(self._end)
            while rest:
                rest = rest[self._file.write(rest) :]
        self._end += array.nbytes
        return place

    def read(self, place: Place) -> np.ndarray:
        """The array that lies there, as a new one."""
        array = np.empty(place.shape, place.dtype)
        rest = array.reshape(-1).view(np.uint8).data
        with scratch_errors("read"), self._lock:
            self._file.seek(place.offset)
            while rest:
                got = self._file.readinto(rest)  # type: ignore[attr-defined]
                if not got:
                    raise OSError("it ends too early")
                rest = rest[got:]
        return array


class _SpooledPart(NamedTuple):
    """Where the samples of a part and their weights lie in the file: the arrays of each block, by its type."""

    samples: list[tuple[type, list[Place]]]
    sample_weight: Place
    first: int
    height: int


class Spool(Sequence[Part]):
    """Parts of the samples of a table, on disk."""

    def __init__(
        self,
        file: Scratch | None = None,
        parts: list[_SpooledPart] | None = None,
        last: Callable[[Part], Part] | None = None,
    ):
        self._file = Scratch() if file is None else file
        self._parts: list[_SpooledPart] = [] if parts is None else parts
        self._last = last

    def append(self, part: Part) -> None:
        """Add the part that follows the others."""
        samples = [(type(block), [self._file.write(array) for array in block]) for block in part.samples]
        self._parts.append(_SpooledPart(samples, self._file.write(part.sample_weight), part.first, part.height))

    def through(self, last: Callable[[Part], Part]) -> "Spool":
        """The same parts, each of which goes through a function when it is read."""
        return Spool(self._file, self._parts, last)

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> list[Part]: ...
    def __getitem__(self, at: int | slice) -> Part | list[Part]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        places = self._parts[at]
        samples = [kind(*map(self._file.read, arrays)) for kind, arrays in places.samples]
        part = Part(samples, self._file.read(places.sample_weight), places.first, places.height)
        return part if self._last is None else self._last(part)
