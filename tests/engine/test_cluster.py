"""Workers of a Dask cluster: the same bits as here, whatever happens to them, and nothing left behind."""

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from clusters import (  # noqa: F401
    Scheduler,
    Strike,
    Workers,
    assert_left,
    bare,
    cloudpickle,
    dask,
    distributed,
    nannied,
    no_hang,
    ready_to_fork,
    tasks_of,
)
from threadpoolctl import ThreadpoolController, threadpool_info

from hicorex.engine import LocalEngine, cluster, reduction
from hicorex.engine.cluster import ClusterEngine, current_client
from hicorex.engine.reduction import add_up
from hicorex.engine.watch import Watch
from hicorex.engine.worker_value import WorkerValue
from hicorex.exceptions import HicorexError
from hicorex.input.sources.collection import column_names, row_count, row_lengths, row_parts

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

N_PARTS = 70


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


@pytest.mark.parametrize(("n_parts", "arity"), [(1, 32), (31, 32), (32, 32), (33, 32), (70, 32), (28, 3), (27, 3)])
def test_sums_are_those_of_this_process_to_the_last_bit(client, monkeypatch, n_parts, arity):
    for module in (cluster, reduction):
        monkeypatch.setattr(module, "ARITY", arity)
    with ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(n_parts))
        assert bits(engine.sum_parts(moments, parts)) == expected(n_parts)
        assert_left(client, parts)


def test_another_order_of_adding_gives_other_bits():
    found = [moments(make_part(i)) for i in range(N_PARTS)]
    in_order = sum(product.astype(float) for product, _ in found)
    assert in_order.tobytes() != add_up(found)[0].tobytes()


def test_nothing_has_no_sum(client):
    with ClusterEngine(client) as engine:
        assert engine.hold(make_part, []) == []
        assert engine.sum_parts(moments, []) is None
        assert list(engine.each(moments, [])) == []


def test_work_of_this_process_stays_here(client):
    with ClusterEngine(client, n_jobs=2) as engine:
        assert engine.n_jobs == 2
        assert set(engine.map(lambda i: os.getpid(), range(5))) == {os.getpid()}


def test_parts_are_made_of_several_items_and_of_parts(client):
    with ClusterEngine(client) as engine:
        first = engine.hold(lambda i, name: (name, i), range(3), "abc")
        second = engine.hold(lambda own, j: (*own, j), first, [dask.delayed(j) for j in range(3)])
        assert list(engine.each(lambda part: part, second)) == [("a", 0, 0), ("b", 1, 1), ("c", 2, 2)]
        with pytest.raises(ValueError, match="shorter"):
            engine.hold(lambda i, j: i, range(3), range(2))


def test_only_what_is_held_stays_and_nothing_after_the_context(client):
    with ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(6))
        others = engine.hold(make_part, range(3))
        assert_left(client, parts + others)
        del others
        assert_left(client, parts)
        for _ in range(3):
            engine.sum_parts(moments, parts)
        assert len(list(engine.each(moments, parts))) == 6
        assert_left(client, parts)
        assert len(client.who_has(parts)) == 6
    assert_left(client, [])


def test_a_function_travels_once(client, monkeypatch):
    from distributed.comm import tcp

    sent = []
    to_frames = tcp.to_frames

    async def counted(*args, **options):
        frames = await to_frames(*args, **options)
        sent.append(sum(memoryview(frame).nbytes for frame in frames))
        return frames

    received = "lambda dask_worker: sum(log['total'] for log in dask_worker.transfer_incoming_log)"
    parameters = np.random.default_rng(0).random(2_500_000)
    with ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(64))
        before = client.run(eval(received))
        monkeypatch.setattr(tcp, "to_frames", counted)
        total = engine.sum_parts(lambda part: np.array(parameters[0]), parts)
        after = client.run(eval(received))
    assert total == pytest.approx(64 * parameters[0])
    # Once from the client to the scheduler, which is of this process as well, and once on to a worker.
    assert parameters.nbytes < sum(sent) < 2.2 * parameters.nbytes
    assert sum(after.values()) - sum(before.values()) < 1.5 * parameters.nbytes


class Table:
    """Of a size that Dask cannot see by itself."""

    def __init__(self, rows):
        self.rows = rows


