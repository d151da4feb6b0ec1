"""What a fit leaves in a folder: the model, tables, bounds, a graph and a report, whole or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.findings.description import all_bounds_dict
from hicorex.findings.graph import graph_of
from hicorex.findings.tables import (
    TableWriter,
    columns_table,
    factors_table,
    labels_of_states,
    pairs_table,
    samples_of_log_z,
    structure_table,
    write_csv,
)
from hicorex.input.readers import rows_of
from hicorex.input.sources.choice import MODEL
from hicorex.report import TITLE, Samples, named_samples, write_report
from hicorex.storage.files import new_file, whole_folder
from hicorex.storage.outputs import RESULTS, allow_folder
from hicorex.support.names import factor_names
from hicorex.support.printing import json_text

if TYPE_CHECKING:
    import pyarrow as pa

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.findings.groups import Grouping
    from hicorex.input.column_kinds import ColumnDecision
    from hicorex.input.files import Table

# What the folder of a table that was read part by part has beside the others.
LARGE_NAMES = ("samples.parquet",)
NAMES = tuple(name for name in RESULTS if name not in LARGE_NAMES)
# Rows up to which such a table has CSV files too; the most rows and cells of it that the report tells of.
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
        write_results(draft, model, table, groupings, title)


def write_results(
    folder: Path,
    model: "LayeredEstimator",
    table: "Table",
    groupings: Sequence["Grouping"] = (),
    title: str = TITLE,
) -> None:
    """Write all results but the model itself into a folder that exists; parameters as in ``write_folder``."""
    _write_model_tables(folder, model, table.decisions)
    reported = _ReportedRows(table)
    with ExitStack() as files:
        labels, samples = (
            [files.enter_context(_writer(folder / f"{name}{ending}", files)) for ending in endings]
            for name, endings in _endings(table).items()
        )
        for batch in batches_of(model, table):
            _add(labels, labels_of_states(model, batch.states, batch.row_names, table.row_title))
            _add(samples, samples_of_log_z(model, batch.X, batch.log_z, batch.row_names, table.row_title))
            reported.add(batch)
    write_report(folder / "report.html", model, reported.samples(), groupings, title, table.decisions)


class SampleBatch(NamedTuple):
    """Some rows of a table: which they are, their columns, their names, and what a model says of them."""

    rows: slice
    X: Any
    row_names: Any
    states: np.ndarray
    log_z: np.ndarray


def batches_of(model: "LayeredEstimator", table: "Table") -> Iterator[SampleBatch]:
    """All rows of a table; of one on disk, a few at a time."""
    for rows, X, row_names in table.batches(len(factor_names(model))):
        yield SampleBatch(rows, X, row_names, *model.states_and_log_z(X))


def reported_samples(model: "LayeredEstimator", table: "Table") -> Samples:
    """What a report tells of a table: all rows, or of a table on disk rows evenly spread over it."""
    reported = _ReportedRows(table)
    for batch in batches_of(model, table):
        reported.add(batch)
    return reported.samples()


class _ReportedRows:
    """Collects the rows of a table that a report tells of."""

    def __init__(self, table: "Table"):
        self._n_rows, n_columns = table.frame.shape
        self._title = table.row_title
        most = min(REPORTED_ROWS, max(1000, REPORTED_CELLS // n_columns))
        self._step = max(1, -(-self._n_rows // most)) if table.in_parts else 1
        self._kept: list[tuple[Any, ...]] = []

    def add(self, batch: SampleBatch) -> None:
        """Keep those of some rows that are told of."""
        if self._step == 1:
            self._kept.append((batch.X, batch.states, batch.log_z, batch.row_names))
            return
        rows = np.arange(-batch.rows.start % self._step, len(batch.states), self._step)
        self._kept.append((rows_of(batch.X, rows), batch.states[rows], batch.log_z[rows], batch.row_names.take(rows)))

    def samples(self) -> Samples:
        """The rows that were kept."""
        X, states, log_z, names = (_joined(pieces) for pieces in zip(*self._kept, strict=True))
        return named_samples(X, states, log_z, names, self._title)._replace(n_all=self._n_rows)


def _endings(table: "Table") -> dict[str, tuple[str, ...]]:
    """The formats of the tables of labels and samples."""
    if not table.in_parts:
        return {"labels": (".csv", ".parquet"), "samples": (".csv",)}
    endings = (".parquet", ".csv") if table.frame.shape[0] <= MOST_CSV else (".parquet",)
    return {"labels": endings, "samples": endings}


def _writer(path: Path, files: ExitStack) -> TableWriter:
    return TableWriter(files.enter_context(new_file(path)), path.suffix == ".parquet")


def _add(writers: Sequence[TableWriter], rows: "pa.Table") -> None:
    for writer in writers:
        writer.write(rows)


def _write_model_tables(folder: Path, model: "LayeredEstimator", decisions: Sequence["ColumnDecision"]) -> None:
    """What there is to write whatever the samples."""
    _write_csv(folder / "columns.csv", columns_table(decisions))
    _write_csv(folder / "factors.csv", factors_table(model))
    _write_csv(folder / "structure.csv", structure_table(model))
    _write_csv(folder / "pairs.csv", pairs_table(model))
    told = all_bounds_dict(model.bounds_, model.fitted_.cross_fitted)
    with new_file(folder / "bounds.json") as file:
        file.write(json_text(told, indent=2).encode("ascii") + b"\n")
    with new_file(folder / "graph.graphml") as file:
        file.write(graph_of(model).to_graphml())


def _write_csv(path: Path, table: "pa.Table") -> None:
    with new_file(path) as file:
        write_csv(table, file)


def _joined(pieces: Sequence[Any]) -> Any:
    """Rows of an array, a table or a column below one another."""
    import pyarrow as pa

    if isinstance(pieces[0], pa.Table):
        return pa.concat_tables(pieces).unify_dictionaries()
    if isinstance(pieces[0], pa.Array | pa.ChunkedArray):
        chunks = [chunk for own in pieces for chunk in (own.chunks if isinstance(own, pa.ChunkedArray) else [own])]
        column = pa.chunked_array(chunks)
        return column.cast(pa.string()).fill_null("") if column.null_count else column
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
