"""Bounds from below and above hold, are tight where they can be, and are honest on new samples."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.neural_network import BernoulliRBM
from systems import fit_system, random_system

from hicorex import Corex, HierarchicalCorex, representation_bounds
from hicorex.bounds.result import NoUpperReason
from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.information import entropy, sample_entropy, total_correlation


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("structure", ["tree", "overlap", "unique"])
def test_bounds_hold_on_500_enumerated_systems(structure):
    rng = np.random.default_rng(0)
    explained = []
    for case in range(510):
        p = random_system(rng)
        exact = total_correlation(p)
        found = fit_system(p, structure, rng, scale=None if case % 2 else 1e12).bounds_
        assert found.lower <= exact + 1e-9, case
        assert found.upper >= exact - 1e-9, case
        assert found.upper_theorem >= exact - 1e-9, case
        assert found.entropy_lower - 1e-9 <= entropy(p) <= found.entropy_upper + 1e-9, case
        assert found.layers[0].objective <= exact + 1e-9, case
        assert all(row.lower <= exact + 1e-9 for row in found.layers), case
        if not case % 2:
            explained.append(found.lower / exact)
    assert np.median(explained) > 0.7  # they say something, too


def deterministic_tree(n_states, branches, n_samples, rng, renamed=True):
    """Every variable a function of the one above it: all follow the root."""
    column = rng.integers(n_states, size=n_samples)
    columns = [rng.permutation(n_states)[column] if renamed else column for _ in range(branches)]
    return np.column_stack(columns)


@pytest.mark.parametrize("structure", ["tree", "overlap", "unique"])
@pytest.mark.parametrize(("n_states", "layers"), [(2, (1,)), (2, (3, 1)), (3, (4, 1)), (2, (4, 2, 1))])
def test_bounds_are_tight_on_a_deterministic_tree(structure, n_states, layers):
    X = deterministic_tree(n_states, 12, 4000, np.random.default_rng(0))
    exact = 12 * sample_entropy(X[:, 0]) - sample_entropy(X[:, 0])
    found = HierarchicalCorex(layers, n_states=n_states, structure=structure, random_state=0).fit(X).bounds_
    assert_allclose([found.lower, found.upper, found.upper_theorem], exact, atol=1e-6)
    assert_allclose([found.entropy_lower, found.entropy_upper], sample_entropy(X[:, 0]), atol=1e-6)


def test_bounds_are_tight_where_factors_differ():
    """Two independent coins below, each variable a function of one of them."""
    rng = np.random.default_rng(0)
    coins = rng.integers(2, size=(5000, 2))
    X = coins[:, np.arange(10) % 2] ^ rng.integers(2, size=10)
    exact = sum(sample_entropy(x) for x in X.T) - sample_entropy(*coins.T)
    found = HierarchicalCorex((2,), n_states=2, random_state=0).fit(X).bounds_
    assert_allclose(found.upper, exact, atol=1e-6)
    # Without a layer above, what the two coins share by chance is not explained.
    assert_allclose(found.lower, exact, atol=1e-3)
    assert found.upper_theorem is None


@pytest.mark.parametrize("seed", range(3))
def test_three_layers_of_a_latent_tree_are_found(seed):
    X, truth = make_latent_tree(5000, 400, (20, 4), root_flip=0.2, random_state=seed)
    model = HierarchicalCorex((20, 4, 1), n_states=2, n_init=5, random_state=seed).fit(X)
    crossed = model.bounds(cv=5)
    assert 0.98 < crossed.lower / truth.total_correlation < 1.005
    first, second, third = (layer.clusters_ for layer in model.layers_)
    owner = np.array([np.unique(first[truth.clusters == g]) for g in range(20)])
    assert owner.shape == (20, 1)  # every cluster is one factor
    assert sorted(owner[:, 0]) == list(range(20))
    above = second[owner[:, 0]]
    assert len({(a, b) for a, b in zip(above, truth.parents[0], strict=True)}) == 4
    assert list(third) == [0, 0, 0, 0]
    # Every layer is sure to add something.
    assert all(row.contribution > 3 * row.contribution_stderr for row in crossed.layers)


def test_in_sample_bounds_are_optimistic_and_cross_fitted_ones_are_not():
    in_sample, crossed = [], []
    for seed in range(5):
        X, truth = make_latent_tree(20_000, 60, 4, random_state=seed)
        model = HierarchicalCorex((4, 1), n_states=2, n_init=3, random_state=0).fit(X[:60])
        in_sample.append(model.bounds_.lower / truth.total_correlation)
        cv = model.bounds(cv=5)
        crossed.append(cv.lower / truth.total_correlation)
        assert cv.lower < truth.total_correlation + 2 * cv.lower_stderr
        assert cv.n_samples == 60
    assert np.mean(in_sample) > 1.03
    assert 0.4 < np.mean(crossed) < 1


NOISE = {
    "gaussian": lambda rng, n: rng.normal(size=(n, 30)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 30)),
    "binary": lambda rng, n: rng.integers(2, size=(n, 30)),
    "five categories": lambda rng, n: rng.integers(5, size=(n, 30)),
}


@pytest.mark.parametrize("kind", NOISE)
def test_held_out_bounds_of_independent_data_are_not_above_zero(kind):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = HierarchicalCorex((3, 1), n_states=2, n_init=2, random_state=seed).fit(NOISE[kind](rng, 100))
        new = model.bounds(NOISE[kind](rng, 500))
        assert new.lower <= new.lower_stderr, seed
        crossed = model.bounds(cv=2)
        assert crossed.lower <= crossed.lower_stderr, seed


def test_layers_and_factors_add_up():
    X, _ = make_overlapping_clusters(n_samples=200, cluster_size=10, random_state=0)
    tree = HierarchicalCorex((3, 1), n_states=2, structure="tree", random_state=0).fit(X).bounds_
    assert_allclose(sum(row.contribution for row in tree.layers), tree.layers[-1].lower)
    assert tree.lower == max(row.lower for row in tree.layers)
    own = [factor.contribution for factor in tree.factors if factor.name.startswith("layer1_")]
    assert_allclose(sum(own), tree.layers[0].contribution)


def test_a_layer_above_never_lowers_the_bound():
    """Weak factors lose by being made hard; then fewer layers count."""
    for seed in range(3):
        X, truth = make_latent_tree(2000, 40, 6, root_flip=0.3, flip=(0.2, 0.4), random_state=seed)
        alone = HierarchicalCorex((6,), n_states=2, random_state=0).fit(X)
        stack = HierarchicalCorex((6, 1), n_states=2, random_state=0).fit(X)
        assert stack.bounds_.lower >= alone.bounds_.lower - 1e-9
        assert stack.bounds_.depth == 1
        assert stack.bounds_.layers[1].lower < stack.bounds_.layers[0].lower
        crossed = stack.bounds(cv=3)
        assert crossed.depth == 1
        assert crossed.lower == crossed.layers[0].lower
        assert 0.8 < crossed.lower / truth.total_correlation < 1


def test_upper_bounds_of_few_new_samples_are_not_low():
    """Copies of a rare event: its entropy comes from the fit, not from a few new samples."""
    uppers = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        event = (rng.random(2050) < 0.03).astype(int)
        X = np.repeat(event[:, None], 20, axis=1)
        uppers.append(Corex(1, n_states=2, n_init=2, random_state=0).fit(X[:2000]).bounds(X[2000:]).upper)
    exact = 19 * entropy([0.97, 0.03])
    assert np.mean(uppers) > exact - 2 * np.std(uppers) / np.sqrt(20)


def test_zero_weights_take_no_part_in_cross_fitting():
    X, _ = make_latent_tree(240, 12, 2, random_state=0)
    weight = np.arange(240) % 2
    weighted = HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(X, sample_weight=weight)
    fewer = HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(X[1::2])
    assert_allclose(weighted.bounds(cv=3).lower, fewer.bounds(cv=3).lower)
    assert_allclose(weighted.bounds(cv=3).upper, fewer.bounds(cv=3).upper)
    assert np.isfinite(Corex(2, n_states=2, n_init=2, random_state=0).fit(X, sample_weight=2.0).bounds(cv=3).lower)


def test_one_new_sample_has_no_standard_error():
    X, _ = make_latent_tree(100, 12, 2, random_state=0)
    found = Corex(2, n_states=2, n_init=2, random_state=0).fit(X).bounds(X[:1])
    assert np.isnan(found.lower_stderr)
    assert found.n_samples == 1


def test_a_factor_contributes_what_the_layer_loses_without_it():
    """Leaving a factor out by hand gives the fall that the table foretells."""
    X, truth = make_overlapping_clusters(n_samples=500, cluster_size=10, random_state=0)
    whole = representation_bounds(X, truth.factors)
    for j, factor in enumerate(whole.factors):
        rest = representation_bounds(X, np.delete(truth.factors, j, axis=1))
        assert_allclose(whole.lower - rest.lower, factor.contribution, rtol=0.02)


def test_a_discrete_upper_bound_needs_discrete_complete_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(100, 4)).astype(float)
    numbers = Corex(1, n_states=2, marginals="gaussian", random_state=0)
    assert numbers.fit(X).bounds_.no_upper == (NoUpperReason.NOT_DISCRETE, "0")
    categorical = Corex(1, n_states=2, marginals="categorical", random_state=0)
    assert categorical.fit(X).bounds_.upper is not None
    X[3, 2] = np.nan
    found = categorical.fit(X).bounds_
    assert found.no_upper == (NoUpperReason.GAPS, "2")
    assert found.upper is found.entropy_lower is found.entropy_upper is None
    assert found.layers[0].conditional_entropy is None


def test_the_table_has_a_row_for_each_layer_and_factor():
    X, _ = make_latent_tree(300, 30, 3, root_flip=0.1, random_state=0)
    model = HierarchicalCorex((3, 1), n_states=2, random_state=0).fit(X)
    table = model.bounds_.to_frame()
    assert list(table.index) == [
        "layer1",
        *(f"layer1_factor{j}" for j in range(3)),
        "layer2",
        "layer2_factor0",
    ]
    assert list(table["kind"]) == ["layer", "factor", "factor", "factor", "layer", "factor"]
    factors = table[table["kind"] == "factor"]
    assert_allclose(factors["objective"], np.concatenate([layer.tcs_ for layer in model.layers_]))
    assert isinstance(table, pd.DataFrame)
    text = repr(model.bounds_)
    assert "<= TC(X) <=" in text
    assert "H(X)" in text
    assert text.count("\n") == 4


def test_bounds_of_a_hierarchy_of_one_layer_are_those_of_the_layer():
    X, _ = make_latent_tree(300, 30, 3, random_state=0)
    layer = HierarchicalCorex((3,), n_states=2, random_state=0).fit(X)
    assert layer.bounds_ == layer.layers_[0].bounds_
    assert layer.bounds(X) == layer.layers_[0].bounds(X)


def test_cross_fitting_knows_weights_and_splitters():
    X, _ = make_latent_tree(120, 20, 2, random_state=0)
    from sklearn.model_selection import ShuffleSplit

    corex = Corex(2, n_states=2, n_init=2, random_state=0).fit(X, sample_weight=np.full(120, 2.0))
    assert corex.bounds(cv=3) == corex.bounds(cv=3)
    assert corex.bounds(cv=3).lower_stderr < corex.bounds(X, cv=3).lower_stderr  # twice as many samples
    assert corex.bounds(X, cv=ShuffleSplit(1, test_size=30, random_state=0)).n_samples == 30


# Any representation


def test_factors_of_corex_have_the_same_bound_as_a_representation():
    X, _ = make_overlapping_clusters(n_samples=300, cluster_size=10, random_state=0)
    corex = Corex(3, n_states=2, random_state=0).fit(X)
    assert_allclose(representation_bounds(X, corex.posteriors(X)).lower, corex.bounds_.lower, rtol=1e-3)


def test_representations_of_other_models_are_below_the_truth():
    X, truth = make_latent_tree(5000, 60, 6, root_flip=0.2, random_state=0)
    found = {
        "truth": representation_bounds(X, truth.factors, cv=5),
        "corex": representation_bounds(X, Corex(6, n_states=2, random_state=0).fit(X).posteriors(X), cv=5),
        "signs": representation_bounds(X, PCA(6, random_state=0).fit_transform(X) > 0, cv=5),
        "rbm": representation_bounds(X, BernoulliRBM(6, n_iter=10, random_state=0).fit(X).transform(X), cv=5),
    }
    for name, bounds in found.items():
        assert bounds.lower < truth.total_correlation + 2 * bounds.lower_stderr, name
        assert bounds.upper is None or bounds.upper > truth.total_correlation, name
    assert found["corex"].lower > 0.85 * truth.total_correlation
    assert found["corex"].lower > found["signs"].lower
    assert found["corex"].lower > found["rbm"].lower


def test_folds_of_their_own_take_the_optimism_out():
    rng = np.random.default_rng(0)
    X, noise = rng.integers(3, size=(50, 200)), rng.integers(2, size=(50, 10))
    in_sample, crossed = representation_bounds(X, noise), representation_bounds(X, noise, cv=5)
    assert in_sample.lower > 0 > crossed.lower
    assert len(in_sample.factors) == 10
    assert crossed.factors == ()


def test_units_that_exclude_each_other_have_finite_contributions():
    """Joint states that never occur, with values far away from theirs."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(3, size=300)
    X = 50.0 * cluster[:, None] + rng.normal(size=(300, 6))
    with pytest.warns(UserWarning, match="sums to one"):
        found = representation_bounds(X, np.eye(3)[cluster])
    assert np.isfinite(found.to_frame()["contribution"]).all()
    one = representation_bounds(X, np.eye(3)[cluster][:, None, :])
    assert one.lower > found.lower


