"""Arrays in .npy files, and memory maps."""

import ast
import math
import mmap
import os
import struct
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.input.sources.base import Source, check_size
from hicorex.input.sources.integrity import (
    Stamp,
    broken,
    check_handle,
    check_stamp,
    stamp_of,
    unchanged,
    unreadable,
    whole,
)

# Bytes of what a .npy file says of its array; more is not sensible.
LONGEST_HEADER = 10_000


class ArraySource(Source):
    """An array in a file, or a part of one that strides of bytes lead through.

    Parameters
    ----------
    path : str
    dtype : dtype of the values in the file
    shape, strides : of the array
    offset : byte of the file at which the first value of the first row is
    stamp : that of the file
    """

    names = None

    def __init__(
        self,
        path: str,
        dtype: np.dtype,
        shape: tuple[int, int],
        strides: tuple[int, int],
        offset: int,
        stamp: Stamp,
    ):
        _check_array(path, dtype, shape)
        self.shape = shape
        self._path, self._dtype, self._strides, self._offset, self._stamp = path, dtype, strides, offset, stamp

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return self.shape[0] * self.shape[1] * self._dtype.itemsize

    def read(self, first: int, stop: int) -> np.ndarray:
        """Rows ``first`` to ``stop - 1`` as a new array."""
        self._check_range(first, stop)
        if first == stop:
            return np.empty((0, self.shape[1]), self._dtype.newbyteorder("="))
        with unchanged(self._path, self._stamp):
            try:
                # Not through a mapping, which ends the process if the file shrinks; a handle a read needs no lock.
                with open(self._path, "rb", buffering=0) as file:
                    check_handle(self._path, file.fileno(), self._stamp)
                    rows = self._rows(file, first, stop)
            except OSError as error:
                raise unreadable(self._path, error) from None
        return rows.astype(self._dtype.newbyteorder("="), copy=False)

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        check_stamp(self._path, self._stamp)

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
    if root.filename is None:  # a file without a name cannot be opened again
        return None
    path = os.path.abspath(os.fsdecode(root.filename))
    if root.mode == "c" and not os.path.exists(path):  # of a file that was deleted all is still there
        return None
    stamp = whole(path, stamp_of, path)
    # To touch what a file no longer has would end the process.
    if not len(root.base) <= root.base.size() == stamp[0]:
        raise HicorexError(f"{path} has changed since it was mapped; load it again.")
    if root.mode == "c":  # what was changed in a private copy is not in the file
        return None
    if root.mode != "r":
        root.flush()
        stamp = stamp_of(path)
    shift = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    across, along = X.strides
    return ArraySource(path, X.dtype, X.shape, (across, along), root.offset + shift, stamp)


class Header(NamedTuple):
    """What the beginning of a .npy file says of its array, and the byte at which this begins."""

    dtype: np.dtype
    shape: tuple[int, ...]
    by_column: bool
    offset: int

    @property
    def n_bytes(self) -> int:
        """The size of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def header_of(file: Any, name: str) -> Header:
    """What the beginning of an open .npy file says."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_2_0(file)
    else:  # names of fields that are not Latin
        (length,) = struct.unpack("<I", file.read(4))
        said = ast.literal_eval(file.read(min(length, LONGEST_HEADER)).decode())
        shape, by_column = said["shape"], said["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(said["descr"])
    if dtype.hasobject:
        raise HicorexError(f"{name} holds Python objects; save an array of numbers or text instead.")
    if min(shape, default=0) < 0:
        raise broken(name)
    return Header(dtype, shape, by_column, file.tell())


def array_file(path: str) -> Source:
    """A .npy file."""
    with open(path, "rb") as file:
        stamp = stamp_of(file.fileno())
        with unchanged(path, stamp):
            header = header_of(file, path)
    _check_array(path, header.dtype, header.shape)
    if header.offset + header.n_bytes > stamp[0]:
        raise broken(path)
    n_rows, n_columns = header.shape
    size = header.dtype.itemsize
    strides = (size, n_rows * size) if header.by_column else (n_columns * size, size)
    return ArraySource(path, header.dtype, (n_rows, n_columns), strides, header.offset, stamp)


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
    check_size(path, shape)
