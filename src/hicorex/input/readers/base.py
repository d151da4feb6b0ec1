"""What every reader can do: give the typed columns of some rows."""

from abc import ABC, abstractmethod
from enum import Enum, auto

import numpy as np

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.readers.codes import distinct, find_codes

# Columns taken from a table at a time.
SLICE = 256


class Form(Enum):
    """What some rows of a column hold: values of these decide what numbers are, all others are categories."""

    FLOATS = auto()
    INTEGERS = auto()
    CATEGORIES = auto()
    NOTHING = auto()

    @property
    def is_numeric(self) -> bool:
        """Whether the column can be one of amounts."""
        return self in (Form.FLOATS, Form.INTEGERS)


class Reader(ABC):
    """Some rows of a table as typed columns, whatever they came as.

    shape, names : of the rows; names is None if the columns have none
    """

    shape: tuple[int, int]
    names: list[str] | None = None

    @property
    def row_cells(self) -> int:
        """The number of cells that a row stores, on average."""
        return self.shape[1]

    def column_name(self, i: int) -> str:
        """How messages call a column."""
        return column_name(self.names, i)

    @abstractmethod
    def cut(self, rows: slice) -> "Reader":
        """Some consecutive rows."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> "Reader":
        """The rows of these places."""

    def forms(self) -> list[Form]:
        """What every column holds in these rows."""
        return [self._form(i) for i in range(self.shape[1])]

    def numbers(self, indices: np.ndarray) -> np.ndarray:
        """Columns as a new float64 array (n_samples, len(indices)), NaN where missing; infinities are refused."""
        numbers = self._numbers(indices)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(numbers.sum())  # a quick look, since that may well be NaN
        if not finite and np.isinf(numbers).any():
            self._refuse_infinity(indices[np.isinf(numbers).any(axis=0).argmax()])
        return numbers

    def categories(self, i: int) -> tuple[np.ndarray, bool]:
        """The distinct values of a column, rising, and whether any value is missing; infinities are refused."""
        values, missing = self._values(i)
        self._check_finite(i, values)
        return distinct(values[~missing] if missing.any() else values), bool(missing.any())

    def codes(self, i: int, categories: np.ndarray) -> tuple[np.ndarray, bool]:
        """The place of each value of a column among the categories, and whether any value is none of them."""
        values, missing = self._values(i)
        self._check_finite(i, values)
        return find_codes(values, categories, missing)

    @abstractmethod
    def _values(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The values of a column as numbers or text, and which of them are missing."""

    def _form(self, i: int) -> Form:
        values, missing = self._values(i)
        return Form.NOTHING if missing.all() else form_of(values)

    def _numbers(self, indices: np.ndarray) -> np.ndarray:
        numbers = np.empty((self.shape[0], len(indices)))
        for at, i in enumerate(indices.tolist()):
            values, missing = self._values(i)
            if values.dtype.kind not in "fiub":
                raise ColumnTypeError(
                    f'Column {self.column_name(i)} holds text: it needs marginals "categorical", or numbers instead.'
                )
            numbers[:, at] = np.where(missing, np.nan, values)
        return numbers

    def _check_finite(self, i: int, values: np.ndarray) -> None:
        if values.dtype.kind == "f" and np.isinf(values).any():
            self._refuse_infinity(i)

    def _refuse_infinity(self, i: int) -> None:
        raise HicorexError(
            f"Column {self.column_name(i)} has an infinity in it, or a number beyond 1.8e308; make it a number below, "
            "or NaN for missing."
        )


def form_of(values: np.ndarray) -> Form:
    """What values are by their type."""
    return {"f": Form.FLOATS, "i": Form.INTEGERS, "u": Form.INTEGERS}.get(values.dtype.kind, Form.CATEGORIES)


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


def slices(columns: np.ndarray) -> list[np.ndarray]:
    """Columns a few at a time, so that what is made on the way stays small."""
    return [columns[first : first + SLICE] for first in range(0, columns.size, SLICE)]
