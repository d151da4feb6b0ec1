"""The numbers of rows and bytes of the record batches of an Arrow file, from its metadata; nothing is unpacked."""

import struct
from typing import Any, NamedTuple

MAGIC = b"ARROW1"
# Fields of the tables of the format, by their numbers: Footer, Message, RecordBatch and DictionaryBatch.
DICTIONARIES, BATCHES = 2, 3
HEADER = 2
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3
DATA = 1
BLOCK, BUFFER = 24, 16


class BatchSize(NamedTuple):
    """Rows of a record batch, and bytes of its columns unpacked."""

    rows: int
    n_bytes: int


def batch_sizes(file: Any) -> tuple[list[BatchSize], int]:
    """The sizes of the record batches of an open Arrow file, and the bytes of its dictionaries."""
    end = file.size() - len(MAGIC) - 4
    tail = file.read_at(len(MAGIC) + 4, end)
    (length,) = struct.unpack("<i", tail[:4])
    if tail[4:] != MAGIC or not 0 < length <= end:
        raise ValueError("no footer")
    footer = _Flat(file.read_at(length, end - length))
    batches = [_size(file, footer, at, False) for at in footer.vector(footer.root, BATCHES, BLOCK)]
    dictionaries = [_size(file, footer, at, True) for at in footer.vector(footer.root, DICTIONARIES, BLOCK)]
    return batches, sum(size.n_bytes for size in dictionaries)


class _Flat:
    """Tables in the form of FlatBuffers, which are found by their places."""

    def __init__(self, data: bytes):
        self._data = data
        self.root = self.number("<I", 0)

    def number(self, form: str, at: int) -> int:
        if at < 0:
            raise ValueError("a place before the beginning")
        return struct.unpack_from(form, self._data, at)[0]

    def field(self, table: int, number: int) -> int | None:
        """Where a field of a table is, None if it has none."""
        index = table - self.number("<i", table)
        entry = 4 + 2 * number
        offset = self.number("<H", index + entry) if entry < self.number("<H", index) else 0
        return table + offset if offset else None

    def follow(self, at: int | None) -> int:
        """Where the table is that a field refers to."""
        if at is None:
            raise ValueError("a table that is not there")
        return at + self.number("<I", at)

    def vector(self, table: int, number: int, width: int) -> range:
        """Where the structures of a field are, each of ``width`` bytes."""
        at = self.field(table, number)
        if at is None:
            return range(0)
        first = self.follow(at)
        count = self.number("<I", first)
        if first + 4 + count * width > len(self._data):
            raise ValueError("a vector beyond the end")
        return range(first + 4, first + 4 + count * width, width)


def _size(file: Any, footer: _Flat, block: int, dictionary: bool) -> BatchSize:
    offset, length = footer.number("<q", block), footer.number("<i", block + 8)
    if not 0 <= offset <= offset + length <= file.size():
        raise ValueError("a batch beyond the end")
    head = file.read_at(length, offset)
    message = _Flat(head[8:] if head[:4] == b"\xff\xff\xff\xff" else head[4:])  # the older form has one number less
    batch = message.follow(message.field(message.root, HEADER))
    if dictionary:
        batch = message.follow(message.field(batch, DATA))
    rows = message.field(batch, LENGTH)
    packed = message.field(batch, COMPRESSION) is not None
    n_bytes = 0
    for at in message.vector(batch, BUFFERS, BUFFER):
        first, stored = message.number("<q", at), message.number("<q", at + 8)
        if packed and stored:  # a packed buffer begins with its size unpacked, -1 for one that is as it was
            (size,) = struct.unpack("<q", file.read_at(8, offset + length + first))
            stored = stored - 8 if size == -1 else size
        n_bytes += stored
    return BatchSize(0 if rows is None else message.number("<q", rows), n_bytes)
