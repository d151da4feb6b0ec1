"""Reading a table as the command line does, from Python: of a file, a frame or an array."""

import os
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array, issparse

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.files.annotated import raw_of_annotated
from hicorex.input.files.choosing import choose
from hicorex.input.files.formats import of_texts, raw_of
from hicorex.input.files.new_samples import KnownColumns, read_new
from hicorex.input.files.raw import RawTable
from hicorex.input.files.reading import File, decide, decided, name_of, named_errors, prepared, read_file
from hicorex.input.files.table import Reading, Table, decisions_table
from hicorex.input.readers.frames import as_frame
from hicorex.input.sources import Source, disk_source
from hicorex.support.annotated import is_annotated

# What messages call a table that is no file.
CALLED = "X"


def read_table(X: Any, *, like: Any = None, **reading: Any) -> Table:
    """Read a table as ``hicorex fit`` does: what its columns are follows from their values.

    Identifiers, remarks, and columns without any information are left out, amounts such as "$1,200" or "12%" and dates
    become numbers, and rows that hold no sample are taken away. Whatever was decided is told in ``columns`` and
    ``notes``, and can be overruled. The table is fitted like a frame: ``Corex().fit(read_table(path))``.

    Parameters
    ----------
    X : path, file object, folder of Parquet files, data frame, array, scipy sparse table or AnnData
    like : Corex or HierarchicalCorex, default=None
        A model that was fitted to such a table: X holds new samples for it, and is read as those of the fit were.
    missing : sequence of str
        Further texts and numbers that stand for missing values.
    kinds : mapping of str to str
        "gaussian", "rank", "categorical" or "ordered" by name or pattern; a pattern speaks of columns of numbers,
        for "ordered" of few different whole ones. A column that
        would be left out is brought back by its name.
    use, exclude : sequence of str
        Names or patterns of the columns to use, or not to.
    row_names, weights : str
        The columns that hold these.
    transpose : bool
        Whether the rows are the variables.
    lags : sequence of int
        How many rows before lagged copies of the columns are to be from, such as (1, 2).
    time : str
        The column by which rows are put in order for that; by default they are in order.
    delimiter, decimal, encoding, header, skip_lines, second_header :
        How a text is written; found out by default.
    sheet : str
        The sheet of a workbook; the first that has cells by default.

    Returns
    -------
    table : Table
        ``frame``, the columns to learn from; ``columns``, a row for each column of X: kind, unit, share of missing
        values, decision and reason; ``row_names``; ``sample_weight``; ``notes``. ``print(table)`` says it all.

    Examples
    --------
    >>> import io, hicorex
    >>> text = "id,price,colour\\n" + "".join(f"{i},${i % 7 + 1},{'red' if i % 3 else 'blue'}\\n" for i in range(60))
    >>> table = hicorex.read_table(io.BytesIO(text.encode()))
    >>> print(table)
    60 rows, 2 columns to learn from
    id: row names (an identifier: the number of the row)
    price: categorical (whole numbers, 7 different; in $)
    colour: categorical (text, 2 different)
    >>> table.frame.column_names
    ['price', 'colour']
    """
    options = _reading(reading)
    source = _source(X)
    if like is not None:
        if isinstance(source, RawTable):
            raise HicorexError("like= is for files of new samples; give the model the columns of its fit instead.")
        return read_new(source, options, KnownColumns.of(like.fitted_))
    with named_errors(CALLED if isinstance(source, RawTable) else source):
        return decide(_raw(source, options), options, CALLED if isinstance(source, RawTable) else name_of(source))


def describe_columns(X: Any, **reading: Any) -> pa.Table:
    """What ``read_table`` makes of each column of a table, and why, a row each; nothing is left out or refused.

    Parameters
    ----------
    X, reading : as of ``read_table``

    Returns
    -------
    columns : pyarrow.Table
        ``column``, ``kind``, ``unit``, ``missing`` (the share of rows without a value), ``decision``, ``reason``.

    Examples
    --------
    >>> import numpy as np, hicorex
    >>> X = np.column_stack([np.arange(90) % 4, np.sqrt(np.arange(90)), np.zeros(90)])
    >>> columns = hicorex.describe_columns(X)
    >>> columns["kind"].to_pylist()
    ['categorical', 'gaussian', 'ignored']
    >>> columns["reason"].to_pylist()
    ['whole numbers, 4 different', 'numbers', 'constant']
    """
    options = _reading(reading)
    source = _source(X)
    raw = _raw(source, options)
    name = CALLED if isinstance(source, RawTable) else name_of(source)
    with named_errors(name):
        return decisions_table(decided(raw, options, name, choose(raw, options)).decisions)


def _reading(given: Mapping[str, Any]) -> Reading:
    several = {name: tuple(given[name]) for name in ("missing", "use", "exclude", "lags") if name in given}
    for name in several:
        if isinstance(given[name], str):
            raise HicorexError(f"{name} is {given[name]!r}; give a list of such.")
    try:
        return Reading(**{**given, **several})
    except TypeError:
        odd = next(name for name in given if name not in Reading.__dataclass_fields__)
        raise HicorexError(
            f"read_table has no option {odd!r}; it has {', '.join(Reading.__dataclass_fields__)} and like."
        ) from None


def _source(X: Any) -> File | RawTable:
    """What is read: a file, a source on disk, or rows that are in memory."""
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        folder = disk_source(path) if os.path.isdir(path) else None
        return str(path) if folder is None else folder
    if isinstance(X, Source) or hasattr(X, "read"):
        return X
    return _in_memory(X)


def _raw(source: File | RawTable, reading: Reading) -> RawTable:
    if isinstance(source, RawTable):
        return prepared(source, reading, CALLED)
    with named_errors(source):
        return read_file(source, reading)


def _in_memory(X: Any) -> RawTable:
    """The columns of a frame or array; text of a frame is read as that of a file, since most frames come from one."""
    if is_annotated(X):
        return raw_of_annotated(X, CALLED)
    if issparse(X):
        return raw_of(csc_array(X), CALLED)
    frame = None if isinstance(X, np.ndarray) else as_frame(X)
    if frame is None:
        array = np.asarray(X)
        return raw_of(array, CALLED) if array.dtype.kind != "O" else _of_frame(_objects(array))
    return _of_frame(_arrow(frame))


def _objects(array: np.ndarray) -> pa.Table:
    if array.ndim != 2:
        raise HicorexError(f"{CALLED} has {array.ndim} dimensions; give two, rows and columns.")
    return pa.table({f"x{at}": _column(column, str(at)) for at, column in enumerate(array.T)})


def _column(values: Any, name: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        raise ColumnTypeError(f"Column {name} mixes types; make it all numbers or all text.") from None


def _arrow(frame: nw.DataFrame) -> pa.Table:
    try:
        return frame.to_arrow()
    except (pa.ArrowException, OverflowError):
        names = [str(name) for name in frame.columns]
        return pa.table([_column(frame[:, at].to_numpy(), repr(name)) for at, name in enumerate(names)], names=names)


def _of_frame(table: pa.Table) -> RawTable:
    return of_texts(table.replace_schema_metadata(None), CALLED)
