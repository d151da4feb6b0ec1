"""Links: a p-value for every pair of a variable and a factor, exact on noise and as telling as the labels allow."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, f_oneway, false_discovery_control, norm, power_divergence, rankdata

import hicorex
import real_data as data
from hicorex import Corex
from hicorex.engine import LocalEngine
from hicorex.input.encoder import Encoder
from hicorex.input.sources import source_of
from hicorex.selection.independence import independence_test
from hicorex.selection.significance import LEVEL, q_values

GOLDEN = Path(__file__).parents[1] / "golden"


def p_values_of(X, labels, marginals):
    """p-values (n_columns, m) of the columns of a table against labels (m, N), as the tests of links make them."""
    with LocalEngine(1) as engine:
        encoder = Encoder.learn(source_of(X), marginals, None, engine)
        data = encoder.encode(source_of(X), None, engine, gaps=encoder.gaps)[0]
    weighted = (labels == np.arange(labels.max() + 1)[:, None, None]).astype(float)
    found = []
    for block, samples in zip(data.blocks, data.samples, strict=True):
        test = independence_test(block, samples, data.sample_weight)
        table = test.tabulate(block.tile(samples, slice(None)), slice(0, len(X)), weighted)
        found.append(test.probabilities(table))
    return data.to_table(found).T


def plain_scores(x):
    """Normal scores of the values that are there."""
    return norm.ppf((rankdata(x) - 0.5) / x.size)


def plain_likelihood_ratio(x, label):
    """The likelihood-ratio test with Williams's correction, of a table whose rare categories are one."""
    states = np.unique(label)
    rows = {v: [np.sum((x == v) & (label == s)) for s in states] for v in np.unique(x[x >= 0])}
    common = [row for row in rows.values() if sum(row) >= 5 * states.size]
    rare = [row for row in rows.values() if sum(row) < 5 * states.size]
    table = np.array(common + ([np.sum(rare, axis=0)] if rare else []), float)
    if len(table) < 2:
        return 1.0
    total, expected = table.sum(), np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (len(table) - 1) * (states.size - 1)
    spread = [total * np.sum(1 / table.sum(axis=axis)) - 1 for axis in (0, 1)]
    statistic = power_divergence(table, expected, axis=None, lambda_="log-likelihood").statistic
    return chi2.sf(statistic / (1 + spread[0] * spread[1] / (6 * total * freedom)), freedom)


def test_tests_of_numbers_are_f_tests_of_normal_scores():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(4, 200))
    X = rng.standard_t(1, size=(200, 6)) + labels[0][:, None] * np.array([0, 0, 0.5, 1, 0, 2])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] *= 1 + 9 * (labels[1] == 2)
    found = p_values_of(X, labels, "gaussian")
    centre = np.nanmean(X, axis=0)
    for i, x in enumerate(X.T):
        there = ~np.isnan(x)
        for j, label in enumerate(labels):
            of_states = [
                [scores[label[there] == s] for s in range(3)]
                for scores in (plain_scores(x[there]), plain_scores(np.abs(x[there] - centre[i])))
            ]
            location, spread = (f_oneway(*groups).pvalue for groups in of_states)
            assert_allclose(found[i, j], min(1, location / 0.8, spread / 0.2), rtol=1e-3)
    assert found[5, 0] < 1e-9
    assert found[4, 1] < 1e-4


def test_tests_of_categories_are_likelihood_ratios():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(4, 300))
    X = rng.integers(12, size=(300, 6)) ** 2 // 12  # rare categories, and common ones
    X[:, 5] = np.where(rng.random(300) < 0.3, labels[0], X[:, 5])
    found = p_values_of(X, labels, "categorical")
    for i, x in enumerate(X.T):
        for j, label in enumerate(labels):
            assert_allclose(found[i, j], plain_likelihood_ratio(x, label), rtol=1e-6)


@pytest.mark.parametrize("shape", ["heavy tails", "rare category"])
def test_the_tail_of_a_test_is_right_for_rare_states(shape):
    """With ten samples in a state, an outlier among them is no wonder; p-values below 1e-3 come up as often as that."""
    rng = np.random.default_rng(0)
    labels = np.array([rng.permutation(np.arange(1000) < 10) for _ in range(20)]).astype(int)
    small = []
    for _ in range(20):
        X = (
            rng.standard_t(1, size=(1000, 50))
            if shape == "heavy tails"
            else (rng.random((1000, 50)) < 0.02).astype(int)
        )
        small.append(p_values_of(X, labels, "gaussian" if shape == "heavy tails" else "categorical") < 1e-3)
    assert np.mean(small) <= 2e-3


def test_q_values_are_those_of_benjamini_and_hochberg():
    p = np.random.default_rng(0).random((30, 4)) ** 3
    assert_allclose(q_values(p), false_discovery_control(p.ravel()).reshape(p.shape))
    assert np.isnan(q_values(np.full((2, 2), np.nan))).all()


SHAPES = {
    "Gaussian": lambda rng, shape: rng.normal(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_t(1, size=shape),
    "binary": lambda rng, shape: rng.integers(2, size=shape),
    "rare binary": lambda rng, shape: (rng.random(shape) < 0.05).astype(int),
    "mixed": lambda rng, shape: np.where(np.arange(shape[1]) % 2, rng.normal(size=shape), rng.integers(3, size=shape)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore")
def test_at_most_one_in_a_hundred_columns_of_noise_is_linked(shape):
    linked, p = [], []
    for seed in range(20):
        X = SHAPES[shape](np.random.default_rng(seed), ((60, 150, 400)[seed % 3], (8, 20)[seed % 2]))
        model = Corex(3, n_states=2 + seed % 2, random_state=seed).fit(X)
        linked += (model.clusters_ >= 0).tolist()
        p += model.link_pvalues_.ravel().tolist()
    assert np.mean(linked) <= 0.01
    assert np.mean(np.array(p) <= 0.05) <= 0.065


def planted(rng, n_samples, kind, follows):
    """The states (N, 3) of three factors and twelve variables of each, beside four columns of noise."""
    n_states = 3 if kind == "three categories" else 2
    states = rng.integers(n_states, size=(n_samples, 3))
    followed = np.repeat(states, 12, axis=1)
    shape = (n_samples, followed.shape[1] + 4)
    X = rng.normal(size=shape) if kind == "gaussian" else rng.integers(n_states, size=shape)
    if kind == "gaussian":
        X[:, :-4] += 2.5 * follows * followed
    else:
        X[:, :-4] = np.where(rng.random(followed.shape) < follows, followed, X[:, :-4])
    return states, X


# How far variables follow their factors; strong enough that the others tell the state of nine in ten samples.
STRENGTHS = {(100, "strong"): 0.7, (200, "weak"): 0.5, (500, "weak"): 0.4, (1000, "weak"): 0.35, (1000, "strong"): 0.7}


@pytest.mark.parametrize("kind", ["gaussian", "binary", "three categories"])
@pytest.mark.parametrize(("n_samples", "strength"), STRENGTHS)
def test_links_are_as_significant_as_by_the_true_factors(kind, n_samples, strength):
    power, of_truth, of_noise = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        states, X = planted(rng, n_samples, kind, STRENGTHS[n_samples, strength])
        marginals = "gaussian" if kind == "gaussian" else "categorical"
        model = Corex(3, n_states=states.max() + 1, marginals=marginals, random_state=seed).fit(X)
        linked = model.clusters_ >= 0
        oracle = (q_values(p_values_of(X, states.T, marginals)) <= LEVEL).any(axis=1)
        power.append(linked[:-4].mean())
        of_truth.append(oracle[:-4].mean())
        of_noise += linked[-4:].tolist()
    assert np.mean(power) >= 0.9 * np.mean(of_truth)
    assert np.mean(of_truth) > 0.9
    assert sum(of_noise) <= 1


def test_an_identifier_is_not_linked():
    linked = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        hidden = rng.integers(2, size=1187)
        X = 1.5 * hidden[:, None] + rng.normal(size=(1187, 6))
        names = np.column_stack([rng.permutation(1187), 10**6 + 7 * rng.permutation(1187)])
        model = Corex(2, n_states=2, random_state=seed).fit(np.column_stack([X, names]))
        assert (model.clusters_[:6] >= 0).all()
        linked += (model.clusters_[6:] >= 0).tolist()
    assert sum(linked) <= 1


@pytest.mark.skipif(data.find("messy") is None, reason=data.absent("messy"))
def test_sex_is_linked_to_the_factor_whose_states_it_tells():
    """Light and heavy penguins of one species are states of a factor: 99% and 1% of them are male."""
    table = hicorex.read_table(data.FOLDER / "messy" / "penguins_raw.csv.gz")
    model = Corex(4, n_states=4, marginals=table.kinds, random_state=0).fit(table.frame)
    sex = table.names.index("Sex")
    factor = model.mutual_information_[sex].argmax()
    assert model.mutual_information_[sex, factor] > 0.2
    assert model.link_pvalues_[sex, factor] < 1e-3
    assert model.clusters_[sex] == factor


def test_pairs_are_linked_though_one_column_alone_makes_no_factor():
    of_noise = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pairs = np.repeat(rng.normal(size=(300, 2)), 2, axis=1) + 0.3 * rng.normal(size=(300, 4))
        model = Corex(2, n_states=2, random_state=seed).fit(np.column_stack([pairs, rng.normal(size=(300, 2))]))
        assert (model.clusters_[:4] >= 0).all()
        of_noise += (model.clusters_[4:] >= 0).tolist()
    assert sum(of_noise) <= 1


def test_every_pair_has_a_p_value_and_empty_factors_have_one():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(300, 1)) ^ (rng.random((300, 8)) < 0.1)
    model = Corex(3, n_states=2, random_state=0).fit(X.astype(int))
    p = model.link_pvalues_
    assert p.shape == model.alpha_.shape
    assert ((p >= 0) & (p <= 1)).all()
    assert_array_equal(p[:, model.tcs_ == 0], 1)
    assert (p[:, 0] < 1e-10).all()


def test_batches_of_a_stream_test_every_link():
    rng = np.random.default_rng(0)

    def batch():
        return (rng.integers(2, size=(400, 2))[:, np.arange(10) % 2] ^ (rng.random((400, 10)) < 0.15)).astype(int)

    model = Corex(2, n_states=2, random_state=0)
    for _ in range(3):
        model.partial_fit(batch())
    main = model.link_pvalues_[np.arange(10), model.clusters_]
    assert (main < 1e-10).all()
    assert_array_equal(model.link_pvalues_[model.alpha_ == 0], 1)


@pytest.mark.parametrize("name", ["format1_found", "format2_found"])
def test_files_of_early_versions_have_no_p_values(name):
    model = hicorex.load(GOLDEN / f"{name}.hicorex")
    assert np.isnan(model.link_pvalues_).all()
    assert model.link_pvalues_.shape == model.alpha_.shape
