"""Bad and odd input: a documented result, or an error that names the column or the option."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.dtypes import StringDType
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hicorex import Corex, HicorexError

OPTIONS = {"n_factors": 2, "n_init": 2, "random_state": 0}
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


# Shapes


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, lambda a: pl.DataFrame({"a": a[:, 0], "b": a[:, 1]})])
def test_no_rows_are_refused(kind):
    with pytest.raises(ValueError, match=r"0 sample\(s\).*minimum of 2"):
        Corex().fit(kind(X[:0]))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_no_columns_are_refused(kind):
    with pytest.raises(ValueError, match=r"0 feature\(s\).*minimum of 1"):
        Corex().fit(kind(X[:, :0]))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_one_row_is_refused(kind):
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2"):
        Corex().fit(kind(X[:1]))


@pytest.mark.parametrize("table", [X[:2], BITS[:2]], ids=["float", "int"])
def test_two_rows_show_no_dependence(table):
    assert_nothing_found(fitted(table))


@pytest.mark.parametrize("table", [X[:, :1], BITS[:, :1]], ids=["float", "int"])
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_one_column_has_no_total_correlation(table, structure):
    model = fitted(table, structure=structure)
    assert_array_equal(model.tcs_, 0)
    assert_array_equal(model.clusters_, -1)


@pytest.mark.parametrize("table", [X[:, 0], pl.Series(X[:, 0]), pd.Series(X[:, 0])], ids=["numpy", "polars", "pandas"])
def test_one_dimension_is_refused(table):
    with pytest.raises(ValueError, match=r"Expected (2D array|a 2-dimensional)"):
        Corex().fit(table)


def test_one_dimension_is_refused_by_transform():
    with pytest.raises(ValueError, match="Expected 2D array"):
        fitted(X).transform(X[0])


def test_three_dimensions_are_refused():
    with pytest.raises(ValueError, match="dim 3, while dim <= 2"):
        Corex().fit(X[None])


def test_ragged_rows_are_refused():
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        Corex().fit([[1, 2], [3]])


def test_sparse_tables_that_are_no_tables_are_refused():
    with pytest.raises(HicorexError, match=r"one dimension.*two"):
        Corex().fit(sparse.coo_array(BITS[:, 0]))
    with pytest.raises(HicorexError, match=r"sparse.*complex128.*numbers"):
        Corex().fit(sparse.csr_array(BITS.astype(complex)))
    with pytest.raises(HicorexError, match="Column 1 has an infinity"):
        Corex(marginals="categorical").fit(sparse.csr_array(np.array([[0.0, np.inf], [1, 0]])))
    for shape, what in (((0, 3), "0 sample"), ((1, 3), "1 sample"), ((3, 0), "0 feature")):
        with pytest.raises(ValueError, match=f"Found array with {what}"):
            Corex().fit(sparse.csr_matrix(shape, dtype=int))


def test_lazy_frames_are_refused_with_the_remedy():
    with pytest.raises(HicorexError, match="collect"):
        Corex().fit(pl.DataFrame(X).lazy())


# Columns that say nothing


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


# Numbers


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_are_refused_with_the_column(marginals, value):
    table = X.copy()
    table[3, 2] = value
    with pytest.raises(HicorexError, match=r"Column 2 has an infinity.*NaN"):
        Corex(marginals=marginals).fit(table)
    with pytest.raises(HicorexError, match=r"Column 'c' has an infinity.*NaN"):
        Corex(marginals=marginals).fit(pd.DataFrame(table, columns=NAMES))


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


# Missing values


@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
def test_results_are_finite_with_nine_of_ten_cells_missing(marginals):
    table = np.round(X, 1)
    table[np.random.default_rng(0).uniform(size=X.shape) < 0.9] = np.nan
    table[0] = np.nan
    model = fitted(pd.DataFrame(table), marginals=marginals)
    assert_allclose(model.log_z(pd.DataFrame(table))[0], 0, atol=1e-9)


@pytest.mark.parametrize("structure", ["unique", "tree"])
def test_plain_clusters_are_found_with_nine_of_ten_cells_missing(structure):
    table = coins(500, 100)
    table[np.random.default_rng(0).uniform(size=table.shape) < 0.9] = np.nan
    clusters = fitted(table, structure=structure).clusters_
    found = clusters >= 0
    assert found.mean() > 0.9
    assert_array_equal((clusters[:, None] == clusters)[0, found], (np.arange(100) % 2 == 0)[found])


def test_masked_cells_count_as_missing():
    masked = fitted(np.ma.masked_array(X, X > 1))
    assert_array_equal(masked.tcs_, fitted(np.where(X > 1, np.nan, X)).tcs_)


GAPS = np.arange(X.size).reshape(X.shape) % 7 == 0


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "string", "category", "Float64"])
def test_pandas_na_is_missing_in_every_type(dtype):
    bits = BITS.astype(bool) if dtype == "boolean" else BITS
    table = pd.DataFrame(bits, columns=NAMES).astype(dtype).mask(GAPS)
    model = fitted(table)
    marginals = "gaussian" if dtype == "Float64" else "categorical"
    assert_array_equal(model.tcs_, fitted(np.where(GAPS, np.nan, BITS), marginals=marginals).tcs_)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Boolean, pl.String, pl.Float64])
def test_polars_null_is_missing_in_every_type(dtype):
    values = np.where(GAPS, None, BITS).T.tolist()
    table = pl.DataFrame({n: pl.Series(v, dtype=pl.Int64).cast(dtype) for n, v in zip(NAMES, values, strict=True)})
    marginals = "gaussian" if dtype == pl.Float64 else "categorical"
    assert_array_equal(fitted(table).tcs_, fitted(np.where(GAPS, np.nan, BITS), marginals=marginals).tcs_)


@pytest.mark.parametrize("missing", [None, np.nan], ids=repr)
@pytest.mark.parametrize("dtype", [object, StringDType], ids=["object", "StringDType"])
def test_missing_text_is_missing(missing, dtype):
    text = np.where(GAPS, missing, BITS.astype(str).astype(object))
    table = text if dtype is object else text.astype(StringDType(na_object=missing))
    expected = fitted(np.where(GAPS, np.nan, BITS), marginals="categorical").tcs_
    assert_array_equal(fitted(table).tcs_, expected)


def test_unused_pandas_categories_do_not_matter():
    levels = ["never", "lo", "mid", "hi"]
    text = pd.DataFrame(np.array(["lo", "hi"])[BITS], columns=NAMES)
    used = fitted(text)
    unused = fitted(text.astype(pd.CategoricalDtype(levels)))
    assert_array_equal(unused.tcs_, used.tcs_)


# Types


@pytest.mark.parametrize(
    "values",
    [[1, "a"], [1.5, "a"], [True, "a"], [True, 1], [{"k": 1}, 1], [{"k": 1}, {"k": 2}], [(1,), (2,)]],
    ids=repr,
)
def test_mixed_or_unusable_objects_are_refused_with_the_column(values):
    odd = np.empty(len(X), object)
    odd[:] = values * 30
    with pytest.raises(HicorexError, match=r"Column 'odd'.*string or a number"):
        Corex().fit(frame(odd))
    with pytest.raises(HicorexError, match=r"Column 6 .*string or a number"):
        Corex().fit(np.column_stack([X.astype(object), odd]))


@pytest.mark.parametrize("values", [{"q": 1}, [1, 2], np.ones(2)], ids=["struct", "list", "array"])
def test_nested_polars_columns_are_refused_with_the_column(values):
    odd = pl.Series([values] * len(X), dtype=pl.Array(pl.Float64, 2) if isinstance(values, np.ndarray) else None)
    with pytest.raises(HicorexError, match="Column 'odd'"):
        Corex().fit(pl.DataFrame(X).with_columns(odd=odd))


@pytest.mark.parametrize(
    "odd",
    [pd.date_range("2020", periods=60), pd.date_range("2020", periods=60, tz="UTC"), pd.to_timedelta(range(60))],
    ids=["datetime", "zoned", "timedelta"],
)
def test_pandas_datetimes_are_refused_with_the_column_and_the_remedy(odd):
    with pytest.raises(HicorexError, match="Column 'odd' holds dates or times; leave it out or turn it into"):
        Corex().fit(frame(odd))


def test_polars_dates_are_refused_with_the_column_and_the_remedy():
    odd = pl.Series([datetime.date(2020, 1, 1)] * len(X))
    with pytest.raises(HicorexError, match="Column 'odd' holds dates or times; leave it out or turn it into"):
        Corex().fit(pl.DataFrame(X).with_columns(odd=odd))


def test_numpy_datetimes_are_refused_with_the_column():
    with pytest.raises(HicorexError, match=r"Column 0 .*datetime64.*numbers or text"):
        Corex().fit(np.full((10, 2), np.datetime64("2020-01-01")))


def test_more_than_100000_categories_are_refused_with_the_column():
    table = pd.DataFrame({"a": np.arange(100_001) % 2, "id": np.arange(100_001)})
    with pytest.raises(HicorexError, match=r"Column 'id' has 100001 categories.*leave it out"):
        Corex().fit(table)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
def test_100000_categories_are_accepted():
    table = pd.DataFrame({"a": np.arange(100_000) % 2, "id": np.arange(100_000)})
    assert_array_equal(fitted(table, n_factors=1, n_init=1, max_iter=2).clusters_, -1)


# Unlike the fit


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


# Options


@pytest.mark.parametrize("table", [X, BITS], ids=["float", "int"])
@pytest.mark.parametrize("structure", ["unique", "overlap", "tree"])
def test_factors_beyond_the_number_of_columns_stay_unused(table, structure):
    model = fitted(table, n_factors=9, structure=structure)
    assert (model.tcs_[:2] > 1).all()
    assert not model.tcs_[2:].any()
    assert not model.alpha_[:, 2:].any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_factors", 0),
        ("n_factors", 2.5),
        ("n_states", 1),
        ("n_states", 101),
        ("n_init", 0),
        ("max_iter", 0),
        ("tol", -1.0),
        ("tol", np.nan),
        ("n_jobs", 0),
        ("structure", "forest"),
        ("marginals", None),
        ("random_state", "seed"),
    ],
)
def test_a_bad_option_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Corex must be .* Got {value!r} instead"):
        Corex(**{name: value}).fit(X)


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ("poisson", "column 'a' the kind 'poisson'; use one of gaussian, rank, categorical"),
        ({"c": "poisson"}, "column 'c' the kind 'poisson'; use one of gaussian, rank, categorical"),
        (["gaussian"] * 6 + [None], "column 'odd' the kind None; use one of gaussian, rank, categorical"),
        (["gaussian"] * 3, "marginals lists 3 kinds for 7 columns; give one a column"),
        ({"nope": "rank"}, "marginals names column 'nope', which the table does not have"),
        ({7: "rank"}, "marginals names column 7, which the table does not have"),
        ("gaussian", "Column 'odd' holds text: it needs marginals \"categorical\""),
        ({"odd": "gaussian"}, "Column 'odd' holds text: it needs marginals \"categorical\""),
        ({"odd": "rank"}, "Column 'odd' holds text: it needs marginals \"categorical\""),
    ],
)
def test_bad_marginals_are_refused_with_the_column_or_the_remedy(marginals, message):
    with pytest.raises(HicorexError, match=message):
        Corex(marginals=marginals).fit(frame(["x", "y"] * 30))


ONES = np.ones(len(X))


def test_samples_of_weight_zero_might_as_well_hold_anything():
    table = np.vstack([X, np.full((1, 6), np.inf)])
    weighted = Corex(**OPTIONS).fit(table, sample_weight=np.append(ONES, 0))
    assert_array_equal(weighted.tcs_, fitted(X).tcs_)
