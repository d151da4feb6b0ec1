"""CSV files whose text a spreadsheet shows and does not run, and which give the same text back."""

import csv
import io
import random
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hicorex import HierarchicalCorex
from hicorex.cli.folder import NAMES, write_folder
from hicorex.cli.model import write_table
from hicorex.datasets import make_latent_tree
from hicorex.findings.groups import groupings_of
from hicorex.findings.tables import TableWriter, factors_table, labels_table, samples_table, structure_table, write_csv
from hicorex.input.column_kinds import ColumnDecision, ColumnKind, ColumnReason
from hicorex.input.files import Reading, Table, read_table
from hicorex.input.files.formats import read_raw
from hicorex.input.spreadsheet import guarded, guarded_table, is_result, original, original_table
from hicorex.support.printing import PrintableStream

FORMULAS = [
    "=1+2",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1+2",
    "\r=1+2",
    "  =1+2",
    "'=1+2",
    "''-x",
    "a;=1+2;b",
    "a;b\n=1+2",
    "tail\t@x",
    "\uff1d1+2",
    '"=1+2',
    "\ufeff=1+2",
]
HARMLESS = [
    "a",
    "",
    "'",
    "'tis",
    "don't",
    "-3.2",
    "+5",
    "-.5e-3",
    "a=b",
    "1-2",
    "x; y",
    "a\n-3",
    "2020-01-01",
    "\u2212x",
]


def runs(cell):
    """Whether a spreadsheet may run a cell."""
    return re.match(r"[\s\x00-\x1f\ufeff]*[=+\-@\uff1d]", cell) and not re.fullmatch(
        r"\s*[+-]?[\d.]+(e[+-]?\d+)?", cell
    )


def cells_of(raw, delimiter):
    """The cells of a file as a program sees them that splits it so."""
    return [cell for row in csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=delimiter) for cell in row]


def test_guarded_text_comes_back():
    for text in HARMLESS:
        assert guarded(text) == text == original(text)
    for text in FORMULAS:
        assert not runs(guarded(text)), text
        assert original(guarded(text)) == text
    for long in ("\x1c" * 10_000, "'" * 10_000, ";" * 10_000, "; " * 10_000, ";+1" * 10_000):  # in linear time
        assert original(guarded(f"{long}a=")) == f"{long}a="
    draw = random.Random(0)
    seen = {}
    for _ in range(5000):
        text = "".join(draw.choice("'=+-@;\t\r\n a1.\u00a0") for _ in range(draw.randint(0, 7)))
        assert original(guarded(text)) == text
        assert seen.setdefault(guarded(text), text) == text


@pytest.mark.parametrize("kind", ["plain", "large", "dictionary", "chunked"])
def test_columns_of_any_kind_of_text_are_guarded_and_numbers_stay(kind):
    texts = pa.array([*FORMULAS, None, *HARMLESS])
    column = {
        "plain": texts,
        "large": texts.cast(pa.large_string()),
        "dictionary": texts.dictionary_encode(),
        "chunked": pa.chunked_array([texts[:5], texts[5:5], texts[5:]]),
    }[kind]
    table = pa.table({"=title": column, "number": -np.arange(len(texts)) / 2})
    made = guarded_table(table)
    assert made["'=title"].to_pylist() == [None if own is None else guarded(own) for own in texts.to_pylist()]
    assert made["number"] == table["number"]
    assert original_table(made) == table
    assert guarded_table(table.slice(0, 0)).num_rows == 0


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of a fit whose names, rows and reasons are formulas."""
    X = make_latent_tree(45, 15, 2, random_state=0)[0]
    frame = pd.DataFrame(X, columns=FORMULAS)
    model = HierarchicalCorex((2, 1), n_states=2, n_init=1, random_state=0).fit(frame)
    rows = pa.array([f"{name} {i}" for i in range(3) for name in FORMULAS])
    decisions = [
        ColumnDecision(name, ColumnKind.IGNORED, ColumnReason.NUMBERS, 0.5, words=(f"{name}; {name}",))
        for name in FORMULAS
    ]
    table = Table(frame, FORMULAS, ["categorical"] * 15, rows, "=row", None, tuple(decisions), ())
    folder = tmp_path_factory.mktemp("formulas") / "results"
    write_folder(folder, model, table)
    return model, table, folder


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_of_a_result_runs(results, delimiter):
    folder = results[2]
    for name in (own for own in NAMES if own.endswith(".csv")):
        raw = (folder / name).read_bytes()
        assert not [cell for cell in cells_of(raw, delimiter) if runs(cell)], name
        assert b"=1+2" in raw or name == "pairs.csv"  # which has no row here


def test_our_reader_gives_results_back(results):
    model, table, folder = results
    made = {
        "factors": factors_table(model),
        "structure": structure_table(model),
        "labels": labels_table(model, table.frame, table.row_names, "=row"),
        "samples": samples_table(model, table.frame, table.row_names, "=row"),
    }
    for name, own in made.items():
        read = read_raw(folder / f"{name}.csv")
        assert read.names == own.column_names
        for column in own.schema:
            if pa.types.is_string(column.type):
                texts = read.columns[column.name].cast(pa.string()).to_pylist()
                assert [text or "" for text in texts] == [text or "" for text in own[column.name].to_pylist()]
    assert read_raw(folder / "columns.csv").columns["column"].cast(pa.string()).to_pylist() == FORMULAS
    again = read_table(folder / "labels.csv", Reading(row_names="=row"))
    assert again.row_title == "=row"
    assert again.row_names.to_pylist() == table.row_names.to_pylist()
    parquet = pa.parquet.read_table(folder / "labels.parquet")
    assert parquet["=row"].to_pylist() == table.row_names.to_pylist()
    kinds = groupings_of(FORMULAS[:4], folder / "columns.csv")[0]
    assert kinds.groups == ("ignored",)
    assert kinds.number.tolist() == [0] * 4


def test_tables_of_other_people_are_left_alone(tmp_path):
    texts = [guarded(own) for own in FORMULAS if "\r" not in own]
    pd.DataFrame({"'=title": texts, "x": range(len(texts))}).to_csv(tmp_path / "other.csv", index=False)
    read = read_raw(tmp_path / "other.csv")
    assert read.names == ["'=title", "x"]
    assert read.columns.column(0).cast(pa.string()).to_pylist() == texts
    assert not is_result(["x"])
    assert not is_result(["column", "kind", "missing", "why", "more"])
    assert not is_result(["row", "layer1_factor0", "age"])


def test_files_that_grow_are_guarded(results):
    model, table, _ = results
    labels = labels_table(model, table.frame, table.row_names, "=row")
    whole, grown = io.BytesIO(), io.BytesIO()
    write_csv(labels, whole)
    with TableWriter(grown, parquet=False) as file:
        file.write(labels.slice(0, 20))
        file.write(labels.slice(20))
    assert grown.getvalue() == whole.getvalue()


def test_a_terminal_gets_a_table_as_text_and_a_pipe_as_bytes(monkeypatch):
    table = pa.table({"row": ["red \x1b[31m", "snow \u2603"]})
    for terminal, expected in ((False, "red \x1b[31m"), (True, "red \\x1b[31m")):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, "utf-8", write_through=True)
        out = SimpleNamespace(write=stream.write, buffer=raw, isatty=lambda own=terminal: own, flush=stream.flush)
        monkeypatch.setattr("sys.stdout", PrintableStream(out))
        write_table([table], "-", allow=lambda: None)
        monkeypatch.undo()
        assert raw.getvalue().decode() == f'"row"\n"{expected}"\n"snow \u2603"\n'
