"""One layer: its state, one step, and the loop to convergence, written once for every engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.layer.batches import Batches, FadingSums
from hicorex.layer.data import Data, Part
from hicorex.layer.starts import PrimingVariable, choose_variables
from hicorex.marginals.base import PRIOR_SAMPLES, Answers, Estimate, Questions, most_likely, take_factors

# Iterations after which factors that explain nothing are started anew from another variable.
REPRIME_AT = (4, 8, 12)
UNUSED_NATS = 1e-3


class Pace(NamedTuple):
    """How the course of a start is judged.

    window : the mean objective of so many iterations is compared with that of as many before
    smooth : the iterations whose mean tells how high a start is and how fast it grows
    patience : a start is given up when so many more steps like its best recent one would not make it the best
    """

    window: int
    smooth: int
    patience: int


PACE, PACE_OF_BATCHES = Pace(5, 1, 8), Pace(10, 5, 16)  # one batch may be luckier than another


@dataclass(frozen=True)
class State:
    """Everything that labels follow from, for the factors of all starts side by side.

    prior (k, J) is p(y_j); parameters, alpha (J, n) and questions are by block.
    """

    prior: np.ndarray
    parameters: list
    alpha: list[np.ndarray]
    questions: list[Questions]
    n_starts: int

    @property
    def n_factors(self) -> int:
        """Factors of one start."""
        return self.prior.shape[1] // self.n_starts

    def take(self, starts: list[int]) -> "State":
        """The state of some of the starts."""
        if starts == list(range(self.n_starts)):
            return self
        factors = _factors_of(starts, self.n_factors)
        return self.take_factors(factors, [q.take(starts) for q in self.questions], len(starts))

    def take_factors(self, factors: np.ndarray, questions: list[Questions], n_starts: int = 1) -> "State":
        """The state of some of the factors, as those of ``n_starts`` starts with these questions."""
        parameters = [take_factors(p, factors) for p in self.parameters]
        prior = np.ascontiguousarray(self.prior[:, factors])
        return State(prior, parameters, [a[factors] for a in self.alpha], questions, n_starts)


class PassSums(NamedTuple):
    """What one pass over the data gives: sums of labels (k, J), mean log Z_j (J,), answers by block.

    share : of the weight of the sums, that of the samples which answered all other questions
    """

    label_sum: np.ndarray
    log_z: np.ndarray
    answers: list[Answers]
    share: float = 1.0


class Best(NamedTuple):
    """The best iterate so far: its objective, its start, its state, and mean log Z_j under it (m,)."""

    objective: float
    start: int
    state: State
    log_z: np.ndarray


class Run(NamedTuple):
    """A fit on its way, all that its further iterations follow from.

    iteration : how many are done
    state, running : of the starts still running, and which these are
    histories : the objective of every start at each of its iterations
    best : the best iterate so far
    generators : the state of every start's random generator
    primed : for every start, after how many iterations factors of it were last started anew
    sums : over the batches so far, None if every pass is over all samples
    """

    iteration: int
    state: State
    running: list[int]
    histories: list[list[float]]
    best: Best
    generators: list[dict]
    primed: list[int]
    sums: FadingSums | None


class Fit(NamedTuple):
    """The best iterate of the best start, its objective at each iteration, those of all starts, and if it settled.

    log_z : (m,) its mean log Z_j, of batches as it was before the last pass
    """

    state: State
    log_z: np.ndarray
    history: np.ndarray
    histories: list[np.ndarray]
    converged: bool


def block_coefficients(state: State, data: Data, engine: Engine) -> list:
    """The state in the form that a pass uses, block by block."""

    def coefficients(b: int):
        return data.blocks[b].coefficients(state.parameters[b], state.alpha[b], state.prior, state.questions[b])

    return list(engine.map(coefficients, range(len(data.blocks))))


def add_scores(blocks: list, tiles: list, coefficients: list, map_blocks: Callable = map) -> np.ndarray:
    """The scores of some samples, summed over the blocks in order, ((k - 1) J, T)."""
    return sum(map_blocks(lambda b: blocks[b].scores(tiles[b], coefficients[b]), range(len(blocks))))


def labels_of(scores: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels p(y_j | x) (k, J, T) from scores ((k - 1) J, T), and their log normaliser (J, T) (eq:label_m)."""
    n_states, n_factors = prior.shape
    labels = np.empty((n_states, n_factors, scores.shape[1]), scores.dtype)
    log_normaliser = np.empty(labels.shape[1:], scores.dtype)
    log_prior = np.log(prior).astype(scores.dtype)
    kernels.labels.probabilities(scores.reshape(labels[1:].shape), log_prior, labels, log_normaliser)
    return labels, log_normaliser


