"""Amounts are read as they are or by their ranks, whichever tells more of other columns."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from oracle import told_of_states

import hicorex
import real_data
from hicorex import Corex
from hicorex.input import amount_kinds
from hicorex.input.amount_kinds import try_amounts
from hicorex.input.amounts import FEWEST, MOST_COLUMNS


def groups(n_rows, seed=0):
    """Twelve columns in two groups, each Gaussian about a factor of its own."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 2)).repeat(6, axis=1) + 0.5 * rng.normal(size=(n_rows, 12))


def clusters(n_rows, seed=0):
    """Eight columns in two groups, each of three clusters that stand apart."""
    rng = np.random.default_rng(seed)
    return 2.0 * rng.choice(3, p=[0.6, 0.3, 0.1], size=(n_rows, 2)).repeat(4, axis=1) + 0.2 * rng.normal(
        size=(n_rows, 8)
    )


def by_rank(X, weight=None):
    return try_amounts(X, [], np.ones(len(X)) if weight is None else weight).by_rank


def kinds(X, **options):
    return Corex(n_factors=1, n_states=2, n_init=1, max_iter=2, **options).fit(X).fitted_.layers[0].encoder.kinds


def test_what_a_column_tells_is_that_of_the_equations():
    rng = np.random.default_rng(0)
    values, weight = rng.standard_t(2, size=(5, 60)), rng.integers(1, 4, size=(5, 60)) * 1.0
    weight[0, :7] = 0
    labels = rng.integers(4, size=(5, 60))
    expected = [told_of_states(*own) for own in zip(values, labels, weight, strict=True)]
    assert_allclose(amount_kinds._told(values, labels, weight), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_skewed_and_heavy_tailed_columns_are_read_by_rank_and_clusters_are_not(seed):
    rng = np.random.default_rng(seed)
    X = groups(400, seed)
    assert not by_rank(X).any()
    assert by_rank(np.exp(1.5 * X)).all()
    assert by_rank(X**3).all()
    assert by_rank(rng.poisson(np.exp(3 + X))).mean() > 0.7
    assert not by_rank(clusters(400, seed)).any()
    assert not by_rank(np.where(X > 0.8, np.exp(X), 0)).any()
    both = np.hstack([np.exp(1.5 * X), clusters(400, seed)])
    assert by_rank(both).tolist() == [True] * 12 + [False] * 8


def test_columns_that_tell_as_much_either_way_go_with_the_others():
    X = np.exp(1.5 * groups(400))
    X[:, 3] = np.log(X[:, 3])
    assert by_rank(X).all()
    trial = try_amounts(X, [], np.ones(400))
    assert trial.ranked[1, 3] < amount_kinds.MARGIN * trial.plain[1, 3] + trial.chance[1]
    X[:, 4:] = groups(400)[:, 4:]
    assert by_rank(X).sum() == 3


def test_sorted_rows_tell_what_shuffled_ones_do():
    X = np.exp(1.5 * groups(5000))
    ordered = X[np.argsort(X[:, 0])]
    assert kinds(ordered) == kinds(X) == ["rank"] * 12
    far = clusters(5000)
    assert kinds(far[np.argsort(far[:, 0])]) == kinds(far) == ["gaussian"] * 8


def test_noise_and_copies_are_read_as_they_are():
    rng = np.random.default_rng(0)
    for n_rows in (20, 60, 1000):
        assert by_rank(rng.normal(size=(n_rows, 10))).mean() <= 0.1
    copies = np.repeat(rng.integers(2, size=(200, 1)) + 0.1 * rng.normal(size=(200, 1)), 5, axis=1)
    assert not by_rank(copies).any()
    assert not by_rank(np.full((50, 3), 7.0)).any()


def test_weights_are_repeated_rows():
    X = np.hstack([np.exp(groups(90)), clusters(90)])
    X[::7, 3] = np.nan
    weight = np.random.default_rng(1).integers(1, 4, size=90)
    once, often = try_amounts(X, [], weight * 1.0), try_amounts(X.repeat(weight, axis=0), [], np.ones(weight.sum()))
    assert_allclose(once.plain, often.plain, rtol=1e-9)
    assert_allclose(once.ranked, often.ranked, rtol=1e-9)


def test_every_way_gives_the_same_kinds(tmp_path):
    frame = pd.DataFrame(np.hstack([np.exp(1.5 * groups(3000)), clusters(3000)]), columns=[f"c{i}" for i in range(20)])
    frame["word"] = np.where(frame.c0 > 1, "high", "low")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = ["rank"] * 12 + ["gaussian"] * 8 + ["categorical"]
    assert kinds(frame) == expected
    assert kinds(tmp_path / "t.parquet") == expected
    with dask.config.set(scheduler="synchronous"):
        assert kinds(dd.from_pandas(frame, npartitions=7)) == expected
    assert hicorex.read_table(tmp_path / "t.csv").kinds == expected
    assert hicorex.describe_columns(frame)["kind"].to_pylist() == expected
    said = hicorex.describe_columns(frame)["reason"].to_pylist()
    assert said[0] == "numbers; by ranks, which say more of other columns"
    assert said[12] == "numbers"


def test_what_is_asked_for_is_done():
    frame = pd.DataFrame(np.exp(1.5 * groups(200)), columns=[f"c{i}" for i in range(12)])
    assert kinds(frame, marginals="gaussian") == ["gaussian"] * 12
    assert kinds(frame, marginals={"c0": "gaussian"}) == ["gaussian"] + ["rank"] * 11
    assert kinds(frame, marginals={"c*": "gaussian"}) == ["gaussian"] * 12
    assert kinds(frame[: FEWEST - 1]) == ["gaussian"] * 12
    table = hicorex.read_table(frame, kinds={"c3": "gaussian"})
    assert table.kinds == ["rank"] * 3 + ["gaussian"] + ["rank"] * 8


def test_columns_of_a_wide_table_are_of_one_kind():
    X = np.exp(1.5 * groups(100))
    wide = np.tile(X, 30)[:, : MOST_COLUMNS + 40] * np.random.default_rng(0).uniform(0.9, 1.1, size=(100, 1))
    assert kinds(wide) == ["rank"] * wide.shape[1]
    assert kinds(np.log(wide)) == ["gaussian"] * wide.shape[1]


def test_a_model_keeps_the_kinds(tmp_path):
    model = Corex(n_factors=2, n_states=2, random_state=0).fit(np.exp(1.5 * groups(300)))
    model.save(tmp_path / "m.hicorex")
    again = hicorex.load(tmp_path / "m.hicorex")
    assert again.fitted_.layers[0].encoder.kinds == ["rank"] * 12
    new = np.exp(1.5 * groups(50, seed=9))
    assert again.transform(new).tolist() == model.transform(new).tolist()


# Tables with the number of factors and of states of each.
REAL = {"grads": (3, 3), "titanic": (2, 3), "penguins_raw": (2, 3), "diamonds": (3, 4)}


@pytest.mark.skipif(not real_data.find("messy"), reason=real_data.absent("messy"))
@pytest.mark.parametrize("name", REAL)
def test_held_out_samples_are_explained_as_by_the_better_of_both(name):
    frame = pd.read_csv(real_data.find(f"messy/{name}.csv.gz"))
    table = hicorex.read_table(frame if len(frame) < 5000 else frame.sample(4000, random_state=0))
    n_factors, n_states = REAL[name]

    def explained(kinds):
        model = Corex(n_factors, n_states=n_states, marginals=kinds, n_init=3, random_state=0).fit(table.frame)
        return model.bounds(cv=5).lower

    numbers = ("gaussian", "rank")
    both = [explained([kind if own in numbers else own for own in table.kinds]) for kind in numbers]
    assert explained(table.kinds) > 0.98 * max(both)
