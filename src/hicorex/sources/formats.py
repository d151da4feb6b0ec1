"""Parquet, Feather and Arrow files."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import ipc
from pyarrow.parquet import ParquetFile

from hicorex.exceptions import HicorexError
from hicorex.sources.base import Opened, Part
from hicorex.sources.integrity import stamp_of
from hicorex.sources.schemas import width


class Parquet(Part):
    """A Parquet file that is opened when it is needed."""

    def __init__(self, path: str):
        self.name = path
        self.stamp = stamp_of(path)
        with self._parquet() as file:
            self._look(file)

    def open(self) -> Opened:
        """What decodes a row group, and what closes the file."""
        file = self._parquet()
        return file.read_row_group, file.close

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        with self._parquet() as file:
            return is_blank(file.metadata, column, range(file.num_row_groups))

    def _parquet(self) -> Any:
        return ParquetFile(self.name, page_checksum_verification=True)

    def _look(self, file: Any) -> None:
        self.schema = file.schema_arrow
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        self.rows = [group.num_rows for group in groups]
        self.stored = sum(group.total_byte_size for group in groups)


class Handle(Parquet):
    """An open Parquet file of somebody else, who closes it; nothing tells its name."""

    def __init__(self, file: Any):
        self.name = "The Parquet file"
        self._file = file
        self._look(file)

    def __getstate__(self) -> Any:
        raise HicorexError("An open ParquetFile cannot be sent to another process; pass the path of the file instead.")

    def open(self) -> Opened:
        """What decodes a row group; the file stays open."""
        return self._file.read_row_group, lambda: None

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        return is_blank(self._file.metadata, column, range(self._file.num_row_groups))


class Feather(Part):
    """A Feather or Arrow file."""

    def __init__(self, path: str):
        self.name = path
        self.stamp = stamp_of(path)
        self.stored = self.stamp[0]
        # Only a batch itself tells its rows; of a mapping nothing but one column is looked at.
        with pa.memory_map(path) as file:
            self.schema = ipc.open_file(file).schema
            widths = [width(field.type) for field in self.schema]
            narrow = sorted(range(len(widths)), key=lambda at: widths[at] or 2**62)[:1]
            reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=narrow))
            self.rows = [reader.get_batch(at).num_rows for at in range(reader.num_record_batches)]

    def open(self) -> Opened:
        """What decodes a record batch, and what closes the file."""
        file = pa.OSFile(self.name)
        reader = ipc.open_file(file)

        def decode(unit: int) -> Any:
            batch = reader.get_batch(unit)
            batch.validate(full=True)  # what is read as it lies in the file is not looked at on the way
            return pa.Table.from_batches([batch])

        return decode, file.close


def is_blank(meta: Any, column: str, groups: Sequence[int]) -> bool:
    """Whether a Parquet footer says that a column has no value at all in the row groups."""
    paths = [meta.schema.column(at).path for at in range(meta.num_columns)]
    if column not in paths:
        return False
    chunks = [meta.row_group(at).column(paths.index(column)) for at in groups]
    counts = [(chunk.num_values, chunk.statistics) for chunk in chunks]
    return all(not n or (known and known.has_null_count and known.null_count == n) for n, known in counts)
