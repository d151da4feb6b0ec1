"""Compiled loops beside the functions of NumPy and SciPy that they stand for."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, rel_entr, softmax

from hicorex import kernels
from hicorex.kernels.compiled import add_log, exp, jit, log, log1p
from hicorex.layer.labels import labels_of
from hicorex.marginals import joint_marginals
from hicorex.marginals.base import most_likely, without_tiny
from hicorex.marginals.gaussian import Gaussian, Parameters, Tile
from hicorex.marginals.joint import Joint, unbiased

# Rounding of one operation, times as many as polynomials have.
ERROR = {np.float32: 2e-6, np.float64: 1e-14}


@jit
def all_functions(x, u, a, b, out):
    for i in range(x.size):
        out[0, i] = exp(x[i])
        out[1, i] = log1p(u[i])
        out[2, i] = add_log(a[i], b[i])
        out[3, i] = log(out[0, i])


@pytest.mark.parametrize("dtype", ERROR)
def test_elementary_functions_are_as_exact_as_their_type(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([-np.geomspace(1e-8, 80, 5000), np.linspace(0, 80, 5001)]).astype(dtype)
    u = np.concatenate([[0, 1], np.geomspace(1e-12, 1, 9999)]).astype(dtype)
    a, b = (rng.normal(scale=scale, size=x.size).astype(dtype) for scale in (1, 30))
    out = np.empty((4, x.size), dtype)
    all_functions(x, u, a, b, out)
    exact = [values.astype(float) for values in (x, u, a, b)]
    # The argument is itself rounded, by a share of its size.
    assert_allclose(out[0] / np.exp(exact[0]), 1, atol=ERROR[dtype] * 40)
    assert_allclose(out[1], np.log1p(exact[1]), rtol=ERROR[dtype], atol=1e-7 if dtype is np.float32 else 1e-18)
    assert_allclose(out[2], np.logaddexp(*exact[2:]), rtol=ERROR[dtype], atol=ERROR[dtype])
    assert_allclose(out[3], np.log(out[0].astype(float)), rtol=ERROR[dtype], atol=ERROR[dtype])


@pytest.mark.parametrize("dtype", ERROR)
def test_far_away_numbers_stay_finite(dtype):
    far = np.array([-1e30, -300, 0, 5], dtype)
    out = np.empty((4, far.size), dtype)
    all_functions(-np.abs(far), np.zeros_like(far), far, far[::-1].copy(), out)
    assert np.isfinite(out).all()
    assert_allclose(out[0, :2], 0, atol=1e-37)
    assert_allclose(out[2], [5, 0, 0, 5], atol=1e-6)


@pytest.mark.parametrize("dtype", ERROR)
@pytest.mark.parametrize("n_states", [2, 3, 7])
def test_labels_are_a_softmax(n_states, dtype):
    rng = np.random.default_rng(n_states)
    scores = rng.normal(scale=20, size=(n_states - 1, 4, 999)).astype(dtype)
    scores[0, 0, :3] = [0, 1e6, -1e6]
    prior = rng.dirichlet(np.ones(n_states), 4).T
    prior[:, 1] = 1 / n_states
    labels, log_normaliser = labels_of(scores.reshape(-1, 999), prior)
    assert labels.dtype == log_normaliser.dtype == dtype
    logits = np.concatenate([np.zeros((1, 4, 999)), scores]) + np.log(prior)[:, :, None]
    assert_allclose(labels, softmax(logits, axis=0), atol=ERROR[dtype])
    assert_allclose(log_normaliser, logsumexp(logits, axis=0), rtol=ERROR[dtype], atol=10 * ERROR[dtype])
    assert_allclose(labels.sum(axis=0), 1, rtol=ERROR[dtype])
    cost = np.empty((4, 999))
    kernels.labels.costs(labels.astype(float), prior, cost)
    assert_allclose(cost, rel_entr(labels.astype(float), prior[:, :, None]).sum(axis=0), atol=1e-14)
    assert_array_equal(most_likely(labels), labels.argmax(axis=0))
    clear = np.diff(np.sort(logits, axis=0)[-2:], axis=0)[0] > 1e-4
    assert_array_equal(labels.argmax(axis=0)[clear], logits.argmax(axis=0)[clear])


def test_certain_labels_cost_what_they_tell():
    hard = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    cost = np.empty((1, 2))
    kernels.labels.costs(hard, np.array([[0.25], [0.75]]), cost)
    assert_allclose(cost, [[np.log(4), np.log(4 / 3)]])


def test_labels_that_tell_nothing_cost_nothing():
    labels, _ = labels_of(np.zeros((3, 5)), np.full((2, 3), 0.5))
    cost = np.empty((3, 5))
    kernels.labels.costs(labels, np.full((2, 3), 0.5), cost)
    assert not cost.any()


def test_the_first_of_equal_states_is_the_most_likely():
    labels, _ = labels_of(np.zeros((3, 5), np.float32), np.full((2, 3), 0.5))
    assert not most_likely(labels).any()


def test_labels_to_sum_up_are_never_so_small_that_products_are_slow():
    scores = np.array([[0, 26, 30, 1e6, -1e6]])
    prior = np.full((2, 1), 0.5)
    labels, _ = labels_of(scores.astype(np.float32), prior)
    kept = without_tiny(labels)
    assert (labels > 0).all()
    assert_array_equal(kept, np.where(labels < 1e-12, 0, labels))
    assert kept[kept > 0].min() ** 3 >= np.finfo(np.float32).tiny
    assert_array_equal(kept == 0, [[[False, False, True, True, False]], [[False, False, False, False, True]]])
    double, _ = labels_of(scores, prior)
    assert without_tiny(double) is double


@pytest.mark.parametrize("share", [0.0, 0.01])
@pytest.mark.parametrize(("n_states", "depth"), [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
@pytest.mark.parametrize("dtype", ERROR)
def test_gaussian_columns_explain_what_the_definition_says(dtype, n_states, depth, share):
    """Beside the definition, also for samples so far away that some densities are nothing beside others."""
    rng = np.random.default_rng(depth)
    n_columns, n_factors, n_rows, n_joint = 5, 4, 700, n_states**depth
    x = rng.standard_normal((n_columns, n_rows)) * np.where(rng.random(n_rows) < 0.1, 30, 1)
    labels = rng.dirichlet(np.full(n_states, 0.3), (n_factors, n_rows)).transpose(2, 0, 1).copy()
    labels[:, :, ::3] = labels[:, :, ::3] == labels[:, :, ::3].max(axis=0)
    factors = np.stack([rng.choice(n_factors, depth, replace=False) for _ in range(n_columns)], axis=1)
    probability = rng.dirichlet(np.ones(n_joint), n_columns).T
    mean, variance = rng.normal(size=(n_joint, n_columns)), rng.uniform(0.1, 2, (n_joint, n_columns))
    x, mean, variance = x.astype(dtype), mean.astype(dtype), variance.astype(dtype)
    block = Gaussian(np.empty(0, int), np.ones(n_columns, bool), dtype)
    joint = Joint(np.arange(n_columns), factors, probability, Parameters(mean, variance, np.log(variance)))
    explained, unique = np.zeros(n_rows), np.zeros((n_factors, n_rows))
    ratios = joint_marginals(block).ratios(joint, n_states, share)
    ratios.add_explained(Tile(x, np.empty((0, n_rows), bool)), labels, explained, unique)

    x, mean, variance = (array.astype(float) for array in (x, mean, variance))
    expected, without, size = np.zeros_like(explained), np.zeros_like(unique), np.zeros_like(explained)
    for i, own in enumerate(factors.T):
        away = x[i] - mean[:, i, None]
        log_p = np.log(probability[:, i, None]) - 0.5 * (np.log(variance[:, i, None]) + away**2 / variance[:, i, None])
        log_p = (log_p - logsumexp(log_p, axis=0)).reshape(*[n_states] * depth, n_rows)
        weight = labels[:, own[0]]
        for j in own[1:]:
            weight = weight[..., None, :] * labels[:, j]
        prior = probability[:, i].reshape(*[n_states] * depth, 1)
        every = tuple(range(depth))
        known = (weight * unbiased(log_p - np.log(prior), share)).sum(axis=every)
        expected += known
        size = np.maximum(size, np.abs(away**2 / variance[:, i, None]).max(axis=0))
        for place, j in enumerate(own):
            rest = logsumexp(log_p, axis=place) - np.log(prior.sum(axis=place))
            left = (weight.sum(axis=place) * unbiased(rest, share)).sum(axis=every[:-1]) if depth > 1 else 0
            without[j] += known - left
    # Sums of densities that are all nothing beside another state's may be low by the logarithm of their number.
    near = size < 80
    error = 20 * ERROR[dtype] * np.maximum(size, 1)
    assert near.sum() > 300
    assert (np.abs(explained - expected) < error).all()
    assert (np.abs(unique - without)[:, near] < error[near]).all()
    assert (np.abs(unique - without) < error + n_columns * np.log(n_joint)).all()


FIT = """
import hashlib, json
import numpy as np, pandas as pd
from numba.core.dispatcher import Dispatcher
from hicorex import Corex, kernels

