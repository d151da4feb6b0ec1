"""The commands that use a model: transform, score, report and describe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hicorex.cli.options import DescribeOptions, EditOptions, ReportOptions, ScoreOptions, TransformOptions
from hicorex.cli.parsing import name_list, output_name, stem
from hicorex.exceptions import HicorexError
from hicorex.support.names import factor_names, names_of
from hicorex.support.printing import PrintableBytes, json_text, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.input.files import Table


def transform(options: TransformOptions) -> None:
    """Label new samples.

    Each row gets the most likely state of every factor, or the probabilities or log-odds of its states.

    Example:

    $ hicorex transform wine-results wine.csv --out labels.csv
    """
    out, output = output_name(options.out), options.output
    allow = checked_output(out, "labels", options)
    with opened_model(options, out) as (model, table):
        write_table(_labels(model, table, output), out, allow)


def score(options: ScoreOptions) -> None:
    """Say how much a model explains of new samples.

    With --out, also how surprising each of them is, and with --explain which of its variables say so.

    Example:

    $ hicorex score wine-results wine.csv --out samples.csv
    """
    from hicorex.findings.description import bounds_dict

    out = options.out and output_name(options.out)
    if options.explain and out is None:
        raise HicorexError("--explain tells of single rows; give --out a file for them.")
    if options.as_json and out == "-":
        raise HicorexError("--json and --out - both want standard output; give --out a file.")
    allow = checked_output(out or "-", "samples", options)
    with opened_model(options, out, together=out != "-") as (model, table):
        if out is not None:
            write_table(_scores(model, table, options.explain), out, allow)
        if out != "-":
            bounds = model.bounds(table.frame)
            print(json_text(bounds_dict(bounds)) if options.as_json else bounds)


def report(options: ReportOptions) -> None:
    """Write a report to explore in a browser.

    It is one HTML file, which loads nothing from anywhere.

    Example:

    $ hicorex report wine-results wine.csv --out wine.html
    """
    from hicorex.cli.folder import reported_samples
    from hicorex.findings.groups import groupings_of
    from hicorex.report import write_report

    out = options.out
    if out.suffix.lower() not in (".html", ".htm"):
        raise HicorexError(f"--out {out}: the report is an HTML file; give a name in .html.")
    allow = checked_output(str(out), "report", options)
    if options.data is None:
        _refuse_options_of_samples(options)
    alone = options.data is None
    given = nullcontext((load_model(options.model), None)) if alone else opened_model(options, str(out))
    with given as (model, table):
        groupings = groupings_of(names_of(model)[0], options.groups)
        samples = None if table is None else reported_samples(model, table)
    title = options.title or stem(options.data or options.model)
    write_report(out, model, samples, groupings, title, allow=allow)
    print(printable(f"The report is in {out}; open it in a browser."))


def edit(options: EditOptions) -> None:
    """Rename, merge, split, drop or freeze factors.

    The new model is written to a file; the old one stays as it is. What changes factors needs DATA, the samples for
    which the new model has its bounds.

    Example:

    $ hicorex edit wine-results wine.csv --drop layer1_factor2 --out a.hicorex
    """
    allow = checked_output(str(options.out), "model", options)
    changes = [change for change in ("drop", "merge", "split", "freeze") if getattr(options, change)]
    if not changes and options.names is None:
        raise HicorexError("There is nothing to edit; give --names, --merge, --split, --drop or --freeze.")
    if len(changes) > 1:
        raise HicorexError(f"--{changes[0]} and --{changes[1]} are two edits; make one after the other.")
    if changes and options.data is None:
        raise HicorexError(f"--{changes[0]} needs the samples; give DATA too.")
    if options.data is None:
        _refuse_options_of_samples(options)
    given = opened_model(options, str(options.out)) if changes else nullcontext((load_model(options.model), None))
    with given as (model, table):
        if options.names is not None:
            model = model.rename(options.names)
        if table is not None:
            for change in changes:
                model = _edited(model, change, getattr(options, change), table)
        allow()
        model.save(options.out)
    print(printable(f"The new model is in {options.out}."))
    if changes:
        print(model.bounds_)


def _edited(model: "LayeredEstimator", change: str, given: list[str], table: "Table") -> "LayeredEstimator":
    """The model after an edit."""
    if len(given) > 1 and change in ("merge", "split"):
        raise HicorexError(f"--{change} is given twice, and the first renumbers factors; make one after the other.")
    keys = [int(name) if name.isdecimal() else name for name in name_list(given)]
    if change == "split" and len(keys) > 1:
        raise HicorexError("--split names several factors; give one.")
    return getattr(model, change)(keys[0] if change == "split" else keys, X=table.frame)


def describe(options: DescribeOptions) -> None:
    """Say what a model has found.

    Example:

    $ hicorex describe wine-results
    """
    from hicorex.findings.description import description
    from hicorex.findings.words import summary

    model = load_model(options.model)
    if options.names_prompt:
        if options.as_json:
            raise HicorexError("--json and --names-prompt are two forms of output; give one of them.")
        print(model.names_prompt(), end="")
        return
    print(json_text(description(model).to_dict()) if options.as_json else summary(model))


def write_table(tables: Iterable["pa.Table"], out: str, allow: Callable[[], None]) -> None:
    """Write a table in pieces as CSV or Parquet, to a file or standard output; a terminal gets what it can show."""
    from hicorex.findings.tables import TableWriter
    from hicorex.storage.files import naming, whole_file

    if out == "-" and sys.stdout is None:
        raise HicorexError("Standard output is closed; give --out a file.")
    with (
        naming("Standard output") if out == "-" else nullcontext(),
        nullcontext(_standard_output()) if out == "-" else whole_file(out, allow) as file,
        TableWriter(file, out.endswith(".parquet")) as writer,
    ):
        for table in tables:
            writer.write(table)


def _labels(model: "LayeredEstimator", table: "Table", output: str) -> Iterator["pa.Table"]:
    """The labels of all samples, or another output, in pieces where the table is read in parts."""
    from hicorex.findings.tables import labels_table, outputs_table

    for _, X, row_names in table.batches(len(model.column_names(output))):
        of_rows = model, X, row_names, table.row_title
        yield labels_table(*of_rows) if output == "labels" else outputs_table(*of_rows, output)


def _scores(model: "LayeredEstimator", table: "Table", explain: bool) -> Iterator["pa.Table"]:
    """The score and the surprise of all samples, likewise; ``explain`` adds their odd variables."""
    from hicorex.findings.tables import samples_table, with_odd_values

    for _, X, row_names in table.batches(len(factor_names(model))):
        samples = samples_table(model, X, row_names, table.row_title)
        yield with_odd_values(samples, model, X) if explain else samples


def _refuse_options_of_samples(options: ReportOptions | EditOptions) -> None:
    given = options.text.given() + ["--memory"] * (options.resources.memory is not None)
    if given:
        raise HicorexError(f"{given[0]} says how samples are read, and there are none; give DATA too.")


@contextmanager
def opened_model(options: Any, out: str | None, together: bool = False) -> Iterator[tuple["LayeredEstimator", "Table"]]:
    """A model and new samples for it, read as those of its fit were, but for the options given.

    ``together`` says that all samples are looked at together, not one by one.
    """
    from hicorex.cli.large import IN_FIT, OF_NEW, keeping_within, open_data, scratch_beside, sparing
    from hicorex.input.files import KnownColumns

    limit, threads = options.resources.limit, options.resources.threads
    model = load_model(options.model)
    known = model.fitted_.reading
    reading = options.text.reading(missing=tuple(options.text.missing or known.get("missing", ())))
    columns = KnownColumns.of(model.fitted_)
    opened = open_data(str(options.data), limit)
    with ExitStack() as keep:
        keep.enter_context(keeping_within(limit))
        folder = Path(out if out not in (None, "-") else ".").resolve().parent
        keep.enter_context(scratch_beside(folder))
        table = opened.new_samples(reading, columns)
        if table.in_parts:
            cell = OF_NEW if together else IN_FIT
            threads = keep.enter_context(sparing(table.frame, limit, threads, folder, cell))
        yield model.set_params(n_jobs=threads), table


def load_model(model: str) -> "LayeredEstimator":
    """A model by its file, or the folder of results that holds it."""
    from hicorex.estimators.model_file import load

    return load(model)


def checked_output(out: str, kind: str, options: Any) -> Callable[[], None]:
    """Refuse what must not or cannot be written; gives what to ask again before it is."""
    from hicorex.storage.outputs import allow_file, check_file

    inputs = options.inputs()
    if out != "-":
        check_file(out, kind, options.overwrite, inputs)
    return partial(allow_file, out, kind, options.overwrite, inputs)


def _standard_output() -> Any:
    return PrintableBytes(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer
