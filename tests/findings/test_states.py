"""The states of factors in words."""

import subprocess
import sys

import numpy as np
import pandas as pd

import hicorex
from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.findings.description import description
from hicorex.findings.numbers import mean_and_spread, short
from hicorex.findings.states import states_of_factors
from hicorex.findings.words import summary


def passengers():
    """A table in which one factor sets women of the first class apart, who survived."""
    rng = np.random.default_rng(0)
    woman = rng.random(600) < 0.4

    def follows(share):
        return np.where(rng.random(600) < share, woman, rng.random(600) < 0.4)

    frame = pd.DataFrame(
        {
            "sex": np.where(follows(0.97), "woman", "man"),
            "class": np.where(follows(0.8), "first", rng.choice(["second", "third"], 600)),
            "survived": np.where(follows(0.9), "yes", "no"),
            "fare": 20 + 400 * follows(0.9) + rng.normal(scale=5, size=600),
        }
    )
    return frame, woman


def test_states_are_told_by_the_values_that_set_them_apart():
    frame, woman = passengers()
    model = Corex(1, n_states=2, random_state=0).fit(frame)
    labels = model.transform(frame)[:, 0]
    (states,) = states_of_factors(model)
    assert [state.state for state in states] == [0, 1]
    assert abs(sum(state.probability for state in states) - 1) < 1e-6
    for state in states:
        own = frame[labels == state.state]
        assert abs(state.probability - len(own) / 600) < 0.03
        assert len(state.variables) == 3
        for words in state.variables:
            name = words.split()[0]
            if name == "fare":
                assert abs(float(words.split()[-1]) - own["fare"].mean()) < 20
            else:
                value, share = words.removeprefix(f"{name} = ").removesuffix("%)").split(" (")
                assert abs(float(share) / 100 - (own[name] == value).mean()) < 0.05
    women = states[int(woman[labels == 1].mean() > 0.5)]
    assert any(words.startswith("sex = woman (9") for words in women.variables)
    text = " ".join(summary(model).split())
    assert f"state {women.state}, {women.probability:.0%} of samples: {', '.join(women.variables)}" in text


def test_states_of_ranks_are_told_in_the_units_of_the_table():
    rng = np.random.default_rng(1)
    high = rng.random(500) < 0.5
    X = 1000 * np.exp(high[:, None] * 2 + rng.normal(scale=0.5, size=(500, 4)))
    model = Corex(1, n_states=2, marginals="rank", random_state=0).fit(X)
    labels = model.transform(X)[:, 0]
    for state in states_of_factors(model)[0]:
        for words in state.variables:
            name, number = words.split(" about ")
            middle = np.median(X[labels == state.state, int(name[1:])])
            assert abs(np.log(float(number.replace(",", "")) / middle)) < 0.15


def test_states_of_upper_layers_are_told_by_the_factors_below():
    X, _ = make_latent_tree(800, 24, 4, root_flip=0.15, random_state=0)
    model = HierarchicalCorex((4, 1), n_states=2, random_state=0).fit(X)
    told = description(model)
    (top,) = told.of_layer(2)
    assert all(" = state " in words for state in told.states_of(top.factor) for words in state.variables)
    assert list(told.to_dict()["states"]) == [row.factor for row in told.factors]


def test_empty_factors_have_no_states_to_tell_of():
    X = np.repeat(np.random.default_rng(0).integers(2, size=(200, 1)), 4, axis=1)
    model = Corex(3, n_states=2, random_state=0).fit(X)
    assert [len(states) for states in states_of_factors(model)] == [2, 0, 0]


def test_answers_that_are_numbers_are_told_by_the_one_of_nearly_all_or_by_their_mean():
    rng = np.random.default_rng(0)
    high = rng.random(600) < 0.5
    frame = pd.DataFrame(
        {
            "class": np.where(high, 1, rng.integers(2, 5, 600)),
            "year": np.where(high, rng.integers(2008, 2012, 600), 2017),
            "of a name that is rather long for a line": np.where(high, "an answer that is rather long", "no"),
        }
    )
    model = Corex(1, n_states=2, marginals="categorical", random_state=0).fit(frame)
    of_low, of_high = sorted(states_of_factors(model)[0], key=lambda state: "class = 1 (100%)" in state.variables)
    assert "class = 1 (100%)" in of_high.variables
    assert any(words.startswith("year about 20") and "," not in words for words in of_high.variables)
    assert "year = 2017 (100%)" in of_low.variables
    assert any(words.startswith("class about 3") or words.startswith("class about 2.9") for words in of_low.variables)
    text = " ".join(summary(model).split())
    assert "of a name that is rather long for a line = an answer that is rather long (100%)" not in text
    assert "of a name that i\u2026 long for a line = an answer that is rather long (100%)" in text


def test_numbers_are_written_as_people_do():
    assert mean_and_spread(3837, 652.4) == "3,837 \u00b1 652"
    assert mean_and_spread(-0.01234, 0.00567) == "-0.0123 \u00b1 0.0057"
    assert mean_and_spread(4.0, 0.0) == "4 \u00b1 0"
    assert short(652.4, 2) == "652"
    assert short(99.7, 2) == "100"
    assert short(1e300) == "1e+300"


def test_dates_are_told_as_dates_and_years_without_a_comma(tmp_path):
    rng = np.random.default_rng(0)
    late = rng.integers(2, size=300)
    days = np.datetime64("2007-11-10") + 730 * late + rng.integers(20, size=300)
    frame = pd.DataFrame({"day": days.astype(str), "year": 1950 + 40 * late + rng.integers(25, size=300)})
    frame["other"] = np.round(late + rng.normal(scale=0.2, size=300), 3)
    frame.to_csv(tmp_path / "table.csv", index=False)
    options = ("--layers", "1", "--states", "2", "--folds", "0", "--out", "out", "-q")
    subprocess.run([sys.executable, "-m", "hicorex", "fit", "table.csv", *options], cwd=tmp_path, check=True)
    (states,) = states_of_factors(hicorex.load(tmp_path / "out" / "model.hicorex"))
    told = sorted(words for state in states for words in state.variables)
    assert [words[:17] for words in told if words.startswith("day")] == ["day about 2007-11", "day about 2009-11"]
    assert [words[:13] for words in told if words.startswith("year")] == ["year about 19", "year about 20"]
