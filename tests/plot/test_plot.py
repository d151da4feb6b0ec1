"""Pictures: what each of them shows, number by number, and that no table or name breaks them."""

import io
import warnings
from dataclasses import replace
from datetime import date
from itertools import combinations, pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import GOLDEN, HOSTILE, mixed_table, named_table
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, num2date
from matplotlib.text import Text
from models import layers_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, ndtri
from scipy.stats import gaussian_kde
from sklearn.exceptions import NotFittedError

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex, plot
from hicorex.bounds.result import Bounds, LayerBounds, NoUpper, NoUpperReason
from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.plot import canvas
from hicorex.plot.bounds import layer_parts
from hicorex.plot.factor import GAP, _densities
from hicorex.plot.pointwise import BINS, draw_pointwise
from hicorex.plot.sorted_data import sorted_image
from hicorex.report.page import DARK_PALETTE


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tree():
    X, _ = make_latent_tree(300, 40, 5, root_flip=0.15, random_state=0)
    return HierarchicalCorex((5, 2, 1), n_states=(2, 3, 2), n_init=3, random_state=0).fit(X), X


@pytest.fixture(scope="module", params=["unique", "overlap", "tree"])
def mixed(request):
    table, kinds = mixed_table(np.random.default_rng(0), 150, missing=0.1)
    names = [f"column {i}" for i in range(len(kinds))]
    X = pd.DataFrame(table, columns=names)
    return Corex(3, marginals=kinds, structure=request.param, n_init=3, random_state=0).fit(X), X


def plain_order(layer):
    """The variables by cluster and falling weight, those of none last, one by one."""
    weight = layer.alpha_ * layer.mutual_information_
    keys = []
    for i, cluster in enumerate(layer.clusters_.tolist()):
        assigned = cluster >= 0
        keys.append((cluster if assigned else np.inf, -(weight[i, cluster] if assigned else weight[i].max()), i))
    return [key[-1] for key in sorted(keys)]


def boxes_of(texts):
    texts[0].figure.canvas.draw()
    return [Text.get_window_extent(text) for text in texts]


def assert_apart(texts):
    for one, other in combinations(boxes_of(texts), 2):
        assert not one.overlaps(other)


def check_savable(axes):
    first = axes[0] if isinstance(axes, tuple) else axes
    for kind in ("png", "svg"):
        first.figure.savefig(io.BytesIO(), format=kind)


# What all share


MACHADO = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab_of(linear):
    """CIELAB of linear RGB."""
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ np.clip(linear, 0, 1)
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("palette", [canvas.PALETTE, DARK_PALETTE], ids=["light", "dark"])
@pytest.mark.parametrize("vision", ["usual", *MACHADO])
def test_colours_stay_apart_whatever_the_colour_vision(vision, palette):
    matrix = MACHADO.get(vision, np.eye(3))
    rgb = [np.array(to_rgb(colour)) for colour in palette]
    seen = [lab_of(matrix @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)) for c in rgb]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15
    # The first ones, which most pictures get by with, even more.
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen[:4], 2)) > 20


@pytest.mark.parametrize("name", [*HOSTILE, "", "a$b$c", "\\$x", "$\\frac{$", "x" * 5000, "\ud800", "عربي", "_hidden"])
def test_any_name_is_a_label(name):
    label = canvas.label_of(name)
    assert len(label) <= 48
    label.encode()
    _, ax = plt.subplots()
    ax.set_title(label)
    check_savable(ax)


def test_labels_keep_apart_and_inside_and_the_first_are_placed_first():
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    x = [0.5] * 6 + [0, 1]
    names = [f"label number {i}" for i in range(8)]
    texts = canvas.place_labels(ax, x, [0.5] * 8, names)
    assert [text.get_text() for text in texts] == names
    assert_apart(texts)
    inside = ax.get_window_extent()
    for box in boxes_of(texts):
        assert np.all(box.min >= inside.min)
        assert np.all(box.max <= inside.max)
    crowded = canvas.place_labels(ax, [0.5] * 300, [0.5] * 300, ["a long name"] * 300)
    assert 10 < len(crowded) < 300
    assert_apart(crowded)


