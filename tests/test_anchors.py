"""Anchored factors begin with their variables, keep them, and leave every bound a bound."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from systems import random_system

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.exceptions import HicorexError
from hicorex.information import total_correlation


@pytest.fixture(scope="module")
def tree():
    """A table of three groups of eight variables, and the group of each."""
    X, truth = make_latent_tree(600, 24, 3, random_state=0)
    return X, truth.clusters


@pytest.fixture(scope="module")
def anchored(tree):
    X, clusters = tree
    two = [int(np.flatnonzero(clusters == g)[0]) for g in (1, 2)]
    model = Corex(3, n_states=2, n_init=3, random_state=0).fit(X, anchors={2: [two[0]], "second": [two[1]]})
    return model, two


def coin_and_noise(n_samples, rng):
    """Eight variables of one coin, and a weak theme of three others that only anchors ask for."""
    coin, weak = rng.integers(2, size=(2, n_samples))
    strong = coin[:, None] ^ (rng.random((n_samples, 8)) < 0.1)
    theme = weak[:, None] ^ (rng.random((n_samples, 3)) < 0.2)
    return np.column_stack([strong, theme]), weak


def test_anchored_factors_have_their_numbers_names_and_variables(anchored, tree):
    model, (first, second) = anchored
    assert_array_equal(model.get_feature_names_out(), ["second", "layer1_factor1", "layer1_factor2"])
    assert model.alpha_[first, 2] == 1
    assert model.alpha_[second, 0] == 1
    _, clusters = tree
    members = model.clusters_ >= 0
    assert_array_equal(model.clusters_[members] == 2, clusters[members] == 1)
    assert_array_equal(model.clusters_[members] == 0, clusters[members] == 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_anchors_that_several_factors_share_stay_with_all_and_count_once(tree, structure):
    X, _ = tree
    model = Corex(4, n_states=2, structure=structure, n_init=1, max_iter=25, random_state=0)
    model.fit(X, anchors={"a": [0], "b": [0, 20], "c": [0]})
    assert_array_equal(model.alpha_[0, :3], 1)
    assert model.alpha_[20, 1] == 1
    explained = model.log_z(X).mean(axis=0).sum()
    assert model.tc_ < explained - 0.03  # which counts the first variable three times
    assert_allclose(model.tc_, model.bounds_.objective, atol=1e-3)
    assert model.tc_ <= model.bounds_.lower + 1e-3
    assert (model.tcs_ >= 0).all()
    assert_allclose(model.history_[-1], model.tc_, atol=1e-2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_bounds_hold_on_enumerated_systems_whatever_is_anchored(structure):
    rng = np.random.default_rng(1)
    model = Corex(2, structure=structure, n_init=1, max_iter=15, marginals="categorical", n_jobs=1, random_state=0)
    for case in range(25):
        p = random_system(rng)
        exact = total_correlation(p)
        X = np.array(list(np.ndindex(p.shape)))
        some = [rng.choice(p.ndim, rng.integers(1, p.ndim), replace=False).tolist() for _ in range(2)]
        model.set_params(n_states=int(rng.integers(2, 4)))
        model.fit(X, sample_weight=np.rint(1e12 * p.ravel()), anchors=dict(enumerate(some)))
        assert all((model.alpha_[columns, j] == 1).all() for j, columns in enumerate(some)), case
        assert model.bounds_.lower <= exact + 1e-9, case
        assert model.bounds_.objective <= exact + 1e-9, case
        assert model.tc_ <= exact + 1e-9, case
        assert max(history.max() for history in model.histories_) <= exact + 1e-6, case


def test_numbers_anchor_too_and_sparse_tables_and_gaps():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((400, 2))
    X = hidden[:, np.arange(8) // 4] + 0.7 * rng.standard_normal((400, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    model = Corex(2, n_states=3, n_init=2, random_state=0).fit(X, anchors={"second": [5, 6]})
    assert model.clusters_[4:].tolist() == [0] * 4
    assert model.clusters_[:4].tolist() == [1] * 4
    assert abs(np.corrcoef(model.transform(X)[:, 0], hidden[:, 1])[0, 1]) > 0.7


def test_with_auto_anchored_factors_are_always_there():
    X, weak = coin_and_noise(400, np.random.default_rng(0))
    free = Corex(n_states=2, random_state=0).fit(X)
    model = Corex(n_states=2, random_state=0).fit(X, anchors={"theme": ["x8", "x9"], 2: ["x0"]})
    assert model.n_factors_ >= 3 > free.n_factors_ - 1
    assert model.get_feature_names_out()[0] == "theme"
    assert_array_equal(model.alpha_[[8, 9], 0], 1)
    assert np.mean(model.transform(X)[:, 0] == weak) > 0.8 or np.mean(model.transform(X)[:, 0] != weak) > 0.8


def test_refits_keep_the_anchors(anchored, tree):
    model, _ = anchored
    X, _ = tree
    assert model.cross_fitted_.lower < model.bounds_.lower
    assert (model.stability(n_resamples=2).factors > 0.8).all()
    found = model.significance(n_permutations=3)
    assert found[0].p_value == 0.25
    assert model.bounds(X).lower == model.bounds_.lower


def test_files_and_checkpoints_keep_anchors_and_names(anchored, tree, tmp_path):
    model, two = anchored
    X, _ = tree
    model.save(tmp_path / "model.hicorex")
    again = hicorex.load(tmp_path / "model.hicorex")
    assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())
    assert again.fitted_.layers[0].anchors == {0: (two[1],), 2: (two[0],)}
    assert_array_equal(again.tcs_, model.tcs_)
    path = tmp_path / "checkpoint"
    small = Corex(2, n_states=2, n_init=1, random_state=0)
    small.fit(X, checkpoint=path, anchors={"a": [0]})
    with pytest.raises(HicorexError, match="other anchors"):
        small.fit(X, checkpoint=path, anchors={"a": [1]})
    resumed = Corex(2, n_states=2, n_init=1, random_state=0).fit(X, checkpoint=path, anchors={"a": [0]})
    assert_array_equal(resumed.alpha_, small.alpha_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_batches_and_streams_keep_the_anchors(tree):
    X, _ = tree
    model = Corex(3, n_states=2, n_init=2, batch_size=200, max_iter=30, random_state=0)
    model.fit(X, anchors={"a": [3], "b": [3, 12]})
    assert_array_equal(model.alpha_[3, :2], 1)
    model.partial_fit(X).partial_fit(X[::-1])
    assert_array_equal(model.alpha_[3, :2], 1)
    assert model.get_feature_names_out()[1] == "b"


def test_the_first_layer_of_a_hierarchy_is_anchored(tree):
    X, _ = tree
    frame = pd.DataFrame(X, columns=[f"q{i}" for i in range(24)])
    model = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=0).fit(frame, anchors={"mood": ["q7"]})
    assert model.layers_[0].alpha_[7, 0] == 1
    assert_array_equal(model.get_feature_names_out(), ["mood", "layer1_factor1", "layer1_factor2", "layer2_factor0"])
    assert model.cross_fitted_.n_samples == 600


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        (["x0"], "of type list; give a mapping"),
        ({"a": []}, "no variable for the factor 'a'"),
        ({"a": ["x99"]}, "no such column"),
        ({"a": ["x0", 0]}, "'x0' twice"),
        ({"a": [24]}, "number 24"),
        ({-1: [0]}, "the key -1"),
        ({True: [0]}, "the key True"),
        ({5: [0]}, "factor number 5"),
        ({"a": [0], "b": [1], "c": [2], "d": [3]}, "factor number 3, and there are 3"),
        ({"x3": [0]}, "the name of a column"),
        ({" ": [0]}, "give it some text"),
        ({"layer1_factor1": [0]}, "without a name is called"),
    ],
)
def test_anchors_that_make_no_sense_are_refused(tree, anchors, message):
    model = Corex(3, n_states=2)
    with pytest.raises(HicorexError, match=message):
        model.fit(tree[0], anchors=anchors)
    assert not hasattr(model, "fitted_")


def test_anchors_must_vary(tree):
    X = np.column_stack([tree[0], np.zeros(600)])
    with pytest.raises(HicorexError, match="anchors of factor 'a' do not vary"):
        Corex(3, n_states=2).fit(X, anchors={"a": [24]})
