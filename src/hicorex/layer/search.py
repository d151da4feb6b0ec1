"""The search for the best factors: starts, then rounds in which the best start is improved by factors of others.

It is the same for every seed. The first start follows the leading directions of the table, the others follow variables
that cover it. All run for some iterations; their factors then are the pool. In a round, candidates from the pool and
from what the best start leaves unexplained are screened by what they promise in the place of one of its factors. Those
that promise most are tried, each as a start of its own; empty factors are filled all at once. Rounds go on until two in
a row bring nothing.
"""

from typing import NamedTuple

import numpy as np

from hicorex.engine import Engine
from hicorex.layer.candidates import Promises, Screen
from hicorex.layer.column_groups import grouped_scores
from hicorex.layer.data import Data
from hicorex.layer.directions import Directions, asking, leading_scores, rotated_scores, state_from_scores
from hicorex.layer.held import base_of, with_held
from hicorex.layer.labels import labels_of_samples
from hicorex.layer.numbers import Numbers, numbers_of
from hicorex.layer.one_pass import run_pass
from hicorex.layer.options import FitOptions
from hicorex.layer.race import Best, Race, Run
from hicorex.layer.starts import primed_starts
from hicorex.layer.state import UNUSED_NATS, State, side_by_side
from hicorex.layer.structure import Rule
from hicorex.marginals.base import Questions

# The number of the stage that passes over the whole table.
ALL_SAMPLES = -1
# Iterations after which the factors of all starts are the pool.
POOL_AT = 8
# Of more factors, many may be below the noise of leading directions: groups of columns may be the better start.
CROWD = 60
# Directions of second numbers that are candidates: the first ones, by themselves and rotated together.
SECOND_DIRECTIONS = (1, 3)
# Directions of what the best start leaves unexplained that are candidates.
RESIDUAL_DIRECTIONS = 6
# A candidate that promises to lose more than this share is not tried, nor one that is so much like a factor.
MOST_LOSS, MOST_LIKENESS = 0.01, 0.95
# A round must bring this share; so many in a row may fail, and so many are made at most.
LEAST_GAIN, MOST_FAILURES, MOST_ROUNDS = 1e-4, 2, 30
# Candidates that fill empty factors together are less alike than this, and less like the other factors.
FILLING_LIKENESS = 0.5


class Stage(NamedTuple):
    """Where a search is.

    number : 0 for the race of starts, then that of the round; ALL_SAMPLES for the race over the whole table
    run : the race
    before : the best objective before the race
    pool : the factors of all starts, as one start; None before they are there
    failures : number of rounds in a row that brought nothing
    converged : whether the best iterate comes from a race that settled
    histories : of the starts of earlier stages
    """

    number: int
    run: Run
    before: float
    pool: State | None
    failures: int
    converged: bool
    histories: list[list[float]]

    @classmethod
    def of_starts(cls, state: State) -> "Stage":
        """The race of starts, of which no iteration is done."""
        return cls(0, Run.of(state), -np.inf, None, 0, False, [])

    @property
    def of_all_samples(self) -> bool:
        """Whether the race is over the whole table, after a search by some of its rows."""
        return self.number == ALL_SAMPLES

    def round_of(self, children: State, pool: State, failures: int) -> "Stage":
        """The next round, whose starts are children of the best iterate."""
        best = self.run.best
        return Stage(self.number + 1, Run.of(children, best), best.objective, pool, failures, True, self._histories())

    def over_all_samples(self, state: State) -> "Stage":
        """The race over the whole table that begins with this state."""
        return self._replace(
            number=ALL_SAMPLES, run=Run.of(state), before=-np.inf, pool=None, histories=self._histories()
        )

    def under_way(self) -> "Stage":
        """The stage without the states of its starts, which its race goes on with."""
        return self._replace(run=self.run._replace(state=self.run.best.state))

    def after(self, race: Race) -> "Stage":
        """The stage when its race is over."""
        better = race.best.objective > self.before
        converged = race.settled if better else self.converged
        return self._replace(run=race.as_run(None), converged=converged)

    def all_histories(self, best: Best) -> list[np.ndarray]:
        """The objective at each iteration of every start of all stages; that of the one that is kept ends with it."""
        histories, led = self._histories(), self.run.best.history
        kept = next(at for at, history in enumerate(histories) if history[: len(led)] == led)
        histories[kept] = best.history
        return [np.array(history) for history in histories]

    def _histories(self) -> list[list[float]]:
        return [*self.histories, *self.run.histories]