def test_thinning_is_even_and_keeps_both_ends():
    assert_array_equal(canvas.thinned(5, 10), range(5))
    some = canvas.thinned(10_001, 101)
    assert_array_equal(some, np.arange(0, 10_001, 100))
    assert_array_equal(canvas.edges_of(7, 3), [0, 2, 4])
    assert_array_equal(canvas.edges_of(3, 7), [0, 1, 2])


def test_models_must_be_fitted_and_layers_exist(tree):
    model, X = tree
    for estimator in (Corex(), HierarchicalCorex()):
        for draw in (
            plot.convergence,
            plot.structure,
            plot.bounds,
            lambda own: plot.sorted_data(own, X),
            lambda own: plot.pointwise(own, X),
            lambda own: plot.factor(own, 0, X),
        ):
            with pytest.raises(NotFittedError):
                draw(estimator)
    for draw in (plot.convergence, plot.structure):
        for layer in (0, 4, "1", None):
            with pytest.raises(HicorexError, match=r"this model has layers 1 to 3"):
                draw(model, layer=layer)
    assert plt.get_fignums() == []


def test_pictures_draw_on_the_axes_given(tree):
    model, X = tree
    _, axes = plt.subplots(2, 4)
    a, b, c, d, e, f, g, _ = axes.ravel()
    assert plot.convergence(model, ax=a) is a
    assert plot.structure(model, ax=b) is b
    assert plot.sorted_data(model, X, ax=c) is c
    assert plot.sorted_data(model, X, ax=[d, e]) == (d, e)
    assert plot.pointwise(model, X, ax=f) is f
    assert plot.bounds(model, ax=g) is g
    assert plot.factor(model, 0, ax=axes[1, 3]) is axes[1, 3]
    assert plt.get_fignums() == [a.figure.number]
    assert_array_equal(c.images[0].get_array(), e.images[0].get_array())
    check_savable(a)


# Convergence


@pytest.mark.parametrize("layer", [1, 2])
def test_convergence_shows_every_start(tree, layer):
    model, _ = tree
    own = model.layers_[layer - 1]
    assert len(own.histories_) == 3
    assert sum(np.array_equal(own.history_, history) for history in own.histories_) == 1
    ax = plot.convergence(model, layer=layer)
    *others, kept = ax.lines
    assert_array_equal(kept.get_ydata(), own.history_)
    assert_array_equal(kept.get_xdata(), np.arange(1, own.n_iter_ + 1))
    assert kept.get_linewidth() > 2 * others[0].get_linewidth()
    drawn = sorted(line.get_ydata().tolist() for line in ax.lines)
    assert drawn == sorted(history.tolist() for history in own.histories_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "objective, nats")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["start that was kept", "other starts"]


def test_a_low_beginning_does_not_hide_the_rest(tree):
    fitted = tree[0].layers_[0].fitted_

    def with_histories(history, histories):
        layer = replace(fitted.layers[0], history=history, histories=histories)
        return Corex().publish(replace(fitted, layers=(layer,)))

    steep = np.concatenate([[-1e6, -1e4], np.linspace(8, 10, 30)])
    model = with_histories(steep, [steep[:7], steep])
    ax = plot.convergence(model)
    low, high = ax.get_ylim()
    assert 0 < low < 8
    assert 10 < high < 11
    assert_array_equal(ax.lines[-1].get_ydata(), steep)
    flat = np.concatenate([[-5, 100], np.full(10, 100 + 1e-12)])
    model = with_histories(flat, [flat])
    low, high = plot.convergence(model).get_ylim()
    assert low < 91
    assert high > 100
    for constant in (np.zeros(3), np.full(1, -2.0)):
        model = with_histories(constant, [constant])
        low, high = plot.convergence(model).get_ylim()
        assert low < constant[0] < high


