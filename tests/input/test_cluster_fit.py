"""Fits on clusters of processes: the bits of a fit in memory, whoever is lost on the way, and nothing left behind."""

import os
import sys
import threading
import time
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clusters import (  # noqa: F401
    Strike,
    assert_left,
    bare,
    cloudpickle,
    dask,
    distributed,
    nannied,
    no_hang,
    ready_to_fork,
)
from sklearn.exceptions import ConvergenceWarning

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.engine import ClusterEngine, cluster
from hicorex.estimators import learning
from hicorex.exceptions import HicorexError
from hicorex.input.sources import collection
from hicorex.layer.progress import Progress, heard_by
from hicorex.selection import significance

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS, COLUMNS = 280_000, 12
FAST = {"n_states": 2, "n_init": 2, "max_iter": 6, "tol": 0.0, "random_state": 0}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Links are tested on few samples, in this process; six iterations settle nothing."""
    monkeypatch.setattr(significance, "FEWEST_ROWS", 500)
    monkeypatch.setattr(significance, "MOST_CELLS", 6000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def chunk(first, stop):
    """Rows of a binary table in three groups, the same in every process."""
    rng = np.random.default_rng(first)
    hidden = rng.integers(2, size=(stop - first, 3))[:, np.arange(COLUMNS) % 3]
    return (hidden ^ (rng.random(hidden.shape) < 0.2)).astype(np.int8)


@cache
def table():
    """The table in memory; its parts are of 131,072 rows."""
    return np.concatenate([chunk(first, min(first + 50_001, ROWS)) for first in range(0, ROWS, 50_001)])


def made_by_workers(make=chunk):
    """The table as an array of Dask, whose chunks the workers make."""
    pieces = [(first, min(first + 50_001, ROWS)) for first in range(0, ROWS, 50_001)]
    return da.concatenate(
        [da.from_delayed(dask.delayed(make, pure=False)(a, b), (b - a, COLUMNS), np.int8) for a, b in pieces]
    )


def result(model):
    """All that must be the same, to the last bit."""
    layers = getattr(model, "layers_", [model])
    arrays = [array for layer in layers for array in (layer.alpha_, layer.tcs_, layer.clusters_, layer.history_)]
    return model.tc_, repr(model.bounds_), [array.tobytes() for array in arrays]


@cache
def expected(**more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Corex(3, **FAST | more).fit(table())
    return result(model), model.transform(table())


@pytest.mark.parametrize(("n_workers", "threads"), [(1, 1), (1, 2), (2, 2), (3, 1)])
def test_any_cluster_gives_the_bits_of_a_fit_in_memory(n_workers, threads):
    bits, states = expected()
    with nannied(n_workers, threads) as client:
        X = made_by_workers()
        model = Corex(3, **FAST).fit(X)
        assert result(model) == bits
        np.testing.assert_array_equal(model.transform(X).compute(), states)
        assert_left(client, [])


@pytest.mark.parametrize("chunks", [(70_001, 5), (ROWS, 1), (33_333, COLUMNS)])
def test_chunks_do_not_matter(client, chunks):
    bits, states = expected()
    X = da.from_array(table(), chunks=chunks)
    model = Corex(3, **FAST).fit(X)
    assert result(model) == bits
    np.testing.assert_array_equal(model.transform(X).compute(), states)


def mixed_frame(n_rows=140_000):
    """Columns of every type that depend on two coins, a tenth of them missing."""
    rng = np.random.default_rng(1)
    coins = rng.integers(2, size=(n_rows, 2))
    noisy = [coins[:, i % 2] ^ (rng.random(n_rows) < 0.1) for i in range(4)]
    frame = pd.DataFrame(
        {
            "float": coins[:, 0] + rng.normal(scale=0.5, size=n_rows),
            "other float": coins[:, 1] + rng.normal(scale=0.5, size=n_rows),
            "integer": noisy[0] * 3 + noisy[1],
            "string": np.array(["no", "yes"])[noisy[1]],
            "category": pd.Categorical(np.array(["low", "middle", "high"])[noisy[2] + noisy[3]]),
        }
    )
    for name in ("float", "string", "category"):
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    return frame


def test_data_frames_of_mixed_types_with_gaps_give_the_same_bits(client):
    frame = mixed_frame()
    here = Corex(2, **FAST).fit(frame)
    X = dd.from_pandas(frame, npartitions=5)
    there = Corex(2, **FAST).fit(X)
    assert list(there.feature_names_in_) == list(frame.columns)
    assert result(there) == result(here)
    np.testing.assert_array_equal(there.transform(X).compute(), here.transform(frame))
    np.testing.assert_array_equal(there.log_z(X).compute(), here.log_z(frame))


def test_bounds_of_new_samples_have_the_bits_of_samples_in_memory(client):
    frame = mixed_frame()
    model = Corex(2, **FAST).fit(frame[:20_000])
    new = frame[1000:]  # two parts
    X = dd.from_pandas(new, npartitions=5)
    assert model.bounds(X) == model.bounds(new)
    strange = new.assign(string=new["string"].replace("no", "never"))
    with pytest.warns(UserWarning, match="has not seen count as missing, in column 'string'"):
        here = model.bounds(strange)
    with pytest.warns(UserWarning, match="has not seen count as missing, in column 'string'"):
        assert model.bounds(dd.from_pandas(strange, npartitions=3)) == here
    stack = HierarchicalCorex((3, 1), **FAST).fit(table()[:5000])
    assert stack.bounds(da.from_array(table(), chunks=(90_000, 12))) == stack.bounds(table())


@pytest.mark.parametrize("structure", ["overlap", "tree"])
def test_rules_weights_and_floats_give_the_same_bits(client, structure):
    X = mixed_frame()[["float", "other float", "integer"]].astype(float).to_numpy()
    weight = np.random.default_rng(2).random(len(X)) + 0.5
    here = Corex(2, structure=structure, **FAST).fit(X, sample_weight=weight)
    there = Corex(2, structure=structure, **FAST).fit(da.from_array(X, chunks=(45_000, 2)), sample_weight=weight)
    assert result(there) == result(here)


def test_hierarchies_give_the_same_bits(client):
    here = HierarchicalCorex((3, 1), **FAST).fit(table())
    X = da.from_array(table(), chunks=(90_000, 12))
    there = HierarchicalCorex((3, 1), **FAST).fit(X)
    assert result(there) == result(here)
    np.testing.assert_array_equal(np.asarray(there.transform(X)), here.transform(table()))


def test_batches_give_the_same_bits(client):
    settings = FAST | {"max_iter": 15, "batch_size": 5000}
    here = Corex(3, **settings).fit(table())
    there = Corex(3, **settings).fit(da.from_array(table(), chunks=(90_000, 12)))
    assert result(there) == result(here)
    full = Corex(3, **FAST | {"max_iter": 15}).fit(table())
    assert there.bounds_.lower == pytest.approx(full.bounds_.lower, rel=0.01)


def test_the_same_sizes_are_found(client):
    X = table()[:1500]
    here = Corex("auto", **FAST).fit(X)
    there = Corex("auto", **FAST).fit(da.from_array(X, chunks=(400, 12)))
    assert there.n_factors_ == here.n_factors_ == 3
    assert result(there) == result(here)


def sparse_table(kind):
    rng = np.random.default_rng(3)
    hidden = rng.random((200_000, 2))[:, np.arange(30) % 2] < 0.2
    cells = (hidden & (rng.random(hidden.shape) < 0.3)) * rng.integers(1, 4, hidden.shape)
    return sp.csr_array(cells > 0 if kind == "presence" else cells, dtype=np.int8 if kind != "amounts" else np.float32)


@pytest.mark.parametrize("kind", ["presence", "counts", "amounts"])
def test_sparse_chunks_give_the_same_bits(client, kind):
    X = sparse_table(kind)
    here = Corex(2, **FAST).fit(X)
    cuts = [0, 30_001, 130_000, 200_000]
    pieces = [
        da.from_delayed(dask.delayed(X[a:b]), (b - a, 30), meta=sp.csr_array((0, 0), dtype=X.dtype))
        for a, b in pairwise(cuts)
    ]
    Y = da.concatenate(pieces)
    there = Corex(2, **FAST).fit(Y)
    assert result(there) == result(here)
    np.testing.assert_array_equal(there.transform(Y).compute(), here.transform(X))
    # Chunks of columns, of unknown length
    split = da.from_array(X.toarray(), chunks=(70_000, 17)).map_blocks(sp.csr_matrix, dtype=X.dtype)
    split._chunks = ((np.nan,) * 3, (17, 13))
    assert result(Corex(2, **FAST).fit(split)) == result(here)


def test_sparse_chunks_that_nobody_told_of_are_said(client):
    X = da.from_delayed(dask.delayed(sparse_table("counts")), (200_000, 30), np.int8)
    with pytest.raises(HicorexError, match=r"Chunk \(0, 0\).*sparse, of type int8.*by meta=scipy.sparse.csr_array"):
        Corex(2, **FAST).fit(X)


def test_chunks_of_another_type_than_they_say_are_refused(client):
    X = sparse_table("counts")
    told = da.from_delayed(dask.delayed(X), X.shape, meta=sp.csr_array((0, 0)))  # which says float64
    with pytest.raises(HicorexError, match=r"int8, and is declared sparse, of type float64.*meta=.*dtype='int8'"):
        Corex(2, **FAST).fit(told)
    dense = da.from_delayed(dask.delayed(table()[:100].astype(int)), (100, table().shape[1]), float)
    with pytest.raises(
        HicorexError, match=r"int64, and is declared of type float64: give X\.map_blocks\(numpy\.asarray, 'float64'"
    ):
        Corex(2, **FAST).fit(dense)


def test_what_is_not_in_memory_is_not_reported_on(client, tmp_path):
    X = da.from_array(table()[:2000], chunks=(500, 5))
    model = Corex(2, **FAST).fit(X)
    model.report(tmp_path / "model.html")
    assert (tmp_path / "model.html").exists()
    with pytest.raises(HicorexError, match="type Array, not in memory; pass some of its rows"):
        model.report(tmp_path / "samples.html", X)
    np.testing.assert_array_equal(model.surprise(X).samples, model.surprise(table()[:2000]).samples)


def bad_tables():
    X = da.from_array(table()[:100], chunks=(30, 5))
    yield "1 dimension", X[:, 0], "1 dimension"
    yield "3 dimensions", X[:, :, None], "3 dimension"
    yield "series", dd.from_pandas(pd.DataFrame({"a": [1, 2, 3]}), npartitions=1)["a"], "1 dimension"
    yield "delayed", dask.delayed(table()), "0 dimension"
    yield "unknown columns", X[:, X[0] > 0], "compute_chunk_sizes"
    yield "objects", X.astype(object), "type object: make it numbers or text"


@pytest.mark.parametrize("name", [name for name, _, _ in bad_tables()])
@pytest.mark.parametrize("where", ["client", "alone"])
def test_what_is_no_table_is_said(request, name, where):
    request.getfixturevalue(where)
    X, words = next((X, words) for called, X, words in bad_tables() if called == name)
    with pytest.raises(HicorexError, match=words):
        Corex(2, n_states=2).fit(X)


@pytest.fixture
def alone(monkeypatch):
    """No current client."""
    monkeypatch.setattr(cluster, "current_client", lambda: None)


def test_bounds_of_a_representation_need_samples_here(client):
    X = np.random.default_rng(0).integers(2, size=(40, 3))
    with pytest.raises(HicorexError, match="needs samples in memory; compute some of the rows"):
        hicorex.representation_bounds(da.from_array(X, chunks=(10, 3)), X[:, :1])


def test_infinities_are_named_by_column(client):
    X = da.from_array(np.where(np.arange(300).reshape(100, 3) == 151, np.inf, 1.0), chunks=(30, 2))
    with pytest.raises(HicorexError, match="Column 1 has an infinity"):
        Corex(2, n_states=2).fit(X)


def test_an_asynchronous_client_is_refused(client):
    X = da.from_array(table()[:100], chunks=(30, 5))

    async def fit():
        async with distributed.Client(client.scheduler.address, asynchronous=True):
            with pytest.raises(HicorexError, match="asynchronous"):
                Corex(2, n_states=2).fit(X)

    client.sync(fit)


def test_without_a_client_collections_are_computed_here(alone):
    X = da.from_array(table()[:140_000], chunks=(33_333, 5))
    here = Corex(3, **FAST).fit(table()[:140_000])
    found = Corex(3, **FAST).fit(X)
    assert result(found) == result(here)
    np.testing.assert_array_equal(found.transform(X), here.transform(table()[:140_000]))
    frame = mixed_frame()
    found = Corex(2, **FAST).fit(dd.from_pandas(frame, npartitions=3))
    assert result(found) == result(Corex(2, **FAST).fit(frame))
    counts = sparse_table("counts")
    found = Corex(2, **FAST).fit(da.from_array(counts.toarray(), chunks=(70_000, 17)).map_blocks(sp.csr_array))
    assert result(found) == result(Corex(2, **FAST).fit(counts))


def belongings():
    """The threads, open files and child processes of this process."""
    files = []
    for number in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
        except OSError:  # that of the folder itself
            continue
    children = [child for file in Path("/proc/self/task").glob("*/children") for child in file.read_text().split()]
    return set(threading.enumerate()), sorted(files), sorted(children)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")
def test_a_fit_leaves_nothing_behind(client, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    X = da.from_array(table(), chunks=(90_000, 12))
    found = []
    for _ in range(2):
        model = Corex(3, **FAST).fit(X)
        model.transform(X).compute()
        assert_left(client, [])
        found.append(belongings())
    assert found[1] == found[0]
    assert not list(tmp_path.iterdir())


class At(Progress):
    """Does something once, after this number of iterations in all."""

    def __init__(self, number, action):
        self.left, self.action = number, action

    def iteration(self, number, most, objective, n_starts):
        self.left -= 1
        if self.left == 0:
            self.action()


def preceded_by(action, function):
    def both(*args, **named):
        action()
        return function(*args, **named)

    return both


@pytest.mark.parametrize(
    ("moment", "iterations"), [("reading", 0), ("reading groups", 0), ("iterations", 2), ("evaluation", 4)]
)
@pytest.mark.parametrize("how", ["kill", "exit", "stop"])
def test_a_worker_lost_at_any_moment_changes_no_bit(monkeypatch, tmp_path, how, moment, iterations):
    bits, _ = expected(n_init=1, max_iter=4)
    send = ClusterEngine._send
    struck = []
    with bare(3) as (client, _):
        strike = Strike(client, how, tmp_path / "struck")

        def strike_next():
            """Within what the workers do next."""
            monkeypatch.setattr(ClusterEngine, "_send", lambda self, function: send(self, strike.within(function)))

        class Listener(Progress):
            n_heard = 0

            def iteration(self, number, *_):
                self.n_heard += 1
                if self.n_heard <= 4:  # the search, by rows that are here
                    return
                struck.append(strike.file.exists())
                if moment == "iterations" and number == iterations:
                    strike_next()

        model, X = Corex(3, **FAST | {"n_init": 1, "max_iter": 4}), made_by_workers()
        if moment == "reading groups":
            monkeypatch.setattr(collection, "MOST_TASKS", 3)
        if moment.startswith("reading"):
            X = made_by_workers(strike.within(chunk, lambda first, stop: first > 100_000))
        elif moment == "evaluation":
            monkeypatch.setattr(learning, "gather", preceded_by(strike_next, learning.gather))
        with strike.seen(), heard_by(Listener()):
            model.fit(X)
        assert result(model) == bits
        # The worker was lost after ``iterations`` iterations, and before the next was over
        assert struck == [False] * iterations + [True] * (4 - iterations)
        assert len(client.nthreads()) == 2
        assert_left(client, [])


@pytest.mark.parametrize("again", ["cluster", "here"])
def test_a_fit_that_lost_all_workers_goes_on_from_its_checkpoint(monkeypatch, tmp_path, again):
    bits, _ = expected()
    monkeypatch.setattr(ClusterEngine.__init__, "__defaults__", (None, 2.0))
    path = tmp_path / "fit.checkpoint"
    seen = []
    with bare(2) as (client, workers):
        model = Corex(3, **FAST)
        begin = time.monotonic()
        lost = pytest.raises(HicorexError, match="has no workers for 2 seconds: start workers, and run again")
        with lost, heard_by(At(FAST["max_iter"] + 4, workers.kill)):
            model.fit(made_by_workers(), checkpoint=path)
        assert time.monotonic() - begin < 30
        monkeypatch.setattr(ClusterEngine.__init__, "__defaults__", (None, 30.0))
        model = Corex(3, **FAST)
        listener = Progress()
        listener.iteration = lambda number, *_: seen.append(number)
        with heard_by(listener):
            if again == "cluster":
                workers.start(2)
                model.fit(made_by_workers(), checkpoint=path)
                assert_left(client, [])
            else:
                model.fit(table(), checkpoint=path)
    assert seen == [5, 6]
    assert result(model) == bits


def test_models_that_saw_a_cluster_are_saved_like_any_other(client, tmp_path):
    model = Corex(3, **FAST).fit(da.from_array(table(), chunks=(90_000, 12)))
    model.save(tmp_path / "model.hicorex")
    again = hicorex.load(tmp_path / "model.hicorex")
    np.testing.assert_array_equal(again.transform(table()[:1000]), model.transform(table()[:1000]))
