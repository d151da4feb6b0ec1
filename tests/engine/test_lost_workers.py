"""Workers, schedulers and clients that are slow, interrupted or lost: the same bits, or a message with a remedy."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from clusters import (  # noqa: F401
    N_PARTS,
    Scheduler,
    Strike,
    Workers,
    assert_left,
    bare,
    bits,
    cloudpickle,
    distributed,
    expected,
    make_part,
    moments,
    nannied,
    no_hang,
    ready_to_fork,
)

from hicorex.engine.cluster import ClusterEngine
from hicorex.engine.reduction import add_up
from hicorex.engine.watch import Watch
from hicorex.exceptions import HicorexError

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


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