def test_starts_are_saved_and_older_files_show_the_one_that_was_kept(tree, tmp_path):
    model, _ = tree
    model.save(tmp_path / "model")
    again = hicorex.load(tmp_path / "model")
    for one, other in zip(model.layers_, again.layers_, strict=True):
        for mine, yours in zip(one.histories_, other.histories_, strict=True):
            assert_array_equal(mine, yours)
    old = hicorex.load(GOLDEN / "format1_mixed.hicorex")
    (line,) = plot.convergence(old).lines
    assert_array_equal(line.get_ydata(), old.history_)


# Structure


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_structure_is_alpha_in_order(tree, layer):
    model, _ = tree
    own = model.layers_[layer - 1]
    order = plain_order(own)
    ax = plot.structure(model, layer=layer)
    assert_array_equal(ax.images[0].get_array(), own.alpha_.T[:, order])
    assert ax.images[0].get_clim() == (0, 1)
    below = [f"x{i}" if layer == 1 else f"layer{layer - 1}_factor{i}" for i in order]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == below
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        f"layer{layer}_factor{j}" for j in range(own.n_factors_)
    ]
    assert ax.figure.axes[1].get_ylabel() == "alpha"


def test_structure_of_every_rule_and_its_unassigned_variables_last(mixed):
    model, X = mixed
    order = plain_order(model)
    ax = plot.structure(model)
    assert_array_equal(ax.images[0].get_array(), model.alpha_.T[:, order])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [X.columns[i] for i in order]
    alone = np.count_nonzero(model.clusters_ == -1)
    assert alone > 0
    assert_array_equal(model.clusters_[order][-alone:], -1)
    assert ax.get_xlabel().endswith(f"; {alone} without a significant link at the end")
    ends = np.unique(np.cumsum(np.bincount(model.clusters_[model.clusters_ >= 0])))
    assert_array_equal([line.get_xdata()[0] for line in ax.lines], ends[ends < len(order)] - 0.5)


def test_names_of_variables_do_not_overlap_and_stay_away_where_they_do_not_fit():
    X = make_latent_tree(100, 60, 2, random_state=0)[0]
    model = Corex(2, n_init=1, random_state=0).fit(X)
    ticks = plot.structure(model).get_xticklabels()
    assert len(ticks) == 60
    assert_apart(ticks)
    figure = plt.figure(figsize=(2, 2))
    assert plot.structure(model, ax=figure.add_subplot()).get_xticklabels() == []


