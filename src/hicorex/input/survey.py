"""What the rows of a table tell about its columns before a fit: scales and categories, part by part."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.engine.reduction import ARITY
from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.amounts import AmountSample, read_by_rank, sampled, telling_rows
from hicorex.input.column_kinds import CODED, MOST_CODES, are_codes
from hicorex.input.marginal_kinds import AUTO, Wishes
from hicorex.input.readers import Form, Reader, SparseReader, column_name, slices
from hicorex.input.sources import Source
from hicorex.input.whole_numbers import WholeNumbers, few_whole_numbers
from hicorex.layer.data import row_slices, tile_height

MOST_CATEGORIES = 100_000
# The kind of a column at which a survey does not look.
SKIPPED = "skipped"
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

    def put(self, columns: np.ndarray, scale: "Scale") -> None:
        """Take over the scale of some columns."""
        for values, own in zip(self, scale, strict=True):
            values[columns] = own

    def of(self, columns: np.ndarray) -> "Scale":
        """The scale of some columns."""
        return Scale(*(values[columns] for values in self))


class Held(NamedTuple):
    """What columns hold whose kinds the values decide, (n_columns,) each.

    text : whether they hold text, or other values that stand for categories
    few : whether they hold few different whole numbers, in some rows at least
    many : whether they hold other numbers, in some rows at least or in all together
    """

    text: np.ndarray
    few: np.ndarray
    many: np.ndarray

    @classmethod
    def nothing(cls, n_columns: int) -> "Held":
        """Columns that hold nothing."""
        return cls(*np.zeros((3, n_columns), bool))

    def merged(self, other: "Held") -> "Held":
        """What they hold in the rows of both."""
        return Held(*(a | b for a, b in zip(self, other, strict=True)))


class Survey(NamedTuple):
    """What some rows tell about all columns.

    weight_sum : the weight of these rows
    numeric, scale : the columns that are or may be of Gaussian marginals, and their scale
    ranked, values, weight : the columns of rank marginals, their values in some of the rows, and the weights of these
    categories : by column, the distinct values, rising
    gaps : (n_columns,), whether a column lacks some values
    held : what the columns hold whose kinds the values decide
    samples : the rows that tell of amounts whether they are read by their ranks
    """

    weight_sum: float
    numeric: np.ndarray
    scale: Scale
    ranked: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    categories: dict[int, np.ndarray]
    gaps: np.ndarray
    held: Held
    samples: list[AmountSample]

    def knows(self, i: int, kind: str) -> bool:
        """Whether it has what a column of this kind needs, whose kind was open."""
        if kind == "gaussian":
            return not self.held.few[i]
        return kind in CODED and i in self.categories

    def completed(self, other: "Survey") -> "Survey":
        """With what another survey of the same rows tells of further columns."""
        places = np.searchsorted(self.numeric, other.numeric)
        for values, more in zip(self.scale, other.scale, strict=True):
            values[places] = more
        return self._replace(
            ranked=np.append(self.ranked, other.ranked),
            values=np.hstack([self.values, other.values]) if self.ranked.size else other.values,
            weight=self.weight if self.ranked.size else other.weight,
            categories=self.categories | other.categories,
            gaps=self.gaps | other.gaps,
        )

    def of_kinds(self, kinds: list[str]) -> "Survey":
        """What it tells of columns of the kinds that were decided on, in their order."""
        numeric = np.array([kinds[i] == "gaussian" for i in self.numeric.tolist()], bool)
        order = np.argsort(self.ranked)
        return self._replace(
            numeric=self.numeric[numeric],
            scale=Scale(*(values[numeric] for values in self.scale)),
            ranked=self.ranked[order],
            values=self.values[:, order],
            categories={i: self.categories[i] for i, kind in enumerate(kinds) if kind in CODED},
        )


class Surveyor:
    """Looks at the rows of a table, part by part.

    Parameters
    ----------
    kinds : the kind of each column, AUTO where the values decide, SKIPPED where nobody asks
    n_rows : the number of rows of the table
    names : of the columns, None if they have none
    """

    def __init__(self, kinds: list[str], n_rows: int, names: list[str] | None):
        numeric, self._ranked, self._coded, self._open = (
            np.array([i for i, kind in enumerate(kinds) if kind in wanted], int)
            for wanted in (("gaussian",), ("rank",), CODED, (AUTO,))
        )
        self._sure, self._numeric = numeric, np.sort(np.append(numeric, self._open))
        most = np.clip(RANK_CELLS // max(self._ranked.size, 1), FEWEST_RANKED, MOST_RANKED)
        self._step = int(np.ceil(n_rows / most))
        self._n_columns = len(kinds)
        self._names = names
        self._telling = telling_rows(n_rows if self._open.size else 0)

    def look(self, table: Reader, weight: np.ndarray, rows: slice) -> Survey:
        """What some rows of the table tell, of these weights (T,)."""
        gaps = np.zeros(self._n_columns, bool)
        scale = Scale(*np.zeros((4, self._n_columns)), *np.full((2, self._n_columns), [[np.inf], [-np.inf]]))
        categories: dict[int, np.ndarray] = {}
        held = self._look_at_open(table, weight, scale, categories, gaps)
        for part in slices(self._sure):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            scale.put(part, scale_of(numbers, weight))
        chosen = slice(-rows.start % self._step, None, self._step)
        values = [np.empty((weight[chosen].size, 0))]
        for part in slices(self._ranked):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            values.append(numbers[chosen])
        for i in self._coded.tolist():
            categories[i], gaps[i] = table.categories(i)
            self._check_number(i, categories[i])
        return Survey(
            float(weight.sum()),
            self._numeric,
            scale.of(self._numeric),
            self._ranked,
            np.hstack(values),
            weight[chosen],
            categories,
            gaps,
            held,
            sampled(table, weight, rows.start, self._telling),
        )

    def _look_at_open(
        self, table: Reader, weight: np.ndarray, scale: Scale, categories: dict[int, np.ndarray], gaps: np.ndarray
    ) -> Held:
        """What columns hold whose kinds the values decide: categories of those that may have some, scales of others."""
        held = Held.nothing(self._n_columns)
        if not self._open.size:
            return held
        forms = table.forms()
        one_by_one = WholeNumbers(table)
        floats, others = [], []
        for i in self._open.tolist():
            if forms[i] is Form.CATEGORIES:
                held.text[i] = True
                categories[i], gaps[i] = table.categories(i)
                self._check_number(i, categories[i])
            elif forms[i] is Form.NOTHING:
                gaps[i] = True
            elif forms[i] is Form.FLOATS and not isinstance(table, SparseReader):
                floats.append(i)
            else:
                few, gaps[i] = one_by_one.few(i)
                if few is None:
                    others.append(i)
                else:
                    categories[i], held.few[i] = few, few.size > 0
        for part in slices(np.array(floats, int)):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            found = few_whole_numbers(numbers)
            known = {i: few for i, few in zip(part.tolist(), found, strict=True) if few is not None and few.size}
            categories |= known
            held.few[list(known)] = True
            many = np.array([few is None for few in found], bool)
            held.many[part[many]] = True
            scale.put(part[many], scale_of(numbers if many.all() else numbers[:, many], weight))
        for part in slices(np.array(others, int)):
            numbers = table.numbers(part)
            gaps[part] = np.isnan(numbers).any(axis=0)
            held.many[part] = True
            scale.put(part, scale_of(numbers, weight))
        return held

    def merged(self, parts: Iterable[Survey]) -> Survey:
        """What all rows tell, from the surveys of consecutive parts."""
        return reduce(self._both, parts)

    def _both(self, a: Survey, b: Survey) -> Survey:
        held = a.held.merged(b.held)
        mixed = np.flatnonzero(held.text & (held.few | held.many))
        if mixed.size:
            raise self._mixes(int(mixed[0]))
        categories = dict(a.categories)
        for i, values in b.categories.items():
            categories[i] = self._union(i, categories[i], values) if i in categories else values
            if held.few[i] and categories[i].size > MOST_CODES:
                held.many[i] = True
        categories = {i: values for i, values in categories.items() if not held.many[i]}
        return Survey(
            a.weight_sum + b.weight_sum,
            a.numeric,
            merged_scale(a.scale, b.scale),
            a.ranked,
            np.concatenate([a.values, b.values]),
            np.concatenate([a.weight, b.weight]),
            categories,
            a.gaps | b.gaps,
            held,
            a.samples + b.samples,
        )

    def _union(self, i: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not a.size or not b.size:
            return a if a.size else b
        for kinds in ("US", "b"):
            if (a.dtype.kind in kinds) != (b.dtype.kind in kinds):
                raise self._mixes(i)
        both = a if a.shape == b.shape and np.array_equal(a, b) else np.union1d(a, b)
        self._check_number(i, both)
        return both

    def _mixes(self, i: int) -> HicorexError:
        return ColumnTypeError(f"Column {column_name(self._names, i)} mixes types: make it all numbers or all text.")

    def _check_number(self, i: int, categories: np.ndarray) -> None:
        if categories.size > MOST_CATEGORIES:
            raise HicorexError(
                f"Column {column_name(self._names, i)} has {categories.size} categories, more than {MOST_CATEGORIES}: "
                'it looks like an identifier; leave it out, or give it marginals "gaussian".'
            )


def survey_of(
    source: Source, wishes: Wishes, sample_weight: np.ndarray | None, engine: Engine
) -> tuple[list[str], Survey]:
    """The kind of each column, and what all rows of a table tell about columns of these kinds."""
    first = _surveyed(source, wishes.kinds, sample_weight, engine)
    kinds = [_kind(first, i, wishes.of_numbers.get(i)) if kind == AUTO else kind for i, kind in enumerate(wishes.kinds)]
    is_open = [kind == "gaussian" and wishes.leave_open(i) for i, kind in enumerate(kinds)]
    for i in read_by_rank(first.samples, kinds, np.array(is_open, bool)):
        kinds[i] = "rank"
    again = [SKIPPED] * len(kinds)
    for i, kind in enumerate(kinds):
        if wishes.kinds[i] == AUTO and not first.knows(i, kind):
            again[i] = kind
    if any(kind != SKIPPED for kind in again):
        first = first.completed(_surveyed(source, again, sample_weight, engine))
    survey = first.of_kinds(kinds)
    for i, kind in enumerate(kinds):
        if kind == "ordered":
            _check_ordered(source.column_name(i), survey.categories[i])
    return kinds, survey


def _check_ordered(name: str, categories: np.ndarray) -> None:
    """Refuse values that are no answers in order."""
    if categories.dtype.kind in "US":
        raise ColumnTypeError(
            f"Column {name} holds text, whose order nobody knows: write its answers as numbers from low to high for "
            'marginals "ordered", or give it "categorical".'
        )
    if categories.size > MOST_CODES:
        raise HicorexError(
            f'Column {name} has {categories.size} different values, more than {MOST_CODES}: marginals "ordered" are '
            'for answers such as 1 to 5; give it "rank" or "gaussian".'
        )


def _surveyed(source: Source, kinds: list[str], sample_weight: np.ndarray | None, engine: Engine) -> Survey:
    surveyor = Surveyor(kinds, source.shape[0], source.names)
    all_rows = row_slices(source.shape[0], ARITY * tile_height(source.row_cells))
    return surveyor.merged(source.map(surveyor.look, sample_weight, all_rows, engine))


def _kind(survey: Survey, i: int, wish: str | None) -> str:
    """The kind of a column by what all rows tell, or by what is asked for columns of numbers."""
    if survey.held.text[i]:
        return "categorical"
    few = survey.categories.get(i)
    is_few = few is not None and few.size > 0
    if wish is not None and (wish != "ordered" or is_few):
        return wish
    return "categorical" if few is not None and is_few and are_codes(few.size, survey.weight_sum) else "gaussian"


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
