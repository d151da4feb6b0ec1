"""Tables on disk are read some rows at a time, as they are, or not at all."""

import os
import pickle
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather, fs, ipc
from pyarrow import parquet as pq

import hicorex.input.sources.arrays
from hicorex import Corex, HicorexError
from hicorex.input.sources import disk_source, source_of
from hicorex.input.sources.datasets import Fragment
from hicorex.input.sources.formats import Feather

FOLDER = Path("/proc/self/fd")


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


@tables
def test_any_rows_of_a_table_are_those_that_were_written(tmp_path, write):
    table = make_table()
    with source_of(write(table, tmp_path / "a")) as source:
        assert source.shape == (1000, 5)
        assert source.names == ["x", "small", "flag", "text", "colour"]
        for first, stop in ranges(1000):
            got = source.read(int(first), int(stop))
            assert got.equals(table.slice(first, stop - first)), (first, stop)
        for first, stop in ((-1, 3), (4, 3), (999, 1001)):
            with pytest.raises(IndexError):
                source.read(first, stop)


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i2", "?", "U3", "S5", ">u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_rows_of_an_array_are_those_that_were_saved(tmp_path, dtype, order):
    array = np.random.default_rng(0).integers(0, 200, (300, 17)).astype(dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    for given in (tmp_path / "a.npy", np.load(tmp_path / "a.npy", mmap_mode="r")):
        source = source_of(given)
        assert source.shape == (300, 17)
        assert source.names is None
        assert source.n_bytes() == array.nbytes
        for first, stop in ranges(300):
            got = source.read(int(first), int(stop))
            assert type(got) is np.ndarray
            assert got.dtype.isnative
            assert got.flags.writeable
            assert_array_equal(got, array[first:stop])


VIEWS = {
    "rows": lambda x: x[13:400],
    "every third row": lambda x: x[5::3],
    "few rows": lambda x: x[::40],
    "columns": lambda x: x[:, 2:11],
    "one column": lambda x: x[:, 7:8],
    "few columns": lambda x: x[:, ::9],
    "every second": lambda x: x[1::2, ::2],
    "turned": lambda x: x.T[3:, 5:300],
    "upside down": lambda x: x[::-1],
    "from the right": lambda x: x[::7, ::-3],
    "both": lambda x: x.T[::-1, ::-2],
    "one row": lambda x: x[9:10],
    "of another type": lambda x: x.view("u2")[:50] if x.flags.c_contiguous else x,
    "view of a view": lambda x: x[10:][::2][:, 3:][5:, 1:4],
    "the same row": lambda x: np.broadcast_to(x[4:5], (30, x.shape[1]), subok=True),
    "of more axes": lambda x: x.T.reshape(4, 5, -1)[2] if x.flags.f_contiguous else x,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0, 24, 5000])
def test_views_of_a_mapping_are_read_from_the_file(tmp_path, view, order, offset):
    array = np.random.default_rng(0).normal(size=(500, 20))
    with open(tmp_path / "a.bin", "wb") as file:
        file.write(bytes(offset) + array.tobytes(order))
    mapped = VIEWS[view](np.memmap(tmp_path / "a.bin", "f8", "r", offset, array.shape, order))
    source = source_of(mapped)
    assert source.shape == mapped.shape
    for first, stop in ranges(len(mapped), 10):
        assert_array_equal(source.read(int(first), int(stop)), mapped[first:stop])


def test_what_is_in_memory_is_on_no_disk(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 3)))
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[0] = 7  # not in the file
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    table = pa.table({"a": [1]})
    for X in (np.ones((2, 2)), mapped + 1, mapped[[0, 1]], mapped.copy(), mapped[0], private, private[1:]):
        assert disk_source(X) is None
    for X in (table, table.to_pandas(), [[1, 2]], None, 3, table.schema):
        assert disk_source(X) is None


def test_what_was_written_through_a_mapping_is_read(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 3)))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r+")
    mapped[1] = 5
    assert_array_equal(source_of(mapped).read(0, 3), mapped)


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


def test_files_of_a_folder_come_in_the_order_of_other_readers(tmp_path):
    for at, name in enumerate(["part.10", "part.2", "a/b", "a-1/b", "b"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"a": [at]}), tmp_path / f"{name}.parquet")
    assert source_of(tmp_path).read(0, 5) == ds.dataset(tmp_path).to_table()


