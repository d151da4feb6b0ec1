"""One table, written to files of every kind, and ranges of its rows."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import feather, ipc
from pyarrow import parquet as pq


def make_table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    text = rng.choice(["red", "green", "blue"], n)
    return pa.table(
        {
            "x": rng.normal(size=n),
            "small": rng.integers(0, 100, n).astype("i2"),
            "flag": rng.random(n) < 0.5,
            "text": pa.array([None if t == "red" else t * 3 for t in text]),
            "colour": pa.array(text).dictionary_encode(),
        }
    )


def as_parquet(table, path):
    pq.write_table(table, path, row_group_size=130)
    return path


def as_open_parquet(table, path):
    return pq.ParquetFile(as_parquet(table, path))


def as_feather(table, path):
    feather.write_feather(table, path, chunksize=90, compression="lz4")
    return str(path)


def as_arrow(table, path):
    with pa.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=75)
    return path


def as_folder(table, path):
    (path / "k=2" / "deep").mkdir(parents=True)
    (path / "k=1").mkdir()
    places = ["k=1/a.parquet", "k=1/b.pq", "k=2/a.PARQ", "k=2/deep/z.parquet"]
    for at, place in enumerate(places):
        pq.write_table(table.slice(at * 250, 250), path / place, row_group_size=100)
    for name in ("_SUCCESS", "_metadata", "_common_metadata", ".hidden.parquet", "notes.txt", "_temporary.parquet"):
        (path / name).write_bytes(b"nothing")
    (path / "_temporary").mkdir()
    (path / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    return path


def as_dataset(table, path):
    path.mkdir()
    for at in range(4):
        pq.write_table(table.slice(at * 250, 250), path / f"{at}.parquet", row_group_size=100)
    return ds.dataset(path)


def as_feather_dataset(table, path):
    path.mkdir()
    for at in range(4):
        feather.write_feather(table.slice(at * 250, 250).combine_chunks(), path / f"{at}.feather")
    return ds.dataset(path, format="feather")


TABLES = [as_parquet, as_open_parquet, as_feather, as_arrow, as_folder, as_dataset, as_feather_dataset]
tables = pytest.mark.parametrize("write", TABLES)


def ranges(n, count=25, seed=1):
    rng = np.random.default_rng(seed)
    return [(0, n), (0, 0), (n, n), (0, 1), (n - 1, n), *(sorted(rng.integers(0, n + 1, 2)) for _ in range(count))]


def as_array(table, path):
    np.save(path.with_suffix(".npy"), np.arange(3000.0).reshape(1000, 3))
    return path.with_suffix(".npy")


def as_mapping(table, path):
    return np.load(as_array(table, path), mmap_mode="r")


def files_below(folder):
    """The files that hold the table."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".txt"]
    return sorted(path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts))


FILES = [as_array, as_mapping, as_parquet, as_feather, as_folder, as_dataset, as_feather_dataset]
files = pytest.mark.parametrize("write", FILES)
