"""The command line: hicorex fit, transform, score, describe and demo."""

import json
import os
import signal
import sys
import warnings
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import hicorex
from hicorex.exceptions import HicorexError

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


class Structure(StrEnum):
    """The rules by which variables belong to factors."""

    unique = "unique"
    overlap = "overlap"
    tree = "tree"


class _Settings:
    """What holds for the whole run."""

    debug = False
    stop_code = INTERRUPTED


def _set_debug(value: bool) -> None:
    _Settings.debug = _Settings.debug or value


Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Feather, .npy or .npz file; - for standard input.")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, or the folder of results that holds it.")]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", help="A value that stands for a missing one, such as -1; may be repeated."),
]
RowNames = Annotated[str | None, typer.Option("--row-names", help="The column with the names of the rows.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the columns of a text file; found out by default.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal point of a text file, . or ,; found out by default.")]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a text file; found out by default.")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether a text file begins with the names of its columns; found out by default."
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of threads; all cores by default. The results do not depend on it.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")]
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
    threads: Threads = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit goes on; by default beside the results.")
    ] = None,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between savings of the checkpoint.")] = 60,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Learn the factors of a table, and write a folder of results.

    The folder gets the model, tables of factors, structure, labels and samples, bounds and a graph.

    A fit that was interrupted goes on when the same command is given again.

    Example:

    $ hicorex fit wine.csv --layers 3,1 --states 3 --out wine-results
    """
    from hicorex.files import check_folder
    from hicorex.results import NAMES, description, summary, write_folder
    from hicorex.table import Reading, read_table

    out = out or Path(f"{_stem(data)}-hicorex")
    replaced = NAMES if overwrite else None
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise HicorexError(
            f"--out {out} is not empty; choose another folder, or add --overwrite to replace the results."
        )
    check_folder(out, replaced)
    model = _estimator(
        layers, states, structure=structure.value, n_init=starts, max_iter=max_iter, random_state=seed, n_jobs=threads
    )
    reading = Reading(
        delimiter=_character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or ()),
        row_names=row_names,
        use=_list(use),
        exclude=_list(exclude),
        kinds=_pairs(kinds),
        weights=weights,
    )
    table = read_table(data, reading)
    show = not (quiet or as_json)
    if show:
        from hicorex.display import show_decisions

        show_decisions(table.decisions, table.notes)
    model.set_params(marginals=table.kinds)
    path = checkpoint or Path(f"{out}.checkpoint")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _fit(model, table, path, checkpoint_every, show)
        titles = [decision.name for decision in table.decisions if decision.kind == "row names"]
        model._reading = {"missing": list(missing or ()), "row_names": titles[0] if titles else None}
        write_folder(out, model, table, replaced)
    except KeyboardInterrupt as stop:
        kept = (
            f"the fit so far is in {path}; give the same command again to go on" if path.exists() else "nothing to keep"
        )
        raise Stopped(f"stopped; {kept}.") from stop
    if checkpoint is None:
        path.unlink(missing_ok=True)
    if as_json:
        print(json.dumps({"results": str(out)} | description(model)))
    elif not quiet:
        print(summary(model))
        print(f"\nResults are in {out}{os.sep}")


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
    debug: Debug = False,
) -> None:
    """Label new samples.

    Each row gets the most likely state of every factor.

    Example:

    $ hicorex transform wine-results wine.csv --out labels.csv
    """
    from hicorex.results import labels_table

    fitted, table = _new(
        model,
        data,
        threads,
        missing=missing,
        row_names=row_names,
        delimiter=_character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
    )
    _write(labels_table(fitted, table.frame, table.row_names, table.row_title), out)


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
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say how much a model explains of new samples.

    With --out, also how surprising each of them is.

    Example:

    $ hicorex score wine-results wine.csv --out samples.csv
    """
    from hicorex.results import bounds_dict, samples_table

    if as_json and out == "-":
        raise HicorexError("--json and --out - both want standard output; give --out a file.")
    fitted, table = _new(
        model,
        data,
        threads,
        missing=missing,
        row_names=row_names,
        delimiter=_character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
    )
    if out is not None:
        _write(samples_table(fitted, table.frame, table.row_names, table.row_title), out)
    if out != "-":
        bounds = fitted.bounds(table.frame)
        print(json.dumps(bounds_dict(bounds)) if as_json else bounds)


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
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == INTERRUPTED:
            raise Stopped("stopped; nothing was written.")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Stopped as stop:
        print(f"hicorex: {stop}", file=sys.stderr, flush=True)
        os._exit(_Settings.stop_code)  # threads that still work would keep the interpreter from ending
    except Exception as error:
        if _Settings.debug:
            raise
        code = _tell(error)
    sys.exit(code)


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