def write_two(folder, first, second):
    folder.mkdir()
    pq.write_table(first if isinstance(first, pa.Table) else pa.table(first), folder / "1.parquet")
    pq.write_table(second if isinstance(second, pa.Table) else pa.table(second), folder / "2.parquet")
    return folder


both = pytest.mark.parametrize("given", [lambda path: path, lambda path: ds.dataset(path)], ids=["folder", "dataset"])


@both
def test_columns_may_be_in_another_order(tmp_path, given):
    path = write_two(tmp_path / "a", {"x": [1], "y": ["a"]}, {"y": ["b"], "x": [2]})
    assert source_of(given(path)).read(0, 2).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}


TYPES = [
    (pa.int32(), pa.int64(), pa.int64()),
    (pa.int8(), pa.uint8(), pa.int16()),
    (pa.float32(), pa.float64(), pa.float64()),
    (pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.string()),
    (pa.string(), pa.large_string(), pa.large_string()),
    (pa.null(), pa.string(), pa.string()),
    (pa.null(), pa.float32(), pa.float32()),
    (pa.null(), pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.string())),
]


@both
@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("types", TYPES, ids=str)
def test_types_become_the_wider_one(tmp_path, given, types, turn):
    values = {"null": [None, None]}
    parts = [
        pa.table(
            {
                "k": [1, 2],
                "a": pa.array(values.get(str(kind), [7, None] if "string" not in str(kind) else ["b", None]), kind),
            }
        )
        for kind in types[:2][::turn]
    ]
    source = source_of(given(write_two(tmp_path / "a", *parts)))
    got = source.read(0, 4)
    assert got.schema.field("a").type == types[2]
    assert got["a"].to_pylist() == [*parts[0]["a"].to_pylist(), *parts[1]["a"].to_pylist()]
    assert source.read(3, 4).schema == got.schema


@both
@pytest.mark.parametrize("turn", [1, -1])
def test_column_without_a_value_takes_the_type_of_the_others(tmp_path, given, turn):
    parts = [{"a": pa.array([None, None], pa.float64())}, {"a": ["u", "v"]}][::turn]
    source = source_of(given(write_two(tmp_path / "a", *parts)))
    assert sorted(source.read(0, 4)["a"].to_pylist(), key=str) == [None, None, "u", "v"]
    parts = [{"a": pa.array([], pa.float64())}, {"a": ["u", "v"]}][::turn]
    assert source_of(given(write_two(tmp_path / "b", *parts))).read(0, 2).to_pydict() == {"a": ["u", "v"]}


@both
@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1]}, "has no column 'y', which .*1.parquet has; write it again with that column"),
        ({"x": [1], "y": ["a"], "z": [1]}, "has a column 'z' that .*1.parquet has not; write it again without"),
        ({"y": [2], "x": [1]}, "has column 'y' as int64, the files before as string; write it again with string"),
        ({"y": ["a"], "x": [0.5]}, "has column 'x' as double, the files before as int64; write it again with int64"),
        ({"x": pa.array([1], pa.uint64()), "y": ["a"]}, "has column 'x' as uint64, .* write it again with int64"),
    ],
)
def test_files_of_other_columns_are_refused_by_name(tmp_path, given, second, message):
    path = write_two(tmp_path / "a", {"x": [1], "y": ["a"]}, second)
    with pytest.raises(HicorexError, match=rf"2\.parquet {message}"):
        source_of(given(path))


@both
def test_broken_file_of_a_folder_is_named(tmp_path, given):
    path = write_two(tmp_path / "a", {"x": [1]}, {"x": [1]})
    dataset = given(path)
    (path / "2.parquet").write_bytes((path / "2.parquet").read_bytes()[:-20])
    with pytest.raises(HicorexError, match=r"2\.parquet is broken; make or fetch it again"):
        source_of(dataset)


