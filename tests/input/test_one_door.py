"""The same cells give the same bits, whichever way they come in: in a fit and as new samples."""

import warnings
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather
from scipy.sparse import csr_array
from sklearn import config_context

from hicorex import Corex, HierarchicalCorex, load
from hicorex.datasets import make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.marginals.base import join

SETTINGS = {"n_states": 2, "n_init": 2, "max_iter": 8, "random_state": 0}
N_ROWS, N_NEW, N_COLUMNS = 1500, 700, 9
pytestmark = pytest.mark.filterwarnings("ignore:The objective still grew")


def bits():
    X, _ = make_latent_tree(N_ROWS + N_NEW, N_COLUMNS, 3, root_flip=0.2, random_state=0)
    return X.astype(np.int8)


def numbers():
    """Floats, of which two columns lack values; one of these does so among the new samples alone."""
    rng = np.random.default_rng(0)
    table = bits() + 0.4 * rng.standard_normal((N_ROWS + N_NEW, N_COLUMNS))
    table[rng.random(len(table)) < 0.1, 3] = np.nan
    table[N_ROWS + 50, 5] = np.nan
    return table


def answers():
    """Numbers from 0 to 4 that are read in their order, of which some are missing."""
    rng = np.random.default_rng(0)
    table = (2 * bits() + rng.integers(3, size=(N_ROWS + N_NEW, N_COLUMNS))).astype(float)
    table[rng.random(len(table)) < 0.1, 3] = np.nan
    return table


TABLES = {"bits": bits, "numbers": numbers, "answers": answers}
MARGINALS = {"answers": ["ordered"] * 5 + ["categorical"] * 2 + ["gaussian", "ordered"]}


def frame(table):
    return pd.DataFrame(table, columns=[f"x{i}" for i in range(table.shape[1])])


def arrow(table):
    return pa.Table.from_pandas(frame(table), preserve_index=False)


def saved(table, path):
    np.save(path / "x.npy", table)
    return path / "x.npy"


def parquet(table, path):
    pq.write_table(arrow(table), path / "x.parquet", row_group_size=400)
    return path / "x.parquet"


def folder(table, path):
    (path / "folder").mkdir()
    for at, first in enumerate(range(0, len(table), 600)):
        pq.write_table(arrow(table[first : first + 600]), path / "folder" / f"{at}.parquet")
    return path / "folder"


def feathered(table, path):
    feather.write_feather(arrow(table), path / "x.feather", chunksize=300)
    return path / "x.feather"


# How a table of numbers comes in, by a function of it and a folder to write to.
WAYS = {
    "array by column": lambda table, _: np.asfortranarray(table),
    "view": lambda table, _: np.hstack([table, table])[:, : table.shape[1]],
    "lists": lambda table, _: table.tolist(),
    "pandas": lambda table, _: frame(table),
    "polars": lambda table, _: pl.DataFrame(arrow(table)),
    "arrow": lambda table, _: arrow(table),
    "memory map": lambda table, path: np.load(saved(table, path), mmap_mode="r"),
    "npy": saved,
    "parquet": parquet,
    "open parquet": lambda table, path: pq.ParquetFile(parquet(table, path)),
    "folder": folder,
    "dataset": lambda table, path: ds.dataset(folder(table, path)),
    "feather": feathered,
    "dask array": lambda table, _: da.from_array(table, chunks=(330, 4)),
    "dask frame": lambda table, _: dd.from_pandas(frame(table), npartitions=5),
}


def unnamed(bounds):
    """Bounds without the name of the column for which there is no upper one: arrays have numbers, frames names."""
    return replace(bounds, no_upper=None)


def assert_same_models(one, other):
    for a, b in zip(one.layers_, other.layers_, strict=True):
        assert_array_equal(a.alpha_, b.alpha_)
        assert_array_equal(a.mutual_information_, b.mutual_information_)
        assert_array_equal(a.history_, b.history_)
    assert unnamed(one.bounds_) == unnamed(other.bounds_)


@pytest.fixture(params=["in memory", "in a scratch file"])
def room(request):
    """Whether the samples fit into the working memory."""
    with config_context(working_memory=1024 if request.param == "in memory" else 1e-3):
        yield request.param


