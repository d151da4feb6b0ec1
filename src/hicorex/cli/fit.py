"""The command fit."""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hicorex.cli.ending import Settings, Stopped
from hicorex.cli.options import FitOptions
from hicorex.cli.parsing import stem, whole_numbers
from hicorex.exceptions import HicorexError, NotWrittenError, TooFewSamplesError
from hicorex.support.printing import json_text, printable

if TYPE_CHECKING:
    from hicorex.cli.large import Opened
    from hicorex.estimators.hierarchy import HierarchicalCorex
    from hicorex.input.files import Table


class Places(NamedTuple):
    """Where a fit writes: the folder of results, and the checkpoint."""

    out: Path
    checkpoint: Path


def fit(options: FitOptions) -> None:
    """Learn the factors of a table, and write a folder of results.

    The folder gets the model, tables of factors, structure, labels and samples, bounds, a graph, and a report to look
    at in a browser.

    A fit that was interrupted goes on when the same command is given again.

    Example:

    $ hicorex fit wine.csv --layers 3,1 --states 3 --out wine-results
    """
    from hicorex.cli.folder import write_folder
    from hicorex.findings.groups import groupings_of

    if not options.shows:
        warnings.simplefilter("ignore")
    limit = options.resources.limit
    places = _places(options)
    model = _estimator(options)
    anchors = _anchors(options)
    opened, table = _read(options, limit, places.out)
    _check_measures(options, table)
    groupings = groupings_of(table.names, options.groups)
    if options.shows:
        from hicorex.cli.display import show_decisions

        show_decisions(table.decisions, table.notes)
    model.set_params(marginals=table.kinds)
    with _kept(places.checkpoint), ExitStack() as keep:
        _learn(model, options, places, table, keep, anchors)
        table = table.as_learned(list(model.fitted_.layers[0].encoder.kinds))
        opened.check()
        write_folder(places.out, model, table, options.overwrite, groupings, stem(options.data), options.inputs())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done
    if options.checkpoint is None:
        places.checkpoint.unlink(missing_ok=True)
    _tell(options, model, places.out)


def beside(out: Path) -> Path:
    """The checkpoint of results: beside their folder, or within where nothing can be put beside."""
    if out.is_dir() and not os.access(out.resolve().parent, os.W_OK | os.X_OK):
        return out / ".checkpoint"
    return Path(f"{out}.checkpoint")


def _places(options: FitOptions) -> Places:
    """Where to write; what must not or cannot be written to is refused."""
    from hicorex.storage.files import real_path
    from hicorex.storage.outputs import check_folder

    out = options.out or Path(f"{stem(options.data)}-hicorex")
    out = out if out.name not in ("", "..") else out.resolve()
    check_folder(out, options.overwrite, options.inputs())
    checkpoint = options.checkpoint or beside(out)
    if options.checkpoint and real_path(checkpoint).is_relative_to(real_path(out)):
        raise HicorexError(f"--checkpoint {checkpoint} is in the folder of the results; put it elsewhere.")
    return Places(out, checkpoint)


def _read(options: FitOptions, limit: int | None, out: Path) -> tuple["Opened", "Table"]:
    """The table, and how it was opened."""
    from hicorex.cli.large import keeping_within, open_data, scratch_beside
    from hicorex.input.words import decisions_in_words

    opened = open_data(options.data, limit, always=options.dask is not None)
    with keeping_within(limit), scratch_beside(out.resolve()):
        table = opened.table(options.reading())
    if len(table.names) == 1:
        others = decisions_in_words([decision for decision in table.decisions if decision.name != table.names[0]])
        raise HicorexError(
            f"{options.data} has one column to learn from, {table.names[0]!r}, and nothing to relate it to"
            f"{': ' * bool(others)}{others}; use more columns."
        )
    return opened, table


