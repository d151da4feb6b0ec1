"""The command fit."""

import os
import signal
import sys
import warnings
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hicorex.cli import options
from hicorex.cli.ending import Settings, Stopped
from hicorex.exceptions import HicorexError, NotWrittenError
from hicorex.printing import json_text, printable

if TYPE_CHECKING:
    from hicorex.base import LayeredEstimator


def fit(
    data: options.Data,
    layers: Annotated[
        str, typer.Option(help="Factors in each layer from the bottom up, such as 20,3,1; auto finds them.")
    ] = "auto",
    states: Annotated[str, typer.Option(help="States of each factor: one number, or one for each layer.")] = "2",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results; by default named after DATA.")
    ] = None,
    overwrite: options.Overwrite = False,
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
    groups: options.Groups = None,
    missing: options.Missing = None,
    row_names: options.RowNames = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    structure: Annotated[
        options.Structure, typer.Option(help="How variables belong to factors.")
    ] = options.Structure.unique,
    starts: Annotated[int, typer.Option(min=1, help="Number of starts, of which the best is kept.")] = 10,
    max_iter: Annotated[int, typer.Option(min=1, help="Most iterations of a layer.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.")] = 0,
    batch_size: Annotated[
        int | None, typer.Option(min=2, help="Rows that an iteration looks at; all by default.")
    ] = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The scheduler of a Dask cluster whose workers do the fit.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit goes on; by default beside the results.")
    ] = None,
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between savings of the checkpoint.")] = 60,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn the factors of a table, and write a folder of results.

    The folder gets the model, tables of factors, structure, labels and samples, bounds, a graph, and a report to look
    at in a browser.

    A fit that was interrupted goes on when the same command is given again.

    Example:

    $ hicorex fit wine.csv --layers 3,1 --states 3 --out wine-results
    """
    from hicorex.cli.folder import write_folder
    from hicorex.cli.large import keeping_within, open_data, sparing, workers
    from hicorex.findings.description import description
    from hicorex.findings.groups import groupings_of
    from hicorex.findings.words import summary
    from hicorex.input.files import Reading, in_words, read_table, stream_table
    from hicorex.storage.files import claimed_folder, real_path
    from hicorex.storage.outputs import check_folder

    out = out or Path(f"{options.stem(data)}-hicorex")
    out = out if out.name not in ("", "..") else out.resolve()
    if quiet or as_json:
        warnings.simplefilter("ignore")
    limit = options.memory_size(memory)
    inputs = options.inputs(data=data, groups=groups)
    check_folder(out, overwrite, inputs)
    path = checkpoint or _beside(out)
    if checkpoint and real_path(path).is_relative_to(real_path(out)):
        raise HicorexError(f"--checkpoint {path} is in the folder of the results; put it elsewhere.")
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
        delimiter=options.character(delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or ()),
        row_names=row_names,
        use=options.name_list(use),
        exclude=options.name_list(exclude),
        kinds=options.kind_pairs(kinds),
        weights=weights,
    )
    source, in_parts, check = open_data(data, limit, always=dask is not None)
    with keeping_within(limit):
        table = stream_table(source, data, reading) if in_parts else read_table(source, reading)
    if len(table.names) == 1:
        others = in_words([decision for decision in table.decisions if decision.name != table.names[0]])
        raise HicorexError(
            f"{data} has one column to learn from, {table.names[0]!r}, and nothing to relate it to"
            f"{': ' * bool(others)}{others}; use more columns."
        )
    groupings = groupings_of(table.names, groups)
    show = not (quiet or as_json)
    if show:
        from hicorex.cli.display import show_decisions

        show_decisions(table.decisions, table.notes)
    model.set_params(marginals=table.kinds)
    made = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    keep = ExitStack()
    try:
        keep.enter_context(claimed_folder(out))
        samples = table.frame
        if in_parts:
            model.set_params(n_jobs=keep.enter_context(sparing(samples, limit, threads, out.resolve())))
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
        check()
        write_folder(out, model, table, overwrite, groupings, options.stem(data), inputs)
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
        print(json_text({"results": str(out)} | description(model).to_dict()))
    elif not quiet:
        print(summary(model))
        print()
        print(printable(f"Results are in {out}{os.sep}; open {out / 'report.html'} in a browser."))


def _beside(out: Path) -> Path:
    """The checkpoint of results: beside their folder, or within where nothing can be put beside."""
    if out.is_dir() and not os.access(out.resolve().parent, os.W_OK | os.X_OK):
        return out / ".checkpoint"
    return Path(f"{out}.checkpoint")


def _fit(model: "LayeredEstimator", samples: Any, weight: Any, path: Path, every: float, show: bool) -> None:
    """Fit with a checkpoint, and show how far it is."""
    from hicorex.storage.checkpoint import Checkpoint

    if show:
        from hicorex.cli.display import LiveProgress
    if path.is_file() and show:
        print(printable(f"Going on from {path}."), file=sys.stderr)
    Settings.last_work = f"saving what the fit has done to {path}"
    progress = LiveProgress() if show else None
    model._listener = progress
    try:
        with progress or nullcontext():
            model.fit(samples, sample_weight=weight, checkpoint=Checkpoint(path, every))
    finally:
        model._listener = None
        Settings.last_work = "ending"


def _estimator(layers: str, states: str, **settings: Any) -> "LayeredEstimator":
    """The model that the options ask for, not yet fitted."""
    from hicorex.hierarchy import HierarchicalCorex
    from hicorex.storage.layer_checks import MOST_STATES

    sizes: Any = (
        "auto" if layers == "auto" else options.whole_numbers(layers, "--layers", "auto or numbers such as 20,3,1")
    )
    numbers = options.whole_numbers(states, "--states", "a number such as 3, or one for each layer")
    if len(numbers) > 1 and (layers == "auto" or len(numbers) != len(sizes)):
        several = "one number" if layers == "auto" else "one number, or one for each of the layers"
        raise HicorexError(f"--states {states}: give {several}.")
    if not all(2 <= number <= MOST_STATES for number in numbers):
        raise HicorexError(f"--states {states}: give a factor 2 to {MOST_STATES} states.")
    model = HierarchicalCorex(sizes, n_states=numbers[0] if len(numbers) == 1 else numbers, **settings)
    model._shape()  # what is wrong with it is better told before a file is read
    return model
