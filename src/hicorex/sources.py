"""Tables on disk that are read some rows at a time."""

import mmap
import os
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hicorex.exceptions import HicorexError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".parq", ".pq")
KNOWN = (*ENDINGS, ".npy", ".feather", ".arrow", ".ipc")
# What a text or another value of no fixed size counts for at least, in bytes.
TEXT = 16
# Decoded row groups that are kept at most while some of their rows are still to be asked for.
KEPT = 2

Stamp = tuple[int, ...]
Opened = tuple[Callable[[int], Any], Callable[[], None]]


class Source(ABC):
    """A table on disk, of which some rows at a time are read.

    Several threads may read at once, and a source can be sent to another process. What it holds open is closed by
    ``close()``, by the end of a ``with`` block or with the source itself; a later read opens it again.
    """

    shape: tuple[int, int]
    names: list[str] | None

    @abstractmethod
    def read(self, first: int, stop: int) -> "np.ndarray | pa.Table":
        """Rows ``first`` to ``stop - 1`` as an array or a ``pyarrow.Table`` in memory.

        Raises
        ------
        HicorexError
            If a file that holds the rows has changed since the source was opened, is gone or is broken.
        """

    @abstractmethod
    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of what is held while so many rows are read, beside these."""
        return 0

    def close(self) -> None:  # noqa: B027  (nothing is held open, unless a subclass says so)
        """Close what is open, and forget what was decoded."""

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check_range(self, first: int, stop: int) -> None:
        if not 0 <= first <= stop <= self.shape[0]:
            raise IndexError(f"rows {first} to {stop} of a table of {self.shape[0]} rows")


def source_of(X: Any) -> Source | None:
    """The source that X stands for, None if X is a table in memory.

    Parameters
    ----------
    X : path, memory-mapped array, ``pyarrow.dataset.Dataset``, ``pyarrow.parquet.ParquetFile`` or anything else
        A path is that of a .npy, Parquet, Feather or Arrow file, or of a folder of Parquet files. An array that is
        mapped with copy on write, ``mmap_mode="c"``, counts as one in memory, since it may differ from its file.
    """
    if isinstance(X, np.memmap):
        return _mapped(X)
    if isinstance(X, str | os.PathLike):
        return _opened(os.path.abspath(os.fsdecode(X)))
    if type(X).__module__.split(".")[0] != "pyarrow":
        return None
    from pyarrow import dataset, parquet

    if isinstance(X, parquet.ParquetFile):
        return TableSource([_whole("The Parquet file", _Handle, X)], "The Parquet file")
    if isinstance(X, dataset.Dataset):
        return _dataset(X)
    return None


# ---- Arrays.


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
        self._stamp = _stamp(path)

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return self.shape[0] * self.shape[1] * self._dtype.itemsize

    def read(self, first: int, stop: int) -> np.ndarray:
        """Rows ``first`` to ``stop - 1`` as a new array."""
        self._check_range(first, stop)
        if first == stop:
            return np.empty((0, self.shape[1]), self._dtype.newbyteorder("="))
        _check_stamp(self._path, self._stamp)
        try:
            # Not through the mapping, whose pages would stay in memory; a handle for each read needs no lock.
            with open(self._path, "rb", buffering=0) as file:
                rows = self._rows(file, first, stop)
        except OSError as error:
            _check_stamp(self._path, self._stamp)
            raise _unreadable(self._path, error) from None
        _check_stamp(self._path, self._stamp)
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


def _mapped(X: np.memmap) -> Source | None:
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


def _array_file(path: str) -> Source:
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
    _check_shape(path, shape)


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise HicorexError(f"{name} has no {'rows' if shape[1] else 'columns'}; give a table with some.")


# ---- Tables.


class TableSource(Source):
    """One table in one or more files, each of which is decoded a row group or a record batch at a time.

    Parameters
    ----------
    parts : the files, in the order of their rows
    name : str
        How messages call them together.
    order : sequence of str, default=None
        The columns in their order, None for that of the first file.
    """

    def __init__(self, parts: Sequence["_Part"], name: str, order: Sequence[str] | None = None):
        self.name = name
        self._parts = list(parts)
        self._schema = _common_schema(self._parts, order)
        self._units = [
            (part, unit, rows)
            for part in self._parts
            for unit, rows in enumerate(part.rows)
            if rows  # a part of a table that Spark or Dask writes may be empty
        ]
        self._starts = list(accumulate((rows for _, _, rows in self._units), initial=0))
        self.names: list[str] = self._schema.names
        self.shape = (self._starts[-1], len(self.names))
        _check_shape(name, self.shape)
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_kept", "_open")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()
        # By unit, the one used last at the end: its rows, and how many of them nobody has asked for yet.
        self._kept: dict[int, tuple[pa.Table, int]] = {}
        self._open: tuple[_Part, Opened] | None = None

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        widths = [_width(field.type) for field in self._schema]
        fixed, texts = sum(width or 0 for width in widths) // 8, widths.count(None)
        return self.shape[0] * fixed + (max(self.shape[0] * texts * TEXT, self._stored()) if texts else 0)

    def _stored(self) -> int:
        return sum(part.stored for part in self._parts)

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of the row groups or record batches that are decoded while so many rows are read."""
        largest = max(rows for _, _, rows in self._units)
        return (n_rows + KEPT * largest) * self.n_bytes() // self.shape[0]

    def read(self, first: int, stop: int) -> "pa.Table":
        """Rows ``first`` to ``stop - 1`` as a new table."""
        self._check_range(first, stop)
        if first == stop:
            return self._schema.empty_table()
        begin, end = bisect_right(self._starts, first) - 1, bisect_right(self._starts, stop - 1)
        parts = {id(part): part for part, _, _ in self._units[begin:end]}.values()
        # One read after another, since each is decoded by many threads and leaves what the next one needs.
        with self._lock:
            for part in parts:
                part.check()
            pieces = [
                self._piece(at, max(first - self._starts[at], 0), min(stop - self._starts[at], self._units[at][2]))
                for at in range(begin, end)
            ]
            for part in parts:
                part.check()
            # Ranges come nearly in order: those that are late find what they share with others, if that is little.
            while len(self._kept) > KEPT and sum(self._units[at][2] for at in self._kept) > stop - first:
                del self._kept[next(iter(self._kept))]
        return _joined(pieces, self._schema)

    def close(self) -> None:
        """Close the file that is open, and forget what was decoded."""
        with self._lock:
            self._kept.clear()
            self._shut()

    def _shut(self) -> None:
        if self._open is not None:
            (_, (_, close)), self._open = self._open, None
            close()

    def _piece(self, at: int, first: int, stop: int) -> "pa.Table":
        table, left = self._kept.pop(at, (None, self._units[at][2]))
        if table is None:
            table = self._decoded(at)
        left -= stop - first
        if left > 0:
            self._kept[at] = table, left
        return table.slice(first, stop - first)

    def _decoded(self, at: int) -> "pa.Table":
        part, unit, rows = self._units[at]
        try:
            if self._open is None or self._open[0] is not part:
                self._shut()
                self._open = part, part.open()
            table = _conformed(self._open[1][0](unit), self._schema)
            if table.num_rows != rows:
                raise ValueError(f"it has {table.num_rows} rows where it should have {rows}")
            return table
        except MemoryError:
            raise
        except Exception as error:  # of a broken file a library may say anything
            with suppress(Exception):
                self._shut()
            self._open = None
            part.check()
            raise _unreadable(part.name, error) from None


