"""The algorithm: one layer, from its first state to the best one (eq:fullopt)."""

from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.data import Data
from hicorex.layer.notes import NO_NOTES, Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.passes import passes_over
from hicorex.layer.progress import SILENT, Progress
from hicorex.layer.race import Best, Race, Run, generator_states
from hicorex.layer.starts import first_state
from hicorex.layer.state import State
from hicorex.layer.step import update
from hicorex.layer.structure import Rule

# Iterations after which factors that explain nothing are started anew from another variable.
REPRIME_AT = (4, 8, 12)


class Fit(NamedTuple):
    """The best iterate of the best start, its objective at each iteration, those of all starts, and if it settled.

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
) -> Fit:
    """Run all starts together and keep the best iterate of the best, by the objective of eq:fullopt.

    Each iteration passes over all samples or over a batch, and makes one step of labels, marginals and structure. A
    run that ``notes`` hold under this name goes on where it was.
    """
    # A generator for each start, so that a start does not depend on the number of starts.
    shared, *rngs = (np.random.default_rng(child) for child in seed.spawn(options.n_starts + 1))
    run = notes.recall_run(name, data.blocks, options) or _first_run(data, options, engine, shared, rngs)
    passes = passes_over(data, options.batch_size, engine, seed, run.sums)
    race = Race(run, rngs, options, passes.pace)
    del run  # its first state is not needed again
    for iteration in range(race.iteration, options.max_iter):
        sums, blocks = passes.next(race.state, iteration)
        following, excess = update(race.state, sums, blocks, rule, engine)
        race.record(sums.log_z, excess)
        progress.iteration(iteration + 1, options.max_iter, race.best.objective, len(race.running))
        if race.settled:
            break
        if iteration in REPRIME_AT:
            race.prime_unused(following, sums.log_z, data)
        passes.keep_factors(race.advance(following))
        del sums, following  # the next pass needs their room
        notes.note_run(name, race.as_run(passes.fading))
    state, log_z = passes.conclude(race.best, rule)
    histories = [np.array(history) for history in race.histories]
    return Fit(state, log_z, histories[race.best.start], histories, race.settled)


def _first_run(
    data: Data, options: FitOptions, engine: Engine, shared: np.random.Generator, rngs: list[np.random.Generator]
) -> Run:
    """A run of which no iteration is done."""
    state = first_state(data, options.n_factors, options.n_states, engine, shared, rngs)
    best = Best(-np.inf, 0, state.take([0]), np.zeros(options.n_factors))
    histories: list[list[float]] = [[] for _ in rngs]
    return Run(0, state, list(range(len(rngs))), histories, best, generator_states(rngs), [0] * len(rngs), None)