def _check_measures(options: FitOptions, table: "Table") -> None:
    """Refuse numbers of folds that the table does not have, and of fits to halves."""
    from hicorex.estimators.crossfit import N_FOLDS
    from hicorex.selection.folds import FEWEST_OF_FOLD

    most = max(N_FOLDS, table.frame.shape[0] // FEWEST_OF_FOLD)
    if options.folds == 1 or options.folds > most:
        raise HicorexError(
            f"--folds {options.folds}: give from 2 to {most:,} for this table, or 0 to leave cross-fitting out."
        )
    if options.stability == 1:
        raise HicorexError("--stability 1: give 2 fits to halves or more, or 0 to leave them out.")


@contextmanager
def _kept(checkpoint: Path) -> Iterator[None]:
    """Say what is left of a fit that is stopped or cannot be written; folders that stay empty are removed."""
    made = [folder for folder in checkpoint.parents if not folder.exists()]
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    left = f"fit so far is in {checkpoint}; give the same command again to go on."
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Stopped(f"stopped; the {left}" if checkpoint.exists() else "stopped; nothing to keep.") from stop
    except NotWrittenError as error:
        if not checkpoint.exists():
            raise
        raise HicorexError(f"{error} The {left}") from error
    finally:
        for folder in made:
            with suppress(OSError):  # those that hold something stay
                folder.rmdir()


def _anchors(options: FitOptions) -> dict[Any, list[Any]] | None:
    """The variables that anchor factors."""
    from hicorex.findings.named_lists import anchors_from

    return None if options.anchors is None else anchors_from(options.anchors)


def _learn(
    model: "HierarchicalCorex",
    options: FitOptions,
    places: Places,
    table: "Table",
    keep: ExitStack,
    anchors: dict[Any, list[Any]] | None,
) -> None:
    """Fit the model; ``keep`` holds what must stay until the results are written."""
    from hicorex.cli.large import sparing
    from hicorex.cli.workers import workers
    from hicorex.storage.files import claimed_folder

    keep.enter_context(claimed_folder(places.out))
    samples, resources = table.frame, options.resources
    if table.in_parts:
        spared = sparing(samples, resources.limit, resources.threads, places.out.resolve())
        model.set_params(n_jobs=keep.enter_context(spared))
    if options.dask is not None:
        samples = keep.enter_context(workers(options.dask, samples))
    if anchors is not None:
        # A table of numbers alone knows no names of its columns.
        number = {name: i for i, name in enumerate(table.names)}
        anchors = {factor: [number.get(name, name) for name in names] for factor, names in anchors.items()}
    _fit(model, options, samples, table.sample_weight, places.checkpoint, anchors)
    model.with_reading(
        {
            "missing": list(options.text.missing or ()),
            "row_names": table.row_names_column,
            "words": table.words,
            "forms": table.forms,
            "names": None if model.fitted_.names is not None else table.names,
        }
    )


def _fit(
    model: "HierarchicalCorex", options: FitOptions, samples: Any, weight: Any, checkpoint: Path, anchors: Any
) -> None:
    """Fit with a checkpoint, and show how far it is."""
    from hicorex.layer.progress import heard_by
    from hicorex.storage.checkpoint import Checkpoint

    if options.shows:
        from hicorex.cli.display import LiveProgress
    if checkpoint.is_file() and options.shows:
        print(printable(f"Going on from {checkpoint}."), file=sys.stderr)
    Settings.last_work = f"saving what the fit has done to {checkpoint}"
    progress = LiveProgress() if options.shows else None
    try:
        with progress or nullcontext(), heard_by(progress):
            saved = Checkpoint(checkpoint, options.checkpoint_every)
            model.fit(samples, sample_weight=weight, checkpoint=saved, anchors=anchors)
            _measure(model, options)
    finally:
        Settings.last_work = "ending"


def _measure(model: "HierarchicalCorex", options: FitOptions) -> None:
    """Find out what of the model holds for other samples, as far as that is asked for."""
    from hicorex.estimators.resampling import QUICK_RESAMPLES

    n_resamples = options.stability
    if n_resamples is None:
        n_resamples = QUICK_RESAMPLES if model.resamples_quickly else 0
    model.residual_pairs()
    with suppress(TooFewSamplesError):  # which the summary says
        if options.folds:
            model.with_cross_fit(options.folds)
        if n_resamples:
            model.stability(n_resamples=n_resamples)


def _tell(options: FitOptions, model: "HierarchicalCorex", out: Path) -> None:
    """Print what was learned."""
    from hicorex.findings.description import description
    from hicorex.findings.words import summary

    if options.as_json:
        print(json_text({"results": str(out)} | description(model).to_dict()))
    elif not options.quiet:
        print(summary(model))
        print()
        print(printable(f"Results are in {out}{os.sep}; open {out / 'report.html'} in a browser."))


def _estimator(options: FitOptions) -> "HierarchicalCorex":
    """The model that the options ask for, not yet fitted."""
    from hicorex.estimators.hierarchy import HierarchicalCorex

    sizes: Any = "auto"
    if options.layers != "auto":
        sizes = whole_numbers(options.layers, "--layers", "auto or numbers such as 20,3,1")
    model = HierarchicalCorex(
        sizes,
        n_states=_states(options, sizes),
        structure=options.structure.value,
        n_init=options.starts or "auto",
        max_iter=options.max_iter,
        batch_size=options.batch_size,
        parsimony=options.parsimony,
        random_state=options.seed,
        n_jobs=options.resources.threads,
    )
    model.shape()  # what is wrong with it is better told before a file is read
    return model


def _states(options: FitOptions, sizes: Any) -> Any:
    """The numbers of states that --states asks for: "auto", one, or as many as there are layers."""
    from hicorex.storage.layer_checks import MOST_STATES

    if options.states == "auto":
        return "auto"
    numbers = whole_numbers(options.states, "--states", "auto, a number such as 3, or one for each layer")
    to_be_found = sizes == "auto"
    if len(numbers) > 1 and (to_be_found or len(numbers) != len(sizes)):
        several = "auto or one number" if to_be_found else "auto, one number, or one for each of the layers"
        raise HicorexError(f"--states {options.states}: give {several}.")
    if not all(2 <= number <= MOST_STATES for number in numbers):
        raise HicorexError(f"--states {options.states}: give a factor 2 to {MOST_STATES} states.")
    return numbers[0] if len(numbers) == 1 else numbers
