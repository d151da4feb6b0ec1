"""Whether chunks and partitions of a Dask collection are what the collection says of them.

Workers check this before values are converted or put together, which could change them unseen.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError


def check_chunk(dtype: np.dtype, sparse: bool, chunk: Any, row: int, column: int, n_rows: int, n_columns: int) -> Any:
    """The chunk at a place of a Dask array, if it is of the type and shape that the array says."""
    where = f"Chunk ({row}, {column}) of the Dask array"
    if isinstance(chunk, np.ma.MaskedArray):
        raise HicorexError(
            f"{where} is a masked array, whose mask would be lost: give X.map_blocks(numpy.ma.filled, numpy.nan), of a "
            "type that has NaN."
        )
    is_sparse = issparse(chunk)
    if not (is_sparse or isinstance(chunk, np.ndarray)):
        raise HicorexError(
            f"{where} is a {type(chunk).__name__}, and is declared {_said(dtype, sparse)}: have what makes it give "
            "a NumPy array or a scipy sparse one."
        )
    if chunk.shape != (n_rows, n_columns):
        shape = " x ".join(map(str, chunk.shape))
        raise HicorexError(
            f"{where} has the shape {shape}, and is declared {n_rows} x {n_columns}: give it its true chunks, by "
            "the shape in from_delayed, or by chunks=(nan, ...) in map_blocks where the number of rows is not known."
        )
    if (is_sparse and not sparse) or not _same(chunk.dtype, dtype):
        raise HicorexError(
            f"{where} is {_said(chunk.dtype, is_sparse)}{_gaps(chunk, dtype)}, and is declared "
            f"{_said(dtype, sparse)}: {_remedy(chunk, dtype)}."
        )
    return chunk


def check_partition(names: Any, dtypes: list, partition: Any, number: int, n_rows: int | None) -> Any:
    """A partition of a Dask data frame, if it has the columns, types and rows that the data frame says.

    names, dtypes : the index of the columns that are declared, and the type of each
    """
    where = f"Partition {number} of the Dask data frame"
    if getattr(partition, "ndim", 0) != 2 or not hasattr(partition, "iloc"):
        raise HicorexError(f"{where} is a {type(partition).__name__}: have what makes it give a data frame.")
    if not partition.columns.equals(names):
        _refuse_columns(where, list(partition.columns), list(names))
    for at, (came, declared) in enumerate(zip(partition.dtypes, dtypes, strict=True)):
        if not _same_column(came, declared):
            raise HicorexError(
                f"{where} has column {names[at]!r} as {_named(came, declared)}, and the data frame declares "
                f"{_named(declared, came)}: bring all partitions to one type, by X.map_partitions, and say it in its "
                "meta."
            )
    if n_rows is not None and len(partition) != n_rows:
        raise HicorexError(
            f"{where} has {len(partition)} rows, and had {n_rows} when they were counted: have it read what does not "
            "change, or call X.persist() before."
        )
    return partition


def _refuse_columns(where: str, columns: list, said: list) -> None:
    """Say how columns differ from those that are declared, unless they do not."""
    if columns != said:
        lacking, extra = [name for name in said if name not in columns], [name for name in columns if name not in said]
        more = f" and has {extra[0]!r}" if extra else ""
        if lacking:
            what = f"lacks the column {lacking[0]!r}{more}"
        elif len(columns) != len(said):
            what = f"has the column {extra[0]!r} too" if extra else "has a column twice"
        else:
            at = next(at for at, name in enumerate(columns) if name != said[at])
            what = f"has the column {columns[at]!r} in the place of {said[at]!r}"
        raise HicorexError(
            f"{where} {what}, and the data frame declares {_listed(said)}: bring all partitions to the same columns, "
            "by X.map_partitions, and say them in its meta."
        )


def _same(came: np.dtype, declared: np.dtype) -> bool:
    """Whether types are the same; texts may be of any length, and numbers in any order of bytes."""
    if came.kind in "US":
        return came.kind == declared.kind
    return came.newbyteorder("=") == declared.newbyteorder("=")


def _said(dtype: np.dtype, sparse: bool) -> str:
    return f"{'sparse, ' * sparse}of type {dtype.name}"


def _gaps(chunk: Any, declared: np.dtype) -> str:
    values = chunk.data if issparse(chunk) else chunk
    return " and has NaN" if values.dtype.kind == "f" and declared.kind != "f" and np.isnan(values).any() else ""


def _remedy(chunk: Any, declared: np.dtype) -> str:
    if issparse(chunk):
        return f"tell it so, by meta=scipy.sparse.csr_array((0, 0), dtype={chunk.dtype.name!r})"
    try:
        wide = np.promote_types(chunk.dtype, declared)
    except TypeError:  # text beside numbers
        wide = chunk.dtype
    return f"give X.map_blocks(numpy.asarray, {wide.name!r}, dtype={wide.name!r})"


def _same_column(came: Any, declared: Any) -> bool:
    """Whether a column is of the type that is said; text has several, and categories may be left open."""
    if came == declared or (_is_text(came) and _is_text(declared)):
        return True
    both = hasattr(came, "categories") and hasattr(declared, "categories")
    return both and _is_open(declared)


def _is_open(dtype: Any) -> bool:
    from dask.dataframe.utils import UNKNOWN_CATEGORIES

    return dtype.categories is None or UNKNOWN_CATEGORIES in dtype.categories


def _is_text(dtype: Any) -> bool:
    return str(dtype) in ("object", "str", "string", "string[python]", "string[pyarrow]", "large_string[pyarrow]")


def _named(dtype: Any, other: Any) -> str:
    """A type in words, with its categories where these are what differs."""
    if hasattr(dtype, "categories") and hasattr(other, "categories") and dtype.categories is not None:
        return f"categories {_listed(list(dtype.categories))}"
    return str(dtype)


def _listed(values: list) -> str:
    return ", ".join(map(repr, values[:5])) + (f" and {len(values) - 5} more" if len(values) > 5 else "")
