"""Columns of scipy's sparse tables."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.utils import check_array

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.readers.base import Form, Reader, form_of
from hicorex.input.readers.cells import as_double, numbers_or_text
from hicorex.input.readers.codes import distinct, find_codes
from hicorex.marginals import sparse

# Cells of the table of whole numbers by column that is kept at most.
MOST_SEEN = 2**22


class SparseReader(Reader):
    """Columns of a sparse table."""

    def __init__(self, X: Any, least_samples: int):
        self._table = csc_array(_checked(X, least_samples))
        self.shape = self._table.shape

    @property
    def row_cells(self) -> int:
        """The number of cells that a row stores, on average."""
        return max(1, self._table.nnz // max(1, self.shape[0]))

    def cut(self, rows: slice) -> "SparseReader":
        """Some consecutive rows."""
        return self if rows == slice(0, self.shape[0]) else type(self)(self._by_row[rows], least_samples=1)

    def take(self, rows: np.ndarray) -> "SparseReader":
        """The rows of these places."""
        return type(self)(self._by_row[rows], least_samples=1)

    def forms(self) -> list[Form]:
        """What every column holds in these rows."""
        return [form_of(self._table)] * self.shape[1]

    def categories(self, i: int) -> tuple[np.ndarray, bool]:
        """The distinct values of a column, rising, and whether any value is missing; infinities are refused."""
        if self._seen is not None:
            return (np.flatnonzero(self._seen[i]) + self._span[0]).astype(self._table.dtype), False
        values = self._cells(i)
        if values.size < self.shape[0]:
            values = np.append(values, values.dtype.type(0))
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, bool)
        return distinct(values[~missing] if missing.any() else values), bool(missing.any())

    def cells(self, columns: np.ndarray, categories: list[np.ndarray]) -> tuple[sparse.Samples, np.ndarray, np.ndarray]:
        """The cells of some columns that do not hold 0, by their place among the categories.

        Also which columns lack values, (c,), and which have a value that is none of the categories, (c,).
        """
        table = self._table[:, columns]
        stored = np.diff(table.indptr)
        column_of = np.repeat(np.arange(columns.size), stored)
        sizes = np.array([known.size for known in categories])
        whole = self._seen is not None and all(known.dtype.kind in "iub" for known in categories)
        find = self._codes_of_whole_numbers if whole else self._codes_by_column
        codes, zero = find(table, columns, categories, sizes)
        strange = codes == sizes[column_of]
        strange_zero = (zero == sizes) & (stored < self.shape[0])
        lacking = (np.bincount(column_of, strange, columns.size) > 0) | strange_zero
        if table.dtype.kind == "f":
            strange &= ~np.isnan(table.data)
        unseen = (np.bincount(column_of, strange, columns.size) > 0) | strange_zero
        kept = codes != zero[column_of]
        starts = np.searchsorted(column_of[kept], np.arange(columns.size + 1))
        samples = sparse.samples_of(starts, table.indices[kept], codes[kept], self.shape[0])
        return samples, lacking, unseen

    def _codes_of_whole_numbers(
        self, table: csc_array, columns: np.ndarray, categories: list[np.ndarray], sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The codes of the stored cells and of 0 in each column, looked up in one table for all columns."""
        low, high = self._span
        code_of = np.repeat(sizes[:, None], high - low + 1, axis=1)
        values, whose = np.concatenate(categories), np.repeat(np.arange(columns.size), sizes)
        inside = (values >= low) & (values <= high)
        code = np.arange(values.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        code_of[whose[inside], values[inside].astype(np.int64) - low] = code[inside]
        column_of = np.repeat(np.arange(columns.size), np.diff(table.indptr))
        return code_of[column_of, table.data.astype(np.int64) - low], code_of[:, -low]

    def _codes_by_column(
        self, table: csc_array, columns: np.ndarray, categories: list[np.ndarray], sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The codes of the stored cells and of 0 in each column, one column after the other."""
        codes, zero = np.empty(table.nnz, np.int64), np.empty(columns.size, np.int64)
        for at, known in enumerate(categories):
            values = np.append(self._cells(columns[at]), table.dtype.type(0))
            found, _ = find_codes(values, known, np.zeros(values.size, bool))
            codes[table.indptr[at] : table.indptr[at + 1]], zero[at] = found[:-1], found[-1]
        return codes, zero

    @cached_property
    def _by_row(self) -> csr_array:
        return csr_array(self._table)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The least and the largest number, 0 among them."""
        data = self._table.data
        return int(min(data.min(initial=0), 0)), int(max(data.max(initial=0), 0))

    @cached_property
    def _seen(self) -> np.ndarray | None:
        """Which whole numbers of the span occur in which column; None if that takes too much memory."""
        if self._table.dtype.kind not in "iub":
            return None
        low, high = self._span
        if self.shape[1] * (high - low + 1) > MOST_SEEN:
            return None
        counts = np.diff(self._table.indptr)
        seen = np.zeros((self.shape[1], high - low + 1), bool)
        seen[np.repeat(np.arange(self.shape[1]), counts), self._table.data.astype(np.int64) - low] = True
        seen[:, -low] |= counts < self.shape[0]
        return seen

    def _cells(self, i: int) -> np.ndarray:
        """The stored values of a column."""
        values = self._table.data[self._table.indptr[i] : self._table.indptr[i + 1]]
        self._check_finite(i, values)
        return values

    def _numbers(self, indices: np.ndarray) -> np.ndarray:
        return self._table[:, indices].toarray().astype(float, order="C")

    def _values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        values = self._table[:, [i]].toarray()[:, 0]
        return numbers_or_text(values, np.zeros(len(values), bool), self.column_name(i))


def _checked(X: Any, least_samples: int) -> Any:
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
