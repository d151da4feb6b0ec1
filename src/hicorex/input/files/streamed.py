"""Tables that are read some rows at a time, in the types on which a sample of their rows decides."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hicorex.input.files.csv_file import Raw
from hicorex.input.files.formats import raw_of
from hicorex.input.files.reading import (
    Reading,
    Table,
    bring,
    decide,
    find_columns,
    named,
    named_errors,
    names_of_rows,
)
from hicorex.input.files.text_columns import numeric_markers
from hicorex.input.sources import Source
from hicorex.layer.data import row_slices

# A sample has at most so many rows and cells, in so many ranges of rows.
SAMPLE_ROWS, SAMPLE_CELLS, RANGES = 20_000, 2**23, 10
# Cells that are read at a time.
BATCH_CELLS = 2**21


class Use(NamedTuple):
    """A column that is used.

    at : its place in the file
    what : "number", "whole number", "text" or "boolean"
    type : what pyarrow calls that, None for any such type
    """

    at: int
    name: str
    what: str
    type: pa.DataType | None = None


class Brought(Source):
    """The columns of a table on disk that are used, of the types that were decided.

    Parameters
    ----------
    source : the table on disk
    file : how messages call it
    used : the columns, in their order
    missing : markers of missing values
    words : for columns of numbers, the texts in them that are read as missing
    row_names, row_title : the column that names the rows, None for their numbers, and what it is called
    dtype : type of an array, None for that of the file
    titled : whether rows come with the names of the columns, None for as the file has it
    """

    def __init__(
        self,
        source: Source,
        file: str,
        used: list[Use],
        *,
        missing: tuple[str, ...],
        words: Mapping[str, list[str]],
        row_names: int | None,
        row_title: str,
        dtype: Any = None,
        titled: bool | None = None,
    ):
        self._source, self._file, self._used, self._missing, self._words = source, file, used, missing, words
        self._row_names, self.row_title, self._dtype, self._titled = row_names, row_title, dtype, titled
        self.shape = (source.shape[0], len(used))
        self.names = None if isinstance(self.read(0, 1), np.ndarray) else [use.name for use in used]

    def read(self, first: int, stop: int) -> Any:
        """Rows ``first`` to ``stop - 1`` as an array or a ``pyarrow.Table``."""
        return self.rows(first, stop)[0]

    def rows(self, first: int, stop: int) -> tuple[Any, Any]:
        """Rows ``first`` to ``stop - 1``, and what they are called."""
        self._check_range(first, stop)
        if first == stop:
            frame, names = self.rows(0, 1)
            return frame[:0], names[:0]
        with named_errors(self._file):
            raw = raw_of(self._source.read(first, stop), self._file)
            if isinstance(raw.columns, np.ndarray):
                frame = self._array(raw.columns)
            else:
                frame = pa.table([self._column(use, raw) for use in self._used], names=[use.name for use in self._used])
            if self._titled is not None:
                frame = named(frame, [use.name for use in self._used], self._titled)
            if self._row_names is None:
                return frame, np.arange(first, stop)
            return frame, names_of_rows(column_of(raw, self._row_names), self.row_title, some=True)

    def batches(self, width: int = 1) -> Iterator[tuple[slice, Any, Any]]:
        """All rows a few at a time, of which each takes ``width`` cells or more: which they are, and as ``rows``."""
        for rows in row_slices(self.shape[0], max(1, BATCH_CELLS // max(width, self._source.shape[1]))):
            yield rows, *self.rows(rows.start, rows.stop)

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return self._source.n_bytes()

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of what is held while so many rows are read, beside these."""
        return self._source.decoded_bytes(n_rows)

    def close(self) -> None:
        """Close what is open, and forget what was decoded."""
        self._source.close()

    def _array(self, columns: np.ndarray) -> np.ndarray:
        own = [use.at for use in self._used]
        columns = columns if own == list(range(columns.shape[1])) else columns[:, own]
        markers = numeric_markers(self._missing)
        if markers.size and columns.dtype.kind != "b":
            marked = np.isin(columns, markers)
            if marked.any():
                columns = columns.astype(np.result_type(columns, np.float16))
                columns[marked] = np.nan
        return columns if self._dtype is None else columns.astype(self._dtype, copy=False)

    def _column(self, use: Use, raw: Raw) -> Any:
        column = raw.columns.column(use.at)
        if use.type is not None and column.null_count == len(column):
            return pa.nulls(len(column), use.type)
        name = f"{self._file}, column {use.name!r}"
        column = bring(column, use.what, name, self._missing, raw.decimal, self._words.get(use.name, []))
        return column if use.type is None or column.type == use.type else column.cast(use.type)


