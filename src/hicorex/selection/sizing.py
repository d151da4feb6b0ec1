"""How many factors a table has: as many as raise the bound on samples that the fit has not seen."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import count
from typing import NamedTuple

import numpy as np

from hicorex.bounds.evaluation import Evaluation, LayerEvaluator, Relabel, links_of
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
from hicorex.marginals import Gaussian, SparseCategorical

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
    """Why a layer has as many factors as it has.

    CHANCE : even one factor explains no more than chance would
    FEW_COLUMNS : there are too few columns for more factors
    NOT_ENOUGH_MORE : more factors do not explain enough more
    """

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
        """Why this size was chosen, which follows from the sizes tried."""
        if not self.chosen.explains:
            return SizeReason.CHANCE
        return SizeReason.FEW_COLUMNS if best_larger(self.n_factors, self.tried) is None else SizeReason.NOT_ENOUGH_MORE

    @property
    def chosen(self) -> Tried:
        """The size that was chosen."""
        return next(size for size in self.tried if size.n_factors == self.n_factors)


class Fold(NamedTuple):
    """Samples to fit to, and others to evaluate the fit on."""

    training: Data
    held_out: Data


class Search:
    """Held-out bounds of layers of several sizes, on the same folds.

    rule, options, seed : of the fits
    look_ahead : makes the table of one more factor above a layer, which is credited with what that explains; or None
    progress : hears of each size
    notes : keep what each size explains, by number of factors and fold
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
        self._rule, self._engine, self._seed = rule, engine, seed
        self._look_ahead, self._progress, self._notes = look_ahead, progress, notes
        self._options = replace(
            options, n_starts=N_STARTS, improve=False, max_iter=min(options.max_iter, MOST_ITERATIONS)
        )
        self._folds = _folds(data, engine, seed)
        self._sample_weight = np.concatenate([fold.held_out.sample_weight for fold in self._folds]).astype(float)
        # By number of factors and fold, what the layer explains of the held-out samples, and how many factors it uses.
        self._parts: dict[int, list[tuple[np.ndarray, int]]] = notes.recall_sizes(
            [fold.held_out.n_samples for fold in self._folds]
        )
        self.tried: dict[int, Tried] = {}

    def more_is_better(self, few: int, many: int) -> bool:
        """Whether the larger size explains more by enough."""
        return self.gain(few, many)[0] > self.least_gain(few, many)

    def gain(self, few: int, many: int) -> tuple[float, float]:
        """How much more the larger size explains, and its standard error."""
        return mean_and_error(self.explained(many) - self.explained(few), self._sample_weight)

    def least_gain(self, few: int, many: int) -> float:
        """How much more the larger size must explain."""
        each = max(self.tried[few].lower, 0) / few
        return max(LEAST_ERRORS * self.gain(few, many)[1], LEAST_SHARE * each * (many - few))

    def explained(self, n_factors: int) -> np.ndarray:
        """What a layer of this size explains of each held-out sample, (N,)."""
        done = self._parts.get(n_factors, [])
        for at in range(len(done), len(self._folds)):
            done = [*done, self._try(n_factors, at)]
            self._parts = self._parts | {n_factors: done}
            self._notes.note("sizes", self._parts)
        explained, used = zip(*done, strict=True)
        values = np.concatenate(explained)
        if n_factors not in self.tried:
            self.tried[n_factors] = Tried(n_factors, *mean_and_error(values, self._sample_weight), max(used))
            self._progress.size(self.tried[n_factors])
        return values

    def sizing(self, size: int) -> Sizing:
        """The choice of a size that was tried, with the numbers that it rests on."""
        tried = tuple(self.tried[n] for n in sorted(self.tried))
        larger = best_larger(size, tried)
        if larger is None or not self.tried[size].explains:
            return Sizing(size, tried)
        return Sizing(size, tried, larger, *self.gain(size, larger), self.least_gain(size, larger))

    def _try(self, n_factors: int, at: int) -> tuple[np.ndarray, int]:
        """What a layer of this size explains of the held-out samples of a fold, and how many factors it uses."""
        fold, name = self._folds[at], f"{n_factors} factors, fold {at}"
        state = self._fit(fold.training, n_factors, name)
        soft, soft_new = self._evaluate(state, fold)
        used = int((soft.unique @ fold.training.sample_weight > 0).sum())
        if self._look_ahead is None or used < 2:
            return soft_new.explained, used
        # What the factors have in common is not lost to a stack: one more factor above may explain it.
        hard, hard_new = self._evaluate(state, fold, harden)
        above = Fold(
            self._look_ahead(hard.labels, len(state.prior), fold.training.sample_weight, self._engine),
            self._look_ahead(hard_new.labels, len(state.prior), fold.held_out.sample_weight, self._engine),
        )
        top, top_new = self._evaluate(self._fit(above.training, 1, f"{name}, above"), above)
        of_layer, of_labels, of_top = (
            np.average(evaluation.explained, weights=fold.training.sample_weight) for evaluation in (soft, hard, top)
        )
        if of_layer >= of_labels + of_top:
            return soft_new.explained, used
        return hard_new.explained + top_new.explained, used

    def _fit(self, data: Data, n_factors: int, name: str) -> State:
        """A layer of this size; ``name`` is what notes call the fit."""
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, n_factors))
        options = replace(self._options, n_factors=n_factors)
        return fit_layer(data, self._rule, self._engine, options, seed, notes=self._notes, name=name).state

    def _evaluate(self, state: State, fold: Fold, relabel: Relabel | None = None) -> tuple[Evaluation, Evaluation]:
        """What the labels of a layer say about the samples that it was fitted to, and about the held-out ones."""
        links = links_of(state, fold.training)
        fitted = LayerEvaluator.of(state, links, fold.training, self._engine, relabel=relabel)
        new = LayerEvaluator.of(state, links, fold.held_out, self._engine, fitted.smoothed, relabel)
        return fitted.evaluate(fold.training, self._engine), new.evaluate(fold.held_out, self._engine)


