"""What every table can do, wherever its rows are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from sklearn import get_config

from hicorex.engine import Engine, LocalEngine
from hicorex.engine.reduction import add_up
from hicorex.exceptions import HicorexError
from hicorex.input.notes import Note
from hicorex.input.readers import Reader, SparseReader, column_name, reader_of, rows_of
from hicorex.input.spool import Spool
from hicorex.layer.data import Part, row_slices

# Rows as a library has them: an array, a sparse table, a data frame or a ``pyarrow.Table``.
Rows = Any
Found = TypeVar("Found")
# What makes something of the typed columns of some rows, their weights (T,) and which rows they are.
OfRows = Callable[[Reader, np.ndarray, slice], Found]


class TypedTable:
    """A table of which it was decided what its columns are; it can be fitted as its frame can.

    frame : the rows
    kinds : what each column is
    """

    frame: Any
    kinds: list[str]


class Source(ABC):
    """A table of which some rows at a time are read.

    Several threads may read at once, and a source can be sent to another process. What it holds open is closed by
    ``close()``, by the end of a ``with`` block or with the source itself; a later read opens it again.

    shape, names : of the table; names is None if its columns have none
    kinds : what the columns are, where that was decided when they were read; None if their values decide
    decimal, markers, notes : of text, the decimal sign of numbers, what is a missing value, and what there is to say
    sparse : whether rows come as scipy's sparse tables
    in_memory : whether all rows are in the memory of this process
    """

    shape: tuple[int, int]
    names: list[str] | None
    kinds: list[str] | None = None
    decimal: str | None = None
    markers: tuple[str, ...] = ("",)
    notes: tuple[Note, ...] = ()
    sparse: bool = False
    in_memory: bool = False

    @abstractmethod
    def read(self, first: int, stop: int) -> Rows:
        """Rows ``first`` to ``stop - 1`` as a table in memory.

        Raises
        ------
        HicorexError
            If a file that holds the rows has changed since the source was opened, is gone or is broken.
        """

    @abstractmethod
    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""

    @cached_property
    def head(self) -> Rows:
        """Rows from which scikit-learn knows the number and the names of the columns."""
        return self.read(0, min(2, self.shape[0]))

    @cached_property
    def typed_head(self) -> Reader:
        """The typed columns of the head."""
        return reader_of(self.head)

    @property
    def row_cells(self) -> int:
        """The number of cells that a row stores, on average."""
        return self.shape[1]

    def column_name(self, i: int) -> str:
        """How messages call a column."""
        return column_name(self.names, i)

    def reader(self, first: int, stop: int) -> Reader:
        """The typed columns of rows ``first`` to ``stop - 1``."""
        return reader_of(self.read(first, stop))

    def take(self, rows: np.ndarray) -> "Source":
        """Some of the rows, rising."""
        return ChosenRows(self, rows)

    def read_batches(self, cells: int, width: int) -> Iterator["Source"]:
        """The rows in memory, at most ``cells`` cells at a time if each row has at least ``width``."""
        for rows in row_slices(self.shape[0], max(1, cells // max(width, self.row_cells))):
            yield MemorySource(self.read(rows.start, rows.stop), least_samples=1)

    def engine(self, n_jobs: int | None) -> Engine:
        """What passes over the rows, here with ``n_jobs`` threads."""
        return LocalEngine(n_jobs)

    def map(
        self, function: OfRows[Found], sample_weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Found]:
        """function(reader, sample_weight, rows) of each of the ranges of rows, in their order."""

        def of_rows(rows: slice) -> Found:
            return function(self.reader(rows.start, rows.stop), weight_of(sample_weight, rows), rows)

        return engine.map(of_rows, all_rows)

    def keep(
        self,
        encode: OfRows[tuple[Part, Any]],
        finish: Callable[[Any], Callable[[Part], Part] | None],
        sample_weight: np.ndarray | None,
        all_rows: list[slice],
        engine: Engine,
        n_bytes: int,
    ) -> tuple[Sequence[Part], Any]:
        """The parts of the ranges of rows, kept where the samples are, and the sums over these.

        encode : gives the part that the rows become, and what adds up over all
        finish : gives, from the sums, what every part still goes through, or None
        n_bytes : of all parts together
        """
        parts = self._store(n_bytes)

        def sums() -> Iterator[Any]:
            for part, part_sums in self.map(encode, sample_weight, all_rows, engine):
                parts.append(part)
                yield part_sums

        total = add_up(sums())
        last = finish(total)
        if last is None:
            return parts, total
        return (parts.through(last) if isinstance(parts, Spool) else [last(part) for part in parts]), total

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of what is held while ``n_rows`` rows are read, beside these."""
        return 0

    def check(self) -> None:  # noqa: B027  (what is on no disk of the user's stays what it is)
        """Refuse files that are no longer what they were when the source was opened."""

    def close(self) -> None:  # noqa: B027  (nothing is held open, unless a subclass says so)
        """Close what is open, and forget what was decoded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _store(self, n_bytes: int) -> list[Part] | Spool:
        """Where parts are kept: in scikit-learn's ``working_memory`` if they fit, else on disk."""
        return [] if n_bytes <= 2**20 * get_config()["working_memory"] else Spool()

    def _check_range(self, first: int, stop: int) -> None:
        if not 0 <= first <= stop <= self.shape[0]:
            raise IndexError(f"rows {first} to {stop} of a table of {self.shape[0]} rows")


