"""Waiting for a Dask cluster: until the work is done, or nobody is left to do it."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hicorex.exceptions import ClusterLostError

if TYPE_CHECKING:
    from distributed import Client, Future

# Seconds that a cluster may be without any worker, or its scheduler without an answer.
PATIENCE = 30.0
# Seconds between two looks at the workers while waiting.
GLANCE = 1.0


class Watch:
    """Waits for work of a client, as long as there are workers to do it.

    client : a ``distributed.Client``
    patience : seconds after which a cluster without workers, or without an answer, is given up
    """

    def __init__(self, client: "Client", patience: float = PATIENCE):
        self.client: Any = client
        self.patience = patience

    def finish(self, work: Callable[[], Coroutine]) -> Any:
        """The result of some work in the client's loop."""
        with self.reaching():
            watch = self._within_patience(work)
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

    async def _within_patience(self, work: Callable[[], Coroutine]) -> Any:
        """The result of the work, unless there are no workers for too long.

        Looks at the workers are counted, not seconds. A process that is itself held up, as on a busy machine, looks
        less often, and must not take that for a silence of the cluster.
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
                asking = asking or asyncio.ensure_future(self.ask())
            return working.result()
        finally:
            working.cancel()
            if asking is not None:
                asking.cancel()

    async def ask(self) -> dict[str, int]:
        """The threads of each worker."""
        return await self.client.nthreads(asynchronous=True)

    @contextmanager
    def reaching(self) -> Iterator[None]:
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

        It would forget those that it queued while a worker waited for another worker that was then lost.
        """
        from distributed import Future

        # Releasing a future that never was has no other effect.
        Future(f"hicorex-nudge-{uuid4().hex}", self.client).release()

    def _require_client(self) -> None:
        if self.client.status == "closed":
            raise ConnectionError("the client is closed")


async def outcome(client: "Client", futures: list["Future"], fetch: bool) -> tuple:
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


def explained(error: BaseException) -> BaseException:
    """The error of a task as it is, or what to do where the scheduler gave a task up."""
    if type(error).__module__ != "distributed.scheduler":
        return error
    gave_up = ClusterLostError(
        f"The Dask scheduler gave up: {error} If workers died for want of memory, start them with more, or with fewer "
        "threads each; if they are often taken away, raise distributed.scheduler.allowed-failures where the scheduler "
        "starts. Then run again with the same checkpoint."
    )
    gave_up.__cause__ = error
    return gave_up


def _lost(what: str, seconds: float) -> ClusterLostError:
    return ClusterLostError(
        f"The Dask cluster {what} for {seconds:g} seconds: start workers, and run again with the same checkpoint."
    )
