"""Files that change, go or break while they are in use are errors that name them."""

import os
import shutil

import numpy as np
import pytest
from disk_tables import (
    as_array,
    as_dataset,
    as_feather,
    as_feather_dataset,
    as_mapping,
    as_parquet,
    files,
    files_below,
    make_table,
)
from pyarrow import parquet as pq

import hicorex.input.sources.arrays
from hicorex import HicorexError
from hicorex.input.sources import source_of


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