def label_tile(state: State, blocks: list, coefficients: list, tiles: list) -> tuple[np.ndarray, np.ndarray]:
    """The labels (k, J, T) and log Z (J, T) of some samples, by block, in double precision."""
    labels, log_z = labels_of(add_scores(blocks, tiles, coefficients).astype(float), state.prior)
    for block, tile, own, alpha in zip(blocks, tiles, coefficients, state.alpha, strict=True):
        log_z -= block.log_mixture(tile, own, alpha)
    return labels, log_z


def harden(labels: np.ndarray, first: int) -> np.ndarray:
    """All of each label's probability on its most likely state, the first of equals."""
    hard = np.zeros_like(labels)
    np.put_along_axis(hard, most_likely(labels)[None], 1, axis=0)
    return hard


def run_pass(state: State, data: Data, engine: Engine, relabel: Callable | None = None) -> PassSums:
    """One pass over the data under the state: labels, log Z, and every sum that the next state needs.

    ``relabel(labels, first)`` puts other labels in the place of the state's own, for samples from the first on.
    """
    coefficients = block_coefficients(state, data, engine)
    # A function that is sent away takes along what it names: not the samples.
    blocks, prior, map_blocks = data.blocks, state.prior, engine.map_within(data.parts, data.lone_tile)

    def over_tile(part: Part, rows: slice):
        weight = part.sample_weight[rows]
        tiles = part.tile(blocks, rows, map_blocks)
        labels, log_normaliser = labels_of(add_scores(blocks, tiles, coefficients, map_blocks), prior)
        if relabel is not None:
            labels = relabel(labels, part.first + rows.start)
        answers = list(
            map_blocks(lambda b: blocks[b].measure(tiles[b], labels, weight, coefficients[b]), range(len(blocks)))
        )
        label_sum, log_z = np.empty(prior.shape), np.empty(prior.shape[1])
        kernels.labels.weighted_sums(labels.reshape(prior.size, -1), weight, label_sum.reshape(-1))
        kernels.labels.weighted_sums(log_normaliser, weight, log_z)
        return label_sum, log_z, answers

    label_sum, log_normaliser, answers = engine.sum(over_tile, data.parts)
    mixture = sum(
        block.log_mixture_sum(answers[b], coefficients[b], state.alpha[b]) for b, block in enumerate(data.blocks)
    )
    return PassSums(label_sum, (log_normaliser - mixture) / data.total, answers)


def run_batch(state: State, batch: Data, sums: FadingSums | None, engine: Engine) -> tuple[PassSums, FadingSums]:
    """One pass over a batch, with sums over this and all batches before."""
    found = run_pass(state, batch, engine)
    sums = FadingSums.after(sums, batch, found.label_sum, [answers.sums for answers in found.answers])
    answers = [own._replace(sums=all_sums) for own, all_sums in zip(found.answers, sums.sums, strict=True)]
    return PassSums(sums.label_sum, found.log_z, answers, batch.total / sums.total), sums


def update(state: State, found: PassSums, blocks: list, rule, engine: Engine) -> tuple[State, np.ndarray]:
    """The next state from the sums of a pass over these blocks, and what the objective counted twice, (J,)."""
    n_states = len(state.prior)
    prior = (found.label_sum + PRIOR_SAMPLES / n_states) / (blocks[0].total + PRIOR_SAMPLES)

    def of_block(b: int):
        block, answers = blocks[b], found.answers[b]
        parameters = block.estimate(answers.sums, found.label_sum, PRIOR_SAMPLES)
        estimate = Estimate(parameters, prior, block.dependence(parameters, prior))
        alpha = rule.alpha(block, estimate, state.questions[b], answers, state.n_starts, found.share)
        questions = rule.questions(block, estimate, alpha, answers, state.n_starts)
        return parameters, alpha, questions, rule.excess(estimate, state.alpha[b], alpha)

    parameters, alpha, questions, excess = zip(*engine.map(of_block, range(len(blocks))), strict=True)
    return State(prior, list(parameters), list(alpha), list(questions), state.n_starts), sum(excess)


def used_only(log_z: np.ndarray) -> np.ndarray:
    """Mean log Z_j, 0 for factors that explain nothing."""
    return np.where(log_z > UNUSED_NATS, log_z, 0)


