"""Files of a folder or a dataset make one table, if their columns fit together."""

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from disk_tables import as_dataset, as_folder, as_parquet, make_table
from pyarrow import fs
from pyarrow import parquet as pq

from hicorex import HicorexError
from hicorex.input.sources import source_of


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


def test_datasets_of_text_of_memory_and_of_other_places_are_read(tmp_path):
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
