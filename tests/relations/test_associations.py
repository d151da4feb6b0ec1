"""Traits against factors: tests that equal plain ones, rows that are matched, and traits that are refused."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from scipy.stats import chi2, chi2_contingency, f_oneway, rankdata
from sklearn.metrics import mutual_info_score

from hicorex import Corex, HicorexError
from hicorex.datasets import make_latent_tree
from hicorex.input.spreadsheet import ASSOCIATIONS
from hicorex.relations.associations import Association, Associations
from hicorex.relations.dependence import dependences_of
from hicorex.relations.survival import Survival, log_rank, residuals
from hicorex.relations.traits import Traits


@pytest.fixture(scope="module")
def tree():
    """A model of three groups, and its samples, which have names."""
    X, _ = make_latent_tree(300, 18, 3, random_state=0)
    X = pd.DataFrame(X, index=[f"patient {i}" for i in range(300)]).add_prefix("gene")
    return Corex(3, n_states=2, n_init=1, random_state=0).fit(X), X


def related(states, frame, survival=None, sample_weight=None):
    rows = np.arange(len(states))
    return dependences_of(Traits(rows, nw.from_native(frame), survival or {}), states, "auto", sample_weight, 1)


def plain_log_rank(states, time, event):
    """The log-rank test, one death time after the other."""
    member = states[:, None] == np.unique(states)
    excess, covariance = np.zeros(member.shape[1]), np.zeros((member.shape[1],) * 2)
    for at in np.unique(time[event]):
        at_risk = member[time >= at].sum(axis=0)
        died = member[(time == at) & event].sum(axis=0)
        n, d = at_risk.sum(), died.sum()
        excess += died - d * at_risk / n
        if n > 1:
            share = at_risk / n
            covariance += d * (n - d) / (n - 1) * (np.diag(share) - np.outer(share, share))
    return chi2.sf(excess @ np.linalg.pinv(covariance) @ excess, member.shape[1] - 1)


def test_numbers_equal_an_f_test_of_normal_scores_and_missing_values_are_left_out():
    rng = np.random.default_rng(0)
    states = rng.integers(3, size=(200, 2))
    x = np.exp(states[:, 0] + 2 * rng.normal(size=200))  # heavy tails, which ranks do not see
    x[:15] = np.nan
    (found,) = related(states, pd.DataFrame({"x": x}))
    known = ~np.isnan(x)
    scores = ndtri((rankdata(x[known]) - 0.5) / known.sum())
    assert (found.kind, found.n_samples) == ("number", 185)
    for j in range(2):
        groups = [scores[states[known, j] == s] for s in range(3)]
        assert_allclose(found.p_value[j], f_oneway(*groups).pvalue, rtol=1e-4)
        within = sum(group.var() * group.size for group in groups) / (scores.var() * scores.size)
        assert_allclose(found.share[j], max(0, 1 - within * 184 / 182), atol=1e-6)
    assert found.p_value[0] < 1e-4 < 0.01 < found.p_value[1]


def test_categories_equal_a_likelihood_ratio_test():
    rng = np.random.default_rng(1)
    states = rng.integers(2, size=(300, 1))
    group = np.where(rng.random(300) < 0.3, states[:, 0], rng.integers(3, size=300))
    (found,) = related(states, pd.DataFrame({"group": np.array(["a", "b", "c"])[group]}))
    table = np.array([[np.sum((states[:, 0] == s) & (group == g)) for g in range(3)] for s in range(2)])
    statistic = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    williams = 1 + (n * (1 / rows).sum() - 1) * (n * (1 / columns).sum() - 1) / (6 * n * 2)
    assert found.kind == "category"
    assert_allclose(found.p_value, [chi2.sf(statistic / williams, 2)], rtol=1e-6)
    p = columns / n
    share = (mutual_info_score(states[:, 0], group) - 2 / (2 * n)) / -(p * np.log(p)).sum()
    assert_allclose(found.share, [share], rtol=1e-6)


def test_survival_equals_a_plain_log_rank_test():
    rng = np.random.default_rng(2)
    states = rng.integers(3, size=(120, 2))
    time = rng.exponential(size=120).round(1) * np.array([1, 2, 4])[states[:, 0]]  # with ties
    event = rng.random(120) < 0.7
    survival = Survival.of(time, event.astype(float))
    weighted = (np.arange(3)[:, None, None] == states.T).astype(float)
    expected = [plain_log_rank(column, time, event) for column in states.T]
    assert_allclose(log_rank(survival, weighted), expected, rtol=1e-8)
    assert expected[0] < 0.01
    hazard = [
        sum(np.sum((time == t) & event) / np.sum(time >= t) for t in np.unique(time[event]) if t <= end) for end in time
    ]
    assert_allclose(residuals(survival, np.ones(120)), event - np.array(hazard))
    assert_allclose(residuals(survival, np.ones(120)).sum(), 0, atol=1e-9)


def test_unknown_times_count_nowhere():
    rng = np.random.default_rng(3)
    states, time = rng.integers(2, size=(90, 1)), rng.exponential(size=90)
    event = (rng.random(90) < 0.6).astype(float)
    time[:10], event[10:20] = np.nan, np.nan
    survival = Survival.of(time, event)
    found = related(states, pd.DataFrame({"noise": rng.normal(size=90)}), {"life": survival})[1]
    assert found.n_samples == 70
    assert_allclose(found.p_value, [plain_log_rank(states[20:, 0], time[20:], event[20:] == 1)], rtol=1e-8)


def test_whole_weights_count_as_copies():
    rng = np.random.default_rng(4)
    states = rng.integers(2, size=(60, 1))
    group, time = rng.integers(2, size=60), rng.exponential(size=60).round(2)
    weight = rng.integers(1, 4, size=60)
    survival = Survival.of(time, np.ones(60))
    once = related(states, pd.DataFrame({"group": group}), {"life": survival}, weight.astype(float))
    at = np.repeat(np.arange(60), weight)
    repeated = Survival.of(time[at], np.ones(at.size))
    copies = related(states[at], pd.DataFrame({"group": group[at]}), {"life": repeated})
    for one, other in zip(once, copies, strict=True):
        assert_allclose(one.p_value, other.p_value)
        assert_allclose(one.share, other.share, atol=1e-9)


def test_noise_is_as_rarely_significant_as_it_says():
    rng = np.random.default_rng(5)
    states = rng.integers(3, size=(150, 4))
    numbers = {f"number {i}": rng.standard_cauchy(size=150) for i in range(60)}
    categories = {f"category {i}": rng.integers(3, size=150) for i in range(60)}
    found = Associations.of(list("abcd"), related(states, pd.DataFrame(numbers | categories)))
    assert 0.02 < np.mean(found.p_values[:, :60] < 0.05) < 0.09
    assert 0.02 < np.mean(found.p_values[:, 60:] < 0.05) < 0.09
    assert (found.q_values > 0.05).all()
    assert found.explained_share.max() < 0.15


def test_what_does_not_vary_is_not_tested():
    states = np.column_stack([np.zeros(40, int), np.arange(40) % 2])
    found = Associations.of(
        ["empty", "used"], related(states, pd.DataFrame({"x": np.arange(40.0), "one": np.ones(40)}))
    )
    assert_array_equal(np.isnan(found.p_values), [[True, True], [False, True]])
    assert [(row.factor, row.trait) for row in found.rows()] == [("used", "x")]
    assert_array_equal(found.explained_share[:, 1], [0, 0])


def test_traits_are_matched_to_samples_by_their_names(tree):
    model, X = tree
    states = model.transform(X)
    rng = np.random.default_rng(0)
    traits = pd.DataFrame(
        {
            "response": np.where(rng.random(300) < 0.2, 1 - states[:, 1], states[:, 1]),
            "age": rng.normal(60, 10, size=300),
            "days": rng.exponential(size=300) * (1 + 3 * states[:, 2]),
            "died": rng.random(300) < 0.8,
        },
        index=X.index,
    )
    found = model.associate(traits, survival={"life": ("days", "died")})
    assert found.traits == ("response", "age", "life")
    assert found.kinds == ("category", "number", "survival")
    first, second = found.rows()[:2]
    assert {(first.factor, first.trait), (second.factor, second.trait)} == {
        ("layer1_factor1", "response"),
        ("layer1_factor2", "life"),
    }
    assert max(first.q_value, second.q_value) < 1e-6
    mixed_up = traits.sample(frac=1, random_state=0)
    assert model.associate(mixed_up, X, survival={"life": ("days", "died")}).rows() == found.rows()
    some = model.associate(traits.iloc[50:], survival={"life": ("days", "died")})
    assert_array_equal(some.n_samples, [250, 250, 250])
    frame = found.to_frame()
    assert tuple(frame.columns) == ASSOCIATIONS == Association._fields
    assert "layer1_factor2" in repr(found)


def test_traits_that_cannot_be_used_are_refused(tree):
    model, _ = tree
    age = np.arange(300.0)
    with pytest.raises(HicorexError, match="'gene3' is a variable of the model"):
        model.associate({"gene3": age})
    with pytest.raises(HicorexError, match="299 rows, X has 300"):
        model.associate({"age": age[1:]})
    with pytest.raises(HicorexError, match="no name in common"):
        model.associate(pd.Series(age, index=[f"p{i}" for i in range(300)], name="age"))
    with pytest.raises(HicorexError, match="'patient 0' twice"):
        model.associate(pd.DataFrame({"age": age}, index=["patient 0"] * 300))
    with pytest.raises(HicorexError, match="'dies', which traits does not have"):
        model.associate({"days": age}, survival=("days", "dies"))
    with pytest.raises(HicorexError, match="'died' of survival holds 2"):
        model.associate({"days": age, "died": np.arange(300) % 3}, survival=("days", "died"))
    with pytest.raises(HicorexError, match="'days' of survival holds -1"):
        model.associate({"days": age - 1, "died": np.arange(300) % 2}, survival=("days", "died"))
    with pytest.raises(HicorexError, match="survival is 'days'"):
        model.associate({"days": age}, survival="days")
    with pytest.raises(HicorexError, match="a path; read the file first"):
        model.associate("traits.csv")
    with pytest.raises(HicorexError, match="'stage' has 299 values, 'age' 300"):
        model.associate({"age": age, "stage": age[1:]})
    with pytest.raises(HicorexError, match="mixes types"):
        model.associate({"age": [1, "old", 2.5] * 100})