def stream_table(source: Source, file: str, reading: Reading) -> Table:
    """As read_table, but the frame is a source, and its columns are decided on a sample of the rows."""
    raw, n_looked = _sample(source, file)

    def whole(at: int, missing: tuple[str, ...]) -> np.ndarray:
        use = [Use(at, raw.names[at], "number", pa.float64())]
        column = Brought(
            source, file, use, missing=missing, words={}, row_names=None, row_title="", dtype=float, titled=False
        )
        return np.concatenate([rows[:, 0] for _, rows, _ in column.batches()])

    with named_errors(file):
        table = decide(raw, reading, file, whole)
    place = {name: at for at, name in enumerate(raw.names)}
    titles = [decision.name for decision in table.decisions if decision.kind == "row names"]
    missing, dtype = (*raw.markers, *reading.missing), None
    if isinstance(table.frame, np.ndarray):
        dtype = table.frame.dtype
        used = [Use(place[name], name, "number") for name in table.names]
        # Rows that were not looked at may have markers, which become NaN.
        if n_looked < source.shape[0] and dtype.kind in "iu" and numeric_markers(missing).size:
            dtype = np.result_type(dtype, np.float16)
    else:
        used = [Use(place[own.name], own.name, _what(own.type), own.type) for own in table.frame.schema]
    frame = Brought(
        source,
        file,
        used,
        missing=missing,
        words=table.words,
        row_names=place[titles[0]] if titles else None,
        row_title=table.row_title,
        dtype=dtype,
    )
    note = f"{source.shape[0]:,} rows, read part by part"
    if n_looked < source.shape[0]:
        note += f"; what is said of columns is from a sample of {n_looked:,} rows"
    return replace(table, frame=frame, row_names=None, notes=(note, *table.notes))


def stream_new(
    source: Source,
    file: str,
    reading: Reading,
    expected: Mapping[str, str],
    usual_row_names: str | None,
    words: Mapping[str, list[str]] | None,
    titled: bool,
) -> Table:
    """As read_new, but the frame is a source; ``titled`` says whether the model knows columns by their names."""
    raw, _ = _sample(source, file)
    with named_errors(file):
        order, row_names = find_columns(raw, reading, file, expected, usual_row_names)
    title = "row" if row_names is None or raw.row_names == row_names else raw.names[row_names]
    used = [Use(at, name, what) for at, (name, what) in zip(order, expected.items(), strict=True)]
    frame = Brought(
        source,
        file,
        used,
        missing=(*raw.markers, *reading.missing),
        words=words or {},
        row_names=row_names,
        row_title=title,
        titled=titled,
    )
    return Table(frame, list(expected), [], None, title, None, (), raw.notes)


def column_of(raw: Raw, at: int) -> Any:
    """A column of an array or a table."""
    return raw.columns[:, at] if isinstance(raw.columns, np.ndarray) else raw.columns.column(at)


def _sample(source: Source, file: str) -> tuple[Raw, int]:
    """Some rows, in ranges spread over the table, and how many; all if they are few."""
    n_rows, n_columns = source.shape
    most = min(n_rows, SAMPLE_ROWS, max(SAMPLE_CELLS // n_columns, 10 * RANGES))
    ranges = 1 if most == n_rows else RANGES
    height = most // ranges
    starts = np.linspace(0, n_rows - height, ranges).astype(int)
    with named_errors(file):
        pieces = [source.read(first, first + height) for first in starts.tolist()]
        source.close()
        rows = np.concatenate(pieces) if isinstance(pieces[0], np.ndarray) else pa.concat_tables(pieces)
        raw = raw_of(rows, file)
    numbers = (starts[:, None] + np.arange(height)).ravel()
    return (raw if ranges == 1 else _renumbered(raw, numbers)), numbers.size


def _renumbered(raw: Raw, numbers: np.ndarray) -> Raw:
    """Columns that hold the numbers of the rows, as if the rows of the sample were all."""
    every = np.arange(numbers.size)
    columns = raw.columns
    for at in range(len(raw.names)):
        own = column_of(raw, at)
        if not isinstance(own, np.ndarray):
            if not pa.types.is_integer(own.type) or own.null_count:
                continue
            own = own.to_numpy()
        for first in (0, 1):
            if own.dtype.kind in "iu" and np.array_equal(own, numbers + first):
                if isinstance(columns, np.ndarray):
                    columns[:, at] = every + first
                else:
                    columns = columns.set_column(at, raw.names[at], pa.array(every + first, columns.schema.types[at]))
    return raw._replace(columns=columns)


def _what(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "whole number"
    return "number" if pa.types.is_floating(kind) else "text"
