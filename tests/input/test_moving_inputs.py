"""Input files that shrink, grow, change, vanish or are no files at all: an error that names them, and no signal."""

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, feather, fs, parquet

from hicorex import Corex, HicorexError
from hicorex.cli import fit as fitting
from hicorex.cli import large
from hicorex.input import encoder
from hicorex.input.files import contents
from hicorex.input.sources import arrays, folders, source_of, tables

FIT = ["--layers", "1", "--starts", "1", "--max-iter", "2", "--out", "r"]
PYTHON = {"n_states": 2, "n_init": 1, "max_iter": 2, "random_state": 0}


def numbers(seed=0, rows=80):
    rng = np.random.default_rng(seed)
    return rng.integers(2, size=(rows, 1)) + rng.normal(scale=0.3, size=(rows, 4))


def columns(seed=0, rows=80):
    return pa.table(list(numbers(seed, rows).T), names=list("abcd"))


def write_folder(path):
    path.mkdir()
    for part in range(2):
        parquet.write_table(columns(part), path / f"part{part}.parquet")


def write_packed(path):
    with gzip.open(path, "wb") as file:
        csv.write_csv(columns(), file)


WRITE = {
    "t.csv": lambda path: csv.write_csv(columns(), path),
    "t.csv.gz": write_packed,
    "t.parquet": lambda path: parquet.write_table(columns(), path, row_group_size=30),
    "t.feather": lambda path: feather.write_feather(columns(), path, compression="uncompressed", chunksize=30),
    "t.arrow": lambda path: feather.write_feather(columns(), path, compression="lz4", chunksize=30),
    "t.npy": lambda path: np.save(path, numbers()),
    "t.npz": lambda path: np.savez_compressed(path, X=numbers()),
    "t": write_folder,
}
PARTS = ["t.parquet", "t.feather", "t.arrow", "t.npy", "t"]


