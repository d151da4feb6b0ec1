"""Trials of sizes: layers of one start, fitted to some of the samples and evaluated on the others.

Every size is tried on the same folds, so that sizes are compared sample by sample. A layer is credited with what a
stack would explain: what its factors have in common is not lost, for one more factor above them may explain it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hicorex.bounds.evaluation import Evaluation, LayerEvaluator, Relabel, links_of
from hicorex.engine import Engine
from hicorex.information import mean_and_error
from hicorex.layer.data import Data
from hicorex.layer.directions import Directions
from hicorex.layer.held import NOTHING_HELD, Held
from hicorex.layer.labels import harden
from hicorex.layer.loop import fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.state import UNUSED_NATS, State
from hicorex.layer.structure import Rule
from hicorex.marginals import Gaussian, SparseCategorical
from hicorex.selection.likeness import reproducibility

N_FOLDS = 3
# Rows beyond this many add little to the choice of a size.
MOST_ROWS = 6000
# A trial is not fitted to the end, which gains nothing on held-out samples.
MOST_ITERATIONS, TOL = 40, 2e-3
# One factor above others is soon what it will be.
MOST_ITERATIONS_ABOVE = 8

# Nothing of a trial is drawn by chance.
SEED = np.random.SeedSequence(0)

# A column of fewer different numbers is as one of categories: equal samples are usual, and no copies.
FEW_VALUES = 6

# Standard errors by which a difference must exceed zero.
LEAST_ERRORS = 2.0

# Makes the table of the next layer of labels (m, N), the number of states and weights (N,).
LabelEncoder = Callable[[np.ndarray, int, np.ndarray, Engine], Data]


class Size(NamedTuple):
    """The size of a layer."""

    n_factors: int
    n_states: int


class Tried(NamedTuple):
    """A size that was tried.

    lower, lower_stderr : the lower bound on held-out samples and its standard error, in nats
    used : how many of the factors explain anything
    n_states : None in files of early versions
    reproducibility : how well the factor that is found again worst in other folds is found again, from 0 to 1
    lost : how much less the layer explains by its most likely states, in nats; this and the one before are None for a
        size that was tried on one fold alone
    """

    n_factors: int
    lower: float
    lower_stderr: float
    used: int
    n_states: int | None = None
    reproducibility: float | None = None
    lost: float | None = None

    @property
    def explains(self) -> bool:
        """Whether this size explains more than chance would."""
        return self.lower > LEAST_ERRORS * self.lower_stderr


class Trial(NamedTuple):
    """What became of a size on one fold.

    alone : (T,), what the layer explains of each held-out sample, in nats
    hard : (T,), what it explains by its most likely states
    stacked : (T,), that, and what one factor above explains of those states
    labels : (u, N), the most likely states of the factors in use, of all samples
    """

    alone: np.ndarray
    hard: np.ndarray
    stacked: np.ndarray
    labels: np.ndarray


class Fold(NamedTuple):
    """Samples to fit to, others to evaluate the fit on, and the places (T,) of these among all.

    directions : of the samples to fit to, which all sizes share; None where only one size is fitted
    """

    training: Data
    held_out: Data
    places: np.ndarray
    directions: Directions | None = None


class Trials:
    """Tries sizes, each once, and remembers what became of them.

    rule, options : of the fits
    encode_labels : makes the table of the factor above a layer
    notes : keep the trials by size and fold
    """

    def __init__(
        self,
        data: Data,
        rule: Rule,
        engine: Engine,
        options: FitOptions,
        encode_labels: LabelEncoder,
        notes: Notes,
    ):
        self._rule, self._engine, self._encode_labels = rule, engine, encode_labels
        self._options = replace(
            options,
            n_starts=1,
            improve=False,
            batch_size=None,
            tol=max(options.tol, TOL),
        )
        self._folds, self._weight_of_all = _folds(data, engine)
        self._notes = notes
        self._trials: dict[Size, list[Trial]] = {
            Size(*size): [Trial(*trial) for trial in done]
            for size, done in notes.recall_sizes([fold.held_out.n_samples for fold in self._folds]).items()
        }

    def scout(self, size: Size) -> Tried:
        """What became of a size on one fold alone."""
        return self._tried(size, 1)

    def on_all_folds(self, size: Size) -> Tried:
        """What became of a size on all folds."""
        tried, done = self._tried(size, len(self._folds)), self._done(size, len(self._folds))
        lost = np.concatenate([trial.alone - trial.hard for trial in done])
        return tried._replace(
            reproducibility=reproducibility([trial.labels for trial in done], size.n_states, self._weight_of_all),
            lost=float(np.average(lost, weights=self._weight(len(self._folds)))),
        )

    def gain(self, few: Size, many: Size) -> tuple[float, float]:
        """How much more one size explains than another on the folds of both, and the standard error of that."""
        n_folds = min(len(self._trials.get(size, [])) for size in (few, many))
        one, other = (self._explained(size, n_folds) for size in (few, many))
        return mean_and_error(other - one, self._weight(n_folds))

    def _tried(self, size: Size, n_folds: int) -> Tried:
        bound = mean_and_error(self._explained(size, n_folds), self._weight(n_folds))
        used = max(len(trial.labels) for trial in self._done(size, n_folds))
        return Tried(size.n_factors, *bound, used, size.n_states)

    def _explained(self, size: Size, n_folds: int) -> np.ndarray:
        """What a layer of this size explains of each held-out sample of the first folds, or a stack if that is more."""
        done, weight = self._done(size, n_folds), self._weight(n_folds)
        alone, stacked = (np.concatenate([getattr(trial, of) for trial in done]) for of in ("alone", "stacked"))
        return alone if weight @ alone >= weight @ stacked else stacked

    def _weight(self, n_folds: int) -> np.ndarray:
        """The weights of the held-out samples of the first folds."""
        return np.concatenate([fold.held_out.sample_weight for fold in self._folds[:n_folds]]).astype(float)

    def _done(self, size: Size, n_folds: int) -> list[Trial]:
        """The trials of a size on the first folds."""
        done = self._trials.get(size, [])
        for at in range(len(done), n_folds):
            done = [*done, self._try(size, at)]
            self._trials = self._trials | {size: done}
            self._notes.note("sizes", {tuple(key): [tuple(trial) for trial in of] for key, of in self._trials.items()})
        return done[:n_folds]

    def _try(self, size: Size, at: int) -> Trial:
        """Fit a layer of this size to the samples of a fold, and evaluate it on the others."""
        fold, name = self._folds[at], f"{size.n_factors} factors of {size.n_states} states, fold {at}"
        state = self._fit(fold, size, name)
        soft, soft_new = self._evaluate(state, fold)
        used = np.average(soft.unique, axis=1, weights=fold.training.sample_weight) > UNUSED_NATS
        labels = np.empty((int(used.sum()), self._weight_of_all.size), np.uint8)
        labels[:, fold.places] = soft_new.labels[used]
        labels[:, np.delete(np.arange(labels.shape[1]), fold.places)] = soft.labels[used]
        if len(labels) < 2:
            return Trial(soft_new.explained, soft_new.explained, soft_new.explained, labels)
        hard, hard_new = self._evaluate(state, fold, harden)
        above = Fold(
            self._encode_labels(hard.labels, size.n_states, fold.training.sample_weight, self._engine),
            self._encode_labels(hard_new.labels, size.n_states, fold.held_out.sample_weight, self._engine),
            fold.places,
        )
        top = self._fit(above, Size(1, size.n_states), f"{name}, above", MOST_ITERATIONS_ABOVE, NOTHING_HELD)
        _, top_new = self._evaluate(top, above)
        return Trial(soft_new.explained, hard_new.explained, hard_new.explained + top_new.explained, labels)

    def _fit(
        self, fold: Fold, size: Size, name: str, most_iterations: int = MOST_ITERATIONS, held: Held | None = None
    ) -> State:
        """A layer of this size; ``name`` is what notes call the fit, ``held`` is by default that of all."""
        max_iter = min(self._options.max_iter, most_iterations)
        options = replace(self._options, n_factors=size.n_factors, n_states=size.n_states, max_iter=max_iter)
        if held is not None:
            options = replace(options, held=held)
        data, rule, engine = fold.training, self._rule, self._engine
        fit = fit_layer(data, rule, engine, options, SEED, notes=self._notes, name=name, directions=fold.directions)
        return fit.state

    def _evaluate(self, state: State, fold: Fold, relabel: Relabel | None = None) -> tuple[Evaluation, Evaluation]:
        """What the labels of a layer say about the samples that it was fitted to, and about the held-out ones."""
        links = links_of(state, fold.training)
        fitted = LayerEvaluator.of(state, links, fold.training, self._engine, relabel=relabel)
        new = LayerEvaluator.of(state, links, fold.held_out, self._engine, fitted.smoothed, relabel)
        return fitted.evaluate(fold.training, self._engine), new.evaluate(fold.held_out, self._engine)


def _folds(data: Data, engine: Engine) -> tuple[list[Fold], np.ndarray]:
    """Random folds of the samples, or of some of them, in memory, and the weights of all of these (N,).

    They are the same ones for every seed, and so is the size that is chosen.
    """
    rows = np.random.default_rng(0).permutation(data.n_samples)[:MOST_ROWS]
    some = data.take(rows, engine)
    place = places_of(some)
    folds = []
    for at in range(min(N_FOLDS, place.max() + 1)):
        held_out = place % N_FOLDS == at
        places = np.flatnonzero(held_out)
        training = some.take(np.flatnonzero(~held_out), engine)
        folds.append(Fold(training, some.take(places, engine), places, Directions(training, engine)))
    return folds, some.sample_weight


def places_of(data: Data) -> np.ndarray:
    """The place of each sample in turn, (N,); copies of a sample share one, so that none is held out from itself.

    Equal samples are copies if the numbers of a column tell all others apart; of categories, equal samples are usual.
    """
    in_turn = np.arange(data.n_samples)
    numbers = [b for b, block in enumerate(data.blocks) if isinstance(block, Gaussian)]
    if not numbers or any(isinstance(block, SparseCategorical) for block in data.blocks):
        return in_turn
    samples = [tuple(of_block) for of_block in data.samples]
    _, first, group = np.unique(samples[numbers[0]][0][0], return_index=True, return_inverse=True)
    if first.size < FEW_VALUES or first.size == data.n_samples:
        return in_turn
    original = first[group]
    copies = all((array == array[..., original]).all() for of_block in samples for array in of_block)
    return np.searchsorted(np.sort(first), original) if copies else in_turn
