"""What every engine does: map a function over the tiles of parts, and add up the results in order.

A part holds some rows and knows its tiles. What the rows are made of is nothing to an engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
# Maps a function over items, as the built-in ``map`` does.
Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


class Part(Protocol):
    """Rows that are worked on tile by tile."""

    def tiles(self, finer: int = 1) -> list[slice]:
        """The rows of each tile, or of tiles that are ``finer`` times smaller."""
        ...


class Engine(ABC):
    """Maps functions over tiles; engines differ in where they do so, never in the results.

    An engine is used within a ``with`` statement. The parts that a method takes are of the kind ``Part``, or stand for
    parts that are elsewhere.

    n_jobs : number of threads of this process
    """

    n_jobs: int

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order, in this process."""

    @abstractmethod
    def map_within(self, parts: Sequence[Any], lone_tile: bool) -> Mapper:
        """How a function that works on one tile may map over blocks of columns.

        ``lone_tile`` says that the parts have a single tile.
        """

    @abstractmethod
    def tiles(self, function: Callable[[Any, slice], Result], parts: Sequence[Any]) -> Iterator[Result]:
        """function(part, rows) for each tile of each part, in order."""

    @abstractmethod
    def sum(self, function: Callable[[Any, slice], Result], parts: Sequence[Any], step: int = 1, finer: int = 1) -> Any:
        """The sum of function(part, rows) over one of every ``step`` tiles, or over finer tiles.

        It is added up as by ``reduction.add_up``, so that all engines give the same bits.
        """

    @abstractmethod
    def each(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Iterator[Result]:
        """function(part) for each part, in order."""
