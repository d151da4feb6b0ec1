"""Tables as text: the dialect is found out, pyarrow reads the cells, and a fault is named with its line."""

import codecs
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from hicorex.exceptions import HicorexError
from hicorex.input.spreadsheet import is_result, original, original_table

# In this order where several fit: a decimal comma splits lines as evenly as a comma between fields does.
DELIMITERS = ("\t", ";", "|", ",", " ")
# For files of one column: a sign that text does not hold.
NO_DELIMITER = "\x1f"
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "<NA>")
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
BLANKS = " \t\r\n\u00a0"
SAMPLE_BYTES, SAMPLE_RECORDS, SAMPLE_FIELDS = 1 << 20, 200, 20_000
# Columns from which on telling pyarrow the types of numbers pays: it tries six others before it.
WIDE = 256
LARGEST_BLOCK = 2**31 - 1


class Raw(NamedTuple):
    """What a file holds before it is decided on.

    columns : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns)
    row_names : index of the column that the file itself marks as names of rows, None if it marks none
    decimal : the decimal sign of numbers among text; None if columns have types, so that their text is text
    markers : texts that stand for missing values in any such file
    """

    columns: Any
    names: list[str]
    row_names: int | None = None
    notes: tuple[str, ...] = ()
    decimal: str | None = None
    markers: tuple[str, ...] = ("",)


class Record(NamedTuple):
    """A line, or several where a quoted cell goes on; fault says what is wrong with its quotes."""

    line: int
    start: int
    end: int
    n_fields: int
    fault: str


class _NotUtf8(Exception):
    pass


def name_columns(given: list[str]) -> tuple[list[str], list[str]]:
    """Names that are all there and all different, and notes on what was changed for it."""
    names = [name or f"column{at + 1}" for at, name in enumerate(given)]
    if len(set(names)) == len(names):
        return names, []
    taken, seen, notes = set(names), dict.fromkeys(names, 0), []
    for at, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            number = seen[name]
            while f"{name}_{number}" in taken:
                number += 1
            names[at] = f"{name}_{number}"
            taken.add(names[at])
            which = {2: "second", 3: "third"}.get(seen[name], f"{seen[name]}th")
            notes.append(f"duplicated name {name!r}: the {which} is called {names[at]!r}")
    if len(notes) > 5:
        notes[5:] = [f"{len(notes) - 5} further duplicated names are treated likewise"]
    return names, notes


