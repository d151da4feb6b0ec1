"""The picture of a table: every cell has the shade of its value, whatever the table came as."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from matplotlib.colors import to_rgb
from models import layers_of
from numpy.testing import assert_allclose, assert_array_equal
from pictures import plain_order
from scipy.special import ndtr, ndtri

from hicorex import Corex, plot
from hicorex.datasets import make_latent_tree
from hicorex.plot import canvas
from hicorex.plot.sorted_data import sorted_image


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


def test_cells_of_every_kind_have_their_shade_and_missing_ones_are_grey(mixed_fit):
    model, X = mixed_fit
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


def test_cells_of_ranks_have_the_shade_of_their_rank(mixed_fit):
    _, X = mixed_fit
    X = X.iloc[:60, :5]
    model = Corex(2, n_states=2, marginals="rank", n_init=1, random_state=0).fit(X)
    assert_allclose(sorted_image(model, X)[0], plain_image(model, X, range(60), range(5)), atol=1e-9)


def test_every_kind_of_table_gives_the_same_picture():
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
    model = Corex(1, n_states=2, n_init=2, random_state=0).fit(frame)
    expected = sorted_image(model, frame)
    assert np.isnan(expected[0]).sum() == 2
    for X in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        for one, other in zip(sorted_image(model, X), expected, strict=True):
            assert_array_equal(one, other)
    table = frame.to_numpy()
    plain = Corex(1, n_states=2, marginals=["gaussian", "categorical", "categorical"], n_init=2, random_state=0).fit(
        table
    )
    for one, other in zip(sorted_image(plain, table), expected, strict=True):
        assert_allclose(one, other)


def test_rows_are_sorted_by_the_first_layer_alone(tree_fit):
    model, X = tree_fit
    labels = model.transform(X)
    rows = sorted(range(len(X)), key=lambda r: (*labels[r, :5].tolist(), r))
    expected = X[rows][:, plain_order(model.layers_[0])]
    assert_array_equal(sorted_image(model, X)[1], expected)
    assert_array_equal(sorted_image(model, X.tolist(), labels)[1], expected)


def test_large_tables_are_thinned_in_their_order():
    X = make_latent_tree(5001, 2001, 3, random_state=0)[0]
    model = Corex(3, n_states=2, n_init=1, tol=1, random_state=0).fit(X[:300])
    labels = model.transform(X)
    before, after = sorted_image(model, X, labels)
    rows, columns = canvas.thinned(5001, 1000), canvas.thinned(2001, 1000)
    assert_array_equal(before, X[np.ix_(rows, columns)])
    order = np.array(sorted(range(5001), key=lambda r: (*labels[r].tolist(), r)))
    assert_array_equal(after, X[np.ix_(order[rows], np.array(plain_order(model))[columns])])
    ax = plot.sorted_data(model, X, ax=plt.figure().add_subplot())
    assert ax.get_xlim() == (0, 2001)
    assert ax.get_ylim() == (5001, 0)
