"""Tables in one or more files, decoded piece by piece."""

import threading
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.sources.base import Source, check_size
from hicorex.input.sources.integrity import unreadable
from hicorex.input.sources.schemas import common_schema, conformed, width
from hicorex.input.sources.table_files import Opened, TableFile

# What a text or another value of no fixed size counts for at least, in bytes.
TEXT = 16
# Decoded row groups that are kept at most while some of their rows are still to be asked for.
KEPT = 2


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

    def __init__(self, parts: Sequence[TableFile], name: str, order: Sequence[str] | None = None):
        self.name = name
        self._parts = list(parts)
        self._schema = common_schema(self._parts, order)
        self._units = [
            (part, unit, rows)
            for part in self._parts
            for unit, rows in enumerate(part.rows)
            if rows  # a part of a table that Spark or Dask writes may be empty
        ]
        self._starts = list(accumulate((rows for _, _, rows in self._units), initial=0))
        self.names: list[str] = self._schema.names
        self.shape = (self._starts[-1], len(self.names))
        check_size(name, self.shape)
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_kept", "_open")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()
        # By unit, the one used last at the end: its rows, and how many of them nobody has asked for yet.
        self._kept: dict[int, tuple[pa.Table, int]] = {}
        self._open: tuple[TableFile, Opened] | None = None

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        widths = [width(field.type) for field in self._schema]
        fixed, texts = sum(bits or 0 for bits in widths) // 8, widths.count(None)
        stored = sum(part.stored for part in self._parts)
        return self.shape[0] * fixed + (max(self.shape[0] * texts * TEXT, stored) if texts else 0)

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of the row groups or record batches that are decoded while ``n_rows`` rows are read."""
        largest = max(rows for _, _, rows in self._units)
        return (n_rows + KEPT * largest) * self.n_bytes() // self.shape[0]

    def read(self, first: int, stop: int) -> pa.Table:
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

    def check(self) -> None:
        """Refuse files that are no longer what they were."""
        for part in self._parts:
            part.check()

    def close(self) -> None:
        """Close the file that is open, and forget what was decoded."""
        with self._lock:
            self._kept.clear()
            self._shut()

    def _shut(self) -> None:
        if self._open is not None:
            (_, (_, close)), self._open = self._open, None
            close()

    def _piece(self, at: int, first: int, stop: int) -> pa.Table:
        table, left = self._kept.pop(at, (None, self._units[at][2]))
        if table is None:
            table = self._decoded(at)
        left -= stop - first
        if left > 0:
            self._kept[at] = table, left
        return table.slice(first, stop - first)

    def _decoded(self, at: int) -> pa.Table:
        part, unit, rows = self._units[at]
        try:
            if self._open is None or self._open[0] is not part:
                self._shut()
                self._open = part, part.open()
            table = conformed(self._open[1][0](unit), self._schema)
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
            if isinstance(error, HicorexError):
                raise
            raise unreadable(part.name, error) from None


def _joined(pieces: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """Pieces below one another, as a copy, so that what they are cut from can be freed."""
    columns = []
    for column in pa.concat_tables(pieces).columns:
        # More text than one array can hold, and types that cannot be joined, stay in pieces.
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            column = pa.chunked_array([pa.concat_arrays(column.chunks)])
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)