def test_very_many_variables_share_columns_by_their_largest_alpha():
    X = make_overlapping_clusters(40, 1251, random_state=0)[0]
    model = Corex(3, n_init=1, max_iter=20, random_state=0).fit(X)
    ax = plot.structure(model)
    alpha = model.alpha_.T[:, plain_order(model)]
    n = alpha.shape[1]
    edges = [i * n // 2000 for i in range(2001)]
    expected = np.column_stack([alpha[:, a:b].max(axis=1) for a, b in pairwise(edges)])
    assert_array_equal(ax.images[0].get_array(), expected)
    assert ax.get_xticklabels() == []
    assert ax.get_xlim() == (-0.5, n - 0.5)


# Sorted data


def plain_image(model, X, rows, columns):
    """Shades of a table of numbers, one by one."""
    layer = layers_of(model)[0]
    values = np.asarray(X, float)
    image = np.full((len(rows), len(columns)), np.nan)
    for b, i in enumerate(columns):
        column = values[:, i]
        known = column[~np.isnan(column)]
        distinct = np.unique(known)
        for a, row in enumerate(rows):
            if np.isnan(column[row]):
                continue
            if layer.fitted_.layers[0].encoder.kinds[i] == "categorical":
                image[a, b] = np.searchsorted(distinct, column[row]) / (distinct.size - 1)
            elif layer.fitted_.layers[0].encoder.kinds[i] == "rank":
                middle = (np.sum(known < column[row]) + np.sum(known <= column[row])) / 2
                scores = ndtr_inverse_spread(known)
                image[a, b] = ndtr(scores(middle / known.size))
            else:
                image[a, b] = ndtr((column[row] - known.mean()) / known.std())
    return image


def ndtr_inverse_spread(known):
    """Normal scores, in their own standard deviations."""
    middles = np.array([(np.sum(known < v) + np.sum(known <= v)) / 2 for v in known]) / known.size
    scores = ndtri(middles)
    return lambda share: (ndtri(share) - scores.mean()) / scores.std()


def test_sorted_data_of_mixed_kinds_and_missing_values(mixed):
    model, X = mixed
    labels = model.transform(X)
    rows = sorted(range(len(X)), key=lambda r: (*labels[r].tolist(), r))
    before, after = plot.sorted_data(model, X)
    shown = [ax.images[0].get_array() for ax in (before, after)]
    expected = [plain_image(model, X, *order) for order in ((range(len(X)), range(14)), (rows, plain_order(model)))]
    for image, plain in zip(shown, expected, strict=True):
        assert_array_equal(image.mask, np.isnan(plain))
        assert_allclose(image.filled(0), np.nan_to_num(plain), atol=1e-9)
        assert image.mask.any()
    assert to_rgb(before.images[0].cmap.get_bad()[:3]) == to_rgb(canvas.GREY)
    assert (before.get_title(), after.get_title()) == ("as given", "sorted by factor")
    assert "grey: missing" in [ax.get_ylabel() for ax in before.figure.axes]
    for one, other in zip(sorted_image(model, X, labels), expected, strict=True):
        assert_allclose(one, other, atol=1e-9)


def test_sorted_data_by_rank(mixed):
    _, X = mixed
    X = X.iloc[:60, :5]
    model = Corex(2, marginals="rank", n_init=1, random_state=0).fit(X)
    assert_allclose(sorted_image(model, X)[0], plain_image(model, X, range(60), range(5)), atol=1e-9)


def test_sorted_data_is_the_same_from_every_kind_of_table():
    rng = np.random.default_rng(0)
    hidden = rng.integers(2, size=80)
    columns = {
        "number": hidden + rng.normal(size=80),
        "text": np.array(["no", "yes"], object)[hidden],
        "count": hidden * 2 + rng.integers(2, size=80),
    }
    frame = pd.DataFrame(columns)
    frame.loc[3, "text"] = None
    frame.loc[5, "number"] = np.nan
    model = Corex(1, n_init=2, random_state=0).fit(frame)
    expected = sorted_image(model, frame)
    assert np.isnan(expected[0]).sum() == 2
    for X in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        for one, other in zip(sorted_image(model, X), expected, strict=True):
            assert_array_equal(one, other)
    table = frame.to_numpy()
    plain = Corex(1, marginals=["gaussian", "categorical", "categorical"], n_init=2, random_state=0).fit(table)
    for one, other in zip(sorted_image(plain, table), expected, strict=True):
        assert_allclose(one, other)


def test_rows_are_sorted_by_the_first_layer_alone(tree):
    model, X = tree
    labels = model.transform(X)
    rows = sorted(range(len(X)), key=lambda r: (*labels[r, :5].tolist(), r))
    expected = X[rows][:, plain_order(model.layers_[0])]
    assert_array_equal(sorted_image(model, X)[1], expected)
    assert_array_equal(sorted_image(model, X.tolist(), labels)[1], expected)


def test_large_tables_are_thinned_in_their_order():
    X = make_latent_tree(5001, 2001, 3, random_state=0)[0]
    model = Corex(3, n_init=1, tol=1, random_state=0).fit(X[:300])
    labels = model.transform(X)
    before, after = sorted_image(model, X, labels)
    rows, columns = canvas.thinned(5001, 1000), canvas.thinned(2001, 1000)
    assert_array_equal(before, X[np.ix_(rows, columns)])
    order = np.array(sorted(range(5001), key=lambda r: (*labels[r].tolist(), r)))
    assert_array_equal(after, X[np.ix_(order[rows], np.array(plain_order(model))[columns])])
    ax = plot.sorted_data(model, X, ax=plt.figure().add_subplot())
    assert ax.get_xlim() == (0, 2001)
    assert ax.get_ylim() == (5001, 0)


# Point-wise total correlation


def test_points_are_the_scores_and_the_most_surprising_are_named(tree):
    model, X = tree
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


def test_numbers_and_names_as_an_index():
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
def test_a_series_is_drawn_beside_on_its_own_axis(series):
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


# Bounds


def widths_of(ax):
    return [patch.get_width() for patch in ax.patches]


def fake_bounds(added, depth, upper=None, theorem=None):
    """Bounds to which each layer adds so much."""
    reached = np.cumsum(added).tolist()
    layers = tuple(LayerBounds(f"layer{k}", 1, 0.5, 0.5, 0.1, lower, None) for k, lower in enumerate(reached, 1))
    lower = reached[depth - 1]
    why = None if upper is not None else NoUpper(NoUpperReason.NOT_DISCRETE, "'a$b$'")
    error = None if upper is None else 0.3
    return Bounds(lower, 0.2, depth, 1.0, upper, error, theorem, None, None, why, layers, (), 100)


def test_bars_of_layers_add_up_to_the_lower_bound(tree):
    model, _ = tree
    for own in (model.bounds_, model.layers_[0].bounds_, model.bounds(cv=2)):
        ax = plot.bounds(own)
        *layers, upper = widths_of(ax)
        assert len(layers) == own.depth
        assert_allclose(sum(layers), own.lower, rtol=1e-12)
        assert_allclose(np.cumsum(layers), [row.lower for row in own.layers[: own.depth]])
        assert_allclose(upper, own.upper)
        assert [tick.get_text().split("\n")[0] for tick in ax.get_yticklabels()] == ["lower bound", "upper bound"]
        for container, value, stderr in zip(
            ax.containers[-2:], (own.lower, own.upper), (own.lower_stderr, own.upper_stderr), strict=True
        ):
            assert_allclose(container.lines[0].get_xdata().astype(float), value)
            assert_allclose(container.lines[2][0].get_segments()[0][:, 0], [value - stderr, value + stderr])
    assert widths_of(plot.bounds(model)) == widths_of(plot.bounds(model.bounds_))


def test_layers_that_do_not_count_are_left_out_and_named(tree):
    own = tree[0].bounds_
    assert_allclose(sum(layer_parts(own)), own.layers[own.depth - 1].lower)
    shallow = fake_bounds([4.6, -0.5], 1)
    assert layer_parts(shallow) == [4.6]
    ax = plot.bounds(shallow)
    assert widths_of(ax) == [4.6]
    (note,) = ax.texts
    assert note.get_text() == (
        "no upper bound: column 'a\\$b\\$' is not discrete\nnot counted, since nothing is added: layer2"
    )
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["lower bound\n4.6 ± 0.2"]


def test_layers_that_take_away_lie_left_of_zero():
    ax = plot.bounds(fake_bounds([3.0, -1.0, 2.5], 3, upper=900.0, theorem=1200.0))
    *layers, _ = ax.patches
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in layers]
    assert_allclose(spans, [(0, 3), (0, -1), (3, 5.5)])
    assert ax.get_xlim()[0] < -1
    assert ax.get_xlim()[1] > 1200
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["layer1: 3", "layer2: -1", "layer3: 2.5", "paper's upper bound: 1,200"]
    assert_array_equal(ax.lines[0].get_xdata(), 1200)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["lower bound\n4.5 ± 0.2", "upper bound\n900 ± 0.3"]
    boxes_of(ax.get_yticklabels())
    check_savable(ax)


