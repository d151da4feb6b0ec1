"""Groups of variables that people know of, which may share variables: sectors, sets of genes."""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.findings.groups import Grouping, groupings_of, none_known

# The most different values of a column of a file that is read as groups.
MOST_GROUPS = 10_000


class VariableGroup(NamedTuple):
    """Some variables of a model: what the grouping is called, what the group is, and its variables as places."""

    grouping: str
    name: str
    members: np.ndarray


def variable_groups(variables: Sequence[str], given: Any) -> list[VariableGroup]:
    """The groups of variables, from whatever people have them in; groups without variables of the model are left out.

    Parameters
    ----------
    variables : sequence of str
    given : mapping, data frame or path
        The group of each variable by its name; the variables of each group by its name; a pandas frame with a row a
        variable, each column of which is a grouping; a .gmt file of sets of genes; or a file as ``groupings_of`` takes.
    """
    if isinstance(given, str | PathLike) and str(given).lower().endswith(".gmt"):
        return _of_sets(variables, _read_gmt(str(given)), "gene set", str(given))
    if isinstance(given, Mapping) and given and all(_is_set(value) for value in given.values()):
        return _of_sets(variables, given, "group", "groups")
    if hasattr(given, "columns") and hasattr(given, "index"):
        return [group for title in given.columns for group in variable_groups(variables, given[title])]
    return [group for grouping in groupings_of(variables, given, MOST_GROUPS) for group in _of_grouping(grouping)]


def _is_set(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)


def _of_grouping(grouping: Grouping) -> list[VariableGroup]:
    return [
        VariableGroup(grouping.title, name, np.flatnonzero(grouping.number == at))
        for at, name in enumerate(grouping.groups)
    ]


def _of_sets(variables: Sequence[str], sets: Mapping[Any, Collection], title: str, what: str) -> list[VariableGroup]:
    place = {name: at for at, name in enumerate(variables)}
    groups = []
    for name, members in sets.items():
        known = sorted({place[str(member)] for member in members if str(member) in place})
        if known:
            groups.append(VariableGroup(title, str(name), np.array(known)))
    if not groups:
        raise none_known(what, [member for members in sets.values() for member in members], variables)
    return groups


def _read_gmt(path: str) -> dict[str, list[str]]:
    """The sets of a .gmt file: a line each, its name, a remark and its members, separated by tabs."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.rstrip("\r\n").split("\t") for line in file if line.strip()]
    except OSError as error:
        raise HicorexError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise HicorexError(f"{path} is no text in UTF-8; give a .gmt file.") from None
    sets: dict[str, list[str]] = {}
    for number, cells in enumerate(lines, start=1):
        if len(cells) < 3:
            raise HicorexError(
                f"{path}, set {number}: {cells[0][:40]!r} has no members; a .gmt file has a line for each set, its "
                "name, a remark and its members, separated by tabs."
            )
        if cells[0] in sets:
            raise HicorexError(f"{path} has the set {cells[0]!r} twice; keep one of them.")
        sets[cells[0]] = [member.strip() for member in cells[2:] if member.strip()]
    return sets