class Search:
    """A search over samples in memory, whose directions may be known from other searches."""

    def __init__(
        self, data: Data, rule: Rule, engine: Engine, options: FitOptions, directions: Directions | None = None
    ):
        self.data, self._rule, self._engine, self._options = data, rule, engine, options
        self._directions = directions
        self._numbers: Numbers | None = None
        self._screen: Screen | None = None

    def first(self) -> Stage:
        """The race of starts, of which no iteration is done."""
        options, data = self._options, self.data
        if not any(block.informative.any() for block in data.blocks):
            return Stage.of_starts(State.neutral(data.blocks, options.n_factors, options.n_states))
        table, share = self.numbers.first, self.numbers.share
        n_starts = options.starts(data.n_samples, data.n_columns)
        known = self._directions
        scores = known.scores(options.n_factors) if known else leading_scores(table, share, options.n_factors)
        scores = scores[:n_starts]
        states = [self._factors(along, options.n_factors) for along in scores]
        if options.n_factors > CROWD:
            along = grouped_scores(table, share, options.n_factors)
            states = [self._better(states[0], self._factors(along, options.n_factors))]
        n_primed = n_starts - len(states)
        if n_primed:
            states.append(primed_starts(data, options.n_factors, options.n_states, n_primed, self._engine))
        if not options.improve:
            self._numbers = None  # only rounds have a further use for them
        starts = side_by_side(states, n_starts=n_starts)
        return Stage.of_starts(with_held(starts, options.held, data, self._rule, self._engine))

    def following(self, stage: Stage) -> Stage | None:
        """The round after a stage that is over; None if there is none to try."""
        best = stage.run.best
        gained = best.objective - stage.before > LEAST_GAIN * abs(best.objective)
        failures = 0 if gained else stage.failures + 1
        if failures == MOST_FAILURES or stage.number == MOST_ROUNDS or not self._options.improve:
            return None
        if stage.pool is None or not stage.converged or best.objective < UNUSED_NATS:
            return None  # the iterations were not enough for one race, or there is nothing to explain
        pool = stage.pool if stage.number else self._with_second(stage.pool)
        children = self._children(best, pool, failures)
        if children is None:
            return None
        return stage.round_of(children, pool, failures)

    @property
    def numbers(self) -> Numbers:
        """The columns as numbers."""
        if self._numbers is None:
            known = self._directions
            self._numbers = known.numbers if known else numbers_of(self.data, self._options.n_factors, self._engine)
        return self._numbers

    def _children(self, best: Best, pool: State, failures: int) -> State | None:
        """Children of the best iterate that promise most, side by side; None without any."""
        if self._screen is None:
            self._screen = Screen(self.data, self._engine)
        candidates = side_by_side([pool, self._unexplained(best.state)], n_starts=1)
        promises = self._screen.promises(best.state, candidates)
        n_children = self._options.children(self.data.n_samples, self.data.n_columns)
        places = self._options.held.places
        promises.gain[:, places] = -np.inf  # nothing takes the place of a factor that is held
        children = _children_of(best, promises, (failures + 1) * n_children, places)[failures * n_children :]
        if not children:
            return None
        everything = side_by_side([best.state, candidates], n_starts=1)
        nothing = [Questions() for _ in self.data.blocks]
        factors = np.concatenate(children)
        return asking(everything.take_factors(factors, nothing, len(children)), self.data, self._rule)

    def _with_second(self, pool: State) -> State:
        """The pool and the factors of directions of second numbers."""
        second, share = self.numbers.make_second(), self.numbers.share
        if not second.shape[1]:
            return pool
        found = [self._factors(rotated_scores(second, share, count), count) for count in SECOND_DIRECTIONS]
        return side_by_side([pool, *found], n_starts=1)

    def _unexplained(self, state: State) -> State:
        """Factors of the leading directions of what the factor that knows most of each column does not tell of it."""
        numbers, sample = self.numbers, self.numbers.sample
        owner = np.concatenate(
            [
                block.dependence(parameters, state.prior)[:, columns].argmax(axis=0)
                for block, parameters, columns in zip(sample.blocks, state.parameters, numbers.columns, strict=True)
            ]
        )
        labels = labels_of_samples(state, sample, self._engine)
        rest = numbers.first.T.copy()
        for j in np.unique(owner):
            label, mine = labels[:, j], np.flatnonzero(owner == j)
            weighted = label * numbers.share.astype(np.float32)
            mean = rest[mine] @ weighted.T / np.maximum(weighted.sum(axis=1), 1e-9)
            rest[mine] -= mean @ label
        n_directions = max(2, min(self._options.n_factors, RESIDUAL_DIRECTIONS))
        return self._factors(rotated_scores(rest.T, numbers.share, n_directions), n_directions)

    def _better(self, state: State, other: State) -> State:
        """Of two starts, the one whose objective is the higher at once."""
        this, that = (run_pass(of, self.data, self._engine).log_z.sum() for of in (state, other))
        return other if that > this else state

    def _factors(self, scores: np.ndarray, n_factors: int) -> State:
        """Factors that are cut from scores (R, q); where these are fewer than ``n_factors``, the rest know nothing."""
        n_found = scores.shape[1]
        states = []
        if n_found:
            rule = base_of(self._rule)
            states.append(state_from_scores(scores, self.numbers, self._options.n_states, rule, self._engine))
        if n_found < n_factors:
            states.append(State.neutral(self.data.blocks, n_factors - n_found, self._options.n_states))
        return side_by_side(states, n_starts=1)


