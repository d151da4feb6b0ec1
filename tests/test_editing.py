"""Edits give new models with their bounds, and leave the old ones as they were."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.exceptions import HicorexError
from hicorex.findings.named_lists import anchors_from, names_from
from hicorex.support.names import titles_of


@pytest.fixture(scope="module")
def X():
    return make_latent_tree(500, 24, 3, random_state=0)[0]


@pytest.fixture(scope="module")
def model(X):
    return Corex(3, n_states=2, n_init=3, random_state=0).fit(X, anchors={"mood": [0]})


@pytest.fixture(scope="module")
def stack(X):
    return HierarchicalCorex((3, 2, 1), n_states=2, n_init=2, max_iter=60, random_state=0).fit(X)


def test_names_are_in_all_that_tells_of_factors(model, X, tmp_path):
    before = model.get_feature_names_out().tolist()
    named = model.rename({"mood": "temper", 2: "memory"})
    assert named.get_feature_names_out().tolist() == ["temper", "layer1_factor1", "memory"]
    assert model.get_feature_names_out().tolist() == before == ["mood", "layer1_factor1", "layer1_factor2"]
    assert named.bounds_ is model.bounds_
    assert titles_of(named) == ["layer1_factor0 temper", "layer1_factor1", "layer1_factor2 memory"]
    named.save(tmp_path / "named.hicorex")
    assert hicorex.load(tmp_path / "named.hicorex").get_feature_names_out()[2] == "memory"
    named.report(tmp_path / "report.html", X)
    page = (tmp_path / "report.html").read_text()
    assert 'value="memory"' in page
    assert 'data-name="layer1_factor2"' in page
    assert named.rename({"memory": None}).get_feature_names_out()[2] == "layer1_factor2"
    assert named.rename({"temper": "memory", "memory": "temper"}).get_feature_names_out()[0] == "memory"


def test_a_prompt_tells_of_every_factor_in_use(model):
    text = model.rename({0: "mood"}).names_prompt(n_variables=3)
    assert text.count(" nats)") == 3
    assert "factor,name" in text
    lines = [line for line in text.splitlines() if line.startswith("  variables:")]
    assert all(line.count(",") == 2 for line in lines)
    assert text.count("  state 1,") == 3


def test_what_is_dropped_leaves_the_others_as_they_are(model, X):
    fewer = model.drop("layer1_factor1")
    assert_array_equal(fewer.transform(X), model.transform(X)[:, [0, 2]])
    assert_array_equal(fewer.alpha_, model.alpha_[:, [0, 2]])
    assert fewer.get_feature_names_out().tolist() == ["mood", "layer1_factor1"]
    assert fewer.n_factors == 2
    gone = model.bounds_.factors[1]
    assert_allclose(fewer.bounds_.lower, model.bounds_.lower - gone.contribution, atol=0.02)
    assert fewer.bounds(X).lower == fewer.bounds_.lower
    assert model.n_factors_ == 3
    assert fewer.fitted_.layers[0].anchors == {0: (0,)}


def test_a_split_undoes_a_merge(model, X):
    merged = model.merge(["mood", "layer1_factor2"], "both")
    assert merged.get_feature_names_out().tolist() == ["both", "layer1_factor1"]
    assert_array_equal(merged.alpha_[:, 1], model.alpha_[:, 1])
    assert_array_equal(merged.transform(X)[:, 1], model.transform(X)[:, 1])
    assert merged.alpha_[0, 0] == 1  # the anchor stays
    assert merged.bounds_.lower < model.bounds_.lower
    assert merged.bounds_.lower > model.drop("layer1_factor1").bounds_.lower / 3
    parts = merged.split("both", ["one", "two"])
    assert parts.get_feature_names_out().tolist() == ["one", "two", "layer1_factor2"]
    assert_allclose(parts.bounds_.lower, model.bounds_.lower, rtol=0.03)
    assert_allclose(parts.tc_, parts.history_[-1], rtol=0.02)


def test_frozen_factors_stay_while_others_are_fitted_anew(model, X):
    named = model.rename({1: "kept"})
    again = named.freeze("kept")
    assert_array_equal(again.alpha_[:, 1], model.alpha_[:, 1])
    assert_array_equal(again.transform(X)[:, 1], model.transform(X)[:, 1])
    assert again.get_feature_names_out().tolist() == ["mood", "kept", "layer1_factor2"]
    assert_allclose(again.bounds_.lower, model.bounds_.lower, rtol=0.02)
    # After a drop, the free factor finds what was lost.
    one = model.drop([1, 2])
    assert_array_equal(one.freeze(0).transform(X), one.transform(X))


def test_layers_above_an_edit_are_fitted_anew(stack, X):
    fewer = stack.drop("layer1_factor2")
    assert [layer.n_factors_ for layer in fewer.layers_] == [2, 2, 1]
    assert fewer.layers == (2, 2, 1)
    assert fewer.transform(X).shape == (500, 5)
    assert_array_equal(fewer.transform(X)[:, :2], stack.transform(X)[:, :2])
    assert fewer.bounds(X).lower == fewer.bounds_.lower
    joined = stack.merge(["layer2_factor0", "layer2_factor1"], "top")
    assert [layer.n_factors_ for layer in joined.layers_] == [3, 1]
    assert joined.get_feature_names_out()[-1] == "top"
    assert_array_equal(joined.layers_[0].alpha_, stack.layers_[0].alpha_)


def test_a_model_from_a_file_is_edited_with_samples(model, X, tmp_path):
    model.save(tmp_path / "model.hicorex")
    loaded = hicorex.load(tmp_path / "model.hicorex")
    with pytest.raises(HicorexError, match="pass them as X"):
        loaded.drop(2)
    fewer = loaded.drop(2, X)
    assert_allclose(fewer.bounds_.lower, model.drop(2).bounds_.lower)
    fewer.save(tmp_path / "fewer.hicorex")
    assert_array_equal(hicorex.load(tmp_path / "fewer.hicorex").transform(X), fewer.transform(X))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.drop("layer1_factor7"), "no factor 'layer1_factor7'; did you mean"),
        (lambda m: m.drop(3), "numbered from 0 to 2"),
        (lambda m: m.drop([]), "names no factor"),
        (lambda m: m.drop([0, "mood"]), "a factor twice"),
        (lambda m: m.drop([0, 1, 2]), "nothing would be left"),
        (lambda m: m.merge([0]), "give two or more"),
        (lambda m: m.merge([0, 1], "x3"), "the name of a column"),
        (lambda m: m.split([0, 1]), "give one"),
        (lambda m: m.split(0, "ab"), "give two names"),
        (lambda m: m.split(0, ["a", "a"]), "Two factors"),
        (lambda m: m.rename(["a"]), "of type list"),
        (lambda m: m.rename({1: "mood"}), "Two factors would be called 'mood'"),
        (lambda m: m.rename({0: "a", "mood": "b"}), "'mood' twice"),
        (lambda m: m.rename({1: "layer1_factor0"}), "without a name"),
        (lambda m: m.freeze(True), "no factor True"),
        (lambda m: m.drop(0, np.zeros((10, 3))), "features"),
    ],
)
def test_edits_that_make_no_sense_are_refused(model, edit, message):
    before = dict(vars(model))
    with pytest.raises((HicorexError, ValueError), match=message):
        edit(model)
    assert vars(model) == before


def test_factors_of_several_layers_are_not_edited_together(stack):
    with pytest.raises(HicorexError, match="several layers"):
        stack.merge(["layer1_factor0", "layer2_factor0"])
    with pytest.raises(HicorexError, match="no factor 0; give its name"):
        stack.drop(0)


def test_names_and_anchors_are_read_from_files(tmp_path, model):
    table = tmp_path / "names.csv"
    table.write_text('"factor","name"\n"layer1_factor1","a ""b"", c"\n')
    assert names_from(table) == {"layer1_factor1": 'a "b", c'}
    assert model.rename(table).get_feature_names_out()[1] == 'a "b", c'
    given = tmp_path / "anchors.csv"
    given.write_text("factor,variable\nviolence,gun\nviolence,war\n3,peace\n")
    assert anchors_from(given) == {"violence": ["gun", "war"], 3: ["peace"]}
    same = tmp_path / "anchors.json"
    same.write_text(json.dumps({"violence": ["gun", "war"], "3": "peace"}))
    assert anchors_from(same) == anchors_from(given)
    for text, message in [("factor,name\n", "no rows"), ("a,b\nc,d\n", "needs the columns factor and name")]:
        table.write_text(text)
        with pytest.raises(HicorexError, match=message):
            names_from(table)
    same.write_text("[1]")
    with pytest.raises(HicorexError, match="not an object"):
        anchors_from(same)