def test_nothing_explained_is_said():
    ax = plot.bounds(fake_bounds([-0.5], 1, upper=2.0))
    assert widths_of(ax) == [-0.5, 2]
    assert ax.texts[0].get_text().startswith("nothing is explained")
    assert ax.get_xlim()[0] < -0.5


def test_a_column_that_is_not_discrete_is_named(mixed):
    model, _ = mixed
    ax = plot.bounds(model)
    assert_allclose(sum(widths_of(ax)), model.bounds_.lower)
    assert ax.texts[0].get_text() == f"no upper bound: column {model.bounds_.no_upper.column} is not discrete"


# Factors


def cells_of(ax, row, n_states):
    """The cells of a row, (state, value): their colour."""
    found = {}
    for patch in ax.patches:
        at, y = divmod(patch.get_y() + 1e-9, 1 + GAP)
        if at == row:
            found[round(y * n_states), round(patch.get_x() / patch.get_width())] = patch.get_facecolor()[:3]
    return found


def test_a_factor_shows_how_likely_values_are_in_its_states(tree):
    model, X = tree
    labels = model.transform(X)
    for name, states, n_states, layer, below in (
        ("layer1_factor1", labels[:, 1], 2, model.layers_[0], X),
        (5, labels[:, 5], 3, model.layers_[1], labels[:, :5]),
    ):
        j = 1 if layer is model.layers_[0] else 0
        weight = (layer.alpha_ * layer.mutual_information_)[:, j]
        rows = [i for i in np.argsort(-weight, kind="stable") if weight[i] > 0][:3]
        ax = plot.factor(model, name, top=3)
        prefix = "x" if j else "layer1_factor"
        assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"{prefix}{i}" for i in rows]
        assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is on top
        for at, i in enumerate(rows):
            cells = cells_of(ax, at, n_states)
            values = np.unique(below[:, i])
            assert len(cells) == n_states * values.size
            for s in range(n_states):
                for v, value in enumerate(values):
                    share = np.mean(below[states == s, i] == value)
                    colour = np.array(to_rgb(canvas.style_of(s)[0]))
                    assert_allclose(cells[s, v], 1 - share * (1 - colour), atol=1e-9)
                    assert any(text.get_text() == f"{value}  {share:.0%}" for text in ax.texts)
        legend = [text.get_text() for text in ax.get_legend().get_texts()]
        assert legend == [f"state {s}: {np.sum(states == s):,}" for s in range(n_states)]


