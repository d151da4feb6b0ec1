"""Which columns of amounts a fit reads by their ranks, where nobody says it: some rows of the table tell."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.input.amount_kinds import try_amounts
from hicorex.input.column_kinds import CODED
from hicorex.input.readers import Form, Reader

# The most rows that tell, drawn from all of the table, since neighbours are alike in one that is sorted.
SAMPLE_ROWS = 1000
# Fewer samples cannot tell.
FEWEST = 20
# A table of more columns than this is judged by some of them, this number, and its amounts are all of one kind.
MOST_COLUMNS, SOME_COLUMNS = 256, 64
# The different values of a column in some rows, and which of them each row has; that of none is the number of values.
Coded = tuple[np.ndarray, np.ndarray]


class AmountSample(NamedTuple):
    """Some rows of the columns that are looked at.

    numbers : (T, c), NaN where missing and in columns of other things
    coded : the columns of other things, by place
    weight : (T,)
    """

    numbers: np.ndarray
    coded: dict[int, Coded]
    weight: np.ndarray

    def codes(self, at: int) -> Coded:
        """A column as categories."""
        if at in self.coded:
            return self.coded[at]
        column = self.numbers[:, at]
        missing = np.isnan(column)
        values, where = np.unique(column[~missing], return_inverse=True)
        codes = np.full(column.size, values.size)
        codes[~missing] = where
        return values, codes


def sampled(table: Reader, weight: np.ndarray, first: int, telling: np.ndarray) -> list[AmountSample]:
    """What is taken of some rows of a table, the first of which is this, if any of those that tell is among them."""
    chosen = telling[np.searchsorted(telling, first) : np.searchsorted(telling, first + table.shape[0])] - first
    if not chosen.size:
        return []
    part = table if chosen.size == table.shape[0] else table.take(chosen)
    looked, forms = looked_at(table.shape[1]), part.forms()
    numeric = np.array([forms[i].is_numeric for i in looked.tolist()], bool)
    numbers = np.full((chosen.size, looked.size), np.nan)
    numbers[:, numeric] = _numbers_of(part, looked[numeric])
    coded = {}
    for at, i in enumerate(looked.tolist()):
        if forms[i] is Form.CATEGORIES:
            values = part.categories(i)[0]
            coded[at] = values, part.codes(i, values)[0]
    return [AmountSample(numbers, coded, weight[chosen])]


def _numbers_of(part: Reader, columns: np.ndarray) -> np.ndarray:
    """Columns of numbers (T, c); what a fit will refuse, such as infinities, is missing here."""
    try:
        return part.numbers(columns)
    except HicorexError:
        if columns.size == 1:
            return np.full((part.shape[0], 1), np.nan)
        return np.hstack([_numbers_of(part, columns[[at]]) for at in range(columns.size)])


def telling_rows(n_rows: int) -> np.ndarray:
    """The rows that tell, in order.

    >>> telling_rows(70).size, telling_rows(10**6).size, bool(telling_rows(10**6)[500] > 400_000)
    (70, 1000, True)
    """
    if n_rows <= SAMPLE_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False))


def looked_at(n_columns: int) -> np.ndarray:
    """The columns that are looked at, spread evenly over all."""
    if n_columns <= MOST_COLUMNS:
        return np.arange(n_columns)
    return np.linspace(0, n_columns - 1, SOME_COLUMNS).astype(int)


def read_by_rank(samples: Sequence[AmountSample], kinds: Sequence[str], is_open: np.ndarray) -> list[int]:
    """The columns of amounts, of a table of these kinds, that are read by their ranks, of those that are open."""
    looked = looked_at(len(kinds))
    amounts = np.array([kinds[i] in ("gaussian", "rank") for i in looked.tolist()], bool)
    every = np.flatnonzero(is_open)
    if not every.size or not amounts.any():
        return []
    numbers = np.concatenate([sample.numbers[:, amounts] for sample in samples])
    weight = np.concatenate([sample.weight for sample in samples])
    if weight.sum() < FEWEST:
        return []
    others = [at for at in np.flatnonzero(~amounts).tolist() if kinds[looked[at]] in CODED]
    trial = try_amounts(numbers, [_together([s.codes(at) for s in samples]) for at in others], weight)
    if looked.size < len(kinds):
        return every.tolist() if trial.all_by_rank else []
    return [i for i in looked[amounts][trial.by_rank].tolist() if is_open[i]]


def _together(parts: Sequence[Coded]) -> np.ndarray:
    """The codes of a column over all parts, those of missing values the highest."""
    known = [values for values, _ in parts if values.size]
    every = np.unique(np.concatenate(known)) if known else np.array([])
    return np.concatenate(list(_coded_anew(parts, every)))


def _coded_anew(parts: Sequence[Coded], every: np.ndarray) -> Iterator[np.ndarray]:
    for values, codes in parts:
        places = np.searchsorted(every, values) if values.size else np.array([], int)
        yield np.append(places, every.size)[codes]
