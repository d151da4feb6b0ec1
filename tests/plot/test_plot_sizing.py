"""The picture of the sizes tried: every one is there, and the one that was taken stands out."""

import numpy as np
import pytest
from conftest import GOLDEN

import hicorex
from hicorex import Corex, HicorexError, plot
from hicorex.datasets import make_independent_clusters


@pytest.fixture(scope="module")
def sized():
    X, _ = make_independent_clusters(cluster_size=10, random_state=0)
    return Corex("auto", n_states="auto", random_state=0).fit(X)


def test_every_size_is_drawn_and_the_one_that_was_taken_has_a_ring(sized):
    ax = plot.sizing(sized)
    points = {(x, y) for line in ax.lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    for size in sized.sizing_.tried:
        assert (size.n_factors, size.lower) in points
    (ring,) = [line for line in ax.lines if line.get_label() == "taken"]
    assert ring.get_xdata().tolist() == [sized.n_factors_]
    assert ring.get_ydata().tolist() == [sized.sizing_.chosen.lower]
    states = sorted({size.n_states for size in sized.sizing_.tried})
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == [f"{number} states" for number in states] + ["taken"]


def test_sizes_of_one_fold_are_hollow(sized):
    ax = plot.sizing(sized)
    hollow = {float(line.get_xdata()[0]) for line in ax.lines if line.get_mfc() == "none" and line.get_marker() == "o"}
    scouted = {size.n_factors for size in sized.sizing_.tried if size.reproducibility is None}
    assert scouted
    assert scouted <= hollow


def test_a_size_that_was_given_has_no_picture(sized):
    model = Corex(2, n_states=2, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 4)))
    with pytest.raises(HicorexError, match='The size of layer 1 was given; fit with "auto"'):
        plot.sizing(model)


def test_sizes_of_early_files_are_drawn_too():
    old = hicorex.load(GOLDEN / "format1_found.hicorex")
    ring = next(line for line in plot.sizing(old).lines if line.get_label() == "taken")
    assert ring.get_xdata().tolist() == [old.sizing_.n_factors]