def test_the_scheduler_sees_the_size_of_a_part_of_any_class(client):
    with ClusterEngine(client) as engine:
        parts = engine.hold(lambda i: Table(np.zeros((1000, 100))), range(2))
        assert all(8e5 < size < 9e5 for size in client.nbytes([p.key for p in parts], summary=False).values())


@pytest.mark.parametrize("order", ["C", "F", "gaps"])
def test_arrays_are_laid_out_alike_wherever_they_went(client, order):
    def make(i):
        array = np.arange(60.0 + i)[: 60 - 6].reshape(9, 6)
        return {"C": array, "F": np.asfortranarray(array), "gaps": array[:, ::2]}[order]

    def layout(part):
        return part.strides, part.flags.writeable, part.ctypes.data % 16, part.tobytes()

    one, other = client.nthreads()
    with ClusterEngine(client) as engine:
        raw = [dask.delayed(make)(i) for i in range(3)]
        parts = engine.hold(lambda part: part, raw)
        found = set(engine.each(layout, parts)) | set(engine.each(layout, client.compute(raw)))
        here = {layout(part) for part in engine.each(lambda part: part, parts)}
        for worker in (one, other):
            with dask.annotate(workers=[worker]):
                found |= set(engine.each(layout, parts))
        strides = {"C": (48, 8), "F": (8, 72), "gaps": (24, 8)}[order]
        assert found == here == {(strides, True, 0, make(0).tobytes())}


def test_memory_that_begins_anywhere_is_copied():
    memory = bytearray(8 * 20 + 3)
    odd = np.frombuffer(memory, np.float64, 20, offset=3)
    assert not odd.flags.aligned
    read = WorkerValue(odd).value
    assert read.flags.aligned
    assert read.flags.writeable
    assert WorkerValue(np.zeros((0, 3))).value.shape == (0, 3)


@pytest.mark.parametrize("error", [HicorexError("column 'a'"), FileNotFoundError("gone.csv"), TimeoutError("own")])
def test_what_a_function_raises_arrives_as_it_is(client, error):
    def fails(part):
        raise error

    with ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(3))
        for call in (lambda: engine.sum_parts(fails, parts), lambda: list(engine.each(fails, parts))):
            with pytest.raises(type(error)) as found:
                call()
            assert str(found.value) == str(error)
            assert type(found.value) is type(error)
        with pytest.raises(type(error)):
            engine.hold(fails, parts)
        assert_left(client, parts)
        assert bits(engine.sum_parts(moments, parts)) == expected(3)


def test_results_come_in_order_and_few_are_in_flight(client):
    with ClusterEngine(client) as engine:
        parts = engine.hold(lambda i: i, range(30))
        results = engine.each(lambda i: i * i, parts)
        assert next(results) == 0
        time.sleep(0.5)
        # The parts, the function, and one for each thread and one more
        assert len(tasks_of(client)) <= 30 + 1 + 3
        assert list(results) == [i * i for i in range(1, 30)]
        results = engine.each(lambda i: i, parts)
        next(results)
        results.close()
        assert_left(client, parts)


@pytest.mark.parametrize("held_up", [0, 3])
def test_slow_workers_are_not_lost_ones(client, monkeypatch, held_up):
    ask = Watch.ask

    async def ask_late(watch):
        time.sleep(held_up)  # of the whole loop, as on a busy machine
        return await ask(watch)

    def slow(part):
        time.sleep(4)
        return moments(part)

    monkeypatch.setattr(Watch, "ask", ask_late)
    with ClusterEngine(client, patience=2) as engine:
        parts = engine.hold(make_part, range(2))
        assert bits(engine.sum_parts(slow, parts)) == expected(2)