def _fit(model: "Explainer", table: "Table", path: Path, every: float, show: bool) -> None:
    """Fit with a checkpoint, and show how far it is."""
    from hicorex.checkpoint import Checkpoint

    if show:
        from hicorex.display import LiveProgress
    if path.exists() and show:
        print(f"Going on from {path}.", file=sys.stderr)
    progress = LiveProgress() if show else None
    model._listener = progress
    try:
        with progress or nullcontext():
            model.fit(table.frame, sample_weight=table.weight, checkpoint=Checkpoint(path, every))
    finally:
        model._listener = None


def _estimator(layers: str, states: str, **settings: Any) -> "Explainer":
    """The model that the options ask for, not yet fitted."""
    from hicorex.hierarchy import HierarchicalCorex

    sizes: Any = "auto" if layers == "auto" else _numbers(layers, "--layers", "auto or numbers such as 20,3,1")
    numbers = _numbers(states, "--states", "a number such as 3, or one for each layer")
    if len(numbers) != 1 and len(numbers) != len(sizes):
        raise HicorexError(f"--states {states}: give one number, or one for each of the layers.")
    return HierarchicalCorex(sizes, n_states=numbers[0] if len(numbers) == 1 else numbers, **settings)


def _numbers(text: str, option: str, remedy: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise HicorexError(f"{option} {text}: give {remedy}.") from None


def _list(options: list[str] | None) -> tuple[str, ...]:
    """Names from options of several names each."""
    return tuple(name for option in options or () for name in option.split(",") if name)


def _pairs(options: list[str] | None) -> dict[str, str]:
    """Kinds by name from NAME=KIND,NAME=KIND."""
    pairs = {}
    for pair in _list(options):
        name, equals, kind = pair.rpartition("=")
        if not equals:
            raise HicorexError(f"--kinds {pair}: write NAME=KIND, with a kind of gaussian, rank or categorical.")
        pairs[name] = kind
    return pairs


def _character(text: str | None) -> str | None:
    """A delimiter as people write it."""
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text or "", text)


def _stem(data: str) -> str:
    """What results are called by default: as the file, without its endings."""
    name = "stdin" if data == "-" else Path(data).name
    for ending in (
        ".gz",
        ".bz2",
        ".zst",
        ".csv",
        ".tsv",
        ".txt",
        ".tab",
        ".parquet",
        ".feather",
        ".arrow",
        ".npy",
        ".npz",
    ):
        name = name.removesuffix(ending)
    return name or "data"


def _new(model: str, data: str, threads: int | None, **given: Any) -> tuple["Explainer", "Table"]:
    """A model and new samples for it, read as those of its fit were, but for the options given."""
    from hicorex.table import Reading, read_new

    fitted = _load(model)
    fitted.set_params(n_jobs=threads)
    for layer in fitted._stack:
        layer.set_params(n_jobs=threads)
    known = getattr(fitted, "_reading", {})
    missing = tuple(given.pop("missing") or known.get("missing", ()))
    reading = Reading(missing=missing, **given)
    return fitted, read_new(data, reading, fitted._expected(), usual_row_names=known.get("row_names"))


def _load(model: str) -> "Explainer":
    from hicorex.model_file import load

    path = Path(model)
    return load(path / "model.hicorex" if path.is_dir() else path)


def _write(table: Any, out: str) -> None:
    """A table as CSV or Parquet, to a file or standard output."""
    from hicorex.files import whole_file
    from hicorex.results import write_csv

    if out == "-":
        write_csv(table, sys.stdout.buffer)
        return
    with whole_file(out) as file:
        if out.endswith(".parquet"):
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            write_csv(table, file)
