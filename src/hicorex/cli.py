"""The command line: hicorex fit, transform, score, describe and demo."""

import io
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import hicorex
from hicorex.exceptions import HicorexError
from hicorex.options import (
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Groups,
    Header,
    Json,
    Memory,
    Missing,
    Model,
    Quiet,
    RowNames,
    Structure,
    Threads,
    character,
    check_ending,
    kind_pairs,
    memory_size,
    name_list,
    stem,
    whole_numbers,
)

if TYPE_CHECKING:
    from hicorex.explainer import Explainer
    from hicorex.table import Table

app = typer.Typer(
    help="Find the hidden factors that explain why the columns of a table depend on each other.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# Exit codes after Ctrl-C and after SIGTERM.
INTERRUPTED, TERMINATED = 130, 143


class _Settings:
    """What holds for the whole run."""

    debug = False
    stop_code = INTERRUPTED


def _set_debug(value: bool) -> None:
    _Settings.debug = _Settings.debug or value


Debug = Annotated[bool, typer.Option("--debug", callback=_set_debug, help="Show where in the program an error arose.")]


@app.callback(invoke_without_command=True)
def _about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the hidden factors that explain why the columns of a table depend on each other."""
    if version:
        print(hicorex.__version__)
        raise typer.Exit


@app.command()
def fit(
    data: Data,
    layers: Annotated[
        str, typer.Option(help="Factors in each layer from the bottom up, such as 20,3,1; auto finds them.")
    ] = "auto",
    states: Annotated[str, typer.Option(help="States of each factor: one number, or one for each layer.")] = "2",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results; by default named after DATA.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results in that folder.")] = False,
    use: Annotated[
        list[str] | None,
        typer.Option("--use", help="Columns to use, separated by commas; * and ? stand for any characters."),
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="Columns to leave out, likewise.")] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kinds", help="How columns are read: NAME=gaussian, rank or categorical, separated by commas."),
    ] = None,
    weights: Annotated[str | None, typer.Option(help="The column with the weights of the rows.")] = None,
    groups: Groups = None,
    missing: Missing = None,
    row_names: RowNames = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    structure: Annotated[Structure, typer.Option(help="How variables belong to factors.")] = Structure.unique,
    starts: Annotated[int, typer.Option(min=1, help="Number of starts, of which the best is kept.")] = 10,
    max_iter: Annotated[int, typer.Option(min=1, help="Most iterations of a layer.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.")] = 0,
    batch_size: Annotated[
        int | None, typer.Option(min=2, help="Rows that an iteration looks at; all by default.")
    ] = None,
    threads: Threads = None,
    memory: Memory = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The scheduler of a Dask cluster whose workers do the fit.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit goes on; by default beside the results.")
    ] = None,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between savings of the checkpoint.")] = 60,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn the factors of a table, and write a folder of results.

    The folder gets the model, tables of factors, structure, labels and samples, bounds, a graph, and a report to look
    at in a browser.

    A fit that was interrupted goes on when the same command is given again.

    Example:

    $ hicorex fit wine.csv --layers 3,1 --states 3 --out wine-results
    """
    from hicorex.files import NotWrittenError, check_folder
    from hicorex.folder import LARGE_NAMES, NAMES, write_folder
    from hicorex.groups import groupings_of
    from hicorex.large import open_data, sparing, workers
    from hicorex.results import description, summary
    from hicorex.table import Reading, read_table, stream_table

    out = out or Path(f"{stem(data)}-hicorex")
    out = out if out.name not in ("", "..") else out.resolve()
    path = checkpoint or Path(f"{out}.checkpoint")
    if path.resolve().is_relative_to(out.resolve()):
        raise HicorexError(f"--checkpoint {path} is in the folder of the results; put it elsewhere.")
    replaced = (*NAMES, *LARGE_NAMES) if overwrite else None
    limit = memory_size(memory)
    check_folder(out, replaced)
    if quiet or as_json:
        warnings.simplefilter("ignore")
    model = _estimator(
        layers,
        states,
        structure=structure.value,
        n_init=starts,
        max_iter=max_iter,
        batch_size=batch_size,
        random_state=seed,
        n_jobs=threads,
    )
    reading = Reading(
        delimiter=character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or ()),
        row_names=row_names,
        use=name_list(use),
        exclude=name_list(exclude),
        kinds=kind_pairs(kinds),
        weights=weights,
    )
    source, in_parts = open_data(data, limit, always=dask is not None)
    table = stream_table(source, data, reading) if in_parts else read_table(source, reading)
    if len(table.names) == 1:
        others = "; ".join(f"{d.name!r} is {d.kind}, {d.why}" for d in table.decisions if d.name != table.names[0])
        raise HicorexError(
            f"{data} has one column to learn from, {table.names[0]!r}, and nothing to relate it to{': ' * bool(others)}"
            f"{others[:200]}; use more columns."
        )
    groupings = groupings_of(table.names, groups)
    show = not (quiet or as_json)
    if show:
        from hicorex.display import show_decisions

        show_decisions(table.decisions, table.notes)
    model.set_params(marginals=table.kinds)
    made = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    keep = ExitStack()
    try:
        samples = table.frame
        if in_parts:
            model.set_params(n_jobs=keep.enter_context(sparing(samples, limit, threads, out.resolve().parent)))
        if dask is not None:
            samples = keep.enter_context(workers(dask, samples))
        _fit(model, samples, table.weight, path, checkpoint_every, show)
        titles = [decision.name for decision in table.decisions if decision.kind == "row names"]
        model._reading = {
            "missing": list(missing or ()),
            "row_names": titles[0] if titles else None,
            "words": table.words,
            "names": None if hasattr(model, "feature_names_in_") else table.names,
        }
        write_folder(out, model, table, replaced, groupings, stem(data))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done
    except KeyboardInterrupt as stop:
        kept = (
            f"the fit so far is in {path}; give the same command again to go on" if path.exists() else "nothing to keep"
        )
        raise Stopped(f"stopped; {kept}.") from stop
    except NotWrittenError as error:
        if not path.exists():
            raise
        raise HicorexError(f"{error} The fit so far is in {path}; give the same command again to go on.") from error
    finally:
        keep.close()
        for folder in made:
            with suppress(OSError):  # those that hold something stay
                folder.rmdir()
    if checkpoint is None:
        path.unlink(missing_ok=True)
    if as_json:
        print(json.dumps({"results": str(out)} | description(model)))
    elif not quiet:
        print(summary(model))
        print(f"\nResults are in {out}{os.sep}; open {out / 'report.html'} in a browser.")


