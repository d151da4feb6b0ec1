"""Threads of this process."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

from hicorex.engine.reduction import add_up, some_tiles


class LocalEngine:
    """Maps a function over items on ``n_jobs`` threads; the results come in order.

    Linear algebra runs single-threaded inside, so that results do not depend on the threads.
    """

    def __init__(self, n_jobs: int | None = None):
        if n_jobs is None or n_jobs < 0:
            n_jobs = max(1, cpu_count() + 1 + (-1 if n_jobs is None else n_jobs))
        self.n_jobs = n_jobs

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self.n_jobs) if self.n_jobs > 1 else None
        _LINEAR_ALGEBRA.enter()
        return self

    def __exit__(self, *error) -> None:
        try:
            if self._pool is not None:
                # Whoever interrupts does not wait for threads, which end by themselves.
                self._pool.shutdown(wait=not issubclass(error[0] or Exception, KeyboardInterrupt), cancel_futures=True)
        finally:
            _LINEAR_ALGEBRA.leave()

    def map(self, function: Callable, items: Iterable) -> Iterator[Any]:
        """function(item) for each item, in order, few at a time so that results do not pile up."""
        if self._pool is None:
            yield from map(function, items)
            return
        waiting: deque = deque()
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) > self.n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def map_within(self, data: Any) -> Callable:
        """How a function over tiles may map over blocks: threads share the tiles, or the blocks of the only one."""
        return self.map if data.lone_tile else map

    def tiles(self, function: Callable, parts: Sequence) -> Iterator[Any]:
        """function(part, rows) for each tile of each part, in order."""
        return (found for _, found in self._by_part(function, parts, 1, 1))

    def sum(self, function: Callable, parts: Sequence, step: int = 1, finer: int = 1) -> Any:
        """The sum of function(part, rows) over all tiles, or over one of every ``step``, or over finer ones."""
        by_part = groupby(self._by_part(function, parts, step, finer), key=itemgetter(0))
        return add_up(add_up(found for _, found in own) for _, own in by_part)

    def _by_part(self, function: Callable, parts: Sequence, step: int, finer: int) -> Iterator[tuple[int, Any]]:
        """The number of the part, and function(part, rows), for some tiles."""

        def some() -> Iterator[tuple[int, Any, slice]]:
            chosen = list(some_tiles(len(parts), step))
            for part, (at, own) in zip(_fetch(parts, [at for at, _ in chosen]), chosen, strict=True):
                yield from ((at, part, rows) for rows in part.tiles(finer)[own])

        return self.map(lambda tile: (tile[0], function(*tile[1:])), some())

    def each(self, function: Callable, parts: Sequence) -> Iterator[Any]:
        """function(part) for each part, in order."""
        return self.map(function, _fetch(parts, range(len(parts))))


def _fetch(parts: Sequence, chosen: Iterable[int]) -> Iterator[Any]:
    """Some of the parts, each read from wherever it is while those before are in use."""
    if isinstance(parts, list):
        yield from (parts[at] for at in chosen)
        return
    with ThreadPoolExecutor(1) as reader:
        waiting: deque = deque()
        for at in chosen:
            waiting.append(reader.submit(parts.__getitem__, at))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _SingleThreaded:
    """Linear algebra on one thread of this process, from the first engine that comes to the last that goes.

    The limit is one for the whole process: were each engine to restore what it had found, two that overlap would leave
    the limit behind.
    """

    def __init__(self) -> None:
        self._lock, self._engines = threading.Lock(), 0
        if hasattr(os, "register_at_fork"):  # a forked process has none of the threads that might hold the lock
            os.register_at_fork(after_in_child=lambda: setattr(self, "_lock", threading.Lock()))

    def enter(self) -> None:
        """One more engine is at work."""
        with self._lock:
            if not self._engines:
                _free_to_limit()
                self._limit = _controller().limit(limits=1, user_api="blas")
                _free_to_limit()
            self._engines += 1

    def leave(self) -> None:
        """One engine less is at work."""
        with self._lock:
            self._engines -= 1
            if not self._engines:
                _free_to_limit()
                self._limit.restore_original_limits()
                _free_to_limit()


def _free_to_limit() -> None:
    """Let any thread set the next limit: of late threadpoolctl heeds only the one that has set the last."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


_LINEAR_ALGEBRA = _SingleThreaded()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
