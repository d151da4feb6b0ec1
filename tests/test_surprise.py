"""The surprisal of whole samples: odd values count as well as odd combinations, and it is said which it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import hicorex
from hicorex import Corex, HierarchicalCorex


def mixed(rng, n_samples=300):
    """Three numbers and three columns of categories of one factor, some cells missing."""
    state = rng.integers(2, size=(n_samples, 1))
    numbers = 2 * state + rng.normal(size=(n_samples, 3))
    codes = np.where(rng.random((n_samples, 3)) < 0.7, state, rng.integers(3, size=(n_samples, 3)))
    X = np.hstack([numbers, codes.astype(float)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


KINDS = ["gaussian"] * 3 + ["categorical"] * 3


def plain_values(X):
    """Surprisal, mean and variance of the values of each sample, one cell at a time."""
    told = np.zeros((3, len(X)))
    for i, column in enumerate(X.T):
        seen = ~np.isnan(column)
        if i < 3:
            z = (column - column[seen].mean()) / column[seen].std()
            of_cell = -norm.logpdf(z)
            mean, variance = 0.5 + 0.5 * np.log(2 * np.pi), 0.5
        else:
            values = np.unique(column[seen])
            count = np.array([np.sum(column == v) for v in values])
            p = (count + 1 / values.size) / (count.sum() + 1)
            of_value = dict(zip(values.tolist(), -np.log(p), strict=True))
            of_cell = np.array([of_value.get(v, np.nan) for v in column.tolist()])
            mean = -p @ np.log(p)
            variance = p @ np.log(p) ** 2 - mean**2
        told += np.where(seen, np.stack([of_cell, np.full(len(X), mean), np.full(len(X), variance)]), 0)
    return told


def test_surprisal_is_that_of_the_values_less_what_the_factors_explain():
    X = mixed(np.random.default_rng(0))
    model = Corex(2, n_states=2, marginals=KINDS, random_state=0).fit(X)
    found, score = model.surprise(X), model.score_samples(X)
    surprisal, mean, variance = plain_values(X)
    assert_allclose(found.surprisal, surprisal - score, atol=1e-4)
    assert_allclose(found.odd_values, surprisal - mean, atol=1e-4)
    assert_allclose(found.odd_combination, score.mean() - score, atol=1e-4)
    far = found.odd_values + found.odd_combination >= 3 * np.sqrt(variance)
    assert_array_equal(found.unusual != "", far)
    which = np.where(found.odd_values >= found.odd_combination, "values", "combination")
    assert_array_equal(found.unusual[far], which[far])


def test_surprisal_is_the_same_of_loaded_models_and_sparse_tables(tmp_path):
    X = (np.random.default_rng(0).random((200, 12)) < 0.2).astype(int)
    X[:, 6:] = X[:, :6]
    model = HierarchicalCorex((2, 1), n_states=2, random_state=0).fit(X)
    model.save(tmp_path / "model.hicorex")
    expected = model.surprise(X)
    for found in (hicorex.load(tmp_path / "model.hicorex").surprise(X), model.surprise(csr_array(X))):
        assert_allclose(found.surprisal, expected.surprisal, rtol=1e-9)
        assert_array_equal(found.unusual, expected.unusual)


def planted(seed, kind):
    """Three groups of five variables, 5% of the samples made odd, and which these are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3))[:, np.arange(15) % 3] + 0.4 * rng.normal(size=(500, 15))
    odd = np.arange(500) < 25
    column = rng.integers(15, size=25)
    if kind == "one cell with another sign":
        cells = X[:25][np.arange(25), column]
        X[:25][np.arange(25), column] = -cells - np.sign(cells)
    elif kind == "one value far out":
        X[:25][np.arange(25), column] = 6 * rng.choice([-1, 1], 25)
    else:
        X[:25] *= 3
    return X, odd


# The least areas under the curve, of surprisal and of what it gains over point-wise total correlation alone.
RANKED = {
    "one cell with another sign": (0.85, -0.03),
    "one value far out": (0.9, 0.08),
    "all values far out": (0.99, 0.3),
}


@pytest.mark.parametrize("kind", RANKED)
def test_surprisal_ranks_odd_values_and_odd_combinations(kind):
    by_surprisal, by_score, unusual = [], [], []
    for seed in range(4):
        X, odd = planted(seed, kind)
        found = Corex(3, n_states=4, random_state=0).fit(X).surprise(X)
        by_surprisal.append(roc_auc_score(odd, found.surprisal))
        by_score.append(roc_auc_score(odd, -found.samples))
        unusual += (found.unusual[~odd] != "").tolist()
        if kind == "all values far out":
            assert np.mean(found.unusual[odd] == "values") > 0.7
    least, gain = RANKED[kind]
    assert np.mean(by_surprisal) >= least
    assert np.mean(by_surprisal) - np.mean(by_score) >= gain
    assert np.mean(unusual) <= 0.05
