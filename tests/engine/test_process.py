"""What a worker's process is set to: threads of linear algebra, and freed memory."""

import os
import platform
import subprocess
import sys
import threading
import time

import pytest
from clusters import (  # noqa: F401
    bare,
    cloudpickle,
    no_hang,
    ready_to_fork,
)
from threadpoolctl import ThreadpoolController, threadpool_info

from hicorex.engine.cluster import ClusterEngine

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_linear_algebra_has_one_thread_within_tasks():
    def threads():
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    def observed(part):
        first = threads()
        time.sleep(0.01 * (1 + part % 5))
        return first, threads()

    def set_threads():
        # Of a thread that ends, since who sets it last may alone change it.
        own = threading.Thread(target=ThreadpoolController().limit, kwargs={"limits": 2, "user_api": "blas"})
        own.start()
        own.join()

    with bare(1, threads=3) as (client, _), ClusterEngine(client) as engine:
        client.run(set_threads)
        assert set(client.run(threads).values()) == {2}
        parts = engine.hold(lambda i: i, range(40))
        assert list(engine.each(observed, parts)) == [(1, 1)] * 40


FAULTS = """
import resource
import numpy as np
from hicorex.engine import process
process.keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    np.ones(2**18)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library")
def test_workers_keep_freed_memory_unless_told_otherwise():
    pages = {}
    for threshold in ("65536", "65535"):  # the first is what Dask's nannies say
        run = subprocess.run(
            [sys.executable, "-c", FAULTS],
            env=os.environ | {"MALLOC_TRIM_THRESHOLD_": threshold},
            capture_output=True,
            text=True,
            check=True,
        )
        pages[threshold] = int(run.stdout)
    assert pages["65536"] < 5000 < 20_000 < pages["65535"]
