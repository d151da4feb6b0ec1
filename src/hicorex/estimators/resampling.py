"""Stability: whether fits to halves of the samples find the factors again, with the same variables."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from hicorex.engine import Engine
from hicorex.estimators.crossfit import rows_for_refits
from hicorex.estimators.learning import seed_of
from hicorex.estimators.refitting import Refitter
from hicorex.exceptions import TooFewSamplesError, quietly
from hicorex.fitted.model import FittedModel
from hicorex.input.sources import Source, source_of
from hicorex.layer.data import Data
from hicorex.layer.labels import labels_by
from hicorex.selection.folds import FEWEST_SAMPLES
from hicorex.selection.likeness import likeness
from hicorex.selection.stability import LayerStability, Stability
from hicorex.selection.trials import places_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The number of fits where it is not given, and where nobody has asked for any.
N_RESAMPLES, QUICK_RESAMPLES = 50, 20


def stability_of(
    model: "LayeredEstimator", table: Source, sample_weight: np.ndarray | None, n_resamples: int
) -> Stability:
    """How stable the factors and links of a model are, by fits to halves of the samples of its fit."""
    if table.shape[0] < FEWEST_SAMPLES:
        raise TooFewSamplesError(f"{table.shape[0]} samples are too few for halves; give {FEWEST_SAMPLES} or more.")
    refitter, progress, fitted = Refitter.of(model), model.listener(), model.fitted_
    rng = np.random.default_rng(seed_of(model.random_state).spawn(1)[0])
    with quietly(), table.engine(model.n_jobs) as engine:  # the fit has warned already
        data = rows_for_refits(fitted.layers[0].encode(table, engine, sample_weight, None), engine)
        tallies = _Tallies(_labels(fitted, data, engine), data.sample_weight, fitted)
        for at, half in enumerate(_halves(places_of(data), n_resamples, rng), start=1):
            progress.resample(at, n_resamples)
            tallies.add(refitter, data.take(half, engine), data, engine)
    return tallies.stability(n_resamples)


def _labels(fitted: FittedModel, data: Data, engine: Engine) -> list[np.ndarray]:
    """The most likely states of samples by each layer of a model, (m, N)."""
    labels = list[np.ndarray]()
    sample_weight = data.sample_weight
    for layer in fitted.layers:
        if labels:
            data = layer.encode(source_of(labels[-1].T), engine, sample_weight, sample_weight.dtype)
        labels.append(labels_by(layer.state, data, engine))
    return labels


def _halves(place: np.ndarray, n_resamples: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The rows of each fit: random halves, after each the other one; samples of one place (N,) stay together."""
    halves = list[np.ndarray]()
    while len(halves) < n_resamples:
        half = rng.permutation(int(place.max()) + 1)[place] % 2
        halves += [np.flatnonzero(half == 0), np.flatnonzero(half == 1)]
    return halves[:n_resamples]


class _Tallies:
    """What the resamples say, layer by layer.

    labels : by layer, of all samples by the model, (m, N)
    """

    def __init__(self, labels: list[np.ndarray], sample_weight: np.ndarray, fitted: FittedModel):
        self._labels, self._share = labels, sample_weight / sample_weight.sum()
        self._n_states = [layer.n_states for layer in fitted.layers]
        self._factors = [np.zeros(layer.n_factors) for layer in fitted.layers]
        self._links = [np.zeros(layer.alpha.shape) for layer in fitted.layers]

    def add(self, refitter: Refitter, half: Data, data: Data, engine: Engine) -> None:
        """One more resample."""
        below: np.ndarray | None = None
        for k, refitted in enumerate(refitter.layers(half, data, engine)):
            shown = refitted.shown
            labels = labels_by(shown.state, refitted.others, engine)
            alike = likeness(self._labels[k], labels, self._n_states[k], self._share)
            _, match = linear_sum_assignment(-alike)
            self._factors[k] += alike[np.arange(match.size), match]
            weights = shown.alpha * shown.mutual_information
            if below is not None:
                weights = weights[below]  # the factor below that stands for each of the model's
            main = weights.argmax(axis=1)
            linked = np.flatnonzero(weights.max(axis=1) > 0)
            back = np.argsort(match)  # the model's factor that each of the refit stands for
            self._links[k][linked, back[main[linked]]] += 1
            below = match

    def stability(self, n_resamples: int) -> Stability:
        """The means over the resamples."""
        pairs = zip(self._factors, self._links, strict=True)
        return Stability(
            tuple(LayerStability(*(sums / n_resamples for sums in of_layer)) for of_layer in pairs), n_resamples
        )
