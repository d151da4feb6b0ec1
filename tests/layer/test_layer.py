"""What one layer guarantees: a rising objective, its identity with log Z, and honest numbers."""

import numpy as np
import oracle
import pytest
from conftest import mixed_table
from hypothesis import given, settings
from hypothesis import strategies as st
from models import encoded
from numpy.testing import assert_allclose, assert_array_equal

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree
from hicorex.engine import LocalEngine
from hicorex.information import mutual_information
from hicorex.layer import step as one_step
from hicorex.layer.labels import block_coefficients, labels_of
from hicorex.layer.one_pass import run_pass
from hicorex.layer.starts import primed_starts
from hicorex.layer.step import update
from hicorex.layer.structure import Tree
from hicorex.marginals import joint_categorical, joint_gaussian

SEEDS = st.integers(0, 2**32 - 1)


class Fixed(Tree):
    """A rule that leaves alpha as it is given, block by block."""

    def __init__(self, data, alpha):
        self.by_block = dict(zip(map(id, data.blocks), alpha, strict=True))

    def alpha(self, measured):
        return self.by_block[id(measured.block)]


@pytest.fixture
def no_smoothing(monkeypatch):
    for module in (one_step, joint_categorical, joint_gaussian):
        monkeypatch.setattr(module, "PRIOR_SAMPLES", 1e-12)


def random_system(seed, gaussian_share):
    rng = np.random.default_rng(seed)
    n_samples, n, m, k = rng.integers((8, 2, 1, 2), (16, 5, 3, 4))
    columns = []
    for _ in range(n):
        if rng.random() < gaussian_share:
            columns.append(rng.normal(size=n_samples))
        else:
            codes = np.unique(rng.integers(rng.integers(2, 4), size=n_samples), return_inverse=True)[1]
            columns.append(codes)
    weight = rng.integers(1, 4, n_samples).astype(float)
    return columns, weight, rng.dirichlet(np.ones(k), (n_samples, m)), rng.random((n, m))


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=200, deadline=None)
def test_objective_never_falls_at_fixed_alpha(seed, gaussian_share):
    """Theorem 3.1 in the oracle: p(x_i) is what it is, so that its mean is a constant."""
    columns, weight, labels, alpha = random_system(seed, gaussian_share)
    smoothing = {"prior_samples": 1e-12}
    values = []
    for _ in range(5):
        prior = np.einsum("l,ljs->js", weight, labels) / weight.sum()
        marginals = oracle.estimate(columns, weight, labels, **smoothing)
        new, log_z = oracle.all_labels(columns, prior, marginals, alpha)
        mixture = sum(
            weight @ [alpha[i, j] * oracle.log_mixture(x, prior[j], marginals[i][j]) for x in column]
            for i, column in enumerate(columns)
            for j in range(len(prior))
        )
        # The mixture of Gaussians changes from step to step; the theorem holds it fixed.
        values.append((weight @ log_z.sum(axis=1) + (mixture if gaussian_share else 0)) / weight.sum())
        labels = new
    assert np.all(np.diff(values) >= -1e-9)