class _Part:
    """One file of a table: what its footer says, and how pieces of it are decoded."""

    name: str
    schema: "pa.Schema"
    # Rows of each row group or record batch.
    rows: list[int]
    # Bytes of all values before compression, or of the file.
    stored: int
    stamp: Stamp | None = None
    # Columns that the file has and the table leaves out.
    spare: Sequence[str] = ()

    def open(self) -> Opened:
        """What decodes a piece of the file, and what closes the file."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        if self.stamp is not None:
            _check_stamp(self.name, self.stamp)

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        return not sum(self.rows)


class _Parquet(_Part):
    """A Parquet file that is opened when it is needed."""

    def __init__(self, path: str):
        self.name = path
        self.stamp = _stamp(path)
        with self._parquet() as file:
            self._look(file)

    def open(self) -> Opened:
        file = self._parquet()
        return file.read_row_group, file.close

    def is_blank(self, column: str) -> bool:
        with self._parquet() as file:
            return _is_blank(file.metadata, column, range(file.num_row_groups))

    def _parquet(self) -> Any:
        from pyarrow.parquet import ParquetFile

        return ParquetFile(self.name, page_checksum_verification=True)

    def _look(self, file: Any) -> None:
        self.schema = file.schema_arrow
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        self.rows = [group.num_rows for group in groups]
        self.stored = sum(group.total_byte_size for group in groups)


class _Handle(_Parquet):
    """An open Parquet file of somebody else, who closes it; nothing tells its name."""

    def __init__(self, file: Any):
        self.name = "The Parquet file"
        self._file = file
        self._look(file)

    def __getstate__(self) -> Any:
        raise HicorexError("An open ParquetFile cannot be sent to another process; pass the path of the file instead.")

    def open(self) -> Opened:
        return self._file.read_row_group, lambda: None

    def is_blank(self, column: str) -> bool:
        return _is_blank(self._file.metadata, column, range(self._file.num_row_groups))


class _Feather(_Part):
    """A Feather or Arrow file."""

    def __init__(self, path: str):
        import pyarrow as pa
        from pyarrow import ipc

        self.name = path
        self.stamp = _stamp(path)
        self.stored = self.stamp[0]
        # Only a batch itself tells its rows; of a mapping nothing but one column is looked at.
        with pa.memory_map(path) as file:
            self.schema = ipc.open_file(file).schema
            widths = [_width(field.type) for field in self.schema]
            narrow = sorted(range(len(widths)), key=lambda at: widths[at] or 2**62)[:1]
            reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=narrow))
            self.rows = [reader.get_batch(at).num_rows for at in range(reader.num_record_batches)]

    def open(self) -> Opened:
        import pyarrow as pa
        from pyarrow import ipc

        file = pa.OSFile(self.name)
        reader = ipc.open_file(file)

        def decode(unit: int) -> Any:
            batch = reader.get_batch(unit)
            batch.validate(full=True)  # what is read as it lies in the file is not looked at on the way
            return pa.Table.from_batches([batch])

        return decode, file.close


class _Fragment(_Part):
    """A file of a dataset."""

    def __init__(self, fragment: Any, schema: "pa.Schema"):
        import pyarrow as pa
        from pyarrow import dataset, fs

        path = None if getattr(fragment, "buffer", None) is not None else getattr(fragment, "path", None)
        self.name = path or "A table of the dataset"
        self._files = None
        self._groups: list[int] | None = None
        parquet = isinstance(fragment, dataset.ParquetFileFragment)
        if path and isinstance(fragment.filesystem, fs.LocalFileSystem):
            self.name = os.path.abspath(path)
            # The same path in a process that works in another folder.
            groups: dict = {"row_groups": [group.id for group in fragment.row_groups]} if parquet else {}
            fragment = fragment.format.make_fragment(
                self.name, fragment.filesystem, partition_expression=fragment.partition_expression, **groups
            )
            self.stamp = _stamp(self.name)
        elif path:
            self._files = fragment.filesystem
            self.stamp = _stamp(path, self._files)
        self._fragment = fragment
        held = fragment.physical_schema
        _check_names(self.name, held.names)
        asked = {*schema.names}
        # Text has no types of its own: it is read as what the dataset says.
        text = isinstance(getattr(fragment, "format", None), dataset.CsvFileFormat | dataset.JsonFileFormat)
        fields = [(schema if text else held).field(at) for at in held.names if at in asked]
        keys = dataset.get_partition_keys(fragment.partition_expression)
        fields += [schema.field(key) for key in keys if key in asked and key not in held.names]
        self.schema = pa.schema(fields, schema.metadata)
        self.spare = [name for name in held.names if name not in asked]
        if parquet:
            self._groups = [group.id for group in fragment.row_groups]
            self.rows = [group.num_rows for group in fragment.row_groups]
            self.stored = sum(group.total_byte_size for group in fragment.row_groups)
        else:
            self.rows = [fragment.count_rows()]
            self.stored = self.stamp[0] if self.stamp else 0

    def open(self) -> Opened:
        def decode(unit: int) -> Any:
            fragment, rows = self._fragment, self.rows[unit]
            if self._groups is not None:
                fragment = fragment.subset(row_group_ids=[self._groups[unit]])
            table = fragment.to_table(schema=self.schema, batch_size=max(rows, 1))
            if self._groups is None:
                table.validate(full=True)
            return table

        return decode, lambda: None

    def check(self) -> None:
        if self.stamp is not None:
            _check_stamp(self.name, self.stamp, self._files)

    def is_blank(self, column: str) -> bool:
        if self._groups is None:
            return not sum(self.rows)
        return _is_blank(self._fragment.metadata, column, self._groups)


def _opened(path: str) -> Source:
    try:
        if os.path.isdir(path):
            return _folder(path)
        with open(path, "rb", buffering=0) as file:
            start = file.read(6)
    except OSError as error:
        raise _not_opened(path, error) from None
    if not start:
        raise HicorexError(f"{path} is empty; make or fetch it again.")
    if start == b"\x93NUMPY":
        return _whole(path, _array_file, path)
    if start[:4] == b"PAR1":
        return TableSource([_whole(path, _Parquet, path)], path)
    if start == b"ARROW1":
        return TableSource([_whole(path, _Feather, path)], path)
    if path.lower().endswith(KNOWN) and start[:4] != b"FEA1":
        raise _broken(path)
    raise HicorexError(
        f"{path} is no file of which some rows can be read; read it into memory first, or convert it by "
        f"pyarrow.dataset.write_dataset(pyarrow.dataset.dataset({path!r}, format='csv'), 'table', format='parquet')"
        " and give that folder."
    )


def _folder(path: str) -> Source:
    def refuse(error: OSError) -> None:
        raise error

    found = []
    for folder, folders, files in os.walk(path, onerror=refuse):
        folders[:] = [name for name in folders if name[0] not in "._"]
        found += [os.path.join(folder, name) for name in files if name[0] not in "._"]
    found = sorted(file for file in found if file.lower().endswith(ENDINGS))
    if not found:
        raise HicorexError(f"{path} holds no Parquet file, *{', *'.join(ENDINGS)}; give a folder with some.")
    return TableSource([_whole(file, _Parquet, file) for file in found], path)


def _dataset(X: Any) -> Source:
    schema = X.schema
    _check_names("The dataset", schema.names)
    try:
        fragments = list(X.get_fragments())
    except ValueError:
        raise HicorexError(
            "A dataset with a filter has no rows of its own; write it by pyarrow.dataset.write_dataset(X, 'table', "
            "format='parquet') and give that folder."
        ) from None
    if not fragments:
        raise HicorexError("The dataset has no files; give one with some.")
    parts = [
        _whole(getattr(fragment, "path", "A table of the dataset"), _Fragment, fragment, schema)
        for fragment in fragments
    ]
    for part in parts:
        for column in sorted({*part.spare} ^ {*parts[0].spare}):
            raise _column_differs(part, parts[0], column, column in part.spare)
    return TableSource(parts, "The dataset", schema.names)


def _common_schema(parts: Sequence[_Part], order: Sequence[str] | None) -> "pa.Schema":
    """The columns that all files have, each of a type that holds the values of all."""
    import pyarrow as pa

    first = parts[0]
    names = first.schema.names
    types = dict(zip(names, first.schema.types, strict=True))
    for at, part in enumerate(parts):
        held = part.schema.names
        _check_names(part.name, held)
        for column in sorted({*held} ^ {*names}, key=[*names, *held].index):
            raise _column_differs(part, first, column, column in held)
        for column, own in zip(held, part.schema.types, strict=True):
            if own == types[column]:
                continue
            wide = _wider(types[column], own)
            if wide is None and not part.is_blank(column):
                if not all(before.is_blank(column) for before in parts[:at]):
                    raise HicorexError(
                        f"{part.name} has column {column!r} as {own}, the files before as {types[column]}; "
                        f"write it again with {types[column]}."
                    )
                wide = own
            types[column] = wide or types[column]
    for column in order or ():
        if column not in types:
            raise HicorexError(
                f"{first.name} has no column {column!r}, which the dataset has; add it, or leave it out."
            )
    return pa.schema([(column, types[column]) for column in order or names], first.schema.metadata)


def _column_differs(part: _Part, first: _Part, column: str, extra: bool) -> HicorexError:
    if extra:
        return HicorexError(
            f"{part.name} has a column {column!r} that {first.name} has not; write it again without that column."
        )
    return HicorexError(
        f"{part.name} has no column {column!r}, which {first.name} has; write it again with that column."
    )


def _check_names(name: str, columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        twice = next(column for at, column in enumerate(columns) if column in columns[:at])
        raise HicorexError(f"{name} has two columns of the name {twice!r}; rename one of them.")


def _wider(a: "pa.DataType", b: "pa.DataType") -> "pa.DataType | None":
    """The type that holds the values of both, None if there is none of the same kind."""
    import pyarrow as pa
    from pyarrow import types

    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if types.is_null(one) or (types.is_dictionary(one) and types.is_null(one.value_type)):
            return other
    if types.is_dictionary(a) and types.is_dictionary(b):
        index, value = _wider(a.index_type, b.index_type), _wider(a.value_type, b.value_type)
        return None if index is None or value is None else pa.dictionary(index, value, a.ordered and b.ordered)
    for one, other in ((a, b), (b, a)):
        if types.is_dictionary(one):
            return _wider(one.value_type, other)
    if _is_text(a) and _is_text(b):
        return pa.large_string() if types.is_large_string(a) or types.is_large_string(b) else pa.string()
    for is_kind, kinds in ((types.is_integer, "iu"), (types.is_floating, "f")):
        if is_kind(a) and is_kind(b):
            wide = np.promote_types(a.to_pandas_dtype(), b.to_pandas_dtype())
            return pa.from_numpy_dtype(wide) if wide.kind in kinds else None
    return None


def _is_text(kind: "pa.DataType") -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _width(kind: "pa.DataType") -> int | None:
    """Bits of a value, None if they are not always as many."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind.index_type.bit_width
    try:
        return kind.bit_width
    except ValueError:
        return None


