"""Factors as topics: their leading variables with sign and lift, pictures of them, tables by class and over time."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from hicorex import Corex, HierarchicalCorex, plot
from hicorex.exceptions import HicorexError

WORDS = {"space": "orbit rocket moon launch", "kitchen": "oven flour butter salt", "both": "the day"}


@pytest.fixture(scope="module")
def corpus():
    """Texts of two topics; their topic; and the recipe, fitted to them."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["space", "kitchen"], size=400)
    texts = [
        " ".join([*rng.choice(WORDS[kind].split(), 3, replace=False), *rng.choice(WORDS["both"].split(), 1)])
        for kind in kinds
    ]
    recipe = make_pipeline(CountVectorizer(binary=True), Corex(1, n_states=2, random_state=0)).fit(texts)
    return texts, kinds, recipe


def test_top_variables_have_the_model_s_weights_sign_and_lift(corpus):
    texts, _, recipe = corpus
    words, model = recipe[0].get_feature_names_out(), recipe[-1]
    leading = model.top_variables(0, 8, names=words)
    weights = (model.alpha_ * model.mutual_information_)[:, 0]
    assert [variable.name for variable in leading] == [*words[np.argsort(-weights, kind="stable")[:8]]]
    assert_allclose([variable.weight for variable in leading], np.sort(weights)[:-9:-1])
    signs = {variable.name: variable.sign for variable in leading}
    assert signs[leading[0].name] == 1  # the leading state is its own
    of_first = {signs[word] for word in WORDS["space"].split()}, {signs[word] for word in WORDS["kitchen"].split()}
    assert of_first in (({1}, {-1}), ({-1}, {1}))
    present = recipe[0].transform(texts).toarray()
    probability = model.posteriors(present)[:, 0]
    state = int(np.bincount(probability.argmax(axis=1), present[:, np.argmax(weights)]).argmax())
    for variable in leading:
        column = present[:, [*words].index(variable.name)]
        there = (column @ probability[:, state]) / probability[:, state].sum()
        assert variable.lift == pytest.approx(there / column.mean(), rel=0.02, abs=0.02)
    assert model.top_variables("layer1_factor0", 1)[0].name == f"x{np.argmax(weights)}"


def test_numbers_have_a_sign_and_no_lift_and_names_no_sign():
    rng = np.random.default_rng(0)
    state = rng.integers(2, size=300)
    table = pd.DataFrame({"up": state * 3 + rng.normal(size=300), "down": -3 * state + rng.normal(size=300)})
    table["colour"] = np.array(["red", "green", "blue"])[np.where(rng.random(300) < 0.8, state, 2)]
    leading = Corex(1, n_states=2, random_state=0).fit(table).top_variables(0)
    told = {variable.name: variable for variable in leading}
    assert told["up"].sign == -told["down"].sign != 0
    assert told["up"].lift is told["down"].lift is None
    assert told["colour"].sign == 0
    assert told["colour"].lift > 1.5


def test_factors_of_higher_layers_are_led_by_factors():
    from hicorex.datasets import make_latent_tree

    X, _ = make_latent_tree(400, 24, 4, root_flip=0.1, random_state=0)
    model = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(X)
    assert {variable.name for variable in model.top_variables("layer2_factor0")} <= {
        f"layer1_factor{j}" for j in range(4)
    }
    assert model.top_variables(4) == model.top_variables("layer2_factor0")


def test_tables_by_class_and_over_time_are_means_of_probabilities(corpus):
    texts, kinds, recipe = corpus
    X, model = recipe[0].transform(texts), recipe[-1]
    table = model.factors_by(X, kinds)
    assert list(table.index) == ["kitchen", "space"]
    assert_array_equal(table["n_samples"], [np.sum(kinds == "kitchen"), np.sum(kinds == "space")])
    probability = model.posteriors(X)[:, 0]
    shares = np.array([probability[kinds == kind].mean(axis=0) for kind in ("kitchen", "space")])
    assert any(np.allclose(table["layer1_factor0"], shares[:, state]) for state in range(2))
    assert abs(table["layer1_factor0"]["space"] - table["layer1_factor0"]["kitchen"]) > 0.9
    days = pd.Series(pd.date_range("2020-01-01", periods=400))
    over_time = model.factors_by(X, days, bins=4)
    assert list(over_time["n_samples"]) == [100] * 4
    assert_allclose(over_time["layer1_factor0"] @ over_time["n_samples"], table["layer1_factor0"] @ table["n_samples"])


def test_topics_are_drawn_as_long_as_they_weigh(corpus):
    *_, recipe = corpus
    words, model = recipe[0].get_feature_names_out(), recipe[-1]
    ax = plot.topics(model, n=5, names=words)
    leading = model.top_variables(0, 5, names=words)
    lengths = np.array([bar.get_width() for bar in ax.patches])
    assert_allclose(lengths / lengths[0], [variable.weight / leading[0].weight for variable in leading])
    assert [text.get_text().removeprefix("\u2212 ") for text in ax.texts] == [variable.name for variable in leading]
    minus = [text.get_text().startswith("\u2212") for text in ax.texts]
    assert minus == [variable.sign < 0 for variable in leading]


def test_what_is_not_there_is_refused_by_name(corpus):
    texts, kinds, recipe = corpus
    X, model = recipe[0].transform(texts), recipe[-1]
    with pytest.raises(HicorexError, match="No factor is called 'space'; they are layer1_factor0"):
        model.top_variables("space")
    with pytest.raises(HicorexError, match="factor is 1; this model has factors 0 to 0"):
        model.top_variables(1)
    with pytest.raises(HicorexError, match="names has 2 names for 10 columns"):
        model.top_variables(0, names=["a", "b"])
    with pytest.raises(HicorexError, match="by has 3 values for 400 samples"):
        model.factors_by(X, kinds[:3])
    with pytest.raises(HicorexError, match="bins cuts numbers or times"):
        model.factors_by(X, kinds, bins=3)
