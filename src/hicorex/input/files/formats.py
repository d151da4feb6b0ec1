"""Files of any known format as raw columns; the format is told by the first bytes, not by the name."""

import json
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.files.annotated import read_h5ad
from hicorex.input.files.contents import STEP, all_bytes, contents
from hicorex.input.files.csv_file import read_text
from hicorex.input.files.dialect import TextStyle
from hicorex.input.files.json_file import is_json, read_json
from hicorex.input.files.literals import MISSING
from hicorex.input.files.r_file import read_rds
from hicorex.input.files.raw import RawTable, name_columns
from hicorex.input.files.statistics_files import read_statistics_file
from hicorex.input.files.workbooks import holds_sheets, read_workbook
from hicorex.input.memory import free_memory, require_table
from hicorex.input.notes import UnnamedArray
from hicorex.input.sources.arrays import header_of
from hicorex.input.sources.integrity import whole
from hicorex.input.sources.signatures import LENGTH, FileFormat, format_of
from hicorex.support.names import column_name

# What helps where a table is read at once and is too large for it.
MORE = "give more memory, or fewer rows or columns"
# With this share of cells that are not 0, a sparse matrix takes as much memory as an array of bytes.
SPARSE = 0.2


def read_raw(source: str | Path | BinaryIO, style: TextStyle = TextStyle(), texts: Collection[str] = ()) -> RawTable:
    """The columns of a file; of a text of this style, the columns `texts` stay text."""
    with contents(source) as (file, name):
        form = format_of(file.read(LENGTH))
        file.seek(0)
        match form:
            case FileFormat.EMPTY:
                raise HicorexError(f"{name} is empty; give a file with a header and rows.")
            case FileFormat.EXCEL:
                return read_workbook(file, name, style, texts)
            case FileFormat.ZIP if holds_sheets(file, name):
                return read_workbook(file, name, style, texts)
            case FileFormat.ZIP:
                return _zip(file, name)
            case FileFormat.SPSS | FileFormat.STATA | FileFormat.SAS | FileFormat.SAS_TRANSPORT:
                return _arrow(read_statistics_file(file, name, form), name)
            case FileFormat.HDF5:
                return read_h5ad(file, name)
            case FileFormat.R:
                return raw_of(read_rds(file, name), name)
            case FileFormat.NUMPY:
                return _array(whole(name, _load, file, name, form="NumPy"), name)
            case FileFormat.PARQUET:
                return of_texts(whole(name, _parquet, file, name, form="Parquet"), name)
            case FileFormat.ARROW:
                return of_texts(whole(name, _feather, file, name, form="Feather"), name)
            case FileFormat.FEATHER_1:
                return of_texts(whole(name, _feather_1, file, name, form="Feather"), name)
            case FileFormat.OTHER:
                data = all_bytes(file, name)
                if style.encoding is None and is_json(bytes(data[:64])):
                    return of_texts(read_json(data, name), name)
                return read_text(data, name, style, texts)


def of_texts(rows: Any, name: str) -> RawTable:
    """The columns of rows whose text may be numbers, amounts or dates, as that of a text file."""
    raw = raw_of(rows, name)
    return raw._replace(decimal=".", markers=MISSING) if isinstance(raw.columns, pa.Table) else raw


def raw_of(rows: Any, name: str) -> RawTable:
    """The columns of rows that were read from a file."""
    return _array(rows, name) if isinstance(rows, np.ndarray) else _arrow(rows, name)


def _parquet(file: pa.NativeFile, name: str) -> pa.Table:
    from hicorex.input.sources.formats import groups_of

    return pa.concat_tables(_counted(groups_of(file, name), name))


def _feather(file: pa.NativeFile, name: str) -> pa.Table:
    from hicorex.input.sources.formats import batches_of

    return pa.concat_tables(_counted(batches_of(file, name), name))


def _feather_1(file: pa.NativeFile, name: str) -> pa.Table:
    from pyarrow.feather import read_table

    table = read_table(pa.BufferReader(all_bytes(file, name)))
    # What is read as it lies in the file is not looked at on the way; a broken text would end the process.
    table.validate(full=True)
    return table


def _counted(pieces: Iterable[pa.Table], name: str) -> Iterator[pa.Table]:
    """Pieces of a table; more than the limit allows is refused."""
    n_bytes = 0
    for piece in pieces:
        n_bytes += piece.get_total_buffer_size()
        require_table(f"{name}, read at once,", n_bytes, MORE, at_least=True)
        yield piece


def _arrow(table: pa.Table, name: str) -> RawTable:
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
    return RawTable(table.rename_columns(names), names, row_names, tuple(notes))


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


def _array(array: Any, name: str) -> RawTable:
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
    names = [column_name(i) for i in range(array.shape[1])]
    notes = (UnnamedArray(),)
    if array.dtype.kind in "US":
        return RawTable(pa.table([_text(column) for column in array.T], names=names), names, None, notes, ".", MISSING)
    return RawTable(array, names, None, notes)


def _text(values: np.ndarray) -> np.ndarray:
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _zip(file: pa.NativeFile, name: str) -> RawTable:
    archive = whole(name, zipfile.ZipFile, file, form="zip")
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    arrays = [member.removesuffix(".npy") for member in sizes if member.endswith(".npy")]
    if len(arrays) != len(sizes) or not arrays:
        raise HicorexError(f"{name} is a zip archive; unpack it and give the file in it.")
    if {"format", "shape", "data"} <= set(arrays):
        # Of a member no more is unpacked than its size says.
        require_table(f"The sparse matrix in {name}", sum(sizes.values()), MORE)
        return _array(whole(name, _sparse, file, name, form="NumPy"), name)
    chosen = next((array for array in ("X", "data") if array in arrays), arrays[0] if len(arrays) == 1 else None)
    if chosen is None:
        shown = ", ".join(arrays[:5]) + (", ..." if len(arrays) > 5 else "")
        raise HicorexError(f"{name} holds the arrays {shown}; call the table X, or save it alone.")

    def member() -> np.ndarray:
        with archive.open(f"{chosen}.npy") as packed:
            return _load(packed, name)

    return _array(whole(name, member, form="NumPy"), name)


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
    """A sparse matrix as an array, if it fits into memory."""
    need = matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize
    require_table(f"The sparse matrix in {name}, as a table,", need, "keep fewer columns or rows of it")
    free = free_memory()
    if free is not None and need > free:
        raise HicorexError(
            f"{name} holds a sparse matrix that takes {need / 1e9:.1f} GB as a table, of {free / 1e9:.1f} GB that are "
            "free; keep fewer columns or rows of it."
        )
    return matrix.toarray()