def _children_of(best: Best, promises: Promises, most: int, held: list[int]) -> list[np.ndarray]:
    """The factors of children, (m,) each: numbers below m are those of the best iterate, then the candidates follow.

    In the first child candidates take the places of all empty factors, if there are any. The others have one factor
    replaced, once for each candidate that promises most. Factors that are held stay where they are.
    """
    factors = np.arange(len(best.log_z))
    filled = _filled(best, promises, held)
    children = [] if np.array_equal(filled, factors) else [filled]
    leaving, gain = promises.gain.argmax(axis=1), promises.gain.max(axis=1)
    others = factors.tolist()
    for f in np.argsort(-gain, kind="stable").tolist():
        if gain[f] < -MOST_LOSS * abs(best.objective) or len(children) >= most:
            break
        child = np.where(factors == leaving[f], len(factors) + f, factors)
        if promises.likeness[f, others].max() < MOST_LIKENESS and not np.array_equal(child, filled):
            others.append(len(factors) + f)
            children.append(child)
    return children


def _filled(best: Best, promises: Promises, held: list[int]) -> np.ndarray:
    """The factors of the best iterate, (m,), but candidates that promise something in the places of empty ones."""
    factors = np.arange(len(best.log_z))
    least = LEAST_GAIN * best.objective
    empty = best.log_z < least
    empty[held] = False
    others = factors[~empty].tolist()
    for place in np.flatnonzero(empty):
        unlike = promises.likeness[:, others].max(axis=1, initial=0) < FILLING_LIKENESS
        candidate = int(np.where(unlike, promises.gain[:, place], -np.inf).argmax())
        if not unlike[candidate] or promises.gain[candidate, place] < least:
            break
        factors[place] = len(factors) + candidate
        others.append(len(factors) + candidate)
    return factors
