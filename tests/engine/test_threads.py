"""Fits in several threads of one process: each as if alone, and linear algebra as it was before."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from models import model_bytes
from threadpoolctl import threadpool_info, threadpool_limits

from hicorex import Corex
from hicorex.engine import LocalEngine

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blas_threads():
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    """Linear algebra on two threads, whatever the machine has."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert set(before.values()) == {2}
        yield before
        assert blas_threads() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_engines_that_overlap_in_any_order_leave_linear_algebra_as_it_was(two_threads, first_out):
    for _ in range(3):
        engines = [LocalEngine(1), LocalEngine(2)]
        for engine in engines:
            engine.__enter__()
            assert set(blas_threads().values()) == {1}
        engines[first_out].__exit__(None, None, None)
        assert set(blas_threads().values()) == {1}  # for the one that is still at work
        engines[1 - first_out].__exit__(None, None, None)
        assert blas_threads() == two_threads


def test_whichever_thread_comes_first_linear_algebra_is_as_it_was(two_threads):
    """Though the thread that has set the last limit is still alive, which some versions of threadpoolctl mind."""
    engines = {"here": LocalEngine(1), "there": LocalEngine(1)}
    with ThreadPoolExecutor(1) as pool:

        def step(where, method, *args):
            act = getattr(engines[where], method)
            return pool.submit(act, *args).result() if where == "there" else act(*args)

        for first, second in (("here", "there"), ("there", "here")):
            step(first, "__enter__")
            step(second, "__enter__")
            step(first, "__exit__", None, None, None)
            assert set(blas_threads().values()) == {1}
            step(second, "__exit__", None, None, None)
            assert blas_threads() == two_threads


def test_a_failure_leaves_linear_algebra_as_it_was(two_threads):
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), LocalEngine(2), LocalEngine(1):
            raise error
        assert blas_threads() == two_threads


def test_two_fits_at_once_are_each_as_if_alone(two_threads):
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(40, 6)) + rng.integers(2, size=(40, 1)) for _ in range(2)]
    start = threading.Barrier(2, timeout=60)

    def fit(at):
        # One of them ends earlier, so that it leaves while the other is at work.
        model = Corex(2, n_states=2, n_init=1, max_iter=3 + 6 * at, tol=1.0, n_jobs=2, random_state=0)
        return model_bytes(model.fit(tables[at]))

    def fit_with_the_other(at):
        start.wait()
        return fit(at)

    alone = [fit(0), fit(1)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(4):
            assert list(pool.map(fit_with_the_other, (0, 1))) == alone


def test_two_that_cross_fit_at_once_leave_warnings_as_they_were():
    rng = np.random.default_rng(0)
    model = Corex(1, n_states=2, n_init=1, max_iter=2, n_jobs=1, random_state=0).fit(rng.normal(size=(40, 4)))
    start = threading.Barrier(2, timeout=60)

    def cross_fit(cv):
        start.wait()
        return model.bounds(cv=cv).lower

    alone = [model.bounds(cv=cv).lower for cv in (2, 3)]
    with warnings.catch_warnings(record=True) as told, ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always")
        for _ in range(6):
            assert list(pool.map(cross_fit, (2, 3))) == alone
        assert ("ignore", None, Warning, None, 0) not in warnings.filters
    assert not [own for own in told if "max_iter" in str(own.message)]


def test_whoever_waits_for_a_task_that_none_has_begun_does_it():
    """So that a function over a lone tile may map over its blocks, and no thread only waits for another."""
    here = threading.get_ident()
    with LocalEngine(2) as engine:

        def lone(_):
            both = threading.Barrier(2, timeout=60)
            return list(engine.map(lambda _: (both.wait(), threading.get_ident())[1], range(2)))

        assert list(engine.map(lambda x: x * x, range(20))) == [x * x for x in range(20)]
        (threads,) = engine.map(lone, range(1))
    assert here in threads
    assert len(set(threads)) == 2


def test_the_first_failure_in_the_order_of_items_is_told():
    def fail(item):
        if item % 2:
            raise ValueError(f"item {item}")
        return item

    for _ in range(20):
        with LocalEngine(2) as engine, pytest.raises(ValueError, match="item 1"):
            list(engine.map(fail, range(6)))
