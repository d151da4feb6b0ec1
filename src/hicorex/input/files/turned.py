"""A table that lies on its side: its rows become columns."""

from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.files.raw import RawTable, name_columns
from hicorex.input.files.text_columns import is_text
from hicorex.input.notes import Transposed
from hicorex.support.names import column_name

# What the column is called that names the rows of a table that was turned.
ROWS = "row"


def turned(raw: RawTable, name: str) -> RawTable:
    """The table whose rows are the columns: the first column, if it is text, names them."""
    columns: Any = raw.columns
    if issparse(columns) or isinstance(columns, np.ndarray):
        names = [column_name(i) for i in range(columns.shape[0])]
        if raw.labels is not None:
            names, _ = name_columns(raw.labels.to_pylist())
        labels = None if raw.labels is None else pa.array(raw.names, pa.string())
        columns = columns.T.tocsc() if issparse(columns) else columns.T
        return raw._replace(columns=columns, names=names, labels=labels)
    first = 0 if raw.row_names is None else raw.row_names
    if not is_text(columns.schema.types[first]) and raw.row_names is None:
        given, others = [column_name(i) for i in range(columns.num_rows)], list(range(columns.num_columns))
    else:
        given = columns.column(first).cast(pa.string()).fill_null("").to_pylist()
        others = [at for at in range(columns.num_columns) if at != first]
    odd = [at for at in others if not _is_number(columns.schema.types[at])]
    if odd:
        raise HicorexError(
            f"{name} cannot be turned by --transpose: column {raw.names[odd[0]]!r} holds other things than numbers; "
            "leave out all but the names of the variables and their values."
        )
    names, notes = name_columns([ROWS, *given])
    cells = np.column_stack([columns.column(at).cast(pa.float64()).to_numpy() for at in others])
    samples = pa.array([raw.names[at] for at in others], pa.string())
    table = pa.table([samples, *(pa.array(row, from_pandas=True) for row in cells)], names=names)
    return RawTable(table, names, 0, (*raw.notes, Transposed(), *notes), raw.decimal, raw.markers)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
