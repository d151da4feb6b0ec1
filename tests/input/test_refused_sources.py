"""What is no table on disk is refused when it is opened, with a remedy."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from disk_tables import (
    as_arrow,
    as_feather,
    as_folder,
    as_open_parquet,
    as_parquet,
    make_table,
)
from pyarrow import feather, fs

from hicorex import HicorexError
from hicorex.input.sources import source_of


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, [("a", "f8")]), "holds records; save an array of numbers"),
        (np.array([[None]]), "holds Python objects; save an array of numbers"),
        (np.zeros((2, 2), "c16"), "holds values of type complex128; save an array"),
        (np.zeros((2, 2), "M8[s]"), r"holds values of type datetime64\[s\]; save an array"),
        (np.zeros(4), "holds a vector; save an array of two dimensions"),
        (np.zeros((2, 2, 2)), "holds an array of 3 dimensions; save"),
        (np.zeros((0, 2)), "has no rows; give a table with some"),
        (np.zeros((2, 0)), "has no columns; give a table with some"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(HicorexError, match=rf"a\.npy {message}"):
        source_of(tmp_path / "a.npy")


def test_records_that_are_mapped_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3, [("a", "f8")]))
    with pytest.raises(HicorexError, match=r"a\.npy holds records"):
        source_of(np.load(tmp_path / "a.npy", mmap_mode="r"))


def test_other_files_are_refused_with_a_remedy(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(HicorexError, match=r"a\.csv is no file of which some rows .* by pyarrow\.dataset\.") as error:
        source_of(tmp_path / "a.csv")
    line = str(error.value).split("convert it by ")[1].split(" and give")[0]
    subprocess.run([sys.executable, "-c", f"import pyarrow.dataset; {line}"], cwd=tmp_path, check=True)
    assert source_of(tmp_path / "table").read(0, 2).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    np.savez(tmp_path / "a.npz", a=np.eye(3))
    with pytest.raises(HicorexError, match=r"a\.npz is no file of which some rows .* by scipy\.sparse\.load_npz or"):
        source_of(tmp_path / "a.npz")
    with pytest.raises(HicorexError, match=r"b\.npy is not there; check its name"):
        source_of(str(tmp_path / "b.npy"))
    for name in ("b.parquet", "b.npy", "b.feather"):
        (tmp_path / name).write_bytes(b"garbage and more of it")
        with pytest.raises(HicorexError, match=rf"{name} is broken; make or fetch it again"):
            source_of(tmp_path / name)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(HicorexError, match=rf"{name} is empty; make or fetch"):
            source_of(tmp_path / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of pyarrow, in later versions
        feather.write_feather(pa.table({"a": [1]}), tmp_path / "old.feather", version=1)
    with pytest.raises(HicorexError, match="read it into memory first"):
        source_of(tmp_path / "old.feather")


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_arrow])
def test_truncated_files_are_refused(tmp_path, write):
    path = Path(write(make_table(), tmp_path / "a.bin"))
    whole = path.read_bytes()
    for length in (8, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(HicorexError, match=r"a\.bin is broken; make or fetch it again"):
            source_of(path)


def test_truncated_arrays_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((30, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    for length in (9, 60, len(whole) - 1):
        (tmp_path / "a.npy").write_bytes(whole[:length])
        with pytest.raises(HicorexError, match=r"a\.npy is broken; make or fetch it again"):
            source_of(tmp_path / "a.npy")


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_folder])
def test_tables_without_rows_or_columns_are_refused(tmp_path, write):
    with pytest.raises(HicorexError, match=r"a has no rows; give a table with some"):
        source_of(write(make_table(0), tmp_path / "a"))
    with pytest.raises(HicorexError, match=r"b has no columns; give a table with some"):
        source_of(write(pa.table({}), tmp_path / "b"))


def test_folders_and_datasets_of_nothing_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.csv").write_text("a\n1\n")
    with pytest.raises(HicorexError, match=r"a holds no Parquet file, \*\.parquet, .*; give a folder"):
        source_of(tmp_path / "a")
    with pytest.raises(HicorexError, match="has no files"):
        source_of(ds.FileSystemDataset([], pa.schema({"a": pa.int8()}), ds.ParquetFileFormat(), fs.LocalFileSystem()))


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["b", "a", "a"])
    for write in (as_parquet, as_feather, as_open_parquet):
        with pytest.raises(HicorexError, match="has two columns of the name 'a'; rename one of them"):
            source_of(write(table, tmp_path / "a.parquet"))
    as_parquet(table, tmp_path / "b.parquet")
    with pytest.raises(HicorexError, match=r"b\.parquet has two columns of the name 'a'"):
        source_of(ds.dataset(tmp_path / "b.parquet", schema=pa.schema({"b": pa.int64()})))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read_is_refused(tmp_path):
    path = as_parquet(make_table(), tmp_path / "a.parquet")
    path.chmod(0)
    with pytest.raises(HicorexError, match=r"a\.parquet may not be read; change its permissions"):
        source_of(path)
