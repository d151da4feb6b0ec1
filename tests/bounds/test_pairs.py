"""Residual pairs: a true lower bound, never below a tree of pairs alone, and what they say of variables."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from systems import random_system

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.bounds.pairs.candidates import candidate_pairs
from hicorex.information import frequencies, mutual_information, sample_entropy, total_correlation


def samples_of(p, n_samples, rng):
    """Samples of a table of probabilities."""
    drawn = rng.choice(p.size, n_samples, p=p.ravel())
    return np.column_stack(np.unravel_index(drawn, p.shape))


def markov_chain(n_samples, n_columns, flip, rng):
    """Each column a copy of the one before that differs now and then."""
    steps = rng.random((n_samples, n_columns)) < flip
    steps[:, 0] = rng.random(n_samples) < 0.5
    return np.cumsum(steps, axis=1) % 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_factors_and_pairs_explain_no_more_than_there_is_in_500_systems():
    rng = np.random.default_rng(0)
    rise, left = [], []
    for case in range(510):
        X = samples_of(random_system(rng), 1000, rng)
        share, _ = frequencies(*X.T)
        exact = sum(sample_entropy(x) for x in X.T) + float(share @ np.log(share))
        shape = [(1,), (2, 1), (3, 1)][case % 3]
        model = HierarchicalCorex(shape, n_states=2 + case % 2, n_init=1, max_iter=30, n_jobs=1, random_state=0)
        found = model.fit(X).residual_pairs()
        assert found.lower_with_pairs <= exact + 1e-9, case
        rise.append(found.gain)
        left.append(exact - found.lower)
    assert np.mean(rise) > 0.25 * np.mean(left)  # they say something, too


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cross_fitted_bounds_with_pairs_exceed_the_truth_no_more_often_than_chance_would():
    rng = np.random.default_rng(1)
    n_above, n_trials = 0, 500
    for case in range(n_trials):
        p = random_system(rng)
        X = samples_of(p, int(rng.choice([30, 60, 200])), rng)
        bounds = Corex(1 + case % 2, n_states=2, n_init=1, max_iter=30, n_jobs=1, random_state=0).fit(X).cross_fitted_
        n_above += bounds.lower_with_pairs - 2 * bounds.lower_with_pairs_stderr > total_correlation(p) + 1e-9
    assert n_above <= 0.025 * n_trials


def test_pairs_explain_a_markov_chain():
    rng = np.random.default_rng(0)
    X = markov_chain(4000, 100, 0.2, rng)
    truth = 99 * mutual_information([[0.4, 0.1], [0.1, 0.4]])
    found = Corex(5, random_state=0).fit(X).residual_pairs()
    neighbours = {frozenset((int(pair.variable[1:]), int(pair.other[1:]))) for pair in found.pairs}
    assert neighbours == {frozenset((i, i + 1)) for i in range(99)}
    assert not found.with_factors
    new = markov_chain(4000, 100, 0.2, rng)
    model = Corex(5, random_state=0).fit(X)
    model.residual_pairs()
    assert abs(model.bounds(new).lower_with_pairs / truth - 1) < 0.02
    assert model.bounds(new).lower < 0.7 * truth


def gaussian_pairs(n_samples, rng):
    """A factor of ten numbers, two of which depend on each other beyond it."""
    factor = rng.normal(size=(n_samples, 1)) > 0
    X = 2.0 * factor + rng.normal(size=(n_samples, 10))
    X[:, 1] = 0.6 * (X[:, 0] - 2 * factor[:, 0]) + 2.0 * factor[:, 0] + 0.8 * rng.normal(size=n_samples)
    return X


@pytest.mark.parametrize("marginals", ["gaussian", "rank"])
def test_numbers_that_depend_on_each_other_beyond_their_factor_are_found(marginals):
    rng = np.random.default_rng(0)
    found = Corex(1, marginals=marginals, random_state=0).fit(gaussian_pairs(2000, rng)).residual_pairs()
    assert {found.pairs[0].variable, found.pairs[0].other} == {"x0", "x1"}
    assert abs(found.pairs[0].information / (-0.5 * np.log(1 - 0.6**2)) - 1) < 0.15
    assert found.pairs[0].kind == "depends on"


def mixed(n_samples, rng):
    """Numbers and categories of one factor; one column repeats another, and a number depends on a category."""
    z = rng.integers(3, size=n_samples)
    group = rng.integers(4, size=n_samples)
    table = pd.DataFrame({f"n{i}": 2 * z + rng.normal(size=n_samples) for i in range(8)})
    for i in range(4):
        table[f"c{i}"] = np.where(rng.random(n_samples) < 0.7, z, rng.integers(3, size=n_samples)).astype(str)
    table["class"] = np.array(list("abcd"))[group]
    table["pclass"] = np.array(["first", "second", "third", "crew"])[group]
    table["fare"] = 2.0 * group + rng.normal(size=n_samples)
    return table


def test_candidates_of_many_columns_are_the_pairs_of_two_forests():
    rng = np.random.default_rng(0)
    cells = np.cumsum(rng.normal(size=(200, 400)), axis=0)  # neighbours are alike
    cells = (cells - cells.mean(axis=1, keepdims=True)) / cells.std(axis=1, keepdims=True)
    nothing = np.zeros((1, 400), np.int64), np.full((1, 200), -1)
    found = candidate_pairs(cells, np.ones(200, bool), *nothing)
    square = np.triu(np.corrcoef(cells) ** 2, 1)
    for number in range(2):  # the best forest, and the best without it
        pairs = np.array(np.nonzero(minimum_spanning_tree(-square).toarray()))
        held = {tuple(pair) for pair in found.T.tolist()}
        missing = [pair for pair in pairs.T.tolist() if tuple(pair) not in held]
        assert len(missing) <= 20 * number  # some of the second are of no column's eight neighbours
        square[tuple(pairs)] = 0
    assert found.shape[1] <= 2 * 199


def test_near_duplicates_are_named_as_such():
    found = Corex(1, n_states=3, random_state=0).fit(mixed(1000, np.random.default_rng(0))).residual_pairs()
    said = {str(pair) for pair in found.pairs[:2]}
    assert said & {"class repeats pclass", "pclass repeats class"}
    assert any("fare" in words and "depends on" in words for words in said)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["variable", "other", "kind", "information", "gain"]
    assert frame["gain"].is_monotonic_decreasing


def test_numbers_that_nearly_repeat_each_other_are_kept_in_files(tmp_path):
    """Two such columns differ by so little that some levels of a pair have a density of exp(-300)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    X = np.column_stack([x, x[:, 0] + 0.01 * rng.normal(size=600), x.sum(axis=1) + 0.1 * rng.normal(size=600)])
    model = Corex(1, n_states=3, random_state=0).fit(X)
    assert model.residual_pairs().pairs[0].kind == "repeats"
    assert np.abs(model.fitted_.pairs.log_ratio).max() <= 50
    model.save(tmp_path / "model.hicorex")
    assert hicorex.load(tmp_path / "model.hicorex").fitted_.pairs.log_ratio.size == model.fitted_.pairs.log_ratio.size


def test_missing_values_fall_back_on_the_factors():
    rng = np.random.default_rng(0)
    table = mixed(1000, rng)
    model = Corex(1, n_states=3, random_state=0).fit(table)
    whole = model.residual_pairs().gain
    gaps = table.copy()
    gaps.loc[rng.random(1000) < 0.5, ["class", "fare"]] = np.nan
    some = Corex(1, n_states=3, random_state=0).fit(gaps).residual_pairs().gain
    assert 0.35 * whole < some < 0.65 * whole


def test_independent_columns_have_no_pairs_that_matter():
    X = np.random.default_rng(0).integers(2, size=(1000, 30))
    bounds = Corex(2, random_state=0).fit(X).cross_fitted_
    assert bounds.lower_with_pairs < 2 * bounds.lower_with_pairs_stderr + 0.01


def test_sparse_tables_have_the_pairs_of_dense_ones():
    rng = np.random.default_rng(0)
    X = (rng.random((1000, 30)) < 0.1).astype(int)
    X[:, 7] = np.where(rng.random(1000) < 0.9, X[:, 6], X[:, 7])
    dense = Corex(2, random_state=0).fit(X)
    thin = Corex(2, random_state=0).fit(sparse.csr_array(X))
    assert [str(pair) for pair in dense.residual_pairs().pairs] == [str(pair) for pair in thin.residual_pairs().pairs]
    assert abs(dense.bounds_.lower_with_pairs - thin.bounds_.lower_with_pairs) < 1e-6


@pytest.mark.parametrize("make", [lambda: Corex(1, n_states=3), lambda: HierarchicalCorex((2, 1), n_states=3)])
def test_pairs_are_kept_in_files_and_speak_of_new_samples(make, tmp_path):
    rng = np.random.default_rng(0)
    table, new = mixed(600, rng), mixed(300, rng)
    model = make().set_params(random_state=0).fit(table)
    assert model.bounds_.lower_with_pairs is None
    found = model.residual_pairs()
    model.save(tmp_path / "model.hicorex")
    loaded = hicorex.load(tmp_path / "model.hicorex")
    assert loaded.residual_pairs().pairs == found.pairs
    assert loaded.bounds_ == model.bounds_
    assert model.bounds(table) == model.bounds_
    assert loaded.bounds(new) == model.bounds(new)
    if model.bounds_.depth == 1 and len(model.fitted_.layers) == 1:
        assert model.bounds(new).lower_with_pairs > model.bounds(new).lower + 1


def test_weights_count_samples():
    rng = np.random.default_rng(0)
    table = mixed(800, rng)
    weighted = Corex(1, n_states=3, random_state=0).fit(table, sample_weight=np.full(800, 2)).residual_pairs()
    once = Corex(1, n_states=3, random_state=0).fit(table).residual_pairs()
    both = ({frozenset(pair[:2]) for pair in found.pairs[:1]} for found in (once, weighted))
    assert next(both) == next(both)
    assert abs(weighted.gain / once.gain - 1) < 0.02
