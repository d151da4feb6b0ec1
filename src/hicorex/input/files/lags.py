"""Lagged copies of columns, so that dependence over time is seen: what each column was some rows before."""

from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.column_names import ColumnNames
from hicorex.input.files.dates import are_mostly_dates, day_first, days_in
from hicorex.input.files.raw import RawTable
from hicorex.input.files.table import Reading
from hicorex.input.files.text_columns import is_text
from hicorex.input.times import days_of


def with_lags(raw: RawTable, reading: Reading, name: str) -> RawTable:
    """The rows in order of the time column, with a copy of every other column for each lag.

    The first rows have nothing before them; there a copy is missing.
    """
    if not reading.lags:
        if reading.time is not None:
            raise HicorexError(f"--time {reading.time} orders rows for lags; say --lags 1 as well.")
        return raw
    n_rows = raw.columns.shape[0]
    if not all(isinstance(lag, int | np.integer) and 0 < lag < n_rows for lag in reading.lags):
        raise HicorexError(f"--lags {','.join(map(str, reading.lags))}: give numbers of rows from 1 to {n_rows - 1}.")
    if issparse(raw.columns):
        raise HicorexError(f"{name} holds a sparse matrix, which has no lags; give a table.")
    table = raw.columns
    if isinstance(table, np.ndarray):
        table = pa.table(list(table.T), names=raw.names)
    time = None if reading.time is None else ColumnNames(raw.names, name).one(reading.time, "--time")
    if time is not None:
        order = np.argsort(_times(table.column(time), reading.time, name), kind="stable")
        table = table.take(pa.array(order))
    copies, columns, names = {}, list(table.columns), list(raw.names)
    for lag in sorted({int(lag) for lag in reading.lags}):
        for at, column in enumerate(table.columns):
            if at not in (time, raw.row_names):
                copies[len(columns)] = at
                columns.append(pa.chunked_array([pa.nulls(lag, column.type), *column.slice(0, n_rows - lag).chunks]))
                names.append(f"{raw.names[at]}_lag{lag}")
    if len(set(names)) < len(names):
        twice = next(own for at, own in enumerate(names) if own in names[:at])
        raise HicorexError(f"{name} has a column {twice!r} already, as a lagged copy would be called; rename it.")
    return raw._replace(columns=pa.table(columns, names=names), names=names, copies=copies)


def _times(column: Any, title: str | None, name: str) -> np.ndarray:
    """A column as numbers to order rows by."""
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        times = days_of(column)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        times = column.cast(pa.float64()).to_numpy()
    elif is_text(kind) and are_mostly_dates(texts := column.cast(pa.string()).combine_chunks().drop_null()):
        texts = column.cast(pa.string()).combine_chunks().fill_null("")
        times = days_in(texts, day_first(texts))
    else:
        raise HicorexError(f"{name}: column {title!r} of --time holds neither numbers nor dates; give one that does.")
    if np.isnan(times).any():
        raise HicorexError(f"{name}: column {title!r} of --time has no value in row {int(np.isnan(times).argmax())}.")
    return times
