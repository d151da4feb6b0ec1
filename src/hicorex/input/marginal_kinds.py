"""The kind of marginal of each column, by what the user asks for in ``marginals=`` and by what the columns hold."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.column_kinds import KINDS
from hicorex.input.column_names import ColumnNames, is_pattern
from hicorex.input.sources import Source

AUTO = "auto"


class Wishes(NamedTuple):
    """What the user asks for.

    kinds : for each column the kind, "auto" where the values decide
    of_numbers : by column, the kind that is asked for by a pattern, which speaks of columns of numbers alone
    """

    kinds: list[str]
    of_numbers: dict[int, str]

    def leave_open(self, i: int) -> bool:
        """Whether nobody says what a column of amounts is: a pattern's "ordered" speaks of few whole numbers alone."""
        return self.kinds[i] == AUTO and self.of_numbers.get(i, "ordered") == "ordered"


def wishes_of(source: Source, marginals: Any) -> Wishes:
    """What is asked for each column.

    ``marginals`` is "auto", one kind for all columns, a list of kinds, or a mapping from names, indices or patterns of
    names to kinds. A name or index goes before a pattern.
    """
    n_columns = source.shape[1]
    by_pattern: dict[int, str] = {}
    if isinstance(marginals, str):
        given: dict[int, str] = dict.fromkeys(range(n_columns), marginals)
    elif isinstance(marginals, Mapping):
        given = {}
        names = ColumnNames(source.names or [str(i) for i in range(n_columns)], "the table")
        for key, kind in marginals.items():
            if isinstance(key, str) and is_pattern(key) and key not in names.place:
                by_pattern |= dict.fromkeys(names.match([key], "marginals"), str(kind))
            else:
                given[_column_index(source, key)] = kind
    elif isinstance(marginals, Sequence | np.ndarray):
        if np.ndim(marginals) != 1 or len(marginals) != n_columns:
            raise HicorexError(f"marginals lists {len(marginals)} kinds for {n_columns} columns; give one a column.")
        given = dict(enumerate(marginals))
    else:
        raise ColumnTypeError(f"marginals is {marginals!r}; give 'auto', a kind, a list of kinds or a mapping.")
    for i, kind in (*given.items(), *by_pattern.items()):
        if kind not in (*KINDS, AUTO):
            raise HicorexError(
                f"marginals gives column {source.column_name(i)} the kind {kind!r}; use one of {', '.join(KINDS)}."
            )
    of_numbers = {i: str(kind) for i, kind in by_pattern.items() if given.get(i, AUTO) == AUTO and kind != AUTO}
    kinds = [str(given.get(i, AUTO)) for i in range(n_columns)]
    for i, known in enumerate(source.kinds or ()):
        if kinds[i] == AUTO and i not in of_numbers:
            kinds[i] = known
    return Wishes(kinds, of_numbers)


def _column_index(source: Source, key: Any) -> int:
    if source.names and key in source.names:
        return source.names.index(key)
    if isinstance(key, int | np.integer) and 0 <= key < source.shape[1]:
        return int(key)
    if source.names:
        raise ColumnNames(source.names, "the table").unknown(key, "marginals")
    raise HicorexError(f"marginals names column {key!r}, which the table does not have; use an index of it.")
