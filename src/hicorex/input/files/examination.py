"""What each column of a file is: amounts, categories, an identifier, dates, or nothing to learn from."""

import re
from collections import Counter
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import (
    ColumnDecision,
    ColumnKind,
    ColumnReason,
    NumberFacts,
    Verdict,
    verdict_on_numbers,
    verdict_on_texts,
)
from hicorex.input.files.formats import dense
from hicorex.input.files.literals import BLANKS, numeric_markers
from hicorex.input.files.text_columns import is_dates, is_text, numbers_in, numbers_of, once, resemblance, tidy_text
from hicorex.input.number_columns import SENTINELS, has_heavy_tails, stands_apart, study_numbers

# Cells looked at together: their copies stay small beside the table.
CELLS = 1 << 20
# Rows that tell whether a long column of texts is an identifier.
SAMPLE_ROWS = 20_000
# A column of texts is one of numbers if this share of them are numbers, and no more than these different ones are not.
MOSTLY, MOST_WORDS = 0.9, 3
IDENTIFIER = re.compile(r"(?:(?i:^|.*[\W_])(?i:id|index|key|nr|no|rownames?))|.*[a-z](?:I[dD]|Index|Key|Nr|No)")


@dataclass
class Examination:
    """What the columns of a file are.

    decisions : one for each column
    names_rows : which columns have another value in every row, as names of rows do
    is_numeric : which columns hold numbers, which can be of any kind
    changed : what is to be taken instead of columns of the file: of an array, the cells that become NaN
    sentinels : numbers that look as if they stood for missing values, and in how many columns
    heavy : the columns of amounts with heavy tails
    """

    decisions: list[ColumnDecision]
    names_rows: np.ndarray
    is_numeric: np.ndarray
    changed: dict[int, Any] = field(default_factory=dict)
    sentinels: Counter[int] = field(default_factory=Counter)
    heavy: list[int] = field(default_factory=list)

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
    columns: Any, names: list[str], missing: tuple[str, ...], decimal: str | None, wanted: Set[int] = frozenset()
) -> Examination:
    """Decide on each column.

    Parameters
    ----------
    columns : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns)
    names : what the columns are called
    missing : markers of missing values
    decimal : the decimal sign of numbers among text; None if text is text
    wanted : the columns that are to be used whatever they hold
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

    def __init__(self, names: list[str], missing: tuple[str, ...], decimal: str | None, wanted: Set[int]):
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
        amounts: list[int] = []
        verdicts: dict[tuple[bool | int, ...], Verdict] = {}  # of tens of thousands of columns, most are alike
        figures = zip(
            places,
            (study.missing / n_rows).tolist(),
            (study.missing == n_rows).tolist(),
            study.constant.tolist(),
            study.whole.tolist(),
            study.n_different.tolist(),
            study.counts_rows.tolist(),
            strict=True,
        )
        for row, (at, missing, empty, constant, whole, count, counts_rows) in enumerate(figures):
            name = self._names[at]
            named_so = is_integer and whole and count in (0, n_rows) and IDENTIFIER.fullmatch(name) is not None
            unique = named_so and (count == n_rows or np.unique(values[row]).size == n_rows)
            key = empty, constant, whole, count, counts_rows, unique
            if key not in verdicts:
                facts = NumberFacts(
                    n_rows, is_boolean, is_integer, empty, constant, whole, count or None, counts_rows, unique
                )
                verdicts[key] = verdict_on_numbers(facts)
            kind, reason, n_different, names_rows = verdicts[key]
            self._decided[at] = ColumnDecision(name, kind, reason, missing, n_different)
            if names_rows:
                self._result.names_rows[at] = True
            if kind is ColumnKind.GAUSSIAN:
                amounts.append(row)
        self._result.heavy += [places[amounts[at]] for at in np.flatnonzero(has_heavy_tails(values[amounts])).tolist()]

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

    def _take_alone(self, at: int, numbers: pa.ChunkedArray, words: tuple[str, ...] = ()) -> None:
        """Look at a column that was turned into numbers; the words in it count as missing."""
        name = self._names[at]
        alone = examine(pa.table([numbers], names=[name]), [name], self._missing, ".")
        self._decided[at] = alone.decisions[0]._replace(words=words)
        self._result.names_rows[at], self._result.is_numeric[at] = alone.names_rows[0], True
        self._result.changed[at] = alone.changed.get(0, numbers)

    def _take_coded(self, at: int, column: pa.ChunkedArray) -> None:
        """Look at categories that are no texts; numbers stay categories."""
        column = pa.chunked_array([pc.cast(chunk, column.type.value_type) for chunk in column.chunks])
        name, wanted = self._names[at], {0} if at in self._wanted else frozenset()
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
        self._result.names_rows[at] = column.null_count == 0 and pc.count_distinct(column).as_py() == n_rows
        self._decide(at, self._kind_of_ignored(at), reason, column.null_count / n_rows)
        if at in self._wanted:
            self._result.changed[at] = column.cast(pa.string()).dictionary_encode()

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
        is_number = once(numbers_in, texts, self._decimal)
        if counts[is_number].sum() / n_present >= MOSTLY:
            words = texts.filter(pa.array(~is_number)).to_pylist()
            if len(words) <= MOST_WORDS:
                self._take_alone(at, numbers_of(codes, texts, is_number, self._decimal or "."), tuple(words))
                return
        verdict = verdict_on_texts(n_rows, n_present, len(texts), once(is_dates, texts))
        self._result.names_rows[at] = verdict.names_rows
        self._result.changed[at] = column
        kind = verdict.kind if verdict.kind is not ColumnKind.IGNORED else self._kind_of_ignored(at)
        like = resemblance(texts, counts, self._decimal)
        self._decide(at, kind, verdict.reason, missing, verdict.n_different, resembles=like)

    def _take_identifier(self, at: int, column: pa.ChunkedArray) -> bool:
        """Decide on a long column of texts that some rows show to be an identifier; whether it is one."""
        rows = np.sort(np.random.default_rng(0).choice(len(column), SAMPLE_ROWS, replace=False))
        texts = pc.utf8_trim(column.take(pa.array(rows)), BLANKS).drop_null().combine_chunks()
        if len(texts) <= SAMPLE_ROWS // 2 or len(pc.unique(texts)) < len(texts):
            return False
        if numbers_in(texts, self._decimal).any():
            return False
        reason = ColumnReason.DATES if is_dates(texts) else ColumnReason.IDENTIFIER_IN_SAMPLE
        missing = column.null_count / len(column)
        like = resemblance(texts, np.ones(len(texts)), self._decimal)
        self._decide(at, ColumnKind.IGNORED, reason, missing, n_looked=len(texts), resembles=like)
        self._result.names_rows[at] = column.null_count == 0
        return True


def _matrix(table: pa.Table, places: list[int]) -> np.ndarray:
    """Columns of one numeric type as the rows of an array, NaN where missing."""
    table = table.select(places)
    if pa.types.is_boolean(table.schema.types[0]):
        table = table.cast(pa.schema([(name, pa.uint8()) for name in table.column_names]))
    if len(places) == 1:
        return table.column(0).to_numpy()[None]
    batch = table.combine_chunks().to_batches()[0]
    return batch.to_tensor(null_to_nan=batch.column(0).null_count > 0, row_major=False).to_numpy().T
