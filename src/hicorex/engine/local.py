"""Threads of this process."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController


class LocalEngine:
    """Maps a function over items on ``n_jobs`` threads; the results come in order.

    Linear algebra runs single-threaded inside, so that results do not depend on the threads.
    """

    def __init__(self, n_jobs: int | None = None):
        if n_jobs is None or n_jobs < 0:
            n_jobs = max(1, cpu_count() + 1 + (-1 if n_jobs is None else n_jobs))
        self.n_jobs = n_jobs

    def __enter__(self) -> "LocalEngine":
        self._limit = _controller().limit(limits=1, user_api="blas")
        self._limit.__enter__()
        self._pool = ThreadPoolExecutor(self.n_jobs) if self.n_jobs > 1 else None
        return self

    def __exit__(self, *error) -> None:
        if self._pool is not None:
            # Whoever interrupts does not wait for threads, which end by themselves.
            self._pool.shutdown(wait=not issubclass(error[0] or Exception, KeyboardInterrupt), cancel_futures=True)
        self._limit.__exit__(*error)

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


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
