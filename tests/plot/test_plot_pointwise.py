"""The picture of samples: their scores over any index, and the surprising ones by name."""

from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.dates import AutoDateLocator, num2date
from numpy.testing import assert_allclose, assert_array_equal
from pictures import assert_apart

from hicorex import HicorexError, plot
from hicorex.plot.pointwise import BINS, draw_pointwise


def test_points_are_the_scores_and_the_most_surprising_are_named(tree_fit):
    model, X = tree_fit
    ax = plot.pointwise(model, X, surprising=6)
    line, marks = ax.lines
    assert_allclose(line.get_ydata(), model.score_samples(X))
    assert_array_equal(line.get_xdata(), np.arange(300))
    expected = np.argsort(-np.abs(model.surprise(X).samples), kind="stable")[:6]
    assert_array_equal(marks.get_xdata(), expected)
    assert_allclose(marks.get_ydata(), model.score_samples(X)[expected])
    assert [text.get_text() for text in ax.texts] == [str(i) for i in expected]
    assert_apart(ax.texts)
    assert ax.get_xlabel() == "sample"
    assert len(plot.pointwise(model, X, surprising=0).texts) == 0


MONTHS = [f"{year}-{month:02}" for year in range(2005, 2015) for month in range(1, 13)]


INDICES = {
    "text": MONTHS,
    "numpy": np.array(MONTHS, "datetime64[M]"),
    "dates": [date.fromisoformat(f"{month}-01") for month in MONTHS],
    "pandas": pd.DatetimeIndex(MONTHS),
    "zone": pd.DatetimeIndex(MONTHS).tz_localize("Europe/Berlin"),
    "periods": pd.PeriodIndex(MONTHS, freq="M"),
    "series": pd.Series(MONTHS, name="month"),
    "polars": pl.Series([date.fromisoformat(f"{month}-01") for month in MONTHS]),
    "arrow": pa.chunked_array([pa.array(pd.DatetimeIndex(MONTHS))]),
    "arrow text": pa.array(MONTHS),
}


@pytest.mark.parametrize("kind", INDICES)
def test_dates_of_every_kind_get_a_date_axis(kind):
    values = np.random.default_rng(0).normal(size=len(MONTHS))
    ax = draw_pointwise(values, values, index=INDICES[kind], surprising=2)
    assert isinstance(ax.xaxis.get_major_locator(), AutoDateLocator)
    shown = [f"{num2date(x):%Y-%m-%d}" for x in ax.lines[0].get_xdata()]
    assert shown == [f"{month}-01" for month in MONTHS]
    named = np.argsort(-np.abs(values))[:2]
    assert [text.get_text() for text in ax.texts] == [MONTHS[i] for i in named]


def test_numbers_and_names_make_an_index():
    values = np.arange(5.0)
    ax = draw_pointwise(values, values, index=[5, 1, 4, 2, 3])
    assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3, 4, 5])
    assert_array_equal(ax.lines[0].get_ydata(), [1, 3, 4, 2, 0])
    names = ["a", "b", "2008-13", "d", "e"]
    ax = draw_pointwise(values, values, index=pd.Index(names, name="who"), surprising=1)
    assert_array_equal(ax.lines[0].get_ydata(), values)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == names
    assert ax.get_xlabel() == "who"
    assert [text.get_text() for text in ax.texts] == ["e"]
    many = [f"sample of the number {i}" for i in range(400)]
    ticks = draw_pointwise(np.arange(400.0), np.zeros(400), index=many).get_xticklabels()
    assert ticks[0].get_text() == many[0]
    assert_apart(ticks)
    for wrong in (["a"], [[1, 2, 3, 4, 5]]):
        with pytest.raises(HicorexError, match=r"index has shape .* for 5 samples"):
            draw_pointwise(values, values, index=wrong)
    with pytest.raises(HicorexError, match="surprising is -1"):
        draw_pointwise(values, values, surprising=-1)


@pytest.mark.parametrize(
    "series", [{"S&P $ 500": range(4)}, pd.Series(range(4), name="S&P $ 500"), pl.Series("S&P $ 500", range(4))]
)
def test_a_series_is_drawn_beside_on_a_second_axis(series):
    values = np.array([3.0, 1.0, 4.0, 1.0])
    ax = draw_pointwise(values, values, index=[3, 2, 1, 0], series=series)
    twin = ax.figure.axes[1]
    assert_array_equal(twin.lines[0].get_xdata(), [0, 1, 2, 3])
    assert_array_equal(twin.lines[0].get_ydata(), [3, 2, 1, 0])
    assert twin.get_ylabel() == "S&P \\$ 500"
    assert twin.yaxis.get_label_position() == "right"
    assert twin.lines[0].get_color() != ax.lines[0].get_color()
    assert ax.get_shared_x_axes().joined(ax, twin)


def test_a_series_must_fit_the_samples_and_may_have_gaps():
    values = np.arange(3.0)
    ax = draw_pointwise(values, values, series=[1, None, np.inf])
    assert_array_equal(ax.figure.axes[1].lines[0].get_ydata(), [1, np.nan, np.nan])
    for wrong, message in (
        ([1, 2], r"series has shape \(2,\) for 3 samples"),
        (["a", "b", "c"], "series holds what is not a number"),
        ({"a": values, "b": values}, "series has 2 entries"),
    ):
        with pytest.raises(HicorexError, match=message):
            draw_pointwise(values, values, series=wrong)


def test_very_many_samples_are_drawn_as_a_band():
    rng = np.random.default_rng(0)
    values, surprise = rng.normal(size=(2, 23_456))
    ax = draw_pointwise(values, surprise, series=np.where(values > 3, np.nan, values))
    edges = [i * 23_456 // BINS for i in range(BINS + 1)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    assert_allclose(ax.lines[0].get_ydata(), [part.mean() for part in parts])
    assert_allclose(ax.lines[0].get_xdata(), [(a + b - 1) / 2 for a, b in pairwise(edges)])
    corners = ax.collections[0].get_paths()[0].vertices
    for x, part in zip(ax.lines[0].get_xdata(), parts, strict=True):
        own = corners[np.isclose(corners[:, 0], x), 1]
        assert_allclose([own.min(), own.max()], [part.min(), part.max()])
    expected = np.argsort(-np.abs(surprise))[:5]
    assert_array_equal(ax.lines[1].get_xdata(), expected)
    assert [text.get_text() for text in ax.texts] == [str(i) for i in expected]
    assert np.isfinite(ax.figure.axes[1].lines[0].get_ydata()).all()