@pytest.fixture(autouse=True)
def no_threads_of_dask():
    """Dask keeps those that it has started."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module", params=TABLES)
def known(request):
    """A table, a hierarchy that was fitted to its first rows as an array, and what that says of the others."""
    table = TABLES[request.param]()
    new = table[N_ROWS:]
    model = HierarchicalCorex((3, 1), marginals=MARGINALS.get(request.param, "auto"), **SETTINGS).fit(table[:N_ROWS])
    return table, model, (model.transform(new), model.log_z(new), model.bounds(new))


@pytest.mark.parametrize("way", WAYS)
def test_any_way_gives_the_bits_of_an_array(way, room, known, tmp_path):
    table, model, (states, log_z, bounds) = known
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    X, new = WAYS[way](table[:N_ROWS], tmp_path / "old"), WAYS[way](table[N_ROWS:], tmp_path / "new")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.filterwarnings("ignore", "X has feature names")
        fitted = HierarchicalCorex((3, 1), marginals=model.marginals, **SETTINGS).fit(X)
        assert_same_models(fitted, model)
        for own in (fitted, model):
            assert_array_equal(own.transform(new), states)
            assert_array_equal(own.log_z(new), log_z)
            assert unnamed(own.bounds(new)) == unnamed(bounds)


@pytest.mark.parametrize("way", ["csc", "coo with doubles", "dask"])
def test_any_sparse_way_gives_the_bits_of_rows(way):
    table = csr_array(bits() * (np.random.default_rng(0).random((N_ROWS + N_NEW, N_COLUMNS)) < 0.3))
    old, new = table[:N_ROWS], table[N_ROWS:]

    def coming(rows):
        if way == "csc":
            return rows.tocsc()
        if way == "dask":
            return da.from_array(rows.toarray(), chunks=(330, N_COLUMNS)).map_blocks(
                csr_array, dtype=np.int8, meta=csr_array((0, 0), dtype=np.int8)
            )
        cells = rows.tocoo()
        return type(cells)((np.append(cells.data, [0]), np.append(cells.coords, [[0], [0]], axis=1)), rows.shape)

    one, other = (Corex(2, **SETTINGS).fit(X) for X in (old, coming(old)))
    assert_array_equal(one.alpha_, other.alpha_)
    assert one.bounds_ == other.bounds_
    assert_array_equal(one.log_z(new), other.log_z(coming(new)))
    assert one.bounds(new) == other.bounds(coming(new))


def test_sparse_cells_have_the_codes_of_dense_ones():
    table = np.random.default_rng(0).poisson(0.3, (500, 6))
    table[:, 4] += 1  # no cell holds 0
    with LocalEngine(1) as engine:
        dense, sparse = (Encoder.learn(source_of(X), "auto", None, engine) for X in (table, csr_array(table)))
        assert [own.tolist() for own in dense.categories.values()] == [
            own.tolist() for own in sparse.categories.values()
        ]
        codes = []
        for encoder, X in ((dense, table), (sparse, csr_array(table))):
            data, unseen = encoder.encode(source_of(X), None, engine)
            assert not unseen
            columns = [
                list(block.codes_of(join([part.samples[b] for part in data.parts])))
                for b, block in enumerate(data.blocks)
            ]
            codes.append(
                {
                    int(i): own
                    for part, of in zip(data.columns, columns, strict=True)
                    for i, own in zip(part, of, strict=True)
                }
            )
    for i in range(table.shape[1]):
        assert_array_equal(codes[0][i], codes[1][i])


def test_columns_that_lack_values_in_one_part_alone_lack_them_in_all(tmp_path, monkeypatch):
    """Parts are encoded one by one; that a column lacks values may be seen in the last."""
    monkeypatch.setattr("hicorex.layer.data.TILE_CELLS", 1)
    rng = np.random.default_rng(0)
    table = rng.standard_normal((1, 6)).repeat(20_000, axis=0) + rng.standard_normal((20_000, 6))
    table[-1, 2] = np.nan
    path = saved(table, tmp_path)
    model = Corex(2, **SETTINGS).fit(table)
    with LocalEngine(1) as engine:
        encoder = model.fitted_.layers[0].encoder
        for working_memory in (1024, 1):
            with config_context(working_memory=working_memory):
                known, _ = encoder.encode(source_of(path), None, engine, gaps=encoder.gaps)
                seen, _ = encoder.encode(source_of(path), None, engine)
            assert len(seen.parts) > 2
            assert_array_equal(seen.blocks[0].gaps, [2])
            for a, b in zip(known.parts, seen.parts, strict=True):
                assert_array_equal(a.samples[0].values, b.samples[0].values)
                assert_array_equal(a.samples[0].present, b.samples[0].present)


def sparse_bits():
    return csr_array(bits() * (np.random.default_rng(0).random((N_ROWS + N_NEW, N_COLUMNS)) < 0.3))


@pytest.mark.parametrize("kind", ["bits", "numbers", "rank", "many numbers", "sparse", "words"])
def test_bounds_of_the_samples_of_the_fit_are_those_of_the_fit(kind, room, tmp_path):
    """Whether they are given in memory or on disk, to the model or to what a file holds of it."""
    settings = SETTINGS | {"marginals": "rank"} if kind == "rank" else SETTINGS
    if kind == "many numbers":  # in single precision
        table = np.tile(numbers(), (8, 1))
    elif kind == "words":
        table = frame(bits()).replace({0: "no", 1: "yes"})
    else:
        table = sparse_bits() if kind == "sparse" else TABLES.get(kind, numbers)()
    ways = [table]
    if kind == "words":
        pa_table = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(pa_table, tmp_path / "x.parquet")
        ways += [tmp_path / "x.parquet", pa_table]
    elif kind != "sparse":
        ways += [saved(table, tmp_path), da.from_array(table, chunks=(500, 5))]
    for estimator in (Corex(3, **settings), HierarchicalCorex((3, 1), **settings)):
        model = estimator.fit(table)
        model.save(tmp_path / "model")
        for own in (model, load(tmp_path / "model")):
            for X in ways:
                assert own.bounds(X) == model.bounds() == model.bounds_
        others = model.bounds(table[:-1])
        assert others.n_samples == model.bounds_.n_samples - 1
        assert others.lower != model.bounds_.lower


def test_other_samples_are_not_taken_for_those_of_the_fit():
    table = numbers()
    model = HierarchicalCorex((3, 1), **SETTINGS).fit(table)
    other = table.copy()
    other[7, 1] += 1e-9
    assert model.bounds(other) != model.bounds_
