"""Sums of what tiles give, in an order that the table's shape alone decides, so that they are the same everywhere.

Of the tiles, ARITY make a part, which is read and sent as a whole. Of the sums of the parts, ARITY are added up, and
of those sums again.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

ARITY = 32


def add(total: Any, more: Any) -> None:
    """Add numbers to others in place: arrays, what has an ``add``, or tuples and lists of such; None stays None."""
    if isinstance(total, np.ndarray):
        total += more
    elif hasattr(total, "add"):
        total.add(more)
    elif total is not None:
        for own, other in zip(total, more, strict=True):
            add(own, other)


def doubled(sums: Any) -> Any:
    """A copy in double precision, in which sums are added up."""
    if isinstance(sums, tuple | list):
        parts = [doubled(own) for own in sums]
        return type(sums)(*parts) if hasattr(sums, "_fields") else type(sums)(parts)
    if hasattr(sums, "doubled"):
        return sums.doubled()
    return None if sums is None else np.array(sums, float)


def add_up(sums: Iterable[Any]) -> Any:
    """The sum of at least one, by groups of ARITY, then by groups of these; few are held at a time."""
    levels: list = []  # of each, the sum of an unfinished group and how many it has
    for own in sums:
        level = 0
        while True:
            if level == len(levels):
                levels.append([None, 0])
            total, count = levels[level]
            if count == 0:
                levels[level] = [doubled(own), 1]
            else:
                add(total, own)
                levels[level][1] += 1
            if levels[level][1] < ARITY:
                break
            own, levels[level] = levels[level][0], [None, 0]
            level += 1
    whole = None
    for total, count in levels:
        if count and whole is not None:
            add(total, whole)
        whole = total if count else whole
    return whole


def some_tiles(n_parts: int, step: int) -> Iterator[tuple[int, slice]]:
    """One of every so many tiles: the parts that have one, and which of the part's tiles they are."""
    for part in range(n_parts):
        first = -ARITY * part % step
        if first < ARITY:
            yield part, slice(first, None, step)
