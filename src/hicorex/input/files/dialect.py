"""How a table is written as text, found out from its first lines: delimiter, decimal sign, header, names."""

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.files.encodings import NotUtf8Error
from hicorex.input.files.literals import MISSING, NUMBER, with_decimal
from hicorex.input.files.raw import name_columns
from hicorex.input.files.records import Record, records
from hicorex.input.notes import NoHeader, Note, PerhapsThousands, ShortHeader, TrailingDelimiter, Written
from hicorex.support.names import column_name

# In this order where several fit: a decimal comma splits lines as evenly as a comma between fields does.
DELIMITERS = ("\t", ";", "|", ",", " ")
# For files of one column: a sign that text does not hold.
NO_DELIMITER = "\x1f"
SAMPLE_BYTES, SAMPLE_RECORDS, SAMPLE_FIELDS = 1 << 20, 200, 20_000


@dataclass(frozen=True)
class TextStyle:
    """How a table is written as text; what is None is found out.

    Parameters
    ----------
    delimiter, decimal, encoding, header :
        The sign between fields, the decimal sign ("." or ","), the encoding, and whether the first line holds the
        names of columns.
    missing :
        Further markers of missing values, compared as text and as numbers.
    skip_lines :
        The number of lines before the table, such as those of a title.
    sheet :
        The sheet of a workbook; None for the first that has cells.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    skip_lines: int = 0
    sheet: str | None = None

    def check(self) -> None:
        """Refuse signs that cannot be."""
        sign = self.delimiter
        if sign is not None and (len(sign) != 1 or sign in '"\r\n' or ord(sign) > 127):
            raise HicorexError(f"delimiter is {sign!r}; give one sign, such as ',' or ';'.")
        if self.decimal not in (None, ".", ","):
            raise HicorexError(f"decimal is {self.decimal!r}; give '.' or ','.")


class Head(NamedTuple):
    """The beginning of a text, and whether that is all of it."""

    text: bytes
    is_all: bool

    def sample(self, sign: bytes) -> list[Record]:
        """The first records, those that are complete."""
        sample: list[Record] = []
        for record in records(self.text, sign):
            many_fields = len(sample) > 2 and len(sample) * sample[0].n_fields > SAMPLE_FIELDS
            full = len(sample) == SAMPLE_RECORDS or many_fields
            if full or (record.end == len(self.text) and not self.is_all and sample):
                break
            if not record.is_blank(self.text):
                sample.append(record)
        return sample


class Dialect(NamedTuple):
    """How a table is written as text, and what its columns are called.

    delimiter, decimal : the signs
    header : whether the first line holds names
    names : of the columns
    row_names : index of the column that the header marks as names of rows, None if it marks none
    notes : what there is to say
    body : byte at which the rows begin
    longest : bytes of the longest of the first records
    rows : the cells of the first rows
    """

    delimiter: str
    decimal: str
    header: bool
    names: list[str]
    row_names: int | None
    notes: tuple[Note, ...]
    body: int
    longest: int
    rows: list[list[str]]


def head_of(data: pa.Buffer, name: str) -> Head:
    """The beginning of a text, two lines of it at least."""
    size = SAMPLE_BYTES
    while True:
        text = bytes(data[:size])
        is_all = len(text) == data.size
        if is_all or len(re.findall(rb"[\r\n]+", text)) > 2:
            break
        size *= 4
    if b"\0" in text:
        raise HicorexError(
            f"{name} is neither text nor a format that is known; save it as CSV or Parquet, or give its encoding."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text, is_all)
    except UnicodeDecodeError:
        raise NotUtf8Error from None
    return Head(text, is_all)


def find_dialect(head: Head, name: str, style: TextStyle) -> Dialect:
    """How a text is written, by its head and what is known of its style."""
    delimiter = _find_delimiter(head) if style.delimiter is None else style.delimiter
    sign = delimiter.encode()
    sample = head.sample(sign)
    if not sample:
        raise HicorexError(f"{name} is empty; give a file with a header and rows.")
    if head.is_all and sample[0].fault:
        raise HicorexError(f"{name}, line {sample[0].line}: {sample[0].fault}; correct that line.")
    size = max(1, SAMPLE_FIELDS // sample[0].n_fields)
    lines = [record.fields(head.text, sign) for record in sample[: 1 + size]]
    decimal = style.decimal or _find_decimal(lines, delimiter)
    header = _is_header(lines, decimal, {*MISSING, *style.missing}) if style.header is None else style.header
    if header:
        _refuse_title(sample, lines, name)
    if header and len(sample) == 1 and head.is_all:
        raise HicorexError(f"{name} has a header and no rows; give a file with rows.")
    widths = {record.n_fields for record in sample[1 if header else 0 :]}
    given, notes = _name_fields(lines, widths, header, delimiter)
    row_names = 0 if header and len(given) > 1 and not given[0].strip() else None
    if row_names == 0:
        given[0] = "row" if "row" not in given else "row names"
    names, renamed = name_columns([title.strip() for title in given])
    rows = lines[1:] if header else lines
    notes = [*_unusual(delimiter, decimal, name), *notes, *_perhaps_thousands(rows, names, decimal), *renamed]
    longest = max(record.end - record.start for record in sample)
    body = sample[0].end if header else 0
    return Dialect(delimiter, decimal, header, names, row_names, tuple(notes), body, longest, rows)


def _find_delimiter(head: Head) -> str:
    scores: dict[str, float] = {}
    for delimiter in DELIMITERS:
        sample = head.sample(delimiter.encode()) if delimiter.encode() in head.text else []
        widths = np.array([record.n_fields for record in sample if not record.fault])
        if widths.size == 0 or widths.max() < 2:
            continue
        if delimiter != " " and (widths == widths[0]).all():
            return delimiter
        body = widths[1:] if widths.size > 1 else widths
        usual = int(np.bincount(body).argmax())
        if usual < 2 or (delimiter == " " and (body != usual).any()):
            continue
        # A header one shorter is R's; otherwise lines of another length are to be named as faults.
        scores[delimiter] = (body == usual).mean() + (widths[0] == usual or 1 < widths[0] == usual - 1)
        if delimiter == " ":
            scores[delimiter] -= 1
    best = max(scores, key=lambda delimiter: scores[delimiter], default=NO_DELIMITER)
    return best if scores.get(best, 0) > 0.5 else NO_DELIMITER


def _find_decimal(lines: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for line in lines for cell in line]
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?", cell)]
    points = sum(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", cell) is not None for cell in cells)
    grouped = delimiter != ";" and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in commas)
    return "," if len(commas) > points and not grouped else "."


def _is_header(lines: list[list[str]], decimal: str, missing: set[str]) -> bool:
    """Whether the first line holds names: not if it is all numbers, or has fractions above numbers."""
    number = re.compile(with_decimal(NUMBER, decimal))

    def is_number(cell: str) -> bool:
        return number.fullmatch(cell.strip()) is not None

    first = [cell.strip() for cell in lines[0]]
    numeric = [is_number(cell) for cell in first]
    if not any(numeric) or not first[0]:
        return True
    if all(n or cell in missing for n, cell in zip(numeric, first, strict=True)):
        return False
    below = [all(is_number(cell) or cell.strip() in missing for cell in column) for column in zip(*lines[1:6])]  # noqa: B905
    named = any(b and not n for b, n in zip(below, numeric, strict=False))
    fraction = any(n and b and decimal in cell for n, b, cell in zip(numeric, below, first, strict=False))
    return named or not fraction


def _refuse_title(sample: list[Record], lines: list[list[str]], name: str) -> None:
    """Refuse lines above the names: shorter than most others, or of one cell that is not empty."""
    first, filled = lines[0], [sum(map(bool, map(str.strip, cells))) for cells in lines]
    widths = Counter(record.n_fields for record in sample[1:])
    width, n_wide = widths.most_common(1)[0] if widths else (0, 0)
    is_short = 2 * n_wide > len(sample) - 1 and len(first) < width - 1
    if is_short or (len(first) > 2 and first[0].strip() and filled[0] == 1):
        names = zip(sample, filled, strict=False)
        line = next((record.line for record, n in names if record.n_fields == width and n > 1), sample[0].line + 1)
        raise HicorexError(
            f"{name}, line {sample[0].line}: it looks like a title above the names; say --skip-lines {line - 1}."
        )


def _name_fields(
    lines: list[list[str]], widths: set[int], header: bool, delimiter: str
) -> tuple[list[str], list[Note]]:
    if not header:
        return [column_name(i) for i in range(len(lines[0]))], [NoHeader()]
    given = list(lines[0])
    if widths == {len(given) + 1}:
        if all(not line[-1].strip() for line in lines[1:] if line):
            return [*given, ""], [TrailingDelimiter(delimiter)]
        return ["", *given], [ShortHeader()]
    return given, []


def _unusual(delimiter: str, decimal: str, name: str) -> list[Note]:
    """A note on signs that are not those of the file's name."""
    usual = delimiter in (",", NO_DELIMITER) or (
        delimiter == "\t" and re.search(r"\.(tsv|tab|txt)(\.\w+)?$", name) is not None
    )
    return [] if usual and decimal == "." else [Written(None if usual else delimiter, decimal == ",")]


def _perhaps_thousands(rows: list[list[str]], names: list[str], decimal: str) -> list[Note]:
    """A note on the columns whose fractions all have three digits beside whole numbers of three at most."""
    number = re.compile(with_decimal(NUMBER, decimal))
    marked, whole = re.compile(rf"[+-]?[1-9]\d{{0,2}}{re.escape(decimal)}\d{{3}}"), re.compile(r"[+-]?\d{1,3}")
    suspects: list[str] = []
    examples = ("", "")
    for name, column in zip(names, zip(*rows, strict=False), strict=False):
        cells = [cell.strip() for cell in column]
        fractions = [cell for cell in cells if marked.fullmatch(cell)]
        rest = [cell for cell in cells if whole.fullmatch(cell)]
        if len(fractions) > 2 and rest and len(fractions) + len(rest) == sum(map(bool, map(number.fullmatch, cells))):
            examples = examples if suspects else (fractions[0], rest[0])
            suspects.append(name)
    return [PerhapsThousands(suspects[0], len(suspects) - 1, *examples)] if suspects else []
