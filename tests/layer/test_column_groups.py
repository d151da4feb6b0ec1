"""Groups of columns: many small groups are found where leading directions are mostly noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex
from hicorex.layer.column_groups import _cover, grouped_scores


def small_groups(n_samples, n_columns, n_groups, seed=0):
    """Columns of 0 and 1 in groups that take turns, copies of the group's coin but for one in twenty."""
    rng = np.random.default_rng(seed)
    coins, groups = rng.integers(2, size=(n_samples, n_groups)), np.arange(n_columns) % n_groups
    return coins[:, groups] ^ (rng.random((n_samples, n_columns)) < 0.05), groups


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_many_small_groups_are_found_below_the_noise_of_directions(seed):
    X, groups = small_groups(200, 1000, 100, seed)
    model = Corex(100, n_states=2, random_state=0).fit(X.astype(int))
    assert adjusted_rand_score(groups, model.clusters_) > 0.99


def test_each_group_has_a_score_and_noise_has_few():
    X, groups = small_groups(300, 200, 20)
    X[:, 100:] = np.random.default_rng(1).integers(2, size=(300, 100))
    scores = grouped_scores(standardised(X).astype(np.float32), np.full(300, 1 / 300), 30)
    assert 20 <= scores.shape[1] <= 25
    likeness = np.abs(np.corrcoef(X[:, :100], scores, rowvar=False)[:100, 100:])
    assert adjusted_rand_score(groups[:100], likeness.argmax(axis=1)) > 0.95
    assert grouped_scores(standardised(X[:, 100:]), np.full(300, 1 / 300), 30).shape[1] < 10


def test_the_order_of_columns_does_not_matter():
    X, _ = small_groups(200, 300, 40)
    table, share = standardised(X), np.full(200, 1 / 200)
    order = np.random.default_rng(0).permutation(300)
    assert_allclose(grouped_scores(table[:, order], share, 40), grouped_scores(table, share, 40), atol=1e-8)


def test_chosen_rows_cover_as_those_that_are_looked_at_one_and_all():
    gain = np.random.default_rng(0).exponential(size=(40, 60)) ** 2
    chosen, covered = [], np.zeros(60)
    for _ in range(8):
        added = np.maximum(gain - covered, 0).sum(axis=1)
        chosen.append(int(added.argmax()))
        covered = np.maximum(covered, gain[chosen[-1]])
    assert_array_equal(_cover(gain, 8), chosen)


def test_nothing_is_chosen_that_covers_nothing():
    assert _cover(np.zeros((5, 4)), 3).size == 0
    assert_array_equal(_cover(np.eye(4), 9), [0, 1, 2, 3])
