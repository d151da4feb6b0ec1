"""New samples unlike those of the fit: a documented result, or an error that names the column."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy_coins import BITS, NAMES, X, fitted, frame
from numpy.dtypes import StringDType
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from hicorex import Corex, HicorexError


@pytest.mark.parametrize(("table", "new", "missing"), [(BITS, 9, np.nan), (BITS.astype(str), "new", None)])
def test_an_unseen_category_counts_as_missing_with_a_warning(table, new, missing):
    model = fitted(pd.DataFrame(table, columns=NAMES))
    strange, gap = (pd.DataFrame(table, columns=NAMES).astype(object) for _ in range(2))
    strange.loc[:4, "c"], gap.loc[:4, "c"] = new, missing
    for name in ("transform", "posteriors", "log_odds", "log_z", "score_samples"):
        with pytest.warns(UserWarning, match="not seen count as missing, in column 'c'"):
            found = getattr(model, name)(strange)
        assert_array_equal(found, getattr(model, name)(gap))


def test_text_for_a_number_column_is_refused_by_transform_with_the_name():
    model = fitted(frame(X[:, 0]))
    with pytest.raises(HicorexError, match=r"Column 'odd' holds text.*categorical"):
        model.transform(frame("x"))


@pytest.mark.filterwarnings("error::UserWarning")
def test_text_is_the_same_in_every_numpy_type():
    text = BITS.astype(str)
    model = fitted(text)
    assert_array_equal(model.log_z(text.astype(StringDType())), model.log_z(text))
    assert_array_equal(model.log_z(text.astype(object)), model.log_z(text))


def test_integers_with_gaps_read_as_floats_are_the_same_categories():
    model = fitted(BITS)
    assert_array_equal(model.log_z(BITS.astype(float)), model.log_z(BITS))


def test_the_wrong_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="X has 3 features, but Corex is expecting 6 features"):
        fitted(X).transform(X[:, :3])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_wrong_column_names_are_refused(kind):
    model = fitted(kind(dict(zip(NAMES, X.T, strict=True))))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- z\n[\s\S]*now missing:\n- a\n"):
        model.transform(kind(dict(zip("zbcdef", X.T, strict=True))))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_wrong_order_of_columns_is_refused(kind):
    model = fitted(kind(dict(zip(NAMES, X.T, strict=True))))
    with pytest.raises(ValueError, match="must be in the same order"):
        model.transform(kind(dict(zip("bacdef", X.T, strict=True))))


@pytest.mark.parametrize("method", ["transform", "posteriors", "log_odds", "log_z", "score_samples", "score", "bounds"])
def test_methods_before_fit_are_refused(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(Corex(), method)(X)
