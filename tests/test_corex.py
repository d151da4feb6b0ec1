"""The estimator as its users meet it: tables of every sort, names, pipelines, files."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import mixed_table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_overlapping_clusters


@pytest.fixture(scope="module")
def frame():
    table, _ = mixed_table(np.random.default_rng(0), n_samples=200)
    frame = pd.DataFrame({f"v{i}": column for i, column in enumerate(table.T)})
    frame["v2"] = frame["v2"].astype(bool)
    frame["v3"] = frame["v3"].map({0.0: "no", 1.0: "yes"})
    frame["v4"] = frame["v4"].astype(int).astype("category")
    return frame.astype(dict.fromkeys(("v7", "v8", "v9", "v11", "v13"), int))


def test_auto_takes_floats_as_gaussian_and_the_rest_as_categorical(frame):
    corex = Corex(2, n_states=2, random_state=0).fit(frame)
    kinds = dict(zip(frame.columns, corex.fitted_.layers[0].encoder.kinds, strict=True))
    assert {name for name, kind in kinds.items() if kind == "gaussian"} == {"v0", "v1", "v5", "v6", "v10", "v12"}


def test_mixed_columns_of_one_coin_are_one_cluster(frame):
    corex = Corex(2, n_states=2, random_state=0).fit(frame)
    clusters = dict(zip(frame.columns, corex.clusters_, strict=True))
    assert len({clusters[name] for name in ("v0", "v1", "v2", "v3", "v4")}) == 1
    assert len({clusters[name] for name in ("v5", "v6", "v7", "v8", "v9")}) == 1
    assert clusters["v0"] != clusters["v5"]
    assert clusters["v12"] == clusters["v13"] == -1


def test_pandas_polars_and_arrays_give_the_same(frame):
    polars = pl.from_pandas(frame)
    arrow = polars.to_arrow()
    fits = [Corex(2, n_states=2, random_state=0).fit(table) for table in (frame, polars, arrow, frame.to_numpy(object))]
    for other in fits[1:]:
        assert_allclose(other.tcs_, fits[0].tcs_)
        assert_array_equal(other.clusters_, fits[0].clusters_)
    assert_array_equal(fits[0].transform(frame), fits[1].transform(polars))
    assert list(fits[0].feature_names_in_) == list(fits[1].feature_names_in_) == list(frame.columns)


def test_marginals_by_name_index_and_list_are_the_same(frame):
    numbers = frame[["v0", "v5", "v7", "v11"]].astype(float)
    by_name = Corex(2, n_states=2, marginals={"v7": "categorical", "v0": "rank"}, random_state=0).fit(numbers)
    by_index = Corex(2, n_states=2, marginals={2: "categorical", 0: "rank"}, random_state=0).fit(numbers)
    by_list = Corex(2, n_states=2, marginals=["rank", "gaussian", "categorical", "auto"], random_state=0).fit(numbers)
    assert by_name.fitted_.layers[0].encoder.kinds == ["rank", "gaussian", "categorical", "categorical"]
    assert_array_equal(by_name.tcs_, by_index.tcs_)
    assert_array_equal(by_name.tcs_, by_list.tcs_)


def test_rank_marginals_do_not_change_under_monotone_maps():
    X, _ = make_independent_clusters(n_samples=80, n_clusters=2, cluster_size=10, random_state=0)
    ranks = Corex(2, n_states=2, marginals="rank", random_state=0)
    straight = clone(ranks).fit(X)
    bent = clone(ranks).fit(np.exp(3 * X))
    assert_allclose(straight.tcs_, bent.tcs_)
    assert_array_equal(straight.transform(X), bent.transform(np.exp(3 * X)))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_names_the_factors(frame, container):
    labels = Corex(2, n_states=2, random_state=0).set_output(transform=container).fit(frame).transform(frame)
    assert list(labels.columns) == ["layer1_factor0", "layer1_factor1"]
    assert labels.shape == (200, 2)


def test_feature_names_out_are_those_of_factors():
    X, _ = make_independent_clusters(cluster_size=3, random_state=0)
    assert list(Corex(3, n_states=2, random_state=0).fit(X).get_feature_names_out()) == [
        f"layer1_factor{j}" for j in range(3)
    ]


def test_pickled_models_label_alike(frame):
    corex = Corex(2, n_states=2, random_state=0).fit(frame)
    again = pickle.loads(pickle.dumps(corex))
    assert_array_equal(again.log_z(frame), corex.log_z(frame))
    assert again.bounds() == corex.bounds()


def test_log_odds_serve_models_downstream():
    X, y = load_iris(return_X_y=True)
    corex = Corex(2, n_states=3, n_init=3, random_state=0)

    class Odds(Corex):
        def transform(self, X):
            return self.log_odds(X).reshape(len(X), -1)

    odds = Odds(**corex.get_params())
    assert make_pipeline(odds, LogisticRegression(max_iter=2000)).fit(X, y).score(X, y) > 0.85


def test_score_chooses_the_number_of_factors():
    X, _ = make_independent_clusters(n_samples=120, n_clusters=3, cluster_size=8, random_state=0)
    search = GridSearchCV(Corex(n_factors=2, n_states=2, n_init=2, random_state=0), {"n_factors": [1, 2, 3]}, cv=3).fit(
        X
    )
    assert search.best_params_ == {"n_factors": 3}


def test_pipelines_end_in_labels():
    X, _ = make_overlapping_clusters(cluster_size=5, random_state=0)
    labels = make_pipeline(FunctionTransformer(), Corex(3, n_states=2, random_state=0)).fit_transform(X)
    assert set(np.unique(labels)) == {0, 1}


def test_new_samples_with_missing_values_are_labelled():
    X, _ = make_independent_clusters(cluster_size=20, random_state=0)
    corex = Corex(4, n_states=2, random_state=0).fit(X)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.5] = np.nan
    assert_array_equal(corex.transform(holes), corex.transform(X))
    assert_allclose(corex.posteriors(np.full((1, 80), np.nan))[0], corex.fitted_.layers[0].state.prior.T)


def test_log_z_is_what_the_bound_is_the_mean_of():
    X, _ = make_overlapping_clusters(cluster_size=10, random_state=0)
    corex = Corex(3, n_states=2, random_state=0).fit(X)
    assert_allclose(corex.log_z(X).mean(axis=0), corex.tcs_)
    assert_allclose(corex.score_samples(X).mean(), corex.tc_)
    assert_allclose(corex.score(X), corex.bounds().objective)
    assert_allclose(corex.bounds(X).objective, corex.bounds().objective)
    assert_allclose(corex.bounds(X).lower, corex.bounds().lower, rtol=0.02)


def test_log_odds_are_those_of_the_probabilities():
    X, _ = make_independent_clusters(n_samples=30, cluster_size=2, noise=1.0, random_state=0)
    corex = Corex(2, n_states=3, random_state=0).fit(X)
    p = corex.posteriors(X)
    assert corex.log_odds(X).shape == (30, 2, 2)
    assert_allclose(corex.log_odds(X), np.log(p[:, :, 1:] / p[:, :, :1]), atol=1e-6)


def test_large_tables_are_labelled_in_batches(monkeypatch):
    X, _ = make_independent_clusters(cluster_size=5, random_state=0)
    corex = Corex(2, n_states=2, random_state=0).fit(X)
    whole = corex.log_z(X)
    monkeypatch.setattr("hicorex.fitted.layer.BATCH_CELLS", 7 * X.shape[1])
    assert_allclose(corex.log_z(X), whole)