def read_text(
    data: pa.Buffer,
    name: str,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing: tuple[str, ...] = (),
    texts: Collection[str] = (),
) -> Raw:
    """A table as text; what is None is found out, and columns named in `texts` stay text."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > 127):
        raise HicorexError(f"delimiter is {delimiter!r}; give one sign, such as ',' or ';'.")
    if decimal not in (None, ".", ","):
        raise HicorexError(f"decimal is {decimal!r}; give '.' or ','.")
    data, notes = _as_utf8(data, name, encoding)
    options = (delimiter, decimal, header, missing, texts)
    try:
        raw = _read_utf8(data, name, *options)
    except _NotUtf8:
        if encoding is not None:
            raise HicorexError(f"{name} is not in the encoding {encoding}; give its true encoding.") from None
        text, encoding = bytes(data), "Windows-1252"
        try:
            text = text.decode("cp1252").encode()
        except UnicodeDecodeError:
            text, encoding = text.decode("latin-1").encode(), "Latin-1"
        notes.append(f"not UTF-8: read as {encoding}")
        raw = _read_utf8(pa.py_buffer(text), name, *options)
    return raw._replace(notes=(*notes, *raw.notes))


def _as_utf8(data: pa.Buffer, name: str, encoding: str | None) -> tuple[pa.Buffer, list[str]]:
    start, notes = bytes(data[:4]), []
    if encoding is None and start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
        notes = ["read as UTF-16"]
    if encoding is not None:
        try:
            plain = codecs.lookup(encoding).name in ("utf-8", "ascii", "utf-8-sig")
            if not plain:
                data = pa.py_buffer(bytes(data).decode(encoding).encode())
        except LookupError:
            raise HicorexError(f"encoding {encoding!r} is not known; use one such as utf-8 or cp1252.") from None
        except UnicodeError:
            raise HicorexError(f"{name} is not in the encoding {encoding}; give its true encoding.") from None
    if bytes(data[:3]) == codecs.BOM_UTF8:
        data = data.slice(3)
    return data, notes


def _read_utf8(
    data: pa.Buffer,
    name: str,
    delimiter: str | None,
    decimal: str | None,
    header: bool | None,
    missing: tuple[str, ...],
    texts: Collection[str],
) -> Raw:
    told = re.match(rb'"?sep=([^\r\n])"?\r?\n', data[:16])
    if told:  # as spreadsheets write it for themselves; a blank line keeps the count of lines
        data, delimiter = data.slice(told.end() - 1), delimiter or told[1].decode("latin-1")
    head, whole = _head(data, name)
    if delimiter is None:
        delimiter = _find_delimiter(head, whole)
    sign = delimiter.encode()
    sample = _sample(head, whole, sign)
    if not sample:
        raise HicorexError(f"{name} is empty; give a file with a header and rows.")
    if whole and sample[0].fault:
        raise HicorexError(f"{name}, line {sample[0].line}: {sample[0].fault}; correct that line.")
    size = max(1, SAMPLE_FIELDS // sample[0].n_fields)
    rows = [_fields(head, record, sign) for record in sample[: 1 + size]]
    decimal = decimal or _find_decimal(rows, delimiter)
    if header is None:
        header = _is_header(rows, decimal, {*MISSING, *missing})
    below = {record.n_fields for record in sample[1:]}
    titled = len(below) == 1 and sample[0].n_fields < min(below) - 1
    if header and (titled or (len(rows[0]) > 2 and rows[0][0].strip() and not any(map(str.strip, rows[0][1:])))):
        raise HicorexError(f"{name}, line {sample[0].line}: it looks like a title above the names; delete that line.")
    widths = [record.n_fields for record in (sample[1:] if header else sample)]
    given, notes = _name_fields(rows, widths, header, delimiter)
    row_names = 0 if header and len(given) > 1 and not given[0].strip() else None
    if row_names == 0:
        given[0] = "row" if "row" not in given else "row names"
    names, changed = name_columns([name.strip() for name in given])
    ours = header and is_result(names)
    if ours:
        names = list(map(original, names))
    named = {"\t": "tab", " ": "blank", NO_DELIMITER: None}.get(delimiter, repr(delimiter))
    if delimiter == "," or (delimiter == "\t" and re.search(r"\.(tsv|tab|txt)(\.\w+)?$", name)):
        named = None
    style = [f"delimiter {named}"] if named else []
    if decimal == ",":
        style.append("decimal comma")
    if style:
        notes.insert(0, ", ".join(style))
    notes += _perhaps_thousands(rows[1:] if header else rows, names, decimal)
    types: dict[str, pa.DataType] = {}
    if len(names) >= WIDE and len(rows) > 1:
        real = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?".replace(r"\.", re.escape(decimal)))
        types = {n: pa.float64() for n, field in zip(names, rows[1], strict=False) if real.fullmatch(field)}
    fixed = {text: pa.dictionary(pa.int32(), pa.string()) for text in set(texts).intersection(names)}
    body = sample[0].end if header else 0
    if header and len(sample) == 1 and whole:
        raise HicorexError(f"{name} has a header and no rows; give a file with rows.")
    longest = max(record.end - record.start for record in sample)
    parse = _Parse(data, body, name, names, sign, decimal, missing, header)
    table = parse.read(types, fixed, max(min(len(names) * 1024, 1 << 25), 1 << 20, 4 * longest))
    if ours:
        table = original_table(table).rename_columns(names)
    return Raw(table, names, row_names, (*notes, *changed), decimal, MISSING)


class _Parse:
    """The cells by pyarrow, tried again with other options where it cannot go on, and checked."""

    def __init__(self, data, body, name, names, sign, decimal, missing, header):
        self.data, self.body, self.name, self.names, self.sign = data, body, name, names, sign
        self.decimal, self.missing, self.header = decimal, missing, header

    def read(self, types: dict[str, pa.DataType], fixed: dict[str, pa.DataType], block: int) -> pa.Table:
        quotes = re.search(b'"', self.data) is not None
        multiline = False
        while True:
            try:
                table = self._attempt({**types, **fixed}, block, multiline)
                break
            except pa.ArrowInvalid as error:
                message = str(error)
                if "UTF8" in message:
                    raise _NotUtf8 from None
                if types and "conversion error" in message:
                    types = {}
                elif "straddling" in message and block < min(self.data.size, LARGEST_BLOCK):
                    block *= 8
                elif quotes and not multiline:
                    multiline = True
                else:
                    raise self._fault(message) from None
        if any(pa.types.is_binary(getattr(kind, "value_type", kind)) for kind in set(table.schema.types)):
            raise _NotUtf8
        # pyarrow takes a quote that is never closed, or closed in a later line, for a long cell.
        if quotes and table.num_rows != self._count_lines() and not self._is_well_formed():
            fault = self._fault("")
            if fault.args[0]:
                raise fault
        return table

    def _attempt(self, types: dict[str, pa.DataType], block: int, multiline: bool) -> pa.Table:
        return pacsv.read_csv(
            pa.BufferReader(self.data.slice(self.body)),
            pacsv.ReadOptions(column_names=self.names, block_size=min(block, LARGEST_BLOCK)),
            pacsv.ParseOptions(
                delimiter=self.sign.decode(),
                newlines_in_values=multiline,
                invalid_row_handler=lambda row: "error" if row.text.strip(" ") else "skip",
            ),
            pacsv.ConvertOptions(
                column_types=types,
                null_values=[*MISSING, *self.missing],
                true_values=TRUE,
                false_values=FALSE,
                decimal_point=self.decimal,
                strings_can_be_null=True,
                auto_dict_encode=True,
                auto_dict_max_cardinality=2000,
            ),
        )

    def _count_lines(self) -> int:
        """The lines that are not blank: a line begins where a sign follows the end of another."""
        signs = np.frombuffer(self.data, np.uint8, offset=self.body)
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
        sign = re.escape(self.sign)
        field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%s\r\n][^%s\r\n]*+|)' % (sign, sign)
        line = re.compile(rb"(?:%s(?:%s|[\r\n]|\Z))*+" % (field, sign))
        view = memoryview(self.data)[self.body :]
        found = line.match(view)
        return found is not None and found.end() == len(view)

    def _fault(self, message: str) -> HicorexError:
        """The first line that is at fault, or else what pyarrow says."""
        expected = len(self.names)
        before = "the header has" if self.header else "the first line has"
        for record in records(self.data, self.sign):
            if record.end <= self.body:
                continue
            where = f"{self.name}, line {record.line}: "
            if record.fault:
                return HicorexError(f"{where}{record.fault}; correct that line.")
            if record.n_fields != expected and not _is_blank(self.data, record):
                return HicorexError(
                    f"{where}{record.n_fields} field{'s' if record.n_fields > 1 else ''} where {before} {expected}; "
                    f"correct that line, or give another delimiter than {self.sign.decode()!r}."
                )
        return HicorexError(f"{self.name} cannot be read as a table: {' '.join(message.split())}" if message else "")


def records(data: pa.Buffer | bytes, sign: bytes) -> Iterator[Record]:
    """The records of a text, blank lines left out; lines are counted as a text editor does."""
    view, size, line, at = memoryview(data), len(data), 0, 0
    line_end = re.compile(b"\r\n|\n|\r")
    other = b"[^%s\r\n]*" % re.escape(sign)
    field = re.compile(b'"([^"]*+(?:""[^"]*+)*+)("?)(%s)|%s' % (other, other))
    while at < size:
        line += 1
        found = line_end.search(view, at)
        start, end, after = at, found.start() if found else size, found.end() if found else size
        text = bytes(view[start:end])
        at = after
        if not text:
            continue
        if b'"' not in text:
            yield Record(line, start, after, text.count(sign) + 1, "")
            continue
        n_fields, first, fault, position = 0, line, "", start
        while True:
            cell = field.match(view, position)
            assert cell is not None
            n_fields += 1
            position = cell.end()
            if cell[1] is not None:
                lines = len(line_end.findall(cell[1]))
                if not cell[2]:
                    fault = fault or "a quote is opened and never closed"
                elif cell[3] and lines:
                    fault = fault or "a quote is opened and closed in a later line, in the middle of a field"
                line += lines
            if position < size and view[position : position + 1] == sign:
                position += 1
            else:
                break
        found = line_end.match(view, position)
        at = found.end() if found else position
        yield Record(first, start, at, n_fields, fault)


def _is_blank(data: pa.Buffer | bytes, record: Record) -> bool:
    return not bytes(data[record.start : record.end]).strip(b" \r\n")


def _fields(data: bytes, record: Record, sign: bytes) -> list[str]:
    try:
        text = data[record.start : record.end].decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _NotUtf8 from None
    if '"' not in text:
        return text.split(sign.decode())
    other = f"[^{re.escape(sign.decode())}]*"
    cells = re.finditer(f'(?:^|{re.escape(sign.decode())})(?:"([^"]*+(?:""[^"]*+)*+)"?({other})|({other}))', text)
    return [cell[3] if cell[1] is None else cell[1].replace('""', '"') + cell[2] for cell in cells]


def _head(data: pa.Buffer, name: str) -> tuple[bytes, bool]:
    """The beginning of the text, two lines of it at least, and whether that is all."""
    size = SAMPLE_BYTES
    while True:
        head = bytes(data[:size])
        whole = len(head) == data.size
        if whole or len(re.findall(rb"[\r\n]+", head)) > 2:
            break
        size *= 4
    if b"\0" in head:
        raise HicorexError(
            f"{name} is neither text nor a format that is known; save it as CSV or Parquet, or give its encoding."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, whole)
    except UnicodeDecodeError:
        raise _NotUtf8 from None
    return head, whole


def _sample(head: bytes, whole: bool, sign: bytes) -> list[Record]:
    """The first records, those that are complete in the head of the file."""
    found: list[Record] = []
    for record in records(head, sign):
        full = len(found) == SAMPLE_RECORDS or (len(found) > 2 and len(found) * found[0].n_fields > SAMPLE_FIELDS)
        if full or (record.end == len(head) and not whole and found):
            break
        if not _is_blank(head, record):
            found.append(record)
    return found


def _find_delimiter(head: bytes, whole: bool) -> str:
    shares = {}
    for delimiter in DELIMITERS:
        sample = _sample(head, whole, delimiter.encode()) if delimiter.encode() in head else []
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
        shares[delimiter] = (body == usual).mean() + (widths[0] == usual or 1 < widths[0] == usual - 1)
        if delimiter == " ":
            shares[delimiter] -= 1
    best = max(shares, key=lambda delimiter: shares[delimiter], default=NO_DELIMITER)
    return best if shares.get(best, 0) > 0.5 else NO_DELIMITER


def _find_decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?", cell)]
    points = sum(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", cell) is not None for cell in cells)
    grouped = delimiter != ";" and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in commas)
    return "," if len(commas) > points and not grouped else "."


def _number(decimal: str) -> re.Pattern[str]:
    return re.compile(NUMBER.replace(r"\.", re.escape(decimal)))


def _perhaps_thousands(rows: list[list[str]], names: list[str], decimal: str) -> list[str]:
    """A note on the columns whose fractions all have three digits beside whole numbers of three at most."""
    number = _number(decimal)
    marked, whole = re.compile(rf"[+-]?[1-9]\d{{0,2}}{re.escape(decimal)}\d{{3}}"), re.compile(r"[+-]?\d{1,3}")
    suspects, example = [], ""
    for name, column in zip(names, zip(*rows, strict=False), strict=False):
        cells = [cell.strip() for cell in column]
        fractions = [cell for cell in cells if marked.fullmatch(cell)]
        rest = [cell for cell in cells if whole.fullmatch(cell)]
        if len(fractions) > 2 and rest and len(fractions) + len(rest) == sum(map(bool, map(number.fullmatch, cells))):
            suspects.append(name)
            example = example or f"{fractions[0]} beside {rest[0]}"
    if not suspects:
        return []
    others = f" and {len(suspects) - 1} others" if len(suspects) > 1 else ""
    return [
        f"column {suspects[0]!r}{others}: {example} is read as a fraction; if the sign stands for thousands, "
        "write the numbers without it"
    ]


def _is_header(rows: list[list[str]], decimal: str, missing: set[str]) -> bool:
    """Whether the first line holds names: not if it is all numbers, or has fractions above numbers."""
    number = _number(decimal)

    def is_number(cell: str) -> bool:
        return number.fullmatch(cell.strip()) is not None

    first = [cell.strip() for cell in rows[0]]
    numeric = [is_number(cell) for cell in first]
    if not any(numeric) or not first[0]:
        return True
    if all(n or cell in missing for n, cell in zip(numeric, first, strict=True)):
        return False
    below = [all(is_number(cell) or cell.strip() in missing for cell in column) for column in zip(*rows[1:6])]  # noqa: B905
    named = any(b and not n for b, n in zip(below, numeric, strict=False))
    fraction = any(n and b and decimal in cell for n, b, cell in zip(numeric, below, first, strict=False))
    return named or not fraction


def _name_fields(rows: list[list[str]], widths: list[int], header: bool, delimiter: str) -> tuple[list[str], list[str]]:
    if not header:
        return [f"x{at}" for at in range(len(rows[0]))], [
            "no header: columns are called x0, x1, ...; if the first line holds names, say --header"
        ]
    given = list(rows[0])
    if widths and set(widths) == {len(given) + 1}:
        if all(not row[-1].strip() for row in rows[1:] if row):
            return [*given, ""], [f"every line ends with {delimiter!r}"]
        return ["", *given], ["the header is one field shorter than the rows: the first column holds names of rows"]
    return given, []
