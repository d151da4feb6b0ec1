"""Typed columns of arrays and data frames, the same way for every table."""

import copy
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.utils import check_array

from hicorex.compatibility import safe_indexing
from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.cells import as_double, numbers_or_text
from hicorex.input.frames import keep_values, plain_columns, plain_numbers, split_categories
from hicorex.marginals import sparse

# Columns taken from a table at a time.
SLICE = 256
WINDOW_CELLS = 2**22


class Reader:
    """A table as named columns, whatever it came as.

    Parameters
    ----------
    X : array-like, data frame (pandas, polars, pyarrow) or scipy sparse table of shape (n_samples, n_columns)
    """

    def __init__(self, X: Any, least_samples: int = 2):
        self.names: list[str] | None = None
        self.sparse: csc_array | None = csc_array(_checked_sparse(X, least_samples)) if issparse(X) else None
        if self.sparse is not None:
            self._array, self.shape = None, self.sparse.shape
            return
        if isinstance(X, np.ma.MaskedArray):
            X = (
                np.ma.filled(as_double(X).astype(float), np.nan)
                if X.dtype.kind in "fiub"
                else np.ma.filled(X.astype(object), None)
            )
        try:
            frame = nw.from_native(X, pass_through=True)
        except nw.exceptions.DuplicateError:
            names = [str(name) for name in getattr(X, "column_names", X.columns)]
            twice = next(name for name in names if names.count(name) > 1)
            raise HicorexError(f"X has two columns of the name {twice!r}; rename one of them.") from None
        if isinstance(frame, nw.LazyFrame):
            raise ColumnTypeError("X is a lazy frame; pass X.collect(), a table that is there.")
        if isinstance(frame, nw.DataFrame):
            self.names = [str(name) for name in frame.columns]
            self._frame = frame
            self._plain = plain_columns(frame.to_native(), frame.shape[1])
            self._window: dict[int, tuple[np.ndarray, np.ndarray]] = {}
            self.shape = frame.shape
            self._array = None
            check_shape(self.shape, least_samples)
        else:
            self._array = _checked_array(X, least_samples)
            self.shape = self._array.shape

    @property
    def row_cells(self) -> int:
        """How many cells a sample has, on average."""
        return self.shape[1] if self.sparse is None else max(1, self.sparse.nnz // max(1, self.shape[0]))

    def column_name(self, i: int) -> str:
        """How messages call a column."""
        return column_name(self.names, i)

    def cut(self, rows: slice) -> Self:
        """Some consecutive samples."""
        if self.sparse is not None:
            every = slice(0, self.shape[0])
            return self if rows == every else type(self)(self._by_row[rows], least_samples=1)
        some = copy.copy(self)
        if self._array is not None:
            part = self._array[rows]
            # Whole numbers are looked at column by column.
            some._array = np.asfortranarray(part) if part.dtype.kind in "iub" else part
            some.shape = some._array.shape
        else:
            some._frame = self._frame[rows]
            some._plain = plain_columns(some._frame.to_native(), self.shape[1])
            some._window = {}
            some.shape = some._frame.shape
        return some

    def kind(self, i: int) -> str:
        """What "auto" makes of a column: floats are Gaussian, everything else is categorical."""
        if self._array is None and self.sparse is None and not self._plain[i]:
            dtype = self._frame[:, int(i)].dtype
            if dtype in (nw.String, nw.Boolean) or dtype.is_integer():  # also if there is nothing in it
                return "categorical"
        values, _ = self._coded(i) or self._values(i)
        return "gaussian" if values.dtype.kind == "f" else "categorical"

    def kinds(self) -> list[str]:
        """What "auto" makes of every column."""
        whole = self._array if self.sparse is None else self.sparse
        if whole is not None and whole.dtype.kind in "fiub":
            return ["gaussian" if whole.dtype.kind == "f" else "categorical"] * self.shape[1]
        return [self.kind(i) for i in range(self.shape[1])]

    def numbers(self, indices: np.ndarray) -> np.ndarray:
        """Columns as a new float64 array (n_samples, len(indices)), NaN where missing."""
        if self._array is not None and self._array.dtype.kind in "fiub":
            neighbours = indices.size and indices[-1] - indices[0] + 1 == indices.size
            own = slice(indices[0], indices[-1] + 1) if neighbours else indices
            numbers = np.array(self._array[:, own], dtype=float, order="C")
        elif self.sparse is not None:
            numbers = self.sparse[:, indices].toarray().astype(float, order="C")
        else:
            numbers = np.empty((self.shape[0], len(indices)))
            for at, i in enumerate(indices):
                values, missing = self._values(i)
                if values.dtype.kind not in "fiub":
                    raise ColumnTypeError(
                        f'Column {self.column_name(i)} holds text: it needs marginals "categorical", '
                        "or numbers instead."
                    )
                numbers[:, at] = np.where(missing, np.nan, values)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(numbers.sum())  # a quick look, since that may well be NaN
        if not finite and np.isinf(numbers).any():
            self._refuse_infinity(indices[np.isinf(numbers).any(axis=0).argmax()])
        return numbers

    def categories(self, i: int) -> tuple[np.ndarray, bool]:
        """The distinct values of a column, rising, and whether any value is missing; infinities are refused."""
        if self._seen is not None and self.sparse is not None:
            return (np.flatnonzero(self._seen[i]) + self._span[0]).astype(self.sparse.dtype), False
        if self.sparse is not None:
            values = self._cells(i)
            if values.size < self.shape[0]:
                values = np.append(values, values.dtype.type(0))
            missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, bool)
        else:
            values, missing = self._coded(i) or self._values(i)
        if values.dtype.kind == "f" and np.isinf(values).any():
            self._refuse_infinity(i)
        if missing.dtype != bool:
            return np.unique(values), bool((missing < 0).any())
        return _distinct(values[~missing] if missing.any() else values), bool(missing.any())

    def codes(self, i: int, categories: np.ndarray) -> tuple[np.ndarray, bool]:
        """The place of each value of a column among the categories, and whether any value is none of them."""
        coded = self._coded(i)
        values, missing = self._values(i) if coded is None else (coded[0], np.zeros(len(coded[0]), bool))
        if values.dtype.kind == "f" and np.isinf(values).any():
            self._refuse_infinity(i)
        found, new = find_codes(values, categories, missing)
        return (found if coded is None else np.append(found, categories.size)[coded[1]]), new

    def cells(self, columns: np.ndarray, categories: list[np.ndarray]) -> tuple[sparse.Samples, np.ndarray, np.ndarray]:
        """The cells of some columns of a sparse table that do not hold 0, by their place among the categories.

        Also which columns lack values, (c,), and which have a value that is none of the categories, (c,).
        """
        assert self.sparse is not None
        own = self.sparse[:, columns]
        column_of = np.repeat(np.arange(columns.size), np.diff(own.indptr))
        sizes = np.array([known.size for known in categories])
        if self._seen is not None and all(known.dtype.kind in "iub" for known in categories):
            low, high = self._span
            table = np.repeat(sizes[:, None], high - low + 1, axis=1)
            values, whose = np.concatenate(categories), np.repeat(np.arange(columns.size), sizes)
            inside = (values >= low) & (values <= high)
            code = np.arange(values.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            table[whose[inside], values[inside].astype(np.int64) - low] = code[inside]
            codes, zero = table[column_of, own.data.astype(np.int64) - low], table[:, -low]
        else:
            codes, zero = np.empty(own.nnz, np.int64), np.empty(columns.size, np.int64)
            for at, known in enumerate(categories):
                cells = slice(own.indptr[at], own.indptr[at + 1])
                values = np.append(self._cells(columns[at]), own.dtype.type(0))
                found, _ = find_codes(values, known, np.zeros(values.size, bool))
                codes[cells], zero[at] = found[:-1], found[-1]
        strange = codes == sizes[column_of]
        strange_zero = (zero == sizes) & (np.diff(own.indptr) < self.shape[0])
        lacking = (np.bincount(column_of, strange, columns.size) > 0) | strange_zero
        if own.dtype.kind == "f":
            strange &= ~np.isnan(own.data)
        unseen = (np.bincount(column_of, strange, columns.size) > 0) | strange_zero
        stored = codes != zero[column_of]
        starts = np.searchsorted(column_of[stored], np.arange(columns.size + 1))
        samples = sparse.samples_of(starts, own.indices[stored], codes[stored], self.shape[0])
        return samples, lacking, unseen

    @cached_property
    def _by_row(self) -> csr_array:
        return csr_array(self.sparse)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The least and the largest number of a sparse table."""
        data = self.sparse.data if self.sparse is not None else np.empty(0)
        return int(min(data.min(initial=0), 0)), int(max(data.max(initial=0), 0))

    @cached_property
    def _seen(self) -> np.ndarray | None:
        """Which whole numbers of the span occur in which column of a sparse table; None if that takes too much room."""
        if self.sparse is None or self.sparse.dtype.kind not in "iub":
            return None
        low, high = self._span
        if self.shape[1] * (high - low + 1) > WINDOW_CELLS:
            return None
        counts = np.diff(self.sparse.indptr)
        seen = np.zeros((self.shape[1], high - low + 1), bool)
        seen[np.repeat(np.arange(self.shape[1]), counts), self.sparse.data.astype(np.int64) - low] = True
        seen[:, -low] |= counts < self.shape[0]
        return seen

    def _cells(self, i: int) -> np.ndarray:
        """The stored values of a column of a sparse table."""
        assert self.sparse is not None
        values = self.sparse.data[self.sparse.indptr[i] : self.sparse.indptr[i + 1]]
        if values.dtype.kind == "f" and np.isinf(values).any():
            self._refuse_infinity(i)
        return values

    def _refuse_infinity(self, i: int) -> None:
        raise HicorexError(
            f"Column {self.column_name(i)} has an infinity in it, or a number beyond 1.8e308; make it a number below, "
            "or NaN for missing."
        )

    def _coded(self, i: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The values that occur in a column of a categorical type and the code of each sample, -1 where missing.

        The values need not all be different, nor in order. None for columns of other types.
        """
        if self._array is not None or self.sparse is not None or self._plain[i]:
            return None
        series = self._frame[:, int(i)]
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

    def _plain_values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """A column of plain numbers, taken with those beside it, since one by one is slow."""
        if i not in self._window:
            width = max(1, min(SLICE, WINDOW_CELLS // self.shape[0]))
            first = i - i % width
            own = (first + np.flatnonzero(self._plain[first : first + width])).tolist()
            self._window = plain_numbers(self._frame.to_native(), own)
        return self._window[i]

    def _values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        coded = self._coded(i)
        if coded is not None:
            return np.append(coded[0], coded[0][:1] if coded[0].size else 0)[coded[1]], coded[1] < 0
        if self._array is not None:
            values = self._array[:, i]
            missing = np.zeros(len(values), bool)
        elif self.sparse is not None:
            values = self.sparse[:, [i]].toarray()[:, 0]
            missing = np.zeros(len(values), bool)
        elif self._plain[i]:
            values, missing = self._plain_values(int(i))
        else:
            series = self._frame[:, int(i)]
            if series.dtype.is_temporal():
                raise ColumnTypeError(
                    f"Column {self.column_name(i)} holds dates or times; leave it out or turn it into a number or a "
                    "category."
                )
            if series.dtype in (nw.Int128, nw.UInt128):
                raise ColumnTypeError(
                    f"Column {self.column_name(i)} has type {series.dtype}; make it integers of 64 bits, floats or "
                    "text."
                )
            if series.dtype.is_nested():
                raise ColumnTypeError(
                    f"Column {self.column_name(i)} holds {series.dtype}; give each value a column of its own."
                )
            missing = series.is_null().to_numpy().astype(bool)
            if missing.any():
                filler = series.drop_nulls()
                series = (
                    series.fill_null(filler[0])
                    if len(filler)
                    else nw.new_series("empty", [0.0] * len(series), nw.Float64, backend=series.implementation)
                )
            values = series.to_numpy()
        return numbers_or_text(values, missing, self.column_name(i))


def _checked_array(X: Any, least_samples: int) -> np.ndarray:
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


def _checked_sparse(X: Any, least_samples: int) -> Any:
    """A sparse table column after column, each cell once."""
    if X.ndim != 2:
        raise HicorexError("X is a sparse array of one dimension; give two, samples and columns.")
    if X.dtype.kind not in "fiub":
        raise ColumnTypeError(f"X is a sparse table of type {X.dtype}; make it numbers.")
    checked = check_array(
        as_double(X),
        accept_sparse="csc",
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=least_samples,
        ensure_min_features=1,
        input_name="X",
    )
    if not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some samples of a table, whatever it came as."""
    return safe_indexing(X.tocsr() if issparse(X) else X, rows)


def column_name(names: list[str] | None, i: int) -> str:
    """How messages call a column of a table with these names of columns, or with none."""
    return repr(names[i]) if names else str(i)


def check_shape(shape: tuple[int, int], least_samples: int) -> None:
    """Refuse a table of too few rows or columns."""
    for size, least, what in ((shape[0], least_samples, "sample"), (shape[1], 1, "feature")):
        if size < least:
            raise HicorexError(
                f"Found array with {size} {what}(s) (shape={shape}) while a minimum of {least} is required."
            )


def _range(values: np.ndarray) -> tuple[int, int] | None:
    """The least and the largest of whole numbers that lie close enough together to be looked up in a table."""
    if values.dtype.kind not in "iub" or not values.size:
        return None
    low, high = int(values.min()), int(values.max())
    return (low, high) if high < 2**62 and high - low < 2**16 else None


def _distinct(values: np.ndarray) -> np.ndarray:
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


def slices(columns: np.ndarray) -> list[np.ndarray]:
    """Columns a few at a time, so that what is made on the way stays small."""
    return [columns[first : first + SLICE] for first in range(0, columns.size, SLICE)]
