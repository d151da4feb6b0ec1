"""No output costs a user anything: what would is refused before any work."""

import os
import shutil
from pathlib import Path

import pytest
from result_folders import IN_FOLDER, NOT_OURS, OVER, QUICK, seen


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
def test_what_would_cost_something_is_refused_before_any_work(case, work_folder, run):
    before, words, message = REFUSED[case]
    if before is not None:
        before()
    found = seen(work_folder)
    done = run(*words)
    assert done.code == 2
    last = done.err.splitlines()[-1]
    assert last.startswith("hicorex: ")
    assert message in last
    assert done.out == ""
    assert seen(work_folder) == found


def test_there_are_enough_cases():
    assert len(REFUSED) >= 30


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "-", "-o", "r", OVER], IN_FOLDER),
        (["transform", "r", "-", "-o", "r/labels.csv", OVER], "--out r/labels.csv is DATA (standard input)"),
    ],
)
def test_files_that_are_standard_input_are_known(words, message, work_folder, run):
    found = seen(work_folder)
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
    assert seen(work_folder) == found
