"""Rows of Dask arrays and data frames, part by part."""

import sys

import numpy as np
import pandas as pd
import pytest
from clusters import (  # noqa: F401
    cloudpickle,
    dask,
    no_hang,
    ready_to_fork,
)

from hicorex.engine.cluster import ClusterEngine
from hicorex.exceptions import HicorexError
from hicorex.input.sources.collection import checked, column_names, row_count, row_lengths, row_parts

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


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
        parts = engine.hold(lambda rows: rows, row_parts(checked(X, row_lengths(X, engine)), BOUNDARIES))
        for i, own in enumerate(engine.each(lambda rows: rows, parts)):
            assert type(own) is np.ndarray
            np.testing.assert_array_equal(own, table[BOUNDARIES[i] : BOUNDARIES[i + 1]])
        assert len(parts) == len(BOUNDARIES) - 1
        (some,) = engine.each(lambda rows: rows, row_parts(checked(X, row_lengths(X)), [5, 45]))
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
        parts = engine.hold(lambda rows: rows, row_parts(checked(X, lengths), boundaries))
        for i, own in enumerate(engine.each(lambda rows: rows, parts)):
            pd.testing.assert_frame_equal(own, frame.iloc[boundaries[i] : boundaries[i + 1]])
        (some,) = dask.compute(*row_parts(checked(X, row_lengths(X)), [5, 45]))
        pd.testing.assert_frame_equal(some, frame.iloc[5:45])
        with pytest.raises(HicorexError, match="0 to 104 are not those of 103 rows"):
            row_parts(checked(X, lengths), [0, 104])


def test_columns_of_unknown_number_are_said(client, table):
    da = pytest.importorskip("dask.array")
    X = da.from_array(table, chunks=(30, 4))
    with pytest.raises(HicorexError, match="compute_chunk_sizes"):
        checked(X[:, X[0] > 0], [30, 30, 30, 13])


def test_partitions_are_counted_as_they_are_read(tmp_path, client):
    dd = pytest.importorskip("dask.dataframe")
    for i in range(4):
        pd.DataFrame(np.full((10 + i, 6), i), columns=list("abcdef")).to_parquet(tmp_path / f"{i}.parquet")
    # Dask reads one column of two files as one partition.
    X = dd.read_parquet(tmp_path).reset_index(drop=True)
    with ClusterEngine(client) as engine:
        assert row_lengths(X, engine) == [10, 11, 12, 13]
        parts = row_parts(checked(X, row_lengths(X, engine)), [0, 21, 46])
        assert [rows["f"].unique().tolist() for rows in engine.each(lambda rows: rows, parts)] == [[0, 1], [2, 3]]
