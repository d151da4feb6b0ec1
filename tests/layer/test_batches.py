"""Batches: nearly the bound of all samples at the cost of a few."""

import numpy as np
import pytest
from models import encoded
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.engine import LocalEngine
from hicorex.exceptions import HicorexError
from hicorex.layer.batches import Batches, FadingSums, step_size
from hicorex.storage.checkpoint import Checkpoint


@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
@pytest.mark.parametrize("kind", ["tree", "numbers", "sparse"])
def test_the_bound_is_nearly_that_of_all_samples(kind, structure, large_tree, noisy_tree):
    X = {"tree": large_tree[0], "numbers": noisy_tree, "sparse": csr_array(large_tree[0])}[kind]
    settings = {"n_states": 2, "structure": structure, "n_init": 4, "random_state": 0}
    whole = Corex(4, **settings).fit(X)
    some = Corex(4, batch_size=2000, **settings).fit(X)
    assert some.bounds_.lower > 0.99 * whole.bounds_.lower
    assert some.bounds_.n_samples == len(large_tree[0])
    assert adjusted_rand_score(large_tree[1].clusters, some.clusters_) == 1


@pytest.mark.parametrize("seed", range(3))
def test_factors_that_overlap_are_found_as_by_all_samples(seed):
    """Many optima: starts must neither end early nor be given up by the noise of batches."""
    rng = np.random.default_rng(seed)
    weight = np.zeros((12, 50))
    for own in weight.T:
        own[rng.choice(12, rng.integers(1, 4), replace=False)] = rng.uniform(0.5, 1.5)
    X = rng.integers(0, 2, (60_000, 12)) @ weight + 0.7 * rng.standard_normal((60_000, 50))
    whole = Corex(12, n_states=2, random_state=0).fit(X)
    some = Corex(12, n_states=2, batch_size=5000, random_state=0).fit(X)
    assert some.bounds_.lower > 0.99 * whole.bounds_.lower


def test_a_hierarchy_learns_nearly_as_much_from_batches(large_tree):
    whole = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(large_tree[0])
    some = HierarchicalCorex((4, 1), n_states=2, batch_size=2000, random_state=0).fit(large_tree[0])
    assert_allclose(some.bounds_.lower, whole.bounds_.lower, rtol=0.01)


def test_a_batch_of_all_samples_is_no_batch(large_tree):
    X = large_tree[0][:1000]
    whole, some = (Corex(4, n_states=2, batch_size=size, random_state=0).fit(X) for size in (None, 1000))
    assert_array_equal(some.alpha_, whole.alpha_)
    assert some.bounds_ == whole.bounds_


def test_batches_do_not_depend_on_threads(noisy_tree):
    one, two = (
        Corex(4, n_states=2, batch_size=1500, n_init=2, max_iter=12, n_jobs=n, random_state=0).fit(noisy_tree)
        for n in (1, 2)
    )
    assert_array_equal(one.alpha_, two.alpha_)
    assert one.bounds_ == two.bounds_


@pytest.mark.parametrize("n_rows", [500, 40_000])
def test_batches_are_random_rows_without_repeats(n_rows):
    X = np.arange(n_rows)[:, None] + np.zeros((1, 200))
    data = encoded(X)
    with LocalEngine(1) as engine:
        batches = Batches(data, 400, engine, np.random.SeedSequence(1))
        again = Batches(data, 400, engine, np.random.SeedSequence(1))
        drawn = set()
        for number in range(30):
            batch, same = batches.take(number), again.take(number)
            values = batch.parts[0].samples[0].values[0]
            assert batch.n_samples == 400
            assert np.unique(values).size == 400
            assert_array_equal(values, same.parts[0].samples[0].values[0])
            drawn |= set(values.tolist())
        assert len(drawn) > 0.9 * min(n_rows, 30 * 400 * 0.8)
        # A batch may be asked for alone.
        alone = Batches(data, 400, engine, np.random.SeedSequence(1)).take(29)
        assert_array_equal(alone.parts[0].samples[0].values[0], values)


def test_sums_fade_as_the_step_size_says(large_tree):
    batch = encoded(large_tree[0][:100])
    sums, shares = None, np.zeros(0)
    for n_seen in range(40):
        own = np.zeros((2, 1)) + (n_seen == 3)
        sums = FadingSums.after(sums, batch, own, [block.totals for block in batch.blocks])
        share = step_size(n_seen)
        shares = np.append(shares * (1 - share), share)
        assert_allclose(batch.total / sums.total, share)
    assert sums.n_seen == 40
    assert_allclose(shares.sum(), 1)
    assert_allclose(sums.label_sum[0, 0] / sums.total, shares[3] / batch.total)
    # Batches that are all the same leave the frequencies as they are.
    assert_allclose(sums.totals[0][0] / sums.total, batch.blocks[0].totals[0] / batch.total)
    blocks = sums.blocks(batch)
    assert blocks[0].total == sums.total
    assert step_size(0) == 1
    assert 0 < step_size(1000) < step_size(10) < 1


def test_a_fit_by_batches_goes_on_to_the_same_bits(tmp_path, large_tree):
    settings = {"n_states": 2, "batch_size": 1000, "n_init": 3, "max_iter": 14, "random_state": 0}
    whole = Corex(4, **settings).fit(large_tree[0])

    class Enough(Exception):
        pass

    class Listener(hicorex.layer.progress.Progress):
        def iteration(self, iteration, *_):
            if iteration == 6:
                raise Enough

    with pytest.raises(Enough), hicorex.layer.progress.heard_by(Listener()):
        Corex(4, **settings).fit(large_tree[0], checkpoint=Checkpoint(tmp_path / "fit", every=0))
    resumed = Corex(4, **settings).fit(large_tree[0], checkpoint=tmp_path / "fit")
    assert_array_equal(resumed.alpha_, whole.alpha_)
    assert_array_equal(resumed.history_, whole.history_)
    assert resumed.bounds_ == whole.bounds_
    with pytest.raises(HicorexError, match="batch_size"):
        Corex(4, **settings | {"batch_size": 2000}).fit(large_tree[0], checkpoint=tmp_path / "fit")


@pytest.mark.parametrize("size", [1, 0, -3, 2.5, "10"])
def test_strange_batch_sizes_are_refused(size):
    with pytest.raises(ValueError, match="batch_size"):
        Corex(2, n_states=2, batch_size=size).fit(np.random.default_rng(0).normal(size=(30, 3)))
