"""What a reader of files has to say on a file as a whole; ``words`` puts it into words."""

from dataclasses import dataclass


class Note:
    """Something that the reader of a file has decided, or that its owner may want to change."""


@dataclass(frozen=True)
class ReadAs(Note):
    """The encoding that the file was read in, by its mark or because it is not UTF-8."""

    encoding: str
    by_mark: bool


@dataclass(frozen=True)
class Written(Note):
    """How a text is written: an unusual sign between fields, None for the usual, and the sign of decimals."""

    delimiter: str | None
    decimal_comma: bool


@dataclass(frozen=True)
class NoHeader(Note):
    """The first line holds no names."""


@dataclass(frozen=True)
class UnnamedArray(Note):
    """An array, which has no names."""


@dataclass(frozen=True)
class TrailingDelimiter(Note):
    """Every line ends with a delimiter."""

    delimiter: str


@dataclass(frozen=True)
class ShortHeader(Note):
    """The header is one field shorter than the rows, as R writes it."""


@dataclass(frozen=True)
class PerhapsThousands(Note):
    """Columns whose fractions may be whole numbers with thousands separators: the first, and two of its values."""

    column: str
    n_others: int
    fraction: str
    whole: str


@dataclass(frozen=True)
class Renamed(Note):
    """A name that several columns have, the occurrence of it that is renamed, and the new name."""

    name: str
    occurrence: int
    new_name: str


@dataclass(frozen=True)
class MoreRenamed(Note):
    """The number of further columns with new names."""

    n_columns: int


@dataclass(frozen=True)
class PerhapsMissing(Note):
    """A number that may stand for missing values, and in how many columns it is."""

    value: int
    n_columns: int


@dataclass(frozen=True)
class ReadInParts(Note):
    """A table read part by part: the number of its rows, and of the rows by which its columns were judged."""

    n_rows: int
    n_looked: int


@dataclass(frozen=True)
class SecondHeader(Note):
    """The row below the header holds names or units, no sample."""


@dataclass(frozen=True)
class TotalRow(Note):
    """The last row holds sums or means of the others, by its name."""

    label: str


@dataclass(frozen=True)
class Transposed(Note):
    """The table was turned: its rows became columns."""


@dataclass(frozen=True)
class OnItsSide(Note):
    """The columns of the table look like samples, its rows like variables."""


@dataclass(frozen=True)
class SameTwice(Note):
    """Columns that say the same, those of each group; and the number of further groups."""

    groups: tuple[tuple[str, ...], ...]
    n_others: int


@dataclass(frozen=True)
class ManyTexts(Note):
    """A column of texts of very many different values, their number, and the number of further such columns."""

    column: str
    n_different: int
    n_others: int


@dataclass(frozen=True)
class PerhapsWeights(Note):
    """A column that is called as weights of samples are."""

    column: str


@dataclass(frozen=True)
class SheetOfSeveral(Note):
    """The sheet of a workbook that was read, and the number of its sheets."""

    sheet: str
    n_sheets: int


@dataclass(frozen=True)
class OtherColumns(Note):
    """Columns beside the matrix of an AnnData object, which are not learned from."""

    columns: tuple[str, ...]