class MemorySource(Source):
    """A table in memory: array-like, data frame or scipy sparse table."""

    in_memory = True

    def __init__(self, X: Rows, least_samples: int = 1):
        self._reader = reader_of(X, least_samples)
        self._rows = X
        self.shape, self.names = self._reader.shape, self._reader.names
        self.sparse = isinstance(self._reader, SparseReader)

    @property
    def head(self) -> Rows:
        """The table itself."""
        return self._rows

    @property
    def typed_head(self) -> Reader:
        """The typed columns of all rows."""
        return self._reader

    @property
    def row_cells(self) -> int:
        """The number of cells that a row stores, on average."""
        return self._reader.row_cells

    def read(self, first: int, stop: int) -> Rows:
        """Rows ``first`` to ``stop - 1``."""
        self._check_range(first, stop)
        return rows_of(self._rows, np.arange(first, stop))

    def reader(self, first: int, stop: int) -> Reader:
        """The typed columns of rows ``first`` to ``stop - 1``."""
        return self._reader.cut(slice(first, stop))

    def n_bytes(self) -> int:
        """About the size of the whole table, by numbers of 64 bits."""
        return 8 * self.shape[0] * self.row_cells

    def take(self, rows: np.ndarray) -> "MemorySource":
        """Some of the rows, in their order."""
        return MemorySource(rows_of(self._rows, rows), 2)

    def read_batches(self, cells: int, width: int) -> Iterator[Source]:
        """The rows, at most ``cells`` cells at a time if each row has at least ``width``."""
        if self.shape[0] <= max(1, cells // max(width, self.row_cells)):
            yield self
        else:
            yield from super().read_batches(cells, width)

    def _store(self, n_bytes: int) -> list[Part]:
        return []


class ChosenRows(Source):
    """Some of the rows of a table on disk, rising."""

    def __init__(self, source: Source, rows: np.ndarray):
        self._source, self._rows = source, rows
        self.names, self.shape = source.names, (rows.size, source.shape[1])

    def read(self, first: int, stop: int) -> Rows:
        """Rows ``first`` to ``stop - 1`` of those chosen."""
        chosen = self._rows[first:stop]
        start, end = (int(chosen[0]), int(chosen[-1]) + 1) if chosen.size else (0, 0)
        table = self._source.read(start, end)
        return table[chosen - start] if isinstance(table, np.ndarray) else table.take(chosen - start)

    def n_bytes(self) -> int:
        """About the size of these rows in memory."""
        return self._source.n_bytes() * self.shape[0] // self._source.shape[0]


def weight_of(sample_weight: np.ndarray | None, rows: slice) -> np.ndarray:
    """The weights of some rows, 1 where there are none."""
    return np.ones(rows.stop - rows.start) if sample_weight is None else sample_weight[rows]


def check_size(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a table of nothing."""
    if 0 in shape:
        raise HicorexError(f"{name} has no {'rows' if shape[1] else 'columns'}; give a table with some.")
