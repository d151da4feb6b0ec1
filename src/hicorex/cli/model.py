"""The commands that use a model: transform, score, report and describe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hicorex.cli import options
from hicorex.exceptions import HicorexError
from hicorex.printing import PrintableBytes, json_text, printable

if TYPE_CHECKING:
    from hicorex.base import LayeredEstimator
    from hicorex.input.files import Table


def transform(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File for the labels, .csv or .parquet; - for standard output.")
    ] = "-",
    overwrite: options.Overwrite = False,
    missing: options.Missing = None,
    row_names: options.RowNames = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    debug: options.Debug = False,
) -> None:
    """Label new samples.

    Each row gets the most likely state of every factor.

    Example:

    $ hicorex transform wine-results wine.csv --out labels.csv
    """
    from hicorex.cli.folder import batches_of
    from hicorex.findings.tables import labels_of_states, labels_table
    from hicorex.input.files import Brought

    out = options.output_name(out)
    allow = _checked(out, "labels", overwrite, options.inputs(data=data, model=model))
    with _new(model, data, threads, memory, out, missing, row_names, delimiter, decimal, encoding, header) as new:
        fitted, table = new
        if isinstance(table.frame, Brought):
            batches = batches_of(fitted, table.frame)
            _write(
                (labels_of_states(fitted, own.states, own.row_names, table.row_title) for own in batches), out, allow
            )
        else:
            _write([labels_table(fitted, table.frame, table.row_names, table.row_title)], out, allow)


def score(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="File for the score and the surprise of each row, .csv or .parquet; - for standard output.",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    missing: options.Missing = None,
    row_names: options.RowNames = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say how much a model explains of new samples.

    With --out, also how surprising each of them is.

    Example:

    $ hicorex score wine-results wine.csv --out samples.csv
    """
    from hicorex.cli.folder import batches_of
    from hicorex.findings.description import bounds_dict
    from hicorex.findings.tables import samples_of_log_z, samples_table
    from hicorex.input.files import Brought

    out = out and options.output_name(out)
    if as_json and out == "-":
        raise HicorexError("--json and --out - both want standard output; give --out a file.")
    allow = _checked(out or "-", "samples", overwrite, options.inputs(data=data, model=model))
    given = model, data, threads, memory, out, missing, row_names, delimiter, decimal, encoding, header
    with _new(*given, whole=out != "-") as new:
        fitted, table = new
        if out is not None and isinstance(table.frame, Brought):
            batches = batches_of(fitted, table.frame)
            _write((samples_of_log_z(fitted, own.log_z, own.row_names, table.row_title) for own in batches), out, allow)
        elif out is not None:
            _write([samples_table(fitted, table.frame, table.row_names, table.row_title)], out, allow)
        if out != "-":
            bounds = fitted.bounds(table.frame)
            print(json_text(bounds_dict(bounds)) if as_json else bounds)


def report(
    model: options.Model,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The samples to tell of; none for the model alone.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the report.")] = Path("report.html"),
    overwrite: options.Overwrite = False,
    groups: options.Groups = None,
    title: Annotated[str | None, typer.Option(help="What the page is called; by default after DATA.")] = None,
    missing: options.Missing = None,
    row_names: options.RowNames = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    debug: options.Debug = False,
) -> None:
    """Write a report to explore in a browser.

    It is one HTML file, which loads nothing from anywhere.

    Example:

    $ hicorex report wine-results wine.csv --out wine.html
    """
    from hicorex.cli.folder import spread_samples
    from hicorex.findings.groups import groupings_of
    from hicorex.input.files import Brought
    from hicorex.names import names_of
    from hicorex.report import named_samples, write_report

    if out.suffix.lower() not in (".html", ".htm"):
        raise HicorexError(f"--out {out}: the report is an HTML file; give a name in .html.")
    allow = _checked(str(out), "report", overwrite, options.inputs(data=data, model=model, groups=groups))
    if data is None:
        given = {
            "--missing": missing,
            "--row-names": row_names,
            "--delimiter": delimiter,
            "--decimal": decimal,
            "--encoding": encoding,
            "--header": header,
            "--memory": memory,
        }
        for option, value in given.items():
            if value is not None:
                raise HicorexError(f"{option} says how samples are read, and there are none; give DATA too.")
        fitted, samples = _load(model), None
        groupings = groupings_of(names_of(fitted)[0], groups)
    else:
        where = str(out)
        with _new(model, data, threads, memory, where, missing, row_names, delimiter, decimal, encoding, header) as new:
            fitted, table = new
            groupings = groupings_of(names_of(fitted)[0], groups)
            if isinstance(table.frame, Brought):
                samples = spread_samples(fitted, table.frame)
            else:
                states, log_z = fitted._states_and_log_z(table.frame)
                samples = named_samples(table.frame, states, log_z, table.row_names, table.row_title)
    write_report(out, fitted, samples, groupings, title or options.stem(data or model), allow=allow)
    print(printable(f"The report is in {out}; open it in a browser."))


