"""Datasets of pyarrow."""

import os
from typing import Any

import pyarrow as pa
from pyarrow import dataset, fs

from hicorex.exceptions import HicorexError
from hicorex.input.sources.base import Source
from hicorex.input.sources.formats import is_blank
from hicorex.input.sources.integrity import stamp_of, whole
from hicorex.input.sources.schemas import check_names, column_differs
from hicorex.input.sources.table_files import Opened, TableFile
from hicorex.input.sources.tables import TableSource


def dataset_source(X: Any) -> Source:
    """The files of a dataset, each a part of the table."""
    schema = X.schema
    check_names("The dataset", schema.names)
    try:
        fragments = list(X.get_fragments())
    except ValueError:
        raise HicorexError(
            "A dataset with a filter has no rows of its own; write it by pyarrow.dataset.write_dataset(X, 'table', "
            "format='parquet') and give that folder."
        ) from None
    if not fragments:
        raise HicorexError("The dataset has no files; give one with some.")
    parts = [
        whole(getattr(fragment, "path", "A table of the dataset"), Fragment, fragment, schema) for fragment in fragments
    ]
    for part in parts:
        for column in sorted({*part.spare} ^ {*parts[0].spare}):
            raise column_differs(part, parts[0], column, column in part.spare)
    return TableSource(parts, "The dataset", schema.names)


class Fragment(TableFile):
    """A file of a dataset."""

    def __init__(self, fragment: Any, schema: pa.Schema):
        path = None if getattr(fragment, "buffer", None) is not None else getattr(fragment, "path", None)
        self.name = path or "A table of the dataset"
        parquet = isinstance(fragment, dataset.ParquetFileFragment)
        self._groups = [group.id for group in fragment.row_groups] if parquet else None
        if path and isinstance(fragment.filesystem, fs.LocalFileSystem):
            self.name = os.path.abspath(path)
            # The same path in a process that works in another folder.
            groups: dict = {"row_groups": self._groups} if parquet else {}
            # Through handles, though the dataset may map its files: one that is mapped ends the process if it shrinks.
            fragment = fragment.format.make_fragment(
                self.name, fs.LocalFileSystem(), partition_expression=fragment.partition_expression, **groups
            )
            self.stamp = stamp_of(self.name)
        elif path:
            self.files = fragment.filesystem
            self.stamp = stamp_of(path, self.files)
        self._fragment = fragment
        held = fragment.physical_schema
        check_names(self.name, held.names)
        asked = {*schema.names}
        # Text has no types of its own: it is read as what the dataset says.
        text = isinstance(getattr(fragment, "format", None), dataset.CsvFileFormat | dataset.JsonFileFormat)
        fields = [(schema if text else held).field(at) for at in held.names if at in asked]
        keys = dataset.get_partition_keys(fragment.partition_expression)
        fields += [schema.field(key) for key in keys if key in asked and key not in held.names]
        self.schema = pa.schema(fields, schema.metadata)
        self.spare = [name for name in held.names if name not in asked]
        if parquet:
            self.rows = [group.num_rows for group in fragment.row_groups]
            self.stored = sum(group.total_byte_size for group in fragment.row_groups)
        else:
            self.rows = [fragment.count_rows()]
            self.stored = self.stamp[0] if self.stamp else 0

    def open(self) -> Opened:
        """What decodes a row group or the whole file, of which nothing stays open."""

        def decode(unit: int) -> Any:
            fragment, rows = self._fragment, self.rows[unit]
            if self._groups is not None:
                fragment = fragment.subset(row_group_ids=[self._groups[unit]])
            table = fragment.to_table(schema=self.schema, batch_size=max(rows, 1))
            if self._groups is None:
                table.validate(full=True)
            return table

        return decode, lambda: None

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        if self._groups is None:
            return super().is_blank(column)
        return is_blank(self._fragment.metadata, column, self._groups)
