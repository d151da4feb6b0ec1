"""Parquet, Feather and Arrow files."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc
from pyarrow.parquet import ParquetFile

from hicorex.exceptions import HicorexError
from hicorex.input.memory import current_limit, require_table
from hicorex.input.sources.arrow_sizes import batch_sizes
from hicorex.input.sources.integrity import check_stamp, stamp_of, unchanged
from hicorex.input.sources.schemas import width
from hicorex.input.sources.table_files import Opened, TableFile

SMALLER = "write it with smaller ones, or give more memory"
TEXTS = ("string", "large_string", "binary", "large_binary")


class File(TableFile):
    """A file of this computer, which is read through a handle: one that is mapped ends the process if it shrinks."""

    def __init__(self, path: str):
        self.name = path
        self.stamp = stamp_of(path)  # before it is opened, and looked at again after: the file between is that one
        with pa.OSFile(os.fsencode(path)) as file, unchanged(path, self.stamp):
            self._look(file)

    @abstractmethod
    def _look(self, file: Any) -> None:
        """Learn from the footer what the file holds."""

    def _again(self) -> Any:
        """The same file, opened once more."""
        file = pa.OSFile(os.fsencode(self.name))
        try:
            check_stamp(self.name, self.stamp or ())
        except BaseException:
            file.close()
            raise
        return file


class Parquet(File):
    """A Parquet file that is opened when it is needed."""

    def open(self) -> Opened:
        """What decodes a row group, and what closes the file."""
        file = self._again()
        return _group_reader(file, self.name), file.close

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        with self._again() as file:
            return is_blank(_parquet(file).metadata, column, range(len(self.rows)))

    def _look(self, file: Any) -> None:
        self._learn(_parquet(file))

    def _learn(self, file: Any) -> None:
        self.schema = file.schema_arrow
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        self.rows = [group.num_rows for group in groups]
        self.stored = sum(group.total_byte_size for group in groups)


class Handle(Parquet):
    """An open Parquet file of somebody else, who closes it; nothing tells its name."""

    def __init__(self, file: Any):
        self.name = "The Parquet file"
        self._file = file
        self._learn(file)

    def __getstate__(self) -> Any:
        raise HicorexError("An open ParquetFile cannot be sent to another process; pass the path of the file instead.")

    def open(self) -> Opened:
        """What decodes a row group; the file stays open."""
        return self._file.read_row_group, lambda: None

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        return is_blank(self._file.metadata, column, range(self._file.num_row_groups))


class Feather(File):
    """A Feather or Arrow file."""

    def _look(self, file: Any) -> None:
        self.schema = ipc.open_file(file).schema
        batches, dictionaries = batch_sizes(file)
        self.rows = [batch.rows for batch in batches]
        self.stored = sum(batch.n_bytes for batch in batches) + dictionaries

    def open(self) -> Opened:
        """What decodes a record batch, and what closes the file."""
        file = self._again()
        return batch_reader(file, self.name), file.close


def groups_of(file: Any, name: str) -> Iterator[pa.Table]:
    """The row groups of an open Parquet file; one without any is a table without rows."""
    opened = _parquet(file)
    if not opened.num_row_groups:
        yield opened.schema_arrow.empty_table()
    yield from map(_group_reader(file, name), range(opened.num_row_groups))


def batches_of(file: Any, name: str) -> Iterator[pa.Table]:
    """The record batches of an open Feather file of version 2, or Arrow file; without any, a table without rows."""
    reader = ipc.open_file(file)
    if not reader.num_record_batches:
        yield reader.schema.empty_table()
    yield from map(batch_reader(file, name), range(reader.num_record_batches))


def _parquet(file: Any, **options: Any) -> Any:
    return ParquetFile(file, page_checksum_verification=True, **options)


def _group_reader(file: Any, name: str) -> Callable[[int], pa.Table]:
    """What decodes a row group, unless it takes more memory than may be taken."""
    opened = _parquet(file)
    if current_limit() is None:
        return opened.read_row_group
    schema, meta = opened.schema_arrow, opened.metadata
    # A text that is in the file once, and in every row by its number, is counted before it is in every row.
    texts = [str(field.type) in TEXTS for field in schema]
    opened = _parquet(file, read_dictionary=list(compress(schema.names, texts)))
    fixed = sum(width(field.type) or 0 for field in schema)
    lists = [at for at in range(meta.num_columns) if meta.schema.column(at).max_repetition_level]

    def decode(unit: int) -> pa.Table:
        group = meta.row_group(unit)
        in_lists = 8 * sum(group.column(at).num_values for at in lists)
        require_table(f"A row group of {name}", group.num_rows * fixed // 8 + in_lists, SMALLER)
        table = opened.read_row_group(unit)
        written_out = sum(map(_text_bytes, compress(table.columns, texts)))
        require_table(f"A row group of {name}", table.get_total_buffer_size() + written_out, SMALLER)
        return table.cast(schema)

    return decode


def batch_reader(file: Any, name: str) -> Callable[[int], pa.Table]:
    """What decodes a record batch, unless it takes more memory than may be taken."""
    reader = ipc.open_file(file)
    batches, dictionaries = batch_sizes(file)

    def decode(unit: int) -> pa.Table:
        require_table(f"A record batch of {name}", batches[unit].n_bytes + dictionaries, SMALLER)
        batch = reader.get_batch(unit)
        batch.validate(full=True)  # what is read as it lies in the file is not looked at on the way
        return pa.Table.from_batches([batch])

    return decode


def _text_bytes(column: pa.ChunkedArray) -> int:
    """The size of all texts of a column, each as often as it is there."""
    n_bytes = 0.0
    for chunk in column.chunks:
        counts = np.bincount(chunk.indices.drop_null(), minlength=len(chunk.dictionary))
        n_bytes += counts @ pc.binary_length(chunk.dictionary).fill_null(0).to_numpy().astype(float)
    return int(n_bytes)


def is_blank(meta: Any, column: str, groups: Sequence[int]) -> bool:
    """Whether a Parquet footer says that a column has no value at all in the row groups."""
    paths = [meta.schema.column(at).path for at in range(meta.num_columns)]
    if column not in paths:
        return False
    chunks = [meta.row_group(at).column(paths.index(column)) for at in groups]
    counts = [(chunk.num_values, chunk.statistics) for chunk in chunks]
    return all(not n or (known and known.has_null_count and known.null_count == n) for n, known in counts)
