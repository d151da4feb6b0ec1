"""Samples explained by their variables: the terms are those of the paper's equations, and the sums are exact."""

import numpy as np
import pandas as pd
import pytest
from conftest import WINE
from models import MODELS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer

from hicorex import Corex, HierarchicalCorex
from hicorex.exceptions import HicorexError

KINDS = ["gaussian"] * 3 + ["categorical"] * 3


def mixed(seed=0, n_samples=300):
    """Three numbers and three columns of categories of one factor, some cells missing."""
    rng = np.random.default_rng(seed)
    state = rng.integers(2, size=(n_samples, 1))
    codes = np.where(rng.random((n_samples, 3)) < 0.7, state, rng.integers(3, size=(n_samples, 3)))
    X = np.hstack([2 * state + rng.normal(size=(n_samples, 3)), codes.astype(float)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.fixture(scope="module")
def model():
    return Corex(2, n_states=3, marginals=KINDS, random_state=0).fit(mixed())


@pytest.mark.parametrize("name", ["rank", "categorical", "mapping of kinds", "hierarchy of several sizes"])
def test_the_terms_add_up_to_log_z_and_to_the_surprisal(name):
    model, X = MODELS[name]()
    found = model.fit(X).explain(X)
    assert_allclose(found.log_z, model.log_z(X), atol=1e-10)
    assert_allclose(found.surprisal, model.surprise(X).surprisal, atol=1e-10)
    assert_allclose(found.to_frame().sum(axis=1), found.surprisal, atol=1e-10)
    n_links = sum(np.count_nonzero(layer.alpha) for layer in model.fitted_.layers)
    assert found.terms.shape == found.lost.shape == (len(X), n_links)


def test_the_terms_are_those_of_the_labels(model):
    """One value at a time, by the means and probabilities of the model."""
    X = mixed()
    found, labels = model.explain(X[:40]), model.posteriors(X[:40])
    layer = model.fitted_.layers[0]
    (numbers, codes), prior = layer.state.parameters, layer.state.prior
    standard = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    assert [part.tolist() for part in layer.encoder.parts] == [[0, 1, 2], [3, 4, 5]]
    for at, (i, j) in enumerate(zip(*found.links, strict=True)):
        for sample in range(40):
            expected = 0.0
            if not np.isnan(X[sample, i]):
                if i < 3:
                    mean, variance, _ = (of_pair[:, j, i] for of_pair in numbers)
                    p = np.exp(-((standard[sample, i] - mean) ** 2) / variance / 2) / np.sqrt(variance)
                else:
                    p = codes.p[:, j, 4 * (i - 3) + int(X[sample, i])]
                log_ratio = np.log(p / (prior[:, j] @ p))
                expected = layer.alpha[i, j] * (labels[sample, j] @ log_ratio)
            assert found.terms[sample, at] == pytest.approx(expected, abs=1e-5)
    assert_allclose(found.cost, (labels * np.log(labels / prior.T)).sum(axis=2), atol=1e-8)


def test_what_is_lost_is_log_z_less_that_without_the_value(model):
    X = mixed(n_samples=30)
    found = model.explain(X)
    log_z, surprisal = model.log_z(X), model.surprise(X).surprisal
    for i in range(6):
        without = X.copy()
        without[:, i] = np.nan
        own = found.links.variable == i
        expected = (log_z - model.log_z(without))[:, found.links.factor[own]]
        assert_allclose(found.lost[:, own], expected, atol=1e-10)
        gone = surprisal - model.surprise(without).surprisal
        assert_allclose(found.odd[:, i], gone - found.usual[:, i], atol=1e-10)
    assert_allclose(found.odd[np.isnan(X)], 0, atol=1e-12)


def test_what_is_usual_is_the_mean_over_the_samples_of_the_fit(model):
    X = mixed()
    found = model.explain(X)
    seen = ~np.isnan(X)
    mean = np.where(seen, found.surprisal_of_variables, 0).sum(axis=0) / seen.sum(axis=0)
    assert_allclose(found.usual.max(axis=0), mean, atol=0.15)


def test_sparse_tables_are_explained_as_dense_ones():
    X = (np.random.default_rng(0).random((200, 12)) < 0.2).astype(float)
    X[:100, :4] = 1
    model = Corex(2, n_states=2, random_state=0).fit(X)
    dense, sparse = model.explain(X), model.explain(csr_array(X))
    assert_allclose(sparse.terms, dense.terms, atol=1e-10)
    assert_allclose(sparse.odd, dense.odd, atol=1e-10)


def planted(X, spoil, rng, n_errors=300):
    """Samples of a table with one spoilt value each, and which one."""
    rows, columns = rng.integers(len(X), size=n_errors), rng.integers(X.shape[1], size=n_errors)
    spoilt = X[rows].copy()
    for at, (row, column) in enumerate(zip(rows, columns, strict=True)):
        spoilt[at, column] = spoil(X, row, column, rng)
    return spoilt, columns


def shifted(X, row, column, rng):
    """A value three standard deviations away."""
    return X[row, column] + rng.choice([-3, 3]) * X[:, column].std()


def test_a_wrong_value_is_the_first_that_is_told():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(1000, 4)), 8, axis=1) + 0.3 * rng.normal(size=(1000, 32))
    model = Corex(4, n_states=6, random_state=0).fit(X)
    spoilt, columns = planted(X, shifted, rng)
    found = model.explain(spoilt)
    first = [found.top(at, 1)[0].name == f"x{column}" for at, column in enumerate(columns)]
    assert np.mean(first) >= 0.95
    blamed = found.surprisal_of_variables.argmax(axis=1)  # by the terms others take the blame
    assert np.mean(blamed == columns) < np.mean(first)


