"""What each column of a file is: amounts, categories, an identifier, dates, or nothing to learn from."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.files.csv_file import BLANKS
from hicorex.input.files.text_columns import (
    is_dates,
    is_text,
    looks_like,
    numbers_in,
    numbers_of,
    numeric_markers,
    once,
    tidy_text,
)

# Whole numbers of at most so many different values are categories.
MOST_CODES = 20
# Kurtosis from which on amounts have heavy tails.
HEAVY = 20
# Numbers that people write for missing values.
SENTINELS = np.array([-99999, -9999, -999, -99, 99, 999, 9999, 99999])
# Texts of more different values than this are of no use as categories, however long the table.
MOST_TEXTS = 100_000
# Cells looked at together: their copies stay small beside the table.
CELLS = 1 << 20
# Rows that tell whether a long column of texts is an identifier; whole numbers are counted up to so many rows.
SAMPLE_ROWS, COUNTED_ROWS = 20_000, 10_000
IDENTIFIER = re.compile(r"(?:(?i:^|.*[\W_])(?i:id|index|key|nr|no|rownames?))|.*[a-z](?:I[dD]|Index|Key|Nr|No)")


@dataclass
class Findings:
    """One entry a column: kind is "gaussian", "categorical" or "ignored", unique tells identifiers.

    changed : the columns that are to be taken instead of those of the file
    words : for columns of numbers, the texts in them that are read as missing
    sentinels : numbers that look as if they stood for missing values, and in how many columns
    heavy : amounts with heavy tails
    numeric : whether a column holds numbers, which can be of any kind
    """

    kind: list[str]
    why: list[str]
    missing: np.ndarray
    unique: np.ndarray
    numeric: np.ndarray
    changed: dict[int, Any] = field(default_factory=dict)
    words: dict[int, list[str]] = field(default_factory=dict)
    sentinels: Counter = field(default_factory=Counter)
    heavy: list[int] = field(default_factory=list)


@dataclass
class _Numbers:
    """What there is to know of columns of numbers, each entry an array with one value a column."""

    missing: np.ndarray
    whole: np.ndarray
    different: np.ndarray  # 0: more than MOST_CODES
    constant: np.ndarray
    consecutive: np.ndarray
    marked: np.ndarray | None  # the cells that hold a marker of missing values
    extremes: np.ndarray  # (2, n), the smallest and the largest


def examine(
    columns: Any, names: list[str], missing: tuple[str, ...], decimal: str | None, wanted: set[int]
) -> Findings:
    """Decide on each column; those in `wanted` are to be used whatever they hold."""
    n_rows, n_columns = columns.shape
    found = Findings(
        ["ignored"] * n_columns,
        [""] * n_columns,
        np.zeros(n_columns),
        np.zeros(n_columns, bool),
        np.zeros(n_columns, bool),
    )
    markers = numeric_markers(missing)
    per = max(1, CELLS // n_rows)
    if issparse(columns):
        held = np.ones(n_columns, bool) if 0 in markers else np.diff(columns.indptr) > 0
        found.numeric[:] = True
        found.why = ["" if some else "constant" for some in held.tolist()]  # without cells it is all 0
        every = np.flatnonzero(held)
        for first in range(0, every.size, per):
            own = every[first : first + per].tolist()
            _take_numbers(found, own, columns[:, own].toarray().T, names, markers, columns.dtype.kind, None)
        return found
    if isinstance(columns, np.ndarray):
        for first in range(0, n_columns, per):
            own = list(range(first, min(first + per, n_columns)))
            part = columns[:, first : first + per].T
            _take_numbers(found, own, part, names, markers, columns.dtype.kind, None)
        return found
    columns = columns.unify_dictionaries()
    others: list[int] = []
    groups: dict[tuple[str, bool], list[int]] = {}
    for at, (kind, column) in enumerate(zip(columns.schema.types, columns.columns, strict=True)):
        groups.setdefault((str(kind), column.null_count > 0), []).append(at)
    for own in groups.values():
        kind = columns.schema.types[own[0]]
        letter = "b" if pa.types.is_boolean(kind) else "i" if pa.types.is_integer(kind) else "f"
        if letter != "f" or pa.types.is_floating(kind):
            for first in range(0, len(own), per):
                some = own[first : first + per]
                _take_numbers(found, some, _matrix(columns, some), names, markers, letter, columns)
            continue
        others += own

    def take(at: int) -> None:
        _take_other(found, at, columns.column(at), names, missing, decimal, at in wanted)

    with ThreadPoolExecutor() as pool:
        # pyarrow works on long columns side by side; for short ones that is not worth it.
        for _ in (pool.map if n_rows > SAMPLE_ROWS else map)(take, others):
            pass
    return found


def _matrix(table: pa.Table, own: list[int]) -> np.ndarray:
    """Columns of one numeric type as the rows of an array, NaN where missing."""
    table = table.select(own)
    if pa.types.is_boolean(table.schema.types[0]):
        table = table.cast(pa.schema([(name, pa.uint8()) for name in table.column_names]))
    if len(own) == 1:
        return table.column(0).to_numpy()[None]
    batch = table.combine_chunks().to_batches()[0]
    return batch.to_tensor(null_to_nan=batch.column(0).null_count > 0, row_major=False).to_numpy().T


def _take_numbers(
    found: Findings,
    own: list[int],
    values: np.ndarray,
    names: list[str],
    markers: np.ndarray,
    kind: str,
    table: pa.Table | None,
) -> None:
    n_rows, boolean, integer = values.shape[1], kind == "b", kind in "iu"
    look = _look(values, markers[:0] if boolean else markers)
    if look.marked is not None:
        for row in np.flatnonzero(look.marked.any(axis=1)).tolist():
            if table is None:
                found.changed[own[row]] = look.marked[row]
            else:
                column = table.column(own[row])
                found.changed[own[row]] = pc.if_else(pa.array(look.marked[row]), pa.scalar(None, column.type), column)
    for row in np.flatnonzero(np.isin(look.extremes, SENTINELS).any(axis=0)).tolist():
        for value in look.extremes[:, row]:
            if value in SENTINELS and _stands_apart(values[row], value):
                found.sentinels[int(value)] += 1
    found.missing[own] = look.missing / n_rows
    found.numeric[own] = True
    told: dict[tuple, tuple[str, str, bool]] = {}
    every = zip(
        own,
        (look.missing == n_rows).tolist(),
        look.constant.tolist(),
        look.whole.tolist(),
        look.different.tolist(),
        look.consecutive.tolist(),
        strict=True,
    )
    for row, (at, *key) in enumerate(every):
        if integer and key[2] and key[3] in (0, n_rows) and IDENTIFIER.fullmatch(names[at]):
            key.append(key[3] == n_rows or np.unique(values[row]).size == n_rows)
        answer = told.get(tuple(key))
        if answer is None:
            answer = told[tuple(key)] = _tell(integer, boolean, *key)
        found.kind[at], found.why[at], found.unique[at] = answer
    amounts = np.array([row for row, at in enumerate(own) if found.kind[at] == "gaussian"], int)
    found.heavy += [own[row] for row in amounts[_has_heavy_tails(values[amounts])].tolist()]


def _tell(
    integer: bool,
    boolean: bool,
    empty: bool,
    constant: bool,
    whole: bool,
    different: int,
    consecutive: bool,
    unique: bool = False,
) -> tuple[str, str, bool]:
    if empty:
        return "ignored", "empty", False
    if constant:
        return "ignored", "constant", False
    if boolean:
        return "categorical", "true or false", False
    if consecutive and integer:
        return "ignored", "an identifier: the number of the row", True
    if unique and integer:
        return "ignored", "an identifier: every row has another value", True
    if not whole:
        return "gaussian", "numbers", False
    if 0 < different <= MOST_CODES:
        return "categorical", f"whole numbers, {different} different", False
    count = str(different) if different else f"more than {MOST_CODES}"
    return "gaussian", f"whole numbers, {count} different: read as amounts", False


def _look(values: np.ndarray, markers: np.ndarray) -> _Numbers:
    n_rows = values.shape[1]
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    marked = None
    for marker in markers:
        hit = values == marker
        if hit.any():
            marked = hit if marked is None else marked | hit
    if marked is not None:
        values = np.where(marked, np.nan, values)
    floats = values.dtype.kind == "f"
    if floats:
        missing = np.count_nonzero(np.isnan(values), axis=1)
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        whole = np.isfinite(low) & np.isfinite(high) & _all_whole(values[:, :256])
        whole[whole] = _all_whole(values[whole])
    else:
        missing = np.zeros(len(values), np.intp)
        low, high = values.min(axis=1), values.max(axis=1)
        whole = np.ones(len(values), bool)
    span = np.zeros(len(values))
    if floats:
        span[whole] = high[whole].astype(float) - low[whole].astype(float)
    else:  # exact, also where the difference needs a bit more than the numbers
        span[:] = high.astype(np.uint64) - low.astype(np.uint64)
    different = np.zeros(len(values), np.int64)
    narrow = whole & (span < 64)
    if narrow.any():
        offset = values[narrow] - low[narrow, None]
        if floats:
            np.nan_to_num(offset, copy=False)
        bits = np.bitwise_or.reduce(np.uint64(1) << offset.astype(np.uint64), axis=1)
        different[narrow] = np.bitwise_count(bits)
    broad = np.flatnonzero(whole & ~narrow)
    if n_rows <= COUNTED_ROWS and broad.size:
        different[broad] = _count_different(values[broad])
    else:
        for row in broad.tolist():
            different[row] = _count_long(values[row], low[row], span[row])
    # Four rows can be in order by chance.
    consecutive = whole & (missing == 0) & (span == max(n_rows - 1, 4)) & ((low == 0) | (low == 1))
    for row in np.flatnonzero(consecutive).tolist():
        consecutive[row] = np.array_equal(values[row], np.arange(n_rows) + int(low[row]))
    return _Numbers(missing, whole, different, low == high, consecutive, marked, np.stack([low, high]))


def _has_heavy_tails(values: np.ndarray) -> np.ndarray:
    """Which columns have a kurtosis far beyond a Gaussian's 3; of long ones, some rows tell."""
    some = values[:, :: max(1, values.shape[1] // COUNTED_ROWS)].astype(float)
    known = np.isfinite(some)
    count = np.maximum(known.sum(axis=1), 1)
    away = np.where(known, some - (np.where(known, some, 0).sum(axis=1) / count)[:, None], 0)
    away /= np.maximum(np.abs(away).max(axis=1, initial=0), 1e-300)[:, None]
    square = away * away
    variance = np.maximum(square.sum(axis=1), 1e-300)
    return (square * square).sum(axis=1) * count > HEAVY * variance * variance


def _stands_apart(values: np.ndarray, value: float) -> bool:
    """Whether a value occurs more than once, farther from all others than they are from each other."""
    others = values[(values != value) & ~np.isnan(values.astype(float))]
    if others.size < 10 or values.size - others.size < 2:
        return False
    low, high = others.min(), others.max()
    return max(float(low) - float(value), float(value) - float(high)) > float(high) - float(low)


def _all_whole(values: np.ndarray) -> np.ndarray:
    return ((values == np.rint(values)) | np.isnan(values)).all(axis=1)


def _count_different(values: np.ndarray) -> np.ndarray:
    ordered = np.sort(values, axis=1)
    return 1 + np.count_nonzero(ordered[:, 1:] > ordered[:, :-1], axis=1)


def _count_long(values: np.ndarray, low: Any, span: float) -> int:
    """The number of different values of a long column, 0 if there are more than MOST_CODES and counting is slow."""
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    if span < 1 << 16:
        return int(np.count_nonzero(np.bincount((values - low).astype(np.int64))))
    if np.unique(values[:1000]).size > MOST_CODES:
        return 0
    return int(np.unique(values).size)


def _take_other(
    found: Findings,
    at: int,
    column: pa.ChunkedArray,
    names: list[str],
    missing: tuple[str, ...],
    decimal: str | None,
    wanted: bool,
) -> None:
    kind, n_rows = column.type, len(column)
    if pa.types.is_decimal(kind):
        _take_single(found, at, column.cast(pa.float64()), names, missing)
        return
    if pa.types.is_dictionary(kind) and not is_text(kind):
        # Categories that are numbers are categories still.
        column = pa.chunked_array([pc.cast(chunk, kind.value_type) for chunk in column.chunks])
        alone = examine(pa.table([column], names=[names[at]]), [names[at]], missing, decimal, {0} if wanted else set())
        for part in ("why", "missing", "unique", "numeric"):
            getattr(found, part)[at] = getattr(alone, part)[0]
        found.kind[at] = alone.kind[0].replace("gaussian", "categorical")
        found.changed[at] = alone.changed.get(0, column)
        return
    found.missing[at] = column.null_count / n_rows
    if pa.types.is_null(kind) or column.null_count == n_rows:
        found.why[at] = "empty"
    elif pa.types.is_temporal(kind):
        found.why[at] = "dates" if not pa.types.is_time(kind) and not pa.types.is_duration(kind) else "times"
        found.unique[at] = column.null_count == 0 and pc.count_distinct(column).as_py() == n_rows
        if wanted:
            found.changed[at] = column.cast(pa.string()).dictionary_encode()
            found.kind[at] = "categorical"
    elif not is_text(kind):
        found.why[at] = f"values of type {kind}: give each value a column of its own"
        if wanted:
            raise HicorexError(f"Column {names[at]!r} holds values of type {kind}; leave it out.")
    else:
        _take_text(found, at, column, names, missing, decimal, wanted)


def _take_single(
    found: Findings, at: int, numbers: pa.ChunkedArray, names: list[str], missing: tuple[str, ...]
) -> None:
    """Decide on a column that was turned into numbers."""
    table = pa.table([numbers], names=[names[at]])
    alone = examine(table, [names[at]], missing, ".", set())
    found.kind[at], found.why[at], found.missing[at] = alone.kind[0], alone.why[0], alone.missing[0]
    found.unique[at], found.numeric[at] = alone.unique[0], True
    found.changed[at] = alone.changed.get(0, numbers)


def _take_text(
    found: Findings,
    at: int,
    column: Any,
    names: list[str],
    missing: tuple[str, ...],
    decimal: str | None,
    wanted: bool,
) -> None:
    n_rows = len(column)
    if n_rows > 5 * SAMPLE_ROWS and not wanted and not pa.types.is_dictionary(column.type):
        rows = np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE_ROWS, replace=False))
        sample = pc.utf8_trim(column.take(pa.array(rows)), BLANKS).drop_null()
        texts = sample.combine_chunks()
        alone = len(texts) > SAMPLE_ROWS // 2 and len(pc.unique(texts)) == len(texts)
        if alone and not numbers_in(texts, decimal).any():
            found.why[at] = f"an identifier: {len(texts)} rows looked at, each with another value"
            if is_dates(texts):
                found.why[at] = "dates"
            found.why[at] += looks_like(texts, np.ones(len(texts)), decimal)
            found.unique[at] = column.null_count == 0
            return
    column, codes, counts, texts = tidy_text(column, missing)
    present, different = int(counts.sum()), len(texts)
    found.missing[at] = 1 - present / n_rows
    if present == 0:
        found.why[at] = "empty"
        return
    number = once(numbers_in, texts, decimal)
    share = counts[number].sum() / present
    others = texts.filter(pa.array(~number)).to_pylist() if share >= 0.9 else []
    if share >= 0.9 and len(others) <= 3:
        _take_single(found, at, numbers_of(codes, texts, number, decimal or "."), names, missing)
        if others:
            found.words[at] = others
            shown = ", ".join(map(repr, others))
            found.why[at] += f"; {shown} read as missing"
        return
    found.unique[at] = present == different == n_rows
    found.changed[at] = column
    if once(is_dates, texts):
        found.why[at] = "dates"
    elif different == 1:
        found.why[at] = "constant"
    elif different <= min(max(MOST_CODES, n_rows / 2), MOST_TEXTS):
        found.kind[at], found.why[at] = "categorical", f"text, {different} different"
    elif found.unique[at]:
        found.why[at] = "an identifier: every row has another value"
    elif different <= n_rows / 2:
        found.why[at] = f"text, {different} different: too many for categories"
    else:
        found.why[at] = "nearly every row has a text of its own"
    found.why[at] += looks_like(texts, counts, decimal)
    if wanted:
        found.kind[at] = "categorical"
