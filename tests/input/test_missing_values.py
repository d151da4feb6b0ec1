"""Missing values of every type are missing, and results stay finite."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy_coins import (
    BITS,
    NAMES,
    X,
    coins,
    fitted,
)
from numpy.dtypes import StringDType
from numpy.testing import assert_allclose, assert_array_equal


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
    assert_array_equal(model.tcs_, fitted(np.where(GAPS, np.nan, BITS), marginals="categorical").tcs_)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Boolean, pl.String, pl.Float64])
def test_polars_null_is_missing_in_every_type(dtype):
    values = np.where(GAPS, None, BITS).T.tolist()
    table = pl.DataFrame({n: pl.Series(v, dtype=pl.Int64).cast(dtype) for n, v in zip(NAMES, values, strict=True)})
    assert_array_equal(fitted(table).tcs_, fitted(np.where(GAPS, np.nan, BITS), marginals="categorical").tcs_)


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
