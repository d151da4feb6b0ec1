"""Weights of samples: whole numbers count rows, others are relative, wherever samples come from."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from conftest import mixed_table
from models import layers_of, model_bytes
from numpy.testing import assert_allclose, assert_array_equal

import hicorex
from hicorex import Corex, HicorexError, HierarchicalCorex
from hicorex.findings.reasons import why_this_size
from hicorex.input.sources import source_of
from hicorex.input.weights import as_samples

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
FAST = {"n_states": 2, "n_init": 2, "max_iter": 8, "n_jobs": 1, "random_state": 0}
TABLE, KINDS = mixed_table(np.random.default_rng(0), 80)
RELATIVE = np.random.default_rng(1).gamma(2.0, size=80)
ONES = np.ones(80)


def fitted(weight=None, table=TABLE, **options):
    return Corex(2, marginals=KINDS, **FAST | options).fit(table, sample_weight=weight)


def assert_close(one, other, rtol=1e-6):
    assert_allclose(one.alpha_, other.alpha_, rtol, 1e-6)
    assert_allclose(one.tcs_, other.tcs_, rtol, 1e-6)
    assert_array_equal(one.clusters_, other.clusters_)
    assert_allclose(one.bounds_.lower, other.bounds_.lower, rtol)
    assert_allclose(one.bounds_.lower_stderr, other.bounds_.lower_stderr, rtol)


def assert_finite(model, table=TABLE):
    said = [model.log_z(table), model.posteriors(table)]
    for layer in layers_of(model):
        said += [layer.alpha_, layer.mutual_information_, layer.tcs_]
    said += [*model.surprise(table)[:-1], model.score(table)]  # the last is words
    for bounds in (model.bounds_, model.bounds(table)):
        said += [bounds.lower, bounds.lower_stderr, *(factor[1:] for factor in bounds.factors)]
    assert all(np.isfinite(own).all() for own in said)


def test_weights_that_sum_to_one_find_what_equal_ones_find():
    equal = fitted()
    assert fitted(ONES / 80).tcs_.tolist() == equal.tcs_.tolist()
    nearly = fitted(RELATIVE / RELATIVE.sum())
    assert nearly.tc_ > 0.5 * equal.tc_  # it was nothing at all


@pytest.mark.parametrize("scale", [1 / 80, 1e-300, 1e-15, 0.1, 3.3, 1e15 / 7, 1e300])
def test_the_scale_of_relative_weights_does_not_matter(scale):
    assert_close(fitted(RELATIVE), fitted(scale * RELATIVE))


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 0.5, 2.0**60, 1e300, 1.7e308])
def test_equal_weights_that_count_no_rows_are_the_same_bits_as_none(weight):
    for given in (weight, weight * ONES):
        assert model_bytes(fitted(given)) == model_bytes(fitted())


def test_whole_numbers_count_rows():
    counts = np.random.default_rng(2).integers(0, 4, 80)
    repeated = np.repeat(TABLE, counts, axis=0)
    for given in (counts, counts.astype(float), counts.tolist(), pd.Series(counts), counts.astype(np.uint8)):
        assert_close(fitted(given), fitted(table=repeated))
    assert fitted(2 * counts).bounds_.lower_stderr < 0.75 * fitted(counts).bounds_.lower_stderr


def test_rows_of_weight_zero_are_left_out_of_relative_ones_too():
    some = np.arange(80) % 4 > 0
    one, other = fitted(np.where(some, RELATIVE, 0)), fitted(RELATIVE[some], TABLE[some])
    assert model_bytes(one) == model_bytes(other)


def test_relative_weights_sum_to_the_number_of_samples_in_effect():
    assert_allclose(as_samples(RELATIVE, "w").sum(), RELATIVE.sum() ** 2 / (RELATIVE**2).sum())
    assert_allclose(as_samples(0.3 * ONES, "w"), 1)
    # Half of the rows have next to no weight, so that the others are all there is.
    half = np.where(np.arange(80) % 2, 0.5, 1e-9)
    assert_allclose(as_samples(half, "w").sum(), 40)
    few = fitted(half), fitted(table=TABLE[1::2])
    assert_allclose(few[0].bounds_.lower_stderr, few[1].bounds_.lower_stderr, rtol=1e-4)
    assert_allclose(few[0].tcs_, few[1].tcs_, rtol=1e-4)


def test_standard_errors_cover_the_truth_under_relative_weights():
    """The mean of what is explained of weighted samples errs by about as much as is said."""
    rng = np.random.default_rng(0)
    model = fitted()
    everything, _ = mixed_table(np.random.default_rng(5), 20_000)
    truth = model.bounds(everything).lower
    errors = []
    for _ in range(60):
        rows = rng.choice(20_000, 200)
        weight = as_samples(rng.gamma(0.5, size=200), "w")
        found = hicorex.bounds.bounds.bounds_of([model.fitted_.evidence(source_of(everything[rows]), None, 1, weight)])
        errors.append((found.lower - truth) / found.lower_stderr)
    assert 0.7 < np.std(errors) < 1.3  # 1.7 for weights of mean one


@pytest.mark.parametrize(
    "weight",
    [np.logspace(-15, 15, 80), np.where(np.arange(80) % 2, 1e-15, 1e15), np.where(np.arange(80) % 9, 1e15, 5e-324)],
    ids=["rising", "in turn", "some"],
)
@pytest.mark.parametrize("dtype", ["double", "single"])
def test_weights_of_any_size_side_by_side_give_finite_results(weight, dtype, monkeypatch):
    if dtype == "single":
        monkeypatch.setattr("hicorex.input.encoder.SMALL_TABLE_CELLS", 0)
    for kinds in (KINDS, "rank", "categorical"):
        assert_finite(Corex(2, marginals=kinds, **FAST).fit(TABLE, sample_weight=weight))
    model = HierarchicalCorex((2, 1), marginals=KINDS, **FAST).fit(TABLE, sample_weight=weight)
    assert_finite(model)
    assert_finite(model.partial_fit(TABLE, sample_weight=weight).partial_fit(TABLE, sample_weight=weight[::-1]))


def test_cross_fitting_and_sizes_know_relative_weights():
    models = [HierarchicalCorex("auto", **FAST).fit(TABLE, sample_weight=s * RELATIVE) for s in (1, 1e-6)]
    one, other = (why_this_size(model.layers_[0].sizing_) for model in models)
    assert one == other
    crossed = [model.bounds(cv=2) for model in models]
    assert_allclose(crossed[0].lower, crossed[1].lower, rtol=1e-6)
    assert_allclose(crossed[0].lower_stderr, crossed[1].lower_stderr, rtol=1e-6)


def test_streams_know_relative_weights():
    streams = [fitted(s * RELATIVE).partial_fit(TABLE, sample_weight=s * RELATIVE) for s in (1, 1e-6)]
    assert_close(*streams, rtol=1e-4)


def test_tables_on_disk_know_relative_weights(tmp_path):
    np.save(tmp_path / "t.npy", TABLE)
    here, there = fitted(RELATIVE), fitted(1e-6 * RELATIVE, np.load(tmp_path / "t.npy", mmap_mode="r"))
    assert_close(here, there)


BAD = {
    "short": (ONES[:3], r"sample_weight has shape \(3,\); give one number for each of the 80 samples"),
    "2d": (ONES[:, None], r"sample_weight has shape \(80, 1\)"),
    "negative": (np.where(np.arange(80) == 7, -0.5, 1), "sample_weight has the negative number -0.5 in row 7"),
    "zero": (0 * ONES, "sample_weight is zero for all samples, or for all but one"),
    "nan": (np.where(np.arange(80) == 7, np.nan, 1), "sample_weight has a missing value in row 7"),
    "na": (pd.array([pd.NA] * 80, dtype="Float64"), "sample_weight"),
    "infinite": (np.inf * ONES, "sample_weight has an infinity in row 0"),
    "one": (
        np.eye(80)[0],
        "sample_weight is zero for all samples, or for all but one; give at least two a positive weight",
    ),
    "all to one": (np.where(np.arange(80) == 7, 0.5, 1e-12), "sample_weight gives all weight to one sample"),
    "text": (["a"] * 80, "sample_weight holds something else than numbers"),
    "complex": (ONES * 1j, "sample_weight holds something else than numbers"),
    "nothing": ([None] * 80, "sample_weight holds something else than numbers"),
    "too large": ([10**400] * 80, "sample_weight"),
    "dates": (np.full(80, "2020-01-01", "M8[D]"), "sample_weight holds something else than numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weights_are_refused_by_name(case):
    weight, message = BAD[case]
    for act in (Corex().fit, HierarchicalCorex().fit, Corex().partial_fit):
        with pytest.raises(HicorexError, match=message):
            act(TABLE, sample_weight=weight)


def test_numbers_of_any_type_are_weights():
    assert model_bytes(fitted([Decimal("0.5")] * 80)) == model_bytes(fitted())
    assert model_bytes(fitted(ONES > 0)) == model_bytes(fitted())


def test_the_command_line_and_the_library_have_one_rule(run, tmp_path):
    table = pd.DataFrame(TABLE, columns=[f"v{i}" for i in range(TABLE.shape[1])])
    table.assign(w=RELATIVE / 1e3).to_csv("t.csv", index=False, float_format="%.17g")
    words = ("--layers", "2", "--weights", "w", "--starts", "2", "--out", "r")
    done = run("fit", "t.csv", *words)
    assert done.code == 0, done.err
    model = hicorex.load("r/model.hicorex")
    again = HierarchicalCorex((2,), n_states=2, marginals=model.marginals, n_init=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(table[list(model.feature_names_in_)], sample_weight=RELATIVE)
    assert_allclose(again.tc_, model.tc_, rtol=1e-6)
    assert_allclose(again.bounds_.lower_stderr, model.bounds_.lower_stderr, rtol=1e-6)
    for column, message in {
        "zero": "Column 'zero' of --weights is zero for all samples, or for all but one",
        "one": "Column 'one' of --weights gives all weight to one sample",
        "gap": "Column 'gap' of --weights has a missing value in row 3",
    }.items():
        odd = {
            "zero": 0 * ONES,
            "one": np.where(np.arange(80), 1e-12, 0.5),
            "gap": np.where(np.arange(80) == 3, np.nan, 1),
        }
        table.assign(**{column: odd[column]}).to_csv("odd.csv", index=False)
        done = run("fit", "odd.csv", *words[:2], "--weights", column, "--out", "s")
        assert done.code == 2
        assert message in done.err
