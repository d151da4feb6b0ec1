"""Which columns the user speaks of, by name or by pattern."""

from typing import NamedTuple

from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import KINDS, ColumnKind, ColumnReason
from hicorex.input.column_names import ColumnNames
from hicorex.input.files.raw import RawTable
from hicorex.input.files.table import Reading


class Choice(NamedTuple):
    """What the user says of columns, by their places.

    kinds : the kinds that are asked for
    named : the columns for which a kind is asked for by name
    row_names, weights : the columns that hold these, None if not told
    left_out : the columns that are not to be used, and why
    """

    kinds: dict[int, ColumnKind]
    named: set[int]
    row_names: int | None
    weights: int | None
    left_out: dict[int, ColumnReason]

    @property
    def wanted(self) -> dict[int, ColumnKind]:
        """The kinds that are asked for by name."""
        return {at: kind for at, kind in self.kinds.items() if at in self.named}

    def speaks_of(self, at: int) -> bool:
        """Whether a column has a use already, or is to have none."""
        excluded = self.left_out.get(at) is ColumnReason.EXCLUDED
        return excluded or at in self.named or at == self.weights


def choose(raw: RawTable, reading: Reading) -> Choice:
    """What the user says of the columns of a file."""
    names = ColumnNames(raw.names)
    kinds = _asked_kinds(names, reading)
    row_names = raw.row_names if reading.row_names is None else names.one(reading.row_names, "--row-names")
    weights = None if reading.weights is None else names.one(reading.weights, "--weights")
    left_out: dict[int, ColumnReason] = {}
    if reading.use:
        unused = set(range(len(raw.names))) - names.match(reading.use, "--use")
        left_out = dict.fromkeys(unused, ColumnReason.NOT_USED)
    left_out |= dict.fromkeys(names.match(reading.exclude, "--exclude"), ColumnReason.EXCLUDED)
    named = {names.place[name] for name in reading.kinds if name in names.place}
    return Choice(kinds, named, row_names, weights, left_out)


def _asked_kinds(names: ColumnNames, reading: Reading) -> dict[int, ColumnKind]:
    """The kinds that are asked for; a name goes before a pattern."""
    kinds: dict[int, ColumnKind] = {}
    for by_name in (False, True):
        for pattern, kind in reading.kinds.items():
            if kind not in KINDS:
                raise HicorexError(f"--kinds gives {pattern!r} the kind {kind!r}; use one of {', '.join(KINDS)}.")
            if (pattern in names.place) == by_name:
                kinds |= dict.fromkeys(names.match([pattern], "--kinds"), ColumnKind(kind))
    return kinds
