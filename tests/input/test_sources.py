"""Any rows of a table on disk are those that were written, for any thread and process."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from disk_tables import (
    TABLES,
    as_array,
    as_mapping,
    as_open_parquet,
    files,
    files_below,
    make_table,
    ranges,
    tables,
)
from numpy.testing import assert_array_equal

from hicorex import Corex, HicorexError
from hicorex.input.sources import disk_source, source_of


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


def test_index_of_pandas_stays_a_column(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["u", "v"])
    frame.to_parquet(tmp_path / "a.parquet")
    source = source_of(tmp_path / "a.parquet")
    assert source.names == ["a", "__index_level_0__"]
    assert source.read(1, 2).to_pandas().equals(frame.iloc[1:])


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
    model = Corex(1, n_states=2, n_init=1, random_state=0)
    assert_array_equal(model.fit(private).transform(private), model.fit(np.array(private)).transform(private))
