"""No output costs a user anything: what is refused before any work, and what is replaced."""

import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hicorex
from hicorex import HicorexError
from hicorex.cli.folder import write_folder
from hicorex.estimators.hierarchy import HierarchicalCorex
from hicorex.input.files import Reading, read_table
from hicorex.storage.files import claimed_folder
from hicorex.storage.outputs import BEGINNINGS, RESULTS, check_folder, is_written

QUICK = ("--layers", "1", "--starts", "1", "--max-iter", "5", "--quiet")
TABLE = pd.DataFrame(np.random.default_rng(0).integers(2, size=(30, 1)) ^ np.zeros((30, 4), int), columns=list("abcd"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, its results, and files that people have of their own."""
    folder = tmp_path_factory.mktemp("made")
    TABLE.to_csv(folder / "t.csv", index=False)
    (folder / "groups.csv").write_text("name,group\na,x\nb,x\nc,y\nd,y\n")
    table = read_table(folder / "t.csv", Reading())
    model = HierarchicalCorex((1,), n_init=1, max_iter=5, marginals=table.kinds, random_state=0).fit(table.frame)
    write_folder(folder / "r", model, table)
    for name in ("model.hicorex", "labels.csv", "labels.parquet", "samples.csv", "report.html"):
        shutil.copy(folder / "r" / name, folder / f"ours.{name}")
    TABLE.to_parquet(folder / "own.parquet")
    (folder / "thesis.docx").write_text("a year's work")
    (folder / "page.html").write_text("<!doctype html><title>mine</title>")
    return folder


@pytest.fixture
def here(made, run, tmp_path):
    """A copy of it to work in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def seen(folder):
    """All that a folder holds, to the last byte, mode and time."""
    found = {}
    for file in sorted(folder.rglob("*")):
        about = file.lstat()
        text = file.read_bytes() if stat.S_ISREG(about.st_mode) else None
        found[str(file)] = (text, about.st_mode, about.st_ino, about.st_mtime_ns)
    return found


def put(name, of=None, how=shutil.copy, folder="r"):
    """Put a file, or a link to one, into a folder of results."""

    def do():
        (Path(folder) / name).unlink(missing_ok=True)
        how(of, Path(folder) / name)

    return do


def symlink(of, name):
    os.symlink(os.path.abspath(of), name)


def make_folder(name):
    def do():
        if os.path.exists(name):
            os.unlink(name)
        os.makedirs(name)
        (Path(name) / "diary").write_text("mine")

    return do


def data_folder():
    os.mkdir("parts")
    shutil.copy("own.parquet", "parts/one.parquet")


def links(*pairs, how=symlink):
    def do():
        for of, name in pairs:
            how(of, name)

    return do


IN_FOLDER = ") is in that folder; choose another folder"
NOT_OURS = "which hicorex has not written; choose another folder, or move it away"
OVER = "--overwrite"
# What is done first, the command, and what is said.
REFUSED = {
    "DATA named as a result": (put("samples.csv", "t.csv"), ["fit", "r/samples.csv", "-o", "r", OVER], IN_FOLDER),
    "DATA a result": (None, ["fit", "r/labels.csv", "-o", "r", OVER], IN_FOLDER),
    "DATA by a roundabout path": (None, ["fit", "r/../r/./labels.csv", "-o", "./r", OVER], IN_FOLDER),
    "DATA by a link": (links(("r/labels.csv", "l.csv")), ["fit", "l.csv", "-o", "r", OVER], IN_FOLDER),
    "DATA by a hard link": (
        links(("r/labels.csv", "l.csv"), how=os.link),
        ["fit", "l.csv", "-o", "r", OVER],
        IN_FOLDER,
    ),
    "--out by a link": (links(("r", "link")), ["fit", "r/labels.csv", "-o", "link", OVER], IN_FOLDER),
    "DATA the folder itself": (None, ["fit", "r", "-o", "r", OVER], IN_FOLDER),
    "DATA in the current folder": (None, ["fit", "t.csv", "-o", "."], IN_FOLDER),
    "DATA in the folder above": (None, ["fit", "t.csv", "-o", "r/.."], IN_FOLDER),
    "--groups in the folder": (
        put("columns.csv", "groups.csv"),
        ["fit", "t.csv", "--groups", "r/columns.csv", "-o", "r", OVER],
        "the file of --groups (r/columns.csv) is in that folder",
    ),
    "results among DATA": (
        data_folder,
        ["fit", "parts", "-o", "parts/r"],
        "is in DATA (parts), a folder that is read whole",
    ),
    "another's file": (put("diary.txt", "thesis.docx"), ["fit", "t.csv", "-o", "r", OVER], "diary.txt, which is not a"),
    "own labels": (put("labels.csv", "t.csv"), ["fit", "t.csv", "-o", "r", OVER], f"labels.csv, {NOT_OURS}"),
    "own columns": (put("columns.csv", "groups.csv"), ["fit", "t.csv", "-o", "r", OVER], f"columns.csv, {NOT_OURS}"),
    "own Parquet": (
        put("labels.parquet", "own.parquet"),
        ["fit", "t.csv", "-o", "r", OVER],
        f"labels.parquet, {NOT_OURS}",
    ),
    "own page": (put("report.html", "page.html"), ["fit", "t.csv", "-o", "r", OVER], f"report.html, {NOT_OURS}"),
    "own model": (put("model.hicorex", "thesis.docx"), ["fit", "t.csv", "-o", "r", OVER], f"model.hicorex, {NOT_OURS}"),
    "a folder as a result": (
        make_folder("r/report.html"),
        ["fit", "t.csv", "-o", "r", OVER],
        f"report.html, {NOT_OURS}",
    ),
    "a link as a result": (
        put("labels.csv", "ours.labels.csv", symlink),
        ["fit", "t.csv", "-o", "r", OVER],
        f"labels.csv, {NOT_OURS}",
    ),
    "results without --overwrite": (
        None,
        ["fit", "t.csv", "-o", "r"],
        "r is not empty; choose another folder, or add --ov",
    ),
    "a file for a folder": (
        None,
        ["fit", "t.csv", "-o", "thesis.docx", OVER],
        "thesis.docx is a file; give the name of a",
    ),
    "below a file": (None, ["fit", "t.csv", "-o", "thesis.docx/r"], "thesis.docx is a file; choose another place"),
    "a pipe for a folder": (lambda: os.mkfifo("pipe"), ["fit", "t.csv", "-o", "pipe"], "pipe is a file; give the name"),
    "links in a circle": (links(("b", "a"), ("a", "b")), ["fit", "t.csv", "-o", "a"], "its links lead nowhere"),
    "a name too long": (None, ["fit", "t.csv", "-o", "x" * 300], "file name too long; choose a shorter name"),
    "checkpoint in the folder": (None, ["fit", "t.csv", "-o", "new", "--checkpoint", "new/c"], "put it elsewhere"),
    "checkpoint the folder": (None, ["fit", "t.csv", "-o", "new", "--checkpoint", "new"], "put it elsewhere"),
    "checkpoint DATA": (
        None,
        ["fit", "t.csv", *QUICK, "-o", "new", "--checkpoint", "t.csv"],
        "is not a file of hicorex",
    ),
    "checkpoint a model": (
        None,
        ["fit", "t.csv", *QUICK, "-o", "new", "--checkpoint", "ours.model.hicorex"],
        "is a model; a checkpoint is needed",
    ),
    "labels over DATA": (None, ["transform", "r", "t.csv", "-o", "t.csv", OVER], "--out t.csv is DATA (t.csv)"),
    "labels over DATA by a path": (None, ["transform", "r", "t.csv", "-o", "r/../t.csv", OVER], "is DATA ("),
    "labels over DATA by a link": (
        links(("t.csv", "l.csv")),
        ["transform", "r", "t.csv", "-o", "l.csv", OVER],
        "--out l.csv is DATA (t.csv); choose another name",
    ),
    "labels over DATA by a hard link": (
        links(("t.csv", "l.csv"), how=os.link),
        ["transform", "r", "t.csv", "-o", "l.csv", OVER],
        "is DATA (",
    ),
    "labels over DATA of ours": (
        None,
        ["transform", "r", "ours.labels.csv", "-o", "ours.labels.csv", OVER],
        "is DATA (",
    ),
    "labels over MODEL": (
        lambda: os.rename("ours.model.hicorex", "m.csv"),
        ["transform", "m.csv", "t.csv", "-o", "m.csv", OVER],
        "--out m.csv is MODEL (m.csv)",
    ),
    "labels over the model of a folder": (
        links(("r/model.hicorex", "m.csv")),
        ["transform", "r", "t.csv", "-o", "m.csv", OVER],
        "is MODEL (r)",
    ),
    "labels over a model file": (None, ["transform", "r", "t.csv", "-o", "r/model.hicorex", OVER], "as CSV or Parquet"),
    "labels among DATA": (
        data_folder,
        ["transform", "r", "parts", "-o", "parts/l.parquet"],
        "is in DATA (parts), a folder",
    ),
    "labels over a thesis": (None, ["transform", "r", "t.csv", "-o", "thesis.docx", OVER], "as CSV or Parquet"),
    "labels over labels": (
        None,
        ["transform", "r", "t.csv", "-o", "ours.labels.csv"],
        "is there already; choose another name, or add --overwrite to replace it",
    ),
    "labels over another table": (
        None,
        ["transform", "r", "t.csv", "-o", "groups.csv", OVER],
        "groups.csv is not a table of labels that hicorex has written; choose another name, or move it away",
    ),
    "labels over another Parquet": (
        None,
        ["transform", "r", "t.csv", "-o", "own.parquet", OVER],
        "not a table of labels",
    ),
    "labels over samples": (None, ["transform", "r", "t.csv", "-o", "ours.samples.csv", OVER], "not a table of labels"),
    "samples over labels": (None, ["score", "r", "t.csv", "-o", "ours.labels.csv", OVER], "not a table of samples"),
    "samples over DATA": (None, ["score", "r", "t.csv", "-o", "t.csv", OVER], "is DATA ("),
    "a folder for a file": (None, ["transform", "r", "t.csv", "-o", "r"], "r is a folder; give the name of a file"),
    "a slash": (None, ["transform", "r", "t.csv", "-o", "new.csv/"], "--out new.csv/ is the name of a folder"),
    "no such folder": (None, ["transform", "r", "t.csv", "-o", "no/l.csv"], "no is not there; make that folder first"),
    "labels below a file": (
        None,
        ["score", "r", "t.csv", "-o", "t.csv/l.csv"],
        "t.csv/l.csv cannot be written: t.csv is a file; choose another place",
    ),
    "report over a page": (
        None,
        ["report", "r", "-o", "page.html", OVER],
        "page.html is not a report that hicorex has",
    ),
    "report over a report": (None, ["report", "r", "-o", "ours.report.html"], "is there already; choose another name"),
    "report over a folder": (
        make_folder("report.html"),
        ["report", "r", OVER],
        "report.html is a folder; give the name",
    ),
    "report over --groups": (
        lambda: os.rename("groups.csv", "g.html"),
        ["report", "r", "--groups", "g.html", "-o", "g.html", OVER],
        "--out g.html is the file of --groups (g.html)",
    ),
    "report over DATA": (
        lambda: os.rename("t.csv", "t.html"),
        ["report", "r", "t.html", "-o", "t.html", OVER],
        "--out t.html is DATA (t.html)",
    ),
    "report in no folder": (None, ["report", "r", "-o", "no/r.html"], "no is not there; make that folder first"),
    "demo over a table": (
        lambda: os.rename("t.csv", "tree.csv"),
        ["demo", "-o", ".", OVER],
        "tree.csv is not a table of the demo that hicorex has written; choose another folder",
    ),
    "demo over a folder": (
        make_folder("example2"),
        ["demo", "-o", ".", OVER],
        "example2 holds diary, which is not a result",
    ),
    "demo over results": (lambda: os.rename("r", "tree"), ["demo", "-o", "."], "tree is not empty"),
    "demo over a file": (None, ["demo", "-o", "thesis.docx"], "thesis.docx is a file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_cost_something_is_refused_before_any_work(case, here, run):
    before, words, message = REFUSED[case]
    if before is not None:
        before()
    found = seen(here)
    done = run(*words)
    assert done.code == 2
    last = done.err.splitlines()[-1]
    assert last.startswith("hicorex: ")
    assert message in last
    assert done.out == ""
    assert seen(here) == found


def test_there_are_enough_cases():
    assert len(REFUSED) >= 30


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "-", "-o", "r", OVER], IN_FOLDER),
        (["transform", "r", "-", "-o", "r/labels.csv", OVER], "--out r/labels.csv is DATA (standard input)"),
    ],
)
def test_files_that_are_standard_input_are_known(words, message, here, run):
    found = seen(here)
    kept, file = os.dup(0), os.open("r/labels.csv", os.O_RDONLY)
    os.dup2(file, 0)
    try:
        done = run(*words)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(file)
    assert done.code == 2
    assert message in done.err
    assert seen(here) == found


