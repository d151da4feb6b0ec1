"""Threads of this process."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from types import TracebackType
from typing import Any, Self

from joblib import cpu_count

from hicorex.engine.base import Engine, Item, Mapper, Part, Result
from hicorex.engine.process import single_threaded_blas
from hicorex.engine.reduction import add_up, some_tiles


class LocalEngine(Engine):
    """Threads of this process, the calling one among them; linear algebra runs on one thread inside each.

    n_jobs : number of threads; None and -1 mean one for each core
    """

    def __init__(self, n_jobs: int | None = None):
        if n_jobs is None or n_jobs < 0:
            n_jobs = max(1, cpu_count() + 1 + (-1 if n_jobs is None else n_jobs))
        self.n_jobs = n_jobs

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self.n_jobs - 1) if self.n_jobs > 1 else None
        single_threaded_blas.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._pool is not None:
                # Whoever interrupts does not wait for threads, which end by themselves.
                self._pool.shutdown(wait=not issubclass(kind or Exception, KeyboardInterrupt), cancel_futures=True)
        finally:
            single_threaded_blas.leave()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order, few at a time so that results do not pile up."""
        items = iter(items)
        first = list(islice(items, 2))
        if self._pool is None or len(first) < 2:  # a lone item is not worth another thread
            yield from map(function, chain(first, items))
            return
        waiting: deque[_Task] = deque()
        for item in chain(first, items):
            waiting.append(_Task(self._pool, function, item))
            if len(waiting) > self.n_jobs:
                yield _first_result(waiting)
        while waiting:
            yield _first_result(waiting)

    def map_within(self, parts: Sequence[Any], lone_tile: bool) -> Mapper:
        """How a function over tiles may map over blocks: threads share the tiles, or the blocks of a lone tile."""
        return self.map if lone_tile else map

    def tiles(self, function: Callable[[Any, slice], Result], parts: Sequence[Any]) -> Iterator[Result]:
        """function(part, rows) for each tile of each part, in order."""
        return (result for _, result in self._by_part(function, parts, 1, 1))

    def sum(self, function: Callable[[Any, slice], Result], parts: Sequence[Any], step: int = 1, finer: int = 1) -> Any:
        """The sum of function(part, rows) over one of every ``step`` tiles, or over finer tiles."""
        by_part = groupby(self._by_part(function, parts, step, finer), key=itemgetter(0))
        return add_up(add_up(result for _, result in of_part) for _, of_part in by_part)

    def each(self, function: Callable[[Any], Result], parts: Sequence[Any]) -> Iterator[Result]:
        """function(part) for each part, in order."""
        return self.map(function, _fetch(parts, range(len(parts))))

    def _by_part(
        self, function: Callable[[Any, slice], Result], parts: Sequence[Any], step: int, finer: int
    ) -> Iterator[tuple[int, Result]]:
        """The index of the part and function(part, rows), for one of every ``step`` tiles."""

        def chosen_tiles() -> Iterator[tuple[int, Part, slice]]:
            chosen = list(some_tiles(len(parts), step))
            for part, (at, of_part) in zip(_fetch(parts, [at for at, _ in chosen]), chosen, strict=True):
                yield from ((at, part, rows) for rows in part.tiles(finer)[of_part])

        def of_tile(tile: tuple[int, Part, slice]) -> tuple[int, Result]:
            at, part, rows = tile
            return at, function(part, rows)

        return self.map(of_tile, chosen_tiles())


class _Task:
    """A call that a thread of the pool makes, or the thread that waits for it."""

    def __init__(self, pool: ThreadPoolExecutor, function: Callable[[Item], Result], item: Item):
        self._call = partial(function, item)
        self.future: Future = pool.submit(self._call)

    def make_here(self) -> bool:
        """Make the call in this thread, if none has begun it."""
        if not self.future.cancel():
            return False
        self.future = Future()
        try:
            self.future.set_result(self._call())
        except Exception as error:  # it is raised when its turn comes, as that of another thread
            self.future.set_exception(error)
        return True


def _first_result(waiting: deque[_Task]) -> Any:
    """The result of the first task, which leaves; until it is there, this thread works on those that none has begun."""
    first = waiting.popleft()
    tasks = iter((first, *waiting))
    while not first.future.done() and any(task.make_here() for task in tasks):
        pass
    return first.future.result()


def _fetch(parts: Sequence[Any], chosen: Iterable[int]) -> Iterator[Any]:
    """Some of the parts; if they are not in memory, each is read while those before are in use."""
    if isinstance(parts, list):
        yield from (parts[at] for at in chosen)
        return
    with ThreadPoolExecutor(1) as reader:
        waiting: deque[Future] = deque()
        for at in chosen:
            waiting.append(reader.submit(parts.__getitem__, at))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
