"""What each column of a file is: amounts, categories, an identifier, dates, or nothing to learn from."""

import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import (
    MOST_CODES,
    ColumnDecision,
    ColumnKind,
    ColumnReason,
    NumberFacts,
    Verdict,
    Written,
    verdict_on_numbers,
    verdict_on_texts,
)
from hicorex.input.files.amounts import amounts_in
from hicorex.input.files.dates import are_mostly_dates, are_mostly_times, day_first, days_in
from hicorex.input.files.formats import dense
from hicorex.input.files.literals import BLANKS, numeric_markers
from hicorex.input.files.text_columns import (
    is_text,
    numbers_in,
    numbers_of,
    once,
    resemblance,
    ticks,
    tidy_text,
    values_of,
)
from hicorex.input.number_columns import SENTINELS, stands_apart, study_numbers
from hicorex.input.times import days_of

NOTHING: Mapping[int, ColumnKind] = MappingProxyType({})
# Cells looked at together: their copies stay small beside the table.
CELLS = 1 << 20
# Rows that tell whether a long column of texts is an identifier.
SAMPLE_ROWS = 20_000
# A column of texts is one of numbers if this share of them are numbers, and no more than these different ones are not.
MOSTLY, MOST_WORDS = 0.9, 3
IDENTIFIER = re.compile(
    r"(?:(?i:^|.*[\W_])(?i:id|index|key|nr|no|code|rownames?))|.*[a-z](?:I[dD]|Index|Key|Nr|No|Code)"
)
# Identifiers have this share of different values, since one row may spoil them, and rows without one are as few.
NEARLY = 0.98


@dataclass
class Examination:
    """What the columns of a file are.

    decisions : one for each column
    names_rows : which columns have another value in every row, as names of rows do
    is_numeric : which columns hold numbers, which can be of any kind
    changed : what is to be taken instead of columns of the file: of an array, the cells that become NaN
    sentinels : numbers that look as if they stood for missing values, and in how many columns
    """

    decisions: list[ColumnDecision]
    names_rows: np.ndarray
    is_numeric: np.ndarray
    changed: dict[int, Any] = field(default_factory=dict)
    sentinels: Counter[int] = field(default_factory=Counter)

    def applied(self, columns: Any, name: str) -> Any:
        """The columns of a file, with those that are to be taken instead."""
        if not self.changed:
            return columns
        columns = dense(columns, name) if issparse(columns) else columns
        if isinstance(columns, np.ndarray):
            columns = columns.astype(np.result_type(columns, np.float16), copy=True)
            for at, marked in self.changed.items():
                columns[marked, at] = np.nan
            return columns
        given = columns.columns
        for at, column in self.changed.items():
            given[at] = column
        return pa.table(given, names=columns.column_names)


def examine(
    columns: Any,
    names: list[str],
    missing: tuple[str, ...],
    decimal: str | None,
    wanted: Mapping[int, ColumnKind] = NOTHING,
) -> Examination:
    """Decide on each column.

    Parameters
    ----------
    columns : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns)
    names : what the columns are called
    missing : markers of missing values
    decimal : the decimal sign of numbers among text; None if text is text
    wanted : the columns that are to be used whatever they hold, and as what
    """
    examiner = _Examiner(names, missing, decimal, wanted)
    if issparse(columns):
        examiner.take_sparse(columns)
    elif isinstance(columns, np.ndarray):
        examiner.take_array(columns)
    else:
        examiner.take_table(columns)
    return examiner.examination()


