"""Models beside each other, groups of samples, and other samples."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.input.spreadsheet import COMPARISON, DIFFERENCES, PRESERVATION
from hicorex.relations.comparison import FactorMatch, FactorsOf, matched_factors
from hicorex.relations.group_differences import GroupDifference
from hicorex.relations.preservation import PreservedFactor
from hicorex.selection.likeness import likeness


@pytest.fixture(scope="module")
def tree():
    """Three groups of six variables, and a model of the first half of the samples."""
    X, truth = make_latent_tree(800, 18, 3, root_flip=0.3, random_state=0)
    return Corex(3, n_states=2, n_init=1, random_state=0).fit(X[:400]), X, truth


def test_factors_are_matched_whatever_their_order_and_states():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(3, 500))
    one = FactorsOf(["a", "b", "c"], labels, [np.arange(6) // 2 == j for j in range(3)])
    swapped = np.stack([1 - labels[2], labels[0], np.zeros(500, int), rng.integers(2, size=500)])
    other = FactorsOf(
        list("wxyz"), swapped, [np.arange(6) >= 3, np.arange(6) < 2, np.zeros(6, bool), np.zeros(6, bool)]
    )
    alike = likeness(labels, swapped, 2, np.full(500, 1 / 500))
    matches, unmatched, agreement = matched_factors(one, other, alike)
    assert [(row.factor, row.other) for row in matches] == [("a", "x"), ("b", None), ("c", "w")]
    assert unmatched == ("z",)
    assert_allclose([row.likeness for row in matches], [1, 0, 1], atol=1e-5)
    assert_allclose([row.shared_variables for row in matches], [1, np.nan, 2 / 3])
    assert_allclose(agreement, 2 * 2 / 6, atol=1e-5)


def test_a_model_explains_nothing_beyond_itself_and_a_larger_one_does(tree):
    model, X, _ = tree
    same = model.compare(model)
    assert_allclose([same.agreement, same.beyond_other.nats, same.other_beyond.nats], [1, 0, 0], atol=1e-4)
    assert all(row.other == row.factor and row.shared_variables == 1 for row in same.matches)
    small = Corex(1, n_states=2, n_init=1, random_state=0).fit(X[400:])
    found = model.compare(small, X[400:])
    assert len(found.matches) == 3
    assert sum(row.other is not None for row in found.matches) == 1
    assert found.beyond_other.nats > 5 * found.beyond_other.stderr
    assert found.other_beyond.nats <= 3 * found.other_beyond.stderr
    assert_allclose(found.beyond_other.nats, found.both_lower.nats - found.other_lower.nats)
    back = small.compare(model, X[400:])
    assert_allclose(back.likeness, found.likeness.T, atol=1e-4)
    assert_allclose(back.lower.nats, found.other_lower.nats, rtol=1e-3)
    assert tuple(found.to_frame().columns) == COMPARISON == FactorMatch._fields
    assert "this beyond the other" in repr(found)


def test_bounds_of_both_hold_on_samples_of_known_dependence(tree):
    model, X, truth = tree
    found = model.compare(Corex(3, n_states=2, n_init=1, random_state=1).fit(X[400:]), X)
    for bound in (found.lower, found.other_lower, found.both_lower):
        assert 0.5 * truth.total_correlation < bound.nats < truth.total_correlation + 3 * bound.stderr
    assert found.agreement > 0.8


def test_models_that_cannot_be_compared_are_refused(tree):
    model, X, _ = tree
    with pytest.raises(HicorexError, match="other is of type str"):
        model.compare("model.hicorex")
    narrow = Corex(2, n_states=2, n_init=1, random_state=0).fit(X[:400, :10])
    with pytest.raises(HicorexError, match="fitted to 10 columns, this model to 18"):
        model.compare(narrow)
    named = Corex(1, n_states=2, n_init=1, random_state=0).fit(pd.DataFrame(X[:400]).add_prefix("gene"))
    with pytest.raises(HicorexError, match="'gene0' where this model has 'x0'"):
        model.compare(named)


def test_groups_differ_in_the_factor_by_which_they_were_made(tree):
    model, X, _ = tree
    rng = np.random.default_rng(0)
    states = model.transform(X[:400])
    group = np.where(rng.random(400) < 0.3, rng.integers(2, size=400), states[:, 1])
    found = model.compare_groups(np.array(["ill", "well"])[group])
    row = found.rows[0]
    assert row.factor == "layer1_factor1"
    assert row.q_value < 1e-10
    assert found.groups == ("ill", "well")
    shares = np.array([[np.mean(states[group == g, 1] == s) for s in range(2)] for g in range(2)])
    assert_allclose(found.shares[1], shares)
    assert_allclose(row.difference, np.ptp(shares[:, row.state]))
    assert_allclose(found.explains[0], [model.log_z(X[:400])[group == g, 0].mean() for g in range(2)])
    assert_array_equal(found.n_samples, [np.sum(group == 0), np.sum(group == 1)])
    assert all(other.q_value > 0.01 for other in found.rows[1:])
    assert tuple(found.to_frame().columns) == DIFFERENCES == GroupDifference._fields
    some = np.where(np.arange(400) < 20, None, np.array(["ill", "well"])[group])
    assert model.compare_groups(some).n_samples.sum() == 380
    with pytest.raises(HicorexError, match="by has 1 group"):
        model.compare_groups(["one"] * 400)
    with pytest.raises(HicorexError, match="399 rows, X has 400"):
        model.compare_groups(group[1:])
    with pytest.raises(HicorexError, match="2 dimensions"):
        model.compare_groups(states)


def test_factors_that_are_broken_up_are_not_preserved(tree):
    model, X, _ = tree
    new = X[400:].copy()
    lost = np.flatnonzero(model.clusters_ == 1)
    new[:, lost] = np.random.default_rng(0).permuted(new[:, lost], axis=0)
    found = model.preservation(new, n_permutations=40)
    assert [row.preserved for row in found.rows] == [True, False, True]
    assert_allclose([row.explains for row in found.rows], model.log_z(new).mean(axis=0), rtol=1e-5)
    assert_allclose([row.explains_in_fit for row in found.rows], model.tcs_)
    assert found.rows[0].p_value == 1 / 41
    assert found.rows[0].z > 10 > abs(found.rows[1].z)
    assert all(row.by_chance < 0.01 for row in found.rows)
    assert tuple(found.to_frame().columns) == PRESERVATION == PreservedFactor._fields
    assert "2 of 3" in repr(found)
    assert found.rows == model.preservation(new, n_permutations=40).rows


def test_preservation_of_layers_above_is_of_the_labels_below():
    X, _ = make_latent_tree(600, 24, 4, root_flip=0.1, random_state=0)
    model = HierarchicalCorex((4, 1), n_states=2, n_init=1, random_state=0).fit(X[:300])
    assert all(row.preserved for row in model.preservation(X[300:], n_permutations=30).rows)
    apart = X[300:].copy()
    for j in range(4):  # each group as it was, the groups apart from each other
        members = np.flatnonzero(model.layers_[0].clusters_ == j)
        apart[:, members] = np.random.default_rng(j).permutation(apart[:, members], axis=0)
    found = model.preservation(apart, n_permutations=30)
    assert [row.preserved for row in found.rows] == [True] * 4 + [False]


def test_samples_that_cannot_be_held_against_a_model_are_refused(tree):
    model, X, _ = tree
    with pytest.raises(HicorexError, match="X is None"):
        model.preservation(None)
    with pytest.raises(HicorexError, match="n_permutations is 1"):
        model.preservation(X[400:], n_permutations=1)
    with pytest.raises(ValueError, match="features"):
        model.preservation(X[400:, :5])
