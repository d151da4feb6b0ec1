"""Tables as text: the dialect is found out, pyarrow reads the cells, and a fault is named with its line."""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from hicorex.exceptions import HicorexError
from hicorex.input.files.dialect import Dialect, TextStyle, find_dialect, head_of
from hicorex.input.files.encodings import NotUtf8Error, as_utf8, from_western, wrong_encoding
from hicorex.input.files.literals import FALSE, MISSING, TRUE, with_decimal
from hicorex.input.files.raw import RawTable
from hicorex.input.files.records import records
from hicorex.input.notes import Note
from hicorex.input.spreadsheet import is_result, original, original_table

# Columns from which on telling pyarrow the types of numbers pays: it tries six others before it.
WIDE = 256
LARGEST_BLOCK = 2**31 - 1


def read_text(data: pa.Buffer, name: str, style: TextStyle, texts: Collection[str] = ()) -> RawTable:
    """A table as text; the columns named in `texts` stay text."""
    style.check()
    data, notes = as_utf8(data, name, style.encoding)
    data = _after(data, style.skip_lines, name)
    try:
        raw = _read_utf8(data, name, style, texts)
    except NotUtf8Error:
        if style.encoding is not None:
            raise wrong_encoding(name, style.encoding) from None
        data, note = from_western(data)
        notes.append(note)
        raw = _read_utf8(data, name, style, texts)
    return raw._replace(notes=(*notes, *raw.notes))


def _read_utf8(data: pa.Buffer, name: str, style: TextStyle, texts: Collection[str]) -> RawTable:
    data, style = _told_delimiter(data, style)
    head = head_of(data, name)
    dialect = find_dialect(head, name, style)
    ours = dialect.header and is_result(dialect.names)
    if ours:
        dialect = dialect._replace(names=list(map(original, dialect.names)))
    names = dialect.names
    fixed = {text: pa.dictionary(pa.int32(), pa.string()) for text in set(texts).intersection(names)}
    block = max(min(len(names) * 1024, 1 << 25), 1 << 20, 4 * dialect.longest)
    table = CellReader(data, name, dialect, style.missing).read(_guessed_types(dialect), fixed, block)
    if ours:
        table = original_table(table).rename_columns(names)
    return RawTable(table, names, dialect.row_names, dialect.notes, dialect.decimal, MISSING)


def text_of(data: pa.Buffer, name: str, style: TextStyle) -> tuple[pa.Buffer, TextStyle, list[Note]]:
    """The beginning of a text as UTF-8, without lines to be left out, its style, and what there is to say."""
    data, notes = as_utf8(data, name, style.encoding)
    return *_told_delimiter(_after(data, style.skip_lines, name), style), notes


def _after(data: pa.Buffer, n_lines: int, name: str) -> pa.Buffer:
    """The text with this number of lines left blank, so that the count of lines stays."""
    if n_lines <= 0:
        return data
    lines = re.compile(rb"(?:[^\r\n]*(?:\r\n|\r|\n)){%d}" % n_lines).match(memoryview(data))
    if lines is None:
        raise HicorexError(f"{name} has no more than the lines that --skip-lines {n_lines} leaves out; give fewer.")
    return pa.py_buffer(b"\n" * n_lines + memoryview(data)[lines.end() :])


def _told_delimiter(data: pa.Buffer, style: TextStyle) -> tuple[pa.Buffer, TextStyle]:
    """The text, and its style with the delimiter that a spreadsheet may write into the first line.

    A blank line takes the place of that line, so that the count of lines stays.
    """
    told = re.match(rb'"?sep=([^\r\n])"?\r?\n', data[:16])
    if not told:
        return data, style
    delimiter = style.delimiter or told[1].decode("latin-1")
    return data.slice(told.end() - 1), replace(style, delimiter=delimiter)