def choose_size(search: Search, most: int) -> Sizing:
    """The smallest size that no larger one improves upon, ``most`` at most; 1 if that explains no more than chance."""
    size = _narrow(search, *_double(search, most))
    return search.sizing(size if search.tried[size].explains else 1)


def _double(search: Search, most: int) -> tuple[int, int, int]:
    """Double the size until that does not help, twice in a row.

    Return a size that is too small, the best one, and one that is too large. The second doubling is not tried where
    the first leaves factors without use.
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
    return low, size, failed or most + 1


def _narrow(search: Search, low: int, size: int, high: int) -> int:
    """Halve the gaps below and above the best size until there are none; ``low`` is too small, ``high`` too large."""
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
    return size


def _folds(data: Data, engine: Engine, seed: np.random.SeedSequence) -> list[Fold]:
    """Random folds of the samples, or of some of them, in memory."""
    rng = np.random.default_rng(seed.spawn(1)[0])
    rows = rng.permutation(data.n_samples)[:MOST_ROWS]
    some = data.take(rows, engine)
    place = _places(some)
    return [
        Fold(some.take(np.flatnonzero(held_out == 0), engine), some.take(np.flatnonzero(held_out), engine))
        for held_out in (place % N_FOLDS == at for at in range(min(N_FOLDS, place.max() + 1)))
    ]


def _places(data: Data) -> np.ndarray:
    """The place of each sample in turn, (N,); copies of a sample share one, so that none is held out from itself.

    Equal samples are copies if the numbers of a column tell all others apart; of categories, equal samples are usual.
    """
    in_turn = np.arange(data.n_samples)
    numbers = [b for b, block in enumerate(data.blocks) if isinstance(block, Gaussian)]
    if not numbers or any(isinstance(block, SparseCategorical) for block in data.blocks):
        return in_turn
    samples = [tuple(of_block) for of_block in data.samples]
    _, first, group = np.unique(samples[numbers[0]][0][0], return_index=True, return_inverse=True)
    if first.size in (1, data.n_samples):
        return in_turn
    original = first[group]
    copies = all((array == array[..., original]).all() for of_block in samples for array in of_block)
    return np.searchsorted(np.sort(first), original) if copies else in_turn


def best_larger(size: int, tried: Sequence[Tried]) -> int | None:
    """The larger size that explains most of held-out samples; None if none was tried."""
    larger = [other for other in tried if other.n_factors > size]
    return max(larger, key=lambda other: other.lower).n_factors if larger else None
