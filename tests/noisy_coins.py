"""Noisy copies of two coins, a model of them, and what is to be true of it whatever else a table holds."""

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from hicorex import Corex

OPTIONS = {"n_states": 2, "n_factors": 2, "n_init": 2, "random_state": 0}
NAMES = list("abcdef")


def coins(n_samples=60, n_columns=6, seed=0):
    """Noisy copies of two coins: even columns copy one, odd columns the other."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=(n_samples, 2))
    return truth[:, np.arange(n_columns) % 2] + 0.1 * rng.standard_normal((n_samples, n_columns))


X = coins()
BITS = (X > 0.5).astype(int)
for constant in (X, BITS):
    constant.flags.writeable = False
TWO_CLUSTERS = np.arange(6)[:, None] % 2 == np.arange(6) % 2


def frame(odd):
    """A clean table with one more column, "odd"."""
    return pd.DataFrame(X, columns=NAMES).assign(odd=odd)


def assert_finite(model, table):
    for name in ("alpha_", "tcs_", "mutual_information_", "history_"):
        assert np.isfinite(getattr(model, name)).all(), name
    for name in ("posteriors", "log_odds", "log_z", "score_samples"):
        assert np.isfinite(getattr(model, name)(table)).all(), name


def fitted(table, sample_weight=None, **options):
    model = Corex(**OPTIONS | options).fit(table, sample_weight=sample_weight)
    assert_finite(model, table)
    return model


def same_cluster(model):
    assert (model.clusters_ >= 0).all()
    return model.clusters_[:, None] == model.clusters_


def assert_ignored(model, column=-1):
    """The column has no part in any factor, the others are found without it."""
    assert not model.alpha_[column].any()
    assert not model.mutual_information_[column].any()
    assert model.clusters_[column] == -1
    assert_array_equal(np.delete(model.clusters_, column)[:, None] == np.delete(model.clusters_, column), TWO_CLUSTERS)


def assert_nothing_found(model):
    assert not model.tcs_.any()
    assert not model.alpha_.any()
    assert (model.clusters_ == -1).all()
