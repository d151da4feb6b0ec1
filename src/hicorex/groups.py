"""Groups that people know of, such as the sectors of companies, by which the variables of a picture are coloured."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError

# A column of a file counts as groups if it has at most so many; among others, at most half as many as variables.
MOST_GROUPS = 60


class Grouping(NamedTuple):
    """One way of grouping the variables.

    title : what the groups are, such as "sector"
    groups : their names, the largest first
    number : (n_variables,), the index of each variable's group; -1 where it has none
    """

    title: str
    groups: tuple[str, ...]
    number: np.ndarray


def groupings_of(variables: Sequence[str], given: Any) -> list[Grouping]:
    """The groups of variables, from whatever people have them in.

    Parameters
    ----------
    variables : sequence of str
    given : mapping, path or None
        The group of each variable by its name, such as a dict or a pandas Series; or a file, CSV or other, in
        which one column holds the names of the variables: each further column with few values is a grouping.
    """
    if given is None:
        return []
    if isinstance(given, str | PathLike):
        return _from_file(variables, str(given))
    if not hasattr(given, "items"):
        raise HicorexError(
            f"groups is of type {type(given).__name__}; give a mapping of variables to groups, or the path of a CSV."
        )
    known = {str(name): group for name, group in given.items()}
    found = _grouping(getattr(given, "name", None) or "group", [known.get(name) for name in variables])
    if not found.groups:
        raise _no_match("groups", known, variables)
    return [found]


def _from_file(variables: Sequence[str], path: str) -> list[Grouping]:
    """The groupings in the columns of a file."""
    import pyarrow as pa

    from hicorex.table.csv_file import MISSING
    from hicorex.table.formats import read_raw

    raw = read_raw(path)
    columns = raw.columns.columns if isinstance(raw.columns, pa.Table) else [pa.array(c) for c in raw.columns.T]
    texts = [[value if value is None else value.strip() for value in c.cast(pa.string()).to_pylist()] for c in columns]
    shares = [len(set(variables).intersection(column)) for column in texts]
    if not max(shares):
        raise _no_match(path, texts[0], variables)
    at = shares.index(max(shares))
    # A variable may be called NA, which files write for missing values.
    lost = [name for name in variables if name in MISSING]
    keys = [lost[0] if key is None and len(lost) == 1 else key for key in texts.pop(at)]
    found = []
    for title, column in zip(raw.names[:at] + raw.names[at + 1 :], texts, strict=True):
        known = dict(zip(keys, column, strict=True))
        grouping = _grouping(title, [known.get(name) for name in variables])
        # A column beside others may be anything: company names group nothing.
        most = MOST_GROUPS if len(texts) == 1 else min(MOST_GROUPS, max(2, len(variables) // 2))
        if 0 < len(grouping.groups) <= most:
            found.append(grouping)
    if not found:
        raise HicorexError(
            f"{path} has no column of groups beside the names of the variables; give one of at most {MOST_GROUPS} "
            "different values."
        )
    return found


def _grouping(title: str, values: Iterable[Any]) -> Grouping:
    """Number the groups, the largest first, equals by name."""
    names = ["" if value is None or value != value else str(value) for value in values]
    groups, number, counts = np.unique(np.array(names, dtype=object), return_inverse=True, return_counts=True)
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if groups[i] != ""]
    rank = np.full(len(groups), -1)
    rank[order] = np.arange(len(order))
    return Grouping(str(title), tuple(str(groups[i]) for i in order), rank[number])


def _no_match(what: str, names: Iterable[Any], variables: Sequence[str]) -> HicorexError:
    shown = ", ".join(repr(str(name)) for name in list(names)[:3]) or "nothing"
    return HicorexError(
        f"{what} names none of the model's variables: it has {shown}, and the variables are called "
        f"{', '.join(map(repr, list(variables)[:3]))}."
    )
