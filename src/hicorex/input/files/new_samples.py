"""New samples for a fitted model: its columns in its order, as the types that it expects."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import ValueType, Written
from hicorex.input.column_names import ColumnNames
from hicorex.input.files.examination import examine
from hicorex.input.files.expected import ExpectedColumn
from hicorex.input.files.raw import RawTable
from hicorex.input.files.reading import File, name_of, named_errors, read_file
from hicorex.input.files.table import Reading, Table, columns_kept, numbers_or_names, title_of_rows, with_titles


class KnownColumns(NamedTuple):
    """What a model knows of the columns of its samples.

    types : for each column, in the model's order, what its values are ("number", "whole number", "text", "boolean")
    row_names : the column that had the names of rows in the fit; it is not missed
    words : for columns of numbers, texts that are read as missing, as in the fit
    forms : for columns whose cells are written otherwise than a model takes them, how, and their unit
    titled : whether the model knows columns by their names; None for as the file has it
    """

    types: Mapping[str, str]
    row_names: str | None = None
    words: Mapping[str, list[str]] | None = None
    titled: bool | None = None
    forms: Mapping[str, list[str]] | None = None

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """What a fitted model knows of its columns, and of the file that they came from."""
        reading = fitted.reading
        titled = fitted.names is not None
        return cls(fitted.expected(), reading.get("row_names"), reading.get("words"), titled, reading.get("forms"))

    def expected(self, name: str, file: str, missing: tuple[str, ...], decimal: str | None) -> ExpectedColumn:
        """A column as the model expects it in a file."""
        words = (self.words or {}).get(name, [])
        written, unit = (self.forms or {}).get(name, ["", ""])
        called = f"{file}, column {name!r}"
        return ExpectedColumn(ValueType(self.types[name]), called, missing, decimal, words, Written(written), unit)


def read_new(source: File, reading: Reading, known: KnownColumns) -> Table:
    """New samples for a fitted model.

    Columns that the model does not know are ignored. A missing column, or a value of another type, is an error that
    names it.
    """
    file = name_of(source)
    with named_errors(source):
        raw = read_file(source, reading, [name for name, type in known.types.items() if type == ValueType.TEXT])
        missing = (*raw.markers, *reading.missing)
        places, row_names = find_columns(raw, reading, file, known)
        for at, name in zip(places, known.types, strict=True):
            raw.names[at] = name
        columns = raw.columns
        if not isinstance(columns, pa.Table):
            columns = examine(columns, raw.names, missing, raw.decimal).applied(columns, file)
        else:
            given = columns.columns
            for at, name in zip(places, known.types, strict=True):
                given[at] = known.expected(name, file, missing, raw.decimal).of(given[at])
            columns = pa.table(given, names=raw.names)
        names = list(known.types)
        frame = with_titles(columns_kept(columns, places), names, known.titled)
        title = title_of_rows(raw, row_names)
        return Table(frame, names, [], numbers_or_names(raw, row_names), title, notes=raw.notes)


def find_columns(raw: RawTable, reading: Reading, file: str, known: KnownColumns) -> tuple[list[int], int | None]:
    """Where the columns that a model knows are, and the names of rows, if there are any."""
    names = ColumnNames(raw.names)
    # A text file loses the blanks around names, which those of a data frame may have.
    stripped = {name: names.place[name.strip()] for name in known.types if name.strip() in names.place}
    place = stripped | names.place
    lacking = [name for name in known.types if name not in place]
    if lacking:
        others = f" and {len(lacking) - 1} others" if len(lacking) > 1 else ""
        raise HicorexError(
            f"{file} lacks the column {lacking[0]!r}{others} that the model knows{names.closest(lacking[0])}"
        )
    places = [place[name] for name in known.types]
    row_names = place.get(known.row_names or "", raw.row_names)
    if reading.row_names is not None:
        row_names = names.one(reading.row_names, "--row-names")
    elif row_names is None and 0 not in places:
        first = raw.columns.select([0]) if isinstance(raw.columns, pa.Table) else raw.columns[:, [0]]
        missing = (*raw.markers, *reading.missing)
        if first.shape[0] == 1 or examine(first, raw.names[:1], missing, raw.decimal).names_rows[0]:
            row_names = 0
    return places, row_names
