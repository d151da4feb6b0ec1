"""Tables of many parts, several of which a task holds: the bits of a table in memory, and few tasks."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from clusters import (  # noqa: F401
    Strike,
    assert_left,
    bare,
    bits,
    cloudpickle,
    counted,
    make_part,
    moments,
    no_hang,
    ready_to_fork,
)
from clusters import expected as expected_sum

from hicorex import Corex, HierarchicalCorex
from hicorex.engine import LocalEngine, pieces
from hicorex.engine.cluster import ClusterEngine
from hicorex.engine.pieces import Pieces
from hicorex.layer import data

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS, COLUMNS, N_PARTS = 150_000, 4, 37
FAST = {"n_states": 2, "n_init": 1, "max_iter": 3, "tol": 0.0, "random_state": 0}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts are of 4096 rows; three iterations settle nothing."""
    monkeypatch.setattr(data, "TILE_CELLS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table():
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=(ROWS, 2))[:, np.arange(COLUMNS) % 2]
    return (hidden ^ (rng.random(hidden.shape) < 0.2)).astype(np.int8)


def result(model):
    layers = getattr(model, "layers_", [model])
    arrays = [array for layer in layers for array in (layer.alpha_, layer.tcs_, layer.history_)]
    return model.tc_, repr(model.bounds_), [array.tobytes() for array in arrays]


def lists(first, stop):
    return [make_part(i) for i in range(first, stop)]


@pytest.mark.parametrize(("n_parts", "size"), [(70, 32), (70, 8), (64, 32), (33, 2), (5, 4)])
def test_sums_over_pieces_are_those_of_this_process(client, n_parts, size):
    firsts = range(0, n_parts, size)
    with ClusterEngine(client) as engine:
        tasks = engine.hold(lists, firsts, [min(first + size, n_parts) for first in firsts])
        parts = Pieces(tasks, size, n_parts)
        assert bits(engine.sum_parts(moments, parts)) == expected_sum(n_parts)
        assert len(parts) == len(list(parts)) == n_parts
        some = [parts[at] for at in (1, 2, n_parts - 1)]
        found = list(engine.each(lambda part, at: (at, part[0, 0]), some, "abc"))
        assert found == [(at, make_part(i)[0, 0]) for at, i in zip("abc", (1, 2, n_parts - 1), strict=True)]
        again = engine.hold(lambda part: 2 * part, parts)
        assert next(engine.each(lambda part: part[0, 0], again[-1:])) == 2 * make_part(n_parts - 1)[0, 0]
        assert_left(client, [*tasks, *again.tasks])


class Rows:
    """A part of four rows a tile."""

    def __init__(self, number):
        self.values = np.random.default_rng(number).normal(size=128) * 10.0**number

    def tiles(self, finer=1):
        return [slice(at, at + 4 // finer) for at in range(0, 128, 4 // finer)]


def total(part, rows):
    return np.array(part.values[rows].sum())


@pytest.mark.parametrize(("step", "finer"), [(1, 1), (3, 1), (48, 1), (100, 1), (1, 2)])
def test_some_tiles_of_pieces_have_the_same_sum(client, step, finer):
    with LocalEngine(1) as engine:
        here = engine.sum(total, [Rows(at % 7) for at in range(100)], step, finer)
    with ClusterEngine(client) as engine:
        tasks = engine.hold(
            lambda first: [Rows(at % 7) for at in range(first, min(first + 16, 100))], range(0, 100, 16)
        )
        assert engine.sum(total, Pieces(tasks, 16, 100), step, finer).tobytes() == here.tobytes()


@pytest.mark.parametrize("most", [40, 10, 1])
def test_parts_that_tasks_share_change_no_bit_and_make_few_tasks(client, monkeypatch, most):
    monkeypatch.setattr(pieces, "MOST_TASKS", most)
    here = Corex(2, **FAST).fit(table())
    with counted(client) as sizes:
        there = Corex(2, **FAST).fit(da.from_array(table(), chunks=(3001, 3)))
    assert result(there) == result(here)
    n_tasks = -(-N_PARTS // {40: 1, 10: 4, 1: 32}[most])
    # The last pass: what holds the parts, a task for each of these, three that add up, and the function
    assert sizes[-1] <= 2 * n_tasks + 4


@pytest.mark.parametrize("what", ["frame", "hierarchy", "batches", "weights"])
def test_pieces_are_like_parts_everywhere(client, monkeypatch, what):
    monkeypatch.setattr(pieces, "MOST_TASKS", 10)
    X, weight = table(), None
    model = Corex(2, **FAST)
    there = da.from_array(X, chunks=(3001, 3))
    if what == "frame":
        X = pd.DataFrame(X, columns=list("abcd")).assign(d=np.random.default_rng(1).normal(size=ROWS))
        there = dd.from_pandas(X, npartitions=50)
    elif what == "hierarchy":
        model = HierarchicalCorex((2, 1), **FAST)
    elif what == "batches":
        model = Corex(2, **FAST | {"batch_size": 5000, "max_iter": 6})
    elif what == "weights":
        weight = np.random.default_rng(2).random(ROWS) + 0.5
    expected = result(model.fit(X, sample_weight=weight))
    assert result(model.fit(there, sample_weight=weight)) == expected


@pytest.mark.parametrize("moment", ["reading", "iterations"])
def test_a_worker_that_held_pieces_is_lost_and_changes_no_bit(monkeypatch, tmp_path, moment):
    monkeypatch.setattr(pieces, "MOST_TASKS", 10)
    here = result(Corex(2, **FAST).fit(table()))
    with bare(2) as (client, _):
        strike = Strike(client, "kill", tmp_path / "struck")
        send = ClusterEngine._send
        calls = []

        def sent(self, function):
            calls.append(1)
            return send(
                self, strike.within(function) if len(calls) == {"reading": 2, "iterations": 7}[moment] else function
            )

        monkeypatch.setattr(ClusterEngine, "_send", sent)
        with strike.seen():
            model = Corex(2, **FAST).fit(da.from_array(table(), chunks=(3001, 3)))
        assert result(model) == here
        assert_left(client, [])
