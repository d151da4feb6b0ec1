"""plot.associations: which cells it shows, and which it marks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import HOSTILE
from numpy.testing import assert_allclose
from pictures import check_savable

from hicorex import HicorexError, plot
from hicorex.relations.associations import Associations
from hicorex.relations.dependence import Dependence


def found(n_factors, names):
    """Made-up associations, of which the first factor has none."""
    rng = np.random.default_rng(0)
    p = rng.random((len(names), n_factors))
    p[:, 0] = np.nan
    traits = [
        Dependence(name, "number", 100, rng.random(n_factors), of_trait)
        for name, of_trait in zip(names, p, strict=True)
    ]
    return Associations.of([f"layer1_factor{j}" for j in range(n_factors)], traits)


def test_every_pair_has_a_cell_and_significant_ones_a_mark():
    shown = found(5, ["age", "dose", "weight"])
    shown.q_values[2, 1] = 0.01
    ax = plot.associations(shown)
    assert_allclose(ax.images[0].get_array(), shown.explained_share[1:])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["age", "dose", "weight"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"layer1_factor{j}" for j in range(1, 5)]
    marks = np.asarray(ax.collections[0].get_offsets())
    assert [1, 1] in marks.tolist()
    assert len(marks) == np.sum(shown.q_values <= 0.05)
    check_savable(ax)


def test_of_very_many_those_of_the_least_p_values_are_shown():
    shown = found(90, [f"trait {t}" for t in range(70)])
    ax = plot.associations(shown, ax=plt.subplots()[1])
    assert ax.images[0].get_array().shape == (60, 60)
    least = np.nanargmin(np.where(np.isnan(shown.p_values), 2, shown.p_values).min(axis=1))
    assert f"layer1_factor{least}" in {shown.factors[j] for j in range(90)}
    check_savable(ax)


def test_what_cannot_be_drawn_is_refused_and_any_name_is_a_label():
    check_savable(plot.associations(found(3, HOSTILE)))
    with pytest.raises(HicorexError, match="found is of type int"):
        plot.associations(3)
    with pytest.raises(HicorexError, match="level is 5"):
        plot.associations(found(3, ["age"]), level=5)
    with pytest.raises(HicorexError, match="nothing to draw"):
        plot.associations(found(1, ["age"]))
