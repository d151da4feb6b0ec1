"""Sums of what tiles give, in an order that the number of tiles alone decides, so that all engines give the same bits.

ARITY tiles make a part, which is read and sent as a whole. The sums of ARITY parts are added up, then ARITY of those
sums, and so on.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

ARITY = 32


def add(total: Any, more: Any) -> None:
    """Add ``more`` to ``total`` in place: arrays, what has an ``add``, or tuples and lists of such; None stays None."""
    if isinstance(total, np.ndarray):
        total += more
    elif hasattr(total, "add"):
        total.add(more)
    elif total is not None:
        for one, other in zip(total, more, strict=True):
            add(one, other)


def doubled(sums: Any) -> Any:
    """A copy in double precision, to add to."""
    if isinstance(sums, tuple | list):
        parts = [doubled(one) for one in sums]
        return type(sums)(*parts) if hasattr(sums, "_fields") else type(sums)(parts)
    if hasattr(sums, "doubled"):
        return sums.doubled()
    return None if sums is None else np.array(sums, float)


def add_up(sums: Iterable[Any]) -> Any:
    """The sum of all, None if there are none: by groups of ARITY, then by groups of these; few are held at a time."""
    levels: list = []  # of each, the sum of an unfinished group and the number of its members
    for one in sums:
        level = 0
        while True:
            if level == len(levels):
                levels.append([None, 0])
            total, count = levels[level]
            if count == 0:
                levels[level] = [doubled(one), 1]
            else:
                add(total, one)
                levels[level][1] += 1
            if levels[level][1] < ARITY:
                break
            one, levels[level] = levels[level][0], [None, 0]
            level += 1
    whole = None
    for total, count in levels:
        if count and whole is not None:
            add(total, whole)
        whole = total if count else whole
    return whole


def some_tiles(n_parts: int, step: int) -> Iterator[tuple[int, slice]]:
    """One of every ``step`` tiles: the index of each part that has one, and which of its tiles are chosen."""
    for part in range(n_parts):
        first = -ARITY * part % step
        if first < ARITY:
            yield part, slice(first, None, step)
