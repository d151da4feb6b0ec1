"""Tables from files: CSV in any dialect, Parquet, Feather, NumPy -> typed columns, names, missing values."""

from hicorex.input.files.reading import Decision, Reading, Table, in_words, read_new, read_table
from hicorex.input.files.streamed import Brought, stream_new, stream_table

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
