"""The picture of a layer's structure: alpha, number by number, and names that fit."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pictures import assert_apart, plain_order

from hicorex import Corex, plot
from hicorex.datasets import make_latent_tree, make_overlapping_clusters


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_structure_is_alpha_in_order(tree_fit, layer):
    model, _ = tree_fit
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


def test_variables_without_a_link_come_last_by_every_rule(mixed_fit):
    model, X = mixed_fit
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
    model = Corex(2, n_states=2, n_init=1, random_state=0).fit(X)
    ticks = plot.structure(model).get_xticklabels()
    assert len(ticks) == 60
    assert_apart(ticks)
    figure = plt.figure(figsize=(2, 2))
    assert plot.structure(model, ax=figure.add_subplot()).get_xticklabels() == []


def test_very_many_variables_share_columns_by_their_largest_alpha():
    X = make_overlapping_clusters(40, 1251, random_state=0)[0]
    model = Corex(3, n_states=2, n_init=1, max_iter=20, random_state=0).fit(X)
    ax = plot.structure(model)
    alpha = model.alpha_.T[:, plain_order(model)]
    n = alpha.shape[1]
    edges = [i * n // 2000 for i in range(2001)]
    expected = np.column_stack([alpha[:, a:b].max(axis=1) for a, b in pairwise(edges)])
    assert_array_equal(ax.images[0].get_array(), expected)
    assert ax.get_xticklabels() == []
    assert ax.get_xlim() == (-0.5, n - 0.5)
