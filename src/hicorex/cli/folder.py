"""What a fit leaves in a folder: the model, tables, bounds, a graph and a report, whole or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.findings.description import bounds_dict
from hicorex.findings.graph import graph_of
from hicorex.findings.tables import (
    TableWriter,
    columns_table,
    factors_table,
    labels_of_states,
    samples_of_log_z,
    structure_table,
    write_csv,
)
from hicorex.input.files import Brought
from hicorex.input.reader import rows_of
from hicorex.input.sources.choice import MODEL
from hicorex.printing import json_text
from hicorex.report import TITLE, Samples, named_samples, write_report
from hicorex.storage.files import new_file, whole_folder
from hicorex.storage.outputs import RESULTS, allow_folder

if TYPE_CHECKING:
    from hicorex.base import LayeredEstimator
    from hicorex.findings.groups import Grouping
    from hicorex.input.files import Table

# What the folder of a table that was read part by part has beside the others.
LARGE_NAMES = ("samples.parquet",)
NAMES = tuple(name for name in RESULTS if name not in LARGE_NAMES)
# Of so many rows of such a table there are CSV files too; of so many rows and cells the report tells.
MOST_CSV, REPORTED_ROWS, REPORTED_CELLS = 1_000_000, 100_000, 2**22


def write_folder(
    folder: Any,
    model: "LayeredEstimator",
    table: "Table",
    overwrite: bool = False,
    groupings: Sequence["Grouping"] = (),
    title: str = TITLE,
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Write the model and all results to a folder, whole or not at all.

    Parameters
    ----------
    folder : path
    model : Corex or HierarchicalCorex
        Fitted to ``table.frame``.
    table : Table
    overwrite : bool, default=False
        Whether results that are in the folder are replaced; otherwise it must be new or empty.
    groupings : sequence of Grouping
        Ways to colour the variables of the report.
    title : str
        What the report is called.
    inputs : mapping of str to path, default=None
        What the results are made from, which must not be in the folder: see ``allow_folder``.
    """
    with whole_folder(folder, RESULTS, partial(allow_folder, folder, overwrite, inputs or {})) as draft:
        model.save(draft / MODEL)
        if isinstance(table.frame, Brought):
            _write_large(draft, model, table, groupings, title)
            return
        write_results(draft, model, table.frame, table.row_names, table.row_title, table.decisions, groupings, title)


def write_results(
    folder: Path,
    model: "LayeredEstimator",
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

    _write_model_tables(folder, model, decisions)
    states, log_z = model._states_and_log_z(X)
    labels = labels_of_states(model, states, row_names, row_title)
    _write_csv(folder / "labels.csv", labels)
    _write_csv(folder / "samples.csv", samples_of_log_z(model, log_z, row_names, row_title))
    with new_file(folder / "labels.parquet") as file:
        parquet.write_table(labels, file)
    samples = named_samples(X, states, log_z, row_names, row_title)
    write_report(folder / "report.html", model, samples, groupings, title, decisions)


class Batch(NamedTuple):
    """Some rows of a table on disk, which they are, what they are called and what a model says of them."""

    rows: slice
    X: Any
    row_names: Any
    states: np.ndarray
    log_z: np.ndarray


def batches_of(model: "LayeredEstimator", frame: Brought) -> Iterator[Batch]:
    """All rows of a table on disk, a few at a time."""
    n_factors = sum(layer.n_factors_ for layer in model._stack)
    for rows, X, row_names in frame.batches(n_factors):
        yield Batch(rows, X, row_names, *model._states_and_log_z(X))


def _write_large(
    folder: Path, model: "LayeredEstimator", table: "Table", groupings: Sequence["Grouping"], title: str
) -> None:
    """As write_results, for a table that is read part by part."""
    _write_model_tables(folder, model, table.decisions)
    endings = (".parquet", ".csv") if table.frame.shape[0] <= MOST_CSV else (".parquet",)
    with ExitStack() as files:
        labels, samples = (
            [
                files.enter_context(
                    TableWriter(files.enter_context(new_file(folder / f"{name}{ending}")), ending == ".parquet")
                )
                for ending in endings
            ]
            for name in ("labels", "samples")
        )
        kept = []
        step = _step(table.frame.shape)
        for batch in batches_of(model, table.frame):
            for file in labels:
                file.write(labels_of_states(model, batch.states, batch.row_names, table.row_title))
            for file in samples:
                file.write(samples_of_log_z(model, batch.log_z, batch.row_names, table.row_title))
            kept.append(_every(batch, step))
    reported = _reported(kept, table.row_title, table.frame.shape[0])
    write_report(folder / "report.html", model, reported, groupings, title, table.decisions)


def spread_samples(model: "LayeredEstimator", frame: Brought) -> Samples:
    """What a report tells of a table on disk: rows evenly spread over it."""
    step = _step(frame.shape)
    kept = [_every(batch, step) for batch in batches_of(model, frame)]
    return _reported(kept, frame.row_title, frame.shape[0])


def _step(shape: tuple[int, int]) -> int:
    """Of how many rows a report tells of one."""
    return max(1, -(-shape[0] // min(REPORTED_ROWS, max(1000, REPORTED_CELLS // shape[1]))))


def _every(batch: Batch, step: int) -> tuple[Any, ...]:
    own = np.arange(-batch.rows.start % step, len(batch.states), step)
    return rows_of(batch.X, own), batch.states[own], batch.log_z[own], batch.row_names.take(own)


def _reported(kept: list[tuple[Any, ...]], row_title: str, n_all: int) -> Samples:
    X, states, log_z, names = (_joined(pieces) for pieces in zip(*kept, strict=True))
    return named_samples(X, states, log_z, names, row_title)._replace(n_all=n_all)


def _write_model_tables(folder: Path, model: "LayeredEstimator", decisions: Sequence[Any]) -> None:
    """What there is to write whatever the samples."""
    _write_csv(folder / "columns.csv", columns_table(decisions))
    _write_csv(folder / "factors.csv", factors_table(model))
    _write_csv(folder / "structure.csv", structure_table(model))
    with new_file(folder / "bounds.json") as file:
        file.write(json_text(bounds_dict(model.bounds_), indent=2).encode("ascii") + b"\n")
    with new_file(folder / "graph.graphml") as file:
        file.write(graph_of(model).to_graphml())


def _write_csv(path: Path, table: Any) -> None:
    with new_file(path) as file:
        write_csv(table, file)


def _joined(pieces: Sequence[Any]) -> Any:
    """Rows of an array, a table or a column below one another."""
    import pyarrow as pa

    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    if isinstance(pieces[0], pa.Table):
        return pa.concat_tables(pieces).unify_dictionaries()
    chunks = [chunk for own in pieces for chunk in (own.chunks if isinstance(own, pa.ChunkedArray) else [own])]
    column = pa.chunked_array(chunks)
    return column.cast(pa.string()).fill_null("") if column.null_count else column