def test_continuous_variables_are_densities_of_each_state(mixed):
    model, X = mixed
    names = [X.columns[i] for i in np.argsort(-(model.alpha_ * model.mutual_information_)[:, 0])[:4]]
    ax = plot.factor(model, "layer1_factor0", X, top=4)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == names
    states = model.transform(X)[:, 0]
    kinds = [model.fitted_.layers[0].encoder.kinds[X.columns.get_loc(name)] for name in names]
    assert set(kinds) == {"gaussian", "categorical"}
    for at, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if kind == "categorical":
            continue
        base = at * (1 + GAP) + 1
        curves = [
            line for line in ax.lines if line.get_xdata().size > 2 and base - 1.01 < line.get_ydata().min() < base
        ]
        assert len(curves) == 2
        values = X[name].to_numpy()
        known = ~np.isnan(values)
        peaks = [line.get_xdata()[line.get_ydata().argmin()] for line in curves]
        means = [values[known & (states == s)].mean() for s in range(2)]
        assert (peaks[0] < peaks[1]) == (means[0] < means[1])
        assert_allclose(min(line.get_ydata().min() for line in curves), base - 1)


def test_densities_are_those_of_a_plain_estimate():
    rng = np.random.default_rng(0)
    states = rng.integers(2, size=1000)
    values = states * 3 + rng.normal(size=1000)
    values[::50] = np.nan
    grid, heights = _densities(values, states, 3, np.ones(1000))
    for state in range(2):
        own = values[(states == state) & ~np.isnan(values)]
        assert_allclose(heights[state], gaussian_kde(own)(grid), atol=0.01)
    assert_array_equal(heights[2], 0)
    # Twice the weight is as good as twice the samples.
    doubled = np.concatenate([np.arange(1000), np.arange(500)])
    weight = np.where(np.arange(1000) < 500, 2.0, 1.0)
    again = _densities(values[doubled], states[doubled], 2, np.ones(1500))
    weighted = _densities(values, states, 2, weight)
    assert_allclose(weighted.heights.argmax(axis=1), again.heights.argmax(axis=1), atol=4)
    for odd in (np.full(1000, np.nan), np.full(1000, 7.0), np.where(states, 7.0, np.nan)):
        assert np.isfinite(_densities(odd, states, 2, np.ones(1000)).heights).all()


