"""Tables that are read some rows at a time, in the types on which a sample of their rows decides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import ValueType, Written
from hicorex.input.files.expected import ExpectedColumn
from hicorex.input.files.formats import of_texts
from hicorex.input.files.literals import numeric_markers
from hicorex.input.files.new_samples import KnownColumns, find_columns
from hicorex.input.files.raw import RawTable
from hicorex.input.files.reading import decide, named_errors
from hicorex.input.files.table import Reading, RowBatch, Table, names_of_rows, title_of_rows, with_titles
from hicorex.input.marginal_kinds import AUTO
from hicorex.input.notes import ReadInParts
from hicorex.input.sources import Source
from hicorex.layer.data import row_slices

# A sample has at most this many rows and cells, in this number of ranges of rows.
SAMPLE_ROWS, SAMPLE_CELLS, RANGES = 20_000, 2**23, 10
# Cells that are read at a time.
BATCH_CELLS = 2**21


class UsedColumn(NamedTuple):
    """A column that is used.

    at : its place in the file
    name : what it is called
    values : what its values are
    type : what pyarrow calls that, None for any such type
    """

    at: int
    name: str
    values: ValueType
    type: pa.DataType | None = None


class Layout(NamedTuple):
    """What is used of a table on disk, and how its cells are read.

    columns : the columns that are used, in their order
    missing : markers of missing values
    words : for columns of numbers, the texts in them that are read as missing
    forms : for columns whose cells are written otherwise than a model takes them, how, and their unit
    row_names, row_title : the column that names the rows, None for their numbers, and what it is called
    dtype : type of an array, None for that of the file
    titled : whether rows come with the names of the columns, None for as the file has it
    """

    columns: list[UsedColumn]
    missing: tuple[str, ...]
    words: Mapping[str, list[str]]
    row_names: int | None = None
    row_title: str = "row"
    dtype: np.dtype | None = None
    titled: bool | None = None
    forms: Mapping[str, list[str]] = MappingProxyType({})


class StreamedFrame(Source):
    """The columns of a table on disk that are used, of the types that were decided; ``file`` is for messages."""

    def __init__(self, source: Source, file: str, layout: Layout):
        self._source, self._file, self._layout = source, file, layout
        self.shape = (source.shape[0], len(layout.columns))
        titles = [column.name for column in layout.columns]
        self.names = None if isinstance(self.read(0, 1), np.ndarray) else titles

    def read(self, first: int, stop: int) -> Any:
        """Rows ``first`` to ``stop - 1`` as an array or a ``pyarrow.Table``."""
        return self.rows(first, stop).frame

    def rows(self, first: int, stop: int) -> RowBatch:
        """Rows ``first`` to ``stop - 1``, and what they are called."""
        self._check_range(first, stop)
        if first == stop:
            _, frame, names = self.rows(0, 1)
            return RowBatch(slice(first, stop), frame[:0], names[:0])
        layout = self._layout
        with named_errors(self._file):
            raw = _raw(self._source, self._source.read(first, stop), self._file)
            titles = [column.name for column in layout.columns]
            if isinstance(raw.columns, np.ndarray):
                frame = self._array(raw.columns)
            else:
                frame = pa.table([self._column(column, raw) for column in layout.columns], names=titles)
            frame = with_titles(frame, titles, layout.titled)
            if layout.row_names is None:
                names = np.arange(first, stop)
            else:
                names = names_of_rows(raw.column(layout.row_names), layout.row_title, some=True)
            return RowBatch(slice(first, stop), frame, names)

    def batches(self, width: int = 1) -> Iterator[RowBatch]:
        """All rows, a few at a time, each of which takes ``width`` cells or more."""
        for rows in row_slices(self.shape[0], max(1, BATCH_CELLS // max(width, self._source.shape[1]))):
            yield self.rows(rows.start, rows.stop)

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return self._source.n_bytes()

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of what is held while rows are read, beside these."""
        return self._source.decoded_bytes(n_rows)

    def close(self) -> None:
        """Close what is open, and forget what was decoded."""
        self._source.close()

    def _array(self, columns: np.ndarray) -> np.ndarray:
        places = [column.at for column in self._layout.columns]
        columns = columns if places == list(range(columns.shape[1])) else columns[:, places]
        markers = numeric_markers(self._layout.missing)
        if markers.size and columns.dtype.kind != "b":
            marked = np.isin(columns, markers)
            if marked.any():
                columns = columns.astype(np.result_type(columns, np.float16))
                columns[marked] = np.nan
        return columns if self._layout.dtype is None else columns.astype(self._layout.dtype, copy=False)

    def _column(self, used: UsedColumn, raw: RawTable) -> Any:
        column = raw.column(used.at)
        ticked = self._layout.forms.get(used.name, [""])[0] == Written.TICKED
        if used.type is not None and column.null_count == len(column) and not ticked:
            return pa.nulls(len(column), used.type)
        called, words = f"{self._file}, column {used.name!r}", self._layout.words.get(used.name, [])
        written, unit = self._layout.forms.get(used.name, ["", ""])
        expected = ExpectedColumn(used.values, called, self._layout.missing, raw.decimal, words, Written(written), unit)
        column = expected.of(column)
        return column if used.type is None or column.type == used.type else column.cast(used.type)


@dataclass(frozen=True)
class StreamedTable(Table):
    """A table whose frame is a StreamedFrame, and which has no names of rows but those that it reads."""

    frame: StreamedFrame

    @property
    def in_parts(self) -> bool:
        """That it is read part by part."""
        return True

    def batches(self, width: int = 1) -> Iterator[RowBatch]:
        """All rows, a few at a time, each of which takes ``width`` cells or more."""
        return self.frame.batches(width)


