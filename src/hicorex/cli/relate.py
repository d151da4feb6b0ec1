"""The commands that hold a model against what else is known: associate, enrich and compare."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hicorex.cli.model import checked_output, load_model, opened_model, write_table
from hicorex.cli.options import AssociateOptions, CompareOptions, EnrichOptions
from hicorex.cli.parsing import output_name
from hicorex.exceptions import HicorexError
from hicorex.support.names import names_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.input.files import Table
    from hicorex.relations.traits import Traits


def associate(options: AssociateOptions) -> None:
    """Say which traits of samples go with which factors.

    Traits are what the model has not seen: numbers, categories, and times until an event.

    Example:

    $ hicorex associate wine-results wine.csv --traits growers.csv
    """
    out, allow = _place(options, "associations")
    with opened_model(options, out, together=True) as (model, table):
        traits, kinds = _traits_of(model, table, options)
        found = model.associations_of(traits, _states(model, table), kinds)
        _tell(found, found.rows(), out, allow)


def enrich(options: EnrichOptions) -> None:
    """Say which groups of columns are more frequent in a factor than by chance.

    Example:

    $ hicorex enrich wine-results --groups substances.csv
    """
    out, allow = _place(options, "enrichment")
    found = load_model(options.model).enrichment(options.groups)
    _tell(found, found.rows, out, allow)


def compare(options: CompareOptions) -> None:
    """Say whether factors are there in other samples too, differ between groups, or are those of another model.

    With --by, the groups of samples in the column of that name are compared; with --other, two models of the same
    columns; with neither, the model is held against samples that it was not fitted to.

    Example:

    $ hicorex compare wine-results wine.csv
    """
    if options.other is not None and options.by is not None:
        raise HicorexError("--other compares models, --by groups of samples; give one of them.")
    kind = "comparison" if options.other is not None else "differences" if options.by is not None else "preservation"
    out, allow = _place(options, kind)
    other = None if options.other is None else load_model(options.other)
    with opened_model(options, out, together=True) as (model, table):
        if other is not None:
            comparison = model.compare(other, table.frame)
            _tell(comparison, comparison.matches, out, allow)
        elif options.by is not None:
            differences = model.compare_groups(_column(options, table), table.frame)
            _tell(differences, differences.rows, out, allow)
        else:
            preservation = model.preservation(table.frame, options.permutations)
            _tell(preservation, preservation.rows, out, allow)


def _place(options: Any, kind: str) -> tuple[str | None, Callable[[], None]]:
    """Where a table goes, None for nowhere, and what to ask again before it is written."""
    out = options.out and output_name(options.out)
    return out, checked_output(out or "-", kind, options)


def _tell(found: Any, rows: Any, out: str | None, allow: Callable[[], None]) -> None:
    """Print what was found, and write it if that is asked for."""
    if out is not None:
        write_table([_table_of(rows)], out, allow)
    if out != "-":
        print(found)


def _table_of(rows: Any) -> "pa.Table":
    from hicorex.findings.tables import table_of_rows

    if not rows:
        raise HicorexError("There is nothing to write: no pair could be tested.")
    return table_of_rows(rows)


def _states(model: "LayeredEstimator", table: "Table") -> "np.ndarray":
    """The states of all samples, read in parts where the table is."""
    import numpy as np

    width = len(model.get_feature_names_out())
    return np.concatenate([np.asarray(model.states_and_log_z(X)[0]) for _, X, _ in table.batches(width)])


def _traits_of(model: "LayeredEstimator", table: "Table", options: AssociateOptions) -> tuple["Traits", dict[str, str]]:
    """The traits of a file that are no variables of the model, and what they are read as."""
    import narwhals.stable.v2 as nw
    import numpy as np
    import pyarrow as pa

    from hicorex.cli.parsing import name_list
    from hicorex.input.files import Reading, read_table
    from hicorex.relations.traits import rows_by_name, taken_apart

    pair = name_list(options.survival)
    if len(pair) % 2:
        raise HicorexError(f"--survival {','.join(pair)}: give two columns, TIME,EVENT.")
    survival = {pair[at]: (pair[at], pair[at + 1]) for at in range(0, len(pair), 2)}
    missing = tuple(options.text.missing or ())
    given = read_table(options.traits, Reading(missing=missing, kinds=dict.fromkeys(pair, "gaussian")))
    variables = set(names_of(model)[0])
    kept = [at for at, name in enumerate(given.names) if name not in variables]
    if not kept:
        raise HicorexError(
            f"{options.traits} has no column that is not a variable of the model; give traits of samples."
        )
    columns = given.frame if isinstance(given.frame, pa.Table) else pa.table(list(given.frame.T), names=given.names)
    columns, n_samples = columns.select(kept), table.frame.shape[0]
    if given.row_title != "row" and table.row_title != "row":
        names = [str(name) for rows in table.batches() for name in _plain(rows.row_names)]
        rows, places = rows_by_name(names, [str(name) for name in _plain(given.row_names)], "The names of rows of DATA")
    elif columns.num_rows == n_samples:
        rows = places = np.arange(n_samples)
    else:
        raise HicorexError(
            f"{options.traits} has {columns.num_rows} rows, DATA has {n_samples}; give one row for each sample, or "
            "names of rows in both."
        )
    traits = taken_apart(nw.from_native(columns.take(pa.array(places))), rows, survival or None)
    kinds = {given.names[at]: given.kinds[at] for at in kept if given.names[at] not in pair}
    return traits, kinds


def _plain(names: Any) -> list[Any]:
    return names.to_pylist() if hasattr(names, "to_pylist") else list(names)


def _column(options: CompareOptions, table: "Table") -> "np.ndarray":
    """The groups of the samples, from a column of DATA that need not be known to the model."""
    import numpy as np
    import pyarrow as pa

    from hicorex.input.files import read_table

    assert options.by is not None
    if options.data == "-":
        raise HicorexError("--by reads DATA once more, which standard input cannot be; give a file.")
    reading = replace(options.text.reading(), use=(options.by,), kinds={options.by: "categorical"})
    groups = read_table(options.data, reading)
    if groups.frame.shape[0] != table.frame.shape[0]:
        raise HicorexError(f"Column {options.by!r} has {groups.frame.shape[0]} rows, the table {table.frame.shape[0]}.")
    column = groups.frame.column(0).to_pylist() if isinstance(groups.frame, pa.Table) else groups.frame[:, 0]
    return np.array(column, object)