def _is_blank(meta: Any, column: str, groups: Sequence[int]) -> bool:
    """Whether a Parquet footer says that a column has no value at all in the row groups."""
    paths = [meta.schema.column(at).path for at in range(meta.num_columns)]
    if column not in paths:
        return False
    chunks = [meta.row_group(at).column(paths.index(column)) for at in groups]
    counts = [(chunk.num_values, chunk.statistics) for chunk in chunks]
    return all(not n or (known and known.has_null_count and known.null_count == n) for n, known in counts)


def _conformed(table: "pa.Table", schema: "pa.Schema") -> "pa.Table":
    """The columns in the order and of the types of the schema."""
    import pyarrow as pa

    columns = []
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            blank = column.null_count == len(column)
            column = pa.chunked_array([pa.nulls(len(column), field.type)]) if blank else column.cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _joined(pieces: "list[pa.Table]", schema: "pa.Schema") -> "pa.Table":
    """Pieces below one another in memory of their own, so that what they are cut from can be freed."""
    import pyarrow as pa

    columns = []
    for column in pa.concat_tables(pieces).columns:
        # More text than one array can hold, and types that cannot be joined, stay in pieces.
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            column = pa.chunked_array([pa.concat_arrays(column.chunks)])
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


# ---- Files.


def _stamp(path: str, files: Any = None) -> Stamp:
    """What tells whether a file is still the same: size, time of the last change and, on this computer, the inode."""
    if files is None:
        stat = os.stat(path)
        return stat.st_size, stat.st_mtime_ns, stat.st_ino
    info = files.get_file_info(path)
    if info.size is None:
        raise FileNotFoundError(path)
    return info.size, info.mtime_ns or 0