@pytest.mark.parametrize("name", [*RESULTS, "checkpoint"])
def test_what_hicorex_writes_is_known_and_no_other_kind(name, made, tmp_path):
    path = made / "r" / name
    if name == "samples.parquet":
        path = tmp_path / name
        pd.read_csv(made / "r" / "samples.csv").to_parquet(path, index=False)
    if name == "checkpoint":
        path = tmp_path / name
        hicorex.Corex(1, n_init=1, max_iter=5, random_state=0).fit(TABLE, checkpoint=path)
    assert {kind for kind in BEGINNINGS if is_written(path, kind)} == {RESULTS.get(name)} - {None}


def test_tables_of_other_titles_are_known(here, run):
    """What the rows are called may be anything."""
    named = TABLE.assign(id=[f"n{i}" for i in range(30)])
    named.columns = [*"abcd", 'what, "so"\ncalled']
    named[[*named.columns[-1:], *"abcd"]].to_csv("named.csv", index=False)
    for words in (("transform", "r", "named.csv", "-o", "l.csv"), ("score", "r", "named.csv", "-o", "s.parquet")):
        for more in ((), (OVER,)):
            assert run(*words, *more).code == 0
        assert run(*words).code == 2
    assert Path("l.csv").read_text().startswith('"what, ""so""')


