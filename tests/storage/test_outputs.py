"""Outputs replace what hicorex has written and nothing else, and complete what a killed run has left."""

import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path

import pandas as pd
import pytest
from result_folders import NOT_OURS, OVER, QUICK, TABLE, seen

import hicorex
from hicorex import HicorexError
from hicorex.storage.files import claimed_folder
from hicorex.storage.outputs import BEGINNINGS, RESULTS, check_folder, is_written


@pytest.mark.parametrize("name", [*RESULTS, "checkpoint"])
def test_what_hicorex_writes_is_known_and_no_other_kind(name, result_folder, tmp_path):
    path = result_folder / "r" / name
    if name == "samples.parquet":
        path = tmp_path / name
        pd.read_csv(result_folder / "r" / "samples.csv").to_parquet(path, index=False)
    if name == "checkpoint":
        path = tmp_path / name
        hicorex.Corex(1, n_states=2, n_init=1, max_iter=5, random_state=0).fit(TABLE, checkpoint=path)
    assert {kind for kind in BEGINNINGS if is_written(path, kind)} == {RESULTS.get(name)} - {None}


def test_tables_of_other_titles_are_known(work_folder, run):
    """What the rows are called may be anything."""
    named = TABLE.assign(id=[f"n{i}" for i in range(30)])
    named.columns = [*"abcd", 'what, "so"\ncalled']
    named[[*named.columns[-1:], *"abcd"]].to_csv("named.csv", index=False)
    for words in (("transform", "r", "named.csv", "-o", "l.csv"), ("score", "r", "named.csv", "-o", "s.parquet")):
        for more in ((), (OVER,)):
            assert run(*words, *more).code == 0
        assert run(*words).code == 2
    assert Path("l.csv").read_text().startswith('"what, ""so""')


def test_with_overwrite_what_hicorex_wrote_is_replaced_as_it_was(work_folder, run):
    """The same folder, and files as private as before."""
    Path("r").chmod(0o700)
    for name in ("ours.labels.csv", "ours.report.html", "r/labels.csv"):
        Path(name).chmod(0o600)
    Path("r/.DS_Store").write_text("a view of the folder")
    Path("r/samples.parquet").write_bytes(b"")  # of a table that was read part by part
    before = Path("r").stat()
    for words in (
        ("transform", "r", "t.csv", "-o", "ours.labels.csv"),
        ("transform", "r", "t.csv", "-o", "ours.labels.parquet"),
        ("score", "r", "t.csv", "-o", "ours.samples.csv"),
        ("report", "r", "-o", "ours.report.html"),
        ("fit", "t.csv", *QUICK, "-o", "r"),
    ):
        inode = os.stat(words[-1]).st_ino
        assert run(*words, OVER).code == 0
        assert (os.stat(words[-1]).st_ino == inode) == (words[0] == "fit")
    after = Path("r").stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert stat.S_IMODE(Path("ours.labels.csv").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path("r/labels.csv").stat().st_mode) == 0o600
    assert sorted(os.listdir("r")) == sorted([".DS_Store", *(name for name in RESULTS if name != "samples.parquet")])
    assert not [name for name in os.listdir() if "draft" in name or "checkpoint" in name]


def test_the_current_folder_and_the_root_of_a_disk_are_filled(work_folder, run, monkeypatch):
    os.makedirs("disk/lost+found")
    Path("disk/.trash").write_text("mine")
    monkeypatch.chdir("disk")
    inode = os.stat(".").st_ino
    assert run("fit", "../t.csv", *QUICK, "-o", ".").code == 0
    assert os.stat(".").st_ino == inode
    assert {".trash", "lost+found", "model.hicorex"} < {*os.listdir()}
    assert "disk.checkpoint" not in os.listdir("..")


def test_new_folders_follow_the_mask(work_folder, run):
    before = os.umask(0o027)
    try:
        assert run("fit", "t.csv", *QUICK, "-o", "new/r").code == 0
    finally:
        os.umask(before)
    for name, mode in (("new", 0o750), ("new/r", 0o750), ("new/r/labels.csv", 0o640)):
        assert stat.S_IMODE(os.stat(name).st_mode) == mode


