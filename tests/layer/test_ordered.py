"""Ordered marginals: categories that are smoothed along their order."""

import numpy as np
import oracle
import pytest
from models import answers
from numpy.testing import assert_allclose, assert_array_equal

from hicorex import Corex, load
from hicorex.marginals import Ordered
from hicorex.marginals.ordered import NEIGHBOUR_SAMPLES


def estimated(count, total, prior_samples=1.0):
    """p (k, n) of one column of a factor, from counts in states 1 to k - 1 and in all."""
    block = Ordered(np.array([len(total)]), float).over((np.append(total, 0.0),), sum(total))
    sums = np.pad(np.array(count, float), ((0, 0), (0, 1)))[:, None]
    return block.estimate((sums,), np.ones((len(sums) + 1, 1)), prior_samples).p[:, 0, :-1]


def test_a_state_is_drawn_towards_what_neighbouring_answers_say():
    p = estimated([[0.0, 8.0, 0.0, 0.0]], [10.0, 20.0, 20.0, 10.0])
    overall = np.array([1, 2, 2, 1]) / 6
    own = (np.array([0, 8, 0, 0]) + overall) / 9
    near = np.array([own[:2].sum() / 3, own[:3].sum() / 5, own[1:].sum() / 5, own[2:].sum() / 3]) * [1, 2, 2, 1]
    assert_allclose(p[1], (9 * own + NEIGHBOUR_SAMPLES * near / near.sum()) / (9 + NEIGHBOUR_SAMPLES))
    # The answers on both sides of that of the eight are likelier than the one that is two away.
    assert p[1, 1] > p[1, 2] > p[1, 3]
    assert p[1, 0] / overall[0] > p[1, 3] / overall[3]
    assert_allclose(p.sum(axis=1), 1)


def test_many_samples_make_ordered_marginals_those_of_categories():
    total = np.array([10.0, 20.0, 20.0, 10.0])
    count = np.array([[1.0, 12.0, 3.0, 8.0]])
    for size, within in ((1, 0.15), (100, 0.003), (10_000, 3e-5)):
        assert_allclose(estimated(size * count, size * total)[1], count[0] / count.sum(), atol=within)
    assert abs(estimated(count, total)[1] - count[0] / count.sum()).max() > 0.03


def test_two_answers_have_no_order():
    assert_allclose(estimated([[3.0, 1.0]], [10.0, 10.0]), [[7.5 / 17, 9.5 / 17], [3.5 / 5, 1.5 / 5]])


def test_an_answer_that_no_sample_gave_is_left_out_of_the_mean():
    p = estimated([[4.0, 0.0, 0.0, 1.0]], [10.0, 0.0, 10.0, 10.0])
    assert_allclose(p[:, [0, 2, 3]].sum(axis=1), 1)
    assert_allclose(p[:, 1], 1)
    own, overall = np.array([13, 0, 1, 4]) / 18, np.array([1, 0, 1, 1]) / 3
    near = np.array([own[0], 0, own[2:].sum() / 2, own[2:].sum() / 2])
    expected = (6 * own + NEIGHBOUR_SAMPLES * near / near.sum()) / (6 + NEIGHBOUR_SAMPLES)
    assert_allclose(p[1], np.where(overall > 0, expected, 1))


@pytest.mark.parametrize("seed", range(5))
def test_few_samples_of_planted_answers_explain_more_of_others_in_order(seed):
    table = answers(1400, 18, seed)
    train, test = table[:200], table[200:]
    ordered, plain = (
        Corex(3, n_states=4, marginals=kind, n_init=2, random_state=0).fit(train).bounds(test).lower
        for kind in ("ordered", "categorical")
    )
    assert ordered > plain * 1.1


def test_the_order_of_the_answers_is_what_helps():
    """The same answers with their numbers shuffled have nothing to smooth along."""
    table = answers(1400, 18).fillna(3)
    shuffled = table.replace(dict(zip(range(1, 6), (4, 1, 5, 2, 3), strict=True)))
    in_order, out_of_order = (
        Corex(3, n_states=4, marginals="ordered", n_init=2, random_state=0).fit(X[:200]).bounds(X[200:]).lower
        for X in (table, shuffled)
    )
    assert in_order > 1.1 * out_of_order


def test_a_saved_model_goes_on_with_the_same_bits(tmp_path):
    table = answers()
    model = Corex(2, n_states=3, marginals="ordered", random_state=0).fit(table)
    model.save(tmp_path / "answers.hicorex")
    again = load(tmp_path / "answers.hicorex")
    assert again.fitted_.layers[0].encoder.kinds == ["ordered"] * 9
    assert_array_equal(again.log_z(table), model.log_z(table))
    assert again.bounds(table) == model.bounds(table)


def test_ordered_answers_have_upper_bounds_as_categories_have():
    table = answers().fillna(3)
    bounds = Corex(2, n_states=2, marginals="ordered", random_state=0).fit(table).bounds_
    assert bounds.no_upper is None
    assert 0 < bounds.lower < bounds.upper


def test_the_oracle_leaves_uniform_marginals_as_they_are():
    assert_allclose(oracle.along_order(np.full(5, 0.2), np.full(5, 0.2), 10, 1.0), np.full(5, 0.2))
