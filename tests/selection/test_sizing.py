"""Sizes: as many factors and layers as are planted, and none in noise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters
from hicorex.fitted.model import StopReason
from hicorex.layer.progress import SILENT
from hicorex.selection.likeness import likeness, reproducibility
from hicorex.selection.sizing import Search, SizeReason
from hicorex.selection.trials import Tried


class Surface:
    """Trials whose bound is known for every size: it grows up to a size, with a step for each doubling of states."""

    def __init__(self, factors, by_states=(0,), worth=1.0, found=10**6, scale=1.0):
        self.factors, self.by_states, self.worth, self.found, self.scale = factors, by_states, worth, found, scale
        self.asked = []

    def lower(self, size):
        states = self.by_states[min(len(self.by_states), [2, 3, 4, 6, 8].index(size.n_states) + 1) - 1]
        return self.scale * (min(size.n_factors, self.factors) * self.worth + states)

    def scout(self, size):
        self.asked.append(size)
        used = min(size.n_factors, self.factors)
        return Tried(size.n_factors, self.lower(size), 0.01, used, size.n_states)

    def on_all_folds(self, size):
        return self.scout(size)._replace(reproducibility=0.9 if size.n_factors <= self.found else 0.0, lost=0.0)

    def gain(self, few, many):
        return self.lower(many) - self.lower(few), 0.01


def chosen_by(surface, most=1000, given=False, states=(2, 3, 4, 6, 8), parsimony=0.06):
    return Search(surface, most, given, states, parsimony, SILENT).choose()


@pytest.mark.parametrize("most", [1, 2, 3, 30, 64, 200])
@pytest.mark.parametrize("factors", [1, 2, 3, 7, 8, 9, 31, 64, 100])
def test_as_many_factors_are_taken_as_bring_something_and_few_sizes_tried(factors, most):
    surface = Surface(factors)
    sizing = chosen_by(surface, most)
    assert sizing.size == (min(factors, most), 2)
    assert sizing.chosen in sizing.tried
    sizes = [(tried.n_factors, tried.n_states) for tried in sizing.tried]
    assert all(few < many for few, many in pairwise(sizes))
    assert max(n for n, _ in sizes) <= most
    assert len(sizes) <= 3 * np.log2(most) + 12
    assert sizing.reason is (SizeReason.NOT_ENOUGH_MORE if most > factors else SizeReason.FEW_COLUMNS)
    if most > factors:
        assert (sizing.gain, sizing.gain_stderr) == (0, 0.01)
        assert sizing.larger > factors
        assert sizing.least_gain >= 0.02


@pytest.mark.parametrize(("parsimony", "n_states"), [(0.2, 2), (0.12, 3), (0.06, 4), (0.03, 6), (0.0, 8)])
def test_parsimony_tells_how_many_states_there_are(parsimony, n_states):
    # 5 factors explain 8.5, 9.0, 9.5, 9.75 and 10.
    sizing = chosen_by(Surface(5, (3.5, 4.0, 4.5, 4.75, 5.0)), parsimony=parsimony)
    assert sizing.size == (5, n_states)
    assert sizing.chosen.lower >= (1 - parsimony) * sizing.best.lower


def test_a_factor_must_add_its_share_and_more_than_chance():
    class Fading(Surface):
        def lower(self, size):
            return float(1 - 0.5**size.n_factors)

    # The third adds 0.33 of the mean of the first two, the fourth 0.21 of that of three, then 0.13, 0.08 and 0.05.
    assert chosen_by(Fading(6), states=(2,), parsimony=0.2).n_factors == 5
    assert chosen_by(Fading(6), states=(2,), parsimony=0.3).n_factors == 4
    # The seventh adds less than a standard error.
    assert chosen_by(Fading(12), states=(2,), parsimony=0.0).n_factors == 6


def test_factors_that_are_not_found_again_are_not_taken():
    sizing = chosen_by(Surface(7, (20.0,), worth=0.5, found=5))
    assert (sizing.n_factors, sizing.reason) == (5, SizeReason.NOT_FOUND_AGAIN)
    assert sizing.gain > sizing.least_gain
    # A small parsimony asks for little likeness, none for none.
    assert chosen_by(Surface(7, (20.0,), worth=0.5, found=5), parsimony=0.0).n_factors == 7
    # Without the sixth the bound would not come close to the best one.
    assert chosen_by(Surface(7, (10.0,), worth=0.5, found=5)).n_factors == 6


def test_a_given_number_of_factors_stays_and_states_are_chosen():
    sizing = chosen_by(Surface(5, (3.5, 4.0, 4.5, 4.75, 5.0)), most=7, given=True)
    assert sizing.size == (7, 4)
    assert sizing.reason is SizeReason.AS_ASKED
    assert {tried.n_factors for tried in sizing.tried} == {7}


def test_what_may_be_chance_has_one_factor():
    sizing = chosen_by(Surface(1, scale=0.015), 10)
    assert (sizing.size, sizing.reason, sizing.larger) == ((1, 2), SizeReason.CHANCE, None)


def test_the_sizes_tried_are_a_table():
    sizing = chosen_by(Surface(3))
    frame = sizing.to_frame()
    assert list(frame) == ["factors", "states", "lower", "lower_stderr", "reproducibility", "used", "chosen"]
    assert len(frame) == len(sizing.tried)
    assert frame[frame.chosen][["factors", "states"]].to_numpy().tolist() == [[3, 2]]


@pytest.mark.parametrize("seed", range(5))
def test_auto_finds_four_factors_in_example_1_and_no_layer_above(seed):
    X, truth = make_independent_clusters(random_state=seed)
    model = HierarchicalCorex("auto", n_states="auto", random_state=seed).fit(X)
    assert [(layer.n_factors_, layer.n_states_) for layer in model.layers_] == [(4, 2)]
    assert model.stop_reason_ is StopReason.NOTHING_MORE
    assert not model.next_sizing_.chosen.explains
    assert adjusted_rand_score(truth.clusters, model.layers_[0].clusters_) == 1


@pytest.mark.parametrize("seed", range(5))
def test_auto_finds_three_factors_in_example_2(seed):
    X, _ = make_overlapping_clusters(random_state=seed)
    corex = Corex("auto", n_states="auto", random_state=seed).fit(X)
    assert corex.n_factors_ == corex.sizing_.n_factors == 3
    assert corex.n_states_ == corex.sizing_.n_states == 2
    assert corex.transform(X).shape == (100, 3)
    assert {3, 4} <= {size.n_factors for size in corex.sizing_.tried}
    assert corex.sizing_.reason is SizeReason.NOT_ENOUGH_MORE
    assert corex.sizing_.larger > 3
    assert corex.sizing_.gain <= corex.sizing_.least_gain


@pytest.mark.parametrize(("n_clusters", "seed"), [(7, 0), (12, 1), (20, 2)])
def test_auto_finds_a_latent_tree(n_clusters, seed):
    X, truth = make_latent_tree(2000, 20 * n_clusters, n_clusters, root_flip=0.25, random_state=seed)
    model = HierarchicalCorex("auto", n_states="auto", n_init=4, random_state=0).fit(X)
    assert [(layer.n_factors_, layer.n_states_) for layer in model.layers_] == [(n_clusters, 2), (1, 2)]
    assert model.stop_reason_ is StopReason.ONE_FACTOR
    assert adjusted_rand_score(truth.clusters, model.layers_[0].clusters_) == 1


@pytest.mark.parametrize(("n_factors", "root_flip", "seed"), [((12, 3), 0.1, 0), ((12, 3), 0.2, 1), ((20, 4), 0.15, 2)])
def test_auto_finds_three_layers(n_factors, root_flip, seed):
    X, truth = make_latent_tree(2500, 240, n_factors, root_flip=root_flip, random_state=seed)
    model = HierarchicalCorex("auto", n_states="auto", n_init=4, random_state=0).fit(X)
    assert [layer.n_factors_ for layer in model.layers_] == [*n_factors, 1]
    assert 0.96 < model.bounds_.lower / truth.total_correlation < 1.01


@pytest.mark.parametrize("seed", range(5))
def test_auto_claims_nothing_in_noise(seed):
    noise = np.random.default_rng(seed).normal(size=(200, 30))
    model = HierarchicalCorex("auto", n_states="auto", random_state=seed).fit(noise)
    assert [(layer.n_factors_, layer.n_states_) for layer in model.layers_] == [(1, 2)]
    assert model.stop_reason_ is StopReason.NOTHING


def test_auto_finds_a_factor_at_least_in_tiny_tables():
    rng = np.random.default_rng(0)
    for shape in ((2, 1), (3, 2), (5, 5)):
        X = rng.normal(size=shape)
        assert Corex("auto", n_states=2, random_state=0).fit(X).n_factors_ >= 1
        assert len(HierarchicalCorex("auto", n_states=2, random_state=0).fit(X).layers_) >= 1


def test_sizes_that_are_found_have_no_empty_factors():
    X = np.random.default_rng(0).normal(size=(20, 3)) @ np.random.default_rng(1).normal(size=(3, 12))
    for seed in range(4):
        corex = Corex("auto", n_states=2, n_init=2, random_state=seed).fit(X)
        assert corex.n_factors_ == corex.tcs_.size == corex.transform(X).shape[1]
        assert np.all(corex.tcs_ > 0)


def test_heavy_tails_do_not_lead_auto_astray():
    for seed in range(10):
        X = np.random.default_rng(seed).standard_t(1.2, size=(40, 8))
        model = HierarchicalCorex("auto", n_states=2, n_init=2, random_state=seed).fit(X)
        if not model.layers_[0].sizing_.chosen.explains:
            assert len(model.layers_) == 1
            assert model.stop_reason_ is StopReason.NOTHING


def test_auto_finds_the_five_traits(real_data):
    answers = pd.read_csv(real_data / "big5" / "test_big5.csv.gz").iloc[:, -50:].replace(-1, np.nan)
    model = HierarchicalCorex("auto", n_states="auto", marginals="categorical", random_state=0).fit(answers)
    assert model.layers_[0].n_factors_ == 5
    assert model.bounds_.depth == len(model.layers_)
    assert adjusted_rand_score(np.arange(50) % 5, model.layers_[0].clusters_) == 1


def test_copies_of_samples_are_not_held_out_from_one_another():
    copies = np.repeat(np.random.default_rng(0).random((15, 30)), 3, axis=0)
    corex = Corex("auto", n_states=2, random_state=0).fit(copies)
    assert corex.n_factors_ == 1
    assert corex.sizing_.reason is SizeReason.CHANCE


def test_a_factor_is_like_itself_whatever_its_states_are_called():
    rng = np.random.default_rng(0)
    one = rng.integers(3, size=(4, 3000)).astype(np.uint8)
    other = np.array([2, 0, 1], np.uint8)[one[[2, 0, 3]]]
    alike = likeness(one, other, 3, np.full(3000, 1 / 3000))
    assert alike.shape == (4, 3)
    np.testing.assert_allclose([alike[2, 0], alike[0, 1], alike[3, 2]], 1, atol=1e-5)
    assert alike[1].max() < 0.01
    weight = np.ones(3000)
    assert reproducibility([one[[0, 2]], other], 3, weight) < 0.7  # the third of the other is in neither of the two
    assert reproducibility([one[[0, 2, 3]], other], 3, weight) > 0.999
    assert reproducibility([one[:2], np.zeros((2, 3000), np.uint8)], 3, weight) < 1e-3


def test_copies_of_a_sample_count_for_likeness_as_its_weight():
    rng = np.random.default_rng(1)
    one, other = rng.integers(2, size=(2, 2, 200)).astype(np.uint8)
    weight = rng.integers(1, 4, size=200)
    weighted = likeness(one, other, 2, weight / weight.sum())
    repeated = likeness(*(of.repeat(weight, axis=1) for of in (one, other)), 2, np.full(weight.sum(), 1 / weight.sum()))
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_a_layer_that_costs_more_than_it_brings_is_not_kept(real_data):
    answers = pd.read_csv(real_data / "bfi" / "bfi.csv").filter(regex="^[ACENO][1-5]$").astype("Int64")
    model = HierarchicalCorex("auto", n_states="auto", random_state=0).fit(answers)
    assert model.layers_[0].n_factors_ == 5
    assert len(model.layers_) == model.bounds_.depth == 1
    assert model.stop_reason_ is StopReason.ADDS_NOTHING
    assert model.next_sizing_.chosen.lower <= model.layers_[0].sizing_.chosen.lost


def test_states_of_given_factors_and_factors_of_given_states_are_found():
    X, _ = make_independent_clusters(cluster_size=10, random_state=0)
    corex = Corex(4, n_states="auto", random_state=0).fit(X)
    assert (corex.n_factors_, corex.n_states_) == (4, 2)
    assert corex.sizing_.reason is SizeReason.AS_ASKED
    corex = Corex("auto", n_states=3, random_state=0).fit(X)
    assert (corex.n_factors_, corex.n_states_) == (4, 3)
    assert {tried.n_states for tried in corex.sizing_.tried} == {3}
    model = HierarchicalCorex((4, 1), n_states="auto", random_state=0).fit(X)
    assert [layer.n_factors_ for layer in model.layers_] == [4, 1]
    assert all(layer.sizing_.reason in (SizeReason.AS_ASKED, SizeReason.CHANCE) for layer in model.layers_)
    assert model.bounds(cv=2).n_samples == 100