def all_information(state: State, data: Data) -> list[np.ndarray]:
    """I(Y_j:X_i) of every factor and column, (J, n) by block."""
    known = []
    for block, parameters in zip(data.blocks, state.parameters, strict=True):
        shape = (state.prior.shape[1], block.n_columns)
        factors, columns = np.indices(shape).reshape(2, -1)
        information = block.information(parameters, state.prior, factors, columns)
        known.append(information.reshape(shape) * block.informative)
    return known


def clear(state: State, data: Data, factor: int) -> None:
    """Empty a factor, in place: it knows nothing, and its states are equally likely."""
    n_states = len(state.prior)
    state.prior[:, factor] = 1 / n_states
    for b, block in enumerate(data.blocks):
        for array, neutral in zip(state.parameters[b], block.neutral(n_states, 1), strict=True):
            array[:, factor] = neutral[:, 0]
        state.alpha[b][factor] = 0


def prime(state: State, data: Data, factor: int, seed: PrimingVariable, rng: np.random.Generator) -> None:
    """Start a factor anew, in place: its label follows one variable alone."""
    clear(state, data, factor)
    data.blocks[seed.block].prime(state.parameters[seed.block], factor, seed.column, seed.scores, rng)
    state.alpha[seed.block][factor, seed.column] = 1


def first_state(
    data: Data, n_factors: int, n_states: int, engine: Engine, shared: np.random.Generator, rngs: list
) -> State:
    """All starts, one a generator, each factor primed by a variable of its own."""
    n_starts = len(rngs)
    n_all = n_starts * n_factors
    state = State(
        np.full((n_states, n_all), 1 / n_states),
        [block.neutral(n_states, n_all) for block in data.blocks],
        [np.zeros((n_all, block.n_columns)) for block in data.blocks],
        [Questions() for _ in data.blocks],
        n_starts,
    )
    if not any(block.informative.any() for block in data.blocks):
        return state
    for start, chosen in enumerate(choose_variables(data, n_factors, engine, shared, rngs)):
        for j, variable in enumerate(chosen):
            prime(state, data, start * n_factors + j, variable, rngs[start])
    return state


def fit_layer(
    data: Data,
    rule: Any,
    engine: Engine,
    *,
    n_factors: int,
    n_states: int,
    n_starts: int,
    max_iter: int,
    tol: float,
    seed: np.random.SeedSequence,
    batch_size: int | None = None,
    progress: Callable = lambda *_: None,
    run: Run | None = None,
    keep: Callable[[Run], None] = lambda run: None,
) -> Fit:
    """Run all starts together and keep the best iterate of the best.

    Each iteration passes over all samples, or over a batch of so many; then a last one over all samples follows.
    ``progress(iteration, most, best, n_starts)`` and ``keep`` hear of each iteration; a ``run`` that was kept goes on.
    """
    # A generator for each start, so that a start does not depend on how many there are.
    shared, *rngs = (np.random.default_rng(s) for s in seed.spawn(n_starts + 1))
    if run is None:
        state = first_state(data, n_factors, n_states, engine, shared, rngs)
        nothing: list = [[] for _ in rngs]
        every = list(range(n_starts))
        best = Best(-np.inf, 0, state.take([0]), np.zeros(n_factors))
        run = Run(0, state, every, nothing, best, _states(rngs), [0] * n_starts, None)
    for rng, own in zip(rngs, run.generators, strict=True):
        rng.bit_generator.state = own
    begun, state, running, histories, best, _, primed, sums = run
    del run  # its first state is not needed again
    batches, pace = None, PACE
    if batch_size is not None and batch_size < data.n_samples:
        batches, pace = Batches(data, batch_size, engine, seed), PACE_OF_BATCHES
    settled = False
    for iteration in range(begun, max_iter):
        if batches is None:
            found, blocks = run_pass(state, data, engine), data.blocks
        else:
            batch = batches.take(iteration)
            found, sums = run_batch(state, batch, sums, engine)
            blocks = sums.blocks(batch)
        following, excess = update(state, found, blocks, rule, engine)
        objective = (found.log_z - excess).reshape(len(running), n_factors).sum(axis=1)
        for at, start in enumerate(running):
            histories[start].append(float(objective[at]))
        if batches is not None:
            objective = np.array([np.mean(histories[start][-pace.window :]) for start in running])
        leader = int(objective.argmax())
        leads = objective[leader] > best.objective or (batches is not None and running[leader] == best.start)
        # The first two iterates do not have the rule's own structure yet.
        if leads and iteration >= min(2, max_iter - 1):
            log_z = found.log_z[_factors_of([leader], n_factors)]
            best = Best(float(objective[leader]), running[leader], state.take([leader]), log_z)
        progress(iteration + 1, max_iter, best.objective, len(running))
        recent = {start: histories[start][primed[start] :] for start in running}
        kept = [at for at, start in enumerate(running) if not _finished(recent[start], tol, pace.window)]
        kept = [
            at for at in kept if running[at] == best.start or _hopeful(recent[running[at]], best.objective, tol, pace)
        ]
        settled = not kept
        if settled:
            break
        if iteration in REPRIME_AT:
            anew = _reprime_unused(following, found.log_z, data, [rngs[start] for start in running])
            primed = primed.copy()  # the one before may have been kept
            for at in anew:
                primed[running[at]] = iteration + 1
        state = following.take(kept)
        if sums is not None:
            sums = sums.take(_factors_of(kept, n_factors))
        running = [running[at] for at in kept]
        del found, following  # the next pass needs their room
        done = [list(history) for history in histories]
        keep(Run(iteration + 1, state, running, done, best, _states(rngs), primed, sums))
    final, log_z = best.state, best.log_z
    if batches is not None:
        found = run_pass(final, data, engine)
        log_z = found.log_z
        final, _ = update(final, found, data.blocks, rule, engine)
    courses = [np.array(history) for history in histories]
    return Fit(final, log_z, courses[best.start], courses, settled)


