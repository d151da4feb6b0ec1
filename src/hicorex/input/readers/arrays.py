"""Columns of arrays."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from hicorex.exceptions import ColumnTypeError
from hicorex.input.readers.base import Form, Reader, form_of
from hicorex.input.readers.cells import as_double, numbers_or_text

# Bytes of neighbouring columns of whole numbers that are copied at a time.
WINDOW_BYTES = 2**21


class ArrayReader(Reader):
    """Columns of an array of two dimensions, or of what becomes one."""

    def __init__(self, array: np.ndarray):
        self._array, self.shape = array, array.shape
        self._window = (0, array[:, :0])

    @classmethod
    def of(cls, X: Any, least_samples: int) -> Self:
        """The columns of whatever becomes an array; refuses what does not."""
        return cls(_checked(_filled(X) if isinstance(X, np.ma.MaskedArray) else X, least_samples))

    def cut(self, rows: slice) -> Self:
        """Some consecutive rows."""
        return type(self)(self._array[rows])

    def take(self, rows: np.ndarray) -> Self:
        """The rows of these places."""
        return type(self)(self._array[rows])

    def forms(self) -> list[Form]:
        """What every column holds in these rows."""
        return [form_of(self._array)] * self.shape[1] if self._is_numeric else super().forms()

    @property
    def _is_numeric(self) -> bool:
        return self._array.dtype.kind in "fiub"

    def _numbers(self, indices: np.ndarray) -> np.ndarray:
        if not self._is_numeric:
            return super()._numbers(indices)
        neighbours = indices.size and indices[-1] - indices[0] + 1 == indices.size
        chosen = slice(indices[0], indices[-1] + 1) if neighbours else indices
        return np.array(self._array[:, chosen], dtype=float, order="C")

    def _values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return numbers_or_text(self._column(i), np.zeros(self.shape[0], bool), self.column_name(i))

    def _column(self, i: int) -> np.ndarray:
        """A column. Whole numbers are looked at column by column, so that they come with their neighbours."""
        array = self._array
        if array.dtype.kind not in "iub" or array.strides[0] == array.itemsize:
            return array[:, i]
        first, window = self._window
        if not first <= i < first + window.shape[1]:
            width = max(1, WINDOW_BYTES // (array.itemsize * max(array.shape[0], 1)))
            self._window = first, window = i, np.asfortranarray(array[:, i : i + width])
        return window[:, i - first]


def _filled(X: np.ma.MaskedArray) -> np.ndarray:
    """A masked array as one in which what is masked is missing."""
    if X.dtype.kind in "fiub":
        return np.ma.filled(as_double(X).astype(float), np.nan)
    return np.ma.filled(X.astype(object), None)


def _checked(X: Any, least_samples: int) -> np.ndarray:
    """An array of two dimensions; of lists that mix numbers and text, one in which each value is what it was."""
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind == "U":
        X = np.array(X, dtype=object)
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.names:
        raise ColumnTypeError(
            f"X is a structured array of the fields {', '.join(dtype.names)}; pass pandas.DataFrame(X), a column each."
        )
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ColumnTypeError(
            f"Complex data not supported: X has type {dtype}; give X.real and X.imag columns of their own."
        )
    checked = check_array(
        X,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=least_samples,
        ensure_min_features=1,
        input_name="X",
    )
    return as_double(checked)
