"""The O-information: enumerated systems, and what few samples allow to say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hicorex import Corex
from hicorex.datasets import make_latent_tree
from hicorex.information import dual_total_correlation, o_information, total_correlation
from hicorex.relations.redundancy import count_information, redundancy_of


def codes_of(joint, n_samples, rng):
    """Samples of a joint table, (n, N)."""
    joint = np.asarray(joint)
    return np.array(np.unravel_index(rng.choice(joint.size, n_samples, p=joint.ravel()), joint.shape))


def xor(n):
    """n coins whose sum is even."""
    parity = np.indices((2,) * n).sum(axis=0) % 2
    return (parity == 0) / 2 ** (n - 1)


def copies(n):
    """n copies of a coin."""
    joint = np.zeros((2,) * n)
    joint[(0,) * n] = joint[(1,) * n] = 0.5
    return joint


@pytest.mark.parametrize("n", [3, 4, 5])
def test_known_systems_have_their_o_information(n):
    assert_allclose(total_correlation(xor(n)), np.log(2))
    assert_allclose(dual_total_correlation(xor(n)), (n - 1) * np.log(2))
    assert_allclose(o_information(xor(n)), (2 - n) * np.log(2))
    assert_allclose(total_correlation(copies(n)), (n - 1) * np.log(2))
    assert_allclose(dual_total_correlation(copies(n)), np.log(2))
    assert_allclose(o_information(copies(n)), (n - 2) * np.log(2))
    independent = np.full((2,) * n, 0.5**n)
    assert_allclose([total_correlation(independent), o_information(independent)], 0, atol=1e-12)


def test_counted_information_is_near_that_of_the_distribution():
    rng = np.random.default_rng(0)
    mixed = 0.7 * xor(3) + 0.2 * copies(3) + 0.1 / 8
    biased, corrected = [], []
    for _ in range(60):
        codes = codes_of(mixed, 200, rng)
        found = count_information(list(codes))
        table = np.zeros((2, 2, 2))
        np.add.at(table, tuple(codes), 1 / 200)
        biased.append(total_correlation(table) - total_correlation(mixed))
        corrected.append([found.total_correlation, found.dual_total_correlation, found.o_information])
    truth = np.array([total_correlation(mixed), dual_total_correlation(mixed), o_information(mixed)])
    errors = np.array(corrected) - truth
    assert np.abs(errors.mean(axis=0)).max() < 0.01
    assert abs(errors[:, 0].mean()) < 0.5 * abs(np.mean(biased))
    assert_allclose(found.stderr, errors[:, 2].std(), rtol=0.4)


def test_verdicts_are_given_where_samples_can_tell():
    rng = np.random.default_rng(1)
    for joint, verdict in ((xor(4), "synergy"), (copies(4), "redundancy"), (np.full((2,) * 4, 1 / 16), "unclear")):
        codes = dict(enumerate(codes_of(joint, 400, rng)))
        found = redundancy_of("f", list("abcd"), codes, dict.fromkeys(range(4), 2), range(4))
        assert (found.verdict, found.variables, found.why_not) == (verdict, ("a", "b", "c", "d"), "")


def test_only_tables_that_samples_fill_are_counted():
    rng = np.random.default_rng(2)
    codes = {i: rng.integers(2, size=100) for i in range(6)}
    sizes = dict.fromkeys(range(6), 2)
    codes[1], sizes[1] = rng.integers(10, size=100), 10  # which alone would take ten times the samples
    codes[4][:15] = 2  # missing
    found = redundancy_of("f", list("abcdef"), codes, sizes, [3, 1, 4, 0, 2, 5])
    assert found.variables == ("d", "e", "a", "c")  # 16 cells, 85 complete samples
    assert found.n_variables == 6
    few = redundancy_of("f", list("abcdef"), {i: of[:39] for i, of in codes.items()}, sizes, [0, 2, 3])
    assert few.variables == ()
    assert few.why_not == "39 samples are too few for the joint values of 3 variables"
    assert np.isnan(few.o_information)
    numbers = redundancy_of("f", list("abcdef"), {}, {}, [0, 1, 2])
    assert numbers.why_not == "it has fewer than 3 discrete variables"


def test_factors_of_a_tree_are_redundant_and_numbers_are_not_counted():
    X, _ = make_latent_tree(400, 12, 2, random_state=0)
    found = Corex(2, n_states=2, n_init=1, random_state=0).fit(X).redundancy()
    assert [row.verdict for row in found.rows] == ["redundancy"] * 2
    assert found.to_frame()["n_variables"].tolist() == [6, 6]
    assert "redundancy" in repr(found)
    numbers = X + np.random.default_rng(0).normal(size=X.shape)
    found = Corex(2, n_states=2, n_init=1, random_state=0).fit(numbers).redundancy()
    assert {row.why_not for row in found.rows} == {"it has fewer than 3 discrete variables"}