def test_schemas_are_checked_by_the_footers_alone(tmp_path, monkeypatch):
    as_folder(make_table(), tmp_path / "a")
    dataset = as_dataset(make_table(), tmp_path / "b")
    for name in ("read", "read_row_group", "read_row_groups", "iter_batches"):
        monkeypatch.setattr(pq.ParquetFile, name, None)
    assert source_of(tmp_path / "a").shape == source_of(dataset).shape == (1000, 5)
    assert source_of(tmp_path / "a").n_bytes() > 0


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["b", "a", "a"])
    for write in (as_parquet, as_feather, as_open_parquet):
        with pytest.raises(HicorexError, match="has two columns of the name 'a'; rename one of them"):
            source_of(write(table, tmp_path / "a.parquet"))
    as_parquet(table, tmp_path / "b.parquet")
    with pytest.raises(HicorexError, match=r"b\.parquet has two columns of the name 'a'"):
        source_of(ds.dataset(tmp_path / "b.parquet", schema=pa.schema({"b": pa.int64()})))


def test_index_of_pandas_stays_a_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["u", "v"])
    frame.to_parquet(tmp_path / "a.parquet")
    source = source_of(tmp_path / "a.parquet")
    assert source.names == ["a", "__index_level_0__"]
    assert source.read(1, 2).to_pandas().equals(frame.iloc[1:])


def test_dataset_gives_its_own_columns(tmp_path):
    table = make_table(100).append_column("k", pa.array([1, 2] * 50))
    ds.write_dataset(
        table,
        tmp_path / "a",
        format="parquet",
        partitioning=ds.partitioning(pa.schema({"k": pa.int64()}), flavor="hive"),
    )
    whole = ds.dataset(tmp_path / "a", partitioning="hive")
    assert source_of(whole).read(10, 90).equals(whole.to_table().slice(10, 80).combine_chunks())
    assert source_of(tmp_path / "a").names == table.column_names[:-1]
    few = ds.dataset(tmp_path / "a", schema=pa.schema({"text": pa.string(), "x": pa.float64()}))
    assert source_of(few).read(10, 90) == few.to_table().slice(10, 80)
    with pytest.raises(HicorexError, match="has no column 'other', which the dataset has"):
        source_of(ds.dataset(tmp_path / "a", schema=pa.schema({"x": pa.float64(), "other": pa.string()})))
    with pytest.raises(HicorexError, match="A dataset with a filter has no rows of its own; write it by"):
        source_of(whole.filter(ds.field("x") > 0))


def test_datasets_of_text_of_memory_and_of_other_places(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,u\n2,v\n")
    (tmp_path / "b.csv").write_text("b,a\nw,3.5\n")
    text = ds.dataset(
        [tmp_path / "a.csv", tmp_path / "b.csv"], format="csv", schema=pa.schema({"a": "f8", "b": "string"})
    )
    assert source_of(text).read(1, 3).to_pydict() == {"a": [2.0, 3.5], "b": ["v", "w"]}
    guessed = source_of(ds.dataset([tmp_path / "a.csv", tmp_path / "b.csv"], format="csv"))
    with pytest.raises(HicorexError, match=r"b\.csv cannot be read: .*3\.5.*; make or fetch it again"):
        guessed.read(0, 3)
    assert source_of(ds.dataset(make_table())).read(3, 8).equals(make_table().slice(3, 5))
    as_parquet(make_table(), tmp_path / "c.parquet")
    place = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    elsewhere = source_of(ds.dataset("c.parquet", filesystem=place))
    assert elsewhere.read(3, 800).equals(make_table().slice(3, 797))
    (tmp_path / "c.parquet").unlink()
    with pytest.raises(HicorexError, match=r"c\.parquet is no longer there"):
        elsewhere.read(3, 4)


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


@files
def test_file_that_changes_is_noticed(tmp_path, write):
    given = write(make_table(), tmp_path / "a")
    source = source_of(given)
    source.read(0, 10)
    path = files_below(tmp_path)[0]
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1000))
    for first in (0, 10):  # also of what is decoded already
        with pytest.raises(HicorexError, match=rf"{path.name} has changed since it was opened, .*; start again"):
            source.read(first, 20)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # which does not hide it
    with pytest.raises(HicorexError, match=rf"{path.name} has changed since it was opened"):
        source.read(0, 10)
    source = source_of(given)
    source.read(0, 10)
    shutil.copy2(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)  # the same but for the inode
    with pytest.raises(HicorexError, match=rf"{path.name} has changed since it was opened"):
        source.read(0, 10)


