"""Tables from files: CSV in any dialect, Parquet, Feather, NumPy -> typed columns, names, missing values."""

from hicorex.input.files.new_samples import KnownColumns, read_new
from hicorex.input.files.reading import read_table
from hicorex.input.files.streamed import StreamedFrame, StreamedTable, stream_new, stream_table
from hicorex.input.files.table import Reading, RowBatch, Table
from hicorex.input.files.text_spool import TextSource, is_plain_text

__all__ = [
    "KnownColumns",
    "Reading",
    "RowBatch",
    "StreamedFrame",
    "StreamedTable",
    "Table",
    "TextSource",
    "is_plain_text",
    "read_new",
    "read_table",
    "stream_new",
    "stream_table",
]
