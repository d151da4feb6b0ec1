"""From files to typed columns: which columns are used, of what kind they are, and what the rows are called."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import issparse

from hicorex.exceptions import HicorexError
from hicorex.input.files.column_kinds import Findings, examine
from hicorex.input.files.csv_file import FALSE, NUMBER, TRUE, Raw
from hicorex.input.files.formats import dense, raw_of, read_raw
from hicorex.input.files.text_columns import is_text, numbers_of, numeric_markers, tidy_text
from hicorex.input.reader import KINDS
from hicorex.input.sources import Source
from hicorex.input.weights import as_samples, check_weights, counts_rows


@dataclass(frozen=True)
class Reading:
    """How a file is to be read; what is None is found out.

    Parameters
    ----------
    delimiter, decimal, encoding, header :
        How a table is written as text: the sign between fields, the decimal sign ("." or ","), the encoding,
        and whether the first line holds the names of columns.
    missing :
        Further markers of missing values, compared as text and as numbers.
    row_names : the column with the names of rows
    use, exclude : names of columns, or patterns with * and ?; all are used if `use` is empty
    kinds : a kind ("gaussian", "rank" or "categorical") for names or patterns; a name goes before a pattern
    weights : a column of numbers that holds the weights of samples
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    row_names: str | None = None
    use: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None


class Decision(NamedTuple):
    """What was made of a column.

    kind : "gaussian", "rank", "categorical", "row names", "weights" or "ignored"
    missing : share of the rows in which the column has no value
    why : the reason, for people
    """

    name: str
    kind: str
    missing: float
    why: str


@dataclass(frozen=True)
class Table:
    """The columns of a file that are used, and what was decided.

    frame : pyarrow.Table, or array or scipy sparse array of shape (n_samples, n_columns) if the file holds one
    names, kinds : one for each column of the frame
    row_names : what the rows are called: a pyarrow column of text, or an array of whole numbers
    row_title : the name of the column with the names of rows, "row" if there is none
    weight : (n_samples,), or None
    words : for columns of numbers, the texts in them that were read as missing
    decisions : one for each column of the file
    notes : what was decided on the file as a whole
    """

    frame: Any
    names: list[str]
    kinds: list[str]
    row_names: Any
    row_title: str
    weight: np.ndarray | None
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...]
    words: dict[str, list[str]] = field(default_factory=dict)


def read_table(source: str | Path | BinaryIO | Source, reading: Reading = Reading()) -> Table:
    """Read a file, decide on its columns and keep those that a model can learn from."""
    with named_errors(source):
        return decide(_read(source, reading), reading, _name(source))


def decide(
    raw: Raw, reading: Reading, name: str, whole: Callable[[int, tuple[str, ...]], np.ndarray] | None = None
) -> Table:
    """The columns of a file that a model can learn from, or of some of its rows.

    Of some rows, whole(column, markers of missing values) gives a column of numbers of all.
    """
    n_rows, n_columns = raw.columns.shape
    chosen = _Names(raw.names)
    wanted, named = _wanted(reading, chosen)
    row_names = raw.row_names if reading.row_names is None else chosen.one(reading.row_names, "--row-names")
    weight, weights = None, None if reading.weights is None else chosen.one(reading.weights, "--weights")
    used = chosen.match(reading.use, "--use") if reading.use else set(range(n_columns))
    excluded = chosen.match(reading.exclude, "--exclude")
    found = examine(raw.columns, raw.names, (*raw.markers, *reading.missing), raw.decimal, named)
    if row_names is None and 0 not in excluded | named | {weights} and found.unique[0]:
        row_names = 0
    columns = _changed(raw.columns, found, name)
    kinds, why = found.kind, found.why
    for at, kind in wanted.items():
        if why[at] in ("empty", "constant") or (kinds[at] == "ignored" and at not in named):
            continue
        if kind != "categorical" and not found.numeric[at]:
            raise HicorexError(
                f"Column {raw.names[at]!r} holds {'dates' if why[at] == 'dates' else 'text'} and cannot be {kind}; "
                "make it categorical or leave it out."
            )
        kinds[at], why[at] = kind, f"as asked for: {why[at]}"
    for at in sorted(excluded | set(range(n_columns)) - used if excluded or reading.use else ()):
        kinds[at], why[at] = "ignored", "excluded" if at in excluded else "not among those to be used"
    if row_names is not None:
        kinds[row_names] = "row names"
        if reading.row_names is not None:
            why[row_names] = "asked for"
        elif raw.row_names is not None:
            why[row_names] = "marked as such by the file"
        elif why[row_names].startswith(("text", "not among")):
            why[row_names] = "an identifier: every row has another value"
    if weights is not None:
        kinds[weights] = "weights"
        every = None if whole is None else partial(whole, weights, (*raw.markers, *reading.missing))
        weight, why[weights] = _weight(_column(columns, weights), raw.names[weights], every)
    decisions = tuple(map(Decision, raw.names, kinds, found.missing.tolist(), why))
    kept = [at for at, kind in enumerate(kinds) if kind in KINDS]
    if not kept:
        because = "it has one row, and at least two are needed" if n_rows == 1 else in_words(decisions)
        raise HicorexError(f"{name} has no column to learn from: {because}.")
    words = {raw.names[at]: own for at, own in found.words.items()}
    heavy = [raw.names[at] for at in found.heavy if kinds[at] == "gaussian"]
    if heavy:
        shown = ", ".join(map(repr, heavy[:3])) + (" and others" if len(heavy) > 3 else "")
        note = f"heavy tails in {shown}: read as rank, by --kinds, they may explain more"
        raw = raw._replace(notes=(*raw.notes, note))
    for value, count in found.sentinels.items():
        where = f"{count} columns" if count > 1 else "a column"
        note = (
            f"{value} is in {where}, far from all other values: if it stands for a missing one, say --missing {value}"
        )
        raw = raw._replace(notes=(*raw.notes, note))
    return _table(raw, columns, kept, row_names, [kinds[at] for at in kept], weight, decisions, words)