@files
def test_file_that_is_deleted_is_noticed(tmp_path, write):
    source = source_of(write(make_table(), tmp_path / "a"))
    source.read(0, 10)
    path = files_below(tmp_path)[0]
    path.unlink()
    with pytest.raises(HicorexError, match=rf"{path.name} is no longer there; put it back and start again"):
        source.read(0, 10)


@files
def test_file_that_is_truncated_is_noticed(tmp_path, write):
    source = source_of(write(make_table(), tmp_path / "a"))
    path = files_below(tmp_path)[0]
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(HicorexError, match=rf"{path.name} has changed since it was opened"):
        source.read(0, 1000)


def test_change_in_the_middle_of_a_read_is_noticed(tmp_path, monkeypatch):
    table = source_of(as_parquet(make_table(), tmp_path / "a.parquet"))
    array = source_of(as_array(None, tmp_path / "a"))
    decode, fill = pq.ParquetFile.read_row_group, hicorex.input.sources.arrays._fill

    def late_decode(file, at):
        os.utime(tmp_path / "a.parquet", (at + 1, at + 1))
        return decode(file, at)

    def late_fill(file, *place):
        fill(file, *place)
        os.truncate(tmp_path / "a.npy", 100)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", late_decode)
    monkeypatch.setattr(hicorex.input.sources.arrays, "_fill", late_fill)
    for source, name in ((table, "a.parquet"), (array, "a.npy")):
        with pytest.raises(HicorexError, match=rf"{name} has changed since it was opened"):
            source.read(0, 500)


def test_file_replaced_after_it_was_mapped_is_noticed(tmp_path):
    mapped = as_mapping(None, tmp_path / "a")
    np.save(tmp_path / "b.npy", np.ones((5, 5)))
    os.replace(tmp_path / "b.npy", tmp_path / "a.npy")
    with pytest.raises(HicorexError, match=r"a\.npy has changed since it was mapped; load it again"):
        source_of(mapped)


def attempt(call, *given):
    """What a call gives, and what it says if it fails."""
    try:
        return call(*given), ""
    except HicorexError as error:
        return None, str(error)


@pytest.mark.parametrize("write", [as_parquet, as_feather, as_dataset, as_feather_dataset])
def test_broken_page_is_an_error_that_names_the_file(tmp_path, write):
    given = write(make_table(), tmp_path / "a")
    path = max(files_below(tmp_path))
    whole = path.read_bytes()
    late = 0
    for at in range(100, len(whole), len(whole) // 30):
        path.write_bytes(whole[:at] + bytes(b ^ 0xA5 for b in whole[at : at + 40]) + whole[at + 40 :])
        source, message = attempt(source_of, given)
        if source is None:
            assert f"{path.name} is broken; make or fetch it again." in message
            continue
        _, message = attempt(source.read, 0, 1000)
        assert not message or f"{path.name} cannot be read: " in message
        late += bool(message)
    assert late > 0


def test_what_is_whole_of_a_broken_file_can_be_read(tmp_path):
    path = as_parquet(make_table(), tmp_path / "a.parquet")
    data = bytearray(path.read_bytes())
    data[4:1500] = bytes(1496)
    path.write_bytes(data)
    source = source_of(path)
    with pytest.raises(HicorexError, match=r"a\.parquet cannot be read: .*; make or fetch it again\.$"):
        source.read(0, 10)
    assert source.read(990, 1000).equals(make_table().slice(990, 10))


def test_errors_of_the_disk_name_the_file(tmp_path, monkeypatch):
    def fail(*given):
        raise OSError(5, "Input/output error")

    array, table = (
        source_of(as_array(None, tmp_path / "a")),
        source_of(as_parquet(make_table(), tmp_path / "a.parquet")),
    )
    monkeypatch.setattr(hicorex.input.sources.arrays, "_fill", fail)
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", fail)
    for source, name in ((array, "a.npy"), (table, "a.parquet")):
        with pytest.raises(HicorexError, match=rf"{name} cannot be read: Input/output error; make or fetch"):
            source.read(0, 10)
    monkeypatch.undo()
    assert table.read(0, 10).equals(make_table().slice(0, 10))
    os.truncate(tmp_path / "a.npy", 500)
    monkeypatch.setattr("hicorex.input.sources.integrity.now", lambda *given: array._stamp)
    with pytest.raises(HicorexError, match=r"a\.npy cannot be read: it ends too early"):
        array.read(0, 1000)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read_is_refused(tmp_path):
    path = as_parquet(make_table(), tmp_path / "a.parquet")
    path.chmod(0)
    with pytest.raises(HicorexError, match=r"a\.parquet may not be read; change its permissions"):
        source_of(path)


@pytest.mark.parametrize("write", [*TABLES, as_array, as_mapping])
def test_threads_read_at_once(tmp_path, write):
    table = make_table()
    source = source_of(write(table, tmp_path / "a"))
    whole = source.read(0, 1000)

    def is_right(place):
        first, stop = map(int, place)
        got = source.read(first, stop)
        return (
            got.equals(whole.slice(first, stop - first))
            if isinstance(got, pa.Table)
            else (got == whole[first:stop]).all()
        )

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(is_right, ranges(1000, 200)))


