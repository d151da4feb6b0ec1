"""What there is to tell of a model, as plain data and in words."""

import json
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from conftest import HOSTILE, named_table, storable

from hicorex import Corex
from hicorex.datasets import make_latent_tree
from hicorex.findings.description import all_bounds_dict, bounds_dict, description
from hicorex.findings.reasons import why_no_upper
from hicorex.findings.tables import factors_table
from hicorex.findings.words import summary


@pytest.fixture
def stack(empty_factors_fit):
    return empty_factors_fit[0]


def test_bounds_are_complete_and_plain(stack, overlapping_fit):
    for bounds in (stack.bounds_, overlapping_fit[0].bounds_, stack.bounds(cv=2)):
        plain = bounds_dict(bounds)
        assert plain["unit"] == "nats"
        assert set(plain) == {"unit", *vars(bounds)}
        assert {key: plain[key] for key in plain if key not in ("unit", "layers", "factors")} == {
            key: value for key, value in vars(bounds).items() if key not in ("layers", "factors")
        } | {"no_upper": why_no_upper(bounds.no_upper)}
        assert plain["layers"] == [row._asdict() for row in bounds.layers]
        assert plain["factors"] == [row._asdict() for row in bounds.factors]
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_what_is_not_a_number_is_none():
    bounds = Corex(1, n_states=2, n_init=1, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 3))).bounds_
    broken = replace(
        bounds, lower=np.float64("nan"), upper=float("inf"), layers=(bounds.layers[0]._replace(lower=-np.inf),)
    )
    plain = bounds_dict(broken)
    assert (plain["lower"], plain["upper"], plain["layers"][0]["lower"]) == (None, None, None)
    json.dumps(plain, allow_nan=False)


def test_description_is_plain_and_tells_what_the_tables_tell(stack, hostile_fit):
    for model in (stack, hostile_fit[0]):
        told = description(model).to_dict()
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        table = factors_table(model)
        for key in set(table.column_names) - {"top_variables"}:
            assert [row[key] for row in told["factors"]] == table[key].to_pylist()
        joined = ["; ".join(map(storable, row["top_variables"])) for row in told["factors"]]
        assert joined == table["top_variables"].to_pylist()
    told = description(stack).to_dict()
    assert (told["n_samples"], told["n_variables"], told["layers"]) == (500, 60, [8, 2, 1])
    assert told["bounds"] == all_bounds_dict(stack.bounds_, stack.fitted_.cross_fitted)
    assert told["unassigned"] == [f"x{i}" for i in np.flatnonzero(stack.layers_[0].clusters_ == -1)]
    assert told["stop_reason"] == "as many layers as asked for"
    assert description(hostile_fit[0]).stop_reason is None


def test_summary_tells_how_much_and_by_what(stack):
    crossed = stack.cross_fitted_
    text = summary(stack)
    assert text.startswith("500 samples, 60 variables; 11 factors in 3 layers (8, 2, 1).\n")
    flat = " ".join(text.split())
    assert f"at least {crossed.lower:.4g} nats (standard error {crossed.lower_stderr:.2g}) of the total" in flat
    of_fit = f"{stack.bounds_.lower:.4g} nats (standard error {stack.bounds_.lower_stderr:.2g})"
    assert f"On the samples of the fit, as all figures below, it is {of_fit}" in flat
    assert crossed.lower < stack.bounds_.lower
    assert f"at most {stack.bounds_.upper:.4g} nats" in flat
    for row in description(stack).to_dict()["factors"]:
        if row["explains"]:
            kind = "variables" if row["layer"] == 1 else "factors"
            top = ", ".join(row["top_variables"][: min(5, row["n_variables"])])
            line = f"{row['factor']}: {row['explains']:.4g} nats, {row['n_variables']} {kind}, led by {top}"
            assert line in flat
        else:
            assert f"{row['factor']}:" not in flat
    assert "2 factors left empty" in text
    without = np.flatnonzero(stack.layers_[0].clusters_ == -1)
    if without.size:
        assert f"{without.size} variable" in text
        assert "significant link to a factor: " + ", ".join(f"x{i}" for i in without[:5]) in flat


def test_what_cannot_be_told_is_said_first():
    rng = np.random.default_rng(0)
    model = Corex(3, n_states=2, n_init=2, random_state=0).fit(rng.normal(size=(64, 200)))
    before = " ".join(summary(model).split())
    assert "On the samples of the fit the factors explain 6.995 nats" in before
    assert "it was not cross-fitted, so that nobody knows" in before
    assert model.cross_fitted_.lower < 0 < model.bounds_.lower
    said = " ".join(summary(model).split())
    assert "1 layer. 64 samples are too few: held-out samples show nothing that can be told." in said
    assert f"models of this size explain {model.cross_fitted_.lower:.4g} nats (standard error" in said
    assert "which may be all chance." in said
    few = Corex(2, n_states=2, n_init=2, random_state=0).fit(np.repeat(rng.normal(size=(3, 1)), 20, axis=1))
    assert "1 layer. 3 samples are too few to hold some of them out" in " ".join(summary(few).split())


def test_summary_says_plainly_that_nothing_is_explained():
    table = np.random.default_rng(0).normal(size=(1000, 3))
    said = " ".join(summary(Corex(2, n_states=2, random_state=0).fit(table)).split())
    assert said.startswith("1,000 samples, 3 variables; 2 factors in 1 layer. Nothing is explained: ")
    assert "a missing one? " in said
    assert said.endswith("heavy tails, for which there is the kind rank?")


def test_summary_of_noise_says_that_it_may_be_chance():
    text = " ".join(
        summary(Corex(2, n_states=2, random_state=2).fit(np.random.default_rng(0).normal(size=(100, 20)))).split()
    )
    assert "No link of a variable to a factor is significant: all of it may be chance." in text
    assert "20 variables without a significant link to a factor: x0, x1, x2, x3, x4, ..." in text


def test_summary_lists_ten_factors_a_layer():
    table, _ = make_latent_tree(600, 72, 12, root_flip=0.3, flip=(0.05, 0.1), random_state=0)
    model = Corex(12, n_states=2, n_init=2, random_state=0).fit(table)
    assert np.all(model.tcs_ > 0)
    text = summary(model)
    assert sum(line.startswith("  layer1_factor") for line in text.split("\n")) == 10
    assert "\n  and 2 more\n" in f"{text}\n"


def test_summary_is_never_wide_and_leaves_the_terminal_alone(hostile_fit):
    long = named_table([f"{name} {'漢字 é x' * 20} {i}" for i, name in enumerate(HOSTILE)])
    for table in (hostile_fit[1], long, long.astype(float)):
        text = summary(Corex(2, n_states=2, n_init=2, random_state=0).fit(table))
        for line in text.split("\n"):
            assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) <= 100
            assert line.isprintable()
        text.encode()
    assert "\u2026" in text
