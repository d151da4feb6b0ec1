"""Checks of single values from a file: their types, the shape and range of an array, whether two values agree.

Compiled loops check no index, so whatever comes from a file is checked before it reaches one.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from reprlib import repr as short
from typing import Any

import numpy as np

from hicorex.exceptions import HicorexError, UnsoundError

# No count of samples, iterations or factors is as large as this.
MOST = 2**62
# No number of nats or standardised value either: their squares stay finite.
LARGEST = 1e100
# Probabilities may exceed one by rounding.
ROUNDING = 1e-4


@contextmanager
def checking() -> Iterator[None]:
    """Make any error within an UnsoundError: what is checked may lack an attribute, say."""
    try:
        yield
    except UnsoundError:
        raise
    except HicorexError as error:
        raise UnsoundError(str(error).rstrip(".")) from error
    except Exception as error:
        raise UnsoundError(f"{type(error).__name__}: {str(error)[:200].rstrip('.')}") from error


def is_a(kind: type, value: Any, what: str) -> Any:
    """A value of this type."""
    if not isinstance(value, kind):
        raise UnsoundError(f"{what} is of type {type(value).__name__}, not {kind.__name__}")
    return value


def agree(truth: Any, what: str, with_what: str) -> None:
    """Refuse two things that do not agree; ``truth`` says whether they do."""
    if not truth:
        raise UnsoundError(f"{what} and {with_what} do not agree")


def known(keys: Collection[str], names: Collection[str]) -> None:
    """Refuse keys that are none of these names."""
    for key in keys:
        agree(key in names, f"an entry {short(key)}", "what is stored")


def list_of(kind: type, values: Any, what: str, size: int | None = None) -> Any:
    """A list of values of this type; of this size, if one is given."""
    is_a(list, values, what)
    if size is not None and len(values) != size:
        raise UnsoundError(f"{what}: there are {len(values)}, not {size}")
    for value in values:
        is_a(kind, value, what)
    return values


def texts(values: Any, what: str) -> list[str]:
    """A list of texts."""
    return list_of(str, values, what)


def whole_list(values: Any, what: str, least: int, most: int = MOST) -> list[int]:
    """A list of whole numbers within limits."""
    for value in is_a(list, values, what):
        whole(value, what, least, most)
    return values


def whole(value: Any, what: str, least: int, most: int = MOST) -> int:
    """A whole number within limits."""
    if type(value) is not int or not least <= value <= most:
        raise UnsoundError(f"{what} is {short(value)}, not a whole number from {least} to {most}")
    return value


def number(value: Any, what: str, least: float = -LARGEST, missing: bool = False, infinite: bool = False) -> None:
    """A finite number; it may be NaN if it may be missing."""
    if type(value) not in (int, float):
        raise UnsoundError(f"{what} is {short(value)}, not a number")
    if not (least <= value <= LARGEST or (missing and value != value) or (infinite and abs(value) == np.inf)):
        raise UnsoundError(f"{what} is {short(value)}, out of range")


def array_of(
    array: Any,
    what: str,
    kinds: str,
    shape: tuple[int | None, ...] | None,
    least: float = -LARGEST,
    most: float = LARGEST,
) -> np.ndarray:
    """An array of one of these kinds of types, of this shape, None standing for any, finite and within limits."""
    is_a(np.ndarray, array, what)
    if array.dtype.kind not in kinds or (array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)):
        raise UnsoundError(f"{what} is an array of {array.dtype}")
    if shape is not None and (
        len(shape) != array.ndim or any(want not in (None, size) for want, size in zip(shape, array.shape, strict=True))
    ):
        raise UnsoundError(f"{what} has the shape {array.shape}, which does not agree with the rest")
    if array.dtype.kind in "fiu" and array.size:
        low, high = array.min(), array.max()  # NaN if any is
        if not (least <= low and high <= most and np.isfinite(low) and np.isfinite(high)):
            raise UnsoundError(f"{what} has values out of range")
    return array
