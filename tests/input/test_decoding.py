"""What a source decodes, keeps in memory and holds open is little, and let go of."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from disk_tables import (
    as_dataset,
    as_feather,
    as_feather_dataset,
    as_folder,
    as_open_parquet,
    as_parquet,
    files,
    make_table,
)
from pyarrow import parquet as pq

from hicorex import HicorexError
from hicorex.input.sources import source_of
from hicorex.input.sources.datasets import Fragment
from hicorex.input.sources.formats import Feather

FOLDER = Path("/proc/self/fd")


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
