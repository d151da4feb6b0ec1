"""What a fit leaves in a folder: the model, tables, bounds, a graph and a report, whole or not at all."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hicorex.files import whole_folder
from hicorex.graph import graph_of
from hicorex.report import TITLE, named_samples, write_report
from hicorex.results import (
    bounds_dict,
    columns_table,
    factors_table,
    labels_of_states,
    samples_of_log_z,
    structure_table,
    write_csv,
)

if TYPE_CHECKING:
    from hicorex.explainer import Explainer
    from hicorex.groups import Grouping
    from hicorex.table import Table

NAMES = (
    "model.hicorex",
    "columns.csv",
    "factors.csv",
    "structure.csv",
    "labels.csv",
    "labels.parquet",
    "samples.csv",
    "bounds.json",
    "graph.graphml",
    "report.html",
)


def write_folder(
    folder: Any,
    model: "Explainer",
    table: "Table",
    replace: Collection[str] | None = None,
    groupings: Sequence["Grouping"] = (),
    title: str = TITLE,
) -> None:
    """Write the model and all results to a folder, whole or not at all.

    Parameters
    ----------
    folder : path
    model : Corex or HierarchicalCorex
        Fitted to ``table.frame``.
    table : Table
    replace : collection of str, default=None
        The files that may be in the folder and are replaced; None if it must be new or empty.
    groupings : sequence of Grouping
        Ways to colour the variables of the report.
    title : str
        What the report is called.
    """
    with whole_folder(folder, replace) as draft:
        model.save(draft / "model.hicorex")
        write_results(draft, model, table.frame, table.row_names, table.row_title, table.decisions, groupings, title)


def write_results(
    folder: Path,
    model: "Explainer",
    X: Any,
    row_names: Any,
    row_title: str,
    decisions: Sequence[Any],
    groupings: Sequence["Grouping"] = (),
    title: str = TITLE,
) -> None:
    """Write all results but the model itself into a folder that exists.

    Parameters
    ----------
    folder : Path
    model : Corex or HierarchicalCorex
    X : array-like or data frame of shape (n_samples, n_features)
    row_names : of shape (n_samples,)
        What the samples are called: text or numbers.
    row_title : str
        What the column of these is called; underscores are added if another column has that name.
    decisions : sequence of Decision
        What was made of each column of the file.
    groupings, title
        As in ``write_folder``.
    """
    from pyarrow import parquet

    states, log_z = model._states_and_log_z(X)
    labels = labels_of_states(model, states, row_names, row_title)
    tables = {
        "columns.csv": columns_table(decisions),
        "factors.csv": factors_table(model),
        "structure.csv": structure_table(model),
        "labels.csv": labels,
        "samples.csv": samples_of_log_z(model, log_z, row_names, row_title),
    }
    for name, table in tables.items():
        with open(folder / name, "wb") as file:
            write_csv(table, file)
    parquet.write_table(labels, folder / "labels.parquet")
    (folder / "bounds.json").write_text(json.dumps(bounds_dict(model.bounds_), indent=2) + "\n", encoding="ascii")
    (folder / "graph.graphml").write_bytes(graph_of(model).to_graphml())
    samples = named_samples(X, states, log_z, row_names, row_title)
    write_report(folder / "report.html", model, samples, groupings, title, decisions)
