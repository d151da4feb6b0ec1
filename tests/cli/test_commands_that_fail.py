"""What goes wrong is one line, an exit code, and nothing left behind."""

import os
import re
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from conftest import WINE

import hicorex
from hicorex import cli

BAD = {
    "no such file": (["fit", "absent.csv"], "absent.csv is not there"),
    "a folder": (["fit", "folder"], "folder holds no Parquet file"),
    "empty": (["fit", "empty.csv"], "empty.csv is empty"),
    "header only": (["fit", "header.csv"], "header.csv"),
    "ragged": (["fit", "ragged.csv"], "ragged.csv, line 4"),
    "one row": (["fit", "one.csv"], "one row, and at least two are needed"),
    "a workbook": (["fit", "book.xlsx"], "CSV"),
    "broken gzip": (["fit", "broken.csv.gz"], "broken.csv.gz"),
    "broken parquet": (["fit", "broken.parquet"], "broken.parquet"),
    "pickled objects": (["fit", "objects.npy"], "objects.npy"),
    "three dimensions": (["fit", "cube.npy"], "cube.npy"),
    "infinity": (["fit", "infinite.csv"], "Column 'b' has an infinity in it"),
    "nothing to learn from": (["fit", "constant.csv"], "constant.csv has no column to learn from"),
    "column to leave out": (["fit", "wine.csv", "--exclude", "ahs"], "'ash'"),
    "column to use": (["fit", "wine.csv", "--use", "colour*"], "'colour*'"),
    "column of weights": (["fit", "wine.csv", "--weights", "weight"], "'weight'"),
    "column of row names": (["fit", "wine.csv", "--row-names", "id"], "--row-names"),
    "kind": (["fit", "wine.csv", "--kinds", "ash=normal"], "'normal'; use one of gaussian, rank, categorical"),
    "kind without a name": (["fit", "wine.csv", "--kinds", "rank"], "write NAME=KIND"),
    "layers": (["fit", "wine.csv", "--layers", "three"], "--layers three: give auto or numbers such as 20,3,1"),
    "growing layers": (["fit", "wine.csv", "--layers", "1,3"], "layers (1, 3) grow upward"),
    "no factors": (["fit", "wine.csv", "--layers", "0"], "layers has 0 in it"),
    "states of sizes to be found": (
        ["fit", "wine.csv", "--states", "2,2,2,2"],
        "--states 2,2,2,2: give auto or one number",
    ),
    "states": (["fit", "wine.csv", "--layers", "3,1", "--states", "2,2,2"], "one for each of the layers"),
    "one state": (["fit", "wine.csv", "--layers", "3", "--states", "1"], "--states 1: give a factor 2 to 100 states"),
    "one column": (["fit", "wine.csv", "--use", "ash"], "one column to learn from, 'ash', and nothing to relate it"),
    "a title": (["fit", "title.csv"], "title.csv, line 1: it looks like a title above the names; say --skip-lines 1"),
    "no place for results": (["fit", "wine.csv", "--out", "/proc/nowhere/r"], "/proc/nowhere/r cannot be written"),
    "checkpoint among the results": (["fit", "wine.csv", "--out", "r", "--checkpoint", "r/c"], "put it elsewhere"),
    "checkpoint a folder": (["fit", "wine.csv", "--layers", "2", "--checkpoint", "folder"], "folder is a folder"),
    "damaged checkpoint": (
        ["fit", "wine.csv", "--checkpoint", "damaged.hicorex"],
        "is damaged; delete it to start anew",
    ),
    "another format": (
        ["transform", "model.hicorex", "wine.csv", "--out", "l.xlsx"],
        "give a name in .csv or .parquet",
    ),
    "option": (["fit", "wine.csv", "--layrs", "3"], "No such option: --layrs"),
    "value of an option": (["fit", "wine.csv", "--starts", "none"], "--starts"),
    "rule": (["fit", "wine.csv", "--structure", "forest"], "--structure"),
    "command": (["fti", "wine.csv"], "fti"),
    "no data": (["fit"], "DATA"),
    "foreign folder": (["fit", "wine.csv", "--out", "folder"], "holds diary.txt, which is not a result"),
    "file for a folder": (["fit", "wine.csv", "--out", "wine.csv"], "wine.csv is a file"),
    "checkpoint": (["fit", "wine.csv", "--checkpoint", "ragged.csv"], "ragged.csv is not a file of hicorex"),
    "model": (["describe", "wine.csv"], "wine.csv is not a file of hicorex"),
    "no model": (["transform", "absent", "wine.csv"], "absent cannot be read"),
    "folder without a model": (["describe", "folder"], "folder/model.hicorex cannot be read"),
    "damaged model": (["transform", "damaged.hicorex", "wine.csv"], "damaged.hicorex is damaged"),
    "newer model": (["describe", "newer.hicorex"], "newer.hicorex was written by hicorex"),
    "lacking column": (["transform", "model.hicorex", "narrow.csv"], "narrow.csv lacks the column 'ash'"),
    "text for a number": (["transform", "model.hicorex", "words.csv"], "column 'ash': 'much' is not a number"),
    "no folder for labels": (["transform", "model.hicorex", "wine.csv", "--out", "no/l.csv"], "no/l.csv"),
    "groups of others": (["fit", "wine.csv", "--groups", "ragged.csv"], "ragged.csv, line 4"),
    "groups of nobody": (["fit", "wine.csv", "--groups", "one.csv"], "one.csv names none of the model's variables"),
    "no groups": (["report", "model.hicorex", "--groups", "absent.csv"], "absent.csv is not there"),
    "report of another format": (["report", "model.hicorex", "--out", "r.pdf"], "--out r.pdf: the report is an HTML"),
    "no folder for a report": (["report", "model.hicorex", "--out", "no/r.html"], "no/r.html"),
    "report of lacking column": (["report", "model.hicorex", "narrow.csv"], "narrow.csv lacks the column 'ash'"),
    "reading of nothing": (["report", "model.hicorex", "--missing", "-1"], "--missing says how samples are read"),
    "json and table": (["score", "model.hicorex", "wine.csv", "--json", "--out", "-"], "both want standard output"),
}


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    WINE.to_csv(folder / "wine.csv", index=False)
    model = hicorex.Corex(2, n_states=2, random_state=0).fit(WINE)
    model.save(folder / "model.hicorex")
    raw = bytearray((folder / "model.hicorex").read_bytes())
    raw[-5] ^= 1
    (folder / "damaged.hicorex").write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hicorex.storage.archive.FORMAT", 99)
        model.save(folder / "newer.hicorex")
    (folder / "folder").mkdir()
    (folder / "folder" / "diary.txt").write_text("mine")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3,4\n5,6,7\n8,9\n")
    (folder / "one.csv").write_text("a,b\n1,2\n")
    (folder / "title.csv").write_text("Table 1\na,b,c\n1,2,3\n2,3,4\n")
    (folder / "constant.csv").write_text("a,b\n1,x\n1,x\n1,x\n")
    (folder / "infinite.csv").write_text("a,b\n" + "".join(f"{i / 7},{i / 3}\n" for i in range(30)) + "1.5,inf\n")
    with zipfile.ZipFile(folder / "book.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "")
    (folder / "broken.csv.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    (folder / "broken.parquet").write_bytes(b"PAR1 broken PAR1")
    np.save(folder / "objects.npy", np.array([[{}], [{}]]), allow_pickle=True)
    np.save(folder / "cube.npy", np.zeros((3, 3, 3)))
    WINE.drop(columns="ash").to_csv(folder / "narrow.csv", index=False)
    WINE.astype({"ash": object}).assign(ash=["much", *WINE["ash"][1:]]).to_csv(folder / "words.csv", index=False)
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_exit_2_and_nothing_left(case, run, odd_files, monkeypatch):
    words, message = BAD[case]
    monkeypatch.chdir(odd_files)
    before = {file: file.stat().st_mtime_ns for file in odd_files.rglob("*")}
    done = run(*words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("hicorex: ")
    assert "Traceback" not in done.err
    if case not in (
        "infinity",
        "checkpoint",
        "damaged checkpoint",
        "checkpoint a folder",
    ):  # what comes after the columns are shown
        assert done.err == f"{last}\n"
    assert {file: file.stat().st_mtime_ns for file in odd_files.rglob("*")} == before


def test_there_are_enough_bad_inputs():
    assert len(BAD) >= 20


def test_debug_shows_where_an_error_arose(run, odd_files, monkeypatch, capsys):
    monkeypatch.chdir(odd_files)
    monkeypatch.setattr(sys, "argv", ["hicorex", "describe", "wine.csv", "--debug"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert re.search(r"Traceback.*in from_bytes.*HicorexError: wine.csv is not", capsys.readouterr().err, re.DOTALL)


def with_files_of(most, folder, *words, stdout=subprocess.PIPE):
    """A command in another process, whose files may have at most ``most`` bytes, as if the disk were full then."""
    return subprocess.run(
        [sys.executable, "-m", "hicorex", *words],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )


FULL = "cannot be written: file too large; free some space there, or choose another place."


def test_a_full_disk_costs_nothing(wine, run, tmp_path):
    held = {file.name: file.read_bytes() for file in (tmp_path / "wine-results").iterdir()}
    words = ["fit", "wine.csv", "--layers", "3,1", "--states", "3", "--quiet", "--out"]
    # The checkpoint is written, and then the report is not; the next time the model is not.
    for name, out in (("report.html", "new/r"), ("model.hicorex", "wine-results")):
        more = ["--overwrite", "--checkpoint", "c"]
        done = with_files_of(len(held[name]) - 1, tmp_path, *words, out, *more)
        kept = "The fit so far is in c; give the same command again to go on."
        assert (done.returncode, done.stderr) == (2, f"hicorex: {tmp_path / out / name} {FULL} {kept}\n")
        assert sorted(os.listdir(tmp_path)) == ["c", "wine-results", "wine.csv"]
        assert {file.name: file.read_bytes() for file in (tmp_path / "wine-results").iterdir()} == held
    assert run(*words, "new/r", "--checkpoint", "c").code == 0
    assert {file.name: file.read_bytes() for file in (tmp_path / "new/r").iterdir()}.keys() == held.keys()
    for name in sorted(held.keys() - {"report.html"}):  # which says when it was made
        assert (tmp_path / "new/r" / name).read_bytes() == held[name], name


def test_labels_for_which_there_is_no_room_leave_the_old_ones(wine, run, tmp_path, monkeypatch):
    words = ("transform", "wine-results", "wine.csv")
    (tmp_path / "wine-results" / "labels.parquet").rename(tmp_path / "l.parquet")
    old = (tmp_path / "l.parquet").read_bytes()
    done = with_files_of(1500, tmp_path, *words, "--out", "l.parquet", "--overwrite")
    assert (done.returncode, done.stderr) == (2, f"hicorex: {tmp_path / 'l.parquet'} {FULL}\n")
    assert (tmp_path / "l.parquet").read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["l.parquet", "wine-results", "wine.csv"]
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # then a part that is written seems to be all
    with open(tmp_path / "printed", "wb") as file:
        done = with_files_of(1500, tmp_path, *words, stdout=file)
    assert (done.returncode, done.stderr) == (2, f"hicorex: Standard output {FULL}\n")
    done = run(*words, "--out", "/dev/full")
    assert done.code == 2
    assert done.err.startswith("hicorex: /dev/full cannot be written: no space left on device; free some space there")


def test_failed_fits_leave_no_folders(run, odd_files, tmp_path):
    assert run("fit", odd_files / "infinite.csv", "--out", "new/deep/r").code == 2
    assert not list(tmp_path.iterdir())


def test_a_fit_that_stops_early_names_its_layer_and_the_option(run):
    WINE.to_csv("wine.csv", index=False)
    quick = ("fit", "wine.csv", "--layers", "2,1", "--max-iter", 1, "--folds", 0, "--stability", 0)
    assert (
        "hicorex: The objective of layer 2 still grew after 1 iterations; give a larger --max-iter." in run(*quick).err
    )
    assert not run(*quick, "--quiet", "--overwrite").err
