"""Rows that hold no sample: a second header or a row of units below the header, a row of totals at the end."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hicorex.input.files.amounts import amounts_in
from hicorex.input.files.literals import BLANKS, MISSING
from hicorex.input.files.raw import RawTable, name_columns
from hicorex.input.files.text_columns import is_text, number_pattern, numbers_in, tidy_text, to_floats
from hicorex.input.notes import SecondHeader, TotalRow

# What columns without a name are called, here and by pandas.
UNNAMED = re.compile(r"column\d+|Unnamed: \d+(_level_\d+)?")
TOTAL = ("total", "totals", "grand total", "sum", "all", "gesamt", "summe", "mean", "average")
# Rows below the first by which columns are known to hold numbers, and the longest text that is taken for a unit.
ROWS_BELOW, LONGEST_UNIT = 20, 15
# A total is the sum or the mean of the others up to this share.
CLOSE = 1e-3


def without_extra_rows(raw: RawTable, second_header: bool | None) -> RawTable:
    """A table without a second header and a last row of totals; ``second_header`` says whether the first is there."""
    if not isinstance(raw.columns, pa.Table) or raw.columns.num_rows < 3:
        return raw
    if second_header or (second_header is None and _has_second_header(raw)):
        raw = _named_by_second(raw)
    label = _label_of_totals(raw)
    if label is None:
        return raw
    return raw._replace(columns=raw.columns.slice(0, raw.columns.num_rows - 1), notes=(*raw.notes, TotalRow(label)))


def _has_second_header(raw: RawTable) -> bool:
    """Whether the first row has no number, but a text in columns that hold numbers otherwise."""
    table: pa.Table = raw.columns
    if raw.decimal is None:
        return False
    number = re.compile(number_pattern(raw.decimal))
    spoiled, odd = 0, True
    texts: list[int] = []
    for at, kind in enumerate(table.schema.types):
        first = table.column(at)[0]
        if is_text(kind):
            text = (first.as_py() or "").strip(BLANKS)
            if number.match(text):
                return False
            if text:
                texts.append(at)
        elif first.is_valid:
            return False
    for at in texts:
        some = table.column(at).slice(0, ROWS_BELOW + 1).cast(pa.string()).to_pylist()
        below = [text.strip(BLANKS) for text in some[1:] if text and text.strip(BLANKS)]
        if len(below) > 1 and all(number.match(text) for text in below):
            spoiled += _is_alone(table.column(at), some[0])
        elif some[0] in below:
            odd = False
    return spoiled >= 2 or (spoiled == 1 and odd) or _names_the_unnamed(raw)


def _names_the_unnamed(raw: RawTable) -> bool:
    """Whether the first row has a text for every column without a name, and no value where all samples have one.

    So surveys are written whose boxes, when ticked, hold the name of the box.
    """
    table: pa.Table = raw.columns.slice(0, ROWS_BELOW + 1)
    unnamed = [at for at, name in enumerate(raw.names) if UNNAMED.fullmatch(name)]
    texts = [table.column(at)[0].as_py() for at in unnamed]
    if len(texts) < 2 or not all(isinstance(text, str) and text.strip(BLANKS) for text in texts):
        return False
    lacks = any(not column[0].is_valid and column.null_count == 1 for column in table.columns)
    return lacks and len(set(texts)) == len(texts)


def _is_alone(column: pa.ChunkedArray, text: str) -> bool:
    """Whether a text is in one row of a column only."""
    return pc.sum(pc.equal(column.cast(pa.string()), text)).as_py() == 1


def _named_by_second(raw: RawTable) -> RawTable:
    """The table without its first row, whose cells name the columns without a name, or are units of the others."""
    table: pa.Table = raw.columns
    cells = [(table.column(at)[0].as_py() or "") for at in range(table.num_columns)]
    cells = [cell.strip(BLANKS) if isinstance(cell, str) else str(cell) for cell in cells]
    unnamed = [UNNAMED.fullmatch(name) is not None for name in raw.names]
    given = [cell if lacks and cell else name for name, cell, lacks in zip(raw.names, cells, unnamed, strict=True)]
    names, notes = name_columns(given)
    units = {}
    if not any(unnamed):
        units = {at: cell.strip("()[]") for at, cell in enumerate(cells) if 0 < len(cell) <= LONGEST_UNIT}
    columns = table.slice(1).rename_columns(names)
    return raw._replace(columns=columns, names=names, units=units, notes=(*raw.notes, SecondHeader(), *notes))


def _label_of_totals(raw: RawTable) -> str | None:
    """How the last row is called if it holds the sums or means of the others, None if it does not."""
    table: pa.Table = raw.columns
    last = table.num_rows - 1
    labels = [at for at in range(min(3, table.num_columns)) if _labels(table, at)]
    if not labels:
        return None
    agree = []
    for column in table.columns:
        values = _numbers(column, raw.decimal)
        if values is None or np.isnan(values[-1]):
            continue
        own, others = values[-1], values[:-1]
        close = CLOSE * abs(own)
        agree.append(abs(np.nansum(others) - own) <= close or abs(np.nanmean(others) - own) <= close)
    label = str(table.column(labels[0])[last].as_py())
    return label if agree and 2 * sum(agree) >= len(agree) else None


def _numbers(column: pa.ChunkedArray, decimal: str | None) -> np.ndarray | None:
    """A column of numbers, or of texts that are numbers or amounts, NaN where missing; None for any other."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.to_numpy().astype(float)
    if decimal is None or not is_text(column.type):
        return None
    _, codes, _, texts = tidy_text(column, MISSING)
    is_number = numbers_in(texts, decimal)
    if len(texts) and is_number.all():
        return np.append(to_floats(texts, decimal), np.nan)[codes]
    amounts = amounts_in(texts, decimal)
    return None if amounts is None else np.append(amounts.values, np.nan)[codes]


def _labels(table: pa.Table, at: int) -> bool:
    last = table.column(at)[table.num_rows - 1].as_py() if is_text(table.schema.types[at]) else None
    return isinstance(last, str) and last.strip(BLANKS).casefold().rstrip(":") in TOTAL
