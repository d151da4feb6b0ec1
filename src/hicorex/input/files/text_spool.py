"""Texts larger than memory: read once from start to end, and kept as columns in a scratch file without a name."""

import codecs
import os
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
from pyarrow import ipc

from hicorex.exceptions import HicorexError
from hicorex.input.files.contents import COMPRESSED
from hicorex.input.files.csv_file import CellReader, text_of
from hicorex.input.files.dialect import TextStyle, find_dialect, head_of
from hicorex.input.files.encodings import NotUtf8Error, wrong_encoding
from hicorex.input.files.json_file import is_json
from hicorex.input.files.literals import MISSING
from hicorex.input.notes import Note, ReadAs
from hicorex.input.sources.formats import batch_reader
from hicorex.input.sources.integrity import stamp_of
from hicorex.input.sources.signatures import LENGTH, FileFormat, format_of
from hicorex.input.sources.table_files import Opened, TableFile
from hicorex.input.sources.tables import TableSource
from hicorex.input.spool import scratch_errors, scratch_file

# Bytes that tell the dialect and the types of the columns, and bytes that are read at a time.
HEAD, BLOCK = 2**22, 2**20
# A line is at most as long.
MOST_OF_BLOCK = 2**27
# The types that a column is given in turn, each of which holds what the one before it does.
WIDER = {pa.null(): pa.int64(), pa.int64(): pa.float64()}


def is_plain_text(path: str) -> bool:
    """Whether a file may be text that is neither compressed nor JSON."""
    with open(path, "rb") as file:
        start = file.read(64)
    return (
        format_of(start[:LENGTH]) is FileFormat.OTHER
        and not any(map(start.startswith, COMPRESSED))
        and not is_json(start)
    )


class TextSource(TableSource):
    """A text as a table on disk."""

    def __init__(self, path: str, style: TextStyle):
        spool = TextSpool(path, style)
        super().__init__([spool], path)
        self.decimal, self.markers, self.notes = spool.dialect.decimal, MISSING, spool.notes


class TextSpool(TableFile):
    """The cells of a text in a scratch file; changes of the text itself are told."""

    notes: tuple[Note, ...]

    def __init__(self, path: str, style: TextStyle):
        style.check()
        self.name, self.stamp = path, stamp_of(path)
        encoding = style.encoding
        try:
            self._learn(path, style, encoding)
        except NotUtf8Error:
            if encoding is not None:
                raise wrong_encoding(path, encoding) from None
            self._learn(path, style, "cp1252")
            self.notes = (ReadAs("Windows-1252", by_mark=False), *self.notes)
        self.check()

    def __getstate__(self) -> Any:
        raise HicorexError(f"{self.name} is text and cannot be sent to another process; convert it to Parquet.")

    def open(self) -> Opened:
        """What decodes a batch; the scratch file stays open."""
        return batch_reader(pa.PythonFile(self._file, "r"), self.name), lambda: None

    def _learn(self, path: str, style: TextStyle, encoding: str | None) -> None:
        """Find out how the text is written, and write its cells as columns; types that do not fit are widened."""
        data, style, notes = text_of(_head(path), path, replace(style, encoding=encoding))
        self.dialect = find_dialect(head_of(data, path), path, style)
        self.notes = (*notes, *self.dialect.notes)
        cells = CellReader(data, path, self.dialect, style.missing)
        told = cells.read({}, {}, BLOCK).schema.types
        types = [pa.string() if pa.types.is_dictionary(kind) else kind for kind in told]
        n_before = len(re.findall(rb"\r\n|\r|\n", bytes(data[: self.dialect.body])))
        block = max(BLOCK, 4 * self.dialect.longest)
        while True:
            try:
                self._spool(cells, types, n_before, encoding, block)
                return
            except pa.ArrowInvalid as error:
                self._file.close()
                column = re.search(r"In CSV column #(\d+):.*conversion error", str(error), re.DOTALL)
                if "UTF8" in str(error):
                    raise NotUtf8Error from None
                if "straddling" in str(error) and block < MOST_OF_BLOCK:
                    block *= 8
                    continue
                if column is None or types[int(column[1])] == pa.string():
                    raise cells.unreadable(str(error)) from None
                types[int(column[1])] = WIDER.get(types[int(column[1])], pa.string())

    def _spool(
        self, cells: CellReader, types: list[pa.DataType], n_before: int, encoding: str | None, block: int
    ) -> None:
        self.schema = pa.schema(list(zip(cells.dialect.names, types, strict=True)))
        self.rows, self.stored = [], 0
        self._file = scratch_file()
        read = pacsv.ReadOptions(
            column_names=self.schema.names, skip_rows=n_before, block_size=block, encoding=encoding or "utf8"
        )
        with pa.OSFile(os.fsencode(self.name)) as text:
            parse = cells.parsing(multiline=b'"' in bytes(cells.data))
            reader = pacsv.open_csv(
                text, read, parse, cells.converting(dict(zip(self.schema.names, types, strict=True)))
            )
            with reader, ipc.new_file(pa.PythonFile(self._file, "w"), self.schema) as out:
                for batch in reader:
                    if batch.num_rows:
                        with scratch_errors("written"):
                            out.write_batch(batch)
                        self.rows.append(batch.num_rows)
                        self.stored += batch.nbytes


def _head(path: str) -> pa.Buffer:
    """The first lines of a text."""
    with open(path, "rb") as file:
        start = file.read(HEAD)
        if len(start) == HEAD:
            start = start[: start.rfind(b"\n") + 1]
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise HicorexError(f"{path} is UTF-16 and too large to be read at once; save it as UTF-8.")
    if not start:
        raise HicorexError(
            f"{path} is too large to be read at once, and has a line of more than {HEAD:,} bytes; correct it."
        )
    return pa.py_buffer(start)
