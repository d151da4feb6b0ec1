"""Workers of a Dask cluster, which hold the parts; only functions and sums travel.

A part and a sum are tasks of tasks, never copies sent from here, so that the scheduler computes anew what a lost worker
had. Dask is imported where it is used, because hicorex works without it.
"""

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4
from weakref import WeakSet

import numpy as np

from hicorex.engine.base import Engine, Item, Mapper, Part, Result
from hicorex.engine.local import LocalEngine
from hicorex.engine.pieces import Piece, Pieces, runs
from hicorex.engine.process import keep_freed_memory, single_threaded_blas
from hicorex.engine.reduction import ARITY, add_up, some_tiles
from hicorex.engine.watch import PATIENCE, Watch, explained, outcome
from hicorex.engine.worker_value import WorkerValue, read, write
from hicorex.exceptions import HicorexError

if TYPE_CHECKING:
    from distributed import Client, Future


class ClusterEngine(Engine):
    """Workers of a Dask cluster; ``map``, and parts that are in this process, are left to its threads.

    client : a ``distributed.Client``, which is not closed here
    n_jobs : threads of this process
    patience : seconds after which a cluster without workers, or without an answer, is given up
    """

    def __init__(self, client: "Client", n_jobs: int | None = None, patience: float = PATIENCE):
        if client.asynchronous:
            raise HicorexError("The Dask client is asynchronous, which a fit cannot wait for: use Client(address).")
        self.client: Any = client
        self._here = LocalEngine(n_jobs)
        self.n_jobs = self._here.n_jobs
        self._watch = Watch(client, patience)
        self._held: WeakSet = WeakSet()

    def __enter__(self) -> Self:
        self._here.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _release(self._held)
        self._here.__exit__(kind, error, trace)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order, on threads of this process."""
        return self._here.map(function, items)

    def map_within(self, parts: Sequence[Any], lone_tile: bool) -> Mapper:
        """How a function over tiles may map over blocks: a worker takes one block after the other."""
        return self._here.map_within(parts, lone_tile) if _are_here(parts) else map

    def tiles(self, function: Callable[[Any, slice], Result], parts: Sequence[Any]) -> Iterator[Result]:
        """function(part, rows) for each tile of each part, in order, brought here."""
        if _are_here(parts):
            yield from self._here.tiles(function, parts)
            return
        for of_part in self.each(partial(_over_tiles, function), parts):
            yield from of_part

    def sum(self, function: Callable[[Any, slice], Result], parts: Sequence[Any], step: int = 1, finer: int = 1) -> Any:
        """The sum of function(part, rows) over one of every ``step`` tiles, or over finer tiles."""
        if _are_here(parts):
            return self._here.sum(function, parts, step, finer)
        chosen, tiles = zip(*some_tiles(len(parts), step), strict=True)
        return self.sum_parts(partial(_sum_tiles, function, finer), [parts[at] for at in chosen], tiles)

    def each(self, function: Callable[..., Result], *items: Sequence[Any]) -> Iterator[Result]:
        """function(*item) for each of zip(*items), brought here in order; few wait on the workers at a time."""
        if not len(items[0]):
            return
        if _are_here(items[0]):
            yield from self._here.each(function, *items)
            return
        most = 1 + sum(self._watch.finish(self._watch.ask).values())
        sent = self._submit([self._send(function)])
        waiting: deque[Future] = deque()
        try:
            for run in runs(zip(*items, strict=True)):
                waiting += self._submit(_calls(_call_run, sent[0], [run]))
                if len(waiting) > most:
                    yield from self._next(waiting)
            while waiting:
                yield from self._next(waiting)
        finally:
            _release([*waiting, *sent])

    def hold(self, function: Callable, *items: Sequence[Any]) -> Sequence[Any]:
        """function(*item) for each of zip(*items), computed and held by the workers.

        Items are small arguments, Dask's Delayed, or what was held before. The first may be pieces, and then so is what
        is held. Whoever drops a future frees its memory.
        """
        first, together, sent = items[0], zip(*items, strict=True), self._send(function)
        in_pieces = isinstance(first, Pieces)
        futures = self._submit(_calls(_call_run, sent, runs(together)) if in_pieces else _calls(_call, sent, together))
        try:
            self._wait(futures)
        except BaseException:
            _release(futures)
            raise
        self._held.update(futures)
        return Pieces(futures, first.size, len(first)) if isinstance(first, Pieces) else futures

    def sum_parts(self, function: Callable, *items: Sequence[Any]) -> Any:
        """The sum of function(*item) over zip(*items), to the last bit that of ``add_up``."""
        if not len(items[0]):
            return add_up(())
        sent, together = self._send(function), list(zip(*items, strict=True))
        sums = []
        for some in _by_arity(together):
            by_task = list(runs(some))
            if len(by_task) == 1:
                sums += _calls(_sum_run, sent, by_task)
            else:
                sums += _calls(_add_lists, None, [_calls(_call_run, sent, by_task)])
        while len(sums) > 1:
            sums = _calls(_add, None, _by_arity(sums))
        futures = self._submit(sums)
        try:
            return self._wait(futures, fetch=True)[0].value
        finally:
            _release(futures)

    def dask_array(self, function: Callable[[Any, slice], np.ndarray], parts: Sequence[Any]) -> Any:
        """The arrays function(part, rows), (T, m), of all tiles as one Dask array, which the workers hold."""
        from dask import array, delayed

        held = self.hold(partial(_stack_tiles, function), parts)
        shapes = list(self.each(_shape_and_type, held))
        value = delayed(_value, pure=False, traverse=False)
        rows = [value(one.task, one.at) if isinstance(one, Piece) else value(one) for one in held]
        return array.concatenate([array.from_delayed(some, *of) for some, of in zip(rows, shapes, strict=True)])

    def fetch(self, tasks: Sequence[Any]) -> list:
        """The results of some of Dask's Delayed, all computed in one round."""
        futures = self._submit(list(tasks))
        try:
            return self._wait(futures, fetch=True)
        finally:
            _release(futures)

    def _next(self, waiting: "deque[Future]") -> list:
        """The results of the first, which is then let go."""
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


