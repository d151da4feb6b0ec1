"""How a file is to be read, and what comes of it: the columns that a model learns from, and what was decided."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import ColumnDecision, ColumnKind, Written
from hicorex.input.files.dialect import TextStyle
from hicorex.input.files.formats import dense
from hicorex.input.files.raw import RawTable
from hicorex.input.notes import Note
from hicorex.input.sources.base import TypedTable
from hicorex.input.words import note_in_words, reason_in_words, told


@dataclass(frozen=True)
class Reading(TextStyle):
    """How a file is to be read; what is None is found out.

    Parameters
    ----------
    delimiter, decimal, encoding, header, missing : see TextStyle
    row_names : the column with the names of rows
    use, exclude : names of columns, or patterns with * and ?; all are used if `use` is empty
    kinds : a kind ("gaussian", "rank", "categorical" or "ordered") for names or patterns; a name goes before a pattern
    weights : a column of numbers that holds the weights of samples
    transpose : whether the rows of the file are the columns of the table
    second_header : whether the row below the header holds no sample
    lags, time : how many rows before lagged copies of columns are from, and the column that orders the rows
    """

    row_names: str | None = None
    use: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None
    transpose: bool = False
    second_header: bool | None = None
    lags: tuple[int, ...] = ()
    time: str | None = None


class RowBatch(NamedTuple):
    """Some rows of a table: which they are, their columns, and what they are called."""

    rows: slice
    frame: Any
    row_names: Any


@dataclass(frozen=True)
class Table(TypedTable):
    """The columns of a file that are used, and what was decided.

    frame : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns) if the file holds one
    names, kinds : one for each column of the frame; the kind is "auto" where all rows are to say it
    row_names : what the rows are called: a pyarrow column of text, or an array of whole numbers
    row_title : the name of the column with the names of rows, "row" if there is none
    sample_weight : (n_samples,), or None
    decisions : one for each column of the file
    notes : what was decided on the file as a whole
    """

    frame: Any
    names: list[str]
    kinds: list[str]
    row_names: Any
    row_title: str
    sample_weight: np.ndarray | None = None
    decisions: tuple[ColumnDecision, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def columns(self) -> pa.Table:
        """What was made of each column, a row each: its kind, unit, share of missing values, and why."""
        return decisions_table(self.decisions)

    def __str__(self) -> str:
        """What was made of the table, for people."""
        rows = [f"{decision.name}: {told(decision)}" for decision in self.decisions]
        said = [f"Note: {note_in_words(note)}." for note in self.notes]
        n_rows, n_columns = self.frame.shape
        return "\n".join([f"{n_rows:,} rows, {n_columns:,} columns to learn from", *said, *rows])

    @property
    def in_parts(self) -> bool:
        """Whether the frame is on disk, and read part by part."""
        return False

    @property
    def words(self) -> dict[str, list[str]]:
        """For columns of numbers, the texts in them that were read as missing."""
        return {decision.name: list(decision.words) for decision in self.decisions if decision.words}

    @property
    def forms(self) -> dict[str, list[str]]:
        """By name, how the cells of a column are written, and their unit, where a model takes them another way."""
        written = [d for d in self.decisions if d.written is not Written.PLAIN and d.kind.is_learned]
        return {decision.name: [decision.written.value, decision.unit] for decision in written}

    @property
    def row_names_column(self) -> str | None:
        """The column of the file that names the rows, None if none does."""
        return next((decision.name for decision in self.decisions if decision.kind is ColumnKind.ROW_NAMES), None)

    def as_learned(self, kinds: list[str]) -> Self:
        """The table with the kinds that a fit has given its columns."""
        learned = dict(zip(self.names, kinds, strict=True))
        decisions = [
            decision.learned_as(ColumnKind(learned[decision.name])) if decision.kind.is_learned else decision
            for decision in self.decisions
        ]
        return replace(self, kinds=kinds, decisions=tuple(decisions))

    def batches(self, width: int = 1) -> Iterator[RowBatch]:
        """All rows; of a table on disk a few at a time, each of which takes ``width`` cells or more."""
        n_rows = self.frame.shape[0]
        yield RowBatch(slice(0, n_rows), self.frame, self.row_names)


def decisions_table(decisions: Sequence[ColumnDecision]) -> pa.Table:
    """What was made of each column of a table, a row each."""
    columns = {
        "column": [decision.name for decision in decisions],
        "kind": [str(decision.kind) for decision in decisions],
        "unit": [decision.unit for decision in decisions],
        "missing": [decision.missing for decision in decisions],
        "decision": [decision.kind.in_words for decision in decisions],
        "reason": [reason_in_words(decision) for decision in decisions],
    }
    return pa.table(columns)


def columns_kept(columns: Any, kept: list[int]) -> Any:
    """Some of the columns of a file, all as they are."""
    if kept == list(range(columns.shape[1])):
        return columns
    return columns.select(kept) if isinstance(columns, pa.Table) else columns[:, kept]


def title_of_rows(raw: RawTable, row_names: int | None) -> str:
    """What the names of rows are called; those that the file marks by no name have none."""
    return "row" if row_names is None or raw.row_names == row_names else raw.names[row_names]


def numbers_or_names(raw: RawTable, row_names: int | None) -> Any:
    """What the rows are called: their names as the file has them, or their numbers if it has none."""
    if row_names is None:
        return np.arange(raw.columns.shape[0]) if raw.labels is None else raw.labels
    return names_of_rows(raw.column(row_names), title_of_rows(raw, row_names))


def names_of_rows(column: Any, title: str, some: bool = False) -> Any:
    """Names of rows as text or whole numbers; the type of ``some`` of them does not depend on gaps."""
    if isinstance(column, np.ndarray):
        return column if column.dtype.kind in "iu" else pa.array(column.astype(str))
    kind = column.type
    if pa.types.is_integer(kind) and (some or not column.null_count):
        return column if some else column.to_numpy()
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise HicorexError(f"Column {title!r} holds values of type {kind}, which cannot name rows; choose another.")
    return column.cast(pa.string()).fill_null("")


def with_titles(frame: Any, names: list[str], titled: bool | None) -> Any:
    """Samples with the names of their columns, or without; None for as they are."""
    if titled is None or titled == isinstance(frame, pa.Table):
        return frame
    if titled:
        frame = dense(frame, "The file") if issparse(frame) else frame
        return pa.table(list(frame.T), names=names)
    return np.column_stack([column.to_numpy() for column in frame.columns])