def shrink(path):
    os.truncate(path, path.stat().st_size // 2)


def grow(path):
    with path.open("ab") as file:
        file.write(b"1,2,3,4\n")


def overwrite(path):
    """Other bytes in the same place, and the time of before."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-before.st_size // 3, os.SEEK_END)
        file.write(b"7" * 20)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


HARMS = [shrink, grow, overwrite, replace]


def before(patch, place, name, harm):
    """Do harm before a function is called, once."""
    real, done = getattr(place, name), []

    def late(*given, **options):
        if not done:
            done.append(harm())
        return real(*given, **options)

    patch.setattr(place, name, late)


def after(patch, place, name, harm):
    """Do harm after a function was called."""
    real = getattr(place, name)
    patch.setattr(place, name, lambda *given, **options: (real(*given, **options), harm())[0])


MOMENTS = {
    "while it is read": lambda patch, harm: after(patch, contents, "_unpacked", harm),
    "while parts are read": lambda patch, harm: (
        before(patch, tables.TableSource, "_decoded", harm),
        before(patch, arrays.ArraySource, "_rows", harm),
    ),
    "before the fit": lambda patch, harm: before(patch, fitting, "_fit", harm),
    "between the fit and the labels": lambda patch, harm: after(patch, fitting, "_fit", harm),
}
CASES = [
    (name, moment, moment == "while parts are read")
    for name in WRITE
    for moment in MOMENTS
    if moment != ("while it is read" if name == "t" else "while parts are read")
]
CASES += [(name, moment, True) for name in PARTS for moment in MOMENTS if moment != "while it is read"]


@pytest.mark.parametrize(
    ("name", "moment", "in_parts", "harm"),
    [(*case, HARMS[(at + at // 4) % 4]) for at, case in enumerate(CASES)],
)
def test_files_that_change_under_a_fit(name, moment, in_parts, harm, run, tmp_path, monkeypatch):
    WRITE[name](tmp_path / name)
    path = tmp_path / "t" / "part1.parquet" if name == "t" else tmp_path / name
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    if in_parts:
        monkeypatch.setattr(large, "OF_FREE", 10**12)
    MOMENTS[moment](monkeypatch, lambda: harm(path))
    done = run("fit", name, *FIT, "--quiet")
    assert done.code == 2, done.err
    assert done.err.splitlines()[-1].endswith(
        f"{path.name} has changed since it was opened, its contents, rights or links; start again, and leave it "
        "as it is until the end."
    )
    assert not Path("r").exists()


CODE = """
import os, sys
from hicorex import cli
from hicorex.input.files import {module} as module
real = module.{function}
def late(*given):
    os.truncate(sys.argv[2], 4096)
    return real(*given)
module.{function} = late
cli.main()
"""


@pytest.mark.parametrize(
    ("name", "module", "function"), [("t.csv", "csv_file", "head_of"), ("t.feather", "formats", "_arrow")]
)
def test_no_signal_ends_a_process_whose_file_shrinks(name, module, function, tmp_path):
    if name == "t.csv":
        csv.write_csv(columns(rows=20_000), tmp_path / name)
    else:
        feather.write_feather(columns(rows=20_000), tmp_path / name, compression="uncompressed")
    code = CODE.format(module=module, function=function)
    command = [sys.executable, "-c", code, "fit", name, *FIT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done
    assert f"{name} has changed since it was opened" in done.stderr


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("harm", HARMS)
def test_files_that_change_before_the_second_reading(name, harm, tmp_path, monkeypatch):
    WRITE[name](tmp_path / name)
    path = tmp_path / "t" / "part1.parquet" if name == "t" else tmp_path / name
    after(monkeypatch, encoder.Encoder, "learn", lambda: harm(path))
    with pytest.raises(HicorexError, match=rf"{path.name} has changed since it was opened"):
        Corex(1, **PYTHON).fit(tmp_path / name)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_mapped_files_that_shrank_are_refused(mode, tmp_path):
    np.save(tmp_path / "t.npy", numbers(rows=2000))
    mapped = np.load(tmp_path / "t.npy", mmap_mode=mode)
    shrink(tmp_path / "t.npy")
    with pytest.raises(HicorexError, match=r"t\.npy has changed since it was mapped; load it again"):
        Corex(1, **PYTHON).fit(mapped)


def test_datasets_that_map_their_files_are_read_through_handles(tmp_path, monkeypatch):
    """They are read through handles all the same: a mapping of a file that shrinks would end this process."""
    feather.write_feather(columns(rows=20_000), tmp_path / "t.feather", compression="uncompressed")
    mapping = fs.LocalFileSystem(use_mmap=True)
    source = source_of(dataset.dataset(str(tmp_path / "t.feather"), format="feather", filesystem=mapping))
    before(monkeypatch, tables, "conformed", lambda: os.truncate(tmp_path / "t.feather", 4096))
    with pytest.raises(HicorexError, match=r"t\.feather has changed since it was opened"):
        source.read(0, 20_000)


def test_files_of_a_folder_that_come_and_go(run, tmp_path, monkeypatch):
    write_folder(tmp_path / "t")
    with monkeypatch.context() as patch:
        after(patch, fitting, "_fit", lambda: parquet.write_table(columns(3), tmp_path / "t" / "part2.parquet"))
        done = run("fit", "t", *FIT, "--quiet")
    assert done.code == 2
    assert "part2.parquet was not there when the folder was opened; start again once all files are." in done.err
    before(monkeypatch, folders, "whole", lambda: (tmp_path / "t" / "part2.parquet").unlink())
    done = run("fit", "t", *FIT, "--quiet")
    assert done.code == 2
    assert "part2.parquet is not there; check its name and folder." in done.err


def test_folders_of_results_are_no_data(run, tmp_path):
    write_folder(tmp_path / "t")
    assert run("fit", "t", *FIT[:-1], "r", "--quiet").code == 0
    os.rename(tmp_path / "r", tmp_path / "t" / "r")
    remedy = "since it holds model.hicorex; give the data files themselves, or move the results away from them."
    for given in ("t", "t/r"):
        done = run("fit", given, *FIT[:-1], "other")
        assert done.code == 2
        assert f"t/r is a folder of results, {remedy}" in done.err
        with pytest.raises(HicorexError, match="t/r is a folder of results"):
            Corex(1, **PYTHON).fit(tmp_path / given)
    assert sorted(os.listdir(tmp_path)) == ["t"]


def test_links_are_followed_unless_they_lead_back_or_nowhere(run, tmp_path):
    write_folder(tmp_path / "elsewhere")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "linked").symlink_to(tmp_path / "elsewhere")
    assert source_of(tmp_path / "t").shape == (160, 4)
    (tmp_path / "elsewhere" / "up").symlink_to(tmp_path / "t")
    assert "links to a folder that holds it; remove that link." in run("fit", "t", *FIT).err
    (tmp_path / "nothing.csv").symlink_to(tmp_path / "gone.csv")
    done = run("fit", "nothing.csv", *FIT)
    assert "nothing.csv is a link to what is not there; mend the link, or give the file itself." in done.err
    (tmp_path / "elsewhere" / "up").unlink()
    (tmp_path / "elsewhere" / "part9.parquet").symlink_to(tmp_path / "gone")
    assert "part9.parquet is a link to what is not there" in run("fit", "t", *FIT).err


def test_pipes_are_read_and_devices_refused(run, tmp_path):
    WRITE["t.csv"](tmp_path / "t.csv")
    text = (tmp_path / "t.csv").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(text))
    writer.start()
    assert run("fit", "pipe", *FIT, "--quiet").code == 0
    writer.join()
    assert run("fit", "t.csv", *FIT[:-1], "s", "--quiet").code == 0
    assert Path("r/labels.csv").read_bytes() == Path("s/labels.csv").read_bytes()
    assert (
        "--memory cannot be kept with pipe, which is no file; give a file." in run("fit", "pipe", "--memory", "1GB").err
    )
    (tmp_path / "t").mkdir()
    os.mkfifo(tmp_path / "t" / "part.parquet")
    assert "part.parquet is a pipe; replace it by a file." in run("fit", "t").err
    assert "/dev/zero is a device; give a file, or - for standard input." in run("fit", "/dev/zero").err
    with pytest.raises(HicorexError, match="/dev/zero is a device; give a file, or a folder of Parquet files"):
        Corex(1, n_states=2).fit("/dev/zero")


def test_empty_files_are_refused(run, tmp_path):
    for name in ("t.csv", "t.parquet", "t.npy"):
        (tmp_path / name).touch()
        assert f"{name} is empty; give a file with a header and rows." in run("fit", name).err
        with pytest.raises(HicorexError, match=f"{name} is empty; make or fetch it again"):
            Corex(1, n_states=2).fit(tmp_path / name)