def describe(model: options.Model, as_json: options.Json = False, debug: options.Debug = False) -> None:
    """Say what a model has found.

    Example:

    $ hicorex describe wine-results
    """
    from hicorex.findings.description import description
    from hicorex.findings.words import summary

    fitted = _load(model)
    print(json_text(description(fitted).to_dict()) if as_json else summary(fitted))


@contextmanager
def _new(
    model: str,
    data: str,
    threads: int | None,
    memory: str | None,
    out: str | None,
    missing: list[str] | None,
    row_names: str | None,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool | None,
    whole: bool = False,
) -> Iterator[tuple["LayeredEstimator", "Table"]]:
    """A model and new samples for it, read as those of its fit were, but for the options given.

    ``whole`` says that all samples are looked at together, not one by one.
    """
    from hicorex.cli.large import IN_FIT, OF_NEW, keeping_within, open_data, sparing
    from hicorex.input.files import Reading, read_new, stream_new
    from hicorex.input.files.reading import named

    limit = options.memory_size(memory)
    fitted = _load(model)
    known = getattr(fitted, "_reading", {})
    reading = Reading(
        delimiter=options.character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or known.get("missing", ())),
        row_names=row_names,
    )
    names, titled = fitted._expected(), hasattr(fitted, "feature_names_in_")
    known_names, words = known.get("row_names"), known.get("words")
    source, in_parts, _ = open_data(data, limit)
    with ExitStack() as keep:
        keep.enter_context(keeping_within(limit))
        if in_parts:
            table = stream_new(source, data, reading, names, known_names, words, titled)
            folder = Path(out if out not in (None, "-") else ".").resolve().parent
            threads = keep.enter_context(sparing(table.frame, limit, threads, folder, OF_NEW if whole else IN_FIT))
        else:
            table = read_new(source, reading, names, known_names, words)
            table = replace(table, frame=named(table.frame, table.names, titled))
        for own in (fitted, *fitted._stack):
            own.set_params(n_jobs=threads)
        yield fitted, table


def _load(model: str) -> "LayeredEstimator":
    from hicorex.model_file import load

    return load(model)


def _checked(out: str, kind: str, overwrite: bool, inputs: dict[str, Any]) -> Callable[[], None]:
    """Refuse what must not or cannot be written; gives what to ask again before it is."""
    from hicorex.storage.outputs import allow_file, check_file

    if out != "-":
        check_file(out, kind, overwrite, inputs)
    return partial(allow_file, out, kind, overwrite, inputs)


def _write(tables: Iterable[Any], out: str, allow: Callable[[], None]) -> None:
    """A table in pieces as CSV or Parquet, to a file or standard output; a terminal gets what it can show."""
    from hicorex.findings.tables import TableWriter
    from hicorex.storage.files import naming, whole_file

    if out == "-" and sys.stdout is None:
        raise HicorexError("Standard output is closed; give --out a file.")
    with (
        naming("Standard output") if out == "-" else nullcontext(),
        nullcontext(_standard_output()) if out == "-" else whole_file(out, allow) as file,
        TableWriter(file, out.endswith(".parquet")) as written,
    ):
        for table in tables:
            written.write(table)


def _standard_output() -> Any:
    return PrintableBytes(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer
