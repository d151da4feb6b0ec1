"""Planted structure is found, and none is claimed where there is none."""

import gzip

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from hicorex import Corex
from hicorex.datasets import make_independent_clusters, make_latent_tree, make_overlapping_clusters

DATA_SEEDS = range(100)


@pytest.mark.slow
def test_example_1_is_perfect_for_every_data_seed():
    for seed in DATA_SEEDS:
        X, truth = make_independent_clusters(random_state=seed)
        corex = Corex(4, n_states=2, random_state=0).fit(X)
        assert adjusted_rand_score(truth.clusters, corex.clusters_) == 1, seed
        assert abs(corex.history_[:6].max() / truth.total_correlation - 1) < 0.01, seed
        same = (corex.transform(X)[:, :, None] == truth.factors[:, None, :]).mean(axis=0)
        assert np.all(np.maximum(same, 1 - same).max(axis=0) == 1), seed


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["unique", "overlap"])
def test_example_2_overlaps_rightly_for_every_data_seed(structure):
    for seed in DATA_SEEDS:
        X, truth = make_overlapping_clusters(random_state=seed)
        corex = Corex(3, n_states=2, structure=structure, random_state=0).fit(X)
        groups = [corex.alpha_[truth.clusters == group] for group in range(4)]
        owner = [group.mean(axis=0).argmax() for group in groups[:3]]
        assert len(set(owner)) == 3, seed
        for group, own in zip(groups, owner, strict=False):
            assert group[:, own].min() > 0.9, seed
            assert np.delete(group, own, axis=1).max() < 0.1, seed
        # The last group belongs to the first two factors, and to the third with no variable.
        assert groups[3].mean(axis=0)[owner[:2]].min() > 0.1, seed
        assert groups[3][:, owner[2]].max() < 0.1, seed
        assert np.all(groups[3][:, owner[:2]] > groups[3][:, owner[2:]]), seed
        if structure == "unique":
            assert 0.97 < corex.bounds().lower / truth.total_correlation < 1.01, seed


@pytest.mark.parametrize("seed", range(3))
def test_latent_tree_of_2000_variables_is_found(seed):
    X, truth = make_latent_tree(2000, 2000, 20, random_state=seed)
    corex = Corex(20, n_states=2, n_init=3, random_state=seed).fit(X)
    assert adjusted_rand_score(truth.clusters, corex.clusters_) == 1
    assert abs(corex.bounds().lower / truth.total_correlation - 1) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["unique", "tree"])
def test_latent_tree_of_10000_variables_is_found(structure):
    X, truth = make_latent_tree(1000, 10_000, 20, random_state=0)
    corex = Corex(20, n_states=2, n_init=2, structure=structure, random_state=0).fit(X)
    assert adjusted_rand_score(truth.clusters, corex.clusters_) == 1


NOISE = {
    "gaussian": lambda rng, size: rng.normal(size=size),
    "rank": lambda rng, size: rng.standard_t(1, size=size),
    "binary": lambda rng, size: rng.integers(2, size=size),
    "five categories": lambda rng, size: rng.integers(5, size=size),
}


@pytest.mark.parametrize("kind", NOISE)
def test_independent_data_yield_no_structure(kind):
    shares, above = [], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        marginals = "rank" if kind == "rank" else "auto"
        corex = Corex(4, n_states=2, marginals=marginals, random_state=seed).fit(NOISE[kind](rng, (100, 50)))
        new = corex.score_samples(NOISE[kind](rng, (1000, 50)))
        shares.append((corex.clusters_ >= 0).mean())
        above += new.mean() > new.std() / np.sqrt(len(new))
    assert np.mean(shares) <= 0.05
    assert above == 0


def test_surplus_factors_stay_empty():
    X, truth = make_independent_clusters(n_clusters=2, cluster_size=20, random_state=0)
    corex = Corex(6, n_states=2, random_state=0).fit(X)
    used = corex.tcs_ > 0
    assert np.all(corex.alpha_[:, ~used] == 0)
    assert corex.bounds().lower < 1.01 * truth.total_correlation


def test_bound_of_new_samples_has_no_optimism():
    in_sample, on_new = [], []
    for seed in range(5):
        X, truth = make_latent_tree(4000, 60, 4, random_state=seed)
        corex = Corex(4, n_states=2, random_state=0).fit(X[:60])
        new = corex.bounds(X[60:])
        assert new.lower < truth.total_correlation + 2 * new.lower_stderr
        assert abs(corex.score(X[60:]) - new.objective) < 1e-9
        in_sample.append(corex.bounds().lower / truth.total_correlation)
        on_new.append(new.lower / truth.total_correlation)
    assert 0.6 < np.mean(on_new) < np.mean(in_sample)


def read_csv(path):
    with gzip.open(path, "rt") as lines:
        names = next(lines).strip().split(",")
        return names, [line.strip().split(",") for line in lines]


def test_big5_sample_gives_the_five_traits(real_data):
    names, rows = read_csv(real_data / "big5" / "test_big5.csv.gz")
    answers = np.array([row[-50:] for row in rows], dtype=float)
    answers[answers == -1] = np.nan
    corex = Corex(5, n_states=3, marginals="categorical", random_state=0).fit(answers)
    assert len(names) >= 50
    assert adjusted_rand_score(np.arange(50) % 5, corex.clusters_) == 1


@pytest.fixture(scope="module")
def big5_full(real_data):
    names, rows = read_csv(real_data / "big5" / "big5_full.csv.gz")
    answers = np.array([row[7:] for row in rows], dtype=int)
    return answers[(answers != 0).all(axis=1)], [name.strip('"')[0] for name in names[7:]]


@pytest.mark.parametrize("block", range(9))
def test_big5_blocks_of_2000_rows_give_the_five_traits(big5_full, block):
    answers, traits = big5_full
    corex = Corex(5, n_states=3, random_state=0).fit(answers[2000 * block : 2000 * (block + 1)])
    assert adjusted_rand_score(traits, corex.clusters_) >= 0.94


@pytest.mark.slow
def test_all_of_big5_gives_the_five_traits(big5_full):
    answers, traits = big5_full
    assert len(answers) == 19718
    corex = Corex(5, n_states=3, random_state=0).fit(answers)
    assert adjusted_rand_score(traits, corex.clusters_) == 1


def test_rows_that_come_in_turns_are_significant():
    """Case, control, case, control: each half of the rows must have both."""
    rng = np.random.default_rng(0)
    turns = 3 * (np.arange(200) % 2)[:, None] + rng.normal(size=(200, 6))
    twins = np.repeat((np.arange(200) % 2)[:, None], 2, axis=1)
    for X in (turns, twins):
        for seed in range(3):
            assert (Corex(1, n_states=2, random_state=seed).fit(X).clusters_ == 0).all()


@pytest.mark.parametrize("n_factors", [2, 5, 8, 12])
def test_surplus_factors_cost_nothing(n_factors):
    """Two groups of three variables: with more factors than there are groups, the same two are found."""
    rng = np.random.default_rng(1)
    hidden = np.repeat(rng.normal(size=(150, 2)), 3, axis=1)
    X = hidden + rng.normal(scale=0.6, size=(150, 6))
    best = Corex(2, n_states=2, random_state=0).fit(X)
    for seed in range(5):
        corex = Corex(n_factors, n_states=2, random_state=seed).fit(X)
        assert corex.tc_ > 0.99 * best.tc_
        assert adjusted_rand_score(corex.clusters_, [0, 0, 0, 1, 1, 1]) == 1
        assert np.count_nonzero(corex.tcs_) == 2