def stream_table(source: Source, file: str, reading: Reading) -> Table:
    """As read_table, but the frame is on disk, and its columns are decided on by a sample of the rows."""
    if reading.transpose:
        raise HicorexError(f"{file} cannot be turned by --transpose part by part; give more memory, or turn it before.")
    _refuse_lags(reading, file)
    raw, n_looked = _sample(source, file)

    def column_of_all(at: int, missing: tuple[str, ...]) -> np.ndarray:
        used = [UsedColumn(at, raw.names[at], ValueType.NUMBER, pa.float64())]
        column = StreamedFrame(source, file, Layout(used, missing, {}, dtype=np.dtype(float), titled=False))
        return np.concatenate([batch.frame[:, 0] for batch in column.batches()])

    with named_errors(file):
        table = decide(raw, reading, file, column_of_all)
    place = {name: at for at, name in enumerate(raw.names)}
    missing, dtype = (*raw.markers, *reading.missing), None
    if isinstance(table.frame, np.ndarray):
        dtype = table.frame.dtype
        used = [UsedColumn(place[name], name, ValueType.NUMBER) for name in table.names]
        # Rows that were not looked at may have markers, which become NaN.
        if n_looked < source.shape[0] and dtype.kind in "iu" and numeric_markers(missing).size:
            dtype = np.result_type(dtype, np.float16)
    else:
        used = [
            UsedColumn(place[field.name], field.name, _values(field.type), field.type) for field in table.frame.schema
        ]
    # Of numbers, all rows say what they are, once the fit reads them.
    asked = {decision.name for decision in table.decisions if decision.as_asked}
    kinds = [
        kind if name in asked or not _is_plain_number(raw, place[name]) else AUTO
        for name, kind in zip(table.names, table.kinds, strict=True)
    ]
    row_names = None if table.row_names_column is None else place[table.row_names_column]
    layout = Layout(used, missing, table.words, row_names, table.row_title, dtype, forms=table.forms)
    return StreamedTable(
        StreamedFrame(source, file, layout),
        table.names,
        kinds,
        None,
        table.row_title,
        table.sample_weight,
        table.decisions,
        (ReadInParts(source.shape[0], n_looked), *table.notes),
    )


def stream_new(source: Source, file: str, reading: Reading, known: KnownColumns) -> Table:
    """As read_new, but the frame is on disk."""
    _refuse_lags(reading, file)
    raw, _ = _sample(source, file)
    with named_errors(file):
        places, row_names = find_columns(raw, reading, file, known)
    title = title_of_rows(raw, row_names)
    used = [
        UsedColumn(at, name, ValueType(values)) for at, (name, values) in zip(places, known.types.items(), strict=True)
    ]
    missing = (*raw.markers, *reading.missing)
    layout = Layout(used, missing, known.words or {}, row_names, title, titled=known.titled, forms=known.forms or {})
    return StreamedTable(StreamedFrame(source, file, layout), list(known.types), [], None, title, notes=raw.notes)


def _refuse_lags(reading: Reading, file: str) -> None:
    if reading.lags:
        raise HicorexError(f"{file} is read part by part, which --lags does not do; give more memory, or fewer rows.")


def _sample(source: Source, file: str) -> tuple[RawTable, int]:
    """Some rows, in ranges spread over the table, and their number; all rows if they are few."""
    n_rows, n_columns = source.shape
    most = min(n_rows, SAMPLE_ROWS, max(SAMPLE_CELLS // n_columns, 10 * RANGES))
    ranges = 1 if most == n_rows else RANGES
    height = most // ranges
    starts = np.linspace(0, n_rows - height, ranges).astype(int)
    with named_errors(file):
        pieces = [source.read(first, first + height) for first in starts.tolist()]
        source.close()
        rows = np.concatenate(pieces) if isinstance(pieces[0], np.ndarray) else pa.concat_tables(pieces)
        raw = _raw(source, rows, file)
    numbers = (starts[:, None] + np.arange(height)).ravel()
    return (raw if ranges == 1 else _renumbered(raw, numbers)), numbers.size


def _raw(source: Source, rows: Any, file: str) -> RawTable:
    """Some rows as those of a file that is read at once."""
    raw = of_texts(rows, file)
    if source.decimal is None:
        return raw
    return raw._replace(decimal=source.decimal, markers=source.markers, notes=(*source.notes, *raw.notes))


def _renumbered(raw: RawTable, numbers: np.ndarray) -> RawTable:
    """The table with columns that number the rows counted anew, as if the rows of the sample were all."""
    every = np.arange(numbers.size)
    columns = raw.columns
    for at in range(len(raw.names)):
        column = raw.column(at)
        if not isinstance(column, np.ndarray):
            if not pa.types.is_integer(column.type) or column.null_count:
                continue
            column = column.to_numpy()
        for first in (0, 1):
            if column.dtype.kind in "iu" and np.array_equal(column, numbers + first):
                if isinstance(columns, np.ndarray):
                    columns[:, at] = every + first
                else:
                    columns = columns.set_column(at, raw.names[at], pa.array(every + first, columns.schema.types[at]))
    return raw._replace(columns=columns)


def _is_plain_number(raw: RawTable, at: int) -> bool:
    if isinstance(raw.columns, np.ndarray):
        return raw.columns.dtype.kind != "b"
    kind = raw.columns.schema.types[at]
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _values(kind: pa.DataType) -> ValueType:
    if pa.types.is_boolean(kind):
        return ValueType.BOOLEAN
    if pa.types.is_integer(kind):
        return ValueType.WHOLE
    return ValueType.NUMBER if pa.types.is_floating(kind) else ValueType.TEXT
