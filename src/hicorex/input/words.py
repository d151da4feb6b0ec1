"""What was decided on columns and files, in words for people."""

from collections.abc import Hashable, Iterable, Sequence

from hicorex.input.column_kinds import MOST_CODES, ColumnDecision, ColumnKind, ColumnReason, NumberForm, Resemblance
from hicorex.input.notes import (
    ManyTexts,
    MoreRenamed,
    NoHeader,
    Note,
    OnItsSide,
    OtherColumns,
    PerhapsMissing,
    PerhapsThousands,
    PerhapsWeights,
    ReadAs,
    ReadInParts,
    Renamed,
    SameTwice,
    SecondHeader,
    SheetOfSeveral,
    ShortHeader,
    TotalRow,
    TrailingDelimiter,
    Transposed,
    UnnamedArray,
    Written,
)

REASONS = {
    ColumnReason.EMPTY: "empty",
    ColumnReason.CONSTANT: "constant",
    ColumnReason.BOOLEAN: "true or false",
    ColumnReason.NUMBERS: "numbers",
    ColumnReason.CODES: "whole numbers, {different} different",
    ColumnReason.AMOUNTS: "whole numbers, {different} different: read as amounts",
    ColumnReason.ROW_NUMBER: "an identifier: the number of the row",
    ColumnReason.COUNTER: "counts rows, several times from 0 or 1",
    ColumnReason.NEARLY_IDENTIFIER: "an identifier: nearly every row has another value",
    ColumnReason.TICKED: "one value or nothing: ticked or not",
    ColumnReason.IDENTIFIER: "an identifier: every row has another value",
    ColumnReason.IDENTIFIER_IN_SAMPLE: "an identifier: {looked} rows looked at, each with another value",
    ColumnReason.DATES: "dates: read as days since 1970-01-01",
    ColumnReason.TIMES: "times: read as parts of a day",
    ColumnReason.CATEGORIES: "text, {different} different",
    ColumnReason.TOO_MANY_CATEGORIES: "text, {different} different: too many for categories",
    ColumnReason.FREE_TEXT: "nearly every row has another text",
    ColumnReason.UNUSABLE_TYPE: "values of type {type}: give each value a column of its own",
    ColumnReason.EXCLUDED: "excluded",
    ColumnReason.NOT_USED: "not among those to be used",
    ColumnReason.ASKED_FOR: "asked for",
    ColumnReason.MARKED_BY_FILE: "marked as such by the file",
    ColumnReason.ROW_COUNTS: "whole numbers: how many times each row counts",
    ColumnReason.RELATIVE_WEIGHTS: "relative: together the rows count as {effective} of equal weight",
}
FORMS = {
    NumberForm.PERCENT: "numbers with a per cent sign; take the sign away",
    NumberForm.CURRENCY: "amounts with a currency sign; take the sign away",
    NumberForm.THOUSANDS: "numbers with thousands separators; write them without",
    NumberForm.DECIMAL_COMMA: "numbers with a decimal comma; say --decimal ,",
    NumberForm.DECIMAL_POINT: "numbers with a decimal point; say --decimal .",
    NumberForm.SIGN: "numbers with a sign such as < or *; take the sign away",
    NumberForm.UNIT: "numbers with a unit; take the unit away",
    NumberForm.BRACKETS: "numbers in brackets; take the brackets away",
    NumberForm.PRINTED_MINUS: "numbers with a minus sign of print; write -",
    NumberForm.MOSTLY_PLAIN: "numbers but for {exceptions}: correct these, or name them by --missing",
}


def alike(decision: ColumnDecision) -> Hashable:
    """A key that is the same for decisions that differ in names and numbers alone."""
    counted = decision.n_different is not None
    return decision.kind, decision.reason, counted, decision.type_name, decision.as_asked, _beside(decision)


def reason_in_words(decision: ColumnDecision) -> str:
    """Why a column is used as it is."""
    return common_reason([decision])


def told(decision: ColumnDecision) -> str:
    """What was decided on a column, and why, in a line."""
    missing = f", {decision.missing:.0%} missing" if decision.missing >= 0.005 else ""
    return f"{decision.kind}{missing} ({reason_in_words(decision)})"


def common_reason(decisions: Sequence[ColumnDecision]) -> str:
    """Why columns with ``alike`` decisions are used as they are; numbers are given from the least to the largest."""
    first = decisions[0]
    reason = REASONS[first.reason].format(
        different=_range(decision.n_different for decision in decisions),
        looked=_range(decision.n_looked for decision in decisions),
        effective=f"{first.n_effective:.4g}",
        type=first.type_name,
    )
    return f"{'as asked for: ' if first.as_asked else ''}{reason}{_beside(first)}"


