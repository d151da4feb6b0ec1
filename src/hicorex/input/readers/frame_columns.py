"""Fast ways into data frames: many columns of numbers at a time, and categories by their codes."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def plain_columns(native: Any, n_columns: int) -> np.ndarray:
    """Which columns of a data frame ``plain_numbers`` can give: numbers, as far as its library is known."""
    library = type(native).__module__.partition(".")[0]
    if library == "pandas":
        return np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in native.dtypes], bool)
    if library == "polars":
        whole = [count == 0 for count in native.null_count().row(0)]
        known = [d.is_numeric() and not d.is_decimal() and "128" not in str(d) for d in native.dtypes]
        return np.logical_and(known, whole)
    if library == "pyarrow":
        names = ("int", "uint", "float", "double")
        plain = [str(kind).rstrip("0123456789") in names for kind in native.schema.types]
        some = [column.null_count < len(column) for column in native.columns]
        return np.logical_and(plain, some)
    return np.zeros(n_columns, bool)


def plain_numbers(native: Any, indices: list[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """By index of a plain column, its values and which of them are missing; NaN is not counted as missing."""
    if hasattr(native, "combine_chunks"):
        return dict(zip(indices, _arrow_numbers(native.select(indices)), strict=True))
    some = native.iloc[:, indices] if hasattr(native, "iloc") else native[:, indices]
    groups: dict[str, list[int]] = {}
    for at, dtype in enumerate(some.dtypes):
        groups.setdefault(str(dtype), []).append(at)
    none = np.zeros(len(native), bool)
    numbers = {}
    for group in groups.values():
        matrix = (some.iloc[:, group] if hasattr(some, "iloc") else some[:, group]).to_numpy()
        numbers.update({indices[at]: (values, none) for at, values in zip(group, matrix.T, strict=True)})
    return numbers


def _arrow_numbers(table: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    none = np.zeros(len(table), bool)
    for column in table.columns:
        if column.null_count:
            yield column.fill_null(0).to_numpy(), column.is_null().to_numpy()
        else:
            yield column.to_numpy(), none


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
