"""Missing values filled in, in the table as it came, by the mixture over the states of the factors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import WINE
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from hicorex import Corex
from hicorex.datasets import make_latent_tree
from hicorex.exceptions import HicorexError


@pytest.fixture(scope="module")
def table():
    """Numbers, one by its ranks, answers from 1 to 4, words and truth values of one factor, and the same with gaps."""
    rng = np.random.default_rng(0)
    state = rng.integers(3, size=400)
    noisy = np.where(rng.random((2, 400)) < 0.8, state, rng.integers(3, size=(2, 400)))
    whole = pd.DataFrame(
        {
            "height": 10 * state + rng.normal(size=400),
            "income": np.exp(state + 0.3 * rng.normal(size=400)),
            "answer": 1.0 + noisy[0] + (rng.random(400) < 0.1),
            "word": np.array(["low", "mid", "top"])[noisy[1]],
            "alone": rng.normal(size=400),
        }
    )
    return whole, whole.mask(rng.random(whole.shape) < 0.15)


@pytest.fixture(scope="module")
def model(table):
    kinds = {"height": "gaussian", "income": "rank", "alone": "gaussian"}
    return Corex(1, n_states=3, marginals=kinds, random_state=0).fit(table[1])


def test_what_is_there_stays_and_nothing_is_missing(model, table):
    _, gaps = table
    filled, std = model.impute(gaps, return_std=True)
    pd.testing.assert_series_equal(filled.dtypes, gaps.dtypes)
    pd.testing.assert_index_equal(filled.index, gaps.index)
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(filled.where(gaps.notna()), gaps)
    assert_array_equal(std == 0, gaps.notna())
    assert set(filled["answer"]) <= {1.0, 2.0, 3.0, 4.0}


def test_values_are_those_of_the_mixture_over_states(model, table):
    """By the means and the probabilities of each state, one cell at a time."""
    _, gaps = table
    filled, std = model.impute(gaps, return_std=True)
    by_mean = model.impute(gaps, means=True)
    labels = model.posteriors(gaps)[:, 0]
    layer = model.fitted_.layers[0]
    joints = layer.joints
    assert [part.tolist() for part in layer.encoder.parts] == [[0, 1, 4], [2, 3]]
    centre, spread = gaps["height"].mean(), gaps["height"].std(ddof=0)
    mean, variance = joints[0][0].parameters.mean[:, 0], joints[0][0].parameters.variance[:, 0]
    rows = np.flatnonzero(gaps["height"].isna())
    first, second = labels[rows] @ mean, labels[rows] @ (variance + mean**2)
    assert_allclose(filled["height"].iloc[rows], centre + spread * first, rtol=1e-6)
    assert_allclose(std[rows, 0], spread * np.sqrt(second - first**2), rtol=1e-6)
    p = labels @ joints[1][0].parameters.p[:, :4]
    rows = np.flatnonzero(gaps["answer"].isna())
    assert_array_equal(filled["answer"].iloc[rows], 1 + p[rows].argmax(axis=1))
    assert_allclose(std[rows, 2], 1 - p[rows].max(axis=1), rtol=1e-6)
    assert_allclose(by_mean["answer"].iloc[rows], p[rows] @ [1, 2, 3, 4], rtol=1e-6)


def test_filled_values_are_near_those_that_were_taken_away(model, table):
    whole, gaps = table
    filled, std = model.impute(gaps, return_std=True)
    for at, name in ((0, "height"), (1, "income"), (4, "alone")):
        rows = gaps[name].isna().to_numpy()
        error = (filled[name] - whole[name])[rows]
        assert_allclose(np.sqrt(np.mean(error**2)), np.sqrt(np.mean(std[rows, at] ** 2)), rtol=0.35)
    left = {}
    for name in ("height", "alone"):
        taken = whole[name][gaps[name].isna()]
        left[name] = np.var(filled[name][taken.index] - taken) / np.var(taken)
    assert left["height"] < 0.1 < 0.8 < left["alone"]
    assert np.mean((filled["word"] == whole["word"])[gaps["word"].isna()]) > 0.7


def test_tables_come_back_as_they_came(model, table):
    _, gaps = table
    expected = model.impute(gaps)
    as_polars = model.impute(pl.from_pandas(gaps))
    assert isinstance(as_polars, pl.DataFrame)
    pd.testing.assert_frame_equal(as_polars.to_pandas(), expected, check_dtype=False)
    as_objects = Corex(1, n_states=2, random_state=0).fit(gaps.to_numpy()).impute(gaps.to_numpy()[:5])
    assert as_objects.dtype == object
    whole = gaps.assign(answer=gaps["answer"].astype("Int64"))
    filled = Corex(1, n_states=3, random_state=0).fit(whole).impute(whole, means=True)
    assert filled["answer"].dtype == "Int64"
    numbered = gaps.set_axis(range(5), axis=1)  # whose names look like places
    by_place = Corex(1, n_states=2, random_state=0).fit(numbered.set_axis([*"abcde"], axis=1))
    again = Corex(1, n_states=2, random_state=0).fit(numbered).impute(numbered)
    expected = by_place.impute(numbered.set_axis([*"abcde"], axis=1)).set_axis(range(5), axis=1)
    pd.testing.assert_frame_equal(again, expected)
    X, _ = make_latent_tree(200, 10, 2, random_state=0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    array = Corex(2, n_states=2, random_state=0).fit(holes).impute(holes)
    assert_array_equal(array[~np.isnan(holes)], X[~np.isnan(holes)])
    assert set(np.unique(array)) == {0, 1}


def test_categories_that_the_fit_has_not_seen_stay(model, table):
    strange = table[1][:3].assign(word=["odd", "low", None])
    with pytest.warns(UserWarning, match="Categories that the fit has not seen"):
        filled, std = model.impute(strange, return_std=True)
    assert list(filled["word"])[:2] == ["odd", "low"]
    assert filled["word"].iloc[2] in ("low", "mid", "top")
    assert list(std[:, 3] > 0) == [False, False, True]


def test_what_cannot_be_filled_is_refused(model, table):
    with pytest.raises(HicorexError, match="X is of type csr_array, sparse; pass rows as an array"):
        model.impute(csr_array(np.eye(5)))
    with pytest.raises(HicorexError, match="X is of type str, not in memory"):
        model.impute("table.csv")
    with pytest.raises(ValueError, match="feature names should match"):
        model.impute(WINE)