@given(SEEDS)
@settings(max_examples=200, deadline=None)
def test_objective_never_falls_at_fixed_alpha_on_the_fast_path(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(rng.integers(2, 5), size=(rng.integers(50, 300), rng.integers(2, 8)))
    X[:, 0] = X[:, 1] ^ (rng.random(len(X)) < 0.1)
    data = encoded(X, "categorical", dtype=np.float32)
    with LocalEngine(1) as engine, pytest.MonkeyPatch.context() as patch:
        for module in (one_step, joint_categorical, joint_gaussian):
            patch.setattr(module, "PRIOR_SAMPLES", 1e-9)
        state = primed_starts(data, 2, 2, 1, engine)
        rule = Fixed(
            data, [rng.random(a.shape) * block.informative for a, block in zip(state.alpha, data.blocks, strict=True)]
        )
        values = []
        for step in range(8):
            found = run_pass(state, data, engine)
            state, _ = update(state, found, data.blocks, rule, engine)
            if step:
                values.append(found.log_z.sum())
    assert np.all(np.diff(values) >= -1e-4 * np.abs(values[1:]) - 1e-6)


def test_mean_log_z_equals_the_objective_at_a_fixed_point(no_smoothing):
    X, _ = make_latent_tree(300, 12, 2, random_state=0)
    data = encoded(X, dtype=np.float64)
    with LocalEngine(1) as engine:
        state = primed_starts(data, 2, 2, 1, engine)
        rule = Fixed(data, [np.full(a.shape, 0.7) for a in state.alpha])
        for _ in range(300):
            found = run_pass(state, data, engine)
            state, _ = update(state, found, data.blocks, rule, engine)
        scores = sum(
            b.scores(tile, w)
            for b, tile, w in zip(
                data.blocks,
                data.parts[0].tile(data.blocks, slice(0, 300)),
                block_coefficients(state, data, engine),
                strict=True,
            )
        )
    labels, _ = labels_of(scores, state.prior)
    objective = 0.0
    for j in range(2):
        own = labels[:, j]
        objective -= (own * np.log(own / own.mean(axis=1, keepdims=True))).sum() / 300
        for column in X.T:
            objective += 0.7 * mutual_information([own[:, column == v].sum(axis=1) / 300 for v in (0, 1)])
    assert_allclose(found.log_z.sum(), objective, atol=1e-6)


@given(SEEDS, st.sampled_from(["tree", "overlap", "unique"]), st.sampled_from([0.0, 0.3]), st.sampled_from([2, 3]))
@settings(max_examples=60, deadline=None)
def test_numbers_are_finite_and_in_range(seed, structure, missing, n_states):
    rng = np.random.default_rng(seed)
    table, kinds = mixed_table(rng, n_samples=int(rng.integers(5, 80)), missing=missing)
    table *= 10.0 ** rng.integers(-8, 8)
    corex = Corex(3, n_states=n_states, structure=structure, marginals=kinds, n_init=2, random_state=0).fit(table)
    numbers = (
        corex.alpha_,
        corex.mutual_information_,
        corex.tcs_,
        corex.history_,
        corex.log_odds(table),
        corex.log_z(table),
    )
    assert all(np.isfinite(values).all() for values in numbers)
    assert np.all(corex.mutual_information_ >= 0)
    assert np.all((corex.alpha_ >= 0) & (corex.alpha_ <= 1))
    if structure != "unique":
        assert np.all(corex.alpha_.sum(axis=1) <= 1 + 1e-9)
    assert_allclose(corex.posteriors(table).sum(axis=2), 1)
    assert np.all(np.diff(corex.tcs_) <= 0)
    assert_array_equal(corex.posteriors(table).argmax(axis=2), corex.transform(table))


@pytest.mark.parametrize("structure", ["tree", "overlap", "unique"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_weights_equal_repeated_rows(structure, missing):
    rng = np.random.default_rng(0)
    table, kinds = mixed_table(rng, missing=missing)
    weight = rng.integers(0, 4, len(table))
    options = {"n_states": 2, "structure": structure, "marginals": kinds, "random_state": 0, "n_init": 3}
    weighted = Corex(3, **options).fit(table, sample_weight=weight)
    repeated = Corex(3, **options).fit(np.repeat(table, weight, axis=0))
    assert weighted.n_iter_ == repeated.n_iter_
    for name in ("alpha_", "mutual_information_", "tcs_", "history_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-8)
    assert_allclose(weighted.log_z(table), repeated.log_z(table), atol=1e-7)
    assert_allclose(weighted.bounds().lower, repeated.bounds().lower)
    assert_allclose(weighted.bounds().lower_stderr, repeated.bounds().lower_stderr)


@pytest.mark.parametrize("structure", ["tree", "overlap", "unique"])
def test_permuting_columns_permutes_the_answer(structure):
    rng = np.random.default_rng(1)
    table, kinds = mixed_table(rng, n_samples=200)
    order = rng.permutation(table.shape[1])
    options = {"n_states": 2, "structure": structure, "n_init": 1, "random_state": 0}
    straight = Corex(2, marginals=kinds, **options).fit(table)
    permuted = Corex(2, marginals=[kinds[i] for i in order], **options).fit(table[:, order])
    assert_allclose(permuted.tcs_, straight.tcs_, atol=1e-9)
    assert_allclose(permuted.alpha_, straight.alpha_[order], atol=1e-9)
    assert_allclose(permuted.mutual_information_, straight.mutual_information_[order], atol=1e-9)


def test_relabelling_categories_changes_nothing():
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=(500, 2))
    X = np.column_stack([2 * coin + rng.integers(2, size=500) for coin in np.repeat(coins, 5, axis=1).T])
    names = np.array(["d", "a", "c", "b"])[X]
    numbered, named = (Corex(2, n_states=2, random_state=0).fit(table) for table in (X, names))
    assert_allclose(named.tcs_, numbered.tcs_, rtol=1e-4)
    assert len(set(zip(numbered.clusters_, named.clusters_, strict=True))) == 2
    assert_allclose(named.alpha_.sum(axis=1), numbered.alpha_.sum(axis=1), atol=1e-6)


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=(1500, 3))
    X = np.column_stack(
        [
            coins[:, np.arange(1100) % 3] + rng.normal(size=(1500, 1100)),
            coins[:, np.arange(200) % 3] ^ (rng.random((1500, 200)) < 0.2),
        ]
    )
    X[rng.random(X.shape) < 0.01] = np.nan
    kinds = ["gaussian"] * 1100 + ["categorical"] * 200
    fits = [
        Corex(3, n_states=2, marginals=kinds, n_init=3, max_iter=12, n_jobs=j, random_state=0, tol=0.1).fit(X)
        for j in (1, 2, 4)
    ]
    for other in fits[1:]:
        for name in ("alpha_", "mutual_information_", "tcs_", "history_", "clusters_"):
            assert_array_equal(getattr(fits[0], name), getattr(other, name))
        assert_array_equal(fits[0].log_z(X[:100]), other.log_z(X[:100]))
        assert fits[0].bounds() == other.bounds()


@pytest.mark.parametrize("seed", range(20))
def test_more_starts_are_never_worse(seed):
    X, _ = make_latent_tree(150, 40, 5, random_state=seed)
    best = [Corex(5, n_states=2, n_init=n_init, random_state=seed).fit(X).history_.max() for n_init in (1, 3, 10)]
    # Starts that end up closer to each other than tol are one.
    assert best[1] >= best[0] * (1 - 1e-5)
    assert best[2] >= best[1] * (1 - 1e-5)


@pytest.mark.parametrize("change", [lambda x: 1e-6 * x, lambda x: 1e6 * x, lambda x: x + 1e6])
def test_scale_and_offset_of_a_column_change_nothing(change):
    X, _ = make_independent_clusters(n_samples=80, cluster_size=12, random_state=0)
    changed = X.copy()
    changed[:, ::3] = change(X[:, ::3])
    before, after = (Corex(4, n_states=2, random_state=0).fit(table) for table in (X, changed))
    assert_allclose(after.tcs_, before.tcs_, rtol=1e-6)
    assert_allclose(after.alpha_, before.alpha_, atol=1e-6)
    assert_array_equal(after.clusters_, before.clusters_)
    assert_array_equal(after.transform(changed), before.transform(X))


def test_global_random_and_error_state_are_left_alone():
    X, _ = make_independent_clusters(cluster_size=5, random_state=0)
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.RandomState(0).get_state()[1]
    errors = np.geterr()
    Corex(2, n_states=2).fit(X)
    assert np.geterr() == errors
    assert_array_equal(np.random.get_state()[1], expected)  # noqa: NPY002


def test_kept_iterate_is_the_best_of_its_run():
    X, _ = make_latent_tree(200, 60, 6, random_state=3)
    corex = Corex(6, n_states=2, random_state=0).fit(X)
    assert_allclose(corex.tc_, corex.history_.max(), rtol=1e-3)


def test_stopping_early_warns():
    X, _ = make_latent_tree(200, 30, 3, random_state=0)
    with pytest.warns(match="after 3 iterations"):
        Corex(3, n_states=2, max_iter=3, random_state=0).fit(X)


def test_verbose_shows_a_progress_line(capsys):
    X, _ = make_independent_clusters(cluster_size=5, random_state=0)
    Corex(2, n_states=2, verbose=1, random_state=0).fit(X)
    assert "iteration 10: " in capsys.readouterr().err
