"""The kind of marginal of each column, by what the user asks for in ``marginals=``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hicorex.exceptions import ColumnTypeError, HicorexError
from hicorex.input.column_kinds import KINDS
from hicorex.input.sources import Source


def resolve_kinds(source: Source, marginals: Any) -> list[str]:
    """The kind of each column.

    ``marginals`` is "auto", one kind for all columns, a list of kinds, or a mapping from names or indices to kinds.
    """
    n_columns = source.shape[1]
    if isinstance(marginals, str):
        given: dict[int, str] = {} if marginals == "auto" else dict.fromkeys(range(n_columns), marginals)
    elif isinstance(marginals, Mapping):
        given = {_column_index(source, key): kind for key, kind in marginals.items()}
    elif isinstance(marginals, Sequence | np.ndarray):
        if np.ndim(marginals) != 1 or len(marginals) != n_columns:
            raise HicorexError(f"marginals lists {len(marginals)} kinds for {n_columns} columns; give one a column.")
        given = dict(enumerate(marginals))
    else:
        raise ColumnTypeError(f"marginals is {marginals!r}; give 'auto', a kind, a list of kinds or a mapping.")
    for i, kind in given.items():
        if kind not in (*KINDS, "auto"):
            raise HicorexError(
                f"marginals gives column {source.column_name(i)} the kind {kind!r}; use one of {', '.join(KINDS)}."
            )
    given = {i: kind for i, kind in given.items() if kind != "auto"}
    if len(given) == n_columns:
        return [str(given[i]) for i in range(n_columns)]
    return [str(given.get(i, kind)) for i, kind in enumerate(source.typed_head.kinds())]


def _column_index(source: Source, key: Any) -> int:
    if source.names and key in source.names:
        return source.names.index(key)
    if isinstance(key, int | np.integer) and 0 <= key < source.shape[1]:
        return int(key)
    raise HicorexError(f"marginals names column {key!r}, which the table does not have; use a name or an index of it.")
