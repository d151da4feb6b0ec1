"""Compiled loops beside the functions of NumPy and SciPy that they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, rel_entr, softmax

from hicorex import kernels
from hicorex.kernels.compiled import add_log, exp, jit, log1p
from hicorex.layer import labels_of
from hicorex.marginals.base import most_likely

# Rounding of one operation, times as many as polynomials have.
ERROR = {np.float32: 2e-6, np.float64: 1e-14}


@jit
def all_functions(x, u, a, b, out):
    for i in range(x.size):
        out[0, i] = exp(x[i])
        out[1, i] = log1p(u[i])
        out[2, i] = add_log(a[i], b[i])


@pytest.mark.parametrize("dtype", ERROR)
def test_elementary_functions(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([-np.geomspace(1e-8, 80, 5000), np.linspace(0, 80, 5001)]).astype(dtype)
    u = np.concatenate([[0, 1], np.geomspace(1e-12, 1, 9999)]).astype(dtype)
    a, b = (rng.normal(scale=scale, size=x.size).astype(dtype) for scale in (1, 30))
    out = np.empty((3, x.size), dtype)
    all_functions(x, u, a, b, out)
    exact = [values.astype(float) for values in (x, u, a, b)]
    # The argument is itself rounded, by a share of its size.
    assert_allclose(out[0] / np.exp(exact[0]), 1, atol=ERROR[dtype] * 40)
    assert_allclose(out[1], np.log1p(exact[1]), rtol=ERROR[dtype], atol=1e-7 if dtype is np.float32 else 1e-18)
    assert_allclose(out[2], np.logaddexp(*exact[2:]), rtol=ERROR[dtype], atol=ERROR[dtype])


@pytest.mark.parametrize("dtype", ERROR)
def test_far_away_numbers_stay_finite(dtype):
    far = np.array([-1e30, -300, 0, 5], dtype)
    out = np.empty((3, far.size), dtype)
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
