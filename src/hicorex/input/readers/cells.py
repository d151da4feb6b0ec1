"""The cells of a column, whatever they are, as numbers or text."""

from decimal import Decimal
from typing import Any

import numpy as np

from hicorex.exceptions import ColumnTypeError


def numbers_or_text(values: np.ndarray, missing: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Values as numbers or text, and which of them are missing."""
    if values.dtype.kind in "OT":
        values, missing = _plain(values.astype(object), missing, name)
    if values.dtype.kind == "f":
        values = as_double(values)
        missing = missing | np.isnan(values)
    if values.dtype.kind not in "fiubUS":
        raise ColumnTypeError(f"Column {name} has type {values.dtype}; make it numbers or text.")
    return values, missing


def as_double(values: Any) -> Any:
    """Floats of more than 64 bits rounded to 64, infinite beyond the largest; others as they are."""
    if values.dtype.kind != "f" or values.dtype.itemsize <= 8:
        return values
    with np.errstate(over="ignore"):
        return values.astype(float)


def _plain(values: np.ndarray, missing: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """An object column as numbers or text; one without any value fits either."""
    missing = missing | np.fromiter(map(is_missing, values), bool, len(values))
    kinds = {type(v) for v in values[~missing]}
    if not kinds:
        return np.full(len(values), np.nan), missing
    if all(issubclass(kind, str) for kind in kinds):
        return np.where(missing, "", values).astype(str), missing
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.where(missing, False, values).astype(bool), missing
    if all(issubclass(kind, int | np.integer) and not issubclass(kind, bool) for kind in kinds):
        plain = np.where(missing, 0, values)
        if max(abs(int(v)) for v in plain) >= 2**63:
            raise ColumnTypeError(f"Column {name} has integers of more than 64 bits; make them floats or text.")
        return plain.astype(np.int64), missing
    if all(issubclass(kind, int | float | Decimal | np.integer | np.floating) and kind is not bool for kind in kinds):
        with np.errstate(over="ignore"):
            return np.fromiter(map(_number, np.where(missing, np.nan, values)), float, len(values)), missing
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    what = f"mixes types ({found})" if len(kinds) > 1 else f"holds values of type {found}"
    raise ColumnTypeError(
        f"Column {name} {what}; each argument must be a string or a number, and a column all of one kind. Make it all "
        "numbers or all text, or leave it out."
    )


def _number(value: Any) -> float:
    """A number as a float, infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:  # of a whole number; others become infinite by themselves
        return np.inf


def is_missing(value: Any) -> bool:
    """Whether a single value is None, a NaN of any type, a time that is none, or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and value != value
