"""Texts that are too large to be read at once are read from start to end, and give what they would give in memory."""

import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from written import told_columns

import hicorex
from hicorex import Corex, HicorexError
from hicorex.input.files import Reading, TextSource, is_plain_text, read_table, stream_table, text_spool


def table(n_rows=9000):
    rng = np.random.default_rng(0)
    cause = rng.integers(3, size=n_rows)
    frame = pd.DataFrame(
        {
            "id": np.arange(n_rows) + 1,
            "size": cause + rng.normal(scale=0.3, size=n_rows).round(3),
            "code": cause,
            "price": [f"${own:,}" for own in 1000 * (cause + 1) + rng.integers(900, size=n_rows)],
            "day": pd.date_range("1990-01-01", periods=n_rows).strftime("%d.%m.%Y"),
            "colour": np.array(["red", "grün", "blue"])[cause],
            "flag": cause > 0,
        }
    )
    frame.loc[n_rows - 5, "colour"] = None
    return frame


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_spool, "HEAD", 2**14)
    monkeypatch.setattr(text_spool, "BLOCK", 2**14)


def streamed(path, **reading):
    return stream_table(TextSource(str(path), Reading(**reading)), str(path), Reading(**reading))


SETTINGS = {"n_factors": 2, "n_states": 3, "n_init": 1, "random_state": 0}


@pytest.mark.parametrize(
    ("written", "reading"),
    [
        ({}, {}),
        ({"sep": ";", "decimal": ","}, {}),
        ({"sep": "\t", "lineterminator": "\r\n", "quoting": 1}, {}),
        ({"encoding": "utf-8-sig"}, {}),
        ({"encoding": "cp1252"}, {}),
        ({"encoding": "cp1252"}, {"encoding": "cp1252"}),
    ],
    ids=["plain", "comma for decimals", "quoted", "marked", "western", "western as told"],
)
def test_the_model_is_that_of_the_text_in_memory(written, reading, tmp_path, small_blocks):
    path = tmp_path / "t.csv"
    table().to_csv(path, index=False, **written)
    there, here = streamed(path, **reading), read_table(path, Reading(**reading))
    assert told_columns(there) == told_columns(here)
    assert len(there.notes) == len(here.notes) + 1
    settings = SETTINGS | {"marginals": "auto"}
    one, other = (Corex(**settings).fit(own) for own in (there, here))
    assert_array_equal(one.alpha_, other.alpha_)
    assert_array_equal(one.tcs_, other.tcs_)
    assert [field.name for field in there.frame.read(0, 5).schema] == here.names


def test_types_that_fit_the_first_lines_alone_are_widened(tmp_path, small_blocks):
    n = 20_000
    frame = pd.DataFrame(
        {"whole": np.arange(n) % 50, "text": np.arange(n) % 40, "none": [""] * n, "b": np.arange(n) % 2}
    )
    frame = frame.astype(object)
    frame.loc[n - 3, "whole"], frame.loc[n - 2, "text"], frame.loc[n - 1, "none"] = 0.5, "many", 7
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = TextSource(str(tmp_path / "t.csv"), Reading())
    types = {field.name: str(field.type) for field in source.read(0, 1).schema}
    assert types == {"whole": "double", "text": "string", "none": "int64", "b": "int64"}
    assert source.shape == (n, 4)
    assert source.read(n - 3, n).to_pydict() == {
        "whole": [0.5, *((np.arange(n) % 50)[-2:])],
        "text": [str((n - 3) % 40), "many", str((n - 1) % 40)],
        "none": [None, None, 7],
        "b": [1, 0, 1],
    }


def test_titles_are_skipped_and_headers_may_lack(tmp_path, small_blocks):
    body = "".join(f"{i % 3},{i + 0.5}\n" for i in range(9000))
    (tmp_path / "t.csv").write_text("A title\nof two lines\na,b\n" + body)
    assert TextSource(str(tmp_path / "t.csv"), Reading(skip_lines=2)).read(0, 2).to_pydict() == {
        "a": [0, 1],
        "b": [0.5, 1.5],
    }
    (tmp_path / "n.csv").write_text(body)
    source = TextSource(str(tmp_path / "n.csv"), Reading())
    assert (source.names, source.shape) == (["x0", "x1"], (9000, 2))


def test_faults_are_told_with_the_name_of_the_file(tmp_path, small_blocks):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 20_000 + "1,2,3\n")
    with pytest.raises(HicorexError, match=r"t\.csv cannot be read as a table: .*Expected 2 columns, got 3"):
        TextSource(str(path), Reading())
    path.write_text("a,b\n" + "1,2\n" * 20_000)
    source = TextSource(str(path), Reading())
    path.write_text("a,b\n" + "1,2\n" * 10)
    with pytest.raises(HicorexError, match="has changed since it was opened"):
        source.read(0, 10)
    path.write_bytes(("a,b\n" + "1,2\n" * 20_000).encode("utf-16"))
    with pytest.raises(HicorexError, match="is UTF-16 and too large"):
        TextSource(str(path), Reading())
    path.write_text("a" * 2**15)
    with pytest.raises(HicorexError, match="a line of more than"):
        TextSource(str(path), Reading())


def test_no_scratch_file_stays(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table().to_csv(tmp_path / "t.csv", index=False)
    source = TextSource(str(tmp_path / "t.csv"), Reading())
    assert source.shape == (9000, 7)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_what_is_no_plain_text_is_not_read_so(tmp_path):
    table(50).to_csv(tmp_path / "t.csv.gz", index=False)
    table(50).to_json(tmp_path / "t.json", orient="records")
    table(50).to_parquet(tmp_path / "t.parquet")
    table(50).to_csv(tmp_path / "t.csv", index=False)
    assert [is_plain_text(str(path)) for path in sorted(tmp_path.iterdir())] == [True, False, False, False]


def test_the_command_line_reads_large_texts_and_new_samples(tmp_path, monkeypatch, run):
    monkeypatch.setattr("hicorex.cli.large.OF_LIMIT", 10**6)
    table().to_csv(tmp_path / "t.csv", index=False)
    words = ("--layers", "2", "--states", "3", "--starts", "1", "--folds", "0", "--stability", "0")
    done = run("fit", tmp_path / "t.csv", *words, "--memory", "1GB", "--out", tmp_path / "r")
    assert done.code == 0, done.err
    assert "9,000 rows, read part by part" in " ".join(done.err.split())
    labels = pd.read_csv(tmp_path / "r" / "labels.csv")
    new = run("transform", tmp_path / "r", tmp_path / "t.csv", "--memory", "1GB", "--out", tmp_path / "l.csv")
    assert new.code == 0, new.err
    assert_array_equal(pd.read_csv(tmp_path / "l.csv").to_numpy(), labels.to_numpy())
    here = hicorex.read_table(tmp_path / "t.csv")
    assert list(pd.read_csv(tmp_path / "r" / "columns.csv")["kind"]) == here.columns["kind"].to_pylist()
