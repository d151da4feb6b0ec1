"""From files to typed columns: which columns are used, of what kind they are, and what the rows are called."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from hicorex.exceptions import HicorexError
from hicorex.input.amounts import looked_at, read_by_rank, sampled, telling_rows
from hicorex.input.column_kinds import MOST_CODES, ColumnDecision, ColumnKind, ColumnReason
from hicorex.input.files.choosing import Choice, choose
from hicorex.input.files.examination import Examination, examine
from hicorex.input.files.extra_rows import without_extra_rows
from hicorex.input.files.formats import of_texts, read_raw
from hicorex.input.files.lags import with_lags
from hicorex.input.files.raw import RawTable, column_of
from hicorex.input.files.suggestions import suggestions
from hicorex.input.files.table import Reading, Table, columns_kept, numbers_or_names, title_of_rows
from hicorex.input.files.turned import turned
from hicorex.input.notes import Note, PerhapsMissing
from hicorex.input.readers import reader_of, rows_of
from hicorex.input.sources import Source
from hicorex.input.weights import as_samples, check_weights, counts_rows
from hicorex.input.words import decisions_in_words

File = str | Path | BinaryIO | Source
# Gives a column of numbers of all rows, by its place and the markers of missing values.
ColumnOfAll = Callable[[int, tuple[str, ...]], np.ndarray]
# Why a column can be kept from being learned from, whatever kind is asked for.
TELLS_NOTHING = (ColumnReason.EMPTY, ColumnReason.CONSTANT)
# What is said of names of rows as if they were a variable.
OF_VARIABLES = (ColumnReason.CATEGORIES, ColumnReason.TOO_MANY_CATEGORIES, ColumnReason.NOT_USED)


def read_table(source: File, reading: Reading = Reading()) -> Table:
    """Read a file, decide on its columns and keep those that a model can learn from."""
    with named_errors(source):
        return decide(read_file(source, reading), reading, name_of(source))


def decide(raw: RawTable, reading: Reading, name: str, column_of_all: ColumnOfAll | None = None) -> Table:
    """The columns of a file that a model can learn from, or of some of its rows.

    Of some rows, ``column_of_all`` gives a column of numbers of all.
    """
    markers = (*raw.markers, *reading.missing)
    choice = choose(raw, reading)
    columns, decisions, row_names, notes = decided(raw, reading, name, choice)
    sample_weight = None
    if choice.weights is not None:
        every = None if column_of_all is None else partial(column_of_all, choice.weights, markers)
        column = column_of(columns, choice.weights)
        sample_weight, decisions[choice.weights] = _weights(column, decisions[choice.weights], every)
    kept = [at for at, decision in enumerate(decisions) if decision.kind.is_learned]
    if not kept:
        one_row = raw.columns.shape[0] == 1
        because = "it has one row, and at least two are needed" if one_row else decisions_in_words(decisions)
        raise HicorexError(f"{name} has no column to learn from: {because}.")
    return Table(
        columns_kept(columns, kept),
        [raw.names[at] for at in kept],
        [decisions[at].kind.value for at in kept],
        numbers_or_names(raw, row_names),
        title_of_rows(raw, row_names),
        sample_weight,
        tuple(decisions),
        notes,
    )


class Decided(NamedTuple):
    """What was decided on the columns of a table.

    columns : as they are to be used
    decisions : one for each column
    row_names : the column that holds these, None if none does
    notes : what there is to say on the table
    """

    columns: Any
    decisions: list[ColumnDecision]
    row_names: int | None
    notes: tuple[Note, ...]


def decided(raw: RawTable, reading: Reading, name: str, choice: Choice) -> Decided:
    """What each column is, by what it holds and what the user says."""
    markers = (*raw.markers, *reading.missing)
    examined = examine(raw.columns, raw.names, markers, raw.decimal, choice.wanted)
    row_names = choice.row_names
    if row_names is None and examined.names_rows[0] and not choice.speaks_of(0):
        row_names = 0
    columns = examined.applied(raw.columns, name)
    decisions = _with_choice(examined, choice)
    for at, unit in raw.units.items():
        if examined.is_numeric[at]:
            decisions[at] = decisions[at]._replace(unit=unit)
    if row_names is not None:
        decisions[row_names] = _as_row_names(decisions[row_names], raw, reading)
    sample_weight = None
    if choice.weights is not None:
        decision = decisions[choice.weights]
        values, called = _numbers(column_of(columns, choice.weights), decision), _called(decision.name)
        sample_weight = check_weights(values, len(values), called)
        counted = sample_weight > 0
        sample_weight[counted] = as_samples(sample_weight[counted], called)
    for at in _by_rank(columns, decisions, sample_weight):
        decisions[at] = decisions[at]._replace(kind=ColumnKind.RANK)
    for at, of in raw.copies.items():
        decisions[at] = _as_its_column(decisions[of], decisions[at], at in choice.named)
    notes = (*raw.notes, *_notes(examined), *suggestions(columns, decisions))
    return Decided(columns, decisions, row_names, notes)


def _by_rank(columns: Any, decisions: list[ColumnDecision], sample_weight: np.ndarray | None) -> list[int]:
    """The columns of amounts of a table that are read by their ranks, where nobody says it."""
    kept = [at for at, decision in enumerate(decisions) if decision.kind.is_learned]
    is_open = [decisions[at].kind is ColumnKind.GAUSSIAN and not decisions[at].as_asked for at in kept]
    if not any(is_open):
        return []
    weight = np.ones(columns.shape[0]) if sample_weight is None else sample_weight
    counted = np.flatnonzero(weight)
    rows = counted[telling_rows(counted.size)]
    looked = [kept[at] for at in looked_at(len(kept)).tolist()]
    table = reader_of(rows_of(columns_kept(columns, looked), rows))
    samples = sampled(table, weight[rows], 0, np.arange(rows.size))
    kinds = [decisions[at].kind.value for at in kept]
    return [kept[at] for at in read_by_rank(samples, kinds, np.array(is_open, bool))]


def _with_choice(examined: Examination, choice: Choice) -> list[ColumnDecision]:
    """The decisions, with what the user says of kinds and of columns that are not to be used."""
    decisions = list(examined.decisions)
    for at, kind in choice.kinds.items():
        decision = decisions[at]
        if decision.reason in TELLS_NOTHING or (decision.kind is ColumnKind.IGNORED and at not in choice.named):
            continue
        few = 0 < (decision.n_different or 0) <= MOST_CODES
        if kind is ColumnKind.ORDERED and not few and at not in choice.named:
            continue  # a pattern means the columns of few whole numbers
        if kind is not ColumnKind.CATEGORICAL and not examined.is_numeric[at]:
            if at not in choice.named:  # a pattern means the columns of numbers
                continue
            numbers = "write its answers as numbers from low to high, " if kind is ColumnKind.ORDERED else ""
            raise HicorexError(
                f"Column {decision.name!r} holds text and cannot be {kind}; {numbers}make it "
                "categorical or leave it out."
            )
        decisions[at] = decision._replace(kind=kind, as_asked=True)
    for at, reason in choice.left_out.items():
        decisions[at] = decisions[at].ignored(reason)
    return decisions


def _as_its_column(decision: ColumnDecision, copy: ColumnDecision, is_named: bool) -> ColumnDecision:
    """What a lagged copy of a column is used as: as the column, unless something else is asked for."""
    if is_named or copy.reason in (*TELLS_NOTHING, ColumnReason.EXCLUDED, ColumnReason.NOT_USED):
        return copy
    if not decision.kind.is_learned:
        return copy.ignored(decision.reason)
    return copy._replace(kind=decision.kind, reason=decision.reason, n_different=decision.n_different)


def _as_row_names(decision: ColumnDecision, raw: RawTable, reading: Reading) -> ColumnDecision:
    reason = decision.reason
    if reading.row_names is not None:
        reason = ColumnReason.ASKED_FOR
    elif raw.row_names is not None:
        reason = ColumnReason.MARKED_BY_FILE
    elif reason in OF_VARIABLES:
        reason = ColumnReason.IDENTIFIER
    else:
        return decision._replace(kind=ColumnKind.ROW_NAMES)
    return ColumnDecision(decision.name, ColumnKind.ROW_NAMES, reason, decision.missing)


def _weights(
    column: Any, decision: ColumnDecision, every: Callable[[], np.ndarray] | None
) -> tuple[np.ndarray, ColumnDecision]:
    """The weights of all rows as the file has them, and what a fit makes of them."""
    name = decision.name
    values = _numbers(column, decision) if every is None else every()
    called = _called(name)
    sample_weight = check_weights(values, len(values), called)
    n_effective = float(as_samples(sample_weight[sample_weight > 0], called).sum())
    reason = ColumnReason.ROW_COUNTS if counts_rows(sample_weight) else ColumnReason.RELATIVE_WEIGHTS
    missing = decision.missing
    return sample_weight, ColumnDecision(name, ColumnKind.WEIGHTS, reason, missing, n_effective=n_effective)


def _called(name: str) -> str:
    """What messages call a column of weights."""
    return f"Column {name!r} of --weights"


def _numbers(column: Any, decision: ColumnDecision) -> np.ndarray:
    """A column of weights."""
    if isinstance(column, np.ndarray):
        return column
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise HicorexError(
            f"--weights names column {decision.name!r}, which does not hold numbers; give one that does."
        )
    return column.to_numpy()


def _notes(examined: Examination) -> Iterator[Note]:
    """What the values of columns suggest to change."""
    for value, n_columns in examined.sentinels.items():
        yield PerhapsMissing(value, n_columns)


def read_file(source: File, reading: Reading, texts: Iterable[str] = ()) -> RawTable:
    """What a file holds; of a text, these columns stay text."""
    if isinstance(source, Source):
        raw = of_texts(source.read(0, source.shape[0]), name_of(source))
    else:
        raw = read_raw(source, reading, list(texts))
    return prepared(raw, reading, name_of(source))


def prepared(raw: RawTable, reading: Reading, name: str) -> RawTable:
    """A table without rows that hold no sample, turned if that is asked for."""
    raw = without_extra_rows(raw, reading.second_header)
    return with_lags(turned(raw, name) if reading.transpose else raw, reading, name)


@contextmanager
def named_errors(source: File) -> Iterator[None]:
    """What pyarrow cannot do with a file is told with its name."""
    try:
        yield
    except (pa.ArrowException, UnicodeError) as error:
        raise HicorexError(f"{name_of(source)} cannot be used: {' '.join(str(error).split())}") from error


def name_of(source: File) -> str:
    """How messages call a file."""
    if str(source) == "-":
        return "standard input"
    return str(source) if isinstance(source, str | Path) else str(getattr(source, "name", "the file"))
