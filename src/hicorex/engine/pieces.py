"""Parts of which one task holds several, so that a round over very many parts has few tasks."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, overload

from hicorex.engine.reduction import ARITY

# Tasks of a round at the most, while a task may hold more parts.
MOST_TASKS = 4096


class Piece(NamedTuple):
    """One of the values that a task gives.

    task : a future, or Dask's Delayed
    at : which of its values
    """

    task: Any
    at: int


class Pieces(Sequence[Piece]):
    """Values that tasks give one after the other, ``size`` each, the last perhaps fewer."""

    def __init__(self, tasks: Sequence[Any], size: int, length: int):
        self.tasks, self.size, self._length = tasks, size, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Piece: ...

    @overload
    def __getitem__(self, at: slice) -> list[Piece]: ...

    def __getitem__(self, at: int | slice) -> Piece | list[Piece]:
        if isinstance(at, slice):
            return [self[one] for one in range(self._length)[at]]
        task, place = divmod(range(self._length)[at], self.size)
        return Piece(self.tasks[task], place)


class Run(NamedTuple):
    """Neighbouring items that one task holds.

    task : the first item of each, or the task that holds these
    places : which values of the task, None if it is the value
    others : of each, the other items
    """

    task: Any
    places: list[int] | None
    others: list[tuple]


def piece_size(n_parts: int) -> int:
    """The number of parts that a task holds; it divides ARITY, so that a task adds up no more than one group."""
    size = 1
    while size < ARITY and n_parts > size * MOST_TASKS:
        size *= 2
    return size


def runs(items: Iterable[tuple]) -> Iterator[Run]:
    """Items, the first of which may be pieces, by the task that holds them."""

    def holder(numbered: tuple[int, tuple]) -> int:
        at, (first, *_) = numbered
        return id(first.task) if isinstance(first, Piece) else -1 - at

    for _, numbered in groupby(enumerate(items), key=holder):
        some = [item for _, item in numbered]
        first = some[0][0]
        others = [tuple(item[1:]) for item in some]
        if isinstance(first, Piece):
            yield Run(first.task, [item[0].at for item in some], others)
        else:
            yield Run(first, None, others)