rng = np.random.default_rng(0)
hidden = rng.integers(0, 2, (300, 3))
values = hidden[:, [0, 0, 0, 1, 1, 1, 2, 2, 2]] + 0.5 * hidden[:, [1, 2, 1, 2, 0, 2, 0, 1, 0]]
values = values + 0.4 * rng.standard_normal(values.shape)
frame = pd.DataFrame(values).rename(columns="x{}".format)
words = pd.DataFrame(np.round(values).astype(int).astype(str)).rename(columns="w{}".format)
digest = hashlib.sha256()
for table in (frame, frame.mask(rng.random(frame.shape) < 0.1), frame > 0.7, pd.concat([frame, words], axis=1)):
    model = Corex(3, n_init=3, max_iter=15, tol=0, random_state=0).fit(table)
    digest.update(np.array(model.bounds_.lower).tobytes() + model.transform(table).tobytes())
    digest.update(model.history_.tobytes() + model.log_z(table).tobytes())
    pairs = model.residual_pairs()
    digest.update(repr(pairs.pairs).encode() + model.fitted_.pairs.log_ratio.tobytes())
variants = {}
for family in (kernels.gaussian, kernels.categorical, kernels.labels, kernels.pairs, kernels.structure):
    for name, loop in vars(family).items():
        if isinstance(loop, Dispatcher) and name[0] != "_":  # others are part of those that call them
            variants[family.__name__ + "." + name] = len(loop.signatures)
print(json.dumps([digest.hexdigest(), variants]))
"""


def test_compiled_now_or_before_results_are_the_same(tmp_path):
    """A first process compiles each loop, once; a second finds it in the cache."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-W", "ignore", "-c", FIT], env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (first, variants), (second, _) = (json.loads(run.stdout.splitlines()[-1]) for run in runs)
    assert first == second
    assert list(tmp_path.rglob("*.nbc"))
    # Each array in memory has one order, so that no user waits for a loop to be compiled for another.
    assert {name: count for name, count in variants.items() if count > 1} == {}
