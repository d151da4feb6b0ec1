"""Anchors and edits from the command line."""

import json

import pandas as pd
import pytest

import hicorex
from hicorex.datasets import make_latent_tree


@pytest.fixture
def table(tmp_path):
    X, _ = make_latent_tree(300, 12, 3, random_state=0)
    frame = pd.DataFrame(X, columns=[f"q{i}" for i in range(12)])
    frame.to_csv(tmp_path / "answers.csv", index=False)
    return frame


def fitted(run, tmp_path):
    (tmp_path / "themes.csv").write_text("factor,variable\nmood,q0\nmood,q3\n")
    done = run(
        *("fit", "answers.csv", "--layers", "3", "--states", "2", "--out", "results", "--anchors", "themes.csv"),
        *("--folds", "0", "--stability", "0", "--quiet"),
    )
    assert done.code == 0, done.err


def test_anchors_names_and_edits_go_through_files(run, tmp_path, table):
    fitted(run, tmp_path)
    model = hicorex.load(tmp_path / "results")
    assert model.get_feature_names_out()[0] == "mood"
    assert model.layers_[0].alpha_[[0, 3], 0].tolist() == [1, 1]
    labels = pd.read_csv(tmp_path / "results" / "labels.csv")
    assert labels.columns[1:].tolist() == ["layer1_factor0 mood", "layer1_factor1", "layer1_factor2"]
    assert "mood" in pd.read_csv(tmp_path / "results" / "factors.csv")["factor"].tolist()
    again = run(
        "fit",
        "answers.csv",
        "--layers",
        "3",
        "--states",
        "2",
        "--out",
        "results",
        "--overwrite",
        "--quiet",
        "--folds",
        "0",
        "--stability",
        "0",
        "--anchors",
        "themes.csv",
    )
    assert again.code == 0, again.err  # what it has written, names and all, is known again
    (tmp_path / "names.json").write_text(json.dumps({"layer1_factor1": "memory"}))
    done = run("edit", "results", "--names", "names.json", "--out", "named.hicorex")
    assert done.code == 0, done.err
    assert hicorex.load(tmp_path / "named.hicorex").get_feature_names_out()[:2].tolist() == ["mood", "memory"]
    done = run("edit", "named.hicorex", "answers.csv", "--drop", "memory", "--out", "fewer.hicorex")
    assert done.code == 0, done.err
    assert "<= TC(X)" in done.out
    assert hicorex.load(tmp_path / "fewer.hicorex").transform(table).shape == (300, 2)
    prompt = run("describe", "named.hicorex", "--names-prompt")
    assert "memory (layer 1, explains" in prompt.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("edit", "results"), "nothing to edit"),
        (("edit", "results", "--drop", "mood"), "--drop needs the samples"),
        (("edit", "results", "answers.csv", "--drop", "mood", "--split", "mood"), "two edits"),
        (("edit", "results", "answers.csv", "--drop", "nothing"), "no factor 'nothing'"),
        (("edit", "results", "--names", "themes.csv"), "needs the columns factor and name"),
        (("edit", "results", "--names", "none.csv"), "none.csv"),
        (("edit", "results", "answers.csv", "--drop", "mood", "--out", "answers.csv"), "answers.csv"),
        (("fit", "answers.csv", "--out", "other", "--anchors", "answers.csv"), "needs the columns factor and variable"),
        (("describe", "results", "--names-prompt", "--json"), "two forms"),
    ],
)
def test_bad_edits_are_one_line_and_leave_nothing(run, tmp_path, table, arguments, message):
    model = hicorex.HierarchicalCorex((2,), n_states=2, n_init=1, random_state=0).fit(table)
    (tmp_path / "results").mkdir()
    model.rename({0: "mood"}).save(tmp_path / "results" / "model.hicorex")
    (tmp_path / "themes.csv").write_text("factor,variable\nmood,q0\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