def _factors_of(starts: list[int], n_factors: int) -> np.ndarray:
    """The factors of some starts among those of all."""
    return (n_factors * np.array(starts)[:, None] + np.arange(n_factors)).ravel()


def _states(rngs: list[np.random.Generator]) -> list[dict]:
    return [dict(rng.bit_generator.state) for rng in rngs]


def _finished(history: list[float], tol: float, window: int) -> bool:
    """Whether the objective has not grown from one window to the next."""
    if len(history) < 2 * window:
        return False
    before, after = sum(history[-2 * window : -window]) / window, sum(history[-window:]) / window
    return after - before <= tol * max(abs(after), 1e-3)


def _hopeful(history: list[float], best: float, tol: float, pace: Pace) -> bool:
    """Whether a start may yet become the best."""
    if len(history) < pace.window:
        return True
    means = np.convolve(history[1 - pace.window :], np.full(pace.smooth, 1 / pace.smooth), mode="valid")
    step = max(0.0, float(np.diff(means).max()))
    return means[-1] + pace.patience * step > best + tol * abs(best)


def _reprime_unused(state: State, log_z: np.ndarray, data: Data, rngs: list[np.random.Generator]) -> set[int]:
    """Start factors that explain nothing anew from variables that are explained badly; return their starts."""
    used = sum(alpha.sum(axis=1) for alpha in state.alpha)
    anew: set[int] = set()
    unused = np.flatnonzero((log_z < UNUSED_NATS) | (used == 0))
    if not unused.size:
        return anew
    columns = [np.flatnonzero(block.informative) for block in data.blocks]
    places = np.concatenate([np.column_stack([np.full(own.size, b), own]) for b, own in enumerate(columns)])
    dependence = _dependences(state, data, slice(None), columns)
    for factor in unused:
        start = factor // state.n_factors
        # Rounding may make nothing a little less than nothing, which would be of endless odds.
        information = dependence[start * state.n_factors : (start + 1) * state.n_factors].max(axis=0).clip(min=0)
        if not information.size:
            break
        odds = np.exp(-information / max(information.mean(), 1e-12))
        chosen = rngs[start].choice(odds.size, p=odds / odds.sum())
        b, column = places[chosen]
        prime(state, data, int(factor), PrimingVariable(b, column, np.empty(0)), rngs[start])
        own = slice(factor, factor + 1)
        dependence[own] = _dependences(state, data, own, columns)
        anew.add(int(start))
    return anew


def _dependences(state: State, data: Data, factors: slice, columns: list[np.ndarray]) -> np.ndarray:
    """What some factors know of some columns of each block, (factors, columns of all blocks)."""
    known = [
        block.dependence(take_factors(parameters, factors), np.ascontiguousarray(state.prior[:, factors]))[:, own]
        for block, parameters, own in zip(data.blocks, state.parameters, columns, strict=True)
    ]
    return np.concatenate(known, axis=1)
