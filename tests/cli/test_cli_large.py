"""The command line on tables that are read part by part: the same answers as of tables in memory."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import FIT, N_ROWS, OPTIONS, same_model, table_of, write_parts
from pyarrow import feather, parquet

import hicorex
from hicorex.cli import folder, large
from hicorex.cli.folder import LARGE_NAMES, NAMES
from hicorex.input.files import Reading, read_table, stream_table, streamed
from hicorex.input.sources import source_of


@pytest.fixture
def little(monkeypatch):
    """Hardly any memory is free, and what is freed stays as it is."""
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)


@pytest.mark.parametrize("form", ["feather", "folder"])
def test_tables_part_by_part_give_the_bits_of_tables_in_memory(form, run, tmp_path, monkeypatch):
    table = table_of()
    name = "t" if form == "folder" else f"t.{form}"
    if form == "folder":
        write_parts(table, tmp_path / "t")
    else:
        feather.write_feather(table, name, chunksize=700)
    assert run("fit", name, *FIT, *OPTIONS, "--out", "whole").code == 0
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    monkeypatch.setattr(streamed, "BATCH_CELLS", 4000)
    done = run("fit", name, *FIT, *OPTIONS, "--out", "parts")
    assert done.code == 0, done.err
    assert "Note: 3,000 rows, read part by part." in done.err
    same_model("whole", "parts")
    assert sorted(os.listdir("whole")) == sorted(NAMES)
    assert sorted(os.listdir("parts")) == sorted([*NAMES, *LARGE_NAMES])
    for file in ("columns.csv", "factors.csv", "structure.csv", "labels.csv", "bounds.json", "graph.graphml"):
        assert (tmp_path / "whole" / file).read_text() == (tmp_path / "parts" / file).read_text(), file
    whole, parts = (pd.read_csv(f"{own}/samples.csv") for own in ("whole", "parts"))
    pd.testing.assert_frame_equal(whole, parts, rtol=1e-9, atol=1e-9)
    pd.testing.assert_frame_equal(parts, pd.read_parquet("parts/samples.parquet"), check_dtype=False)
    pd.testing.assert_frame_equal(*(pd.read_parquet(f"{own}/labels.parquet") for own in ("whole", "parts")))
    assert run("transform", "parts", name, "--out", "l.csv").code == 0
    assert (tmp_path / "l.csv").read_text() == (tmp_path / "parts" / "labels.csv").read_text()
    assert run("transform", "parts", name, "--out", "l.parquet").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("l.parquet"), pd.read_parquet("parts/labels.parquet"))
    assert run("transform", "parts", name).out == (tmp_path / "l.csv").read_text()
    told = run("score", "parts", name, "--json", "--out", "s.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("s.parquet"), pd.read_parquet("parts/samples.parquet"))
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    again = read_table(source_of(name), Reading(missing=("-999",), weights="w"))
    assert json.loads(told.out)["lower"] == pytest.approx(hicorex.load("parts").bounds(again.frame).lower, rel=1e-6)


@pytest.mark.parametrize("kind", ["f8", "i2", "U"])
def test_arrays_part_by_part_give_the_bits_of_arrays_in_memory(kind, run, tmp_path, monkeypatch):
    numbers = table_of().select([f"x{i}" for i in range(6)]).to_pandas().to_numpy()
    if kind != "f8":
        numbers = np.where(numbers == -999, -999, np.round(2 * numbers))
    np.save("t.npy", numbers.astype(int).astype(str) if kind == "U" else numbers.astype(kind))
    assert run("fit", "t.npy", *FIT, "--missing", "-999", "--out", "whole").code == 0
    monkeypatch.setattr(large.limits, "free_memory", lambda: 30_000)
    monkeypatch.setattr(large, "_be_lean", lambda: None)
    done = run("fit", "t.npy", *FIT, "--missing", "-999", "--out", "parts")
    assert done.code == 0, done.err
    same_model("whole", "parts")
    assert (tmp_path / "whole/labels.csv").read_text() == (tmp_path / "parts/labels.csv").read_text()
    assert run("transform", "parts", "t.npy").out == (tmp_path / "parts/labels.csv").read_text()


def test_what_a_sample_does_not_show_is_read_all_the_same(run, little, tmp_path, monkeypatch):
    """A column that is constant, whole or without gaps in the sample need not be so elsewhere."""
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", 100)
    table = table_of().to_pandas()
    table.insert(0, "count", np.arange(N_ROWS))
    looked = np.concatenate([np.arange(10) + start for start in np.linspace(0, N_ROWS - 10, 10).astype(int)])
    rest = np.setdiff1d(np.arange(N_ROWS), looked)
    table["rare"] = np.where(np.isin(np.arange(N_ROWS), rest), table["x0"], 1.0)
    table["halves"] = np.round(table["x4"])
    table.loc[rest[::2], "halves"] += 0.5
    table["gone"] = table["x5"].where(np.isin(np.arange(N_ROWS), looked))
    table["many"] = np.where(np.isin(np.arange(N_ROWS), looked), "a", [f"v{i % 40}" for i in range(N_ROWS)])
    table.loc[rest[:50], "level"] = -999
    write_parts(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "t")
    done = run("fit", "t", *FIT, "--missing", "-999", "--kinds", "many=categorical", "--out", "r")
    assert done.code == 0, done.err
    assert "what is said of columns is from a sample of 100 rows" in " ".join(done.err.split())
    columns = pd.read_csv("r/columns.csv").set_index("column")
    assert columns.loc["count", ["kind", "why"]].tolist() == ["row names", "an identifier: the number of the row"]
    assert columns.loc["rare", "why"] == "constant"
    assert columns.loc["halves", ["kind", "why"]].tolist() == ["gaussian", "numbers"]
    assert pd.read_csv("r/labels.csv")["count"].tolist() == list(range(N_ROWS))


def test_messages_name_file_column_and_value(run, little, tmp_path, monkeypatch):
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", 100)
    texts = np.full((1000, 3), "1", dtype="U3")
    texts[::3], texts[500, 1] = "2", "?!x"
    np.save("t.npy", texts)
    done = run("fit", "t.npy", *FIT)
    assert done.code == 2
    assert "t.npy, column 'x1': '?!x' is not a whole number" in done.err.splitlines()[-1]
    assert os.listdir(tmp_path) == ["t.npy"]
    write_parts(table_of(), tmp_path / "t")
    done = run("fit", "t", *FIT, "--weights", "word")
    assert "--weights names column 'word', which does not hold numbers" in done.err
    weights = np.ones(N_ROWS)
    weights[1234] = -1
    write_parts(table_of().append_column("weight", pa.array(weights)), tmp_path / "t")
    done = run("fit", "t", "--weights", "weight")
    assert "Column 'weight' of --weights has the negative number -1 in row 1234; give 0 to leave" in done.err


def test_long_tables_get_no_csv_and_a_report_of_some_rows(run, little, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "MOST_CSV", 1000)
    monkeypatch.setattr(folder, "REPORTED_ROWS", 500)
    monkeypatch.setattr(streamed, "BATCH_CELLS", 4000)
    write_parts(table_of(), tmp_path / "t")
    assert run("fit", "t", *FIT, "--out", "r").code == 0
    assert {"labels.csv", "samples.csv"}.isdisjoint(os.listdir("r"))
    assert len(pd.read_parquet("r/labels.parquet")) == len(pd.read_parquet("r/samples.parquet")) == N_ROWS
    assert "500 samples, evenly spread over 3,000;" in (tmp_path / "r/report.html").read_text()
    assert run("report", "r", "t").code == 0
    assert "500 samples, evenly spread over 3,000;" in (tmp_path / "report.html").read_text()
    assert run("fit", "t", *FIT, "--out", "r", "--overwrite").code == 0


FAULTS = {
    "gone": (lambda path: path.unlink(), "part1.parquet is no longer there; put it back"),
    "changed": (lambda path: path.write_bytes(path.read_bytes() + b" "), "part1.parquet has changed since"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_fails_on_the_way_costs_nothing(fault, run, little, tmp_path, monkeypatch):
    write_parts(table_of(), tmp_path / "t")
    assert run("fit", "t", *FIT, "--out", "expected").code == 0
    path = tmp_path / "t" / "part1.parquet"
    held = path.read_bytes()
    spoil, message = FAULTS[fault]
    with monkeypatch.context() as patch:
        real = folder.write_folder
        patch.setattr(folder, "write_folder", lambda *given: (spoil(path), real(*given)))
        done = run("fit", "t", *FIT, "--out", "r", "--checkpoint", "c")
    assert done.code == 2
    assert message in done.err.splitlines()[-1]
    assert sorted(os.listdir(tmp_path)) == ["c", "expected", "t"]
    path.write_bytes(held)
    done = run("fit", "t", *FIT, "--out", "r", "--checkpoint", "c")
    assert done.code == 0, done.err
    assert "Going on from c." in done.err
    same_model("expected", "r")


def test_files_that_do_not_fit_together_are_named(run, little, tmp_path):
    write_parts(table_of(), tmp_path / "t")
    parquet.write_table(table_of(50).drop_columns("word"), tmp_path / "t" / "part2.parquet")
    done = run("fit", "t", *FIT)
    assert done.code == 2
    assert "part2.parquet has no column 'word'" in done.err
    (tmp_path / "t" / "part2.parquet").write_bytes(b"PAR1 and nothing else")
    assert "part2.parquet is broken; make or fetch it again" in run("fit", "t", *FIT).err
    assert os.listdir(tmp_path) == ["t"]


def test_the_size_of_batches_is_kept_in_the_model(run, tmp_path):
    table_of().to_pandas().to_csv("t.csv", index=False)
    done = run("fit", "t.csv", *FIT, "--batch-size", "1000", "--out", "r")
    assert done.code == 0, done.err
    assert hicorex.load("r").batch_size == 1000
    assert "--batch-size" in run("fit", "t.csv", "--batch-size", "1").err


def test_a_streamed_table_is_decided_on_like_one_in_memory(tmp_path):
    parquet.write_table(table_of(), tmp_path / "t.parquet", row_group_size=500)
    reading = Reading(missing=("-999",), weights="w")
    whole, parts = (
        read_table(tmp_path / "t.parquet", reading),
        stream_table(source_of(tmp_path / "t.parquet"), "t.parquet", reading),
    )
    assert whole.decisions == parts.decisions
    assert whole.frame.schema.types == parts.frame.read(0, 10).schema.types == parts.frame.read(5, 5).schema.types
    np.testing.assert_array_equal(whole.sample_weight, parts.sample_weight)
