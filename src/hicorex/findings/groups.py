"""Groups that people know of, such as the sectors of companies, by which the variables of a picture are coloured."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.input.readers.cells import is_missing

# The most groups that differ in colour or shape; of more, the smallest become one.
MOST_GROUPS = 36


class Grouping(NamedTuple):
    """One way of grouping the variables.

    title : what the groups are, such as "sector"
    groups : their names, the largest first
    number : (n_variables,), the index of each variable's group; -1 where it has none
    """

    title: str
    groups: tuple[str, ...]
    number: np.ndarray

    def of_variables(self) -> list[str | None]:
        """The name of each variable's group; None where it has none."""
        return [self.groups[number] if number >= 0 else None for number in self.number]


def groupings_of(variables: Sequence[str], given: Any, most: int = MOST_GROUPS) -> list[Grouping]:
    """The groups of variables, from whatever people have them in.

    Parameters
    ----------
    variables : sequence of str
    given : mapping, path or None
        The group of each variable by its name, such as a dict or a pandas Series; or a file, CSV or other, in
        which one column holds the names of the variables: each further column of few values is a grouping.
    most : the most groups of a grouping; of more, the smallest become one
    """
    if given is None:
        return []
    if isinstance(given, str | PathLike):
        return _from_file(variables, str(given), most)
    if not hasattr(given, "items") or hasattr(given, "columns"):
        raise HicorexError(
            f"groups is of type {type(given).__name__}; give a mapping of variables to groups, such as one column "
            "of a data frame by its index, or the path of a CSV file."
        )
    known = {str(name): group for name, group in given.items()}
    if not known.keys() & set(variables):
        raise none_known("groups", known, variables)
    return [_grouping(getattr(given, "name", None) or "group", [known.get(name) for name in variables], most)]


def _from_file(variables: Sequence[str], path: str, most: int) -> list[Grouping]:
    """The groupings in the columns of a file."""
    from hicorex.input.files.dialect import TextStyle
    from hicorex.input.files.formats import read_raw
    from hicorex.input.files.literals import MISSING

    raw = read_raw(path)
    if set(raw.names) & set(variables):  # what looks like a header is a variable and its group
        raw = read_raw(path, TextStyle(header=False))
    columns = dict(zip(raw.names, texts_of(raw.columns), strict=True))
    matches = {title: len(set(variables).intersection(texts)) for title, texts in columns.items()}
    names = max(matches, key=matches.__getitem__)
    if not matches[names]:
        raise none_known(path, columns[names], variables)
    # A variable may be called NA, which files write for missing values.
    lost = [name for name in variables if name in MISSING]
    keys = [lost[0] if key is None and len(lost) == 1 else key for key in columns.pop(names)]
    groupings = []
    for title, texts in columns.items():
        known = dict(zip(keys, texts, strict=True))
        groups = [known.get(name) for name in variables]
        distinct = len(set(groups) - {None, ""})
        # A column beside others may be anything: the names of companies group nothing.
        if len(columns) == 1 or 0 < distinct <= min(most, max(2, len(variables) // 2)):
            _refuse_contradictions(path, keys, texts, known)
            groupings.append(_grouping(title, groups, most))
    if not any(grouping.groups for grouping in groupings):
        raise HicorexError(
            f"{path} has no column of groups beside the names of the variables, {names!r}; give one of at most "
            f"{most} different values."
        )
    return groupings


def texts_of(columns: Any) -> list[list[str | None]]:
    """The columns of a file as text, None where missing; what is no text nor number is left empty."""
    import pyarrow as pa

    texts = []
    for column in columns.columns if isinstance(columns, pa.Table) else map(pa.array, columns.T):
        try:
            values = column.cast(pa.string()).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            values = [None] * len(column)
        texts.append([value if value is None else value.strip() for value in values])
    return texts


def _refuse_contradictions(
    path: str, keys: Sequence[str | None], texts: Sequence[str | None], known: dict[str | None, str | None]
) -> None:
    """Refuse a file that has a variable in two groups."""
    for key, group in zip(keys, texts, strict=True):
        if key is not None and known[key] != group:
            raise HicorexError(f"{path} has {key!r} twice, as {group!r} and as {known[key]!r}; keep one of them.")


def _grouping(title: Any, values: Iterable[Any], most: int) -> Grouping:
    """Number the groups, the largest first, equals by name; of very many, the smallest become one."""
    names = ["" if is_missing(value) else str(value) for value in values]
    counts = Counter(name for name in names if name)
    groups = sorted(counts, key=lambda name: (-counts[name], _natural(name)))
    if len(groups) > most:
        rest = set(groups[most - 1 :])
        groups = [*groups[: most - 1], f"{len(rest)} smaller groups"]
        names = [groups[-1] if name in rest else name for name in names]
    number = {name: i for i, name in enumerate(groups)}
    return Grouping(str(title), tuple(groups), np.array([number.get(name, -1) for name in names], int))


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which group 2 comes before group 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def none_known(what: str, names: Iterable[Any], variables: Sequence[str]) -> HicorexError:
    """The error of groups that name no variable of the model."""
    names = [str(name) for name in names if name is not None]
    shown = ", ".join(map(repr, names[:3])) or "nothing"
    folded = {name.casefold() for name in variables}
    case = "; small and capital letters must agree" if any(name.casefold() in folded for name in names) else ""
    return HicorexError(
        f"{what} names none of the model's variables: it has {shown}, and the variables are called "
        f"{', '.join(map(repr, list(variables)[:3]))}{case}."
    )
