"""What all pictures have in common: colours, labels, axes and models."""

import warnings
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import HOSTILE, named_table
from matplotlib.colors import to_rgb
from numpy.testing import assert_array_equal
from pictures import assert_apart, boxes_of, check_savable
from sklearn.exceptions import NotFittedError

from hicorex import Corex, HicorexError, HierarchicalCorex, plot
from hicorex.plot import canvas
from hicorex.report.page import DARK_PALETTE

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


def test_models_must_be_fitted_and_layers_must_exist(tree_fit):
    model, X = tree_fit
    for estimator in (Corex(), HierarchicalCorex()):
        for draw in (
            plot.convergence,
            plot.structure,
            plot.bounds,
            plot.topics,
            lambda own: plot.sorted_data(own, X),
            lambda own: plot.pointwise(own, X),
            lambda own: plot.factor(own, 0, X),
        ):
            with pytest.raises(NotFittedError):
                draw(estimator)
    for draw in (plot.convergence, plot.structure, plot.topics):
        for layer in (0, 4, "1", None):
            with pytest.raises(HicorexError, match=r"this model has layers 1 to 3"):
                draw(model, layer=layer)
    assert plt.get_fignums() == []


def test_pictures_draw_on_the_axes_given(tree_fit):
    model, X = tree_fit
    _, axes = plt.subplots(3, 3)
    a, b, c, d, e, f, g, h, i = axes.ravel()
    assert plot.convergence(model, ax=a) is a
    assert plot.structure(model, ax=b) is b
    assert plot.sorted_data(model, X, ax=c) is c
    assert plot.sorted_data(model, X, ax=[d, e]) == (d, e)
    assert plot.pointwise(model, X, ax=f) is f
    assert plot.bounds(model, ax=g) is g
    assert plot.factor(model, 0, ax=h) is h
    assert plot.topics(model, ax=i) is i
    assert plt.get_fignums() == [a.figure.number]
    assert_array_equal(c.images[0].get_array(), e.images[0].get_array())
    check_savable(a)


def test_hostile_names_break_no_picture():
    X = named_table([*HOSTILE, "a$b$c", "x" * 5000])
    model = HierarchicalCorex((2, 1), n_states=2, n_init=2, random_state=0).fit(X)
    index = [HOSTILE[i % len(HOSTILE)] for i in range(len(X))]
    values = X.astype(object)
    values["words"] = [HOSTILE[i % len(HOSTILE)].replace("\ud800", "") for i in X["n0"]]
    with_words = Corex(1, n_states=2, n_init=1, random_state=0).fit(values)
    numbers = Corex(1, n_states=2, n_init=1, random_state=0).fit(X.astype(float))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib")
        for axes in (
            plot.convergence(model),
            plot.topics(model),
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
