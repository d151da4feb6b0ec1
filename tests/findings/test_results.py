"""Result files: every number in them is the model's, reads back exactly, and no name breaks them."""

import io
import json
import unicodedata
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from conftest import HOSTILE, named_table
from models import layers_of
from numpy.testing import assert_array_equal

from hicorex import Corex, HierarchicalCorex
from hicorex.cli.folder import NAMES, write_results
from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.findings.description import bounds_dict, description
from hicorex.findings.graph import graph_of
from hicorex.findings.reasons import why_no_upper
from hicorex.findings.tables import factors_table, labels_table, samples_table, structure_table, write_csv
from hicorex.findings.words import summary
from hicorex.input.column_kinds import ColumnDecision, ColumnKind, ColumnReason
from hicorex.input.files import Table
from hicorex.input.spreadsheet import original_table


@pytest.fixture(scope="module")
def X():
    return make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)[0]


@pytest.fixture(scope="module")
def stack(X):
    """Three layers, with empty factors in the first."""
    return HierarchicalCorex((8, 2, 1), n_states=(2, 3, 2), n_init=2, max_iter=500, random_state=0).fit(X)


@pytest.fixture(scope="module")
def overlapping():
    table, _ = make_overlapping_clusters(random_state=0)
    return Corex(3, n_init=2, random_state=0).fit(table, sample_weight=np.arange(100) % 3), table


@pytest.fixture(scope="module")
def hostile():
    table = named_table(HOSTILE)
    return Corex(2, n_init=2, random_state=0).fit(table), table


@pytest.fixture(params=["three layers", "weights and overlap", "hostile names"])
def fitted(request, stack, X, overlapping, hostile):
    return {"three layers": (stack, X), "weights and overlap": overlapping, "hostile names": hostile}[request.param]


def storable(name):
    return name.replace("\ud800", "\ufffd")


def read_csv(table):
    """A table that was written and read again."""
    file = io.BytesIO()
    write_csv(table, file)
    text = {field.name: pa.string() for field in table.schema if pa.types.is_string(field.type)}
    file.seek(0)
    read = pa.csv.read_csv(
        file,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=text, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
        ),
    )
    return original_table(read)


def factor_names(model):
    return [f"layer{k}_factor{j}" for k, own in enumerate(layers_of(model), start=1) for j in range(own.n_factors_)]


# Tables


def test_factors_have_the_numbers_of_the_model(fitted):
    model, _ = fitted
    table = factors_table(model)
    assert table["factor"].to_pylist() == factor_names(model)
    assert table["layer"].to_pylist() == [k for k, own in enumerate(layers_of(model), 1) for _ in range(own.n_factors_)]
    assert table["states"].to_pylist() == [own.n_states for own in layers_of(model) for _ in range(own.n_factors_)]
    assert_array_equal(table["explains"], np.concatenate([own.tcs_ for own in layers_of(model)]))
    for column in ("contribution", "contribution_stderr", "information"):
        assert_array_equal(table[column], [getattr(row, column) for row in model.bounds_.factors])
    counts = [int((own.clusters_ == j).sum()) for own in layers_of(model) for j in range(own.n_factors_)]
    assert table["n_variables"].to_pylist() == counts
    names = list(getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)]))
    tops = []
    for k, own in enumerate(layers_of(model), start=1):
        weight = own.alpha_ * own.mutual_information_
        for j in range(own.n_factors_):
            order = [i for i in np.argsort(-weight[:, j], kind="stable") if own.alpha_[i, j] > 0]
            tops.append("; ".join(storable(names[i]) for i in order[:10]))
        names = [f"layer{k}_factor{j}" for j in range(own.n_factors_)]
    assert table["top_variables"].to_pylist() == tops
    assert read_csv(table).to_pydict() == table.to_pydict()


def test_structure_has_a_row_for_every_link(fitted):
    model, _ = fitted
    table = structure_table(model)
    names = [storable(node.name) for node in graph_of(model).nodes]
    rows = iter(table.to_pylist())
    first = 0
    for k, own in enumerate(layers_of(model), start=1):
        n_below, weight = own.alpha_.shape[0], own.alpha_ * own.mutual_information_
        for j in range(own.n_factors_):
            for i in np.argsort(-weight[:, j], kind="stable"):
                if own.alpha_[i, j] > 0:
                    assert next(rows) == {
                        "variable": names[first + i],
                        "factor": names[first + n_below + j],
                        "layer": k,
                        "alpha": own.alpha_[i, j],
                        "mutual_information": own.mutual_information_[i, j],
                        "weight": weight[i, j],
                        "cluster": own.clusters_[i] == j,
                    }
        first += n_below
    assert next(rows, None) is None
    assert read_csv(table).to_pydict() == table.to_pydict()
    assert list(graph_weights(model)) == table["weight"].to_pylist()


