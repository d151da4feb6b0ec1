"""What the rows of a table tell about its columns before a fit: scales and categories, part by part."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.engine.reduction import ARITY
from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.column_kinds import KINDS
from hicorex.input.readers import Reader, column_name, slices
from hicorex.input.sources import Source
from hicorex.layer.data import row_slices, tile_height

MOST_CATEGORIES = 100_000
# Ranks are learned from this number of values of all columns together, in no fewer or more rows than these.
RANK_CELLS, FEWEST_RANKED, MOST_RANKED = 2**24, 2**12, 2**17


class Scale(NamedTuple):
    """What some rows tell about columns of numbers, (c,) each.

    total : the weight of the values that are there
    size : the largest absolute value, and at least the smallest number that has a reciprocal
    centre : their mean, in units of size
    square : the sum of squared deviations from it, in units of size^2
    least, most : the smallest and the largest value
    """

    total: np.ndarray
    size: np.ndarray
    centre: np.ndarray
    square: np.ndarray
    least: np.ndarray
    most: np.ndarray


class Survey(NamedTuple):
    """What some rows tell about all columns.

    n_rows : the number of these rows
    numeric, scale : the columns of Gaussian marginals, and their scale
    ranked, values, weight : the columns of rank marginals, their values in some of the rows, and the weights of these
    categories : by column, the distinct values, rising
    gaps : (n_columns,), whether a column lacks some values
    """

    n_rows: int
    numeric: np.ndarray
    scale: Scale
    ranked: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    categories: dict[int, np.ndarray]
    gaps: np.ndarray


class Surveyor:
    """Looks at the rows of a table, part by part.

    Parameters
    ----------
    kinds : the kind of each column
    n_rows : the number of rows of the table
    names : of the columns, None if they have none
    """

    def __init__(self, kinds: list[str], n_rows: int, names: list[str] | None):
        # All kinds must be known here: a column that nobody looks at would go unscaled into the fit.
        self._numeric, self._ranked, self._coded = (
            np.array([i for i, column_kind in enumerate(kinds) if column_kind == kind], int) for kind in KINDS
        )
        most = np.clip(RANK_CELLS // max(self._ranked.size, 1), FEWEST_RANKED, MOST_RANKED)
        self._step = int(np.ceil(n_rows / most))
        self._n_columns = len(kinds)
        self._names = names

    def look(self, table: Reader, weight: np.ndarray, rows: slice) -> Survey:
        """What some rows of the table tell, of these weights (T,)."""
        gaps = np.zeros(self._n_columns, bool)
        scales = [scale_of(np.empty((0, 0)), weight[:0])]
        for part in slices(self._numeric):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            scales.append(scale_of(numbers, weight))
        chosen = slice(-rows.start % self._step, None, self._step)
        values = [np.empty((weight[chosen].size, 0))]
        for part in slices(self._ranked):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            values.append(numbers[chosen])
        categories = {}
        for i in self._coded.tolist():
            categories[i], gaps[i] = table.categories(i)
            self._check_number(i, categories[i])
        scale = Scale(*map(np.concatenate, zip(*scales, strict=True)))
        return Survey(
            table.shape[0], self._numeric, scale, self._ranked, np.hstack(values), weight[chosen], categories, gaps
        )

    def merged(self, parts: Iterable[Survey]) -> Survey:
        """What all rows tell, from the surveys of consecutive parts."""
        return reduce(self._both, parts)

    def _both(self, a: Survey, b: Survey) -> Survey:
        categories = {i: self._union(i, a.categories[i], b.categories[i]) for i in a.categories}
        return Survey(
            a.n_rows + b.n_rows,
            a.numeric,
            merged_scale(a.scale, b.scale),
            a.ranked,
            np.concatenate([a.values, b.values]),
            np.concatenate([a.weight, b.weight]),
            categories,
            a.gaps | b.gaps,
        )

    def _union(self, i: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not a.size or not b.size:
            return a if a.size else b
        for kinds in ("US", "b"):
            if (a.dtype.kind in kinds) != (b.dtype.kind in kinds):
                raise ColumnTypeError(
                    f"Column {column_name(self._names, i)} mixes types: make it all numbers or all text."
                )
        both = a if a.shape == b.shape and np.array_equal(a, b) else np.union1d(a, b)
        self._check_number(i, both)
        return both

    def _check_number(self, i: int, categories: np.ndarray) -> None:
        if categories.size > MOST_CATEGORIES:
            raise HicorexError(
                f"Column {column_name(self._names, i)} has {categories.size} categories, more than {MOST_CATEGORIES}: "
                'it looks like an identifier; leave it out, or give it marginals "gaussian".'
            )


def survey_of(source: Source, kinds: list[str], sample_weight: np.ndarray | None, engine: Engine) -> Survey:
    """What all rows of a table tell about its columns of these kinds."""
    surveyor = Surveyor(kinds, source.shape[0], source.names)
    all_rows = row_slices(source.shape[0], ARITY * tile_height(source.row_cells))
    return surveyor.merged(source.map(surveyor.look, sample_weight, all_rows, engine))


def scale_of(numbers: np.ndarray, weight: np.ndarray) -> Scale:
    """The scale of columns (T, c), NaN where missing, of samples with these weights (T,)."""
    found = Scale(*np.empty((6, numbers.shape[1])))
    kernels.gaussian.scale(numbers, weight.astype(float), *found)
    return found


def merged_scale(a: Scale, b: Scale) -> Scale:
    """The scale of the rows of both."""
    total = a.total + b.total
    size = np.maximum(a.size, b.size)
    shrink_a, shrink_b = a.size / _divisor(size), b.size / _divisor(size)
    share = b.total / np.maximum(total, 1e-300)
    apart = b.centre * shrink_b - a.centre * shrink_a
    centre = a.centre * shrink_a + apart * share
    square = a.square * shrink_a**2 + b.square * shrink_b**2 + apart**2 * share * a.total
    return Scale(total, size, centre, square, np.minimum(a.least, b.least), np.maximum(a.most, b.most))


def _divisor(size: np.ndarray) -> np.ndarray:
    return np.where(size > 0, size, 1)
