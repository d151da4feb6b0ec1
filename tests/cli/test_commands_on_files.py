"""Commands on files of every kind: messy, sparse, weighted, real."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import hicorex
from hicorex.cli.folder import NAMES


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


def test_weights_and_kinds_are_those_of_the_options(run, tmp_path):
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
    again = hicorex.HierarchicalCorex((1,), n_states=2, marginals=model.marginals, random_state=0)
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
        ("day", "gaussian"),
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


def test_big5_is_read_straight_from_its_file(run, real_data, tmp_path):
    file = real_data / "big5" / "big5_full.csv.gz"
    people = "race,age,engnat,gender,hand,source,country"
    done = run("fit", file, "--missing", "0", "--exclude", people, "--layers", "5", "--states", "3", "--out", "r")
    assert done.code == 0, done.err
    found = pd.read_csv("r/structure.csv").query("cluster")
    assert len(found) == 50
    assert adjusted_rand_score(found["variable"].str[0], found["factor"]) > 0.9


def test_the_census_is_read_straight_from_its_file(run, real_data):
    file = real_data / "census_kdd" / "census_income_kdd.parquet"
    words = ("--layers", "4", "--starts", "2", "--exclude", "split", "--weights", "instance_weight", "--out", "r")
    done = run("fit", file, *words)
    assert done.code == 0, done.err
    columns = pd.read_csv("r/columns.csv").set_index("column")["kind"]
    assert columns.value_counts().to_dict() == {"categorical": 33, "gaussian": 5, "rank": 3, "weights": 1, "ignored": 1}
    assert json.loads(Path("r/bounds.json").read_text())["cross_fitted"]["lower"] > 5
    assert "99999 is in a column, far from all other values" in " ".join(done.err.split())
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