def _are_here(parts: Sequence[Any]) -> bool:
    """Whether parts are in this process, as some rows that were brought here are."""
    return hasattr(type(parts[0]), "tiles")


def _calls(task: Callable, function: Any, items: Any) -> list:
    """One task for each of the items, which follow the function if there is one."""
    from dask import delayed

    call = delayed(task, pure=False, traverse=False)
    first = () if function is None else (function,)
    name = f"hicorex{task.__name__.replace('_', '-')}-{uuid4().hex}"
    return [call(*first, *item, dask_key_name=f"{name}-{i}") for i, item in enumerate(items)]


def _load(data: bytes) -> WorkerValue:
    # Of no size, so that tasks go where their parts are.
    return WorkerValue(pickle.loads(data), size=0)


def _call(function: WorkerValue, *items: Any) -> WorkerValue:
    (result,) = _results(function, items[0], None, [items[1:]])
    return WorkerValue(result)


def _call_run(function: WorkerValue, task: Any, places: list[int] | None, others: list[tuple]) -> WorkerValue:
    return WorkerValue(list(_results(function, task, places, others)))


def _sum_run(function: WorkerValue, task: Any, places: list[int] | None, others: list[tuple]) -> WorkerValue:
    return WorkerValue(_sum(_results(function, task, places, others)))


def _results(function: WorkerValue, task: Any, places: list[int] | None, others: list[tuple]) -> Iterator[Any]:
    """What the function gives for each item of a run."""
    single_threaded_blas.set_for_good()
    keep_freed_memory()
    if places is None:
        firsts: Iterable[Any] = [_argument(task)]
    elif isinstance(task, WorkerValue):
        firsts = [task.value[at] for at in places]
    else:  # what reads one value after the other
        firsts = map(_argument, task)
    for first, more in zip(firsts, others, strict=True):
        yield function.value(first, *map(_argument, more))


def _argument(item: Any) -> Any:
    return item.value if isinstance(item, WorkerValue) else read(*write(item))


def _value(held: WorkerValue, at: int | None = None) -> Any:
    return held.value if at is None else held.value[at]


def _stack_tiles(function: Callable[[Any, slice], np.ndarray], part: Part) -> np.ndarray:
    return np.concatenate(_over_tiles(function, part))


def _shape_and_type(array: np.ndarray) -> tuple:
    return array.shape, array.dtype


def _over_tiles(function: Callable[[Any, slice], Result], part: Part) -> list[Result]:
    return [function(part, rows) for rows in part.tiles()]


def _sum_tiles(function: Callable[[Any, slice], Any], finer: int, part: Part, chosen: slice) -> Any:
    return add_up(function(part, rows) for rows in part.tiles(finer)[chosen])


def _add(*sums: WorkerValue) -> WorkerValue:
    return WorkerValue(_sum(of_part.value for of_part in sums))


def _add_lists(*lists: WorkerValue) -> WorkerValue:
    return WorkerValue(_sum(chain.from_iterable(of_run.value for of_run in lists)))


def _sum(sums: Iterable[Any]) -> Any:
    # The last part may have none of the tiles that were chosen.
    return add_up(one for one in sums if one is not None)


def _by_arity(items: list) -> list[list]:
    return [items[at : at + ARITY] for at in range(0, len(items), ARITY)]


def _release(futures: Iterable["Future"]) -> None:
    for future in list(futures):
        # A loop that is closed has nothing left to release.
        with suppress(RuntimeError):
            future.release()