@app.command()
def transform(
    model: Model,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File for the labels, .csv or .parquet; - for standard output.")
    ] = "-",
    missing: Missing = None,
    row_names: RowNames = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    threads: Threads = None,
    memory: Memory = None,
    debug: Debug = False,
) -> None:
    """Label new samples.

    Each row gets the most likely state of every factor.

    Example:

    $ hicorex transform wine-results wine.csv --out labels.csv
    """
    from hicorex.folder import batches_of
    from hicorex.results import labels_of_states, labels_table
    from hicorex.table import Brought

    check_ending(out)
    with _new(model, data, threads, memory, out, missing, row_names, delimiter, decimal, encoding, header) as new:
        fitted, table = new
        if isinstance(table.frame, Brought):
            batches = batches_of(fitted, table.frame)
            _write((labels_of_states(fitted, own.states, own.row_names, table.row_title) for own in batches), out)
        else:
            _write([labels_table(fitted, table.frame, table.row_names, table.row_title)], out)


@app.command()
def score(
    model: Model,
    data: Data,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="File for the score and the surprise of each row, .csv or .parquet; - for standard output.",
        ),
    ] = None,
    missing: Missing = None,
    row_names: RowNames = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    threads: Threads = None,
    memory: Memory = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say how much a model explains of new samples.

    With --out, also how surprising each of them is.

    Example:

    $ hicorex score wine-results wine.csv --out samples.csv
    """
    from hicorex.folder import batches_of
    from hicorex.results import bounds_dict, samples_of_log_z, samples_table
    from hicorex.table import Brought

    if as_json and out == "-":
        raise HicorexError("--json and --out - both want standard output; give --out a file.")
    check_ending(out or "-")
    given = model, data, threads, memory, out, missing, row_names, delimiter, decimal, encoding, header
    with _new(*given, whole=out != "-") as new:
        fitted, table = new
        if out is not None and isinstance(table.frame, Brought):
            batches = batches_of(fitted, table.frame)
            _write((samples_of_log_z(fitted, own.log_z, own.row_names, table.row_title) for own in batches), out)
        elif out is not None:
            _write([samples_table(fitted, table.frame, table.row_names, table.row_title)], out)
        if out != "-":
            bounds = fitted.bounds(table.frame)
            print(json.dumps(bounds_dict(bounds)) if as_json else bounds)


@app.command()
def report(
    model: Model,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The samples to tell of; none for the model alone.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the report.")] = Path("report.html"),
    groups: Groups = None,
    title: Annotated[str | None, typer.Option(help="What the page is called; by default after DATA.")] = None,
    missing: Missing = None,
    row_names: RowNames = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    threads: Threads = None,
    memory: Memory = None,
    debug: Debug = False,
) -> None:
    """Write a report to explore in a browser.

    It is one HTML file, which loads nothing from anywhere.

    Example:

    $ hicorex report wine-results wine.csv --out wine.html
    """
    from hicorex.folder import spread_samples
    from hicorex.graph import names_of
    from hicorex.groups import groupings_of
    from hicorex.report import named_samples, write_report
    from hicorex.table import Brought

    if out.suffix.lower() not in (".html", ".htm"):
        raise HicorexError(f"--out {out}: the report is an HTML file; give a name in .html.")
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
    write_report(out, fitted, samples, groupings, title or stem(data or model))
    print(f"The report is in {out}; open it in a browser.")


@app.command()
def describe(model: Model, as_json: Json = False, debug: Debug = False) -> None:
    """Say what a model has found.

    Example:

    $ hicorex describe wine-results
    """
    from hicorex.results import description, summary

    fitted = _load(model)
    print(json.dumps(description(fitted)) if as_json else summary(fitted))


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("demo-output"),
    debug: Debug = False,
) -> None:
    """Show what hicorex does, on synthetic and real data.

    Tables, results and a comparison with the truth where it is known.

    Example:

    $ hicorex demo --out demo-results
    """
    from hicorex.demo import main as run

    run(out)


def main() -> NoReturn:
    """Run a command; whatever goes wrong is one line on standard error and an exit code."""
    warnings.showwarning = lambda message, *_, **__: print(f"hicorex: {_line(message)}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names may have signs that a terminal does not know
            stream.reconfigure(errors="replace")
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):  # by which only a part may be written
        encoding, number = sys.stdout.encoding, sys.stdout.fileno()
        sys.stdout = open(number, "w", encoding=encoding, errors="replace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == INTERRUPTED:
            raise Stopped("stopped.")
        if sys.stdout is not None:
            _flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Stopped as stop:
        print(f"hicorex: {stop}", file=sys.stderr, flush=True)
        os._exit(_Settings.stop_code)  # threads that still work would keep the interpreter from ending
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # in the middle of an import
            os._exit(_Settings.stop_code)
        if _Settings.debug:
            raise
        code = _tell(error)
    sys.exit(code)


def _flush() -> None:
    """Print what is still to be printed."""
    from hicorex.files import naming

    with naming("Standard output"):
        sys.stdout.flush()


class Stopped(Exception):
    """Somebody has stopped the run; in words, what is left of it."""


def _terminate(*_: Any) -> NoReturn:
    _Settings.stop_code = TERMINATED
    raise KeyboardInterrupt


def _tell(error: Exception) -> int:
    """One line about an error, and the exit code."""
    if hasattr(error, "format_message"):  # of the options
        line, code = f"{_line(error.format_message()).rstrip('.')}; see hicorex --help.", 2
    elif isinstance(error, HicorexError | ValueError):
        line, code = _line(error), 2
    elif isinstance(error, OSError):
        line, code = f"{error.filename or 'a file'}: {(error.strerror or str(error)).lower()}.", 2
    elif isinstance(error, MemoryError):
        line, code = "there is not enough memory; use fewer columns, rows or --starts.", 2
    else:
        line, code = f"unexpected {type(error).__name__}: {_line(error)} (--debug shows where; please report it)", 1
    print(f"hicorex: {line}", file=sys.stderr, flush=True)
    return code


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _fit(model: "Explainer", samples: Any, weight: Any, path: Path, every: float, show: bool) -> None:
    """Fit with a checkpoint, and show how far it is."""
    from hicorex.checkpoint import Checkpoint

    if show:
        from hicorex.display import LiveProgress
    if path.is_file() and show:
        print(f"Going on from {path}.", file=sys.stderr)
    progress = LiveProgress() if show else None
    model._listener = progress
    try:
        with progress or nullcontext():
            model.fit(samples, sample_weight=weight, checkpoint=Checkpoint(path, every))
    finally:
        model._listener = None


def _estimator(layers: str, states: str, **settings: Any) -> "Explainer":
    """The model that the options ask for, not yet fitted."""
    from hicorex.hierarchy import HierarchicalCorex

    sizes: Any = "auto" if layers == "auto" else whole_numbers(layers, "--layers", "auto or numbers such as 20,3,1")
    numbers = whole_numbers(states, "--states", "a number such as 3, or one for each layer")
    if len(numbers) > 1 and (layers == "auto" or len(numbers) != len(sizes)):
        several = "one number" if layers == "auto" else "one number, or one for each of the layers"
        raise HicorexError(f"--states {states}: give {several}.")
    if not all(2 <= number <= 100 for number in numbers):
        raise HicorexError(f"--states {states}: give a factor 2 to 100 states.")
    model = HierarchicalCorex(sizes, n_states=numbers[0] if len(numbers) == 1 else numbers, **settings)
    model._shape()  # what is wrong with it is better told before a file is read
    return model


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
) -> Iterator[tuple["Explainer", "Table"]]:
    """A model and new samples for it, read as those of its fit were, but for the options given.

    ``whole`` says that all samples are looked at together, not one by one.
    """
    from hicorex.large import IN_FIT, OF_NEW, open_data, sparing
    from hicorex.table import Reading, read_new, stream_new
    from hicorex.table.reading import named

    limit = memory_size(memory)
    fitted = _load(model)
    known = getattr(fitted, "_reading", {})
    reading = Reading(
        delimiter=character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or known.get("missing", ())),
        row_names=row_names,
    )
    names, titled = fitted._expected(), hasattr(fitted, "feature_names_in_")
    known_names, words = known.get("row_names"), known.get("words")
    source, in_parts = open_data(data, limit)
    with ExitStack() as keep:
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


def _load(model: str) -> "Explainer":
    from hicorex.model_file import load

    return load(model)


def _write(tables: Iterable[Any], out: str) -> None:
    """A table in pieces as CSV or Parquet, to a file or standard output."""
    from hicorex.files import naming, whole_file
    from hicorex.results import Growing

    if out == "-" and sys.stdout is None:
        raise HicorexError("Standard output is closed; give --out a file.")
    with (
        naming("Standard output") if out == "-" else nullcontext(),
        nullcontext(sys.stdout.buffer) if out == "-" else whole_file(out) as file,
        Growing(file, out.endswith(".parquet")) as written,
    ):
        for table in tables:
            written.write(table)