def graph_weights(model):
    return (edge.weight for edge in graph_of(model).edges)


def test_labels_are_those_of_transform(fitted):
    model, samples = fitted
    table = labels_table(model, samples, np.arange(len(samples)), "person")
    assert table.column_names == ["person", *factor_names(model)]
    assert_array_equal(table["person"], np.arange(len(samples)))
    assert_array_equal(np.column_stack([table[name] for name in factor_names(model)]), model.transform(samples))
    assert {field.type for field in table.schema} == {pa.int64(), pa.int8()}
    assert read_csv(table).to_pydict() == table.to_pydict()


def test_labels_do_not_depend_on_what_transform_is_set_to(hostile):
    model, table = hostile
    plain = labels_table(model, table, range(200), "row")
    model.set_output(transform="pandas")
    try:
        assert labels_table(model, table, range(200), "row") == plain
    finally:
        model.set_output(transform="default")


def test_samples_are_scored_and_the_loudest_factor_is_named(fitted):
    model, table = fitted
    samples = samples_table(model, table, [f"s{i}" for i in range(len(table))], "row")
    surprise = model.surprise(table)
    assert_array_equal(samples["total_correlation"], model.score_samples(table))
    assert_array_equal(samples["surprise"], surprise.samples)
    loudest = np.abs(surprise.factors).argmax(axis=1)
    assert samples["most_surprised_factor"].to_pylist() == [factor_names(model)[j] for j in loudest]
    assert_array_equal(samples["factor_surprise"], surprise.factors[np.arange(len(table)), loudest])
    assert read_csv(samples).to_pydict() == samples.to_pydict()


def test_log_z_is_computed_once(stack, X, monkeypatch):
    calls = []
    log_z = HierarchicalCorex.log_z
    monkeypatch.setattr(HierarchicalCorex, "log_z", lambda self, X: calls.append(1) or log_z(self, X))
    samples_table(stack, X, range(500), "row")
    assert len(calls) == 1


def test_no_factor_is_named_where_none_is_surprised():
    table = np.random.default_rng(0).normal(size=(1000, 3))
    samples = samples_table(Corex(2, random_state=0).fit(table), table, range(1000), "row")
    assert samples["most_surprised_factor"].null_count == 1000
    assert_array_equal(samples["factor_surprise"], 0)
    assert read_csv(samples)["most_surprised_factor"].null_count == 1000


# Names


@pytest.mark.parametrize("title", ["layer1_factor0", "surprise", "", 'a "b", c\nd', "\ud800"])
def test_column_names_are_unique_and_quoted(overlapping, title):
    model, table = overlapping
    for make in (labels_table, samples_table):
        made = make(model, table, range(100), title)
        assert len(set(made.column_names)) == made.num_columns
        assert made.column_names[0].rstrip("_") == storable(title)
        assert read_csv(made).column_names == made.column_names
        file = io.BytesIO()
        write_csv(made, file)
        file.seek(0)
        assert list(pd.read_csv(file).columns)[1:] == made.column_names[1:]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (pd.Index(["a", "b", "c"]), ["a", "b", "c"]),
        (["a,b", 'c"d\n', ""], ["a,b", 'c"d\n', ""]),
        (["\ud800", "x", "y"], ["\ufffd", "x", "y"]),
        ([1, "a", 2.5], ["1", "a", "2.5"]),
        (pa.array(["p", "q", None]), ["p", "q", None]),
        (pa.chunked_array([["p"], ["q", "r"]]), ["p", "q", "r"]),
        (pd.Series(["u", "v", "u"], dtype="category"), ["u", "v", "u"]),
        (np.array([0.1, 1e-300, 2**53 + 1.0]), [0.1, 1e-300, 2**53 + 1.0]),
    ],
)
def test_rows_are_called_by_whatever_they_have(overlapping, names, expected):
    model, table = overlapping
    made = labels_table(model, table[:3], names, "row")
    assert made["row"].to_pylist() == expected
    file = io.BytesIO()
    write_csv(made, file)
    file.seek(0)
    read = pd.read_csv(file, keep_default_na=False)["row"].tolist()
    assert read == ["" if name is None else name for name in expected]


# The folder