@pytest.fixture
def interrupts():
    """Interrupts are heard, also where whoever runs the tests has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_round(client, interrupts):
    def slow(part):
        time.sleep(6)
        return part

    with ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(8))
        for call in (lambda: engine.sum_parts(slow, parts), lambda: next(engine.each(slow, parts))):
            timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begin = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                call()
            assert time.monotonic() - begin < 5
            timer.join()
            assert_left(client, parts)
        assert bits(engine.sum_parts(moments, parts)) == expected(8)


def is_victim(part):
    """Whether this is part 40, or what it is made from."""
    return part[0, 0] == make_part(40)[0, 0] if isinstance(part, np.ndarray) else part == 40


@pytest.mark.parametrize("nanny", [False, True])
@pytest.mark.parametrize("how", ["kill", "exit", "stop"])
def test_lost_workers_change_no_bit(tmp_path, how, nanny):
    right = expected()
    with nannied(2) if nanny else bare(3) as found, ClusterEngine(found if nanny else found[0]) as engine:
        client = engine.client

        @contextmanager
        def strike(moment):
            client.wait_for_workers(2 if nanny else 3, timeout=30)
            own = Strike(client, how, tmp_path / moment)
            with own.seen():
                yield own
            if not nanny:
                found[1].start()

        with strike("reading") as own:
            parts = engine.hold(own.within(make_part, is_victim), range(N_PARTS))
        assert bits(engine.sum_parts(moments, parts)) == right
        if nanny and how == "stop":
            return  # a nanny waits before it kills
        with strike("between two rounds") as own:
            holder = next(iter(client.who_has(parts).values()))
            client.submit(own.within(int), workers=holder, allow_other_workers=True, pure=False).result()
        assert bits(engine.sum_parts(moments, parts)) == right
        with strike("a round") as own:
            assert bits(engine.sum_parts(own.within(moments, is_victim), parts)) == right
        with strike("results one by one") as own:
            assert bits(add_up(engine.each(own.within(moments, is_victim), parts))) == right
        assert_left(client, parts)


def test_the_scheduler_finds_by_itself_who_stands_still(tmp_path):
    with bare(3, ttl=5) as (client, _), ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(N_PARTS))
        strike = Strike(client, "stop", tmp_path / "struck")
        with strike.seen(give_up=False):
            assert bits(engine.sum_parts(strike.within(moments, is_victim), parts)) == expected()


def test_a_cluster_that_lost_all_workers_is_given_up_and_may_come_back(tmp_path):
    with bare(1) as (client, workers), ClusterEngine(client, patience=2) as engine:
        parts = engine.hold(make_part, range(4))
        strike = Strike(client, "kill", tmp_path / "struck")
        for call in (
            lambda: engine.sum_parts(strike.within(moments), parts),
            lambda: list(engine.each(moments, parts)),
            lambda: engine.hold(make_part, range(2)),
        ):
            begin = time.monotonic()
            with pytest.raises(HicorexError, match="has no workers for 2 seconds: start workers, and run again"):
                call()
            assert 2 <= time.monotonic() - begin < 20
            assert strike.file.exists()
        # One that arrives while it is waited for
        engine._watch.patience = 30
        timer = threading.Timer(1, workers.start)
        timer.start()
        assert bits(engine.sum_parts(moments, parts)) == expected(4)
        timer.join()
        assert_left(client, parts)


def test_a_task_that_kills_every_worker_is_explained():
    with bare(2) as (client, _), ClusterEngine(client) as engine:
        client.cluster.scheduler.allowed_failures = 0
        parts = engine.hold(make_part, range(2))
        with pytest.raises(HicorexError, match=r"gave up.*allowed-failures"):
            engine.sum_parts(lambda part: os._exit(1), parts)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_scheduler_is_said(tmp_path, how):
    def slow(part):
        (tmp_path / "begun").touch()
        time.sleep(60)

    def strike():
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        os.kill(scheduler.process.pid, how)

    with Scheduler() as scheduler, distributed.Client(scheduler.address, timeout=10) as client:
        workers = Workers(scheduler.address)
        workers.start()
        try:
            with ClusterEngine(client, patience=2) as engine:
                parts = engine.hold(make_part, range(2))
                other = threading.Thread(target=strike)
                other.start()
                begin = time.monotonic()
                with pytest.raises(HicorexError, match="run again with the same checkpoint"):
                    engine.sum_parts(slow, parts)
                assert time.monotonic() - begin < 30
                other.join()
        finally:
            workers.kill()
            scheduler.process.kill()


def test_a_closed_client_is_said():
    with bare(1) as (client, _), ClusterEngine(client) as engine:
        parts = engine.hold(make_part, range(2))
        timer = threading.Timer(1, client.close)
        timer.start()
        with pytest.raises(HicorexError, match="The Dask cluster was lost"):
            engine.sum_parts(lambda part: time.sleep(60), parts)
        timer.join()
        for call in (lambda: engine.sum_parts(moments, parts), lambda: next(engine.each(moments, parts))):
            with pytest.raises(HicorexError, match="the client is closed"):
                call()
        with pytest.raises(HicorexError, match="the client is closed"):
            engine.hold(make_part, range(2))


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


ROWS, COLUMNS = 103, 7
BOUNDARIES = [0, 10, 50, 51, 100, ROWS]


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(ROWS, COLUMNS))


@pytest.mark.parametrize("kind", ["regular", "columns", "one", "unknown", "persisted"])
def test_parts_of_an_array_are_its_rows(client, table, kind):
    da = pytest.importorskip("dask.array")
    chunks = {"regular": (20, COLUMNS), "columns": (17, 3), "one": (ROWS, COLUMNS)}.get(kind, (30, 4))
    X = da.from_array(table, chunks=chunks)
    if kind == "unknown":
        X = X[X[:, 0] > -10]
        assert np.isnan(X.shape[0])
    if kind == "persisted":
        X = client.persist(X)
    with ClusterEngine(client) as engine:
        assert row_count(X) == row_count(X, engine) == ROWS
        assert column_names(X) is None
        parts = engine.hold(lambda rows: rows, row_parts(X, BOUNDARIES, row_lengths(X, engine)))
        for i, own in enumerate(engine.each(lambda rows: rows, parts)):
            assert type(own) is np.ndarray
            np.testing.assert_array_equal(own, table[BOUNDARIES[i] : BOUNDARIES[i + 1]])
        assert len(parts) == len(BOUNDARIES) - 1
        (some,) = engine.each(lambda rows: rows, row_parts(X, [5, 45]))
        np.testing.assert_array_equal(some, table[5:45])
    assert np.isnan(X.shape[0]) == (kind == "unknown")
    del X


def test_parts_of_a_data_frame_are_its_rows(client, table):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(table, columns=[f"c{i}" for i in range(COLUMNS)])
    frame["letter"] = pd.Categorical(np.array(list("abc"))[np.arange(ROWS) % 3])
    X = dd.from_pandas(frame, npartitions=6)
    X = X[X["c0"] > -10]
    with ClusterEngine(client) as engine:
        lengths = row_lengths(X, engine)
        assert sum(lengths) == row_count(X) == ROWS
        assert len(lengths) == 6
        assert column_names(X) == list(frame.columns)
        boundaries = [*BOUNDARIES, ROWS]  # the last part is empty
        parts = engine.hold(lambda rows: rows, row_parts(X, boundaries, lengths))
        for i, own in enumerate(engine.each(lambda rows: rows, parts)):
            pd.testing.assert_frame_equal(own, frame.iloc[boundaries[i] : boundaries[i + 1]])
        (some,) = dask.compute(*row_parts(X, [5, 45]))
        pd.testing.assert_frame_equal(some, frame.iloc[5:45])
        with pytest.raises(HicorexError, match="0 to 104 are not those of 103 rows"):
            row_parts(X, [0, 104])


def test_columns_of_unknown_number_are_said(client, table):
    da = pytest.importorskip("dask.array")
    X = da.from_array(table, chunks=(30, 4))
    with pytest.raises(HicorexError, match="compute_chunk_sizes"):
        row_parts(X[:, X[0] > 0], [0, 10])


def test_the_current_client_is_found_and_none_is_started(client):
    assert current_client() is client
    with ClusterEngine(client) as engine:
        (found,) = engine.each(lambda part: current_client(), [dask.delayed(0)])
    assert found is None
    code = "import sys; from hicorex.engine.cluster import current_client as c; print(c(), 'distributed' in sys.modules"
    for more, dasked in (")", False), (", c() if __import__('distributed') else 0)", True):
        done = subprocess.run([sys.executable, "-c", code + more], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["None", "False"] + ["None"] * dasked


def test_a_client_that_cannot_be_waited_for_is_refused(client):
    class Other:
        asynchronous = True

    with pytest.raises(HicorexError, match="asynchronous"):
        ClusterEngine(Other())