def test_new_samples_far_from_everything_have_finite_bounds():
    """States that do not occur among them, narrow states, and values beyond all of the fit."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(3, size=300)
    X = 50.0 * cluster[:, None] + 0.01 * rng.normal(size=(300, 6))
    model = HierarchicalCorex((2, 1), n_states=3, n_init=2, random_state=0).fit(X)
    for new in (X[cluster == 0][:20], X[:20] + 1e4, -1e6 * X[:20], np.zeros((3, 6)), X[:1]):
        found = model.bounds(new)
        assert np.isfinite(found.lower)
        assert np.isfinite([row.contribution for row in found.factors]).all()
        assert np.isfinite(model.surprise(new).samples).all()


def test_columns_that_do_not_vary_do_not_stand_against_an_upper_bound():
    X, _ = make_latent_tree(200, 10, 2, random_state=0)
    frame = pd.DataFrame(X).assign(constant=1.0, empty=np.nan).rename(columns=str)
    plain, more = (
        Corex(2, n_states=2, n_init=2, random_state=0).fit(table).bounds_ for table in (pd.DataFrame(X), frame)
    )
    assert_allclose(more.upper, plain.upper)
    units = X[:, :2]
    plain, more = (representation_bounds(table, units) for table in (pd.DataFrame(X), frame))
    assert_allclose(more.upper, plain.upper)
    assert representation_bounds(np.ones((20, 2)), np.zeros((20, 1))).lower == 0


def test_text_of_bounds_that_say_nothing():
    X = np.random.default_rng(0).normal(size=(60, 5))
    found = Corex(1, n_states=2, n_init=2, random_state=0).fit(X).bounds(np.random.default_rng(1).normal(size=(60, 5)))
    assert ("nothing is explained" in repr(found)) == (found.lower <= 0)


def test_labels_that_are_no_function_of_x_have_no_upper_bound():
    rng = np.random.default_rng(0)
    X, noise = rng.integers(2, size=(400, 2)), rng.integers(2, size=(400, 10))
    assert representation_bounds(X, noise).no_upper == (NoUpperReason.NOT_A_FUNCTION, None)
    assert representation_bounds(X, noise, cv=4).no_upper == (NoUpperReason.NOT_A_FUNCTION, None)
    assert representation_bounds(X, X).upper is not None
