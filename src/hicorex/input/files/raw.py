"""What a file holds before it is decided on, and names for its columns."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from hicorex.input.notes import MoreRenamed, Note, Renamed

# Notes on single columns with new names; of more, the number is noted.
MOST_RENAMED = 5


class RawTable(NamedTuple):
    """What a file holds.

    columns : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns)
    names : what the columns are called
    row_names : index of the column that the file itself marks as names of rows, None if it marks none
    notes : what there is to say on the file
    decimal : the decimal sign of numbers among text; None if text is text, such as labels of codes
    markers : texts that stand for missing values in any such file
    units : by place, what the numbers of columns are of, as the file says in a row of its own
    copies : by place of a lagged copy, that of its column
    labels : what the rows are called where no column says it
    """

    columns: Any
    names: list[str]
    row_names: int | None = None
    notes: tuple[Note, ...] = ()
    decimal: str | None = None
    markers: tuple[str, ...] = ("",)
    units: Mapping[int, str] = MappingProxyType({})
    labels: Any = None
    copies: Mapping[int, int] = MappingProxyType({})

    def column(self, at: int) -> Any:
        """A column, as the file has it."""
        return column_of(self.columns, at)


def column_of(columns: Any, at: int) -> Any:
    """A column of an array or a sparse array as an array, or of a table as pyarrow has it."""
    if issparse(columns):
        return columns[:, [at]].toarray()[:, 0]
    return columns[:, at] if isinstance(columns, np.ndarray) else columns.column(at)


def name_columns(given: list[str]) -> tuple[list[str], list[Note]]:
    """Names that are all there and all different, and notes on those that are new."""
    names = [name or f"column{at + 1}" for at, name in enumerate(given)]
    if len(set(names)) == len(names):
        return names, []
    taken, seen = set(names), dict.fromkeys(names, 0)
    notes: list[Note] = []
    for at, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            number = seen[name]
            while f"{name}_{number}" in taken:
                number += 1
            names[at] = f"{name}_{number}"
            taken.add(names[at])
            notes.append(Renamed(name, seen[name], names[at]))
    if len(notes) > MOST_RENAMED:
        notes[MOST_RENAMED:] = [MoreRenamed(len(notes) - MOST_RENAMED)]
    return names, notes
