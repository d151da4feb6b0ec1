"""Columns of a categorical type as codes and values, so that no sample becomes a Python object of its own."""

from typing import Any

import numpy as np


def split_categories(series: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The values that occur in a narwhals series of a categorical type, and the code of each sample.

    Codes are -1 where a value is missing. The values need not be all different, nor in order. None if the
    library behind the series does not tell its codes.
    """
    native = series.to_native()
    if series.implementation.is_polars():
        native = native.to_arrow()
    if hasattr(native, "unify_dictionaries"):
        native = native.unify_dictionaries().combine_chunks()
    if hasattr(native, "dictionary"):
        codes = native.indices.cast("int64").fill_null(-1).to_numpy()
        values = native.dictionary.to_numpy(zero_copy_only=False)
    elif hasattr(getattr(native, "dtype", None), "categories"):
        codes, values = native.cat.codes.to_numpy().astype(np.int64), native.cat.categories.to_numpy()
    else:
        return None
    occurs = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    return keep_values(values, codes, occurs)


def keep_values(values: np.ndarray, codes: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Only some of the values; samples of the others become missing."""
    if kept.all():
        return values, codes
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return values[kept], place[codes]
