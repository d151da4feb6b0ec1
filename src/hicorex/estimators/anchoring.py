"""Anchors as people give them: the variables by which factors are begun, by name or number."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.fitted.naming import check_names
from hicorex.layer.held import NOTHING_HELD, Held
from hicorex.support.names import column_name

# Names of variables that a message shows.
MOST_SHOWN = 5


class Anchored(NamedTuple):
    """The factors that are anchored, and the names that they were given, by the number of the factor."""

    held: Held
    names: dict[int, str]

    def decisive(self) -> dict[str, str]:
        """What of it decides on a fit, as text."""
        told = [(j, self.names.get(j), columns) for j, columns in sorted(self.held.anchors.items())]
        return {"anchors": repr(told)} if told else {}


NO_ANCHORS = Anchored(NOTHING_HELD, {})


def anchored_by(anchors: Any, names: np.ndarray | None, n_columns: int, n_factors: Any) -> Anchored:
    """The anchors of a fit to a table of these columns, checked.

    Parameters
    ----------
    anchors : mapping or None
        By the name or the number of a factor, the names or numbers of its variables.
    names : ndarray of shape (n_columns,) or None
        The names of the columns, where they have some.
    n_columns : int
    n_factors : int or "auto"
    """
    if anchors is None:
        return NO_ANCHORS
    if not isinstance(anchors, Mapping):
        raise HicorexError(
            f"anchors is of type {type(anchors).__name__}; give a mapping of factors to their variables, such as "
            '{"violence": ["gun", "war"]}.'
        )
    variables = [column_name(i) for i in range(n_columns)] if names is None else [str(name) for name in names]
    places = _places(list(anchors))
    held = {j: _columns(key, anchors[key], variables) for key, j in places.items()}
    given = {j: key for key, j in places.items() if isinstance(key, str)}
    if held and not isinstance(n_factors, str) and max(held) >= int(n_factors):
        raise HicorexError(
            f"anchors has a factor number {max(held)}, and there are {n_factors} factors, from number 0; "
            "anchor fewer, or give more factors."
        )
    check_names(list(given.values()), variables)
    return Anchored(Held(dict(sorted(held.items()))), given)


def _places(keys: list[Any]) -> dict[Any, int]:
    """The number of each factor: as it is given, or for names the first ones that are free, in order."""
    taken = set()
    for key in keys:
        if isinstance(key, str):
            continue
        if isinstance(key, bool) or not isinstance(key, Integral) or key < 0:
            raise HicorexError(f"anchors has the key {key!r}; give the name of a factor, or its number from 0.")
        taken.add(int(key))
    free = (j for j in range(len(keys) + len(taken)) if j not in taken)
    return {key: next(free) if isinstance(key, str) else int(key) for key in keys}


def _columns(key: Any, given: Any, variables: Sequence[str]) -> tuple[int, ...]:
    """The columns that anchor a factor."""
    some = [given] if isinstance(given, str | Integral) else list(given)
    if not some:
        raise HicorexError(f"anchors has no variable for the factor {key!r}; give one or more.")
    columns = [_column(key, variable, variables) for variable in some]
    if len(set(columns)) < len(columns):
        twice = next(variables[i] for i in columns if columns.count(i) > 1)
        raise HicorexError(f"anchors has the variable {twice!r} twice for the factor {key!r}; give it once.")
    return tuple(columns)


def _column(key: Any, variable: Any, variables: Sequence[str]) -> int:
    """The number of a variable that is named or numbered."""
    if isinstance(variable, Integral) and not isinstance(variable, bool):
        if 0 <= int(variable) < len(variables):
            return int(variable)
        raise HicorexError(
            f"anchors has the variable number {variable} for the factor {key!r}; there are {len(variables)}, from 0."
        )
    if isinstance(variable, str) and variable in variables:
        return variables.index(variable)
    close = get_close_matches(str(variable), variables, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, variables[:MOST_SHOWN]))}, ..."
    raise HicorexError(f"anchors has {variable!r} for the factor {key!r}, and the table has no such column; {hint}")