def test_a_misplaced_decimal_point_is_found_in_measurements_of_cells():
    frame = load_breast_cancer(as_frame=True).data
    model = Corex(7, n_states=6, random_state=0).fit(frame)
    spoilt, columns = planted(frame.to_numpy(), lambda X, row, column, _: 10 * X[row, column], np.random.default_rng(0))
    kept = spoilt[np.arange(len(columns)), columns] != 0
    odd = model.explain(pd.DataFrame(spoilt, columns=frame.columns)).odd
    assert np.mean((odd.argmax(axis=1) == columns)[kept]) >= 0.95


def test_the_reasons_are_the_largest_and_have_names(model):
    frame = pd.DataFrame(mixed(), columns=[*"abcdef"])
    found = Corex(2, n_states=2, marginals=KINDS, random_state=0).fit(frame).explain(frame[:5])
    sample = int(found.odd.max(axis=1).argmax())
    top = found.top(sample, 2)
    assert [reason.nats for reason in top] == [nats for nats in sorted(found.odd[sample])[:-3:-1] if nats > 0]
    assert found.odd[sample, [*"abcdef"].index(top[0].name)] == top[0].nats
    assert str(top[0]) == f"{top[0].name} {top[0].nats:+.2f} nats"
    of_factor = found.of_factor("layer1_factor0")
    leading = found.top(sample, 1, factor="layer1_factor0")[0]
    assert abs(leading.nats) == max(abs(terms[sample]) for terms in of_factor.values())
    total = sum(of_factor.values()) - found.cost[:, 0]
    assert_allclose(total, found.log_z[:, 0])


def test_what_cannot_be_explained_is_refused_by_name(model, tmp_path):
    found = model.explain(mixed()[:5])
    with pytest.raises(HicorexError, match="No factor is called 'layer2_factor0'; they are layer1_factor0 to"):
        found.top(0, factor="layer2_factor0")
    with pytest.raises(HicorexError, match="sample is 5; these are samples 0 to 4"):
        found.top(5)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.explain(mixed()[:, :5])
    with pytest.raises(HicorexError, match="X is of type str, not in memory"):
        model.explain(str(tmp_path / "table.parquet"))


def test_a_hierarchy_names_what_is_below_each_factor():
    model = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(WINE)
    found = model.explain(WINE[:3])
    assert set(found.of_factor("layer1_factor0")) <= set(WINE.columns)
    assert set(found.of_factor("layer2_factor0")) <= {f"layer1_factor{j}" for j in range(4)}
    assert found.factors == list(model.get_feature_names_out())


def test_the_command_tells_odd_variables(run, tmp_path):
    WINE.to_csv("wine.csv", index=False)
    Corex(3, n_states=3, random_state=0).fit(WINE).save("wine.hicorex")
    spoilt = WINE.copy()
    spoilt.loc[4, "ash"] *= 10
    spoilt.to_csv("spoilt.csv", index=False)
    run("score", "wine.hicorex", "spoilt.csv", "--explain", "--out", "odd.csv")
    told = pd.read_csv("odd.csv")
    assert run("score", "wine.hicorex", "spoilt.csv", "--explain", "--overwrite", "--out", "odd.csv").code == 0
    assert told["odd_variable_1"][4] == "ash"
    odd = Corex(3, n_states=3, random_state=0).fit(WINE).explain(spoilt).odd
    any_odd = odd.max(axis=1) > 0
    assert_array_equal(told["odd_nats_1"].notna(), any_odd)
    assert_allclose(told["odd_nats_1"][any_odd], odd.max(axis=1)[any_odd])
    assert_array_equal(told["odd_variable_1"][any_odd], WINE.columns[odd.argmax(axis=1)][any_odd])
    refused = run("score", "wine.hicorex", "wine.csv", "--explain")
    assert refused.code == 2
    assert "--explain tells of single rows; give --out a file" in refused.err