def read_new(
    source: str | Path | BinaryIO | Source,
    reading: Reading,
    expected: Mapping[str, str],
    usual_row_names: str | None = None,
    words: Mapping[str, list[str]] | None = None,
) -> Table:
    """New samples for a fitted model.

    Parameters
    ----------
    expected :
        For each column that the model knows, in its order, "number", "whole number", "text" or "boolean".
    usual_row_names :
        The column that had the names of rows in the fit; it is not missed.
    words :
        For columns of numbers, texts that are read as missing, as in the fit.

    Other columns are ignored; a column that lacks, or a value of another type, is an error that names it.
    """
    with named_errors(source):
        raw = _read(source, reading, [name for name, what in expected.items() if what == "text"])
        missing = (*raw.markers, *reading.missing)
        order, row_names = find_columns(raw, reading, _name(source), expected, usual_row_names)
        for at, name in zip(order, expected, strict=True):
            raw.names[at] = name
        columns = raw.columns
        if not isinstance(columns, pa.Table):
            columns = _changed(columns, examine(columns, raw.names, missing, raw.decimal, set()), _name(source))
        else:
            given = columns.columns
            for at, (name, what) in zip(order, expected.items(), strict=True):
                called, own = f"{_name(source)}, column {name!r}", (words or {}).get(name, [])
                given[at] = bring(given[at], what, called, missing, raw.decimal, own)
            columns = pa.table(given, names=raw.names)
        return _table(raw, columns, order, row_names)


def find_columns(
    raw: Raw, reading: Reading, name: str, expected: Iterable[str], usual_row_names: str | None
) -> tuple[list[int], int | None]:
    """Where the columns that a model knows are, and the names of rows, if there are any."""
    missing = (*raw.markers, *reading.missing)
    chosen = _Names(raw.names)
    # A text file loses the blanks around names, which those of a data frame may have.
    chosen.index |= {own: chosen.index[own.strip()] for own in expected if own.strip() in chosen.index} | chosen.index
    lacking = [column for column in expected if column not in chosen.index]
    if lacking:
        others = f" and {len(lacking) - 1} others" if len(lacking) > 1 else ""
        raise HicorexError(
            f"{name} lacks the column {lacking[0]!r}{others} that the model knows{chosen.closest(lacking[0])}."
        )
    order = [chosen.index[column] for column in expected]
    row_names = chosen.index.get(usual_row_names or "", raw.row_names)
    if reading.row_names is not None:
        row_names = chosen.one(reading.row_names, "--row-names")
    elif row_names is None and 0 not in order:
        first = raw.columns.select([0]) if isinstance(raw.columns, pa.Table) else raw.columns[:, [0]]
        if examine(first, raw.names[:1], missing, raw.decimal, set()).unique[0] or first.shape[0] == 1:
            row_names = 0
    return order, row_names


@contextmanager
def named_errors(source: Any) -> Iterator[None]:
    """What pyarrow cannot do with a file is told with its name."""
    try:
        yield
    except (pa.ArrowException, UnicodeError) as error:
        raise HicorexError(f"{_name(source)} cannot be used: {' '.join(str(error).split())}") from error


