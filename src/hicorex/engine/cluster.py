"""Workers of a Dask cluster, which hold the parts of a table; only functions and sums travel.

A part and a sum are tasks of tasks, never copies sent from here, so that the scheduler computes anew what a lost worker
had. Dask is imported where it is used, because hicorex works without it.
"""

import ctypes
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

import numpy as np
from threadpoolctl import ThreadpoolController

from hicorex.engine.held import Held, read, write
from hicorex.engine.local import LocalEngine
from hicorex.engine.reduction import ARITY, add_up, some_tiles
from hicorex.engine.watch import PATIENCE, Watch, explained, outcome
from hicorex.exceptions import HicorexError

if TYPE_CHECKING:
    from distributed import Client, Future

# From malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class ClusterEngine(LocalEngine):
    """Workers of a Dask cluster; ``map``, and parts that are in this process, are left to its threads.

    client : a ``distributed.Client``, which is not closed here
    n_jobs : threads of this process for ``map``
    patience : seconds after which a cluster without workers, or without an answer, is given up
    """

    def __init__(self, client: "Client", n_jobs: int | None = None, patience: float = PATIENCE):
        super().__init__(n_jobs)
        if client.asynchronous:
            raise HicorexError("The Dask client is asynchronous, which a fit cannot wait for: use Client(address).")
        self.client: Any = client
        self._watch = Watch(client, patience)
        self._held: WeakSet = WeakSet()

    def __exit__(self, *error) -> None:
        _release(self._held)
        super().__exit__(*error)

    def hold(self, function: Callable, *items: Sequence) -> list["Future"]:
        """function(*item) for each of zip(*items), computed and held by the workers.

        Items are small arguments, Dask's Delayed, or what was held before; whoever drops a future frees its memory.
        """
        futures = self._submit(_calls(_call, self._send(function), zip(*items, strict=True)))
        try:
            self._wait(futures)
        except BaseException:
            _release(futures)
            raise
        self._held.update(futures)
        return futures

    def map_within(self, data: Any) -> Callable:
        """How a function over tiles may map over blocks: a worker does one after the other."""
        return super().map_within(data) if _is_here(data.parts) else map

    def tiles(self, function: Callable, parts: Sequence) -> Iterator[Any]:
        """function(part, rows) for each tile of each part, in order, brought here."""
        if _is_here(parts):
            yield from super().tiles(function, parts)
            return
        for found in self.each(partial(_over_tiles, function), parts):
            yield from found

    def sum(self, function: Callable, parts: Sequence, step: int = 1, finer: int = 1) -> Any:
        """The sum of function(part, rows) over all tiles, or over some, the same to the last bit as that of threads."""
        if _is_here(parts):
            return super().sum(function, parts, step, finer)
        chosen, own = zip(*some_tiles(len(parts), step), strict=True)
        return self.sum_parts(partial(_sum_tiles, function, finer), [parts[at] for at in chosen], own)

    def sum_parts(self, function: Callable, *items: Sequence) -> Any:
        """The sum of function(*item) over zip(*items), which is that of ``add_up`` to the last bit."""
        if not len(items[0]):
            return add_up(())
        sums = _calls(_call, self._send(function), zip(*items, strict=True))
        once = True
        while once or len(sums) > 1:
            groups = [sums[at : at + ARITY] for at in range(0, len(sums), ARITY)]
            sums, once = _calls(_add, None, groups), False
        futures = self._submit(sums)
        try:
            return self._wait(futures, fetch=True)[0].value
        finally:
            _release(futures)

    def each(self, function: Callable, *items: Sequence) -> Iterator[Any]:
        """function(*item) for each of zip(*items), brought here one by one; few wait on the workers at a time."""
        if not len(items[0]):
            return
        if _is_here(items[0]):
            yield from super().each(function, *items)
            return
        most = 1 + sum(self._watch.finish(self._watch.ask).values())
        sent = self._submit([self._send(function)])
        waiting: deque = deque()
        try:
            for item in zip(*items, strict=True):
                waiting += self._submit(_calls(_call, sent[0], [item]))
                if len(waiting) > most:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            _release([*waiting, *sent])

    def table(self, function: Callable, parts: Sequence) -> Any:
        """What function(part, rows), (T, m), gives for all tiles, held by the workers, as an array of Dask."""
        from dask import array, delayed

        held = self.hold(partial(_table_of, function), parts)
        shapes = list(self.each(_shape_and_type, held))
        value = delayed(_value, pure=False, traverse=False)
        return array.concatenate([array.from_delayed(value(own), *of) for own, of in zip(held, shapes, strict=True)])

    def fetch(self, tasks: Sequence) -> list:
        """The results of some of Dask's Delayed, all computed in one round."""
        futures = self._submit(list(tasks))
        try:
            return self._wait(futures, fetch=True)
        finally:
            _release(futures)

    def _next(self, waiting: deque) -> Any:
        """The result of the first, which is then let go."""
        try:
            return self._wait([waiting[0]], fetch=True)[0].value
        finally:
            _release([waiting.popleft()])

    def _send(self, function: Callable) -> Any:
        """A task that gives the function; it is written once, and neither read by the scheduler nor part of others."""
        import cloudpickle
        from dask import delayed

        name = f"hicorex-function-{uuid4().hex}"
        return delayed(_load, pure=False, traverse=False)(cloudpickle.dumps(function), dask_key_name=name)

    def _submit(self, tasks: list) -> list["Future"]:
        """Futures of some tasks, which begin at once."""
        import dask

        # A function may be of some megabytes, of which Dask would warn every time.
        with self._watch.reaching(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.compute(tasks)

    def _wait(self, futures: list["Future"], fetch: bool = False) -> list:
        """The results of futures if these are fetched; what a task raised is raised as it is."""
        error, results = self._watch.finish(partial(outcome, self.client, futures, fetch))
        if error is not None:
            raise explained(error)
        return results


def current_client() -> "Client | None":
    """The Dask client that is current, None where there is none and within a task of a worker."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    with suppress(ValueError):
        # A task that waits for tasks would keep the only thread of its worker.
        distributed.get_worker()
        return None
    with suppress(ValueError):
        return distributed.default_client()
    return None


def _is_here(parts: Sequence) -> bool:
    """Whether parts are in this process, as a few rows of a table that its workers hold may be."""
    return hasattr(type(parts[0]), "tiles")


def _calls(task: Callable, function: Any, items: Any) -> list:
    """One task for each of the items, which follow the function if there is one."""
    from dask import delayed

    call = delayed(task, pure=False, traverse=False)
    first = () if function is None else (function,)
    name = f"hicorex{task.__name__.replace('_', '-')}-{uuid4().hex}"
    return [call(*first, *item, dask_key_name=f"{name}-{i}") for i, item in enumerate(items)]


def _load(data: bytes) -> Held:
    # Of no size, so that tasks go where their parts are.
    return Held(pickle.loads(data), size=0)


def _call(function: Held, *items: Any) -> Held:
    # Never undone, as threads of a worker would undo it for each other; Dask's nannies limit it likewise.
    _controller(len(sys.modules)).limit(limits=1, user_api="blas")
    _keep_freed_memory()
    return Held(function.value(*(item.value if isinstance(item, Held) else read(*write(item)) for item in items)))


@cache
def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB that are free, if all that forbids it is the default of Dask's nannies.

    By that every temporary array would have new pages of memory, and a pass would take twice the time.
    """
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") == "65536":
        with suppress(OSError, AttributeError):  # not the GNU C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(M_MMAP_THRESHOLD, 2**25)
            mallopt(M_TRIM_THRESHOLD, 2**26)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    """Of the libraries that are loaded, which takes milliseconds to see: again when there are more modules."""
    return ThreadpoolController()


def _value(held: Held) -> Any:
    return held.value


def _table_of(function: Callable, part: Any) -> np.ndarray:
    return np.concatenate([function(part, rows) for rows in part.tiles()])


def _shape_and_type(table: np.ndarray) -> tuple:
    return table.shape, table.dtype


def _over_tiles(function: Callable, part: Any) -> list:
    return [function(part, rows) for rows in part.tiles()]


def _sum_tiles(function: Callable, finer: int, part: Any, own: slice) -> Any:
    return add_up(function(part, rows) for rows in part.tiles(finer)[own])


def _add(*sums: Held) -> Held:
    # The last part may have none of the tiles that were chosen.
    return Held(add_up(own.value for own in sums if own.value is not None))


def _release(futures: Any) -> None:
    for future in list(futures):
        # A loop that is closed has nothing left to release.
        with suppress(RuntimeError):
            future.release()
