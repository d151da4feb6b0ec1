"""Files of any known format as raw columns; the format is told by the first bytes, not by the name."""

import json
import os
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.files.contents import STEP, all_bytes, contents
from hicorex.input.files.csv_file import MISSING, Raw, name_columns, read_text
from hicorex.input.room import require_table
from hicorex.input.sources.arrays import header_of

EXCEL = b"\xd0\xcf\x11\xe0"
# What helps where a table is read at once and is too large for it.
MORE = "give more memory, or fewer rows or columns"
# With so large a share of cells that are not 0, a sparse matrix takes as much memory as an array of bytes.
SPARSE = 0.2


def read_raw(source: str | Path | BinaryIO, texts: Collection[str] = (), **options: Any) -> Raw:
    """The columns of a file; `options` are for text, in which the columns `texts` stay text."""
    with contents(source) as (file, name):
        start = file.read(8)
        file.seek(0)
        if not start:
            raise HicorexError(f"{name} is empty; give a file with a header and rows.")
        if start[:4] == b"PK\x03\x04" or start[:4] == b"PK\x05\x06":
            return _zip(file, name)
        if start[:4] == EXCEL:
            raise _excel(name)
        if start[:6] == b"\x93NUMPY":
            return _array(_whole(name, "NumPy", lambda: _load(file, name)), name)
        if start[:4] == b"PAR1":
            return _arrow(_whole(name, "Parquet", lambda: _parquet(file, name)), name)
        if start[:6] == b"ARROW1" or start[:4] == b"FEA1":
            return _arrow(_whole(name, "Feather", lambda: _feather(file, name)), name)
        return read_text(all_bytes(file, name), name, texts=texts, **options)


def raw_of(rows: Any, name: str) -> Raw:
    """The columns of rows that were read from a file."""
    return _array(rows, name) if isinstance(rows, np.ndarray) else _arrow(rows, name)


def _whole(name: str, form: str, read: Callable[[], Any]) -> Any:
    """What a library reads; of a broken file it may say anything."""
    try:
        return read()
    except (HicorexError, MemoryError):
        raise
    except Exception:
        raise HicorexError(f"{name} begins like a {form} file but is broken; make or fetch it again.") from None


def _parquet(file: pa.NativeFile, name: str) -> pa.Table:
    from hicorex.input.sources.formats import groups_of

    return pa.concat_tables(_counted(groups_of(file, name), name))


def _feather(file: pa.NativeFile, name: str) -> pa.Table:
    from pyarrow.feather import read_table

    from hicorex.input.sources.formats import batches_of

    if file.read(4) != b"FEA1":
        return pa.concat_tables(_counted(batches_of(file, name), name))
    table = read_table(pa.BufferReader(all_bytes(file, name)))
    # What is read as it lies in the file is not looked at on the way; a broken text would end the process.
    table.validate(full=True)
    return table


def _counted(pieces: Iterable[pa.Table], name: str) -> Iterator[pa.Table]:
    """Pieces of a table, as many as may be taken."""
    n_bytes = 0
    for piece in pieces:
        n_bytes += piece.get_total_buffer_size()
        require_table(f"{name}, read at once,", n_bytes, MORE, at_least=True)
        yield piece


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


def _load(file: Any, name: str) -> np.ndarray:
    """The array of an open .npy file."""
    header = header_of(file, name)
    require_table(f"The array in {name}", header.n_bytes, MORE)
    array = np.empty(header.shape, header.dtype, order="F" if header.by_column else "C")
    rest = array.reshape(-1, order="A").view(np.uint8).data
    while len(rest):
        got = file.readinto(rest[:STEP])
        if not got:
            raise EOFError
        rest = rest[got:]
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


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


def _zip(file: pa.NativeFile, name: str) -> Raw:
    archive = _whole(name, "zip", lambda: zipfile.ZipFile(file))
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    if "[Content_Types].xml" in sizes:
        raise _excel(name)
    arrays = [member.removesuffix(".npy") for member in sizes if member.endswith(".npy")]
    if len(arrays) != len(sizes) or not arrays:
        raise HicorexError(f"{name} is a zip archive; unpack it and give the file in it.")
    if {"format", "shape", "data"} <= set(arrays):
        # Of a member no more is unpacked than its size says.
        require_table(f"The sparse matrix in {name}", sum(sizes.values()), MORE)
        return _array(_whole(name, "NumPy", lambda: _sparse(file, name)), name)
    chosen = next((array for array in ("X", "data") if array in arrays), arrays[0] if len(arrays) == 1 else None)
    if chosen is None:
        shown = ", ".join(arrays[:5]) + (", ..." if len(arrays) > 5 else "")
        raise HicorexError(f"{name} holds the arrays {shown}; call the table X, or save it alone.")

    def member() -> np.ndarray:
        with archive.open(f"{chosen}.npy") as packed:
            return _load(packed, name)

    return _array(_whole(name, "NumPy", member), name)


def _sparse(file: pa.NativeFile, name: str) -> Any:
    """A sparse matrix in the smallest type that holds its values, as an array if too many are not 0."""
    from scipy.sparse import csc_array, load_npz

    file.seek(0)
    matrix = load_npz(file)
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
    require_table(f"The sparse matrix in {name}, as a table,", need, "keep fewer columns or rows of it")
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