class _Examiner:
    """Looks at the columns of a file, those of one type together."""

    def __init__(
        self, names: list[str], missing: tuple[str, ...], decimal: str | None, wanted: Mapping[int, ColumnKind]
    ):
        self._names, self._missing, self._decimal, self._wanted = names, missing, decimal, wanted
        self._markers = numeric_markers(missing)
        self._decided: dict[int, ColumnDecision] = {}
        self._result = Examination([], np.zeros(len(names), bool), np.zeros(len(names), bool))

    def examination(self) -> Examination:
        """What all columns are, once they have been looked at."""
        self._result.decisions = [self._decided[at] for at in range(len(self._names))]
        return self._result

    def take_sparse(self, columns: Any) -> None:
        """Look at the columns of a sparse array; one without cells is all 0."""
        held = np.ones(len(self._names), bool) if 0 in self._markers else np.diff(columns.indptr) > 0
        for at in np.flatnonzero(~held).tolist():
            self._decide(at, ColumnKind.IGNORED, ColumnReason.CONSTANT)
        self._result.is_numeric[:] = True
        for places in self._together(np.flatnonzero(held).tolist(), columns.shape[0]):
            self._take_numbers(places, columns[:, places].toarray().T, columns.dtype.kind)

    def take_array(self, columns: np.ndarray) -> None:
        """Look at the columns of an array."""
        for places in self._together(list(range(columns.shape[1])), columns.shape[0]):
            self._take_numbers(places, columns[:, places[0] : places[-1] + 1].T, columns.dtype.kind)

    def take_table(self, columns: pa.Table) -> None:
        """Look at the columns of a table, those of numbers of one type together."""
        columns = columns.unify_dictionaries()
        others: list[int] = []
        groups: dict[tuple[str, bool], list[int]] = {}
        for at, (kind, column) in enumerate(zip(columns.schema.types, columns.columns, strict=True)):
            groups.setdefault((str(kind), column.null_count > 0), []).append(at)
        for every in groups.values():
            kind = columns.schema.types[every[0]]
            letter = "b" if pa.types.is_boolean(kind) else "i" if pa.types.is_integer(kind) else "f"
            if letter == "f" and not pa.types.is_floating(kind):
                others += every
                continue
            for places in self._together(every, columns.num_rows):
                self._take_numbers(places, _matrix(columns, places), letter, columns)

        def take(at: int) -> None:
            self._take_other(at, columns.column(at))

        with ThreadPoolExecutor() as pool:
            # pyarrow works on long columns side by side; for short ones that is not worth it.
            for _ in (pool.map if columns.num_rows > SAMPLE_ROWS else map)(take, others):
                pass

    def _together(self, places: list[int], n_rows: int) -> list[list[int]]:
        """Columns, a few at a time."""
        count = max(1, CELLS // n_rows)
        return [places[first : first + count] for first in range(0, len(places), count)]

    def _decide(self, at: int, kind: ColumnKind, reason: ColumnReason, *facts: Any, **details: Any) -> None:
        self._decided[at] = ColumnDecision(self._names[at], kind, reason, *facts, **details)

    def _take_numbers(self, places: list[int], values: np.ndarray, letter: str, table: pa.Table | None = None) -> None:
        """Columns of numbers or booleans, whose types have this letter, as the rows of an array."""
        n_rows, is_boolean, is_integer = values.shape[1], letter == "b", letter in "iu"
        study = study_numbers(values, self._markers[:0] if is_boolean else self._markers)
        if study.marked is not None:
            self._replace_marked(places, study.marked, table)
        self._count_sentinels(values, study.extremes)
        self._result.is_numeric[places] = True
        verdicts: dict[tuple[bool | int, ...], Verdict] = {}  # of tens of thousands of columns, most are alike
        figures = zip(
            places,
            (study.missing / n_rows).tolist(),
            (study.missing == n_rows).tolist(),
            study.constant.tolist(),
            study.whole.tolist(),
            study.n_different.tolist(),
            study.counts_rows.tolist(),
            study.counts_runs.tolist(),
            strict=True,
        )
        for row, (at, missing, empty, constant, whole, count, *counts) in enumerate(figures):
            name = self._names[at]
            identifies = (False, False)
            if whole and not is_boolean and (count == 0 or count >= NEARLY * NEARLY * n_rows):
                identifies = _identifies(name, values[row])
            key = empty, constant, whole, count, *counts, *identifies
            if key not in verdicts:
                alike = is_boolean, is_integer, empty, constant, whole, count or None, *counts, *identifies
                verdicts[key] = verdict_on_numbers(NumberFacts(n_rows, *alike))
            kind, reason, n_different, names_rows = verdicts[key]
            self._decided[at] = ColumnDecision(name, kind, reason, missing, n_different)
            if constant and missing and table is not None and study.extremes[0, row] == 1:
                self._take_ticks(at, table)
            if names_rows:
                self._result.names_rows[at] = True

    def _take_ticks(self, at: int, table: pa.Table) -> None:
        """A column of 1 or nothing as one of 1 and 0."""
        column = table.column(at)
        n_present = len(column) - column.null_count
        if verdict_on_texts(len(column), n_present, 1).reason is ColumnReason.TICKED:
            self._result.changed[at] = pc.fill_null(column, pa.scalar(0, column.type))
            self._decide(at, ColumnKind.CATEGORICAL, ColumnReason.TICKED, 0.0, 2, written=Written.TICKED)

    def _replace_marked(self, places: list[int], marked: np.ndarray, table: pa.Table | None) -> None:
        for row in np.flatnonzero(marked.any(axis=1)).tolist():
            if table is None:
                self._result.changed[places[row]] = marked[row]
                continue
            column = table.column(places[row])
            gone = pc.if_else(pa.array(marked[row]), pa.scalar(None, column.type), column)
            self._result.changed[places[row]] = gone

    def _count_sentinels(self, values: np.ndarray, extremes: np.ndarray) -> None:
        for row in np.flatnonzero(np.isin(extremes, SENTINELS).any(axis=0)).tolist():
            for value in extremes[:, row]:
                if value in SENTINELS and stands_apart(values[row], value):
                    self._result.sentinels[int(value)] += 1

    def _take_other(self, at: int, column: pa.ChunkedArray) -> None:
        """Look at a column of another type than plain numbers or booleans."""
        kind, missing = column.type, column.null_count / len(column)
        if pa.types.is_decimal(kind):
            self._take_alone(at, column.cast(pa.float64()))
        elif pa.types.is_dictionary(kind) and not is_text(kind):
            self._take_coded(at, column)
        elif pa.types.is_null(kind) or column.null_count == len(column):
            self._decide(at, ColumnKind.IGNORED, ColumnReason.EMPTY, missing)
        elif pa.types.is_temporal(kind):
            self._take_times(at, column)
        elif is_text(kind):
            self._take_text(at, column)
        elif at in self._wanted:
            raise HicorexError(f"Column {self._names[at]!r} holds values of type {kind}; leave it out.")
        else:
            self._decide(at, ColumnKind.IGNORED, ColumnReason.UNUSABLE_TYPE, missing, type_name=str(kind))

    def _take_alone(
        self, at: int, numbers: Any, words: tuple[str, ...] = (), unit: str = "", written: Written = Written.PLAIN
    ) -> None:
        """Look at a column that was turned into numbers; the words in it count as missing."""
        name = self._names[at]
        alone = examine(pa.table([numbers], names=[name]), [name], self._missing, ".")
        decision = alone.decisions[0]
        if written in (Written.DATE, Written.DATE_BY_DAY) and decision.kind.is_learned:
            decision = decision._replace(reason=ColumnReason.DATES)
        self._decided[at] = decision._replace(words=words, unit=unit, written=written)
        self._result.names_rows[at], self._result.is_numeric[at] = alone.names_rows[0], True
        self._result.changed[at] = alone.changed.get(0, numbers)

    def _take_coded(self, at: int, column: pa.ChunkedArray) -> None:
        """Look at categories that are no texts; numbers stay categories."""
        column = pa.chunked_array([pc.cast(chunk, column.type.value_type) for chunk in column.chunks])
        name, wanted = self._names[at], {0: self._wanted[at]} if at in self._wanted else NOTHING
        alone = examine(pa.table([column], names=[name]), [name], self._missing, self._decimal, wanted)
        (decision,) = alone.decisions
        if decision.kind is ColumnKind.GAUSSIAN:
            codes = ColumnReason.CODES if decision.reason is ColumnReason.AMOUNTS else decision.reason
            decision = decision._replace(kind=ColumnKind.CATEGORICAL, reason=codes)
        self._decided[at] = decision
        self._result.names_rows[at], self._result.is_numeric[at] = alone.names_rows[0], alone.is_numeric[0]
        self._result.changed[at] = alone.changed.get(0, column)

    def _take_times(self, at: int, column: pa.ChunkedArray) -> None:
        has_days = not pa.types.is_time(column.type) and not pa.types.is_duration(column.type)
        reason = ColumnReason.DATES if has_days else ColumnReason.TIMES
        n_rows = len(column)
        unique = column.null_count == 0 and pc.count_distinct(column).as_py() == n_rows
        if self._as_categories(at):
            self._decide(at, ColumnKind.CATEGORICAL, reason, column.null_count / n_rows)
            self._result.changed[at] = column.cast(pa.string()).dictionary_encode()
        else:
            self._take_alone(at, values_of(np.arange(n_rows), days_of(column)), written=Written.DATE)
            if self._decided[at].kind.is_learned:
                self._decided[at] = self._decided[at]._replace(reason=reason)
        self._result.names_rows[at] = unique

    def _as_categories(self, at: int) -> bool:
        """Whether the user wants a column as categories."""
        return self._wanted.get(at) is ColumnKind.CATEGORICAL

    def _kind_of_ignored(self, at: int) -> ColumnKind:
        """The kind of a column that would be ignored: categorical if the user wants the column."""
        return ColumnKind.CATEGORICAL if at in self._wanted else ColumnKind.IGNORED

    def _take_text(self, at: int, column: pa.ChunkedArray) -> None:
        n_rows = len(column)
        is_long = n_rows > 5 * SAMPLE_ROWS and not pa.types.is_dictionary(column.type)
        if is_long and at not in self._wanted and self._take_identifier(at, column):
            return
        column, codes, counts, texts = tidy_text(column, self._missing)
        n_present = int(counts.sum())
        missing = 1 - n_present / n_rows
        if n_present == 0:
            self._decide(at, ColumnKind.IGNORED, ColumnReason.EMPTY, missing)
            return
        if self._take_numbers_in_words(at, codes, counts, texts):
            return
        verdict = verdict_on_texts(n_rows, n_present, len(texts))
        written = Written.PLAIN
        if verdict.reason is ColumnReason.TICKED:
            column, missing, written = ticks(codes, texts), 0.0, Written.TICKED
        self._result.names_rows[at] = verdict.names_rows
        self._result.changed[at] = column
        kind = verdict.kind if verdict.kind is not ColumnKind.IGNORED else self._kind_of_ignored(at)
        like = resemblance(texts, counts, self._decimal)
        self._decide(at, kind, verdict.reason, missing, verdict.n_different, resembles=like, written=written)

    def _take_numbers_in_words(self, at: int, codes: np.ndarray, counts: np.ndarray, texts: pa.Array) -> bool:
        """Look at a column of texts that are numbers, amounts or dates, but for a few words; whether it is one."""
        is_number = once(numbers_in, texts, self._decimal)
        if self._are_mostly(is_number, counts):
            words = tuple(texts.filter(pa.array(~is_number)).to_pylist())
            self._take_alone(at, numbers_of(codes, texts, is_number, self._decimal or "."), words)
            return True
        if self._as_categories(at):
            return False
        amounts = once(amounts_in, texts, self._decimal)
        if amounts is not None and (amounts.unit or self._decimal is not None):
            values, unit, written = amounts.values, amounts.unit, Written.AMOUNT
        elif once(are_mostly_dates, texts):
            by_day = day_first(texts)
            written = Written.DATE_BY_DAY if by_day else Written.DATE
            values, unit = days_in(texts, by_day), ""
        elif once(are_mostly_times, texts):
            written, unit, values = Written.DATE, "", days_in(texts, False)
        else:
            return False
        known = ~np.isnan(values)
        if not self._are_mostly(known, counts):
            return False
        self._take_alone(at, values_of(codes, values), tuple(texts.filter(pa.array(~known)).to_pylist()), unit, written)
        if self._decided[at].reason is ColumnReason.DATES and once(are_mostly_times, texts):
            self._decided[at] = self._decided[at]._replace(reason=ColumnReason.TIMES)
        unique = written is not Written.AMOUNT and len(texts) == len(codes)
        self._result.names_rows[at] = self._result.names_rows[at] or unique
        return True

    @staticmethod
    def _are_mostly(known: np.ndarray, counts: np.ndarray) -> bool:
        """Whether texts are of a kind, but for a few words."""
        return bool(counts[known].sum() >= MOSTLY * counts.sum() and np.count_nonzero(~known) <= MOST_WORDS)

    def _take_identifier(self, at: int, column: pa.ChunkedArray) -> bool:
        """Decide on a long column of texts that some rows show to be an identifier; whether it is one."""
        rows = np.sort(np.random.default_rng(0).choice(len(column), SAMPLE_ROWS, replace=False))
        texts = pc.utf8_trim(column.take(pa.array(rows)), BLANKS).drop_null().combine_chunks()
        if len(texts) <= SAMPLE_ROWS // 2 or len(pc.unique(texts)) < len(texts):
            return False
        if numbers_in(texts, self._decimal).any() or amounts_in(texts, self._decimal) or are_mostly_dates(texts):
            return False
        if are_mostly_times(texts):
            return False
        reason = ColumnReason.IDENTIFIER_IN_SAMPLE
        missing = column.null_count / len(column)
        like = resemblance(texts, np.ones(len(texts)), self._decimal)
        self._decide(at, ColumnKind.IGNORED, reason, missing, n_looked=len(texts), resembles=like)
        self._result.names_rows[at] = column.null_count == 0
        return True


def _identifies(name: str, values: np.ndarray) -> tuple[bool, bool]:
    """Whether a column is an identifier by its name and its whole numbers, and whether every row has another one."""
    if IDENTIFIER.fullmatch(name) is None:
        return False, False
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    n_different = np.unique(known).size
    nearly = values.size > MOST_CODES and n_different >= NEARLY * known.size and known.size >= NEARLY * values.size
    return bool(nearly or n_different == values.size), n_different == values.size


def _matrix(table: pa.Table, places: list[int]) -> np.ndarray:
    """Columns of one numeric type as the rows of an array, NaN where missing."""
    table = table.select(places)
    if pa.types.is_boolean(table.schema.types[0]):
        table = table.cast(pa.schema([(name, pa.uint8()) for name in table.column_names]))
    if len(places) == 1:
        return table.column(0).to_numpy()[None]
    batch = table.combine_chunks().to_batches()[0]
    return batch.to_tensor(null_to_nan=batch.column(0).null_count > 0, row_major=False).to_numpy().T
