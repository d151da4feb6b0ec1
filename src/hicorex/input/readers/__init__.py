"""Typed columns of arrays, data frames and sparse tables, the same way for every table."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from hicorex.input.readers.arrays import ArrayReader
from hicorex.input.readers.base import Form, Reader, check_shape, column_name, slices
from hicorex.input.readers.frames import FrameReader, as_frame
from hicorex.input.readers.sparse import SparseReader
from hicorex.support.compatibility import safe_indexing

__all__ = ["Form", "Reader", "SparseReader", "check_shape", "column_name", "reader_of", "rows_of", "slices"]


def reader_of(X: Any, least_samples: int = 1) -> Reader:
    """The typed columns of a table in memory.

    Parameters
    ----------
    X : array-like, data frame (pandas, polars, pyarrow) or scipy sparse table of shape (n_samples, n_columns)
    least_samples : fewer rows are refused
    """
    if issparse(X):
        return SparseReader(X, least_samples)
    frame = None if isinstance(X, np.ndarray) else as_frame(X)
    return ArrayReader.of(X, least_samples) if frame is None else FrameReader(frame, least_samples)


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a table, whatever it came as."""
    return safe_indexing(X.tocsr() if issparse(X) else X, rows)