def test_many_values_share_a_cell():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=600)
    words = np.array([f"word {i}" for i in range(40)], object)
    common = np.minimum(rng.geometric(0.2, size=600) - 1, 19)
    X = pd.DataFrame({"many": words[common + 20 * coin], "a": coin, "b": coin})
    model = Corex(1, n_init=2, random_state=0).fit(X)
    ax = plot.factor(model, 0)
    row = [tick.get_text() for tick in ax.get_yticklabels()].index("many")
    cells = cells_of(ax, row, 2)
    assert len(cells) == 2 * 12
    rare = X["many"].value_counts().iloc[11:].index
    states = model.transform(X)[:, 0]
    for state in range(2):
        share = X["many"][states == state].isin(rare).mean()
        colour = np.array(to_rgb(canvas.style_of(state)[0]))
        assert_allclose(cells[state, 11], 1 - share * (1 - colour), atol=0.02)


def test_factors_that_are_not_there_or_explain_nothing(tree, tmp_path):
    model, X = tree
    with pytest.raises(HicorexError, match="no factor 'layer1_factr1'; the nearest is 'layer1_factor1'"):
        plot.factor(model, "layer1_factr1")
    for name in (8, -1, True, 1.5, None):
        with pytest.raises(HicorexError, match="There is no factor"):
            plot.factor(model, name)
    with pytest.raises(HicorexError, match="top is 0"):
        plot.factor(model, 0, top=0)
    empty = Corex(3, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 3)))
    with pytest.raises(HicorexError, match="layer1_factor2 has no links"):
        plot.factor(empty, 2)
    model.save(tmp_path / "model")
    loaded = hicorex.load(tmp_path / "model")
    with pytest.raises(HicorexError, match="no longer knows the samples"):
        plot.factor(loaded, 0)
    mine, yours = plot.factor(model, 0), plot.factor(loaded, 0, X)
    assert [patch.get_facecolor() for patch in mine.patches] == [patch.get_facecolor() for patch in yours.patches]


# Names that try to break the pictures


def test_hostile_names_break_no_picture():
    X = named_table([*HOSTILE, "a$b$c", "x" * 5000])
    model = HierarchicalCorex((2, 1), n_init=2, random_state=0).fit(X)
    index = [HOSTILE[i % len(HOSTILE)] for i in range(len(X))]
    values = X.astype(object)
    values["words"] = [HOSTILE[i % len(HOSTILE)].replace("\ud800", "") for i in X["n0"]]
    with_words = Corex(1, n_init=1, random_state=0).fit(values)
    numbers = Corex(1, n_init=1, random_state=0).fit(X.astype(float))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib")
        for axes in (
            plot.convergence(model),
            plot.structure(model),
            plot.structure(model, layer=2),
            plot.sorted_data(model, X),
            plot.pointwise(model, X, index=index, series={HOSTILE[7]: np.arange(len(X))}),
            plot.bounds(numbers),
            plot.factor(model, 0),
            plot.factor(numbers, 0),
            plot.factor(with_words, 0, top=20),
        ):
            check_savable(axes)


def test_whole_numbers_of_a_column_of_floats_are_written_as_such(mixed):
    model, X = mixed
    texts = [text.get_text() for text in plot.factor(model, 0, X, top=20).texts]
    assert any(text.startswith("1  ") for text in texts)
    assert not any(text.startswith("1.0  ") for text in texts)


def test_the_convergence_of_a_stream_goes_on_with_the_start_that_was_kept():
    X, _ = make_latent_tree(100, 12, 2, random_state=0)
    model = Corex(2, n_init=3, random_state=0).fit(X)
    before = plot.convergence(model).lines[-1].get_ydata()
    after = plot.convergence(model.partial_fit(X).partial_fit(X)).lines
    assert len(after) == 3
    assert_array_equal(after[-1].get_ydata()[: before.size], before)
    assert after[-1].get_ydata().size == before.size + 1
