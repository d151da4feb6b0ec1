"""The commands, as somebody at a terminal gives them."""

import io
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from conftest import PROJECT, WINE
from sklearn.datasets import load_wine

import hicorex
from hicorex.cli.folder import NAMES
from hicorex.cli.options import Structure
from hicorex.layer.structure import RULES
from hicorex.storage.outputs import is_written

COMMANDS = ("fit", "transform", "score", "report", "edit", "describe", "associate", "enrich", "compare", "demo")


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


def test_help_version_and_completion_are_there(run):
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
    load_wine(as_frame=True).target.rename("grower").to_csv(tmp_path / "growers.csv", index=False)
    groups = ["phenols" if "phen" in name or "flav" in name else "other" for name in WINE]
    pd.DataFrame({"column": list(WINE), "substance": groups}).to_csv(tmp_path / "substances.csv", index=False)
    for command in COMMANDS[:-1]:  # the demo has a test of its own
        (example,) = re.findall(r"\$ hicorex (.*)", run(command, "--help").out)
        assert example.startswith(command)
        done = run(*example.split())
        assert done.code == 0, done.err
    results = ["a.hicorex", "labels.csv", "samples.csv", "wine-results", "wine.html"]
    assert sorted(os.listdir(tmp_path)) == sorted([*results, "growers.csv", "substances.csv", "wine.csv"])
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
    told = json.loads((out / "bounds.json").read_text())
    assert told["in_sample"]["lower"] == model.bounds_.lower
    assert told["cross_fitted"]["lower"] == model.cross_fitted_.lower < model.bounds_.lower
    assert f"The factors explain at least {model.cross_fitted_.lower:.4g} nats" in wine.out
    assert "cross-fitting: done" in wine.err
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
    model = hicorex.HierarchicalCorex((3, 1), n_states=3, random_state=0).fit(WINE)
    loaded = hicorex.load(tmp_path / "wine-results" / "model.hicorex")
    np.testing.assert_array_equal(loaded.layers_[0].alpha_, model.layers_[0].alpha_)
    assert loaded.bounds_.lower == model.bounds_.lower
    assert loaded.cross_fitted_ == model.cross_fitted_


def test_folds_can_be_left_out_or_be_others(wine, run, tmp_path):
    given = ("fit", "wine.csv", "--layers", "2", "--states", "2", "--starts", "1")
    without = run(*given, "--out", "without", "--folds", "0")
    assert without.code == 0, without.err
    assert "On the samples of the fit the factors explain" in without.out
    assert "it was not cross-fitted" in " ".join(without.out.split())
    assert json.loads((tmp_path / "without" / "bounds.json").read_text())["cross_fitted"] is None
    three = run(*given, "--out", "three", "--folds", "3")
    assert three.code == 0, three.err
    model = hicorex.load(tmp_path / "three")
    assert model.cross_fitted_ == model.bounds(WINE, cv=3)
    assert model.cross_fitted_.n_samples == 178
    for folds in ("1", "90"):
        done = run(*given, "--out", "refused", "--folds", folds)
        assert done.code == 2
        assert f"--folds {folds}: give from 2 to 89 for this table, or 0" in done.err
    assert not (tmp_path / "refused").exists()


def test_files_and_pipes_are_labelled_and_scored_alike(wine, run, tmp_path):
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


def test_quiet_prints_nothing_and_json_nothing_else(run, tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    quiet = run("fit", "wine.csv", "--layers", "2", "--quiet")
    assert (quiet.out, quiet.err, quiet.code) == ("", "", 0)
    assert os.path.isdir("wine-hicorex")
    told = run("fit", "wine.csv", "--layers", "2", "--json", "--overwrite")
    assert told.err == ""
    assert json.loads(told.out)["layers"] == [2]
    assert json.loads(told.out)["results"] == "wine-hicorex"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints, and the folder it was run in."""
    folder = tmp_path_factory.mktemp("demo")
    words = [sys.executable, "-m", "hicorex", "demo"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout, folder


def test_demo_shows_truth_bounds_and_structure(demo):
    printed, folder = demo
    assert printed.count("adjusted Rand index: 1.00") == 2
    assert printed.count("<= TC(X)") == 6
    assert "layers found: 12, 3, 1; there is one factor on top" in printed
    for name in ("example1", "example2", "tree", "breast_cancer"):
        assert sorted(os.listdir(folder / "demo-output" / name)) == sorted(NAMES)
        assert is_written(folder / "demo-output" / f"{name}.csv", "example")  # so that --overwrite replaces it
    counts = re.findall(r"state \d: +(\d+)", printed)
    by_state = np.array(counts, int).reshape(2, -1)  # malignant and benign
    assert by_state.sum() == 569
    assert by_state.max(axis=0).sum() > 0.85 * 569  # told by the likelier one of each state


def test_the_commands_of_the_readme_say_what_it_says(demo, run, monkeypatch):
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


def test_noise_is_told_as_such(run, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(100, 4)))
    said = run("fit", "x.npy", "--layers", "auto").out
    assert "There is no further layer: in layer 1, 1 factor explains -" in said
    assert "no more than chance." in " ".join(said.split())


def test_the_command_line_knows_every_structure_rule():
    assert {rule.value for rule in Structure} == set(RULES)
