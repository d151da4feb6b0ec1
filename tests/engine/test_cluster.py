"""Workers of a Dask cluster: the same bits as here, and nothing left behind."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from clusters import (  # noqa: F401
    N_PARTS,
    assert_left,
    bits,
    cloudpickle,
    dask,
    expected,
    make_part,
    moments,
    no_hang,
    ready_to_fork,
    tasks_of,
)

from hicorex.engine import cluster, reduction
from hicorex.engine.cluster import ClusterEngine, current_client
from hicorex.engine.reduction import add_up
from hicorex.engine.worker_value import WorkerValue
from hicorex.exceptions import HicorexError

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


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
