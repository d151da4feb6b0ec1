"""Files of every format, told by their content, and what is said of those that cannot be read."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from written import (
    ARRAY,
    FIVE,
    arrow,
    assert_five,
    cells,
    decision,
    feathered,
    lines,
    notes,
    npy,
    npz,
    parquet,
    read,
    refused,
)

from hicorex import HicorexError
from hicorex.input.files import read_table


@pytest.mark.parametrize(
    "content",
    [
        FIVE.encode(),
        FIVE.replace(",", "\t").encode(),
        gzip.compress(FIVE[:20].encode(), mtime=0) + gzip.compress(FIVE[20:].encode(), mtime=0),
        bz2.compress(FIVE.encode()),
        lzma.compress(FIVE.encode()),
        pa.compress(FIVE.encode(), "zstd", asbytes=True),
        parquet(arrow()),
        gzip.compress(parquet(arrow())),
        feathered(arrow()),
        feathered(arrow(), compression="uncompressed"),
    ],
    ids=["csv", "tsv", "gzip", "bzip2", "xz", "zstd", "parquet", "parquet in gzip", "feather", "arrow"],
)
@pytest.mark.parametrize("how", ["path", "file", "standard input"])
def test_formats_are_told_by_their_content(content, how, tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_bytes(content)
    if how == "path":
        assert_five(read_table(path))
        assert_five(read_table(str(path)))
    elif how == "file":
        with path.open("rb") as file:
            assert_five(read_table(file))
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert_five(read_table("-"))


def test_an_index_of_pandas_names_the_rows():
    frame = arrow().to_pandas().set_index(np.array(list("pqrst")))
    table = read(parquet(pa.Table.from_pandas(frame)))
    assert cells(table) == cells(read(FIVE))
    assert_array_equal(table.row_names, list("pqrst"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8"])
def test_arrays_keep_their_values_and_type(dtype):
    for content in (npy(ARRAY.astype(dtype)), npz(a=ARRAY.astype(dtype)), npz(b=ARRAY[0], X=ARRAY.astype(dtype))):
        table = read(content)
        assert_array_equal(table.frame, ARRAY.astype(dtype))
        assert table.names == ["x0", "x1", "x2", "x3"]
        assert table.kinds == ["gaussian"] * 4
        assert decision(table, "x3") == ("gaussian", "numbers")
        assert notes(table) == ("an array: columns are called x0, x1, ...",)


def test_arrays_lose_the_columns_that_are_left_out():
    array = np.column_stack([np.arange(10), np.arange(10) % 2, np.zeros(10), np.arange(10)[::-1]]).astype(np.int16)
    table = read(npy(array))
    assert_array_equal(table.frame, array[:, [1, 3]])
    assert table.names == ["x1", "x3"]
    assert [d.kind for d in table.decisions] == ["row names", "categorical", "ignored", "gaussian"]
    assert_array_equal(table.row_names, np.arange(10))
    assert_array_equal(read(npy(array[:, 1:2] == 1)).frame, array[:, 1:2] == 1)
    assert cells(read(npy(np.array([["u", "1.5"], ["v", "2.5"], ["u", "1.5"]])))) == {
        "x0": ["u", "v", "u"],
        "x1": [1.5, 2.5, 1.5],
    }


def test_arrays_of_records_are_tables():
    records = np.array([(1, 2.5, b"u"), (2, 3.5, b"v"), (1, 4.5, b"u")], [("a", int), ("b", float), ("c", "S1")])
    assert cells(read(npy(records))) == {"a": [1, 2, 1], "b": [2.5, 3.5, 4.5], "c": ["u", "v", "u"]}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (npy(ARRAY[0]), "holds a vector; save an array of two dimensions"),
        (npy(ARRAY[None]), "holds an array of 3 dimensions; save an array of two dimensions"),
        (npy(ARRAY * 1j), "holds values of type complex128; save an array of numbers"),
        (npy(np.array([["u", None]])), "holds Python objects; save an array of numbers"),
        (npz(a=np.array([["u", None]])), "holds Python objects; save an array of numbers"),
        (npz(a=ARRAY, b=ARRAY), "holds the arrays a, b; call the table X, or save it alone"),
        (npy(ARRAY[:0]), "has no rows"),
        (npy(ARRAY)[:-8], "begins like a NumPy file but is broken"),
    ],
)
def test_arrays_that_are_no_table_are_refused(content, match):
    refused(content, match)


@pytest.mark.parametrize(
    ("dtype", "dense"), [(np.int64, np.uint8), (np.float64, np.float64), (np.float32, np.float32), (bool, bool)]
)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_are_read_like_arrays(dtype, dense, form):
    array = (np.arange(28).reshape(7, 4) * 7 % 5 * (np.arange(4) % 2 == np.arange(7)[:, None] % 2)).astype(dtype)
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(array).asformat(form))
    table = read(file.getvalue())
    assert_array_equal(table.frame, array)
    assert table.frame.dtype == dense
    wide = np.zeros((7, 200), dtype)
    wide[:, 50:54] = array
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(wide).asformat(form))
    table, plain = read(file.getvalue()), read(npy(wide.astype(dense)))
    assert sparse.issparse(table.frame)
    assert table.frame.dtype == dense
    assert_array_equal(table.frame.toarray(), plain.frame)
    assert (table.names, table.kinds, table.decisions) == (plain.names, plain.kinds, plain.decisions)
    if dtype is not bool:
        refused(file.getvalue(), "has a missing value in row", missing=("0",), weights="x51")
        options = {"missing": ("2",), "row_names": "x0", "exclude": ("x52",)}
        table, plain = (read(content, **options) for content in (file.getvalue(), npy(wide.astype(dense))))
        assert_array_equal(table.frame, plain.frame)
        assert_array_equal(table.row_names, plain.row_names)
        assert table.decisions == plain.decisions


def test_large_sparse_matrices_take_the_memory_of_their_cells():
    """As a table this one has a hundred million cells."""
    rng = np.random.default_rng(0)
    place = (rng.integers(20_000, size=50_000), rng.integers(5000, size=50_000))
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array((np.ones(50_000, int), place), shape=(20_000, 5000)))
    tracemalloc.start()
    table = read(file.getvalue())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.frame.shape[1] > 4900
    assert peak < 30e6


def test_sparse_matrices_that_are_too_large_as_a_table_are_refused():
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(([1.0], ([5], [7])), shape=(1_000_000, 100_000)))
    assert read(file.getvalue()).names == ["x7"]
    refused(file.getvalue(), "takes 800.0 GB as a table, of .* GB that are free; keep fewer", missing=("1",))


def test_sparse_matrices_with_an_index_beyond_the_table_are_refused():
    file = io.BytesIO()
    matrix = sparse.csr_array(np.eye(50))
    matrix.indices[3] = 10**6
    sparse.save_npz(file, matrix)
    refused(file.getvalue(), "begins like a NumPy file but is broken")


def test_broken_workbooks_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    refused(file.getvalue(), "begins like a workbook but is broken")
    refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "begins like a workbook but is broken")


def test_archives_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.csv", FIVE)
    refused(file.getvalue(), "is a zip archive; unpack it")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "is empty; give a file with a header and rows"),
        (b"\n \n", "is empty; give a file with a header and rows"),
        (b"a,b\n", "has a header and no rows"),
        (gzip.compress(FIVE.encode(), mtime=0)[:-12], "is compressed by gzip and broken; make or fetch it again"),
        (
            gzip.compress(FIVE.encode(), mtime=0)[:12] + b"abc",
            "is compressed by gzip and broken; make or fetch it again",
        ),
        (parquet(arrow())[:-20], "begins like a Parquet file but is broken; make or fetch it again"),
        (feathered(arrow())[:-20], "begins like a Feather file but is broken; make or fetch it again"),
        (b"PK\x03\x04abc", "begins like a zip file but is broken"),
        (bytes(range(256)), "is neither text nor a format that is known; save it as CSV"),
        (parquet(arrow()[:0]), "has no rows"),
    ],
)
def test_broken_files_are_refused_by_name(content, match, tmp_path):
    refused(content, f"^the file {match}")
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(HicorexError, match=f"data.csv {match}"):
        read_table(path)


def test_files_that_are_not_there_are_told(tmp_path):
    with pytest.raises(HicorexError, match=r"data\.csv is not there; check its name and folder"):
        read_table(tmp_path / "data.csv")
    with pytest.raises(HicorexError, match="is a folder; give a file"):
        read_table(tmp_path)


def test_files_that_may_not_be_read_are_told(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    path = tmp_path / "data.csv"
    path.write_text(FIVE)
    monkeypatch.setattr(pa, "OSFile", refuse)
    with pytest.raises(HicorexError, match=r"data\.csv may not be read; change its permissions"):
        read_table(path)


def test_long_names_of_rows_take_no_more_room_than_in_the_file():
    text = lines("id,x", [("y" * 30_000 if i == 0 else f"s{i}", i % 2) for i in range(2000)])
    assert read(text).row_names.nbytes < 200_000
