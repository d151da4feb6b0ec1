"""The command line, as somebody at a terminal meets it."""

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import PROJECT
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

import hicorex
from hicorex import cli
from hicorex.cli import ending
from hicorex.cli.folder import NAMES
from hicorex.storage.outputs import is_written

WINE = load_wine(as_frame=True).data
COMMANDS = ("fit", "transform", "score", "report", "describe", "demo")


@pytest.fixture
def wine(run, tmp_path):
    """A table in a file, and a model of it."""
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    done = run("fit", "wine.csv", "--layers", "3,1", "--states", "3", "--out", "wine-results")
    assert done.code == 0, done.err
    return done


def test_help_comes_at_once():
    def seconds():
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hicorex", "--help"], check=True, capture_output=True)
        return time.perf_counter() - begun

    assert min(seconds() for _ in range(5)) < 0.5
    code = (
        "import sys, hicorex.cli; print(sorted({'sklearn', 'numba', 'pyarrow', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_help_version_and_completion(run):
    assert "Commands:" in run("--help").out
    assert run().out == run("--help").out
    assert run("--version").out == f"{hicorex.__version__}\n"
    for command in COMMANDS:
        assert command in run("--help").out
        assert run(command, "--help").code == 0
    environment = os.environ | {"_HICOREX_COMPLETE": "complete_bash", "COMP_WORDS": "hicorex tr", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'hicorex'; from hicorex.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.stdout.split() == ["transform"]


def test_examples_of_the_help_work(run, tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    for command in COMMANDS[:-1]:  # the demo has a test of its own
        (example,) = re.findall(r"\$ hicorex (.*)", run(command, "--help").out)
        assert example.startswith(command)
        done = run(*example.split())
        assert done.code == 0, done.err
    assert sorted(os.listdir(tmp_path)) == ["labels.csv", "samples.csv", "wine-results", "wine.csv", "wine.html"]
    assert "hicorex demo --out" in run("demo", "--help").out


def test_fit_writes_what_the_model_says(wine, tmp_path):
    out = tmp_path / "wine-results"
    assert sorted(os.listdir(out)) == sorted(NAMES)
    assert sorted(os.listdir(tmp_path)) == ["wine-results", "wine.csv"]  # no checkpoint, no draft
    model = hicorex.load(out / "model.hicorex")
    labels = pd.read_csv(out / "labels.csv")
    assert list(labels.columns) == ["row", *model.get_feature_names_out()]
    np.testing.assert_array_equal(labels.iloc[:, 1:], model.transform(WINE))
    np.testing.assert_array_equal(labels["row"], np.arange(178))
    samples = pd.read_csv(out / "samples.csv", float_precision="round_trip")  # not by itself before pandas 3
    np.testing.assert_array_equal(samples["surprise"], model.surprise(WINE).samples)
    assert json.loads((out / "bounds.json").read_text())["lower"] == model.bounds_.lower
    assert wine.out.startswith("178 samples, 13 variables; 4 factors in 2 layers (3, 1).\n")
    assert wine.out.endswith("Results are in wine-results/; open wine-results/report.html in a browser.\n")
    assert "gaussian" in wine.err
    assert "layer 2: done" in wine.err


def test_reports_are_coloured_by_groups(wine, run, tmp_path):
    groups = tmp_path / "groups.csv"
    groups.write_text("what,measure\n" + "".join(f"{name},{name[0]} things\n" for name in WINE))
    done = run("report", "wine-results", "wine.csv", "--groups", "groups.csv", "--title", "Wines & growers")
    assert (done.code, done.out) == (0, "The report is in report.html; open it in a browser.\n")
    page = (tmp_path / "report.html").read_text()
    assert "<title>Wines &amp; growers</title>" in page
    assert '"title":"measure"' in page
    assert "give them to see which are surprising" not in page
    assert run("report", "wine-results", "--out", "alone.html").code == 0
    assert "give them to see which are surprising" in (tmp_path / "alone.html").read_text()
    fitted = run("fit", "wine.csv", "--layers", "2", "--starts", "1", "--out", "r", "--groups", "groups.csv", "--quiet")
    assert fitted.code == 0
    assert '"title":"measure"' in (tmp_path / "r" / "report.html").read_text()
    assert "<title>wine</title>" in (tmp_path / "r" / "report.html").read_text()


def test_the_report_of_a_fit_is_that_of_its_samples(wine, run, tmp_path):
    assert run("report", "wine-results", "wine.csv", "--out", "again.html").code == 0
    written, again = ((tmp_path / name).read_text() for name in ("wine-results/report.html", "again.html"))
    assert written.split('<section id="made"')[0] == again.split('<section id="made"')[0].replace("again", "wine")
    assert "Columns of the file" in written  # only the fit has decided on them
    assert "13 columns" not in again


def test_fit_from_the_command_line_is_that_of_python(wine, tmp_path):
    model = hicorex.HierarchicalCorex((3, 1), n_states=3, marginals="gaussian", random_state=0).fit(WINE)
    loaded = hicorex.load(tmp_path / "wine-results" / "model.hicorex")
    np.testing.assert_array_equal(loaded.layers_[0].alpha_, model.layers_[0].alpha_)
    assert loaded.bounds_.lower == model.bounds_.lower


def test_transform_and_score_of_files_and_pipes(wine, run, tmp_path):
    labels = (tmp_path / "wine-results" / "labels.csv").read_text()
    assert run("transform", "wine-results", "wine.csv").out == labels
    assert run("transform", "wine-results/model.hicorex", "-", stdin=WINE.to_csv(index=False).encode()).out == labels
    assert run("transform", "wine-results", "wine.csv", "-o", "l.parquet").out == ""
    pd.testing.assert_frame_equal(
        pd.read_parquet("l.parquet"), pd.read_parquet("wine-results/labels.parquet"), check_dtype=True
    )
    samples = (tmp_path / "wine-results" / "samples.csv").read_text()
    assert run("score", "wine-results", "wine.csv", "--out", "-").out == samples
    told = run("score", "wine-results", "wine.csv", "--json", "--out", "s.csv").out
    assert (tmp_path / "s.csv").read_text() == samples
    model = hicorex.load("wine-results/model.hicorex")
    assert json.loads(told)["lower"] == model.bounds(WINE).lower
    assert run("score", "wine-results", "wine.csv").out == f"{model.bounds(WINE)}\n"
    # Other columns, another order and an identifier do no harm.
    other = WINE.iloc[:5, ::-1].assign(note="x")
    other.insert(0, "bottle", [f"b{i}" for i in range(5)])
    shown = run("transform", "wine-results", "-", stdin=other.to_csv(index=False).encode()).out
    assert shown.splitlines()[0].startswith('"bottle","layer1_factor0"')
    expected = pd.read_csv(io.StringIO(labels)).iloc[:5, 1:]
    np.testing.assert_array_equal(pd.read_csv(io.StringIO(shown)).iloc[:, 1:], expected)


def test_describe_says_what_fit_said(wine, run):
    summary = run("describe", "wine-results").out
    assert wine.out.startswith(summary.rstrip("\n"))
    told = json.loads(run("describe", "wine-results", "--json").out)
    assert told["layers"] == [3, 1]
    assert told["n_variables"] == 13


def test_quiet_and_json(run, tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    quiet = run("fit", "wine.csv", "--layers", "2", "--quiet")
    assert (quiet.out, quiet.err, quiet.code) == ("", "", 0)
    assert os.path.isdir("wine-hicorex")
    told = run("fit", "wine.csv", "--layers", "2", "--json", "--overwrite")
    assert told.err == ""
    assert json.loads(told.out)["layers"] == [2]
    assert json.loads(told.out)["results"] == "wine-hicorex"


def test_missing_markers_of_the_fit_hold_for_new_samples(run, tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 1))
    table = pd.DataFrame(hidden + rng.normal(size=(200, 6)), columns=list("abcdef")).round(3)
    table.insert(0, "name", [f"row {i}" for i in range(200)])
    table.loc[::7, "b"] = -999
    table.to_csv(tmp_path / "t.csv", index=False)
    assert run("fit", "t.csv", "--layers", "1", "--missing", "-999", "--out", "r").code == 0
    columns = pd.read_csv("r/columns.csv").set_index("column")
    assert columns.loc["name", "kind"] == "row names"
    assert columns.loc["b", "missing"] == pytest.approx(29 / 200)
    assert run("transform", "r", "t.csv").out == (tmp_path / "r" / "labels.csv").read_text()


def test_weights_and_kinds(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100, 1)) + rng.normal(size=(100, 4)), columns=list("abcd"))
    table["w"] = rng.integers(1, 5, 100)
    table["q"] = rng.integers(1, 4, 100)
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", "t.csv", "--layers", "1", "--weights", "w", "--kinds", "a=rank,b*=rank", "--out", "r")
    assert done.code == 0, done.err
    kinds = pd.read_csv("r/columns.csv").set_index("column")["kind"].to_dict()
    assert kinds == {"a": "rank", "b": "rank", "c": "gaussian", "d": "gaussian", "w": "weights", "q": "categorical"}
    model = hicorex.load("r/model.hicorex")
    assert model.layers_[0].fitted_.layers[0].encoder.kinds == ["rank", "rank", "gaussian", "gaussian", "categorical"]
    again = hicorex.HierarchicalCorex((1,), marginals=model.marginals, random_state=0)
    again.fit(table[list("abcdq")], sample_weight=table["w"])
    np.testing.assert_allclose(again.layers_[0].alpha_, model.layers_[0].alpha_)
    np.testing.assert_allclose(again.tc_, model.tc_)


def test_a_messy_file_is_read_with_a_decision_on_each_column(run, tmp_path):
    """Quotes, a byte order mark, semicolons, decimal commas, mixed line ends, an id, dates, an empty column,
    names twice and a long text a row, all in one file."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=120)
    lines = ["id;day;size;size;colour;note;nothing;answer"]
    for i, coin in enumerate(hidden):
        numbers = [f"{coin + rng.normal(scale=0.3):.3f}".replace(".", ",") for _ in range(2)]
        colour = rng.choice(['"red; or ""so"""', "blue"], p=[0.9 - 0.8 * coin, 0.1 + 0.8 * coin])
        note = f'"It was a ""dark"" night;\nnumber {i} of them all, {rng.random()}"'
        lines.append(f"P{i:03};{i % 28 + 1:02}.03.2024;{';'.join(numbers)};{colour};{note};;{coin + 1}")
    ends = rng.choice(["\r\n", "\n"], len(lines))
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    (tmp_path / "messy.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    done = run("fit", "messy.csv", "--layers", "1", "--out", "r")
    assert done.code == 0, done.err
    columns = pd.read_csv("r/columns.csv")
    assert list(zip(columns["column"], columns["kind"], strict=True)) == [
        ("id", "row names"),
        ("day", "ignored"),
        ("size", "gaussian"),
        ("size_2", "gaussian"),
        ("colour", "categorical"),
        ("note", "ignored"),
        ("nothing", "ignored"),
        ("answer", "categorical"),
    ]
    for word in ("semicolon|';'", "decimal comma", "size_2", "dates", "empty"):
        assert re.search(word, done.err), word
    labels = pd.read_csv("r/labels.csv")
    assert labels["id"].tolist() == [f"P{i:03}" for i in range(120)]
    assert adjusted_rand_score(hidden, labels["layer1_factor0"]) > 0.9


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
    "states of sizes to be found": (["fit", "wine.csv", "--states", "2,2,2,2"], "--states 2,2,2,2: give one number"),
    "states": (["fit", "wine.csv", "--layers", "3,1", "--states", "2,2,2"], "one for each of the layers"),
    "one state": (["fit", "wine.csv", "--layers", "3", "--states", "1"], "--states 1: give a factor 2 to 100 states"),
    "one column": (["fit", "wine.csv", "--use", "ash"], "one column to learn from, 'ash', and nothing to relate it"),
    "a title": (["fit", "title.csv"], "title.csv, line 1: it looks like a title above the names; delete that line"),
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
    model = hicorex.Corex(2, random_state=0).fit(WINE)
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


def test_debug_shows_where(run, odd_files, monkeypatch, capsys):
    monkeypatch.chdir(odd_files)
    monkeypatch.setattr(sys, "argv", ["hicorex", "describe", "wine.csv", "--debug"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert re.search(r"Traceback.*in from_bytes.*HicorexError: wine.csv is not", capsys.readouterr().err, re.DOTALL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints, and the folder it was run in."""
    folder = tmp_path_factory.mktemp("demo")
    words = [sys.executable, "-m", "hicorex", "demo"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout, folder


def test_demo_shows_truth_bounds_and_structure(demo):
    printed, folder = demo
    assert printed.count("adjusted Rand index: 1.00") == 2
    assert printed.count("<= TC(X)") == 5
    assert "layers found: 12, 3, 1; there is one factor on top" in printed
    for name in ("example1", "example2", "tree", "breast_cancer"):
        assert sorted(os.listdir(folder / "demo-output" / name)) == sorted(NAMES)
        assert is_written(folder / "demo-output" / f"{name}.csv", "example")  # so that --overwrite replaces it
    counts = re.findall(r"state \d: +(\d+)", printed)
    malignant, benign = np.array(counts, int).reshape(2, 2)
    assert max(malignant[0] + benign[1], malignant[1] + benign[0]) / 569 > 0.9


def test_the_commands_of_the_readme(demo, run, monkeypatch):
    printed, folder = demo
    monkeypatch.chdir(folder)
    readme = (PROJECT / "README.md").read_text()
    first, *commands = re.findall(r"^\$ hicorex (.*)$", readme, re.MULTILINE)
    assert first == "demo"
    assert [command.split()[0] for command in commands] == ["fit", "describe", "transform", "score", "report"]
    said = {}
    for command in commands:
        done = run(*command.split())
        assert done.code == 0, done.err
        said[command.split()[0]] = done.out
    claimed = readme.split("and says:\n\n```\n")[1].split("  ...")[0]
    assert said["fit"].startswith(claimed)
    assert sorted(os.listdir(folder)) == ["cells", "demo-output", "labels.csv", "new.html", "samples.csv"]
    for name in ("labels.csv", "samples.csv"):
        assert (folder / name).read_text() == (folder / "cells" / name).read_text()
    # The demo says how to get its results by the command.
    (command,) = re.findall(r"the same as: hicorex (.*)", printed)
    raw = (folder / "demo-output" / "breast_cancer" / "labels.csv").read_bytes()
    assert run(*command.split(), "--overwrite", "--quiet").code == 0
    assert (folder / "demo-output" / "breast_cancer" / "labels.csv").read_bytes() == raw


def test_sparse_matrices_give_the_results_of_dense_ones(run, tmp_path):
    rng = np.random.default_rng(0)
    topics = rng.random((2000, 4)) < 0.3
    table = (rng.random((2000, 4, 1250)) < np.where(topics, 0.004, 0.0005)[:, :, None]).astype(int)
    table[:, :, :5] |= topics[:, :, None]
    table = table.reshape(2000, 5000)
    sparse.save_npz("s.npz", sparse.csr_array(table))
    np.save("d.npy", table.astype(np.int8))
    for name in ("s.npz", "d.npy"):
        done = run("fit", name, "--layers", "4", "--starts", "1", "--quiet", "--out", name[0])
        assert done.code == 0, done.err
    assert sorted(os.listdir("s")) == sorted(NAMES)
    for name in ("labels.csv", "labels.parquet"):
        assert (tmp_path / "s" / name).read_bytes() == (tmp_path / "d" / name).read_bytes()
    one, other = (pd.read_csv(f"{own}/samples.csv") for own in "sd")
    assert set(one["most_surprised_factor"]) == set(other["most_surprised_factor"])
    numbers = ["total_correlation", "surprise", "factor_surprise"]  # of a fit in single precision
    pd.testing.assert_frame_equal(one[numbers], other[numbers], rtol=1e-3, atol=1e-3)
    assert hicorex.load("s").bounds_.lower == pytest.approx(hicorex.load("d").bounds_.lower, rel=1e-4)
    assert run("transform", "s", "s.npz").out == (tmp_path / "s" / "labels.csv").read_text()
    told = [json.loads(run("score", own[0], own, "--json").out)["lower"] for own in ("s.npz", "d.npy")]
    assert told[0] == pytest.approx(told[1], rel=1e-4)


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_columns_of_arrays_that_are_left_out_keep_their_numbers(form, run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=(300, 2))
    table = np.repeat(hidden, 4, axis=1) ^ (rng.random((300, 8)) < 0.1)
    table = np.hstack([table, np.zeros((300, 40), int)])[:, [0, 8, *range(1, 8), *range(9, 48)]].astype(np.int8)
    name = f"t.{form}"
    sparse.save_npz(name, sparse.csr_array(table)) if form == "npz" else np.save(name, table)
    words = ["--layers", "2", "--starts", "2", "--exclude", "x4", "--out"]
    assert run("fit", name, *words, "r").code == 0
    assert set(pd.read_csv("r/structure.csv")["variable"]) == {"x0", "x2", "x3", "x5", "x6", "x7", "x8"}
    assert run("transform", "r", name).out == (tmp_path / "r" / "labels.csv").read_text()
    if form == "npy":
        monkeypatch.setattr("hicorex.cli.large.OF_FREE", 10**12)
        monkeypatch.setattr("hicorex.cli.large._be_lean", lambda: None)
        assert run("fit", name, *words, "parts").code == 0
        for file in ("structure.csv", "labels.csv"):
            assert (tmp_path / "parts" / file).read_text() == (tmp_path / "r" / file).read_text()
        assert run("transform", "r", name).out == (tmp_path / "r" / "labels.csv").read_text()


def with_files_of(most, folder, *words, stdout=subprocess.PIPE):
    """A command in a process of its own, whose files may have so many bytes, as if the disk were full then."""
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


def start(folder, *words):
    # A shell's background jobs ignore interrupts, and so would their children.
    return subprocess.Popen(
        [sys.executable, "-m", "hicorex", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_interrupts_stop_within_a_second_and_lose_nothing(tmp_path):
    """Ctrl-C, a cluster's SIGTERM and a closed terminal at some moments of a fit, which goes on to the same bits."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(1500, 400)))
    words = ("fit", "x.npy", "--layers", "30", "--structure", "overlap", "--starts", "6", "--checkpoint-every", "0.2")
    rng = np.random.default_rng(0)
    path = tmp_path / "r.checkpoint"
    waits = []
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        before = path.stat().st_mtime_ns if path.exists() else 0
        fit = start(tmp_path, *words, "--out", "r")
        while fit.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
            time.sleep(0.01)
        time.sleep(0.5 * rng.random())
        begun = time.perf_counter()
        fit.send_signal(number)
        _, told = fit.communicate(timeout=60)
        waits.append(time.perf_counter() - begun)
        assert fit.returncode == code, told
        assert told.splitlines()[-1] == (
            "hicorex: stopped; the fit so far is in r.checkpoint; give the same command again to go on."
        )
        assert sorted(os.listdir(tmp_path)) == ["r.checkpoint", "x.npy"]
    assert sorted(waits)[1] < 1, waits  # a busy machine may hold up one of them
    for out in ("r", "whole"):
        _, told = start(tmp_path, *words, "--out", out).communicate(timeout=300)
        assert ("Going on from r.checkpoint." in told) == (out == "r")
    assert (tmp_path / "r" / "model.hicorex").read_bytes() == (tmp_path / "whole" / "model.hicorex").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["r", "whole", "x.npy"]


def test_what_takes_long_after_a_stop_is_told(run, capsys, monkeypatch):
    monkeypatch.setattr(ending, "PATIENCE", 0.01)
    monkeypatch.setattr(ending.Settings, "stop_code", 0)
    run("--version")  # which listens to signals
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    assert ending.Settings.stop_code == 129
    time.sleep(0.2)
    assert capsys.readouterr().err == "hicorex: stopped; ending, a moment ...\n"
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run("--version")
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as nohup wants it


def test_closed_pipe_is_no_error(wine, tmp_path):
    pd.concat([WINE] * 100).to_csv(tmp_path / "long.csv", index=False)  # more than a pipe holds
    command = f"{sys.executable} -m hicorex transform wine-results long.csv | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith('"row"')
    assert done.stderr == ""


def test_runs_without_a_home_folder(tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "NUMBA_CACHE_DIR")}
    words = [sys.executable, "-m", "hicorex", "fit", "wine.csv", "--layers", "2", "--quiet"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_big5_straight_from_the_file(run, real_data, tmp_path):
    file = real_data / "big5" / "big5_full.csv.gz"
    people = "race,age,engnat,gender,hand,source,country"
    done = run("fit", file, "--missing", "0", "--exclude", people, "--layers", "5", "--states", "3", "--out", "r")
    assert done.code == 0, done.err
    found = pd.read_csv("r/structure.csv").query("cluster")
    assert len(found) == 50
    assert adjusted_rand_score(found["variable"].str[0], found["factor"]) > 0.9


def test_census_straight_from_the_file(run, real_data):
    file = real_data / "census_kdd" / "census_income_kdd.parquet"
    words = ("--layers", "4", "--starts", "2", "--exclude", "split", "--weights", "instance_weight", "--out", "r")
    done = run("fit", file, *words)
    assert done.code == 0, done.err
    columns = pd.read_csv("r/columns.csv").set_index("column")["kind"]
    assert columns.value_counts().to_dict() == {"categorical": 35, "gaussian": 6, "weights": 1, "ignored": 1}
    assert json.loads(Path("r/bounds.json").read_text())["lower"] > 5
    assert "heavy tails in 'wage_per_hour'" in " ".join(done.err.split())
    assert len(pd.read_parquet("r/labels.parquet")) == 299_285


def test_sentinels_are_told_and_words_are_missing_in_new_samples_too(run, tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 1))
    table = pd.DataFrame(10 + hidden + 0.5 * rng.normal(size=(200, 6)), columns=list("abcdef")).round(3).astype(object)
    table.loc[::9, "a"] = -999
    table.loc[::9, "b"] = -999
    table.loc[::50, "c"] = "unknown"
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", "t.csv", "--layers", "1", "--out", "r")
    said = " ".join(done.err.split())
    assert "-999 is in 2 columns, far from all other values: if it stands for a missing one, say --missing -999" in said
    assert "'unknown' read as missing" in pd.read_csv("r/columns.csv").set_index("column").loc["c", "why"]
    assert run("transform", "r", "t.csv").out == (tmp_path / "r" / "labels.csv").read_text()


def test_arrays_of_whole_numbers_go_through_all_commands(run, tmp_path):
    X = np.random.default_rng(0).integers(3, size=(80, 5))
    X[:, 1] = X[:, 0]
    np.save(tmp_path / "x.npy", X.astype(">i4"))
    assert run("fit", "x.npy", "--layers", "1", "--out", "new/r").code == 0
    done = run("transform", "new/r", "x.npy")
    assert (done.out, done.err) == ((tmp_path / "new" / "r" / "labels.csv").read_text(), "")
    pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False, header=False)
    assert run("transform", "new/r", "x.csv").out == done.out


def test_failed_fits_leave_no_folders(run, odd_files, tmp_path):
    assert run("fit", odd_files / "infinite.csv", "--out", "new/deep/r").code == 2
    assert not list(tmp_path.iterdir())


def test_noise_is_told_as_such(run, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(100, 4)))
    said = run("fit", "x.npy", "--layers", "auto").out
    assert "There is no further layer: in layer 1, 1 factor explains -" in said
    assert "no more than chance." in " ".join(said.split())
