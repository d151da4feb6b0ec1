"""Columns that say nothing are ignored, and numbers of any size and type keep their values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy_coins import (
    BITS,
    NAMES,
    TWO_CLUSTERS,
    X,
    assert_finite,
    assert_ignored,
    assert_nothing_found,
    fitted,
    frame,
    same_cluster,
)
from numpy.testing import assert_allclose, assert_array_equal

from hicorex import Corex, HicorexError


@pytest.mark.parametrize("value", [3.0, 0.1, 0.0, 1e300, 7, "x", True], ids=repr)
def test_a_constant_column_is_ignored(value):
    assert_ignored(fitted(frame(value)))


@pytest.mark.parametrize("value", [np.nan, None, pd.NA], ids=repr)
@pytest.mark.parametrize("dtype", [float, object, "string", "Int64", "category"])
def test_a_missing_column_is_ignored(value, dtype):
    value = np.nan if dtype is float else value
    assert_ignored(fitted(frame(pd.Series([value] * len(X), dtype=dtype))))


def test_a_missing_column_of_an_object_array_is_ignored():
    assert_ignored(fitted(np.column_stack([X.astype(object), np.full(len(X), None)])))


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
def test_a_column_with_one_value_that_is_not_missing_is_ignored(marginals):
    odd = np.full(len(X), np.nan)
    odd[3] = 1.5
    assert_ignored(fitted(frame(odd), marginals={"odd": marginals}))


@pytest.mark.parametrize("value", [0.1, 7, "x", np.nan, None], ids=repr)
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_nothing_is_found_in_constant_tables(value, structure):
    dtype = object if value is None else None
    assert_nothing_found(fitted(np.full((20, 3), value, dtype), structure=structure))


@pytest.mark.parametrize("table", [X, BITS], ids=["float", "int"])
def test_duplicate_columns_make_one_cluster(table):
    model = fitted(np.repeat(table[:, :1], 6, axis=1))
    assert same_cluster(model).all()
    assert model.tcs_[0] == pytest.approx(5 * np.log(2), rel=0.05)
    assert model.tcs_[1] == 0


def test_duplicate_column_names_are_refused():
    with pytest.raises(ValueError, match="X has two columns of the name 'a'; rename one of them"):
        Corex().fit(pd.DataFrame(X, columns=list("aabcde")))


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_are_refused_with_the_column(marginals, value):
    table = X.copy()
    table[3, 2] = value
    with pytest.raises(HicorexError, match=r"Column 2 has an infinity.*NaN"):
        Corex(n_factors=2, n_states=2, marginals=marginals).fit(table)
    with pytest.raises(HicorexError, match=r"Column 'c' has an infinity.*NaN"):
        Corex(n_factors=2, n_states=2, marginals=marginals).fit(pd.DataFrame(table, columns=NAMES))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_infinities_are_refused_by_transform_with_the_name(kind):
    model = fitted(kind(dict(zip(NAMES, X.T, strict=True))))
    table = X.T.copy()
    table[2, 3] = np.inf
    with pytest.raises(HicorexError, match=r"Column 'c' has an infinity.*NaN"):
        model.transform(kind(dict(zip(NAMES, table, strict=True))))


@pytest.mark.parametrize("marginals", ["gaussian", "rank"])
@pytest.mark.parametrize("scale", [1e300, 1e-300, np.array([1e300, 1e-300, 1.0] * 2)], ids=["huge", "tiny", "both"])
def test_scale_does_not_matter(scale, marginals):
    model, scaled = fitted(X.copy(), marginals=marginals), fitted(X * scale, marginals=marginals)
    assert_allclose(scaled.tcs_, model.tcs_, rtol=1e-6)
    assert_array_equal(same_cluster(scaled), TWO_CLUSTERS)


@pytest.mark.parametrize(("scale", "strange"), [(1.0, 1e300), (1e-300, 1e300)], ids=["far", "farthest"])
def test_values_far_beyond_those_of_the_fit_give_finite_results(scale, strange):
    assert_finite(fitted(X * scale), X * strange)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_floats_of_any_width_give_the_same_clusters(dtype):
    assert_array_equal(same_cluster(fitted(X.astype(dtype))), TWO_CLUSTERS)


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
def test_the_table_is_left_as_it_was(marginals):
    table = X.copy()
    fitted(table, marginals=marginals)
    assert_array_equal(table, X)


def test_rank_marginals_give_arrays_and_frames_the_same_result():
    array, data_frame = fitted(X.copy(), marginals="rank"), fitted(pd.DataFrame(X), marginals="rank")
    assert_array_equal(array.tcs_, data_frame.tcs_)


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
def test_a_read_only_table_is_accepted(marginals):
    assert fitted(X, marginals=marginals).alpha_.shape == (6, 2)


@pytest.mark.parametrize(
    "kind",
    [np.asarray, lambda a: a.astype(object), lambda a: pd.DataFrame(a).astype("Int64"), pl.DataFrame],
    ids=["numpy", "object", "Int64", "polars"],
)
@pytest.mark.parametrize("offset", [2**53, -(2**62)])
def test_neighbouring_large_integers_stay_different(kind, offset):
    assert_array_equal(fitted(kind(BITS + offset)).tcs_, fitted(BITS).tcs_)


@pytest.mark.parametrize("low_high", [(0, 2**64 - 1), (2**63, 2**64 - 1)])
def test_unsigned_integers_keep_their_values(low_high):
    table = np.array(low_high, np.uint64)[BITS]
    assert_array_equal(fitted(table).tcs_, fitted(BITS).tcs_)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_whole_range_of_an_integer_type_is_accepted(dtype):
    limits = np.iinfo(dtype)
    assert_array_equal(fitted(np.array([limits.min, limits.max], dtype)[BITS]).tcs_, fitted(BITS).tcs_)


def test_integers_too_large_for_any_type_are_refused_with_the_column():
    with pytest.raises(HicorexError, match="Column 'odd'"):
        Corex().fit(frame(pd.Series([2**70, 1] * 30, dtype=object)))


def test_booleans_are_two_categories():
    assert_array_equal(fitted(BITS.astype(bool)).tcs_, fitted(BITS).tcs_)


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        Corex().fit(X + 1j)
    with pytest.raises(HicorexError, match=r"Column 'odd'.*complex"):
        Corex().fit(frame(X[:, 0] + 1j))
