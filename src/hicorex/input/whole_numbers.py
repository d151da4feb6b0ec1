"""The few different whole numbers of columns, which may stand for categories."""

import numpy as np

from hicorex.input.column_kinds import MOST_CODES
from hicorex.input.readers import Reader, SparseReader
from hicorex.input.readers.codes import distinct

# Rows that tell of most columns that they are none of codes.
SOME_ROWS = 1000


def few_whole_numbers(numbers: np.ndarray) -> list[np.ndarray | None]:
    """By column of (T, c), its different values, rising; None if there are many, or any is no whole number.

    NaN is missing.

    >>> few_whole_numbers(np.array([[0.0, 0.5, np.nan], [1.0, 1.0, 7.0]]))
    [array([0., 1.]), None, array([7.])]
    """
    whole = _all_whole(numbers[:SOME_ROWS])
    whole[whole] = _all_whole(numbers[:, whole])
    return [_few(column) if is_whole else None for column, is_whole in zip(numbers.T, whole.tolist(), strict=True)]


class WholeNumbers:
    """The few different values of columns that are read one by one: integers, and numbers of sparse tables."""

    def __init__(self, table: Reader):
        self._table, self._some = table, None
        if table.shape[0] > 2 * SOME_ROWS and not isinstance(table, SparseReader):
            self._some = table.cut(slice(0, SOME_ROWS))

    def few(self, i: int) -> tuple[np.ndarray | None, bool]:
        """The different values of a column, rising, None as above; and whether any is missing, if they are few."""
        if self._some is not None and self._some.categories(i)[0].size > MOST_CODES:
            return None, False
        values, lacks = self._table.categories(i)
        if values.size > MOST_CODES or (values != np.rint(values)).any():
            return None, False
        return values, lacks


def _all_whole(numbers: np.ndarray) -> np.ndarray:
    return ((numbers == np.rint(numbers)) | np.isnan(numbers)).all(axis=0)


def _few(column: np.ndarray) -> np.ndarray | None:
    known = column[~np.isnan(column)]
    if not known.size:
        return known
    if np.unique(known[:SOME_ROWS]).size > MOST_CODES:
        return None
    low = known.min()
    near = known.max() - low < 2**16
    values = distinct((known - low).astype(np.int64)) + low if near else np.unique(known)
    return None if values.size > MOST_CODES else values