def test_the_folder_holds_every_result(hostile, tmp_path):
    model, table = hostile
    decision = ColumnDecision("a", ColumnKind.IGNORED, ColumnReason.EXCLUDED, 0.5)
    write_results(tmp_path, model, Table(table, HOSTILE, [], table.index, "row", decisions=(decision,)))
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES) - {"model.hicorex"}
    labels = labels_table(model, table, table.index, "row")
    assert pa.parquet.read_table(tmp_path / "labels.parquet") == labels
    assert pa.csv.read_csv(tmp_path / "labels.csv").to_pydict() == labels.to_pydict()
    exact = {"float_precision": "round_trip"}
    samples = pd.read_csv(tmp_path / "samples.csv", **exact)
    assert_array_equal(samples["total_correlation"], model.score_samples(table))
    structure = pd.read_csv(tmp_path / "structure.csv", keep_default_na=False, **exact)
    assert_array_equal(structure["weight"], list(graph_weights(model)))
    assert structure["cluster"].dtype == bool
    assert_array_equal(pd.read_csv(tmp_path / "factors.csv", **exact)["explains"], model.tcs_)
    assert json.loads((tmp_path / "bounds.json").read_text()) == bounds_dict(model.bounds_)
    assert (tmp_path / "graph.graphml").read_bytes() == graph_of(model).to_graphml()


def test_bounds_are_complete_and_plain(stack, overlapping):
    for bounds in (stack.bounds_, overlapping[0].bounds_, stack.bounds(cv=2)):
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
    bounds = Corex(1, n_init=1, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 3))).bounds_
    broken = replace(
        bounds, lower=np.float64("nan"), upper=float("inf"), layers=(bounds.layers[0]._replace(lower=-np.inf),)
    )
    plain = bounds_dict(broken)
    assert (plain["lower"], plain["upper"], plain["layers"][0]["lower"]) == (None, None, None)
    json.dumps(plain, allow_nan=False)


# The summary


def test_description_is_plain_and_tells_what_the_tables_tell(stack, hostile):
    for model in (stack, hostile[0]):
        told = description(model).to_dict()
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        table = factors_table(model)
        for key in set(table.column_names) - {"top_variables"}:
            assert [row[key] for row in told["factors"]] == table[key].to_pylist()
        joined = ["; ".join(map(storable, row["top_variables"])) for row in told["factors"]]
        assert joined == table["top_variables"].to_pylist()
    told = description(stack).to_dict()
    assert (told["n_samples"], told["n_variables"], told["layers"]) == (500, 60, [8, 2, 1])
    assert told["bounds"] == bounds_dict(stack.bounds_)
    assert told["unassigned"] == [f"x{i}" for i in np.flatnonzero(stack.layers_[0].clusters_ == -1)]
    assert told["stop_reason"] == "as many layers as asked for"
    assert description(hostile[0]).stop_reason is None


def test_summary_tells_how_much_and_by_what(stack):
    text = summary(stack)
    assert text.startswith("500 samples, 60 variables; 11 factors in 3 layers (8, 2, 1).\n")
    flat = " ".join(text.split())
    assert f"at least {stack.bounds_.lower:.4g} nats (standard error {stack.bounds_.lower_stderr:.2g})" in flat
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


def test_summary_says_plainly_that_nothing_is_explained():
    table = np.random.default_rng(0).normal(size=(1000, 3))
    said = " ".join(summary(Corex(2, random_state=0).fit(table)).split())
    assert said.startswith("1,000 samples, 3 variables; 2 factors in 1 layer. Nothing is explained: ")
    assert "a missing one? " in said
    assert said.endswith("heavy tails, for which there is the kind rank?")


def test_summary_of_noise_says_that_it_may_be_chance():
    text = " ".join(summary(Corex(2, random_state=2).fit(np.random.default_rng(0).normal(size=(100, 20)))).split())
    assert "No link of a variable to a factor is significant: all of it may be chance." in text
    assert "20 variables without a significant link to a factor: x0, x1, x2, x3, x4, ..." in text


def test_summary_lists_ten_factors_a_layer():
    table, _ = make_latent_tree(600, 72, 12, root_flip=0.3, flip=(0.05, 0.1), random_state=0)
    model = Corex(12, n_init=2, random_state=0).fit(table)
    assert np.all(model.tcs_ > 0)
    text = summary(model)
    assert sum(line.startswith("  layer1_factor") for line in text.split("\n")) == 10
    assert "\n  and 2 more\n" in f"{text}\n"


def test_summary_is_never_wide_and_leaves_the_terminal_alone(hostile):
    long = named_table([f"{name} {'漢字 é x' * 20} {i}" for i, name in enumerate(HOSTILE)])
    for table in (hostile[1], long, long.astype(float)):
        text = summary(Corex(2, n_init=2, random_state=0).fit(table))
        for line in text.split("\n"):
            assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) <= 100
            assert line.isprintable()
        text.encode()
    assert "\u2026" in text