def _guessed_types(dialect: Dialect) -> dict[str, pa.DataType]:
    """The columns of a wide table that hold fractions in the first row."""
    if len(dialect.names) < WIDE or not dialect.rows:
        return {}
    real = re.compile(with_decimal(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", dialect.decimal))
    first = zip(dialect.names, dialect.rows[0], strict=False)
    return {name: pa.float64() for name, cell in first if real.fullmatch(cell)}


class CellReader(NamedTuple):
    """Reads cells by pyarrow, again with other options where it cannot go on, and checks them."""

    data: pa.Buffer
    name: str
    dialect: Dialect
    missing: tuple[str, ...]

    def read(self, types: dict[str, pa.DataType], fixed: dict[str, pa.DataType], block: int) -> pa.Table:
        """The cells, a block of bytes at a time; types that do not fit give way to others, unless they are fixed."""
        quotes = re.search(b'"', self.data) is not None
        multiline = False
        while True:
            try:
                table = self._attempt({**types, **fixed}, block, multiline)
                break
            except pa.ArrowInvalid as error:
                message = str(error)
                if "UTF8" in message:
                    raise NotUtf8Error from None
                if types and "conversion error" in message:
                    types = {}
                elif "straddling" in message and block < min(self.data.size, LARGEST_BLOCK):
                    block *= 8
                elif quotes and not multiline:
                    multiline = True
                else:
                    raise self._fault() or self.unreadable(message) from None
        if any(pa.types.is_binary(getattr(kind, "value_type", kind)) for kind in set(table.schema.types)):
            raise NotUtf8Error
        # pyarrow takes a quote that is never closed, or closed in a later line, for a long cell.
        if quotes and table.num_rows != self._count_lines() and not self._is_well_formed():
            fault = self._fault()
            if fault is not None:
                raise fault
        return table

    def _attempt(self, types: dict[str, pa.DataType], block: int, multiline: bool) -> pa.Table:
        return pacsv.read_csv(
            pa.BufferReader(self.data.slice(self.dialect.body)),
            pacsv.ReadOptions(column_names=self.dialect.names, block_size=min(block, LARGEST_BLOCK)),
            self.parsing(multiline),
            self.converting(types),
        )

    def parsing(self, multiline: bool) -> pacsv.ParseOptions:
        """How lines become cells, some of several lines or none."""
        return pacsv.ParseOptions(
            delimiter=self.dialect.delimiter,
            newlines_in_values=multiline,
            invalid_row_handler=lambda row: "error" if row.text.strip(" ") else "skip",
        )

    def converting(self, types: dict[str, pa.DataType]) -> pacsv.ConvertOptions:
        """How cells become values, of these types or of those that they look like."""
        return pacsv.ConvertOptions(
            column_types=types,
            null_values=[*MISSING, *self.missing],
            true_values=TRUE,
            false_values=FALSE,
            decimal_point=self.dialect.decimal,
            strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=2000,
        )

    def _count_lines(self) -> int:
        """The lines that are not blank: a line begins where a sign follows the end of another."""
        signs = np.frombuffer(self.data, np.uint8, offset=self.dialect.body)
        returns = re.search(b"\r", self.data) is not None
        lines, ended = 0, True
        for at in range(0, signs.size, 1 << 20):
            block = signs[at : at + (1 << 20)]
            ends = (block == 10) | (block == 13) if returns else block == 10
            twice = np.count_nonzero(ends[1:] & ends[:-1]) + bool(ended and ends[0])
            lines += int(np.count_nonzero(ends)) - int(twice)
            ended = bool(ends[-1])
        return lines + (not ended)

    def _is_well_formed(self) -> bool:
        """Whether every quoted field ends where a field may end."""
        sign = re.escape(self.dialect.delimiter.encode())
        field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%s\r\n][^%s\r\n]*+|)' % (sign, sign)
        line = re.compile(rb"(?:%s(?:%s|[\r\n]|\Z))*+" % (field, sign))
        view = memoryview(self.data)[self.dialect.body :]
        fits = line.match(view)
        return fits is not None and fits.end() == len(view)

    def _fault(self) -> HicorexError | None:
        """What is said of the first line that is at fault, None if there is none."""
        expected = len(self.dialect.names)
        before = "the header has" if self.dialect.header else "the first line has"
        for record in records(self.data, self.dialect.delimiter.encode()):
            if record.end <= self.dialect.body:
                continue
            where = f"{self.name}, line {record.line}: "
            if record.fault:
                return HicorexError(f"{where}{record.fault}; correct that line.")
            if record.n_fields != expected and not record.is_blank(self.data):
                return HicorexError(
                    f"{where}{record.n_fields} field{'s' if record.n_fields > 1 else ''} where {before} {expected}; "
                    f"correct that line, or give another delimiter than {self.dialect.delimiter!r}."
                )
        return None

    def unreadable(self, message: str) -> HicorexError:
        """What is said of a text of which no line can be named."""
        return HicorexError(f"{self.name} cannot be read as a table: {' '.join(message.split())}")
