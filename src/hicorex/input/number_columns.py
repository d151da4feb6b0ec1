"""What there is to know of columns of numbers before their kinds are decided on; values are (n_columns, n_rows)."""

from typing import NamedTuple

import numpy as np

from hicorex.input.column_kinds import MOST_CODES

# Numbers that people write for missing values.
SENTINELS = np.array([-99999, -9999, -999, -99, 99, 999, 9999, 99999])
# Columns count rows if at least this share of steps is 1, and they get at least so far.
COUNTING, LEAST_COUNTED = 0.9, 19
# Different whole numbers are counted by sorting in tables of at most this many rows.
COUNTED_ROWS = 10_000


class NumberColumns(NamedTuple):
    """Columns of numbers in figures, (n_columns,) each.

    missing : the number of missing values
    whole : whether all values are whole numbers
    n_different : the number of different whole numbers; 0 if it is large and was not counted
    constant : whether there is one value
    counts_rows : whether the values are the numbers of the rows, from 0 or 1
    counts_runs : whether they count rows from 0 or 1 several times
    marked : (n_columns, n_rows), the cells that hold a marker of missing values; None if none does
    extremes : (2, n_columns), the smallest and the largest value
    """

    missing: np.ndarray
    whole: np.ndarray
    n_different: np.ndarray
    constant: np.ndarray
    counts_rows: np.ndarray
    counts_runs: np.ndarray
    marked: np.ndarray | None
    extremes: np.ndarray


def study_numbers(values: np.ndarray, markers: np.ndarray) -> NumberColumns:
    """Columns in figures; the markers stand for missing values."""
    n_rows = values.shape[1]
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    marked = _marked(values, markers)
    if marked is not None:
        values = np.where(marked, np.nan, values)
    if values.dtype.kind == "f":
        missing = np.count_nonzero(np.isnan(values), axis=1)
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        whole = np.isfinite(low) & np.isfinite(high) & _all_whole(values[:, :256])
        whole[whole] = _all_whole(values[whole])
        span = np.zeros(len(values))
        span[whole] = high[whole].astype(float) - low[whole].astype(float)
    else:
        missing = np.zeros(len(values), np.intp)
        low, high = values.min(axis=1), values.max(axis=1)
        whole = np.ones(len(values), bool)
        # Exact, also where the difference needs a bit more than the numbers.
        span = (high.astype(np.uint64) - low.astype(np.uint64)).astype(float)
    n_different = _count_different(values, whole, low, span)
    # Four rows can be in order by chance.
    counts_rows = whole & (missing == 0) & (span == max(n_rows - 1, 4)) & ((low == 0) | (low == 1))
    for row in np.flatnonzero(counts_rows).tolist():
        counts_rows[row] = np.array_equal(values[row], np.arange(n_rows) + int(low[row]))
    runs = whole & (missing == 0) & ~counts_rows & (span >= LEAST_COUNTED) & ((low == 0) | (low == 1))
    for row in np.flatnonzero(runs).tolist():
        runs[row] = _counts(values[row, :1000]) and _counts(values[row])
    return NumberColumns(missing, whole, n_different, low == high, counts_rows, runs, marked, np.stack([low, high]))


def stands_apart(values: np.ndarray, value: float) -> bool:
    """Whether a value of a column occurs more than once, farther from all others than they are from each other."""
    others = values[(values != value) & ~np.isnan(values.astype(float))]
    if others.size < 10 or values.size - others.size < 2:
        return False
    low, high = others.min(), others.max()
    return max(float(low) - float(value), float(value) - float(high)) > float(high) - float(low)


def _counts(values: np.ndarray) -> bool:
    """Whether nearly every number is the one before and 1."""
    steps = np.count_nonzero(values[1:] == values[:-1] + values.dtype.type(1))
    return bool(steps >= COUNTING * (values.size - 1))


def _marked(values: np.ndarray, markers: np.ndarray) -> np.ndarray | None:
    marked = None
    for marker in markers:
        hit = values == marker
        if hit.any():
            marked = hit if marked is None else marked | hit
    return marked


def _all_whole(values: np.ndarray) -> np.ndarray:
    return ((values == np.rint(values)) | np.isnan(values)).all(axis=1)


def _count_different(values: np.ndarray, whole: np.ndarray, low: np.ndarray, span: np.ndarray) -> np.ndarray:
    """The number of different values of columns of whole numbers; 0 for others, and where counting is slow."""
    n_different = np.zeros(len(values), np.int64)
    narrow = whole & (span < 64)
    if narrow.any():
        offset = values[narrow] - low[narrow, None]
        if values.dtype.kind == "f":
            np.nan_to_num(offset, copy=False)
        bits = np.bitwise_or.reduce(np.uint64(1) << offset.astype(np.uint64), axis=1)
        n_different[narrow] = np.bitwise_count(bits)
    broad = np.flatnonzero(whole & ~narrow)
    if values.shape[1] <= COUNTED_ROWS and broad.size:
        ordered = np.sort(values[broad], axis=1)
        n_different[broad] = 1 + np.count_nonzero(ordered[:, 1:] > ordered[:, :-1], axis=1)
    else:
        for row in broad.tolist():
            n_different[row] = _count_long(values[row], low[row], span[row])
    return n_different


def _count_long(values: np.ndarray, low: np.generic, span: float) -> int:
    """The number of different values of a long column, 0 if there are more than MOST_CODES and counting is slow."""
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    if span < 1 << 16:
        return int(np.count_nonzero(np.bincount((values - low).astype(np.int64))))
    if np.unique(values[:1000]).size > MOST_CODES:
        return 0
    return int(np.unique(values).size)
