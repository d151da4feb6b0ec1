"""What a column is, told by its values: the kind that a model reads it as, and the reason.

Nothing here knows of files. Whoever has a table counts what its columns hold, and asks for a verdict.
"""

from enum import Enum, StrEnum, auto
from typing import NamedTuple

# The kinds of columns that a model learns from.
KINDS = ("gaussian", "rank", "categorical", "ordered")
# Those whose columns are coded by their categories.
CODED = ("categorical", "ordered")
# Whole numbers of at most this many different values, each of this number of rows on average, are categories.
MOST_CODES, ROWS_OF_CODE = 20, 3
# Boxes of which at least this number are ticked, and as many not.
FEWEST_TICKS = 2
# Texts of more different values are of no use as categories, however long the table.
MOST_TEXTS = 100_000


class ColumnKind(StrEnum):
    """What a column is used as; the first four are the kinds that a model learns from."""

    GAUSSIAN = "gaussian"
    RANK = "rank"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    ROW_NAMES = "row names"
    WEIGHTS = "weights"
    IGNORED = "ignored"

    @property
    def is_learned(self) -> bool:
        """Whether a model learns from the column."""
        return self in KINDS

    @property
    def is_coded(self) -> bool:
        """Whether a model reads the column as categories, in order or not."""
        return self in CODED

    @property
    def in_words(self) -> str:
        """What happens to the column."""
        if self.is_learned:
            return "used"
        return "left out" if self is ColumnKind.IGNORED else f"used as {self}"


class ValueType(StrEnum):
    """What a model expects the values of a column to be."""

    NUMBER = "number"
    WHOLE = "whole number"
    TEXT = "text"
    BOOLEAN = "boolean"


class Written(StrEnum):
    """How the cells of a column are written, where that is another way than a model takes them."""

    PLAIN = ""
    AMOUNT = "amount"
    DATE = "date"
    DATE_BY_DAY = "date, day first"
    # One text, or nothing.
    TICKED = "ticked"


# What a box is that nobody has ticked.
NOT_TICKED = "not ticked"


class ColumnReason(Enum):
    """Why a column is used as it is."""

    EMPTY = auto()
    CONSTANT = auto()
    BOOLEAN = auto()
    NUMBERS = auto()
    # Whole numbers of few different values, and of many.
    CODES = auto()
    AMOUNTS = auto()
    # Identifiers: the numbers of the rows, of groups of rows; another value in every row, in nearly every row, or in
    # every row of a sample.
    ROW_NUMBER = auto()
    COUNTER = auto()
    IDENTIFIER = auto()
    NEARLY_IDENTIFIER = auto()
    IDENTIFIER_IN_SAMPLE = auto()
    DATES = auto()
    TIMES = auto()
    TICKED = auto()
    # Texts: few different ones, too many, and nearly one for each row.
    CATEGORIES = auto()
    TOO_MANY_CATEGORIES = auto()
    FREE_TEXT = auto()
    UNUSABLE_TYPE = auto()
    # What the user or the file says.
    EXCLUDED = auto()
    NOT_USED = auto()
    ASKED_FOR = auto()
    MARKED_BY_FILE = auto()
    # Weights: numbers of rows, or known but for a factor.
    ROW_COUNTS = auto()
    RELATIVE_WEIGHTS = auto()


class NumberForm(Enum):
    """The form of texts that look like numbers and cannot be read as such."""

    PERCENT = auto()
    CURRENCY = auto()
    THOUSANDS = auto()
    DECIMAL_COMMA = auto()
    DECIMAL_POINT = auto()
    SIGN = auto()
    UNIT = auto()
    BRACKETS = auto()
    PRINTED_MINUS = auto()
    # Numbers as they should be, but for a few other texts.
    MOSTLY_PLAIN = auto()


class Resemblance(NamedTuple):
    """What most of the texts of a column look like; ``exceptions`` are the first texts that do not."""

    form: NumberForm
    exceptions: tuple[str, ...] = ()


class ColumnDecision(NamedTuple):
    """What a column is used as, and why.

    name, kind, reason : the column, what it is used as, and why
    missing : the share of rows in which the column has no value
    n_different : the number of different values, None if it is large and was not counted
    n_looked : the number of rows that were looked at, if not all
    n_effective : of weights, the number of equally weighted samples that would tell as much
    type_name : the type of values that cannot be used
    as_asked : whether the user has given the kind
    words : of a column of numbers, the texts in it that are read as missing
    resembles : what the texts look like, if they look like numbers
    unit : what the numbers are of, as the file writes it
    written : how the cells are written
    """

    name: str
    kind: ColumnKind
    reason: ColumnReason
    missing: float = 0.0
    n_different: int | None = None
    n_looked: int = 0
    n_effective: float = 0.0
    type_name: str = ""
    as_asked: bool = False
    words: tuple[str, ...] = ()
    resembles: Resemblance | None = None
    unit: str = ""
    written: Written = Written.PLAIN

    def learned_as(self, kind: ColumnKind) -> "ColumnDecision":
        """The decision after all rows have been looked at, where some had told another kind."""
        if kind is self.kind:
            return self
        if {kind, self.kind} == {ColumnKind.GAUSSIAN, ColumnKind.RANK}:
            return self._replace(kind=kind)
        reason = ColumnReason.CODES if kind is ColumnKind.CATEGORICAL else ColumnReason.NUMBERS
        return self._replace(kind=kind, reason=reason, n_different=None)

    def ignored(self, reason: ColumnReason) -> "ColumnDecision":
        """The column left out for another reason."""
        return ColumnDecision(self.name, ColumnKind.IGNORED, reason, self.missing)


