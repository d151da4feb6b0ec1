"""Files of any known format as raw columns; the format is told by the first bytes, not by the name."""

import bz2
import gzip
import json
import lzma
import os
import sys
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.table.csv_file import MISSING, Raw, name_columns, read_text

COMPRESSED: dict[bytes, tuple[str, Callable[[Any], bytes]]] = {
    b"\x1f\x8b": ("gzip", lambda data: gzip.GzipFile(fileobj=pa.BufferReader(data)).read()),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ\0": ("xz", lzma.decompress),
    b"\x28\xb5\x2f\xfd": ("zstandard", lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
}
EXCEL = b"\xd0\xcf\x11\xe0"
# With so large a share of cells that are not 0, a sparse matrix takes as much memory as an array of bytes.
SPARSE = 0.2


def read_raw(source: str | Path | BinaryIO, texts: Collection[str] = (), **options: Any) -> Raw:
    """The columns of a file; `options` are for text, in which the columns `texts` stay text."""
    data, name = _contents(source)
    for magic, (how, unpack) in COMPRESSED.items():
        if bytes(data[: len(magic)]) == magic:
            try:
                data = pa.py_buffer(unpack(data))
            except Exception:
                raise HicorexError(f"{name} is compressed by {how} and broken; make or fetch it again.") from None
    if data.size == 0:
        raise HicorexError(f"{name} is empty; give a file with a header and rows.")
    start = bytes(data[:8])
    if start[:4] == b"PK\x03\x04" or start[:4] == b"PK\x05\x06":
        return _zip(data, name)
    if start[:4] == EXCEL:
        raise _excel(name)
    if start[:6] == b"\x93NUMPY":
        return _array(_whole(name, "NumPy", lambda: _load(data, name)), name)
    if start[:4] == b"PAR1":
        return _arrow(_whole(name, "Parquet", lambda: _parquet(data)), name)
    if start[:6] == b"ARROW1" or start[:4] == b"FEA1":
        return _arrow(_whole(name, "Feather", lambda: _feather(data)), name)
    return read_text(data, name, texts=texts, **options)


def raw_of(rows: Any, name: str) -> Raw:
    """The columns of rows that were read from a file."""
    return _array(rows, name) if isinstance(rows, np.ndarray) else _arrow(rows, name)


def _contents(source: str | Path | BinaryIO) -> tuple[pa.Buffer, str]:
    if not isinstance(source, str | Path):
        return pa.py_buffer(source.read()), str(getattr(source, "name", "the file"))
    if str(source) == "-":
        if sys.stdin is None:
            raise HicorexError("Standard input is closed; give a file.")
        return pa.py_buffer(sys.stdin.buffer.read()), "standard input"
    path, name = Path(source), str(source)
    try:
        if path.is_dir():
            raise HicorexError(f"{name} is a folder; give a file.")
        if not path.exists():
            raise HicorexError(f"{name} is not there; check its name and folder.")
        if path.is_file():
            with pa.memory_map(os.fsencode(path)) as file:  # names need not be UTF-8
                return file.read_buffer(), name
        return pa.py_buffer(path.read_bytes()), name
    except PermissionError:
        raise HicorexError(f"{name} may not be read; change its permissions.") from None
    except (pa.ArrowException, OSError) as error:
        raise HicorexError(f"{name} cannot be read: {' '.join(str(error).split())}.") from None


def _whole(name: str, form: str, read: Callable[[], Any]) -> Any:
    """What a library reads; of a broken file it may say anything."""
    try:
        return read()
    except HicorexError:
        raise
    except Exception:
        raise HicorexError(f"{name} begins like a {form} file but is broken; make or fetch it again.") from None


def _parquet(data: pa.Buffer) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(data)).read()


def _feather(data: pa.Buffer) -> pa.Table:
    from pyarrow.feather import read_table

    table = read_table(pa.BufferReader(data))
    # What is read as it lies in the file is not looked at on the way; a broken text would end the process.
    table.validate(full=True)
    return table


def _arrow(table: pa.Table, name: str) -> Raw:
    if table.num_columns == 0 or table.num_rows == 0:
        raise HicorexError(f"{name} has no {'rows' if table.num_columns else 'columns'}; give a table with some.")
    # What few functions know, as what all know.
    known = {"string_view": pa.string(), "large_string": pa.string(), "halffloat": pa.float32()}
    if any(str(field.type) in known for field in table.schema):
        fields = [field.with_type(known.get(str(field.type), field.type)) for field in table.schema]
        table = table.cast(pa.schema(fields, table.schema.metadata))
    index: list = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    given = table.column_names
    row_names = next((given.index(column) for column in index if column in given), None)
    names, notes = name_columns(given)
    return Raw(table.rename_columns(names), names, row_names, tuple(notes))


