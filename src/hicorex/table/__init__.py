"""Tables from files: CSV in any dialect, Parquet, Feather, NumPy -> typed columns, names, missing values."""

from hicorex.table.reading import Decision, Reading, Table, read_new, read_table

__all__ = ["Decision", "Reading", "Table", "read_new", "read_table"]
