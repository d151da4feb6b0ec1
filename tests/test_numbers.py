"""Numbers of any size and type: no warning of NumPy, no lost columns, or an error that names column and remedy."""

from decimal import Decimal
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from models import model_bytes
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

import hicorex
from hicorex import Corex, HicorexError, plot

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
RNG = np.random.default_rng(0)
COIN = RNG.integers(2, size=60)
X = COIN[:, None] + RNG.normal(scale=0.3, size=(60, 4))
FAST = {"n_states": 2, "n_init": 2, "max_iter": 20, "n_jobs": 1, "random_state": 0}
LARGEST = 1.7e308
ROW = np.arange(60)[:, None]


def fitted(table, **options):
    return Corex(1, **FAST | options).fit(table)


TABLES = {
    "1e200": X * 1e200,
    "1e304": X * 1e304,
    "1e307": X * 5e307,
    "1e-310": X * 1e-310,
    "5e-324": np.rint(X * 3) * 5e-324,
    "differences beyond the largest": np.sign(X - 0.5) * LARGEST * (1 - 0.1 * RNG.random(X.shape)),
    "side by side": X * [1e304, 1e-320, 1.0, 1e-200],
    "one far out": np.where(ROW == 3, 1e304, X),
    "two far out": np.where(ROW == 3, LARGEST, np.where(ROW == 4, -LARGEST, X)),
    "gaps": np.where(RNG.random(X.shape) < 0.1, np.nan, X * 1e304),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("marginals", ["gaussian", "rank"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_numbers_of_any_size_give_finite_results_without_a_warning(name, marginals, precision, monkeypatch, tmp_path):
    if precision == "single":
        monkeypatch.setattr("hicorex.input.encoder.SMALL_TABLE_CELLS", 0)
    table = TABLES[name]
    model = fitted(table, marginals=marginals)
    assert model.tc_ > 0.5 or "far out" in name  # of which normal distributions see nothing else
    far = np.where(table > 0, -LARGEST, LARGEST)
    said = [model.log_z(table), model.posteriors(table), *model.surprise(table)[:-1], model.log_z(far)]
    said += [
        model.alpha_,
        model.mutual_information_,
        model.fitted_.layers[0].encoder.centre,
        model.fitted_.layers[0].encoder.spread,
    ]
    for bounds in (model.bounds_, model.bounds(table), model.bounds(cv=2)):
        said += [bounds.lower, bounds.lower_stderr]
    model.partial_fit(table)
    said.append(model.partial_fit(far).log_z(table))
    assert all(np.isfinite(own).all() for own in said)
    if precision == "double" and marginals == "rank" and name in ("1e304", "5e-324", "differences beyond the largest"):
        model.report(tmp_path / "r.html")
        assert "inf" not in plot_texts(model, table)


def plot_texts(model, table):
    plot.factor(model, 0, table)
    shown = " ".join(text.get_text() for text in plt.gca().texts)
    plt.close("all")
    return shown


@pytest.mark.parametrize("weight", [1e6, 1.5e10, RNG.gamma(2.0, size=60)], ids=["many", "very many", "relative"])
@pytest.mark.parametrize("name", TABLES)
def test_numbers_of_any_size_may_have_weights(name, weight):
    table = TABLES[name]
    model = Corex(1, **FAST).fit(table, sample_weight=weight)
    model.partial_fit(table, sample_weight=weight)
    far = model.partial_fit(np.where(table > 0, -LARGEST, LARGEST), sample_weight=weight)
    assert all(
        np.isfinite(own).all() for own in (model.fitted_.layers[0].encoder.spread, far.log_z(table), far.bounds_.lower)
    )


@pytest.mark.parametrize("scale", [1e-310, 1e-308, 2.0**1000])
def test_the_scale_of_columns_does_not_matter(scale):
    assert_allclose(fitted(X * scale).tcs_, fitted(X).tcs_, rtol=1e-6)


def test_ranks_between_numbers_whose_difference_is_infinite():
    scale = LARGEST / np.abs(X).max()
    model, scaled = fitted(X, marginals="rank"), fitted(X * scale, marginals="rank")
    new = np.linspace(X.min(), X.max(), 40)[:, None] * np.ones(4)
    assert_allclose(scaled.log_z(new * scale), model.log_z(new), rtol=1e-6)
    ends = np.where(COIN[:, None] == 1, 1.0, -1.0) * np.ones(4)
    near, far = fitted(ends, marginals="rank"), fitted(ends * LARGEST, marginals="rank")
    between = np.linspace(-1, 1, 9)[:, None] * np.ones(4)
    assert_allclose(far.log_odds(between * LARGEST), near.log_odds(between), rtol=1e-6)


# Cells of arrays of objects

OBJECTS = np.column_stack([X[:, :2].astype(object), np.where(COIN, "a", "b"), COIN.astype(object)])


@pytest.mark.parametrize(
    "gap", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.float32("nan"), np.datetime64("NaT"), np.timedelta64("NaT")]
)
def test_missing_cells_of_objects_are_missing_in_any_column(gap):
    model = fitted(OBJECTS)
    assert model.fitted_.layers[0].encoder.kinds == ["gaussian", "gaussian", "categorical", "categorical"]
    for column in range(4):
        row = np.array([[0.1, 0.2, "a", 1]], object)
        row[0, column] = gap
        plain = pd.DataFrame({0: [0.1], 1: [0.2], 2: ["a"], 3: [1]}).astype({3: "Int64"})
        plain.iloc[0, column] = None
        assert_array_equal(model.log_z(row), model.log_z(plain.to_numpy(object, na_value=None)))
        assert_allclose(model.log_z(np.vstack([row, OBJECTS]))[:1], model.log_z(row), rtol=1e-6)
        some = OBJECTS.copy()
        some[::5, column] = gap
        usual = OBJECTS.copy()
        usual[::5, column] = None
        assert model_bytes(fitted(some)) == model_bytes(fitted(usual))
    assert model.transform(np.full((1, 4), gap, object)).shape == (1, 1)


def test_rows_as_lists_are_read_cell_by_cell():
    model = fitted(OBJECTS)
    assert model_bytes(fitted(OBJECTS.tolist())) == model_bytes(model)
    for row in ([0.1, None, "a", 1], [0.1, np.nan, "a", 1], [0.1, 0.2, "a", 1]):
        assert_array_equal(model.log_z([row]), model.log_z(np.array([row], object)))


DECIMALS = [Decimal(f"{x:.4f}") for x in X[:, 0]]
MIXED = [(Decimal("1.25") if c else Decimal("0.25"), 2 * int(c), 1.5 * c)[i % 3] for i, c in enumerate(COIN)]
FRAMES = {
    "objects": lambda column: pd.DataFrame({"x": X[:, 1], "odd": pd.Series(column, dtype=object)}),
    "array of objects": lambda column: np.column_stack([X[:, 1].astype(object), np.array(column, object)]),
    "polars": lambda column: pl.DataFrame({"x": X[:, 1], "odd": pl.Series(column, dtype=pl.Decimal(20, 4))}),
    "arrow": lambda column: pa.table({"x": X[:, 1], "odd": pa.array(column, pa.decimal128(20, 4))}),
    "arrow in pandas": lambda column: pd.DataFrame(
        {"x": X[:, 1], "odd": pd.Series(column, dtype=pd.ArrowDtype(pa.decimal128(20, 4)))}
    ),
}


@pytest.mark.parametrize("library", FRAMES)
def test_decimal_numbers_are_numbers(library):
    for column in (DECIMALS, [None, *DECIMALS[1:]]):
        model = fitted(FRAMES[library](column))
        assert model.fitted_.layers[0].encoder.kinds == ["gaussian", "gaussian"]
        plain = np.array([np.nan if value is None else float(value) for value in column])
        assert_array_equal(model.tcs_, fitted(np.column_stack([X[:, 1], plain])).tcs_)


@pytest.mark.parametrize("library", ["objects", "array of objects"])
def test_decimals_integers_and_floats_of_one_column_are_numbers(library):
    plain = fitted(np.column_stack([X[:, 1], np.array(MIXED, float)]))
    assert_array_equal(fitted(FRAMES[library](MIXED)).tcs_, plain.tcs_)


# Floats of more than 64 bits


def test_long_doubles_are_rounded_to_doubles(tmp_path):
    long = X.astype(np.longdouble)
    masked = np.ma.masked_array(long, np.zeros(long.shape, bool))
    for table in (long, pd.DataFrame(long), masked):
        assert_array_equal(fitted(table).tcs_, fitted(X).tcs_)
    codes = np.column_stack([COIN, COIN, 1 - COIN])
    model = fitted(codes.astype(np.longdouble), marginals="categorical")
    model.save(tmp_path / "m")  # which has no room for more than 64 bits
    assert_array_equal(hicorex.load(tmp_path / "m").transform(codes), model.transform(codes))


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(float).max, reason="no floats beyond doubles here")
@pytest.mark.parametrize("marginals", ["gaussian", "rank", "categorical"])
def test_numbers_beyond_doubles_are_refused_by_column(marginals):
    long = X.astype(np.longdouble)
    long[3, 2] = np.longdouble("1e400")
    for table in (long, pd.DataFrame(long), long.astype(object), np.ma.masked_array(long)):
        with pytest.raises(HicorexError, match=r"Column '?2'? has an infinity in it, or a number beyond 1.8e308"):
            fitted(table, marginals=marginals)


def frame(column):
    return pd.DataFrame({"x": X[:, 0], "odd": column})


REFUSED = {
    "huge and floats": (frame(pd.Series([10**400, 1.5] * 30, dtype=object)), "Column 'odd' .*beyond 1.8e308"),
    "huge integers": (frame(pd.Series([10**400, 1] * 30, dtype=object)), "Column 'odd' has integers of more than 64"),
    "huge decimals": (frame(pd.Series([Decimal("1e400"), Decimal(1)] * 30)), "Column 'odd' .*beyond 1.8e308"),
    "fractions": (frame(pd.Series([Fraction(1, 3)] * 60)), "Column 'odd' holds values of type Fraction.*numbers"),
    "integers of 128 bits": (
        pl.DataFrame({"odd": pl.Series([1, 2] * 30, dtype=pl.Int128)}),
        "Column 'odd' has type Int",
    ),
    "complex": (X.astype(complex), r"Complex data not supported: X has type complex128; give X\.real"),
    "a complex column": (frame(X[:, 0].astype(complex)), "Column 'odd' has type complex128; make it numbers"),
    "complex objects": (
        frame(pd.Series([1j] * 60, dtype=object)),
        "Column 'odd' holds values of type complex.*numbers",
    ),
    "intervals": (frame(pd.interval_range(0, 60)), "Column 'odd' holds values of type Interval.*text"),
    "intervals by cut": (frame(pd.cut(X[:, 0], 3)), "Column 'odd' holds values of type Interval.*text"),
    "periods": (frame(pd.period_range("2020", periods=60, freq="M")), "Column 'odd' holds values of type Period.*text"),
    "an array of them": (np.zeros((60, 2), "m8[s]"), r"Column 0 has type timedelta64\[s\]; make it numbers"),
    "structured": (np.zeros(60, [("a", float), ("b", int)]), r"structured array of the fields a, b; pass pandas\.Data"),
    "records": (
        np.rec.fromarrays([COIN, COIN], names="a,b"),
        r"structured array of the fields a, b; pass pandas\.Data",
    ),
    "bytes without meaning": (np.zeros((60, 2), "V4"), r"Column 0 has type \|V4; make it numbers"),
    "lists": (frame(pd.Series([[1]] * 60)), "Column 'odd' holds values of type list.*numbers"),
    "arrays": (frame(pd.Series([np.ones(2)] * 60)), "Column 'odd' holds values of type ndarray.*numbers"),
    "mappings": (frame(pd.Series([{"a": 1}] * 60)), "Column 'odd' holds values of type dict.*numbers"),
    "objects": (
        pl.DataFrame({"odd": pl.Series([object()] * 60, dtype=pl.Object)}),
        "Column 'odd' holds values of type o",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_types_that_are_no_numbers_and_no_text_are_refused_by_column(case):
    table, message = REFUSED[case]
    with pytest.raises(HicorexError, match=message):
        Corex().fit(table)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.bool_()], ids=str)
def test_a_table_on_disk_whose_first_rows_lack_values_is_read_by_its_types(tmp_path, kind):
    column = pa.array([None, None, *COIN[2:].tolist()]).cast(kind)
    parquet.write_table(pa.table({"x": X[:, 0], "y": X[:, 1], "late": column}), tmp_path / "t.parquet")
    model = fitted(tmp_path / "t.parquet")
    assert model.fitted_.layers[0].encoder.kinds == ["gaussian", "gaussian", "categorical"]
    assert model.alpha_[2] > 0