def _load(data: pa.Buffer, name: str) -> Any:
    try:
        loaded = np.load(pa.BufferReader(data), allow_pickle=False)
        native = isinstance(loaded, np.ndarray) and not loaded.dtype.isnative
        return loaded.astype(loaded.dtype.newbyteorder("=")) if native else loaded
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise HicorexError(f"{name} holds Python objects; save an array of numbers or text instead.") from None
        raise


def _array(array: Any, name: str) -> Raw:
    if array.dtype.names:
        fields = {field: array[field] for field in array.dtype.names}
        if array.ndim != 1 or any(values.ndim != 1 or values.dtype.kind not in "fiubUS" for values in fields.values()):
            raise HicorexError(f"{name} holds records of records; give each value a column of its own.")
        return _arrow(pa.table({field: _text(values) for field, values in fields.items()}), name)
    if array.ndim != 2:
        what = {0: "a single value", 1: "a vector"}.get(array.ndim, f"an array of {array.ndim} dimensions")
        raise HicorexError(f"{name} holds {what}; save an array of two dimensions, rows and columns.")
    if 0 in array.shape:
        raise HicorexError(f"{name} has no {'rows' if array.shape[1] else 'columns'}; give a table with some.")
    if array.dtype.kind not in "fiubUS":
        raise HicorexError(f"{name} holds values of type {array.dtype}; save an array of numbers or text.")
    names = [f"x{at}" for at in range(array.shape[1])]
    notes = ("an array: columns are called x0, x1, ...",)
    if array.dtype.kind in "US":
        return Raw(pa.table([_text(column) for column in array.T], names=names), names, None, notes, ".", MISSING)
    return Raw(array, names, None, notes)


def _text(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _zip(data: pa.Buffer, name: str) -> Raw:
    members = _whole(name, "zip", lambda: zipfile.ZipFile(pa.BufferReader(data)).namelist())
    if "[Content_Types].xml" in members:
        raise _excel(name)
    arrays = [member.removesuffix(".npy") for member in members if member.endswith(".npy")]
    if len(arrays) != len(members) or not arrays:
        raise HicorexError(f"{name} is a zip archive; unpack it and give the file in it.")
    if {"format", "shape", "data"} <= set(arrays):
        return _array(_whole(name, "NumPy", lambda: _sparse(data, name)), name)
    chosen = next((array for array in ("X", "data") if array in arrays), arrays[0] if len(arrays) == 1 else None)
    if chosen is None:
        shown = ", ".join(arrays[:5]) + (", ..." if len(arrays) > 5 else "")
        raise HicorexError(f"{name} holds the arrays {shown}; call the table X, or save it alone.")

    def member() -> Any:
        try:
            return _load(data, name)[chosen]
        except ValueError as error:
            if "allow_pickle" in str(error):
                raise HicorexError(f"{name} holds Python objects; save an array of numbers or text instead.") from None
            raise

    return _array(_whole(name, "NumPy", member), name)


def _sparse(data: pa.Buffer, name: str) -> Any:
    """A sparse matrix in the smallest type that holds its values, as an array if too many are not 0."""
    from scipy.sparse import csc_array, load_npz

    matrix = load_npz(pa.BufferReader(data))
    if hasattr(matrix, "check_format"):
        matrix.check_format()  # an index beyond the table would end the process
    matrix = csc_array(matrix)
    matrix.sum_duplicates()
    dtype = matrix.dtype
    if dtype.kind in "iu":
        least, most = (int(matrix.data.min()), int(matrix.data.max())) if matrix.data.size else (0, 0)
        dtype = np.promote_types(np.min_scalar_type(min(least, 0)), np.min_scalar_type(max(most, 0)))
    matrix = matrix.astype(dtype)
    return matrix if matrix.nnz < SPARSE * matrix.shape[0] * matrix.shape[1] else dense(matrix, name)


def dense(matrix: Any, name: str) -> np.ndarray:
    """A sparse matrix as an array, if there is room for it."""
    need = matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize
    free = free_memory()
    if free is not None and need > free:
        raise HicorexError(
            f"{name} holds a sparse matrix that takes {need / 1e9:.1f} GB as a table, of {free / 1e9:.1f} GB that are "
            "free; keep fewer columns or rows of it."
        )
    return matrix.toarray()


def free_memory() -> int | None:
    """Bytes of memory that are free, None where the system does not tell."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _excel(name: str) -> HicorexError:
    return HicorexError(f"{name} is an Excel workbook; save its sheet as CSV and give that.")
