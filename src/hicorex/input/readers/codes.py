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
    found = _range(values)
    if found is None:
        return np.unique(values)
    occurs = np.zeros(found[1] - found[0] + 1, bool)
    occurs[_places(values, found[0])] = True
    return (np.flatnonzero(occurs) + found[0]).astype(values.dtype)


def find_codes(values: np.ndarray, categories: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, bool]:
    """The code of each value, the number of categories where it is missing or none of them."""
    if categories.size == 0:
        return np.zeros(values.size, np.intp), bool(np.any(~missing))
    if (values.dtype.kind in "US") != (categories.dtype.kind in "US"):
        return np.full(values.size, categories.size), bool(np.any(~missing))
    own, known = _range(values), _range(categories)
    if own is not None and known is not None:
        low, high = min(own[0], known[0]), max(own[1], known[1])
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
    """Codes with that of missing values where these are, and whether anything else is strange."""
    if missing.any():
        codes[missing] = gap
        strange = strange & ~missing
    return codes, bool(strange.any())