def _check_stamp(path: str, stamp: Stamp, files: Any = None) -> None:
    try:
        now = _stamp(path, files)
    except (FileNotFoundError, NotADirectoryError):
        raise HicorexError(f"{path} is no longer there; put it back and fit again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    if now != stamp:
        raise HicorexError(f"{path} has changed since the fit began; fit again, and leave it as it is until the end.")


def _whole(name: str, look: Callable, *given: Any) -> Any:
    """What a library says of a file; of a broken one it may say anything."""
    try:
        return look(*given)
    except (HicorexError, MemoryError):
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise _not_opened(name, error) from None
    except Exception:
        raise _broken(name) from None


def _broken(name: str) -> HicorexError:
    return HicorexError(f"{name} is broken; make or fetch it again.")


def _not_opened(name: str, error: OSError) -> HicorexError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HicorexError(f"{name} is not there; check its name and folder.")
    if isinstance(error, PermissionError):
        return HicorexError(f"{name} may not be read; change its permissions.")
    return _unreadable(name, error)


def _unreadable(name: str, error: Exception) -> HicorexError:
    reason = " ".join((getattr(error, "strerror", None) or str(error)).split()).rstrip(".") or type(error).__name__
    return HicorexError(f"{name} cannot be read: {reason}; make or fetch it again.")
