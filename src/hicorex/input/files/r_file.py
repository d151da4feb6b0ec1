"""Tables that R has saved: a data frame or a matrix in an .rds file."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.files.contents import all_bytes
from hicorex.input.files.extras import library
from hicorex.input.files.statistics_files import whole_numbers


def read_rds(file: pa.NativeFile, name: str) -> Any:
    """The columns of a data frame as a table, or a matrix as an array."""
    rdata = library("rdata", "r", f"{name} is of R")
    data = bytes(all_bytes(file, name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on classes that it does not know
            held = rdata.conversion.convert(rdata.parser.parse_data(data, extension=".rds"))
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception:
        raise HicorexError(
            f"{name} begins like a file of R but cannot be read; save it by saveRDS or as CSV."
        ) from None
    if isinstance(held, np.ndarray) and held.ndim == 2:
        return held
    if hasattr(held, "dims") and getattr(held, "ndim", 0) == 2:  # a matrix with names
        names = [str(title) for title in held.coords[held.dims[1]].values] if held.dims[1] in held.coords else None
        return held.values if names is None else pa.table(list(held.values.T), names=names)
    if not hasattr(held, "columns"):
        raise HicorexError(f"{name} holds {type(held).__name__}, no table; save a data frame or a matrix.")
    table = pa.Table.from_pandas(held, preserve_index=not _numbers_rows(held.index))
    columns = [_decoded(column) for column in table.columns]
    return pa.table(columns, names=table.column_names).replace_schema_metadata(table.schema.metadata)


def _numbers_rows(index: Any) -> bool:
    """Whether names of rows are their numbers, which R gives where there are none."""
    return [str(own) for own in index] in ([str(at + first) for at in range(len(index))] for first in (0, 1))


def _decoded(column: pa.ChunkedArray) -> Any:
    """Numbers as they would be in a text, and factors as text."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole_numbers(whole)