def test_with_overwrite_what_hicorex_wrote_is_replaced_as_it_was(here, run):
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


def test_the_current_folder_and_the_root_of_a_disk_are_filled(here, run, monkeypatch):
    os.makedirs("disk/lost+found")
    Path("disk/.trash").write_text("mine")
    monkeypatch.chdir("disk")
    inode = os.stat(".").st_ino
    assert run("fit", "../t.csv", *QUICK, "-o", ".").code == 0
    assert os.stat(".").st_ino == inode
    assert {".trash", "lost+found", "model.hicorex"} < {*os.listdir()}
    assert "disk.checkpoint" not in os.listdir("..")


def test_new_folders_follow_the_mask(here, run):
    before = os.umask(0o027)
    try:
        assert run("fit", "t.csv", *QUICK, "-o", "new/r").code == 0
    finally:
        os.umask(before)
    for name, mode in (("new", 0o750), ("new/r", 0o750), ("new/r/labels.csv", 0o640)):
        assert stat.S_IMODE(os.stat(name).st_mode) == mode


def test_a_fit_completes_what_one_that_was_killed_has_left(here, run):
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
def test_two_fits_do_not_write_to_one_folder_at_once(out, here, run):
    """The second is told before it has begun; the first may be killed."""
    ready = os.pipe()
    child = os.fork()
    if child == 0:
        with claimed_folder(out):
            os.write(ready[1], b".")
            time.sleep(600)
    os.read(ready[0], 1)
    found = {file: about[:3] for file, about in seen(here).items()}
    words = ("fit", "t.csv", *QUICK[:-1], "-o", out, OVER)
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"hicorex: Another run is writing to {out}; wait for it, or choose another folder.\n")
    assert {file: about[:3] for file, about in seen(here).items()} == found
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    done = run(*words)
    assert done.code == 0
    assert re.search(r"hicorex: Removed .*\.draft, which a run that was killed has left\.\n", done.err)
    assert not [file for file in seen(here) if "draft" in file]


def test_results_of_others_are_not_completed_over_own_files(here, run):
    os.mkdir("r/.hicorex-ready")
    Path("r/.hicorex-ready/.going").write_text('["labels.csv"]')
    shutil.copy("groups.csv", "r/labels.csv")
    found = seen(here)
    assert f"labels.csv, {NOT_OURS}" in run("fit", "t.csv", "-o", "r", OVER).err
    assert seen(here) == found


def test_the_device_of_standard_output_is_standard_output(here, run):
    """Which may be a file that a shell adds to, by >>."""
    for name in ("/dev/stdout", "/dev/fd/1", "-"):
        assert run("transform", "r", "t.csv", "-o", name).out == Path("r/labels.csv").read_text()


def test_pipes_of_any_name_take_labels(here, run):
    os.mkfifo("pipe.gz")
    reader = os.open("pipe.gz", os.O_RDONLY | os.O_NONBLOCK)
    assert run("transform", "r", "t.csv", "-o", "pipe.gz").code == 0
    assert os.read(reader, 10**6) == Path("r/labels.csv").read_bytes()
    os.close(reader)


def test_python_replaces_files_and_no_folders(here):
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
