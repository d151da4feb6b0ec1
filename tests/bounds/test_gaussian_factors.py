"""The Gaussian factor model that tells how much dependence of numbers there is at least."""

import json

import numpy as np
import pytest
from scipy.special import ndtri

from hicorex import Corex, load
from hicorex.bounds.gaussian_factors import _scores, factor_model, gaussian_bound
from hicorex.findings.description import dependence_of, description
from hicorex.findings.words import summary
from hicorex.input.sources import source_of
from hicorex.selection.folds import random_folds


def one_factor(rng, n_samples, loading):
    """Samples of a Gaussian factor, and their total correlation."""
    loading = np.asarray(loading)
    X = rng.normal(size=(n_samples, 1)) * loading + rng.normal(size=(n_samples, loading.size)) * np.sqrt(1 - loading**2)
    correlation = np.outer(loading, loading)
    np.fill_diagonal(correlation, 1)
    return X, -0.5 * np.linalg.slogdet(correlation)[1]


def bound_of(X, sample_weight=None, marginals="gaussian"):
    """The bound, by five folds, of a table."""
    model = Corex(1, n_states=2, marginals=marginals, max_iter=2, n_init=1, n_jobs=1, random_state=0)
    encoder = model.fit(X).fitted_.layers[0]
    with source_of(X).engine(1) as engine:
        data = encoder.encode(source_of(X), engine, sample_weight, None)
    return gaussian_bound(data, list(random_folds(np.arange(len(X)), 5)))


def test_the_model_of_a_factor_has_its_correlations():
    X, _ = one_factor(np.random.default_rng(0), 20_000, [0.9, 0.7, 0.5, 0.8, 0.3])
    for u in (X.T, X[:4].T):  # by covariances, and by samples where these are fewer
        u = (u - u.mean(axis=1, keepdims=True)) / u.std(axis=1, keepdims=True)
        loadings, variance = factor_model(u, np.ones(u.shape[1]), 1)
        assert np.allclose((loadings**2).sum(axis=1) + variance, 1)
        if u.shape[1] > 4:
            assert np.allclose(np.abs(loadings[:, 0]), [0.9, 0.7, 0.5, 0.8, 0.3], atol=0.02)


def test_bounds_are_those_of_normal_densities():
    """The log densities of one fold, plainly."""
    X, _ = one_factor(np.random.default_rng(1), 200, [0.9, 0.7, 0.5, 0.8])
    rank = X.argsort(axis=0).argsort(axis=0)
    u = ndtri((rank + 0.5) / 200)
    u /= np.sqrt((u**2).mean(axis=0))
    values = np.empty(200)
    rng = np.random.default_rng(0)
    [_scores(x, np.ones(200, bool), np.ones(200), rng) for x in X.T]  # draws as the bound does
    for seen, new in random_folds(np.arange(200), 5):
        loadings, variance = factor_model(u[rng.permutation(seen)].T, np.ones(seen.size), 1)
        covariance = loadings @ loadings.T + np.diag(variance)
        square = np.einsum("Ni,ij,Nj->N", u[new], np.linalg.inv(covariance) - np.eye(4), u[new])
        values[new] = -0.5 * (np.linalg.slogdet(covariance)[1] + square)
    value, stderr = bound_of(X)
    assert np.isclose(value, values.mean(), rtol=1e-4)
    assert np.isclose(stderr, values.std() / np.sqrt(200), rtol=1e-4)


@pytest.mark.parametrize("kind", ["gaussian", "ties", "gaps"])
def test_it_is_not_above_the_truth(kind):
    """By two standard errors in no more than 2.5% of 200 trials; and not far below without ties and gaps."""
    beyond, share = [], []
    for seed in range(200):
        rng = np.random.default_rng([seed, 20])
        X, truth = one_factor(rng, int(rng.choice([40, 100, 400])), rng.uniform(0.2, 0.9, 6))
        scores = [np.digitize(x, [-0.5, 0.5]) if kind == "ties" else x for x in X.T]
        there = rng.random(X.T.shape) > (0.3 if kind == "gaps" else -1)
        u = np.array([_scores(x, here, np.ones(len(X)), rng) for x, here in zip(scores, there, strict=True)])
        values = np.empty(len(X))
        for seen, new in random_folds(np.arange(len(X)), 5):
            loadings, variance = factor_model(u[:, seen], np.ones(seen.size), 1)
            covariance = loadings @ loadings.T + np.diag(variance)
            square = np.einsum("iN,ij,jN->N", u[:, new], np.linalg.inv(covariance) - np.eye(6), u[:, new])
            values[new] = -0.5 * (np.linalg.slogdet(covariance)[1] + square)
        beyond.append((values.mean() - truth) / (values.std() / np.sqrt(len(X))))
        share.append(values.mean() / truth)
    assert np.mean(np.array(beyond) > 2) <= 0.025
    if kind == "gaussian":
        assert np.median(share) > 0.85


def test_equal_numbers_do_not_make_it_larger_than_there_is():
    z = np.random.default_rng(0).integers(3, size=(1000, 1)).repeat(4, axis=1).astype(float)
    value, stderr = bound_of(z)
    assert 1 < value < 3 * np.log(3)
    assert stderr > 0
    assert bound_of(np.random.default_rng(0).integers(3, size=(100, 4)), marginals="categorical") is None


def test_weights_count_samples():
    X, truth = one_factor(np.random.default_rng(2), 600, [0.8, 0.7, 0.9])
    twice = bound_of(X, np.full(600, 2.0))
    once = bound_of(X)
    assert np.isclose(twice[0], once[0])
    assert abs(once[0] - truth) < 3 * once[1]


def test_summaries_say_how_much_there_is_and_what_the_factors_explain_of_it(tmp_path):
    """Two numbers determine all others, which a Gaussian model says better than states do."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 12)) + 0.2 * rng.normal(size=(300, 12))
    model = Corex(2, n_states=3, random_state=0).fit(X)
    crossed = model.cross_fitted_
    assert crossed.lower_gaussian > crossed.lower_with_pairs > crossed.lower > 0
    told = description(model)
    there = told.dependence
    assert (there.by, there.lower, there.explained) == ("Gaussian factor model", crossed.lower_gaussian, crossed.lower)
    assert there.share == crossed.lower / crossed.lower_gaussian
    said = " ".join(summary(model).split())
    assert f"There are at least {there.lower:.4g} nats (standard error {there.stderr:.2g}) of dependence" in said
    assert f"the factors explain {there.explained:.4g}, {there.share:.0%} of it, and single pairs" in said
    assert json.loads(json.dumps(told.to_dict()))["bounds"]["dependence"]["share"] == there.share
    model.save(tmp_path / "model.hicorex")
    assert load(tmp_path / "model.hicorex").cross_fitted_ == crossed
    assert "by a Gaussian factor model" in repr(crossed)


def test_nothing_sure_has_no_share():
    bounds = Corex(1, n_states=2, random_state=0).fit(np.random.default_rng(0).normal(size=(60, 5))).cross_fitted_
    assert dependence_of(bounds).share is None