@files
def test_source_goes_to_another_process(tmp_path, write, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = write(make_table(), Path("a"))  # relative to the folder of this process alone
    source = source_of(given)
    whole = source.read(0, 1000)
    source.read(0, 3)
    (tmp_path / "pickle").write_bytes(pickle.dumps(source))
    assert (tmp_path / "pickle").stat().st_size < 20_000
    code = (
        "import pickle, sys; s = pickle.load(open(sys.argv[1], 'rb'))\n"
        "try: pickle.dump(s.read(120, 700), open(sys.argv[1] + '.out', 'wb'))\n"
        "except Exception as e: print(e)"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-c", code, str(tmp_path / "pickle")]
    run = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    assert run.stdout + run.stderr == ""
    got = pickle.loads((tmp_path / "pickle.out").read_bytes())
    assert got.equals(whole.slice(120, 580)) if isinstance(got, pa.Table) else (got == whole[120:700]).all()
    (tmp_path / "pickle.out").unlink()
    path = files_below(tmp_path)[0]
    os.utime(path, (1, 1))
    copy = pickle.loads((tmp_path / "pickle").read_bytes())
    with pytest.raises(HicorexError, match=rf"{path.name} has changed since"):
        copy.read(0, 10)


def test_open_file_does_not_go_to_another_process(tmp_path):
    source = source_of(as_open_parquet(make_table(), tmp_path / "a.parquet"))
    with pytest.raises(HicorexError, match="cannot be sent to another process; pass the path"):
        pickle.dumps(source)


@pytest.mark.skipif(not FOLDER.exists(), reason="the system does not list open files")
@files
def test_no_file_stays_open(tmp_path, write):
    given = write(make_table(), tmp_path / "a")

    def count(most):
        """How many files are open, once threads of libraries have let go of theirs."""
        for _ in range(100):
            if len(os.listdir(FOLDER)) <= most:
                break
            time.sleep(0.02)
        return len(os.listdir(FOLDER))

    source_of(given).read(0, 10)  # what libraries open once
    time.sleep(0.1)
    before = len(os.listdir(FOLDER))
    sources = [source_of(given) for _ in range(5)]
    assert count(before) <= before
    for source in sources:
        for first in range(0, 1000, 100):
            source.read(first, first + 100)
    assert count(before + 5) <= before + 5
    for source in sources:
        source.close()
    assert count(before) <= before
    with sources[0] as source:
        assert source.read(5, 9) is not None  # opens it again
    assert count(before) <= before
    for source in sources:
        source.read(0, 10)
    del source, sources
    assert count(before) <= before


def test_file_of_somebody_else_is_not_closed(tmp_path):
    file = as_open_parquet(make_table(), tmp_path / "a.parquet")
    with source_of(file) as source:
        source.read(0, 5)
    assert not file.closed
    file.close()
    with pytest.raises(HicorexError, match=r"The Parquet file cannot be read: .*closed"):
        source.read(0, 5)


@pytest.fixture
def decoded(monkeypatch):
    """Which row groups are decoded, in their order."""
    found = []
    group, subset, batch = pq.ParquetFile.read_row_group, Fragment.open, Feather.open

    def counted(opening):
        def open_counted(part):
            decode, close = opening(part)
            return lambda unit: (found.append((part.name, unit)), decode(unit))[1], close

        return open_counted

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda file, at: (found.append(at), group(file, at))[1])
    monkeypatch.setattr(Fragment, "open", counted(subset))
    monkeypatch.setattr(Feather, "open", counted(batch))
    return found


@pytest.mark.parametrize("step", [7, 100, 130, 250, 999])
@pytest.mark.parametrize(("write", "count"), [(as_parquet, 8), (as_folder, 12), (as_dataset, 12), (as_feather, 12)])
def test_rows_in_order_decode_each_row_group_once(tmp_path, decoded, write, count, step):
    source = source_of(write(make_table(), tmp_path / "a"))
    for passes in (1, 2):
        for first in range(0, 1000, step):
            source.read(first, min(first + step, 1000))
            assert len(source._kept) <= 1
        assert len(decoded) == passes * count
        assert not source._kept


@pytest.mark.parametrize("step", [7, 60, 300])
def test_threads_nearly_in_order_decode_each_row_group_once(tmp_path, decoded, step):
    source = source_of(as_parquet(make_table(), tmp_path / "a.parquet"))
    places = [(first, min(first + step, 1000)) for first in range(0, 1000, step)]
    for at in range(0, len(places) - 1, 2):
        places[at], places[at + 1] = places[at + 1], places[at]
    for place in places:
        source.read(*place)
    assert sorted(decoded) == list(range(8))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda place: source.read(*place), sorted(places)))
    # Threads may come in any order, but do not decode a row group for every range.
    assert len(decoded) <= 28


