"""Sizes: as many factors and layers as are planted, and none in noise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.fitted.model import StopReason
from hicorex.selection.sizing import Search, SizeReason, Tried, choose_size


class KnownGains(Search):
    """A search in which one more factor is worth the effort up to a size that is known."""

    def __init__(self, best, useful=10**6, explains=1.0):
        self.best, self.useful, self.explains, self.tried = best, useful, explains, {}

    def explained(self, n_factors):
        lower = self.explains * min(n_factors, self.best)
        self.tried[n_factors] = Tried(n_factors, lower, 0.1, min(n_factors, self.useful))
        return np.array([lower])

    def gain(self, few, many):
        return float(self.explained(many)[0] - self.explained(few)[0]), 0.1


@pytest.mark.parametrize("most", [1, 2, 3, 30, 64, 200])
@pytest.mark.parametrize("best", [1, 2, 3, 7, 8, 9, 31, 64, 100])
def test_the_smallest_size_that_none_improves_upon_is_found(best, most):
    sizing = choose_size(KnownGains(best), most)
    assert sizing.n_factors == min(best, most)
    sizes = [tried.n_factors for tried in sizing.tried]
    assert all(few < many for few, many in pairwise(sizes))
    assert sizes[-1] <= most
    # Sizes are doubled, then halved, so that few are tried.
    assert len(sizes) <= 3 * np.log2(most) + 2
    larger = [n for n in sizes if n > sizing.n_factors]
    assert sizing.reason is (SizeReason.NOT_ENOUGH_MORE if larger else SizeReason.FEW_COLUMNS)
    if larger:
        assert (sizing.larger, sizing.gain, sizing.gain_stderr) == (larger[0], 0, 0.1)
        assert sizing.least_gain >= 0.2


def test_no_larger_size_is_tried_where_factors_are_left_without_use():
    sizing = choose_size(KnownGains(4, useful=4), 1000)
    assert sizing.n_factors == 4
    assert max(tried.n_factors for tried in sizing.tried) == 8


def test_what_may_be_chance_has_one_factor():
    sizing = choose_size(KnownGains(1, explains=0.1), 10)
    assert (sizing.n_factors, sizing.reason, sizing.larger) == (1, SizeReason.CHANCE, None)


@pytest.mark.parametrize("seed", range(5))
def test_auto_finds_four_factors_in_example_1_and_no_layer_above(seed):
    X, truth = make_independent_clusters(random_state=seed)
    model = HierarchicalCorex("auto", random_state=seed).fit(X)
    assert [layer.n_factors_ for layer in model.layers_] == [4]
    assert model.stop_reason_ is StopReason.NOTHING_MORE
    assert not model.next_sizing_.chosen.explains
    assert adjusted_rand_score(truth.clusters, model.layers_[0].clusters_) == 1


@pytest.mark.parametrize("seed", range(5))
def test_auto_finds_three_factors_in_example_2(seed):
    X, _ = make_overlapping_clusters(random_state=seed)
    corex = Corex("auto", random_state=seed).fit(X)
    assert corex.n_factors_ == corex.sizing_.n_factors == 3
    assert corex.transform(X).shape == (100, 3)
    assert {3, 4} <= {size.n_factors for size in corex.sizing_.tried}
    assert corex.sizing_.reason is SizeReason.NOT_ENOUGH_MORE
    assert corex.sizing_.larger > 3
    assert corex.sizing_.gain <= corex.sizing_.least_gain


@pytest.mark.parametrize(("n_clusters", "seed"), [(7, 0), (12, 1), (20, 2)])
def test_auto_finds_a_latent_tree(n_clusters, seed):
    X, truth = make_latent_tree(2000, 20 * n_clusters, n_clusters, root_flip=0.25, random_state=seed)
    model = HierarchicalCorex("auto", n_init=4, random_state=0).fit(X)
    assert [layer.n_factors_ for layer in model.layers_] == [n_clusters, 1]
    assert model.stop_reason_ is StopReason.ONE_FACTOR
    assert adjusted_rand_score(truth.clusters, model.layers_[0].clusters_) == 1


@pytest.mark.parametrize(("n_factors", "root_flip", "seed"), [((12, 3), 0.1, 0), ((12, 3), 0.2, 1), ((20, 4), 0.15, 2)])
def test_auto_finds_three_layers(n_factors, root_flip, seed):
    X, truth = make_latent_tree(2500, 240, n_factors, root_flip=root_flip, random_state=seed)
    model = HierarchicalCorex("auto", n_init=4, random_state=0).fit(X)
    assert [layer.n_factors_ for layer in model.layers_] == [*n_factors, 1]
    assert 0.96 < model.bounds_.lower / truth.total_correlation < 1.01


@pytest.mark.parametrize("seed", range(5))
def test_auto_claims_nothing_in_noise(seed):
    model = HierarchicalCorex("auto", random_state=seed).fit(np.random.default_rng(seed).normal(size=(200, 30)))
    assert [layer.n_factors_ for layer in model.layers_] == [1]
    assert model.stop_reason_ is StopReason.NOTHING


def test_auto_finds_a_factor_at_least_in_tiny_tables():
    rng = np.random.default_rng(0)
    for shape in ((2, 1), (3, 2), (5, 5)):
        X = rng.normal(size=shape)
        assert Corex("auto", random_state=0).fit(X).n_factors_ >= 1
        assert len(HierarchicalCorex("auto", random_state=0).fit(X).layers_) >= 1


def test_sizes_that_are_found_have_no_empty_factors():
    X = np.random.default_rng(0).normal(size=(20, 3)) @ np.random.default_rng(1).normal(size=(3, 12))
    for seed in range(4):
        corex = Corex("auto", n_init=2, random_state=seed).fit(X)
        assert corex.n_factors_ == corex.tcs_.size == corex.transform(X).shape[1]
        assert np.all(corex.tcs_ > 0)


def test_heavy_tails_do_not_lead_auto_astray():
    for seed in range(10):
        X = np.random.default_rng(seed).standard_t(1.2, size=(40, 8))
        model = HierarchicalCorex("auto", n_init=2, random_state=seed).fit(X)
        if not model.layers_[0].sizing_.chosen.explains:
            assert len(model.layers_) == 1
            assert model.stop_reason_ is StopReason.NOTHING


def test_auto_finds_the_five_traits(real_data):
    answers = pd.read_csv(real_data / "big5" / "test_big5.csv.gz").iloc[:, -50:].replace(-1, np.nan)
    model = HierarchicalCorex("auto", n_states=3, marginals="categorical", random_state=0).fit(answers)
    assert model.layers_[0].n_factors_ == 5
    assert adjusted_rand_score(np.arange(50) % 5, model.layers_[0].clusters_) == 1


def test_copies_of_samples_are_not_held_out_from_one_another():
    copies = np.repeat(np.random.default_rng(0).random((15, 30)), 3, axis=0)
    corex = Corex("auto", random_state=0).fit(copies)
    assert corex.n_factors_ == 1
    assert corex.sizing_.reason is SizeReason.CHANCE