def decisions_in_words(decisions: Sequence[ColumnDecision]) -> str:
    """What was decided on the first columns, and how many more there are."""
    shown = "; ".join(f"{decision.name!r}: {decision.kind}, {reason_in_words(decision)}" for decision in decisions[:3])
    return shown + (f"; and {len(decisions) - 3} more" if len(decisions) > 3 else "")


def note_in_words(note: Note) -> str:
    """A note on a file, as part of a sentence."""
    match note:
        case ReadAs(encoding, by_mark):
            return f"read as {encoding}" if by_mark else f"not UTF-8: read as {encoding}"
        case Written(delimiter, decimal_comma):
            called = {"\t": "tab", " ": "blank"}.get(delimiter or "", repr(delimiter))
            signs = [f"delimiter {called}"] * (delimiter is not None) + ["decimal comma"] * decimal_comma
            return ", ".join(signs)
        case NoHeader():
            return "no header: columns are called x0, x1, ...; if the first line holds names, say --header"
        case UnnamedArray():
            return "an array: columns are called x0, x1, ..."
        case TrailingDelimiter(delimiter):
            return f"every line ends with {delimiter!r}"
        case ShortHeader():
            return "the header is one field shorter than the rows: the first column holds names of rows"
        case PerhapsThousands(column, n_others, fraction, whole):
            others = f" and {n_others} others" if n_others else ""
            return (
                f"column {column!r}{others}: {fraction} beside {whole} is read as a fraction; if the sign stands for "
                "thousands, write the numbers without it"
            )
        case Renamed(name, occurrence, new_name):
            which = {2: "second", 3: "third"}.get(occurrence, f"{occurrence}th")
            return f"duplicated name {name!r}: the {which} is called {new_name!r}"
        case MoreRenamed(n_columns):
            return f"{n_columns} further duplicated names are treated likewise"
        case PerhapsMissing(value, n_columns):
            where = f"{n_columns} columns" if n_columns > 1 else "a column"
            return (
                f"{value} is in {where}, far from all other values: if it stands for a missing one, say "
                f"--missing {value}"
            )
        case ReadInParts(n_rows, n_looked):
            sampled = f"; what is said of columns is from a sample of {n_looked:,} rows" if n_looked < n_rows else ""
            return f"{n_rows:,} rows, read part by part{sampled}"
        case SecondHeader():
            return "the row below the header holds names or units, no sample; if it is one, say --no-second-header"
        case TotalRow(label):
            return f"the last row, {label!r}, holds sums or means of the others, no sample"
        case Transposed():
            return "the table was turned: its rows are the columns"
        case OnItsSide():
            return "the columns look like samples and the rows like variables: if they are, say --transpose"
        case SameTwice(groups, n_others):
            shown = "; ".join(" = ".join(map(repr, group[:4])) + " = ..." * (len(group) > 4) for group in groups)
            others = f"; and {n_others} more" if n_others else ""
            return (
                f"columns that say the same: {shown}{others}. They are kept, and what they share is counted: leave all "
                "but one out by --exclude"
            )
        case ManyTexts(column, n_different, n_others):
            others = f" and {n_others} other columns" if n_others else ""
            return (
                f"column {column!r}{others}: {n_different:,} different texts, which can make a factor of their own; "
                "leave it out by --exclude, or write fewer"
            )
        case PerhapsWeights(column):
            return f"column {column!r} is called as weights of samples are: if it holds them, say --weights {column}"
        case SheetOfSeveral(sheet, n_sheets):
            return f"sheet {sheet!r} of {n_sheets}: for another one say --sheet"
        case OtherColumns(columns):
            shown = ", ".join(map(repr, columns[:3])) + (" and others" if len(columns) > 3 else "")
            return f"the matrix X is learned from, not {shown} of obs"
    raise TypeError(f"a note without words: {note!r}")


def _range(numbers: Iterable[int | None]) -> str:
    known = [number for number in numbers if number is not None]
    if not known:
        return f"more than {MOST_CODES}"
    return str(min(known)) if min(known) == max(known) else f"{min(known)} to {max(known)}"


def _beside(decision: ColumnDecision) -> str:
    """What is told of a column beside the reason."""
    missing = f"; {', '.join(map(repr, decision.words))} read as missing" if decision.words else ""
    unit = f"; in {decision.unit}" if decision.unit else ""
    if decision.kind is ColumnKind.RANK and not decision.as_asked:
        unit += "; by ranks, which say more of other columns"
    return unit + missing + (_resemblance(decision.resembles) if decision.resembles else "")


def _resemblance(resembles: Resemblance) -> str:
    shown = ", ".join(repr(text[:20]) for text in resembles.exceptions[:3])
    more = ", ..." if len(resembles.exceptions) > 3 else ""
    return f"; looks like {FORMS[resembles.form].format(exceptions=shown + more)}"
