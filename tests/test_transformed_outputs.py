"""What transform gives: labels, probabilities or log-odds, within scikit-learn's contract and in files."""

import numpy as np
import pandas as pd
import pytest
from conftest import GOLDEN, WINE
from models import model_bytes, model_from
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.exceptions import HicorexError


@pytest.fixture(scope="module")
def model():
    return HierarchicalCorex((3, 1), n_states=(3, 2), random_state=0).fit(WINE)


def test_each_output_has_its_columns_and_their_names(model):
    states, posteriors, log_odds = model.transform(WINE), model.posteriors(WINE), model.log_odds(WINE)
    first = [f"layer1_factor{j}" for j in range(3)]
    assert [*model.get_feature_names_out()] == [*first, "layer2_factor0"]
    model = hicorex_with(model, "probabilities")
    assert_array_equal(model.transform(WINE)[:, :9], posteriors[:, :3].reshape(len(WINE), 9))
    assert_array_equal(model.transform(WINE)[:, 9:], posteriors[:, 3, :2])
    names = [f"{name}_state{s}" for name in first for s in range(3)]
    assert [*model.get_feature_names_out()] == [*names, "layer2_factor0_state0", "layer2_factor0_state1"]
    model = hicorex_with(model, "log_odds")
    assert_array_equal(model.transform(WINE)[:, :6], log_odds[:, :3].reshape(len(WINE), 6))
    assert_array_equal(model.transform(WINE)[:, 6:], log_odds[:, 3, :1])
    names = [f"{name}_state{s}" for name in first for s in (1, 2)]
    assert [*model.get_feature_names_out()] == [*names, "layer2_factor0_state1"]
    assert_array_equal(hicorex_with(model, "labels").transform(WINE), states)


def hicorex_with(model, output):
    """The same model with another output."""
    return model_from(model_bytes(model)).set_params(output=output)


def test_an_output_goes_through_pipelines_clones_and_frames(model):
    X, grower = load_wine(return_X_y=True)
    features = Corex(3, n_states=3, output="log_odds", random_state=0)
    assert clone(features).output == "log_odds"
    right = make_pipeline(features, LogisticRegression(max_iter=1000)).fit(X, grower).score(X, grower)
    assert right > 0.95
    frame = hicorex_with(model, "log_odds").set_output(transform="pandas").transform(WINE)
    assert [*frame.columns] == [*hicorex_with(model, "log_odds").get_feature_names_out()]
    labels = Corex(3, n_states=3, random_state=0).fit(X)
    assert_allclose(features.fit_transform(X), labels.log_odds(X).reshape(len(X), -1))


def test_files_keep_the_output_and_early_files_give_labels(model):
    assert model_from(model_bytes(hicorex_with(model, "probabilities"))).output == "probabilities"
    early = hicorex.load(GOLDEN / "format1_hierarchy.hicorex")
    assert early.output == "labels"
    table = pd.read_parquet(GOLDEN / "table.parquet")
    assert_array_equal(early.transform(table), np.load(GOLDEN / "expected.npz")["format1_hierarchy_labels"])


def test_an_unknown_output_is_refused_by_name(model):
    with pytest.raises(HicorexError, match="output is 'odds'; it is one of 'labels', 'probabilities', 'log_odds'"):
        hicorex_with(model, "odds").transform(WINE)
    with pytest.raises(ValueError, match="'output' parameter of Corex must be"):
        Corex(2, output="odds").fit(WINE)


def test_the_command_writes_probabilities_and_log_odds(model, run):
    hicorex_with(model, "log_odds").save("wine.hicorex")
    WINE.to_csv("wine.csv", index=False)
    run("transform", "wine.hicorex", "wine.csv", "--out", "labels.csv")
    told = pd.read_csv("labels.csv").iloc[:, 1:]
    assert [*told.columns] == [*model.get_feature_names_out()]
    for option, output in (("--probabilities", "probabilities"), ("--log-odds", "log_odds")):
        run("transform", "wine.hicorex", "wine.csv", option, "--out", f"{output}.csv")
        told = pd.read_csv(f"{output}.csv").iloc[:, 1:]
        assert_allclose(told, hicorex_with(model, output).transform(WINE))
        again = run("transform", "wine.hicorex", "wine.csv", option, "--overwrite", "--out", f"{output}.csv")
        assert again.code == 0
        assert [*told.columns] == [*hicorex_with(model, output).get_feature_names_out()]
    refused = run("transform", "wine.hicorex", "wine.csv", "--probabilities", "--log-odds")
    assert refused.code == 2
    assert "give one of them" in refused.err
