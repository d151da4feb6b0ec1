"""Clusters of processes for tests, started, harmed and looked at."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SECONDS = 75
# A worker that stands still is given up after this time, which is as short as the scheduler allows.
TTL = {"distributed.scheduler.worker-ttl": "5s"}


@pytest.fixture(autouse=True)
def no_hang():
    """A test that hangs fails."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"more than {SECONDS} seconds"))
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@contextmanager
def nannied(n_workers=2, threads=1, ttl=5):
    """A client of workers that are started anew when they die, or stand still for so many seconds."""
    with (
        dask.config.set(TTL),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.scheduler.worker_ttl = ttl
        yield client


class Workers:
    """Free-standing worker processes, which nobody starts anew."""

    def __init__(self, address):
        self.address = address
        self.processes = []

    def start(self, n_workers=1, threads=1, **environment):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--no-dashboard"]
        for _ in range(n_workers):
            self.processes.append(
                subprocess.Popen(
                    [*command, "--nthreads", str(threads), "--worker-port", "0"],
                    env=os.environ | environment,
                    stderr=subprocess.DEVNULL,
                )
            )

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


@contextmanager
def bare(n_workers=2, ttl=5, **options):
    """A client, and workers without a nanny, which are given up when they stand still for so many seconds."""
    with (
        dask.config.set(TTL),
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.scheduler.worker_ttl = ttl
        workers = Workers(cluster.scheduler_address)
        workers.start(n_workers, **options)
        try:
            if n_workers:
                client.wait_for_workers(n_workers, timeout=30)
            yield client, workers
        finally:
            workers.kill()


def tasks_of(client):
    """The keys of all that workers hold or have to do; descriptions of how to compute it anew do not count."""

    def at_work(dask_scheduler):
        return [key for key, task in dask_scheduler.tasks.items() if task.state != "released"]

    return set(client.run_on_scheduler(at_work))


def assert_left(client, futures):
    """These alone are on the cluster, or soon are."""
    keys = {future.key for future in futures}
    end = time.monotonic() + 10
    while tasks_of(client) - keys and time.monotonic() < end:
        time.sleep(0.05)
    assert tasks_of(client) == keys
