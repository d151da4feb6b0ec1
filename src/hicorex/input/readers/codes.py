"""The distinct values of a column, and the places of values among them."""

import numpy as np


def _range(values: np.ndarray) -> tuple[int, int] | None:
    """The least and the largest of whole numbers that lie close enough together to be looked up in a table."""
    if values.dtype.kind not in "iub" or not values.size:
        return None
    low, high = int(values.min()), int(values.max())
    return (low, high) if high < 2**62 and high - low < 2**16 else None


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, rising."""
    span = _range(values)
    if span is None:
        return np.unique(values)
    occurs = np.zeros(span[1] - span[0] + 1, bool)
    occurs[_places(values, span[0])] = True
    return (np.flatnonzero(occurs) + span[0]).astype(values.dtype)


def find_codes(values: np.ndarray, categories: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, bool]:
    """The code of each value, and whether any value is none of the categories.

    The code is the place among the categories. Missing and other values have the number of categories as their code.
    """
    if categories.size == 0:
        return np.zeros(values.size, np.intp), bool(np.any(~missing))
    if (values.dtype.kind in "US") != (categories.dtype.kind in "US"):
        return np.full(values.size, categories.size), bool(np.any(~missing))
    span, known_span = _range(values), _range(categories)
    if span is not None and known_span is not None:
        low, high = min(span[0], known_span[0]), max(span[1], known_span[1])
        if high - low < 2**20:
            table = np.full(high - low + 1, categories.size, np.min_scalar_type(categories.size))
            table[_places(categories, low)] = np.arange(categories.size)
            codes = table[_places(values, low)]
            return _without(codes, missing, categories.size, codes == categories.size)
    codes = np.minimum(np.searchsorted(categories, values), categories.size - 1)
    strange = categories[codes] != values
    codes[strange] = categories.size
    return _without(codes, missing, categories.size, strange)


def _places(values: np.ndarray, low: int) -> np.ndarray:
    """Whole numbers from low on as indices."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    return values if low == 0 and values.dtype.kind == "u" else values.astype(np.int64) - low


def _without(codes: np.ndarray, missing: np.ndarray, gap: int, strange: np.ndarray) -> tuple[np.ndarray, bool]:
    """The codes with missing values marked, and whether any other value is strange."""
    if missing.any():
        codes[missing] = gap
        strange = strange & ~missing
    return codes, bool(strange.any())
