"""Parquet, Feather and Arrow files."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import ipc
from pyarrow.parquet import ParquetFile

from hicorex.exceptions import HicorexError
from hicorex.sources.base import Opened, Part
from hicorex.sources.integrity import check_handle, stamp_of, unchanged
from hicorex.sources.schemas import width


class File(Part):
    """A file of this computer, which is read through a handle: one that is mapped ends the process if it shrinks."""

    def __init__(self, path: str):
        self.name = path
        with pa.OSFile(path) as file:
            self.stamp = stamp_of(file.fileno())
            with unchanged(path, self.stamp):
                self._look(file)

    @abstractmethod
    def _look(self, file: Any) -> None:
        """Learn from the footer what the file holds."""

    def _again(self) -> Any:
        """The same file, opened once more."""
        file = pa.OSFile(self.name)
        try:
            check_handle(self.name, file.fileno(), self.stamp or ())
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
        self.stored = file.size()
        self.schema = ipc.open_file(file).schema
        # Only a batch itself tells its rows; nothing but one column is looked at.
        widths = [width(field.type) for field in self.schema]
        narrow = sorted(range(len(widths)), key=lambda at: widths[at] or 2**62)[:1]
        reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=narrow))
        self.rows = [reader.get_batch(at).num_rows for at in range(reader.num_record_batches)]

    def open(self) -> Opened:
        """What decodes a record batch, and what closes the file."""
        file = self._again()
        return partial(_batch_of, ipc.open_file(file)), file.close


def groups_of(file: Any, name: str) -> Iterator[pa.Table]:
    """The row groups of an open Parquet file; one without any is a table without rows."""
    opened = _parquet(file)
    if not opened.num_row_groups:
        yield opened.schema_arrow.empty_table()
    yield from map(_group_reader(file, name), range(opened.num_row_groups))


def batches_of(file: Any, name: str) -> Iterator[pa.Table]:
    """The record batches of an open Feather file of version 2, or Arrow file; one without any is a table without rows."""
    reader = ipc.open_file(file)
    if not reader.num_record_batches:
        yield reader.schema.empty_table()
    yield from map(partial(_batch_of, reader), range(reader.num_record_batches))


def _parquet(file: Any, **options: Any) -> Any:
    return ParquetFile(file, page_checksum_verification=True, **options)


def _group_reader(file: Any, name: str) -> Callable[[int], pa.Table]:
    """What decodes a row group."""
    return _parquet(file).read_row_group


def _batch_of(reader: Any, unit: int) -> pa.Table:
    batch = reader.get_batch(unit)
    batch.validate(full=True)  # what is read as it lies in the file is not looked at on the way
    return pa.Table.from_batches([batch])


def is_blank(meta: Any, column: str, groups: Sequence[int]) -> bool:
    """Whether a Parquet footer says that a column has no value at all in the row groups."""
    paths = [meta.schema.column(at).path for at in range(meta.num_columns)]
    if column not in paths:
        return False
    chunks = [meta.row_group(at).column(paths.index(column)) for at in groups]
    counts = [(chunk.num_values, chunk.statistics) for chunk in chunks]
    return all(not n or (known and known.has_null_count and known.null_count == n) for n, known in counts)
