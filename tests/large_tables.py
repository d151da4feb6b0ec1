"""Tables of every kind of column in several files, and what is to be the same of two models of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import hicorex

N_ROWS = 3000


def table_of(n_rows=N_ROWS, seed=0):
    """Columns of every kind, with gaps and markers."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 2))
    columns = {"name": [f"row {i}" for i in range(n_rows)]}
    for i in range(6):
        columns[f"x{i}"] = (hidden[:, i % 2] + rng.normal(size=n_rows)).astype(np.float32 if i == 1 else float)
    columns["x2"][::11] = -999
    table = pd.DataFrame(columns)
    table["word"] = np.where(hidden[:, 0] > 0, " red", "blue")
    table.loc[::7, "word"] = None
    table["level"] = pd.array(np.digitize(hidden[:, 1], [-1, 0, 1]), "Int32")
    table.loc[::13, "level"] = pd.NA
    table["yes"] = hidden[:, 0] + rng.normal(size=n_rows) > 0
    table["sort"] = pd.Categorical(np.where(hidden[:, 1] > 0.3, "a", "b"))
    table["same"] = 1
    table["w"] = rng.integers(0, 3, n_rows)
    return pa.Table.from_pandas(table, preserve_index=False)


def write_parts(table, path, n_parts=3, rows=400):
    path.mkdir(exist_ok=True)
    height = -(-table.num_rows // n_parts)
    for k in range(n_parts):
        parquet.write_table(table.slice(k * height, height), path / f"part{k}.parquet", row_group_size=rows)


FIT = ("--layers", "3,1", "--starts", "2", "--max-iter", "20")
OPTIONS = ("--missing", "-999", "--weights", "w", "--kinds", "x3=rank")


def same_model(a, b):
    one, other = (hicorex.load(name) for name in (a, b))
    assert one.tc_ == other.tc_
    assert one.bounds_.lower == other.bounds_.lower
    assert one.fitted_.expected() == other.fitted_.expected()
    for x, y in zip(one.layers_, other.layers_, strict=True):
        np.testing.assert_array_equal(x.alpha_, y.alpha_)
        np.testing.assert_array_equal(x.clusters_, y.clusters_)
