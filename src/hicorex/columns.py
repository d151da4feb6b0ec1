"""Typed columns: from arrays and data frames to blocks of marginals, the same way for every table."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import csc_array, issparse
from scipy.special import ndtr, ndtri
from sklearn.utils import _safe_indexing, check_array

from hicorex.archive import storable
from hicorex.data import Data
from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.frames import keep_values, plain_columns, plain_numbers, split_categories
from hicorex.marginals import Categorical, Gaussian, SparseCategorical, categorical, gaussian, sparse

KINDS = ("gaussian", "rank", "categorical")
MOST_CATEGORIES = 100_000
# Blocks depend on the shape of the table alone, so that results do not depend on the threads.
BLOCK_COLUMNS = 10000
# Columns taken from a table at a time.
SLICE = 256
WINDOW_CELLS = 2**22
# Small tables are computed in double precision, where speed does not matter.
SMALL_TABLE_CELLS = 100_000
# Standard deviations beyond which new values count as this far: their squares must stay finite.
FARTHEST = 1e15


class Columns:
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
                np.ma.filled(X.astype(float), np.nan)
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
            _check_shape(self.shape, least_samples)
        else:
            array = check_array(
                X,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=least_samples,
                ensure_min_features=1,
                input_name="X",
            )
            self._array = array
            self.shape = array.shape

    @property
    def row_cells(self) -> int:
        """How many cells a sample has, on average."""
        return self.shape[1] if self.sparse is None else max(1, self.sparse.nnz // max(1, self.shape[0]))

    def name(self, i: int) -> str:
        """How messages call a column."""
        return repr(self.names[i]) if self.names else str(i)

    def kind(self, i: int) -> str:
        """What "auto" makes of a column: floats are Gaussian, everything else is categorical."""
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
            numbers = np.array(self._array[:, indices], dtype=float, order="C")
        elif self.sparse is not None:
            numbers = self.sparse[:, indices].toarray().astype(float, order="C")
        else:
            numbers = np.empty((self.shape[0], len(indices)))
            for at, i in enumerate(indices):
                values, missing = self._values(i)
                if values.dtype.kind not in "fiub":
                    raise ColumnTypeError(
                        f'Column {self.name(i)} holds text: it needs marginals "categorical", or numbers instead.'
                    )
                numbers[:, at] = np.where(missing, np.nan, values)
        if np.isinf(numbers).any():
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
        found, new = _find(values, categories, missing)
        return (found if coded is None else np.append(found, categories.size)[coded[1]]), new

    def cells(self, columns: np.ndarray, categories: list[np.ndarray]) -> tuple[sparse.Samples, np.ndarray, list[int]]:
        """The cells of some columns of a sparse table that do not hold 0, by their place among the categories.

        Also the place of 0 in each column, and the columns in which any value is none of the categories.
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
                found, _ = _find(values, known, np.zeros(values.size, bool))
                codes[cells], zero[at] = found[:-1], found[-1]
        strange = codes == sizes[column_of]
        if own.dtype.kind == "f":
            strange &= ~np.isnan(own.data)
        new = np.bincount(column_of, strange, columns.size) > 0
        new |= (zero == sizes) & (np.diff(own.indptr) < self.shape[0])
        stored = codes != zero[column_of]
        starts = np.searchsorted(column_of[stored], np.arange(columns.size + 1))
        samples = sparse.samples_of(starts, own.indices[stored], codes[stored], self.shape[0])
        return samples, zero, columns[new].tolist()

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
        raise HicorexError(f"Column {self.name(i)} has an infinity in it; make it a number, or NaN for missing.")

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
        values, missing = _checked(values, np.zeros(len(values), bool), self.name(i))
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
                    f"Column {self.name(i)} holds dates or times; leave it out or turn it into a number or a category."
                )
            if series.dtype.is_nested():
                raise ColumnTypeError(
                    f"Column {self.name(i)} holds {series.dtype}; give each value a column of its own."
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
        return _checked(values, missing, self.name(i))


def _checked(values: np.ndarray, missing: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Values as numbers or text, and which of them are missing."""
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    if values.dtype.kind in "OT":
        values, missing = _plain(values.astype(object), missing, name)
    if values.dtype.kind not in "fiubUS":
        raise ColumnTypeError(f"Column {name} has type {values.dtype}; make it numbers or text.")
    return values, missing


def _checked_sparse(X: Any, least_samples: int) -> Any:
    """A sparse table column after column, each cell once."""
    if X.ndim != 2:
        raise HicorexError("X is a sparse array of one dimension; give two, samples and columns.")
    if X.dtype.kind not in "fiub":
        raise ColumnTypeError(f"X is a sparse table of type {X.dtype}; make it numbers.")
    checked = check_array(
        X,
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
    return _safe_indexing(X.tocsr() if issparse(X) else X, rows)


def _check_shape(shape: tuple[int, int], least_samples: int) -> None:
    for size, least, what in ((shape[0], least_samples, "sample"), (shape[1], 1, "feature")):
        if size < least:
            raise HicorexError(
                f"Found array with {size} {what}(s) (shape={shape}) while a minimum of {least} is required."
            )


def _plain(values: np.ndarray, missing: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """An object column as numbers or text."""
    missing = missing | np.fromiter((v is None or is_missing(v) for v in values), bool, len(values))
    kinds = {type(v) for v in values[~missing]}
    if all(issubclass(kind, str) for kind in kinds):
        return np.where(missing, "", values).astype(str), missing
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.where(missing, False, values).astype(bool), missing
    if all(issubclass(kind, int | np.integer) and not issubclass(kind, bool) for kind in kinds):
        plain = np.where(missing, 0, values)
        if max(abs(int(v)) for v in plain) >= 2**63:
            raise ColumnTypeError(f"Column {name} has integers of more than 64 bits; make them floats or text.")
        return plain.astype(np.int64), missing
    if all(issubclass(kind, int | float | np.integer | np.floating) and kind is not bool for kind in kinds):
        return np.where(missing, np.nan, values).astype(float), missing
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    what = f"mixes types ({found})" if len(kinds) > 1 else f"holds values of type {found}"
    raise ColumnTypeError(
        f"Column {name} {what}: an argument must be a string or a number, and of one kind in a column: "
        "make it all numbers or all text."
    )


def is_missing(value: Any) -> bool:
    """Whether a single value is a NaN, or the NA of pandas."""
    return type(value).__name__ == "NAType" or (isinstance(value, float | np.floating) and value != value)


@storable("schema", "n_columns", "kinds", "size", "centre", "spread", "informative", "ranks", "categories", "parts")
class Schema:
    """How each column of a table is read: its kind, its scale or its categories.

    parts : the columns of each block; columns of two categories, none missing, go into blocks of
        their own, since a matrix product serves them.
    informative : (n_columns,), False for columns that are constant or wholly missing
    """

    def __init__(self, table: Columns, marginals: Any, weight: np.ndarray):
        self.n_columns = table.shape[1]
        self.kinds = resolve_kinds(table, marginals)
        self.size = np.ones(self.n_columns)
        self.centre = np.zeros(self.n_columns)
        self.spread = np.ones(self.n_columns)
        self.informative = np.ones(self.n_columns, bool)
        self.ranks: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.categories: dict[int, np.ndarray] = {}
        kinds = np.array(self.kinds)
        numeric, coded = np.flatnonzero(kinds != "categorical"), np.flatnonzero(kinds == "categorical")
        for part in _slices(numeric):
            self._learn_scale(table.numbers(part), part, weight)
        binary = np.zeros(self.n_columns, bool)
        many: list[str] = []
        for i in coded.tolist():
            categories, gaps = table.categories(i)
            self.categories[i] = categories
            if categories.size > MOST_CATEGORIES:
                raise HicorexError(
                    f"Column {table.name(i)} has {categories.size} categories, more than {MOST_CATEGORIES}: "
                    'it looks like an identifier; leave it out, or give it marginals "gaussian".'
                )
            if marginals == "auto" and categories.dtype.kind in "iu" and categories.size > max(20, 0.2 * len(weight)):
                many.append(table.name(i))
            self.informative[i] = categories.size > 1
            binary[i] = categories.size == 2 and not gaps and (table.sparse is None or categories[0] == 0)
        if many:
            warnings.warn(
                f"Whole numbers are read as categories, of which there are very many in column {', '.join(many[:5])}"
                f"{' and others' if len(many) > 5 else ''}. Counts and other amounts need marginals "
                '"gaussian" or "rank"; identifiers are better left out.',
                stacklevel=5,
            )
        self.parts = [*_chunks(numeric), *_chunks(coded[binary[coded]]), *_chunks(coded[~binary[coded]])]

    def encode(self, table: Columns, weight: np.ndarray | None = None, dtype: Any = None) -> tuple[Data, list[str]]:
        """The table as blocks, and the names of columns in which unseen categories were met."""
        n_samples = table.shape[0]
        if dtype is None:
            dtype = np.float64 if n_samples * self.n_columns <= SMALL_TABLE_CELLS else np.float32
        weight = np.ones(n_samples, dtype) if weight is None else weight.astype(dtype)
        unseen: list[str] = []
        read = [
            self._categorical(table, part, dtype, unseen)
            if self.kinds[part[0]] == "categorical"
            else self._gaussian(table, part, dtype)
            for part in self.parts
        ]
        blocks, samples = map(list, zip(*read, strict=True))
        return Data.of(blocks, self.parts, samples, weight), unseen

    def encode_labels(self, labels: np.ndarray) -> list[categorical.Samples]:
        """Labels (m, T) of a layer below, whose table this is, by block."""
        none = np.zeros(labels.shape[1], bool)
        return [
            categorical.Samples(
                np.stack([_find(labels[i], self.categories[i], none)[0] for i in part.tolist()]).astype(np.uint8)
            )
            for part in self.parts
        ]

    def shades(self, table: Columns, columns: np.ndarray) -> np.ndarray:
        """Columns from low to high as numbers from 0 to 1, (n_samples, len(columns)), NaN where missing.

        Continuous ones by their normal distribution or their rank in the fit, categories by their order.
        """
        shades = np.full((table.shape[0], len(columns)), 0.5)
        # Frames are read in windows of neighbours, which rising columns leave once.
        rising = np.argsort(columns)
        coded = np.array([i in self.categories for i in columns[rising].tolist()], bool)
        for at in _slices(rising[~coded]):
            own = columns[at]
            numbers = table.numbers(own)
            self._to_scores(numbers, own)
            with np.errstate(over="ignore"):
                shades[:, at] = ndtr((numbers / self.size[own] - self.centre[own]) / self.spread[own])
        for place in rising[coded].tolist():
            categories = self.categories[int(columns[place])]
            codes, _ = table.codes(columns[place], categories)
            if categories.size > 1:
                shades[:, place] = codes / (categories.size - 1)
            shades[codes == categories.size, place] = np.nan
        return shades

    def types(self) -> list[str]:
        """What the values of each column are: "number", "whole number", "text" or "boolean"."""
        words = {"b": "boolean", "i": "whole number", "u": "whole number", "U": "text", "S": "text"}
        types = ["number"] * self.n_columns
        for i, categories in self.categories.items():
            types[i] = words.get(categories.dtype.kind, "number")
        return types

    def fingerprint(self, table: Columns, data: Data, weight: np.ndarray) -> str:
        """What tells a table from any other."""
        parts = [part.tolist() for part in self.parts]
        digest = hashlib.sha256(repr((table.shape, table.names, self.kinds, parts)).encode("utf-8", "surrogatepass"))
        digest.update(weight.data)
        for b, (part, block) in enumerate(zip(self.parts, data.blocks, strict=True)):
            if isinstance(block, Categorical):
                for own in data.parts:
                    for array in own.samples[b]:
                        digest.update(np.ascontiguousarray(array).data)
                for i in part.tolist():
                    digest.update(repr(self.categories[i].tolist()).encode("utf-8", "surrogatepass"))
            else:
                for own in _slices(part):
                    digest.update(table.numbers(own).data)
        return digest.hexdigest()

    def _learn_scale(self, numbers: np.ndarray, part: np.ndarray, weight: np.ndarray) -> None:
        for at, i in enumerate(part):
            if self.kinds[i] == "rank":
                self.ranks[i] = _normal_scores(numbers[:, at], weight)
        self._to_scores(numbers, part)
        observed = ~np.isnan(numbers)
        largest = np.where(observed, np.abs(numbers), 0).max(axis=0)
        size = np.where(largest > 0, largest, 1)
        scaled = np.where(observed, numbers / size, 0)
        count = np.maximum(weight @ observed, 1e-300)
        centre = weight @ scaled / count
        away = np.where(observed, scaled - centre, 0)
        spread = np.sqrt(weight @ (away * away) / count)
        least = np.where(observed, numbers, np.inf).min(axis=0)
        most = np.where(observed, numbers, -np.inf).max(axis=0)
        varies = (least < most) & (spread > 0)
        self.size[part], self.centre[part] = size, centre
        self.spread[part] = np.where(varies, spread, 1)
        self.informative[part] = varies

    def _gaussian(self, table: Columns, part: np.ndarray, dtype: Any) -> tuple[Gaussian, gaussian.Samples]:
        values = np.empty((part.size, table.shape[0]), dtype)
        gaps: list[np.ndarray] = []
        present: list[np.ndarray] = [np.empty((0, table.shape[0]), bool)]
        for own in _slices(np.arange(part.size)):
            columns = part[own]
            numbers = table.numbers(columns)
            self._to_scores(numbers, columns)
            observed = ~np.isnan(numbers)
            with np.errstate(over="ignore"):
                standard = (numbers / self.size[columns] - self.centre[columns]) / self.spread[columns]
            standard[~(observed & self.informative[columns])] = 0
            values[own] = np.clip(standard, -FARTHEST, FARTHEST).T
            lacking = ~observed.all(axis=0)
            gaps.append(own[lacking])
            present.append(observed[:, lacking].T)
        block = Gaussian(np.concatenate(gaps), self.informative[part], dtype)
        return block, gaussian.Samples(values, np.concatenate(present))

    def _to_scores(self, numbers: np.ndarray, columns: np.ndarray) -> None:
        """Map columns of rank marginals to their normal scores, in place."""
        for at, i in enumerate(columns):
            if i in self.ranks:
                numbers[:, at] = np.interp(numbers[:, at], *self.ranks[i])

    def _categorical(
        self, table: Columns, part: np.ndarray, dtype: Any, unseen: list[str]
    ) -> tuple[Categorical, categorical.Samples | sparse.Samples]:
        sizes = np.array([self.categories[i].size for i in part])
        if table.sparse is not None:
            cells, zero, new_in = table.cells(part, [self.categories[i] for i in part.tolist()])
            unseen += map(table.name, new_in)
            binary = bool(np.all((sizes == 2) & (zero == 0)) and cells.codes.max(initial=0) < 2)
            return SparseCategorical(sizes, zero, binary, dtype), cells
        codes = np.empty((part.size, table.shape[0]), np.min_scalar_type(sizes.max()))
        for at, i in enumerate(part):
            codes[at], new = table.codes(i, self.categories[i])
            if new:
                unseen.append(table.name(i))
        binary = bool(np.all(sizes == 2) and codes.max() < 2)
        return Categorical(sizes, binary, dtype), categorical.Samples(codes)


def resolve_kinds(table: Columns, marginals: Any) -> list[str]:
    """The kind of each column, from "auto", one kind for all, a list or a mapping by name or index."""
    n_columns = table.shape[1]
    if isinstance(marginals, str):
        given: dict[int, str] = {} if marginals == "auto" else dict.fromkeys(range(n_columns), marginals)
    elif isinstance(marginals, Mapping):
        given = {_column_index(table, key): kind for key, kind in marginals.items()}
    elif isinstance(marginals, Sequence | np.ndarray):
        if np.ndim(marginals) != 1 or len(marginals) != n_columns:
            raise HicorexError(f"marginals lists {len(marginals)} kinds for {n_columns} columns; give one a column.")
        given = dict(enumerate(marginals))
    else:
        raise ColumnTypeError(f"marginals is {marginals!r}; give 'auto', a kind, a list of kinds or a mapping.")
    for i, kind in given.items():
        if kind not in (*KINDS, "auto"):
            raise HicorexError(
                f"marginals gives column {table.name(i)} the kind {kind!r}; use one of {', '.join(KINDS)}."
            )
    given = {i: kind for i, kind in given.items() if kind != "auto"}
    if len(given) == n_columns:
        return [str(given[i]) for i in range(n_columns)]
    return [str(given.get(i, kind)) for i, kind in enumerate(table.kinds())]


def _column_index(table: Columns, key: Any) -> int:
    if table.names and key in table.names:
        return table.names.index(key)
    if isinstance(key, int | np.integer) and 0 <= key < table.shape[1]:
        return int(key)
    raise HicorexError(f"marginals names column {key!r}, which the table does not have; use a name or an index of it.")


def _chunks(columns: np.ndarray) -> list[np.ndarray]:
    """Columns in parts of equal size: few, since each costs time of its own, but more than one for two threads."""
    n_parts = max(-(-columns.size // BLOCK_COLUMNS), 2 if columns.size >= 1000 else 1)
    return np.array_split(columns, n_parts) if columns.size else []


def _slices(columns: np.ndarray) -> list[np.ndarray]:
    """Columns a few at a time, so that what is made on the way stays small."""
    return [columns[first : first + SLICE] for first in range(0, columns.size, SLICE)]


def _normal_scores(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, rising, and the normal quantile of each one's middle rank."""
    observed = ~np.isnan(values)
    if not observed.any():
        return np.zeros(1), np.zeros(1)
    distinct, where = np.unique(values[observed], return_inverse=True)
    share = np.bincount(where, weight[observed])
    return distinct, ndtri((np.cumsum(share) - share / 2) / share.sum())


def _small_range(values: np.ndarray) -> bool:
    """Whether whole numbers lie close enough together to be looked up in a table."""
    return (
        values.dtype.kind in "iu"
        and values.size > 0
        and int(values.max()) < 2**62
        and int(values.max()) - int(values.min()) < 2**16
    )


def _distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, rising."""
    if not _small_range(values):
        return np.unique(values)
    least = int(values.min())
    return (np.flatnonzero(np.bincount(values.astype(np.int64) - least)) + least).astype(values.dtype)


def _find(values: np.ndarray, categories: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, bool]:
    """The code of each value, the number of categories where it is missing or none of them."""
    if categories.size == 0:
        return np.zeros(values.size, np.intp), bool(np.any(~missing))
    if (values.dtype.kind in "US") != (categories.dtype.kind in "US"):
        return np.full(values.size, categories.size), bool(np.any(~missing))
    if _small_range(values) and _small_range(categories):
        low, high = int(categories[0]), int(categories[-1])
        table = np.full(high - low + 1, categories.size)
        table[categories.astype(np.int64) - low] = np.arange(categories.size)
        inside = (values >= low) & (values <= high)
        codes = np.where(inside, table[np.where(inside, values.astype(np.int64) - low, 0)], categories.size)
        return np.where(missing, categories.size, codes), bool(np.any((codes == categories.size) & ~missing))
    codes = np.minimum(np.searchsorted(categories, values), categories.size - 1)
    strange = categories[codes] != values
    return np.where(strange | missing, categories.size, codes), bool(np.any(strange & ~missing))