def test_only_the_row_groups_asked_for_are_decoded(tmp_path, decoded):
    source = source_of(as_parquet(make_table(), tmp_path / "a.parquet"))
    source.read(300, 400)
    assert decoded == [2, 3]
    rng = np.random.default_rng(0)
    for first in rng.integers(0, 990, 50):
        source.read(int(first), int(first) + 10)
        assert len(source._kept) <= 2


def test_rows_do_not_hold_on_to_their_row_group(tmp_path):
    pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=200_000)}), tmp_path / "a.parquet")
    rows = source_of(tmp_path / "a.parquet").read(1000, 1010)
    assert rows.num_rows == 10
    assert sum(buffer.size for buffer in rows["x"].chunk(0).buffers() if buffer) < 1000


def test_size_in_memory_is_about_right(tmp_path):
    for write in (as_parquet, as_feather, as_folder, as_dataset, as_feather_dataset):
        table = make_table()
        source = source_of(write(table, tmp_path / write.__name__))
        assert 0.5 * table.nbytes < source.n_bytes() < 4 * table.nbytes
        numbers = table.select(["x", "small", "flag"])
        source = source_of(write(numbers, tmp_path / f"{write.__name__}2"))
        assert 0.9 * numbers.nbytes < source.n_bytes() < 1.1 * numbers.nbytes


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell the memory in use")
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_in_use_does_not_grow_with_the_file(tmp_path, order):
    shape = (300_000, 125)
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", "f8", shape, fortran_order=order == "F")
    del mapped  # zeros without a place on the disk
    source = source_of(np.load(tmp_path / "a.npy", mmap_mode="r"))
    assert source.n_bytes() == 300_000_000

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    step = 4_000_000 // (8 * shape[1])
    source.read(0, step)
    before = most = resident()
    for first in range(0, shape[0], step):
        source.read(first, min(first + step, shape[0]))
        most = max(most, resident())
    assert most - before < 20_000_000


def test_arrays_need_no_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None; import hicorex.input.sources as s, numpy; "
        "print(s.source_of(numpy.ones((2, 2))).shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "(2, 2)", run.stderr


def test_a_private_map_outlives_its_file(tmp_path):
    """Of a file that was deleted all pages are still there; what was changed in the copy is nowhere else."""
    np.save(tmp_path / "a.npy", np.arange(40.0).reshape(10, 4) // 3 % 2)
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    (tmp_path / "a.npy").unlink()
    model = Corex(1, n_init=1, random_state=0)
    assert_array_equal(model.fit(private).transform(private), model.fit(np.array(private)).transform(private))
