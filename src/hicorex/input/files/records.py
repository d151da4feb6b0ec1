"""The records of a text: lines, or several where a quoted cell goes on, with what is wrong with their quotes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from hicorex.input.files.encodings import NotUtf8Error

LINE_END = re.compile(b"\r\n|\n|\r")


class Record(NamedTuple):
    """One record.

    line : its first line, counted from 1 as a text editor does
    start, end : bytes of the text
    n_fields : the number of its cells
    fault : what is wrong with its quotes, "" if nothing
    """

    line: int
    start: int
    end: int
    n_fields: int
    fault: str

    def is_blank(self, data: pa.Buffer | bytes) -> bool:
        """Whether there is nothing in it."""
        return not bytes(data[self.start : self.end]).strip(b" \r\n")

    def fields(self, data: bytes, sign: bytes) -> list[str]:
        """Its cells, without the quotes around them."""
        try:
            text = data[self.start : self.end].decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise NotUtf8Error from None
        if '"' not in text:
            return text.split(sign.decode())
        between = re.escape(sign.decode())
        other = f"[^{between}]*"
        cells = re.finditer(f'(?:^|{between})(?:"([^"]*+(?:""[^"]*+)*+)"?({other})|({other}))', text)
        return [cell[3] if cell[1] is None else cell[1].replace('""', '"') + cell[2] for cell in cells]


def records(data: pa.Buffer | bytes, sign: bytes) -> Iterator[Record]:
    """The records of a text whose cells are parted by a sign, empty lines left out."""
    view, size, line, at = memoryview(data), len(data), 0, 0
    other = b"[^%s\r\n]*" % re.escape(sign)
    field = re.compile(b'"([^"]*+(?:""[^"]*+)*+)("?)(%s)|%s' % (other, other))
    while at < size:
        line += 1
        line_end = LINE_END.search(view, at)
        start, end, after = at, line_end.start() if line_end else size, line_end.end() if line_end else size
        text = bytes(view[start:end])
        at = after
        if not text:
            continue
        if b'"' not in text:
            yield Record(line, start, after, text.count(sign) + 1, "")
            continue
        record, n_breaks = _quoted(view, start, line, sign, field)
        line += n_breaks
        at = record.end
        yield record


def _quoted(view: memoryview, start: int, line: int, sign: bytes, field: re.Pattern[bytes]) -> tuple[Record, int]:
    """A record with quotes in its first line, and the number of line ends within its cells."""
    n_fields, n_breaks, fault, position = 0, 0, "", start
    while True:
        cell = field.match(view, position)
        assert cell is not None
        n_fields += 1
        position = cell.end()
        if cell[1] is not None:
            breaks = len(LINE_END.findall(cell[1]))
            if not cell[2]:
                fault = fault or "a quote is opened and never closed"
            elif cell[3] and breaks:
                fault = fault or "a quote is opened and closed in a later line, in the middle of a field"
            n_breaks += breaks
        if position == len(view) or view[position : position + 1] != sign:
            break
        position += 1
    line_end = LINE_END.match(view, position)
    return Record(line, start, line_end.end() if line_end else position, n_fields, fault), n_breaks