def test_a_fit_completes_what_one_that_was_killed_has_left(work_folder, run):
    os.mkdir("r/.hicorex-ready")
    Path("r/.hicorex-ready/.going").write_text('["samples.csv"]')
    os.rename("r/model.hicorex", "r/.hicorex-ready/model.hicorex")
    done = run("fit", "t.csv", "-o", "r")
    assert done.code == 2
    assert done.err.splitlines() == [
        "hicorex: A run was killed while it put its results into r; they are complete now.",
        "hicorex: r is not empty; choose another folder, or add --overwrite to replace the results in it.",
    ]
    assert sorted(os.listdir("r")) == sorted({*RESULTS} - {"samples.csv", "samples.parquet"})


@pytest.mark.parametrize("out", ["r", "new"])
def test_two_fits_do_not_write_to_one_folder_at_once(out, work_folder, run):
    """The second is told before it has begun; the first may be killed."""
    ready = os.pipe()
    child = os.fork()
    if child == 0:
        with claimed_folder(out):
            os.write(ready[1], b".")
            time.sleep(600)
    os.read(ready[0], 1)
    found = {file: about[:3] for file, about in seen(work_folder).items()}
    words = ("fit", "t.csv", *QUICK[:-1], "-o", out, OVER)
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"hicorex: Another run is writing to {out}; wait for it, or choose another folder.\n")
    assert {file: about[:3] for file, about in seen(work_folder).items()} == found
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    done = run(*words)
    assert done.code == 0
    assert re.search(r"hicorex: Removed .*\.draft, which a run that was killed has left\.\n", done.err)
    assert not [file for file in seen(work_folder) if "draft" in file]


def test_results_of_others_are_not_completed_over_own_files(work_folder, run):
    os.mkdir("r/.hicorex-ready")
    Path("r/.hicorex-ready/.going").write_text('["labels.csv"]')
    shutil.copy("groups.csv", "r/labels.csv")
    found = seen(work_folder)
    assert f"labels.csv, {NOT_OURS}" in run("fit", "t.csv", "-o", "r", OVER).err
    assert seen(work_folder) == found


def test_the_device_of_standard_output_is_standard_output(work_folder, run):
    """Which may be a file that a shell adds to, by >>."""
    for name in ("/dev/stdout", "/dev/fd/1", "-"):
        assert run("transform", "r", "t.csv", "-o", name).out == Path("r/labels.csv").read_text()


def test_pipes_of_any_name_take_labels(work_folder, run):
    os.mkfifo("pipe.gz")
    reader = os.open("pipe.gz", os.O_RDONLY | os.O_NONBLOCK)
    assert run("transform", "r", "t.csv", "-o", "pipe.gz").code == 0
    assert os.read(reader, 10**6) == Path("r/labels.csv").read_bytes()
    os.close(reader)


def test_python_replaces_files_and_no_folders(work_folder):
    model = hicorex.load("r")
    for write, name in ((model.save, "thesis.docx"), (model.report, "page.html")):
        write(name)
        with pytest.raises(hicorex.HicorexError, match="r is a folder; give the name of a file"):
            write("r")
    assert is_written(Path("thesis.docx"), "model")
    assert is_written(Path("page.html"), "report")


@pytest.mark.parametrize("going", ['[".env"]', "[", '{"a": 1}', "[]"])
def test_what_no_run_has_left_is_not_completed(tmp_path, going):
    """A folder of new files that somebody has planted, or that came out of an archive."""
    ready = tmp_path / ".hicorex-ready"
    ready.mkdir()
    (ready / ".going").write_text(going)
    (ready / "run.sh").write_text("theirs")
    for name in (".env", ".bashrc"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(HicorexError, match="hicorex-ready is not what a run of hicorex leaves; move it away"):
        check_folder(tmp_path, False, {})
    assert sorted(os.listdir(tmp_path)) == [".bashrc", ".env", ".hicorex-ready"]
