"""The picture of a fit: every start is there, and the one that was kept stands out."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import GOLDEN
from numpy.testing import assert_array_equal

import hicorex
from hicorex import Corex, plot
from hicorex.datasets import make_latent_tree


@pytest.mark.parametrize("layer", [1, 2])
def test_convergence_shows_every_start(tree_fit, layer):
    model, _ = tree_fit
    own = model.layers_[layer - 1]
    assert len(own.histories_) >= 3  # three starts, and those of rounds
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


def with_histories(model, kept, others=()):
    """A model of one layer whose starts went otherwise."""
    layer = replace(model.fitted_.layers[0], history=kept, histories=[*others, kept])
    return Corex().publish(replace(model.fitted_, layers=(layer,)))


def test_a_low_beginning_does_not_hide_the_rest(tree_fit):
    layer = tree_fit[0].layers_[0]
    steep = np.concatenate([[-1e6, -1e4], np.linspace(8, 10, 30)])
    ax = plot.convergence(with_histories(layer, steep, [steep[:7]]))
    low, high = ax.get_ylim()
    assert 0 < low < 8
    assert 10 < high < 11
    assert_array_equal(ax.lines[-1].get_ydata(), steep)
    flat = np.concatenate([[-5, 100], np.full(10, 100 + 1e-12)])
    low, high = plot.convergence(with_histories(layer, flat)).get_ylim()
    assert low < 91
    assert high > 100
    for constant in (np.zeros(3), np.full(1, -2.0)):
        low, high = plot.convergence(with_histories(layer, constant)).get_ylim()
        assert low < constant[0] < high


def test_starts_are_saved_and_older_files_show_the_one_that_was_kept(tree_fit, tmp_path):
    model, _ = tree_fit
    model.save(tmp_path / "model")
    again = hicorex.load(tmp_path / "model")
    for one, other in zip(model.layers_, again.layers_, strict=True):
        for mine, yours in zip(one.histories_, other.histories_, strict=True):
            assert_array_equal(mine, yours)
    old = hicorex.load(GOLDEN / "format1_mixed.hicorex")
    (line,) = plot.convergence(old).lines
    assert_array_equal(line.get_ydata(), old.history_)


def test_the_convergence_of_a_stream_goes_on_with_the_start_that_was_kept():
    X, _ = make_latent_tree(100, 12, 2, random_state=0)
    model = Corex(2, n_states=2, n_init=3, random_state=0).fit(X)
    before = plot.convergence(model).lines[-1].get_ydata()
    after = plot.convergence(model.partial_fit(X).partial_fit(X)).lines
    assert len(after) == 3
    assert_array_equal(after[-1].get_ydata()[: before.size], before)
    assert after[-1].get_ydata().size == before.size + 1
