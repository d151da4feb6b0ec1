"""Lagged copies of columns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from written import read, refused

import hicorex
from hicorex import Corex, HicorexError


def series(n_rows=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": np.arange(n_rows), "x": rng.normal(size=n_rows), "word": rng.choice(list("uv"), n_rows)}
    )
    frame["day"] = pd.date_range("2020-01-01", periods=n_rows).strftime("%Y-%m-%d")
    return frame


def test_copies_hold_what_columns_were_in_rows_before():
    frame = series()
    mixed = frame.sample(frac=1, random_state=0)
    for given in (mixed, mixed.assign(day=pd.to_datetime(mixed.day))):
        table = hicorex.read_table(given, lags=(1, 3), time="day", exclude=["day"], row_names="id")
        assert table.names == ["x", "word", "x_lag1", "word_lag1", "x_lag3", "word_lag3"]
        assert_array_equal(table.row_names, frame.id)
        found = table.frame.to_pandas()
        for lag in (1, 3):
            assert_array_equal(found[f"x_lag{lag}"], frame.x.shift(lag))
            assert found[f"word_lag{lag}"].astype(object).tolist()[lag:] == frame.word.tolist()[:-lag]
        assert table.kinds == ["gaussian", "categorical"] * 3


def test_a_copy_is_used_as_its_column_is():
    table = hicorex.read_table(series(), lags=(1,), kinds={"x": "rank"})
    kinds = {own.name: own.kind.value for own in table.decisions}
    assert kinds["x"] == kinds["x_lag1"] == "rank"
    assert kinds["id_lag1"] == "ignored"
    apart = hicorex.read_table(series(), lags=(1,), kinds={"x_lag1": "rank"})
    assert dict(zip(apart.names, apart.kinds, strict=True))["x"] == "gaussian"


def test_what_follows_after_a_row_is_found(run, tmp_path):
    rng = np.random.default_rng(0)
    rain = rng.normal(size=400)
    river = np.append(0, rain[:-1]) + 0.3 * rng.normal(size=400)
    frame = pd.DataFrame({"rain": rain, "river": river, "other": rng.normal(size=400)})
    plain, model = (
        Corex(2, n_states=3, random_state=0).fit(hicorex.read_table(frame, lags=lags)) for lags in ((), (1,))
    )
    assert plain.bounds(cv=5).lower < 0.05
    assert model.bounds(cv=5).lower > 0.5
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ("--layers", "2", "--states", "3", "--folds", "0", "--stability", "0", "--lags", "1")
    assert run("fit", tmp_path / "t.csv", *words, "--out", tmp_path / "r").code == 0
    structure = pd.read_csv(tmp_path / "r" / "structure.csv")
    first = structure.loc[structure.factor == "layer1_factor0", "variable"]
    assert set(first) >= {"river", "rain_lag1"}
    again = run("transform", tmp_path / "r", tmp_path / "t.csv", "--lags", "1", "--out", tmp_path / "l.csv")
    assert again.code == 0, again.err
    assert_array_equal(pd.read_csv(tmp_path / "l.csv"), pd.read_csv(tmp_path / "r" / "labels.csv"))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"lags": (0,)}, "--lags 0: give numbers of rows from 1 to 199"),
        ({"lags": (200,)}, "from 1 to 199"),
        ({"lags": (1,), "time": "dya"}, "--time names column 'dya', .* did you mean 'day'"),
        ({"lags": (1,), "time": "word"}, "column 'word' of --time holds neither numbers nor dates"),
        ({"time": "day"}, "say --lags 1 as well"),
    ],
)
def test_lags_that_cannot_be_are_refused(options, match):
    refused(series().to_csv(index=False), match, **options)


def test_names_that_are_taken_and_times_that_lack_are_told():
    frame = series().assign(x_lag1=0.5)
    with pytest.raises(HicorexError, match="a column 'x_lag1' already"):
        hicorex.read_table(frame, lags=(1,))
    with pytest.raises(HicorexError, match="column 'x' of --time has no value in row 4"):
        read(series().assign(x=series().x.where(series().index != 4)).to_csv(index=False), lags=(1,), time="x")
