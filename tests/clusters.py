"""Clusters of processes for tests, started, harmed and looked at."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hicorex.engine import LocalEngine
from hicorex.engine.reduction import add_up

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
psutil = pytest.importorskip("psutil", reason="psutil is not installed")

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SECONDS = 75
# Parts of which sums are made.
N_PARTS = 70
# Seconds after which the scheduler gives up a worker that stands still: long, since a busy one may be silent.
LONG = 300
FORKED = multiprocessing.get_context("forkserver")
OPTIONS = {"distributed.worker.multiprocessing-method": "forkserver", "distributed.scheduler.worker-ttl": LONG}


@pytest.fixture(scope="session", autouse=True)
def ready_to_fork():
    """Workers are forked from a process that has imported all they need."""
    with pytest.MonkeyPatch.context() as patch, dask.config.set(OPTIONS):
        distributed.utils.get_mp_context()  # which would choose what to import later
        FORKED.set_forkserver_preload(["forked"])
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        first = FORKED.Process(target=int)
        first.start()
    first.join()


@pytest.fixture(autouse=True)
def no_hang():
    """A test that hangs fails."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"more than {SECONDS} seconds"))
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@contextmanager
def nannied(n_workers=2, threads=1):
    """A client of workers that are started anew when they die, or are given up."""
    with (
        dask.config.set(OPTIONS),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def work(address, threads):
    """The life of a worker process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    async def live():
        async with distributed.Worker(address, nthreads=threads, dashboard=False) as worker:
            await worker.finished()

    asyncio.run(live())


def schedule(pipe):
    """The life of a scheduler process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    async def live():
        async with distributed.Scheduler(port=0, dashboard=False) as scheduler:
            pipe.send(scheduler.address)
            await scheduler.finished()

    asyncio.run(live())


class Scheduler:
    """A process of its own, within a context."""

    def __enter__(self):
        here, there = FORKED.Pipe()
        self.process = FORKED.Process(target=schedule, args=(there,))
        self.process.start()
        self.address = here.recv()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()


class Workers:
    """Free-standing worker processes, which nobody starts anew."""

    def __init__(self, address):
        self.address = address
        self.processes = []

    def start(self, n_workers=1, threads=1):
        for _ in range(n_workers):
            process = FORKED.Process(target=work, args=(self.address, threads))
            process.start()
            self.processes.append(process)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.join()
            process.close()
        self.processes.clear()


@contextmanager
def bare(n_workers=2, threads=1, ttl=LONG):
    """A client, and workers without a nanny, which are given up when they stand still for ``ttl``."""
    with (
        dask.config.set(OPTIONS | {"distributed.scheduler.worker-ttl": ttl}),
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = Workers(cluster.scheduler_address)
        workers.start(n_workers, threads)
        try:
            if n_workers:
                client.wait_for_workers(n_workers, timeout=30)
            yield client, workers
        finally:
            workers.kill()


class Strike:
    """What a worker does to itself within a task, once: it ends by SIGKILL, exits, or stands still.

    file : becomes there when it happens
    """

    def __init__(self, client, how, file):
        self.client, self.how, self.file = client, how, file
        self.addresses = {pid: address for address, pid in client.run(os.getpid).items()}

    def within(self, function, where=None):
        """The function, which strikes in its first call on any worker whose arguments are as ``where`` says."""
        how, file = self.how, str(self.file)

        def striking(*args):
            if where is None or where(*args):
                strike(how, file)
            return function(*args)

        return striking

    @contextmanager
    def seen(self, give_up=True):
        """The strike falls within this block; who stands still is given up after a second, or left to the scheduler."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as other:
            seeing = other.submit(self._see, over, give_up)
            try:
                yield
            except BaseException:
                over.set()
                raise
            seeing.result()
        assert self.address not in self.client.nthreads()

    def _see(self, over, give_up):
        end = time.monotonic() + SECONDS
        while not self.file.exists() or not self.file.read_text():
            assert not over.wait(0.01)
            assert time.monotonic() < end
        pid = int(self.file.read_text())
        self.address = self.addresses[pid]
        try:
            victim = psutil.Process(pid)
        except psutil.NoSuchProcess:  # it is gone already
            return
        if self.how != "stop":
            victim.wait(SECONDS)
            return
        while victim.status() != psutil.STATUS_STOPPED:
            assert not over.wait(0.01)
        if give_up:
            over.wait(1)
            assert victim.status() == psutil.STATUS_STOPPED
            self.client.run_on_scheduler(find_silent, address=self.address)


def strike(how, file):
    """Harm this process, if it is the first to make the file."""
    try:
        found = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    os.write(found, str(os.getpid()).encode())
    os.close(found)
    if how == "exit":
        os._exit(1)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[how])


async def find_silent(dask_scheduler, address):
    """Have the scheduler find, as it does now and then, that a worker has been silent for too long."""
    dask_scheduler.workers[address].last_seen -= 2 * LONG
    await dask_scheduler.check_worker_ttl()


def tasks_of(client):
    """The keys of all that workers hold or have to do; descriptions of how to compute it anew do not count."""

    def at_work(dask_scheduler):
        return [key for key, task in dask_scheduler.tasks.items() if task.state != "released"]

    return set(client.run_on_scheduler(at_work))


@contextmanager
def counted(client):
    """The number of tasks of each graph that the scheduler is given meanwhile."""

    class Counter(distributed.SchedulerPlugin):
        def update_graph(self, scheduler, *, tasks, **more):
            sizes.append(len(tasks))

    sizes = []
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(Counter(), name="counter")
    yield sizes
    scheduler.remove_plugin("counter")


def assert_left(client, futures):
    """These alone are on the cluster, or soon are."""
    keys = {future.key for future in futures}
    end = time.monotonic() + 10
    while tasks_of(client) - keys and time.monotonic() < end:
        time.sleep(0.05)
    assert tasks_of(client) == keys


def make_part(i):
    """Numbers whose sum depends on the order of adding."""
    rng = np.random.default_rng(i)
    return (rng.normal(size=(50, 20)) * 10.0 ** rng.integers(-3, 4, size=20)).astype(np.float32)


def moments(part):
    return (part.T @ part, [part.sum(axis=0), None])


def bits(sums):
    product, (total, nothing) = sums
    assert nothing is None
    return product.tobytes() + total.tobytes()


def expected(n_parts=N_PARTS):
    with LocalEngine(1) as engine:
        return bits(add_up(engine.map(lambda i: moments(make_part(i)), range(n_parts))))
