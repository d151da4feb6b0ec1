"""Tables of a bad shape and columns of bad types are refused by an error that names the column."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy_coins import (
    BITS,
    X,
    assert_nothing_found,
    fitted,
    frame,
)
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hicorex import Corex, HicorexError


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
        Corex(n_factors=2, n_states=2, marginals="categorical").fit(sparse.csr_array(np.array([[0.0, np.inf], [1, 0]])))
    for shape, what in (((0, 3), "0 sample"), ((1, 3), "1 sample"), ((3, 0), "0 feature")):
        with pytest.raises(ValueError, match=f"Found array with {what}"):
            Corex().fit(sparse.csr_matrix(shape, dtype=int))


def test_lazy_frames_are_refused_with_the_remedy():
    with pytest.raises(HicorexError, match="collect"):
        Corex().fit(pl.DataFrame(X).lazy())


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


def test_numpy_datetimes_are_refused_with_the_column():
    with pytest.raises(HicorexError, match=r"Column 0 .*datetime64.*numbers or text"):
        Corex().fit(np.full((10, 2), np.datetime64("2020-01-01")))


def test_more_than_100000_categories_are_refused_with_the_column():
    table = pd.DataFrame({"a": np.arange(100_001) % 2, "id": np.arange(100_001)})
    with pytest.raises(HicorexError, match=r"Column 'id' has 100001 categories.*leave it out"):
        Corex(n_factors=2, n_states=2, marginals="categorical").fit(table)
    with pytest.raises(HicorexError, match=r"Column 'id' has 100001 categories.*leave it out"):
        Corex().fit(table.astype({"id": str}))


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
def test_100000_categories_are_accepted():
    table = pd.DataFrame({"a": np.arange(100_000) % 2, "id": np.arange(100_000)})
    few = {"n_factors": 1, "n_init": 1, "max_iter": 2, "marginals": "categorical"}
    assert_array_equal(fitted(table, **few).clusters_, -1)
