"""What a fit has learned as tables, and as files of these."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hicorex.bounds.pairs.result import ResidualPair
from hicorex.findings.description import FactorDescription, factors_of, pairs_of
from hicorex.findings.graph import ranked_links, weights_of
from hicorex.fitted.explanation import LEAST_NATS
from hicorex.input.readers import rows_of
from hicorex.input.spreadsheet import guarded_table
from hicorex.input.words import reason_in_words
from hicorex.selection.significance import q_values
from hicorex.support.names import factor_names, names_of, titles_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.input.column_kinds import ColumnDecision

# Odd values of a sample that are told, and the numbers of their explanations that are in memory at a time.
ODD_VALUES, EXPLAINED_AT_ONCE = 3, 2**22
# Half of a character, which no file can hold.
SURROGATE = re.compile("[\ud800-\udfff]")


def columns_table(decisions: Sequence["ColumnDecision"]) -> "pa.Table":
    """What was made of each column of the file, and why."""
    import pyarrow as pa

    columns = {
        "column": _text(decision.name for decision in decisions),
        "kind": [str(decision.kind) for decision in decisions],
        "missing": [decision.missing for decision in decisions],
        "why": _text(reason_in_words(decision) for decision in decisions),
    }
    return pa.table(columns)


def labels_table(model: "LayeredEstimator", X: Any, row_names: Any, row_title: str) -> "pa.Table":
    """The most likely state of every factor for each sample."""
    return labels_of_states(model, model.columns_of(X, "labels"), row_names, row_title)


def outputs_table(model: "LayeredEstimator", X: Any, row_names: Any, row_title: str, output: str) -> "pa.Table":
    """The probabilities or the log-odds of the states of every factor for each sample, as ``transform`` gives them."""
    columns = model.columns_of(X, output)
    return _by_row(dict(zip(model.column_names(output), columns.T, strict=True)), row_names, row_title)


def labels_of_states(model: "LayeredEstimator", labels: np.ndarray, row_names: Any, row_title: str) -> "pa.Table":
    """As labels_table, for samples whose states are known."""
    columns = {name: labels[:, j].astype(np.int8) for j, name in enumerate(titles_of(model))}
    return _by_row(columns, row_names, row_title)


def samples_table(model: "LayeredEstimator", X: Any, row_names: Any, row_title: str) -> "pa.Table":
    """How much of each sample is explained, how unusual that is, and the factor that says so most."""
    return samples_of_log_z(model, X, model.log_z(X), row_names, row_title)


def samples_of_log_z(
    model: "LayeredEstimator", X: Any, log_z: np.ndarray, row_names: Any, row_title: str
) -> "pa.Table":
    """As samples_table, for samples whose log Z is known."""
    import pyarrow as pa

    total = log_z.sum(axis=1)
    of_whole = model.fitted_.usual.of_whole(total, model.of_values(X))
    factor = np.zeros(len(log_z), int)
    deviation = np.zeros(len(log_z))
    for j in range(log_z.shape[1]):  # by column, since a second table of this size may not fit
        surprise = model.fitted_.usual.of_factors(log_z[:, j], j)
        larger = np.abs(surprise) > np.abs(deviation)
        factor[larger] = j
        deviation[larger] = surprise[larger]
    columns = {
        "total_correlation": total,
        "surprise": model.fitted_.usual.of_samples(total),
        "most_surprised_factor": _text(factor_names(model)).take(pa.array(factor, mask=deviation == 0)),
        "factor_surprise": deviation,
        **dict(zip(("surprisal", "odd_values", "odd_combination"), of_whole[:3], strict=True)),
        "unusual": pa.array([which or None for which in of_whole[3].tolist()], pa.string()),
    }
    return _by_row(columns, row_names, row_title)


def with_odd_values(table: "pa.Table", model: "LayeredEstimator", X: Any) -> "pa.Table":
    """A table of samples and, for each of them, its variables that are most surprising, and by how much."""
    import pyarrow as pa

    layer = model.fitted_.layers[0]
    step = max(1, EXPLAINED_AT_ONCE // (layer.encoder.n_columns + int(np.count_nonzero(layer.alpha))))
    names, places, nats = _text(names_of(model)[0]), list[np.ndarray](), list[np.ndarray]()
    n_told = min(ODD_VALUES, layer.encoder.n_columns)
    for first in range(0, table.num_rows, step):
        odd = model.explain(rows_of(X, np.arange(first, min(first + step, table.num_rows)))).odd
        largest = np.argsort(-odd, axis=1, kind="stable")[:, :n_told]
        places.append(largest)
        nats.append(np.take_along_axis(odd, largest, axis=1))
    for k, (place, of_place) in enumerate(zip(np.concatenate(places).T, np.concatenate(nats).T, strict=True), start=1):
        none = of_place <= LEAST_NATS
        table = table.append_column(f"odd_variable_{k}", names.take(pa.array(place, mask=none)))
        table = table.append_column(f"odd_nats_{k}", pa.array(of_place, mask=none))
    return table


def factors_table(model: "LayeredEstimator") -> "pa.Table":
    """What each factor explains, and the variables that it is made of first of all."""
    import pyarrow as pa

    columns: dict[str, Any] = dict(zip(FactorDescription._fields, zip(*factors_of(model), strict=True), strict=True))
    columns["reproducibility"] = pa.array(columns["reproducibility"], pa.float64())  # also where there is none
    columns["top_variables"] = _text("; ".join(names) for names in columns["top_variables"])
    return pa.table(columns)


def structure_table(model: "LayeredEstimator") -> "pa.Table":
    """Every link: which variable, or factor of the layer below, belongs to which factor, and how far."""
    import pyarrow as pa

    names = [_text(level) for level in names_of(model)]
    parts = []
    stability = model.fitted_.stability
    links = None if stability is None else stability.layers
    for k, layer in enumerate(model.fitted_.layers, start=1):
        below, factor = ranked_links(layer)
        communality = layer.communality
        columns = {
            "variable": names[k - 1].take(pa.array(below)),
            "factor": names[k].take(pa.array(factor)),
            "layer": np.full(below.size, k),
            "alpha": layer.alpha[below, factor],
            "mutual_information": layer.mutual_information[below, factor],
            "weight": weights_of(layer)[below, factor],
            "cluster": layer.clusters[below] == factor,
            "p_value": pa.array(layer.link_pvalues[below, factor], from_pandas=True),
            "q_value": pa.array(q_values(layer.link_pvalues)[below, factor], from_pandas=True),
            "communality": communality[below],
            "stability": pa.nulls(below.size, pa.float64()) if links is None else links[k - 1].links[below, factor],
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def variables_table(model: "LayeredEstimator") -> "pa.Table":
    """A row for each variable: what it is, the factor that it belongs to most, and how much of it is explained."""
    import pyarrow as pa

    layer, stability = model.fitted_.layers[0], model.fitted_.stability
    every = np.arange(layer.alpha.shape[0])
    main = weights_of(layer).argmax(axis=1)
    has_factor = layer.alpha.any(axis=1)
    names = names_of(model)

    def of_main(table: np.ndarray) -> "pa.Array":
        return pa.array(table[every, main], mask=~has_factor, from_pandas=True)

    return pa.table(
        {
            "variable": _text(names[0]),
            "kind": list(layer.encoder.kinds),
            "cluster": _text(names[1]).take(pa.array(layer.clusters, mask=layer.clusters < 0)),
            "main_factor": _text(names[1]).take(pa.array(main, mask=~has_factor)),
            "alpha": of_main(layer.alpha),
            "mutual_information": of_main(layer.mutual_information),
            "p_value": of_main(layer.link_pvalues),
            "q_value": of_main(q_values(layer.link_pvalues)),
            "communality": layer.communality,
            "stability": pa.nulls(every.size, pa.float64()) if stability is None else of_main(stability.links),
        }
    )


def pairs_table(model: "LayeredEstimator") -> "pa.Table":
    """The pairs of variables that still depend on each other when the factors are known, most first."""
    import pyarrow as pa

    rows = pairs_of(model)
    columns = {name: [getattr(row, name) for row in rows] for name in ResidualPair._fields}
    for name in ("variable", "other"):
        columns[name] = _text(columns[name])
    columns["kind"] = pa.array([str(kind) for kind in columns["kind"]], pa.string())
    numbers = {name: pa.array(columns[name], pa.float64()) for name in ("information", "gain")}
    return pa.table(columns | numbers)


def table_of_rows(rows: Sequence[Any]) -> "pa.Table":
    """Named tuples of one kind, one or more, as a table; several names in a cell are divided by semicolons."""
    import pyarrow as pa

    cells = ([("; ".join(value) if isinstance(value, tuple) else value) for value in row] for row in rows)
    columns = dict(zip(rows[0]._fields, zip(*cells, strict=True), strict=True))
    is_text = {name: any(isinstance(value, str) for value in column) for name, column in columns.items()}
    return pa.table({name: _text(column) if is_text[name] else list(column) for name, column in columns.items()})


def write_csv(table: "pa.Table", file: BinaryIO) -> None:
    """Write a table as CSV in UTF-8, its numbers in as many digits as it takes to read them back exactly.

    Text that a spreadsheet would run is guarded by an apostrophe.
    """
    from pyarrow import csv

    csv.write_csv(guarded_table(table), file)


class TableWriter:
    """Writes a table to a file, as CSV or Parquet, some rows at a time."""

    def __init__(self, file: Any, parquet: bool):
        self._file, self._parquet = file, parquet
        self._writer: Any = None

    def write(self, table: "pa.Table") -> None:
        """Add rows, of the same columns every time."""
        from pyarrow import csv, parquet

        if not self._parquet:
            table = guarded_table(table)
        if self._writer is None:
            make = parquet.ParquetWriter if self._parquet else csv.CSVWriter
            self._writer = make(self._file, table.schema)
        self._writer.write_table(table)

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is None:
            return
        try:
            self._writer.close()
        except Exception:
            if error[0] is None:  # otherwise the first error matters
                raise


def _by_row(columns: dict[str, Any], row_names: Any, row_title: str) -> "pa.Table":
    """A table of one row a sample, whose first column holds the names of the samples."""
    import pyarrow as pa

    title = SURROGATE.sub("\ufffd", row_title)
    while title in columns:
        title += "_"
    return pa.table({title: _row_names(row_names)} | columns)


def _row_names(row_names: Any) -> Any:
    """A column of the names of the samples, as text where they are of several types."""
    import pyarrow as pa

    if isinstance(row_names, pa.Array | pa.ChunkedArray):
        return row_names
    try:
        return pa.array(row_names)
    except (TypeError, ValueError):
        return _text(map(str, row_names))


def _text(names: Iterable[str | None]) -> "pa.Array":
    """A column of text; halves of surrogate pairs, which no file can hold, as U+FFFD."""
    import pyarrow as pa

    return pa.array([name if name is None else SURROGATE.sub("\ufffd", name) for name in names], pa.string())
