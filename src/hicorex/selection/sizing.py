"""How many factors a table has: as many as raise the bound on samples that the fit has not seen."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.evaluation import LayerEvaluator, links_of
from hicorex.engine import Engine
from hicorex.information import mean_and_error
from hicorex.layer.data import Data
from hicorex.layer.labels import harden
from hicorex.layer.loop import fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import Progress
from hicorex.layer.state import State
from hicorex.layer.structure import Rule

N_FOLDS = 3
# Rows beyond this many add little to the choice of a size.
MOST_ROWS = 6000
N_STARTS = 4
MOST_ITERATIONS = 50
# A further factor must add this share of what the others add on average, or it only splits one of them.
LEAST_SHARE = 0.1
# Standard errors by which a difference must exceed zero.
LEAST_ERRORS = 2.0

# Makes the table of the next layer of labels (m, N), the number of states and weights (N,).
LabelEncoder = Callable[[np.ndarray, int, np.ndarray, Engine], Data]


class Tried(NamedTuple):
    """A number of factors that was tried.

    lower, lower_stderr : the lower bound on held-out samples and its standard error, in nats
    used : how many of the factors explain anything
    """

    n_factors: int
    lower: float
    lower_stderr: float
    used: int

    @property
    def explains(self) -> bool:
        """Whether this many factors explain more than chance would."""
        return self.lower > LEAST_ERRORS * self.lower_stderr


class SizeReason(StrEnum):
    """Why a layer has as many factors as it has."""

    CHANCE = "chance"
    FEW_COLUMNS = "few columns"
    NOT_ENOUGH_MORE = "not enough more"


class Sizing(NamedTuple):
    """The number of factors that was chosen, and what the choice rests on.

    tried : the sizes that were tried, rising
    larger : the best of the larger sizes; this and the rest are None where the reason is another
    gain, gain_stderr : how much more it explains of held-out samples, and its standard error, in nats
    least_gain : how much more it would have to explain
    """

    n_factors: int
    tried: tuple[Tried, ...]
    larger: int | None = None
    gain: float | None = None
    gain_stderr: float | None = None
    least_gain: float | None = None

    @property
    def reason(self) -> SizeReason:
        """Why this size was chosen: what it explains may be chance; there may be too few columns for more factors;
        or more factors do not explain enough more."""
        if not self.chosen.explains:
            return SizeReason.CHANCE
        return SizeReason.FEW_COLUMNS if best_larger(self.n_factors, self.tried) is None else SizeReason.NOT_ENOUGH_MORE

    @property
    def chosen(self) -> Tried:
        """The size that was chosen."""
        return next(size for size in self.tried if size.n_factors == self.n_factors)


class Search:
    """Held-out bounds of layers of several sizes on the same folds.

    ``look_ahead`` credits a layer with what one more factor above it explains, whose table it makes; None does not.
    ``progress`` hears of each size; what is found out goes to ``notes``, by number of factors and fold.
    """

    def __init__(
        self,
        data: Data,
        rule: Rule,
        engine: Engine,
        options: FitOptions,
        seed: np.random.SeedSequence,
        look_ahead: LabelEncoder | None,
        progress: Progress,
        notes: Notes,
    ):
        rng = np.random.default_rng(seed.spawn(1)[0])
        rows = rng.permutation(data.n_samples)[:MOST_ROWS]
        some, places = data.take(rows, engine), np.arange(rows.size)
        self._folds = [
            (some.take(np.delete(places, np.s_[fold::N_FOLDS]), engine), some.take(places[fold::N_FOLDS], engine))
            for fold in range(min(N_FOLDS, rows.size))
        ]
        self._weight = np.concatenate([held_out.sample_weight for _, held_out in self._folds]).astype(float)
        self._rule, self._engine, self._seed = rule, engine, seed
        self._look_ahead, self._progress = look_ahead, progress
        self._options = replace(options, n_starts=N_STARTS, max_iter=min(options.max_iter, MOST_ITERATIONS))
        self._notes = notes
        self._parts: dict[int, list[tuple[np.ndarray, int]]] = notes.recall_sizes(
            [held_out.n_samples for _, held_out in self._folds]
        )
        self.tried: dict[int, Tried] = {}

    def explained(self, n_factors: int) -> np.ndarray:
        """What a layer of this size explains of each held-out sample, (N,)."""
        done = self._parts.get(n_factors, [])
        for fold in range(len(done), len(self._folds)):
            done = [*done, self._fold(n_factors, fold)]
            self._parts = self._parts | {n_factors: done}
            self._notes.note("sizes", self._parts)
        explained, used = zip(*done, strict=True)
        values = np.concatenate(explained)
        if n_factors not in self.tried:
            self.tried[n_factors] = Tried(n_factors, *mean_and_error(values, self._weight), max(used))
            self._progress.size(self.tried[n_factors])
        return values

    def _fold(self, n_factors: int, fold: int) -> tuple[np.ndarray, int]:
        """What a layer fitted to some samples explains of others, and how many of its factors are in use."""
        training, held_out = self._folds[fold]
        name = f"{n_factors} factors, fold {fold}"
        state = self._fit(training, n_factors, name)
        links = links_of(state, training)
        own, fitted = self._explain(state, links, training)
        used = int((fitted.unique @ training.sample_weight > 0).sum())
        _, new = self._explain(state, links, held_out, own)
        if self._look_ahead is None or used < 2:
            return new.explained, used
        # What the factors have in common is not lost to a stack: one more factor above may explain it.
        own, feeding = self._explain(state, links, training, relabel=harden)
        _, fed = self._explain(state, links, held_out, own, harden)
        n_states = len(state.prior)
        below = self._look_ahead(feeding.labels, n_states, training.sample_weight, self._engine)
        top = self._fit(below, 1, f"{name}, above")
        links = links_of(top, below)
        own, above = self._explain(top, links, below)
        means = [np.average(found.explained, weights=training.sample_weight) for found in (fitted, feeding, above)]
        if means[0] >= means[1] + means[2]:
            return new.explained, used
        new_below = self._look_ahead(fed.labels, n_states, held_out.sample_weight, self._engine)
        _, on_top = self._explain(top, links, new_below, own)
        return fed.explained + on_top.explained, used

    def _explain(
        self, state: State, links: list, data: Data, trained: LayerEvaluator | None = None, relabel: Any = None
    ):
        """How a layer looks at samples, by its own view of those of its fit, and what it says of each."""
        joints = None if trained is None else trained.smoothed
        seen = LayerEvaluator.of(state, links, data, self._engine, joints, relabel)
        return seen, seen.evaluate(data, self._engine)

    def _fit(self, data: Data, n_factors: int, name: str) -> State:
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, n_factors))
        options = replace(self._options, n_factors=n_factors)
        return fit_layer(data, self._rule, self._engine, options, seed, notes=self._notes, name=name).state

    def gain(self, few: int, many: int) -> tuple[float, float]:
        """How much more the larger size explains, and its standard error."""
        return mean_and_error(self.explained(many) - self.explained(few), self._weight)

    def least_gain(self, few: int, many: int) -> float:
        """How much more the larger size must explain."""
        each = max(self.tried[few].lower, 0) / few
        return max(LEAST_ERRORS * self.gain(few, many)[1], LEAST_SHARE * each * (many - few))

    def more_is_better(self, few: int, many: int) -> bool:
        """Whether the larger size explains more by enough."""
        return self.gain(few, many)[0] > self.least_gain(few, many)


def choose_size(search: Search, most: int) -> Sizing:
    """The smallest size that no larger one improves upon: doubled until none does, then the gaps are halved.

    1 if that explains no more than chance.
    """
    low, size, failed = 0, 1, 0
    search.explained(size)
    for step in (2**power for power in count(1)):
        if step > most or (failed and search.tried[failed].used < failed):
            break
        if search.more_is_better(size, step):
            low, size, failed = size, step, 0
        elif failed:
            break
        else:
            failed = step
    high = failed or most + 1
    while size - low > 1 or high - size > 1:
        if high - size > 1:
            more = (size + high) // 2
            if search.more_is_better(size, more):
                low, size = size, more
            else:
                high = more
        if size - low > 1:
            fewer = (low + size) // 2
            if search.more_is_better(fewer, size):
                low = fewer
            else:
                size, high = fewer, size
    if not search.tried[size].explains:
        size = 1
    tried = tuple(search.tried[n] for n in sorted(search.tried))
    larger = best_larger(size, tried)
    if larger is None or not search.tried[size].explains:
        return Sizing(size, tried)
    return Sizing(size, tried, larger, *search.gain(size, larger), search.least_gain(size, larger))


def best_larger(size: int, tried: Sequence[Tried]) -> int | None:
    """The larger size that explains most of held-out samples; None if none was tried."""
    larger = [other for other in tried if other.n_factors > size]
    return max(larger, key=lambda other: other.lower).n_factors if larger else None
