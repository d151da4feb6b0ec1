"""Arrays in .npy files, and memory maps."""

import mmap
import os
from typing import Any, BinaryIO

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.sources.base import Source, check_shape
from hicorex.sources.integrity import check_stamp, stamp_of, unreadable


class ArraySource(Source):
    """An array in a file, or a part of one that strides of bytes lead through.

    Parameters
    ----------
    path : str
    dtype : dtype of the values in the file
    shape, strides : of the array
    offset : byte of the file at which the first value of the first row is
    """

    names = None

    def __init__(self, path: str, dtype: np.dtype, shape: tuple[int, int], strides: tuple[int, int], offset: int):
        _check_array(path, dtype, shape)
        self.shape = shape
        self._path, self._dtype, self._strides, self._offset = path, dtype, strides, offset
        self._stamp = stamp_of(path)

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return self.shape[0] * self.shape[1] * self._dtype.itemsize

    def read(self, first: int, stop: int) -> np.ndarray:
        """Rows ``first`` to ``stop - 1`` as a new array."""
        self._check_range(first, stop)
        if first == stop:
            return np.empty((0, self.shape[1]), self._dtype.newbyteorder("="))
        check_stamp(self._path, self._stamp)
        try:
            # Not through the mapping, whose pages would stay in memory; a handle for each read needs no lock.
            with open(self._path, "rb", buffering=0) as file:
                rows = self._rows(file, first, stop)
        except OSError as error:
            check_stamp(self._path, self._stamp)
            raise unreadable(self._path, error) from None
        check_stamp(self._path, self._stamp)
        return rows.astype(self._dtype.newbyteorder("="), copy=False)

    def _rows(self, file: Any, first: int, stop: int) -> np.ndarray:
        across, along = self._strides
        shape = (stop - first, self.shape[1])
        start = self._offset + first * across
        by_row = abs(along) <= abs(across)
        count, length = shape if by_row else shape[::-1]
        far, near = (across, along) if by_row else (along, across)
        size = self._dtype.itemsize
        span = (length - 1) * abs(near) + size
        # Bytes from the lowest of a line, or of all lines, to the first value.
        back, back_all = -min(0, (length - 1) * near), -min(0, (count - 1) * far)
        if abs(far) <= 2 * span:
            # Lines that lie close together are read at once, with what is between them.
            whole = np.empty((count - 1) * abs(far) + span, np.uint8)
            _fill(file, start - back - back_all, whole)
            rows: np.ndarray = np.ndarray(shape, self._dtype, whole, back + back_all, self._strides)
            return rows if whole.size == rows.nbytes and min(far, near) > 0 else rows.copy()
        rows = np.empty(shape, self._dtype, order="C" if by_row else "F")
        lines = rows if by_row else rows.T
        bytes_of = lines.view(np.uint8)
        piece = np.empty(span, np.uint8)
        for at in range(count):
            if near == size:
                _fill(file, start + at * far, bytes_of[at])
            else:
                _fill(file, start + at * far - back, piece)
                lines[at] = np.ndarray(length, self._dtype, piece, back, (near,))
        return rows


def _fill(file: BinaryIO, offset: int, out: np.ndarray) -> None:
    """Fill an array of bytes from a place of a file."""
    file.seek(offset)
    rest = out.data
    while len(rest):
        got = file.readinto(rest)  # type: ignore[attr-defined]  # of one call the system may read a part
        if not got:
            raise OSError("it ends too early")
        rest = rest[got:]


def mapped(X: np.memmap) -> Source | None:
    """The file of a memory map, None if its rows are not, or not all, in a file."""
    _check_kind(str(X.filename), X.dtype)
    root: Any = X
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not (isinstance(root, np.memmap) and isinstance(root.base, mmap.mmap)) or X.ndim != 2:
        return None
    # What was changed in a private copy is not in the file, and a file without a name cannot be opened again.
    if root.mode == "c" or root.filename is None:
        return None
    path = os.path.abspath(os.fsdecode(root.filename))
    if root.mode != "r":
        root.flush()
    shift = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    across, along = X.strides
    source = ArraySource(path, X.dtype, X.shape, (across, along), root.offset + shift)
    if root.base.size() != source._stamp[0]:
        raise HicorexError(f"{path} has changed since it was mapped; load it again.")
    return source


def array_file(path: str) -> Source:
    """A .npy file."""
    try:
        array = np.load(path, mmap_mode="r")
    except ValueError as error:
        if "objects" in str(error):
            raise HicorexError(f"{path} holds Python objects; save an array of numbers or text instead.") from None
        raise
    _check_array(path, array.dtype, array.shape)
    across, along = array.strides
    return ArraySource(path, array.dtype, array.shape, (across, along), array.offset)


def _check_kind(path: str, dtype: np.dtype) -> None:
    if dtype.names:
        raise HicorexError(f"{path} holds records; save an array of numbers or text, or a Parquet file.")
    if dtype.kind not in "fiubUS":
        raise HicorexError(f"{path} holds values of type {dtype}; save an array of numbers or text.")


def _check_array(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    _check_kind(path, dtype)
    if len(shape) != 2:
        what = {0: "a single value", 1: "a vector"}.get(len(shape), f"an array of {len(shape)} dimensions")
        raise HicorexError(f"{path} holds {what}; save an array of two dimensions, rows and columns.")
    check_shape(path, shape)
