"""Tables of results: every number in them is the model's, reads back exactly, and no name breaks them."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from conftest import HOSTILE, storable
from models import layers_of
from numpy.testing import assert_array_equal
from scipy.stats import false_discovery_control

from hicorex import Corex, HierarchicalCorex
from hicorex.cli.folder import NAMES, write_results
from hicorex.findings.description import all_bounds_dict
from hicorex.findings.graph import graph_of
from hicorex.findings.tables import factors_table, labels_table, samples_table, structure_table, write_csv
from hicorex.input.column_kinds import ColumnDecision, ColumnKind, ColumnReason
from hicorex.input.files import Table
from hicorex.input.spreadsheet import original_table


@pytest.fixture(params=["empty_factors_fit", "overlapping_fit", "hostile_fit"])
def fitted(request):
    return request.getfixturevalue(request.param)


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
        q_values = false_discovery_control(own.link_pvalues_.ravel()).reshape(weight.shape)
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
                        "p_value": own.link_pvalues_[i, j],
                        "q_value": pytest.approx(q_values[i, j], rel=1e-12),
                        "communality": own.communality_[i],
                        "stability": None,
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


def test_labels_do_not_depend_on_what_transform_is_set_to(hostile_fit):
    model, table = hostile_fit
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
    for name in ("surprisal", "odd_values", "odd_combination"):
        assert_array_equal(samples[name], getattr(surprise, name))
    assert [which or "" for which in samples["unusual"].to_pylist()] == surprise.unusual.tolist()
    assert read_csv(samples).to_pydict() == samples.to_pydict()


def test_log_z_is_computed_once(empty_factors_fit, monkeypatch):
    stack, X = empty_factors_fit
    calls = []
    log_z = HierarchicalCorex.log_z
    monkeypatch.setattr(HierarchicalCorex, "log_z", lambda self, X: calls.append(1) or log_z(self, X))
    samples_table(stack, X, range(500), "row")
    assert len(calls) == 1


def test_no_factor_is_named_where_none_is_surprised():
    table = np.random.default_rng(0).normal(size=(1000, 3))
    samples = samples_table(Corex(2, n_states=2, random_state=0).fit(table), table, range(1000), "row")
    assert samples["most_surprised_factor"].null_count == 1000
    assert_array_equal(samples["factor_surprise"], 0)
    assert read_csv(samples)["most_surprised_factor"].null_count == 1000


@pytest.mark.parametrize("title", ["layer1_factor0", "surprise", "", 'a "b", c\nd', "\ud800"])
def test_column_names_are_unique_and_quoted(overlapping_fit, title):
    model, table = overlapping_fit
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
def test_rows_are_called_by_whatever_they_have(overlapping_fit, names, expected):
    model, table = overlapping_fit
    made = labels_table(model, table[:3], names, "row")
    assert made["row"].to_pylist() == expected
    file = io.BytesIO()
    write_csv(made, file)
    file.seek(0)
    read = pd.read_csv(file, keep_default_na=False)["row"].tolist()
    assert read == ["" if name is None else name for name in expected]


def test_the_folder_holds_every_result(hostile_fit, tmp_path):
    model, table = hostile_fit
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
    assert json.loads((tmp_path / "bounds.json").read_text()) == all_bounds_dict(
        model.bounds_, model.fitted_.cross_fitted
    )
    assert (tmp_path / "graph.graphml").read_bytes() == graph_of(model).to_graphml()


def test_variables_have_a_row_each(fitted):
    model, _ = fitted
    table, first = model.variables_frame(), layers_of(model)[0]
    weight = first.alpha_ * first.mutual_information_
    names = [storable(node.name) for node in graph_of(model).nodes if node.layer == 0]
    assert table.index.tolist() == names
    assert_array_equal(table["communality"], first.communality_)
    assert_array_equal(table["cluster"].isna(), first.clusters_ < 0)
    for i, row in enumerate(table.itertuples()):
        if weight[i].any():
            j = weight[i].argmax()
            assert row.main_factor == f"layer1_factor{j}"
            assert (row.alpha, row.p_value) == (first.alpha_[i, j], first.link_pvalues_[i, j])
        else:
            assert pd.isna([row.main_factor, row.alpha, row.p_value, row.q_value, row.stability]).all()
