"""The picture of a factor: how likely values are in each of its states, and densities."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde

import hicorex
from hicorex import Corex, HicorexError, plot
from hicorex.plot import canvas
from hicorex.plot.factor import GAP, _densities


def cells_of(ax, row, n_states):
    """The cells of a row, (state, value): their colour."""
    found = {}
    for patch in ax.patches:
        at, y = divmod(patch.get_y() + 1e-9, 1 + GAP)
        if at == row:
            found[round(y * n_states), round(patch.get_x() / patch.get_width())] = patch.get_facecolor()[:3]
    return found


def test_a_factor_shows_how_likely_values_are_in_its_states(tree_fit):
    model, X = tree_fit
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


def test_continuous_variables_are_densities_of_each_state(mixed_fit):
    model, X = mixed_fit
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


def test_rare_values_have_one_cell_together():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=600)
    words = np.array([f"word {i}" for i in range(40)], object)
    common = np.minimum(rng.geometric(0.2, size=600) - 1, 19)
    X = pd.DataFrame({"many": words[common + 20 * coin], "a": coin, "b": coin})
    model = Corex(1, n_states=2, n_init=2, random_state=0).fit(X)
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


def test_factors_that_are_not_there_or_explain_nothing_are_refused(tree_fit, tmp_path):
    model, X = tree_fit
    with pytest.raises(HicorexError, match="no factor 'layer1_factr1'; the nearest is 'layer1_factor1'"):
        plot.factor(model, "layer1_factr1")
    for name in (8, -1, True, 1.5, None):
        with pytest.raises(HicorexError, match="There is no factor"):
            plot.factor(model, name)
    with pytest.raises(HicorexError, match="top is 0"):
        plot.factor(model, 0, top=0)
    empty = Corex(3, n_states=2, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 3)))
    with pytest.raises(HicorexError, match="layer1_factor2 has no links"):
        plot.factor(empty, 2)
    model.save(tmp_path / "model")
    loaded = hicorex.load(tmp_path / "model")
    with pytest.raises(HicorexError, match="no longer knows the samples"):
        plot.factor(loaded, 0)
    mine, yours = plot.factor(model, 0), plot.factor(loaded, 0, X)
    assert [patch.get_facecolor() for patch in mine.patches] == [patch.get_facecolor() for patch in yours.patches]


def test_whole_numbers_of_a_column_of_floats_are_written_as_such(mixed_fit):
    model, X = mixed_fit
    texts = [text.get_text() for text in plot.factor(model, 0, X, top=20).texts]
    assert any(text.startswith("1  ") for text in texts)
    assert not any(text.startswith("1.0  ") for text in texts)