def bring(
    column: pa.ChunkedArray, what: str, name: str, missing: tuple[str, ...], decimal: str | None, words: list[str]
) -> Any:
    """A column as the type that a model expects; in columns of numbers, words stand for missing values."""
    kind = column.type
    if column.null_count == len(column):
        types = {"number": pa.float64(), "whole number": pa.int64(), "boolean": pa.bool_(), "text": pa.string()}
        return pa.nulls(len(column), types[what])
    if pa.types.is_dictionary(kind) and not is_text(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (numeric or is_text(kind) or (what == "text" and pa.types.is_temporal(kind))):
        raise HicorexError(f"{name} holds values of type {kind}, where the model expects {_article(what)}; correct it.")
    if what == "text":
        if not is_text(kind):
            column = column.cast(pa.string())
        return tidy_text(column, missing).column
    if is_text(kind):
        _, codes, _, texts = tidy_text(column, missing)
        if what == "boolean":
            return _booleans(codes, texts, name)
        decimal = decimal or "."
        number = pc.match_substring_regex(texts, f"^{NUMBER}$".replace(r"\.", re.escape(decimal)))
        number = number.to_numpy(zero_copy_only=False)
        # Signs such as "?" and "-" alone stand for missing numbers.
        bare = pc.match_substring_regex(texts, r"^[^\pL\pN]*$").to_numpy(zero_copy_only=False)
        bare = bare | np.isin(texts.to_numpy(zero_copy_only=False), words)
        if not (number | bare).all():
            raise _strange(texts[int((number | bare).argmin())], what, name)
        column = numbers_of(codes, texts, number, decimal)
        kind = column.type
    if what == "boolean":
        if pa.types.is_boolean(kind):
            return column
        numbers = column.cast(pa.float64())
        odd = pc.invert(pc.is_in(numbers, pa.array([0.0, 1.0, None])))
        if pc.any(odd).as_py():
            raise _strange(column.filter(odd)[0], what, name)
        return numbers.cast(pa.bool_())
    if pa.types.is_boolean(kind):
        raise _strange(column.drop_null()[0], what, name)
    for marker in numeric_markers(missing):
        hit = pc.equal(column.cast(pa.float64(), safe=False), marker)
        if pc.any(hit).as_py():
            column = pc.if_else(hit, pa.scalar(None, kind), column)
    if what == "number" or pa.types.is_integer(kind):
        return column if pa.types.is_floating(kind) == (what == "number") else column.cast(pa.float64(), safe=False)
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    odd = pc.not_equal(column, pc.round(column))
    if pc.any(odd).as_py():
        raise _strange(column.filter(odd)[0], what, name)
    return column.cast(pa.int64())


def _booleans(codes: np.ndarray, texts: pa.Array, name: str) -> pa.Array:
    values = []
    for text in texts.to_pylist():
        if text not in (*TRUE, *FALSE, "1", "0"):
            raise _strange(text, "boolean", name)
        values.append(text in (*TRUE, "1"))
    return pa.array(np.array([*values, False])[codes], mask=codes < 0)


def _strange(value: Any, what: str, name: str) -> HicorexError:
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    return HicorexError(
        f"{name}: {value!r} is not {_article(what)}, which the model expects; correct it, or say that it is a missing "
        "value by --missing."
    )


def _article(what: str) -> str:
    return {"number": "a number", "whole number": "a whole number", "text": "text"}.get(what, "true or false")


class _Names:
    """The names of columns, looked up by name or pattern."""

    def __init__(self, names: list[str]):
        self.names = names
        self.index = {name: at for at, name in enumerate(names)}

    def one(self, name: str, option: str) -> int:
        if name not in self.index:
            raise HicorexError(f"{option} names column {name!r}, which the file does not have{self.closest(name)}.")
        return self.index[name]

    def match(self, patterns: Iterable[str], option: str) -> set[int]:
        found: set[int] = set()
        for pattern in patterns:
            own = {self.index[pattern]} if pattern in self.index else set()
            if not own and re.search(r"[*?]", pattern):
                like = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
                own = {at for name, at in self.index.items() if like.fullmatch(name)}
            if not own:
                raise HicorexError(
                    f"{option} names column {pattern!r}, which the file does not have{self.closest(pattern)}."
                )
            found |= own
        return found

    def closest(self, name: str) -> str:
        close = difflib.get_close_matches(name, self.names, 3, 0.5)
        if not close:
            close = self.names[:3]
            return f"; it has {', '.join(map(repr, close))}{' and others' if len(self.names) > 3 else ''}"
        return f"; the closest it has: {', '.join(map(repr, close))}"


def _read(source: str | Path | BinaryIO | Source, reading: Reading, texts: Iterable[str] = ()) -> Raw:
    if isinstance(source, Source):
        return raw_of(source.read(0, source.shape[0]), _name(source))
    return read_raw(
        source,
        list(texts),
        delimiter=reading.delimiter,
        decimal=reading.decimal,
        encoding=reading.encoding,
        header=reading.header,
        missing=tuple(reading.missing),
    )


def _wanted(reading: Reading, chosen: _Names) -> tuple[dict[int, str], set[int]]:
    """The kinds that are asked for, and the columns for which it is by name."""
    kinds: dict[int, str] = {}
    for plain in (False, True):
        for pattern, kind in reading.kinds.items():
            if kind not in KINDS:
                raise HicorexError(f"--kinds gives {pattern!r} the kind {kind!r}; use one of {', '.join(KINDS)}.")
            if (pattern in chosen.index) == plain:
                kinds.update(dict.fromkeys(chosen.match([pattern], "--kinds"), kind))
    return kinds, {chosen.index[name] for name in reading.kinds if name in chosen.index}


def _changed(columns: Any, found: Findings, name: str) -> Any:
    """The columns with those that were decided to be read otherwise."""
    if not found.changed:
        return columns
    columns = dense(columns, name) if issparse(columns) else columns
    if isinstance(columns, np.ndarray):
        columns = columns.astype(np.result_type(columns, np.float16), copy=True)
        for at, marked in found.changed.items():
            columns[marked, at] = np.nan
        return columns
    own = columns.columns
    for at, column in found.changed.items():
        own[at] = column
    return pa.table(own, names=columns.column_names)


def _column(columns: Any, at: int) -> Any:
    if issparse(columns):
        return columns[:, [at]].toarray()[:, 0]
    return columns[:, at] if isinstance(columns, np.ndarray) else columns.column(at)


def _weight(column: Any, name: str, whole: Callable[[], np.ndarray] | None) -> tuple[np.ndarray, str]:
    """The weights of all rows as the file has them, and in words what a fit makes of them."""
    if not isinstance(column, np.ndarray):
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise HicorexError(f"--weights names column {name!r}, which does not hold numbers; give one that does.")
        column = column.to_numpy()
    values = column if whole is None else whole()
    called = f"Column {name!r} of --weights"
    weight = check_weights(values, len(values), called)
    worth = as_samples(weight[weight > 0], called).sum()
    if counts_rows(weight):
        return weight, "whole numbers: each row counts so many times"
    return weight, f"relative: together the rows count as {worth:.4g} of equal weight"


def _table(
    raw: Raw,
    columns: Any,
    kept: list[int],
    row_names: int | None,
    kinds: Iterable[str] = (),
    weight: np.ndarray | None = None,
    decisions: tuple[Decision, ...] = (),
    words: dict[str, list[str]] | None = None,
) -> Table:
    framed = isinstance(columns, pa.Table)
    frame = columns if kept == list(range(len(raw.names))) else columns.select(kept) if framed else columns[:, kept]
    names = [raw.names[at] for at in kept]
    title = "row" if row_names is None or raw.row_names == row_names else raw.names[row_names]
    # Names of rows are what the file says, not what was made of them as a variable.
    rows = np.arange(frame.shape[0]) if row_names is None else names_of_rows(_column(raw.columns, row_names), title)
    return Table(frame, names, list(kinds), rows, title, weight, decisions, raw.notes, words or {})


def names_of_rows(column: Any, title: str, some: bool = False) -> Any:
    """Names of rows as text or whole numbers; those of some rows have the type of all."""
    if isinstance(column, np.ndarray):
        return column if column.dtype.kind in "iu" else pa.array(column.astype(str))
    kind = column.type
    if pa.types.is_integer(kind) and (some or not column.null_count):
        return column if some else column.to_numpy()
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise HicorexError(f"Column {title!r} holds values of type {kind}, which cannot name rows; choose another.")
    return column.cast(pa.string()).fill_null("")


def in_words(decisions: Sequence[Decision]) -> str:
    """What was decided on the first columns, and how many more there are."""
    shown = "; ".join(f"{d.name!r}: {d.kind}, {d.why}" for d in decisions[:3])
    return shown + (f"; and {len(decisions) - 3} more" if len(decisions) > 3 else "")


def named(frame: Any, names: list[str], wanted: bool) -> Any:
    """Samples with the names of their columns, or without."""
    if wanted == isinstance(frame, pa.Table):
        return frame
    if wanted:
        frame = dense(frame, "The file") if issparse(frame) else frame
        return pa.table(list(frame.T), names=names)
    return np.column_stack([column.to_numpy() for column in frame.columns])


def _name(source: Any) -> str:
    if str(source) == "-":
        return "standard input"
    return str(source) if isinstance(source, str | Path) else str(getattr(source, "name", "the file"))
