"""Columns of data frames: pandas, polars, pyarrow, and others that narwhals knows."""

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.readers.base import SLICE, Form, Reader, check_shape
from hicorex.input.readers.cells import numbers_or_text
from hicorex.input.readers.codes import find_codes
from hicorex.input.readers.frame_columns import keep_values, plain_columns, plain_numbers, split_categories
from hicorex.input.times import days_of

# Cells of plain numbers that are taken from a data frame at a time.
WINDOW_CELLS = 2**22


class FrameReader(Reader):
    """Columns of a data frame."""

    def __init__(self, frame: nw.DataFrame, least_samples: int):
        check_shape(frame.shape, least_samples)
        self.names = [str(name) for name in frame.columns]
        self._frame, self.shape = frame, frame.shape
        self._plain = plain_columns(frame.to_native(), frame.shape[1])
        self._window: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def cut(self, rows: slice) -> Self:
        """Some consecutive rows."""
        return type(self)(self._frame[rows], least_samples=0)

    def take(self, rows: np.ndarray) -> Self:
        """The rows of these places."""
        return type(self)(self._frame[rows.tolist(), :], least_samples=0)

    def categories(self, i: int) -> tuple[np.ndarray, bool]:
        """The distinct values of a column, rising, and whether any value is missing; infinities are refused."""
        coded = self._coded(i)
        if coded is None:
            return super().categories(i)
        values, codes = coded
        self._check_finite(i, values)
        return np.unique(values), bool((codes < 0).any())

    def codes(self, i: int, categories: np.ndarray) -> tuple[np.ndarray, bool]:
        """The place of each value of a column among the categories, and whether any value is none of them."""
        coded = self._coded(i)
        if coded is None:
            return super().codes(i, categories)
        values, codes = coded
        self._check_finite(i, values)
        places, unseen = find_codes(values, categories, np.zeros(len(values), bool))
        return np.append(places, categories.size)[codes], unseen

    def _form(self, i: int) -> Form:
        if not self._plain[i]:
            dtype = self._frame[:, i].dtype
            if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):  # also if there is nothing in it
                return Form.CATEGORIES
        return super()._form(i)

    def _coded(self, i: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The values that occur in a column of a categorical type and the code of each sample, -1 where missing.

        The values need not all be different, nor in order. None for columns of other types.
        """
        if self._plain[i]:
            return None
        series = self._frame[:, i]
        if series.dtype not in (nw.Categorical, nw.Enum):
            return None
        found = split_categories(series)
        if found is None:
            return None
        values, codes = found
        values, missing = numbers_or_text(values, np.zeros(len(values), bool), self.column_name(i))
        if missing.any():
            values, codes = keep_values(values, codes, ~missing)
        return (values if values.size else np.zeros(0)), codes

    def _values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        coded = self._coded(i)
        if coded is not None:
            return np.append(coded[0], coded[0][:1] if coded[0].size else 0)[coded[1]], coded[1] < 0
        values, missing = self._plain_values(i) if self._plain[i] else self._any_values(i)
        return numbers_or_text(values, missing, self.column_name(i))

    def _plain_values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """A column of plain numbers, taken with those beside it, since one by one is slow."""
        if i not in self._window:
            width = max(1, min(SLICE, WINDOW_CELLS // self.shape[0]))
            first = i - i % width
            chosen = (first + np.flatnonzero(self._plain[first : first + width])).tolist()
            self._window = plain_numbers(self._frame.to_native(), chosen)
        return self._window[i]

    def _any_values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """A column of any other type, and which of its values are missing; some types are refused."""
        series, name = self._frame[:, i], self.column_name(i)
        if series.dtype.is_temporal():
            days = days_of(series.to_arrow())
            return days, np.isnan(days)
        if series.dtype in (nw.Int128, nw.UInt128):
            raise ColumnTypeError(
                f"Column {name} has type {series.dtype}; make it integers of 64 bits, floats or text."
            )
        if series.dtype.is_nested():
            raise ColumnTypeError(f"Column {name} holds {series.dtype}; give each value a column of its own.")
        missing = series.is_null().to_numpy().astype(bool)
        if missing.any():
            filler = series.drop_nulls()
            series = (
                series.fill_null(filler[0])
                if len(filler)
                else nw.new_series("empty", [0.0] * len(series), nw.Float64, backend=series.implementation)
            )
        return series.to_numpy(), missing


def as_frame(X: Any) -> nw.DataFrame | None:
    """X as a data frame of narwhals, None if it is none."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(X, "column_names", X.columns)]
        twice = next(name for name in names if names.count(name) > 1)
        raise HicorexError(f"X has two columns of the name {twice!r}; rename one of them.") from None
    if isinstance(frame, nw.LazyFrame):
        raise ColumnTypeError("X is a lazy frame; pass X.collect(), a table that is there.")
    return frame if isinstance(frame, nw.DataFrame) else None
