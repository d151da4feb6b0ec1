"""The samples of a fit: what a model in memory keeps of them, and what can be asked of tables that are given."""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from hicorex.input.sources import Source, disk_source
from hicorex.input.sources.collection import is_collection


class Training(NamedTuple):
    """The samples of a fit, and their sample_weight, None if each counts once. Files do not hold them."""

    samples: Any
    sample_weight: np.ndarray | None

    @classmethod
    def of(cls, X: Any, table: Source, sample_weight: np.ndarray | None) -> "Training":
        """The samples as they were given; with a sample_weight, only those that it counts."""
        if sample_weight is None:
            return cls(X, None)
        return cls(table.head if table.in_memory else table, sample_weight)


def names_of_columns(table: Source) -> np.ndarray | None:
    """The names by which scikit-learn knows the columns of a table, None if it has none."""
    probe = BaseEstimator()
    validate_data(probe, table.head, skip_check_array=True)
    return getattr(probe, "feature_names_in_", None)


def has_rows_here(X: Any) -> bool:
    """Whether rows of X can be picked, as of an array or a memory map, but not of a file or a Dask collection."""
    if isinstance(X, str | PathLike | Source):
        return False
    return isinstance(X, np.ndarray) or not (is_collection(X) or disk_source(X) is not None)
