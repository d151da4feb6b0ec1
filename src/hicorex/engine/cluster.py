"""Workers of a Dask cluster, which hold the parts of a table; only functions and sums travel.

A part and a sum are tasks of tasks, never copies sent from here, so that the scheduler computes anew what a lost worker
had. Dask is imported where it is used, because hicorex works without it.
"""

import asyncio
import concurrent.futures
import pickle
import sys
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

import numpy as np
from scipy.sparse import csr_array, issparse
from threadpoolctl import ThreadpoolController

from hicorex.engine.local import LocalEngine
from hicorex.engine.reduction import ARITY, add_up, some_tiles
from hicorex.exceptions import ClusterLostError, HicorexError

if TYPE_CHECKING:
    from distributed import Client, Future

# Seconds that a cluster may be without any worker, or its scheduler without an answer.
PATIENCE = 30.0
# Seconds between two looks at the workers while waiting.
GLANCE = 1.0
# Bytes of which the address of a new array is a multiple.
ALIGNMENT = 16
# Edges of chunks are moved in one step, however many pieces that makes.
ONE_STEP = 10**12


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
        self.patience = patience
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
        most = 1 + sum(self._finish(self._ask).values())
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
        with self._reaching(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.compute(tasks)

    def _wait(self, futures: list["Future"], fetch: bool = False) -> list:
        """The results of futures if these are fetched; what a task raised is raised as it is."""
        error, results = self._finish(partial(_outcome, self.client, futures, fetch))
        if error is not None:
            raise _explained(error)
        return results

    def _finish(self, work: Callable[[], Coroutine]) -> Any:
        """What some work of the client's loop gives."""
        with self._reaching():
            watch = self._watch(work)
            try:
                waiting = asyncio.run_coroutine_threadsafe(watch, self.client.loop.asyncio_loop)
            except RuntimeError as closed:
                watch.close()
                raise ConnectionError("the client is closed") from closed
            try:
                while not concurrent.futures.wait([waiting], timeout=GLANCE).done:
                    # The loop of a client that was closed meanwhile may never go on.
                    self._require_client()
                    self._nudge()
                return waiting.result()
            finally:
                waiting.cancel()

    async def _watch(self, work: Callable[[], Coroutine]) -> Any:
        """What the work gives, unless there are no workers for too long.

        Not the clock is asked how long that is but the number of looks: a process that is itself held up, as on a busy
        machine, looks less often, and must not take that for a silence of the cluster.
        """
        working = asyncio.ensure_future(work())
        asking = None
        silence = 0.0
        try:
            while not (await asyncio.wait([working], timeout=GLANCE))[0]:
                self._require_client()
                silence += GLANCE
                workers = None
                if asking is not None and asking.done():
                    with suppress(OSError, RuntimeError):  # the last of a client that is being closed
                        workers = asking.result()
                    asking = None
                if workers:
                    silence = 0.0
                elif silence > self.patience:
                    raise _lost("does not answer" if workers is None else "has no workers", self.patience)
                asking = asking or asyncio.ensure_future(self._ask())
            return working.result()
        finally:
            working.cancel()
            if asking is not None:
                asking.cancel()

    async def _ask(self) -> dict[str, int]:
        """The threads of each worker."""
        return await self.client.nthreads(asynchronous=True)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Errors of the cluster itself as one that says what to do."""
        from distributed.client import ClosedClientError

        try:
            self._require_client()
            yield
        except (concurrent.futures.CancelledError, ClosedClientError, OSError) as error:
            raise ClusterLostError(
                f"The Dask cluster was lost ({str(error) or type(error).__name__}): start a scheduler and workers, "
                "connect a client to them, and run again with the same checkpoint."
            ) from error

    def _nudge(self) -> None:
        """Have the scheduler look at the tasks that it put off.

        Those that it queued while a worker waited for one that was then lost would else stay there.
        """
        from distributed import Future

        # To release what never was does nothing else.
        Future(f"hicorex-nudge-{uuid4().hex}", self.client).release()

    def _require_client(self) -> None:
        if self.client.status == "closed":
            raise ConnectionError("the client is closed")


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


def row_lengths(X: Any, engine: ClusterEngine | None = None) -> list[int]:
    """The rows of each chunk of a Dask array or partition of a Dask DataFrame, in one round where they are unknown."""
    from dask import compute, delayed

    if _is_array(X) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    # One column tells the length, and is all that many formats then read.
    blocks = X.to_delayed()[:, 0] if _is_array(X) else X.iloc[:, :1].to_delayed()
    lengths = [delayed(_n_rows, pure=False)(block) for block in blocks]
    return list(compute(*lengths) if engine is None else engine.fetch(lengths))


def stored_cells(X: Any, engine: ClusterEngine) -> int:
    """The cells that the chunks of a Dask array of sparse ones store, in one round."""
    from dask import delayed

    return sum(engine.fetch([delayed(_n_stored, pure=False)(block) for block in X.to_delayed().ravel()]))


def row_count(X: Any, engine: ClusterEngine | None = None) -> int:
    """The rows of a Dask array or DataFrame."""
    return sum(row_lengths(X, engine))


def column_names(X: Any) -> list | None:
    """The names of the columns of a Dask DataFrame, None of an array."""
    return None if _is_array(X) else list(X.columns)


def row_parts(X: Any, boundaries: list[int], lengths: list[int] | None = None) -> list:
    """Dask's Delayed of the rows from each of the boundaries to the next, all columns together.

    Each gives an ndarray or a sparse table of a Dask array and a pandas DataFrame of a Dask DataFrame. ``lengths`` are
    those of ``row_lengths``, which are computed if they are not given.
    """
    from dask import delayed

    lengths = row_lengths(X) if lengths is None else lengths
    if not 0 <= boundaries[0] <= boundaries[-1] <= sum(lengths):
        raise HicorexError(f"Boundaries {boundaries[0]} to {boundaries[-1]} are not those of {sum(lengths)} rows.")
    if _is_array(X):
        from dask.array import Array

        _require_columns(X)
        X = Array(X.dask, X.name, (tuple(lengths), X.chunks[1]), meta=X)
        chunks = (tuple(int(b - a) for a, b in pairwise(boundaries)), (X.shape[1],))
        X = X[boundaries[0] : boundaries[-1]].rechunk(chunks, threshold=ONE_STEP, method="tasks")
        return list(X.to_delayed()[:, 0])
    partitions = X.to_delayed()
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    cut = delayed(_cut, pure=False)
    parts = []
    for a, b in pairwise(boundaries):
        # The first partition stands for rows that are none.
        within = [p for p in range(len(lengths)) if edges[p] < b and edges[p + 1] > a] or [0]
        slices = [(max(0, int(a - edges[p])), max(0, int(b - edges[p]))) for p in within]
        name = f"hicorex-rows-{uuid4().hex}"
        parts.append(cut([partitions[p] for p in within], slices, dask_key_name=name))
    return parts


def _is_here(parts: Sequence) -> bool:
    """Whether parts are in this process, as a few rows of a table that its workers hold may be."""
    return hasattr(type(parts[0]), "tiles")


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def example(X: Any) -> Any:
    """Two rows like those of a Dask array or DataFrame, computed from nothing."""
    n_dimensions = X.ndim if hasattr(type(X), "ndim") else 0
    if n_dimensions != 2:
        raise HicorexError(f"X is a Dask collection of {n_dimensions} dimension(s); give rows and columns.")
    if not _is_array(X):
        return X._meta_nonempty
    _require_columns(X)
    if X.dtype == object:
        raise HicorexError("The Dask array is of type object: make it numbers or text, or a Dask DataFrame.")
    return csr_array((2, X.shape[1]), dtype=X.dtype) if is_sparse(X) else np.zeros((2, X.shape[1]), X.dtype)


def is_sparse(X: Any) -> bool:
    """Whether X is a Dask array that says of its chunks that they are scipy's sparse tables."""
    return _is_array(X) and issparse(X._meta)


def map_rows(X: Any, lengths: list[int], function: Callable, model: Any) -> tuple:
    """The arrays that function(model, rows) gives for each chunk or partition, as arrays of Dask."""
    from dask import array, delayed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that are in no row
        known = function(model, example(X))
    call = delayed(function, pure=False, nout=len(known))
    sent = delayed(model, pure=False, traverse=False)
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(int).tolist()
    found = [call(sent, rows) for rows in row_parts(X, edges, lengths)]
    return tuple(
        array.concatenate(
            [
                array.from_delayed(own[at], (length, *like.shape[1:]), like.dtype)
                for own, length in zip(found, lengths, strict=True)
            ]
        )
        for at, like in enumerate(known)
    )


class Held:
    """What a worker holds, of a size that the scheduler sees, and in memory that is the same wherever it went.

    Arrays that travelled may begin anywhere and be read-only, and those with gaps lose them. Any of these may change
    the last bits of what is computed from them.
    """

    __slots__ = ("size", "value")

    def __init__(self, value: Any, size: int | None = None):
        head, buffers = _write(value)
        self.value = _read(head, buffers)
        self.size = len(head) + sum(buffer.raw().nbytes for buffer in buffers) if size is None else size

    def __sizeof__(self) -> int:
        return self.size

    def __reduce_ex__(self, protocol) -> tuple:
        head, buffers = _write(self.value)
        # The scheduler speaks an older protocol, which knows no buffers.
        return _restore, (self.size, head, buffers if protocol >= 5 else [bytes(own) for own in buffers])


def _restore(size: int, head: bytes, buffers: list) -> Held:
    held = Held.__new__(Held)
    held.size, held.value = size, _read(head, buffers)
    return held


def _write(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """A value as bytes, and the memory of its arrays, which is not copied."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return head, [pickle.PickleBuffer(buffer.raw()) for buffer in buffers]


def _read(head: bytes, buffers: list) -> Any:
    """The value that was written, its arrays in memory like that of any new array."""
    memory = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
    return pickle.loads(
        head, buffers=[own if own.flags.writeable and _begins_well(own) else own.copy() for own in memory]
    )


def _begins_well(array: np.ndarray) -> bool:
    return array.ctypes.data % ALIGNMENT == 0


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
    return Held(function.value(*(item.value if isinstance(item, Held) else _read(*_write(item)) for item in items)))


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


def _cut(partitions: list, slices: list[tuple[int, int]]) -> Any:
    """The rows of some partitions, one after the other."""
    from dask.dataframe.dispatch import concat

    pieces = [partition.iloc[a:b] for partition, (a, b) in zip(partitions, slices, strict=True)]
    return pieces[0] if len(pieces) == 1 else concat(pieces)


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "rechunk")


def _require_columns(X: Any) -> None:
    if np.isnan(X.chunks[1]).any():
        raise HicorexError("The Dask array has columns of unknown number: call its compute_chunk_sizes() before.")


def _n_rows(rows: Any) -> int:
    return rows.shape[0]


def _n_stored(rows: Any) -> int:
    rows = rows.tocsr(copy=True)
    rows.sum_duplicates()
    return int(rows.nnz)


def _release(futures: Any) -> None:
    for future in list(futures):
        # A loop that is closed has nothing left to release.
        with suppress(RuntimeError):
            future.release()


async def _outcome(client: "Client", futures: list["Future"], fetch: bool) -> tuple:
    """The error of a task that failed, or None and the results of all."""
    for settled in asyncio.as_completed([future.exception(asynchronous=True) for future in futures]):
        error = await settled
        if error is not None:
            return error, []
    if not fetch:
        if any(future.cancelled() for future in futures):
            raise concurrent.futures.CancelledError("the scheduler dropped the work")
        return None, []
    try:
        return None, await client.gather(futures, asynchronous=True)
    except Exception:
        # A result that was lost on its way may fail when it is computed again.
        for future in futures:
            if future.status == "error":
                return await future.exception(asynchronous=True), []
        raise


def _explained(error: BaseException) -> BaseException:
    """The error of a task as it is, or what to do where the scheduler gave a task up."""
    if type(error).__module__ != "distributed.scheduler":
        return error
    explained = ClusterLostError(
        f"The Dask scheduler gave up: {error} If workers died for want of memory, start them with more, or with fewer "
        "threads each; if they are often taken away, raise distributed.scheduler.allowed-failures where the scheduler "
        "starts. Then run again with the same checkpoint."
    )
    explained.__cause__ = error
    return explained


def _lost(what: str, seconds: float) -> ClusterLostError:
    return ClusterLostError(
        f"The Dask cluster {what} for {seconds:g} seconds: start workers, and run again with the same checkpoint."
    )
