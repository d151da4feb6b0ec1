"""The algorithm: one layer, from its first state to the best one (eq:fullopt)."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.directions import Directions, asking
from hicorex.layer.notes import NO_NOTES, Notes
from hicorex.layer.numbers import some_rows
from hicorex.layer.options import FitOptions
from hicorex.layer.passes import AllSamples, Passes, passes_over
from hicorex.layer.progress import SILENT, Progress
from hicorex.layer.race import Race
from hicorex.layer.search import POOL_AT, Search, Stage
from hicorex.layer.state import State, side_by_side
from hicorex.layer.step import update
from hicorex.layer.structure import Rule

# Iterations after which factors that explain nothing are started anew from another variable.
REPRIME_AT = (4, 8, 12)
# The search looks at this number of cells, but at no more and no fewer rows than these, if there are as many.
SEARCH_CELLS, MOST_SEARCH_ROWS, FEWEST_SEARCH_ROWS = 2**25, 20_000, 2000
# Cells of a dense table that cost as much as one that a sparse table stores.
CELLS_OF_SPARSE = 128

# Batches whose samples a search looks at, if a fit is by batches.
BATCHES_TO_SEARCH = 4


class Fit(NamedTuple):
    """The best iterate of all, the objective of the iterates that led to it, that of all starts, and if it settled.

    log_z : (m,) its mean log Z_j, of batches as it was before the last pass
    """

    state: State
    log_z: np.ndarray
    history: np.ndarray
    histories: list[np.ndarray]
    converged: bool


def fit_layer(
    data: Data,
    rule: Rule,
    engine: Engine,
    options: FitOptions,
    seed: np.random.SeedSequence,
    progress: Progress = SILENT,
    notes: Notes = NO_NOTES,
    name: str = "fit",
    directions: Directions | None = None,
    begin: State | None = None,
) -> Fit:
    """Search for the best factors by the objective of eq:fullopt, the same ones whatever the seed.

    Large tables are searched by some of their rows. Then the best factors are fitted to all samples, or to batches that
    the seed draws. A fit that ``notes`` hold under this name goes on where it was. ``directions`` are those of the
    samples, if fits of other sizes share them. A fit that is to ``begin`` with a state goes on from there, and
    searches no further.
    """
    options = replace(options, held=options.held.seen_in(data))
    rule = options.held.rule(rule, data, options.n_factors)
    search = Search(some_rows(data, _search_rows(data, options), engine), rule, engine, options, directions)
    of_some, of_all = AllSamples(search.data, engine), None
    stage = notes.recall_stage(name, data.blocks, options)
    if stage is None:
        stage = search.first() if begin is None else Stage.of_starts(asking(rule.kept(begin), search.data, rule))
    while True:
        if stage.of_all_samples and of_all is None:
            of_all = passes_over(data, options.batch_size, engine, seed, stage.run.sums)
        passes = of_all or of_some
        race = Race(stage.run, options, passes.pace, all_run_until=POOL_AT if stage.number == 0 else 0)
        stage = _climb(stage.under_way(), race, passes, rule, engine, progress, notes, name)
        following = None if stage.of_all_samples or begin is not None else search.following(stage)
        if following is None and not stage.of_all_samples and search.data.n_samples < data.n_samples:
            following = stage.over_all_samples(asking(stage.run.best.state, data, rule))
        if following is None:
            break
        stage = following
    best = (of_all or of_some).conclude(stage.run.best, rule)
    return Fit(best.state, best.log_z, np.array(best.history), stage.all_histories(best), stage.converged)


def _climb(
    stage: Stage,
    race: Race,
    passes: Passes,
    rule: Rule,
    engine: Engine,
    progress: Progress,
    notes: Notes,
    name: str,
) -> Stage:
    """Run the race of a stage until no start has any more to win.

    Each iteration passes over all samples or over a batch, and makes one step of labels, marginals and structure.
    """
    most = race.options.max_iter
    for iteration in range(race.iteration, most):
        sums, blocks = passes.next(race.state, iteration)
        following, excess = update(race.state, sums, blocks, rule, engine)
        race.record(sums.log_z, excess)
        progress.iteration(iteration + 1, most, race.best.objective, len(race.running))
        if stage.number == 0 and iteration + 1 == POOL_AT:
            stage = stage._replace(pool=side_by_side([following], n_starts=1))
        if race.settled:
            break
        if stage.number == 0 and iteration in REPRIME_AT:
            race.prime_unused(following, sums.log_z, passes.data)
        passes.keep_factors(race.advance(following))
        del sums, following  # the next pass needs their room
        notes.note_stage(name, stage._replace(run=race.as_run(passes.fading)))
    return stage.after(race)


def _search_rows(data: Data, options: FitOptions) -> int:
    """The number of rows that a search looks at."""
    row_cells = sum(min(block.n_columns, CELLS_OF_SPARSE * block.stored_cells) for block in data.blocks)
    rows = int(np.clip(SEARCH_CELLS // max(row_cells, 1), FEWEST_SEARCH_ROWS, MOST_SEARCH_ROWS))
    return rows if options.batch_size is None else min(rows, BATCHES_TO_SEARCH * options.batch_size)
