"""Streams: a model that learns from one batch after another, as they come."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import hicorex
from hicorex import Corex, HierarchicalCorex


def stream(model, X, size=2000):
    for first in range(0, len(X), size):
        model.partial_fit(X[first : first + size])
    return model


@pytest.mark.parametrize("kind", ["tree", "numbers"])
def test_a_stream_learns_what_all_samples_tell(kind, large_tree, noisy_tree):
    X = large_tree[0] if kind == "tree" else noisy_tree
    whole = Corex(4, n_states=2, random_state=0).fit(X)
    model = stream(Corex(4, n_states=2, random_state=0), X)
    assert model.bounds(X).lower > 0.98 * whole.bounds(X).lower
    assert adjusted_rand_score(large_tree[1].clusters, model.clusters_) == 1
    assert model.n_iter_ == model.history_.size
    assert model.bounds_.n_samples == 2000


def test_a_hierarchy_learns_from_a_stream(large_tree):
    whole = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(large_tree[0])
    model = stream(HierarchicalCorex((4, 1), n_states=2, random_state=0), large_tree[0])
    assert_allclose(model.bounds(large_tree[0]).lower, whole.bounds(large_tree[0]).lower, rtol=0.02)
    assert model.transform(large_tree[0]).shape == (len(large_tree[0]), 5)


def test_a_stream_follows_what_changes():
    """Other columns go together from the middle on; what was before fades."""
    rng = np.random.default_rng(0)

    def batch(groups):
        coins = rng.integers(0, 2, (500, 2))
        return coins[:, groups] ^ (rng.random((500, 8)) < 0.05)

    model = Corex(2, n_states=2, random_state=0)
    before, after = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    for _ in range(5):
        model.partial_fit(batch(before))
    assert adjusted_rand_score(before, model.clusters_) == 1
    for _ in range(60):
        model.partial_fit(batch(after))
    assert adjusted_rand_score(after, model.clusters_) == 1


def test_a_stream_goes_on_after_it_was_saved(tmp_path, noisy_tree):
    model = stream(Corex(4, n_states=2, random_state=0), noisy_tree[:6000])
    model.save(tmp_path / "model.hicorex")
    loaded = hicorex.load(tmp_path / "model.hicorex")
    for own in (model, loaded):
        own.partial_fit(noisy_tree[6000:8000])
    assert_array_equal(loaded.alpha_, model.alpha_)
    assert loaded.tc_ == model.tc_


def test_streams_meet_gaps_and_unseen_values_later():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, (1000, 2)), 3, axis=1)
    model = Corex(2, n_states=2, random_state=0).partial_fit(X)
    X[::3, 0] = 7
    with pytest.warns(UserWarning, match="not seen count as missing, in column 0") as told:
        model.partial_fit(X)
    assert told[0].filename == __file__
    numbers = X[:, 1:].astype(float)
    floats = Corex(2, n_states=2, random_state=0).partial_fit(numbers)
    numbers[::2, 1] = np.nan
    floats.partial_fit(numbers)
    for own in (model, floats):
        assert np.isfinite(own.bounds_.lower)
        assert np.isfinite(own.alpha_).all()


@pytest.mark.parametrize(
    "model", [Corex(4, n_states=2, random_state=0), HierarchicalCorex((4, 1), n_states=2, random_state=0)]
)
def test_a_stream_may_begin_with_the_factors_of_a_fit(model, large_tree):
    X = large_tree[0]
    model = clone(model).fit(X[:2000])
    before = model.bounds(X).lower
    labels = model.transform(X)
    stream(model, X[2000:20_000])
    assert model.bounds(X).lower > before - 0.01
    # They are still the same factors.
    assert (model.transform(X) == labels).mean() > 0.95


def test_a_fit_begins_anew_and_batches_have_the_same_columns(large_tree):
    X = large_tree[0][:500]
    model = Corex(2, n_states=2, n_init=1, random_state=0).fit(X)
    begun = clone(model).partial_fit(X).partial_fit(X)
    assert begun.n_iter_ == begun.history_.size
    with pytest.raises(ValueError, match="features"):
        begun.partial_fit(X[:, :3])
    begun.fit(X)
    assert_array_equal(begun.alpha_, model.alpha_)
    with pytest.raises(ValueError, match="features"):
        begun.partial_fit(X[:, :3])
