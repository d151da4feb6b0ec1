"""Tables from files: CSV in any dialect, Parquet, Feather, NumPy -> typed columns, names, missing values."""

from hicorex.table.reading import Decision, Reading, Table, in_words, read_new, read_table
from hicorex.table.streamed import Brought, stream_new, stream_table

__all__ = [
    "Brought",
    "Decision",
    "Reading",
    "Table",
    "in_words",
    "read_new",
    "read_table",
    "stream_new",
    "stream_table",
]