class Verdict(NamedTuple):
    """What the values of a column say of it.

    kind, reason : what the column is used as, and why
    n_different : the number of different values, None if it was not counted
    names_rows : whether every row has another value, so that these can name the rows
    """

    kind: ColumnKind
    reason: ColumnReason
    n_different: int | None = None
    names_rows: bool = False


def are_codes(n_different: int, n_rows: float) -> bool:
    """Whether whole numbers of so many different values stand for categories: two always do, many never.

    >>> are_codes(2, 4), are_codes(5, 10), are_codes(20, 60), are_codes(21, 10**6)
    (True, False, True, False)
    """
    return n_different <= 2 or n_different <= min(MOST_CODES, n_rows / ROWS_OF_CODE)


class NumberFacts(NamedTuple):
    """What decides on a column of numbers or booleans.

    n_rows : the number of rows of the table
    is_boolean, is_integer : what the type of the column says
    is_empty, is_constant : whether it has no value, or one
    is_whole : whether all values are whole numbers
    n_different : the number of different values of whole numbers, None if it is large and was not counted
    counts_rows : whether the values are the numbers of the rows
    counts_runs : whether they count rows from 0 or 1, again and again
    is_identifier : whether the name says so, and nearly every row has another value
    is_unique : whether every row has another value
    """

    n_rows: int
    is_boolean: bool
    is_integer: bool
    is_empty: bool
    is_constant: bool
    is_whole: bool
    n_different: int | None
    counts_rows: bool
    counts_runs: bool = False
    is_identifier: bool = False
    is_unique: bool = False


def verdict_on_numbers(facts: NumberFacts) -> Verdict:
    """What a column of numbers or booleans is."""
    if facts.is_empty:
        return Verdict(ColumnKind.IGNORED, ColumnReason.EMPTY)
    if facts.is_constant:
        return Verdict(ColumnKind.IGNORED, ColumnReason.CONSTANT)
    if facts.is_boolean:
        return Verdict(ColumnKind.CATEGORICAL, ColumnReason.BOOLEAN)
    if facts.counts_rows and facts.is_integer:
        return Verdict(ColumnKind.IGNORED, ColumnReason.ROW_NUMBER, names_rows=True)
    if facts.counts_runs and facts.is_integer:
        return Verdict(ColumnKind.IGNORED, ColumnReason.COUNTER)
    if facts.is_identifier:
        reason = ColumnReason.IDENTIFIER if facts.is_unique else ColumnReason.NEARLY_IDENTIFIER
        return Verdict(ColumnKind.IGNORED, reason, names_rows=facts.is_unique)
    if not facts.is_whole:
        return Verdict(ColumnKind.GAUSSIAN, ColumnReason.NUMBERS)
    if facts.n_different is not None and are_codes(facts.n_different, facts.n_rows):
        return Verdict(ColumnKind.CATEGORICAL, ColumnReason.CODES, facts.n_different)
    return Verdict(ColumnKind.GAUSSIAN, ColumnReason.AMOUNTS, facts.n_different)


def verdict_on_texts(n_rows: int, n_present: int, n_different: int) -> Verdict:
    """What a column of texts is.

    n_rows, n_present, n_different : the number of rows, of rows with a text, and of different texts
    """
    unique = n_present == n_different == n_rows
    if n_different == 1 and min(n_present, n_rows - n_present) >= FEWEST_TICKS:
        return Verdict(ColumnKind.CATEGORICAL, ColumnReason.TICKED, 2)
    if n_different == 1:
        return Verdict(ColumnKind.IGNORED, ColumnReason.CONSTANT, names_rows=unique)
    if n_different <= min(max(MOST_CODES, n_rows / 2), MOST_TEXTS):
        return Verdict(ColumnKind.CATEGORICAL, ColumnReason.CATEGORIES, n_different, unique)
    if unique:
        return Verdict(ColumnKind.IGNORED, ColumnReason.IDENTIFIER, names_rows=True)
    if n_different <= n_rows / 2:
        return Verdict(ColumnKind.IGNORED, ColumnReason.TOO_MANY_CATEGORIES, n_different)
    return Verdict(ColumnKind.IGNORED, ColumnReason.FREE_TEXT)
