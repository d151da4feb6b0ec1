"""Batches: nearly the bound of all samples at the cost of a few, and streams that never end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.exceptions import HicorexError
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.layer import race
from hicorex.layer.batches import Batches, FadingSums, step_size
from hicorex.storage.checkpoint import Checkpoint


@pytest.fixture(scope="module")
def tree():
    return make_latent_tree(40_000, 40, 4, root_flip=0.2, random_state=0)


@pytest.fixture(scope="module")
def numbers(tree):
    rng = np.random.default_rng(0)
    table = tree[0] + 0.4 * rng.standard_normal(tree[0].shape)
    table[rng.random(table.shape) < 0.05] = np.nan
    return table


def encoded(X, engine):
    return Encoder.learn(source_of(X), "auto", None, engine).encode(source_of(X), None, engine)[0]


@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
@pytest.mark.parametrize("kind", ["tree", "numbers", "sparse"])
def test_the_bound_is_nearly_that_of_all_samples(kind, structure, tree, numbers):
    X = {"tree": tree[0], "numbers": numbers, "sparse": csr_array(tree[0])}[kind]
    settings = {"structure": structure, "n_init": 4, "random_state": 0}
    whole = Corex(4, **settings).fit(X)
    some = Corex(4, batch_size=2000, **settings).fit(X)
    assert some.bounds_.lower > 0.99 * whole.bounds_.lower
    assert some.bounds_.n_samples == len(tree[0])
    assert adjusted_rand_score(tree[1].clusters, some.clusters_) == 1


@pytest.mark.parametrize("seed", range(3))
def test_factors_that_overlap_are_found_as_by_all_samples(seed):
    """Many optima: starts must neither end early nor be given up by the noise of batches."""
    rng = np.random.default_rng(seed)
    weight = np.zeros((12, 50))
    for own in weight.T:
        own[rng.choice(12, rng.integers(1, 4), replace=False)] = rng.uniform(0.5, 1.5)
    X = rng.integers(0, 2, (60_000, 12)) @ weight + 0.7 * rng.standard_normal((60_000, 50))
    whole = Corex(12, random_state=0).fit(X)
    some = Corex(12, batch_size=5000, random_state=0).fit(X)
    assert some.bounds_.lower > 0.99 * whole.bounds_.lower


def test_a_hierarchy_of_batches(tree):
    whole = HierarchicalCorex((4, 1), random_state=0).fit(tree[0])
    some = HierarchicalCorex((4, 1), batch_size=2000, random_state=0).fit(tree[0])
    assert_allclose(some.bounds_.lower, whole.bounds_.lower, rtol=0.01)


def test_a_batch_of_all_samples_is_no_batch(tree):
    X = tree[0][:1000]
    whole, some = (Corex(4, batch_size=size, random_state=0).fit(X) for size in (None, 1000))
    assert_array_equal(some.alpha_, whole.alpha_)
    assert some.bounds_ == whole.bounds_


def test_batches_do_not_depend_on_threads(numbers):
    one, two = (Corex(4, batch_size=1500, n_init=2, max_iter=12, n_jobs=n, random_state=0).fit(numbers) for n in (1, 2))
    assert_array_equal(one.alpha_, two.alpha_)
    assert one.bounds_ == two.bounds_


@pytest.mark.parametrize("n_rows", [500, 40_000])
def test_batches_are_random_rows_without_repeats(n_rows):
    X = np.arange(n_rows)[:, None] + np.zeros((1, 200))
    with LocalEngine(1) as engine:
        data = encoded(X, engine)
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


def test_sums_fade_as_the_step_size_says(tree):
    with LocalEngine(1) as engine:
        batch = encoded(tree[0][:100], engine)
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


def test_a_fit_by_batches_goes_on_to_the_same_bits(tmp_path, tree):
    settings = {"batch_size": 1000, "n_init": 3, "max_iter": 14, "random_state": 0}
    whole = Corex(4, **settings).fit(tree[0])

    class Enough(Exception):
        pass

    class Listener(hicorex.layer.progress.Progress):
        def iteration(self, iteration, *_):
            if iteration == 6:
                raise Enough

    with pytest.raises(Enough), hicorex.layer.progress.heard_by(Listener()):
        Corex(4, **settings).fit(tree[0], checkpoint=Checkpoint(tmp_path / "fit", every=0))
    resumed = Corex(4, **settings).fit(tree[0], checkpoint=tmp_path / "fit")
    assert_array_equal(resumed.alpha_, whole.alpha_)
    assert_array_equal(resumed.history_, whole.history_)
    assert resumed.bounds_ == whole.bounds_
    with pytest.raises(HicorexError, match="batch_size"):
        Corex(4, **settings | {"batch_size": 2000}).fit(tree[0], checkpoint=tmp_path / "fit")


@pytest.mark.parametrize("size", [1, 0, -3, 2.5, "10"])
def test_strange_batch_sizes_are_refused(size):
    with pytest.raises(ValueError, match="batch_size"):
        Corex(2, batch_size=size).fit(np.random.default_rng(0).normal(size=(30, 3)))


def stream(model, X, size=2000):
    for first in range(0, len(X), size):
        model.partial_fit(X[first : first + size])
    return model


@pytest.mark.parametrize("kind", ["tree", "numbers"])
def test_a_stream_learns_what_all_samples_tell(kind, tree, numbers):
    X = tree[0] if kind == "tree" else numbers
    whole = Corex(4, random_state=0).fit(X)
    model = stream(Corex(4, random_state=0), X)
    assert model.bounds(X).lower > 0.98 * whole.bounds(X).lower
    assert adjusted_rand_score(tree[1].clusters, model.clusters_) == 1
    assert model.n_iter_ == model.history_.size
    assert model.bounds_.n_samples == 2000


def test_a_stream_of_layers(tree):
    whole = HierarchicalCorex((4, 1), random_state=0).fit(tree[0])
    model = stream(HierarchicalCorex((4, 1), random_state=0), tree[0])
    assert_allclose(model.bounds(tree[0]).lower, whole.bounds(tree[0]).lower, rtol=0.02)
    assert model.transform(tree[0]).shape == (len(tree[0]), 5)


def test_a_stream_follows_what_changes():
    """Other columns go together from the middle on; what was before fades."""
    rng = np.random.default_rng(0)

    def batch(groups):
        coins = rng.integers(0, 2, (500, 2))
        return coins[:, groups] ^ (rng.random((500, 8)) < 0.05)

    model = Corex(2, random_state=0)
    before, after = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    for _ in range(5):
        model.partial_fit(batch(before))
    assert adjusted_rand_score(before, model.clusters_) == 1
    for _ in range(60):
        model.partial_fit(batch(after))
    assert adjusted_rand_score(after, model.clusters_) == 1


def test_a_stream_goes_on_after_it_was_saved(tmp_path, numbers):
    model = stream(Corex(4, random_state=0), numbers[:6000])
    model.save(tmp_path / "model.hicorex")
    loaded = hicorex.load(tmp_path / "model.hicorex")
    for own in (model, loaded):
        own.partial_fit(numbers[6000:8000])
    assert_array_equal(loaded.alpha_, model.alpha_)
    assert loaded.tc_ == model.tc_


def test_streams_meet_gaps_and_unseen_values_later():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, (1000, 2)), 3, axis=1)
    model = Corex(2, random_state=0).partial_fit(X)
    X[::3, 0] = 7
    with pytest.warns(UserWarning, match="not seen count as missing, in column 0") as told:
        model.partial_fit(X)
    assert told[0].filename == __file__
    numbers = X[:, 1:].astype(float)
    floats = Corex(2, random_state=0).partial_fit(numbers)
    numbers[::2, 1] = np.nan
    floats.partial_fit(numbers)
    for own in (model, floats):
        assert np.isfinite(own.bounds_.lower)
        assert np.isfinite(own.alpha_).all()


@pytest.mark.parametrize("model", [Corex(4, random_state=0), HierarchicalCorex((4, 1), random_state=0)])
def test_a_stream_may_begin_with_the_factors_of_a_fit(model, tree):
    X = tree[0]
    model = clone(model).fit(X[:2000])
    before = model.bounds(X).lower
    labels = model.transform(X)
    stream(model, X[2000:20_000])
    assert model.bounds(X).lower > before - 0.01
    # They are still the same factors.
    assert (model.transform(X) == labels).mean() > 0.95


def test_a_fit_begins_anew_and_batches_have_the_same_columns(tree):
    X = tree[0][:500]
    model = Corex(2, n_init=1, random_state=0).fit(X)
    begun = clone(model).partial_fit(X).partial_fit(X)
    assert begun.n_iter_ == begun.history_.size
    with pytest.raises(ValueError, match="features"):
        begun.partial_fit(X[:, :3])
    begun.fit(X)
    assert_array_equal(begun.alpha_, model.alpha_)
    with pytest.raises(ValueError, match="features"):
        begun.partial_fit(X[:, :3])


def test_starts_are_given_up_by_their_course_and_not_by_lucky_batches():
    noise = 0.05 * np.random.default_rng(0).standard_normal(60)
    flat, growing = 10 + noise, 9.5 + 0.05 * np.arange(60) + noise
    for n_seen in range(12, 60):
        assert not race._hopeful(flat[:n_seen].tolist(), 10.5, 1e-5, race.PACE_OF_BATCHES)
        assert race._hopeful(growing[:n_seen].tolist(), 10.5, 1e-5, race.PACE_OF_BATCHES)
    assert race._hopeful(flat[:9].tolist(), 10.5, 1e-5, race.PACE_OF_BATCHES)
