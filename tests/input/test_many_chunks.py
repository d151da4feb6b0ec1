"""Tables of thousands of chunks: the bits of a table in memory, and few tasks."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clusters import cloudpickle, counted, dask, no_hang, ready_to_fork  # noqa: F401

from hicorex import Corex
from hicorex.exceptions import HicorexError
from hicorex.input.sources import bundles, collection

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
Delayed = pytest.importorskip("dask.delayed").Delayed

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS, COLUMNS = 6000, 6
FAST = {"n_states": 2, "n_init": 1, "max_iter": 4, "tol": 0.0, "random_state": 0}


@pytest.fixture(autouse=True)
def quiet():
    """Four iterations settle nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, 2))[:, np.arange(COLUMNS) % 2] + rng.normal(size=(ROWS, COLUMNS))


def frame():
    return pd.DataFrame(table(), columns=list("abcdef")).assign(f=lambda own: own["f"] > 0)


def counts():
    return sp.csr_array((table() > 1).astype(np.int8))


def from_tasks(height):
    """Chunks that the workers cut from one array."""
    whole = dask.delayed(table(), pure=True)
    rows = [dask.delayed(cut, pure=False)(whole, first, height) for first in range(0, ROWS, height)]
    return da.concatenate([da.from_delayed(chunk, (height, COLUMNS), float) for chunk in rows])


def cut(whole, first, height):
    return whole[first : first + height]


def sparse_chunks(height):
    return da.from_array(counts().toarray(), chunks=(height, COLUMNS)).map_blocks(
        sp.csr_array, meta=sp.csr_array((0, 0), dtype=np.int8)
    )


def of_unknown_length(height):
    X = da.from_array(table(), chunks=(height, COLUMNS))
    return X[X[:, 0] > -10]


def from_rows(height):
    """Partitions that the workers make of one frame, each by a call."""
    whole = frame()
    firsts = range(0, ROWS, height)
    return dd.from_map(cut, [whole[first : first + height] for first in firsts], first=0, height=height)


KINDS = {
    "array": (table, lambda height: da.from_array(table(), chunks=(height, COLUMNS))),
    "also along columns": (table, lambda height: da.from_array(table(), chunks=(3 * height, 2))),
    "along columns above all": (lambda: table().T, lambda height: da.from_array(table().T, chunks=(3, height))),
    "tasks": (table, from_tasks),
    "persisted": (table, lambda height: da.from_array(table(), chunks=(height, COLUMNS)).persist()),
    "made from persisted": (
        lambda: table() + 1,
        lambda height: da.from_array(table(), chunks=(height, COLUMNS)).persist() + 1,
    ),
    "unknown": (table, of_unknown_length),
    "sparse": (counts, sparse_chunks),
    "frame": (frame, lambda height: dd.from_pandas(frame(), npartitions=ROWS // height)),
    "frame, rows alike": (frame, lambda height: dd.from_pandas(frame(), npartitions=ROWS // height).query("a > -100")),
    "frame by calls": (frame, from_rows),
}


@pytest.mark.parametrize("kind", KINDS)
def test_many_chunks_give_the_bits_of_a_table_in_memory_by_few_tasks(client, kind):
    make, of_height = KINDS[kind]
    here = Corex(2, **FAST).fit(make())
    X = of_height(4)
    n_chunks = X.npartitions
    assert n_chunks >= 1500
    with counted(client) as sizes:
        there = Corex(2, **FAST).fit(X)
    assert there.tc_ == here.tc_
    assert there.alpha_.tobytes() == here.alpha_.tobytes()
    assert there.history_.tobytes() == here.history_.tobytes()
    held = n_chunks if "persisted" in kind else 0
    # Those that read the rows, beside parts, sums and functions
    assert max(sizes) <= held + 1.1 * collection.MOST_TASKS
    assert sum(size for size in sizes if size > 100) <= 3 * (held + 1.1 * collection.MOST_TASKS)
    del X


@pytest.mark.parametrize(("kind", "most"), [("frame", 2 * collection.MOST_TASKS), ("frame by calls", 3000)])
def test_the_graph_of_a_frame_is_made_to_count_and_to_read(client, monkeypatch, kind, most):
    X = KINDS[kind][1](4)
    whole = dd.DataFrame.__dask_graph__
    sizes = []

    def made(self):
        graph = whole(self)
        sizes.append(len(graph))
        return graph

    monkeypatch.setattr(dd.DataFrame, "__dask_graph__", made)
    Corex(2, **FAST).fit(X)
    assert 0 < sum(sizes) <= most


def test_what_is_made_of_many_partitions_has_their_rows(client):
    X = KINDS["frame"][1](20)
    model = Corex(2, **FAST).fit(X)
    labels = model.transform(X)
    assert labels.numblocks[0] == X.npartitions
    assert labels.compute().tobytes() == model.transform(frame()).tobytes()


def test_a_wrong_chunk_among_many_is_named(client):
    def spoilt(rows, block_info=None):
        return rows.astype(np.float32) if block_info[0]["chunk-location"] == (1234, 0) else rows

    X = da.from_array(table(), chunks=(4, COLUMNS)).map_blocks(spoilt, dtype=float)
    with pytest.raises(HicorexError, match=r"Chunk \(1234, 0\) .* is of type float32, and is declared"):
        Corex(2, **FAST).fit(X)
    other = frame().astype({"f": int})
    parts = [dask.delayed(other if at == 77 else frame())[4 * at : 4 * at + 4] for at in range(300)]
    X = dd.from_delayed(parts, meta=frame().iloc[:0], verify_meta=False)
    with pytest.raises(HicorexError, match=r"Partition 77 .* has column 'f' as int64"):
        Corex(2, **FAST).fit(X)


@pytest.mark.parametrize(
    ("sizes", "most"), [([1] * 10, 3), ([0] * 10, 3), ([100, 1, 1, 1, 1, 1], 3), ([1], 1), ([5] * 4, 9)]
)
def test_groups_are_few_consecutive_and_even(sizes, most):
    groups = bundles.even_groups(sizes, most)
    assert [at for group in groups for at in range(group.start, group.stop)] == list(range(len(sizes)))
    assert len(groups) <= most
    longest = max(group.stop - group.start for group in groups)
    assert longest <= 2 * -(-len(sizes) // most) + 1
    assert len(groups) == len(sizes) or len(sizes) > most


def test_what_groups_share_is_computed_once_and_the_rest_within_them(tmp_path):
    def traced(name, *values):
        with (tmp_path / name).open("a") as file:
            file.write(".")
        return sum(values) + 1

    shared = dask.delayed(traced, pure=False)("shared")
    twice = [dask.delayed(traced, pure=False)(f"twice {at}", shared) for at in range(4)]
    ends = [dask.delayed(traced, pure=False)(f"end {at}", one, shared, one) for at, one in enumerate(twice)]
    whole = dask.delayed(list)(ends)
    tasks = [Delayed(end.key, whole.dask) for end in ends]
    groups = [bundles.Group(tasks[at : at + 2], [(10,), (20,)], tuple) for at in (0, 2)]
    found = bundles.bundled(groups, lambda value, more: value + more)
    assert dask.compute(*found, scheduler="sync") == ((16, 26), (16, 26))
    names = {"shared", *(f"twice {at}" for at in range(4)), *(f"end {at}" for at in range(4))}
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(names, ".")
    assert len(found[0].dask.cull({one.key for one in found})) == 3
