"""The bounds of any representation: what the units of other models explain."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.entropy import marginal_surprisals
from hicorex.bounds.evaluation import LayerEvaluator, links_of
from hicorex.bounds.evidence import Evidence, StackedLayer, gather
from hicorex.bounds.result import Bounds, NoUpper, NoUpperReason
from hicorex.engine import Engine, LocalEngine
from hicorex.exceptions import HicorexError, warn_caller
from hicorex.information import frequencies
from hicorex.input.encoder import Encoder
from hicorex.input.sources import Source, source_of
from hicorex.input.sources.dask_tables import ClusterSource
from hicorex.layer.data import Data
from hicorex.layer.one_pass import run_pass
from hicorex.layer.state import State
from hicorex.layer.step import update
from hicorex.layer.structure import RULES
from hicorex.marginals import Categorical
from hicorex.marginals.base import join
from hicorex.selection.folds import splits

# How far the sum of probabilities may be from one.
ROUNDING = 1e-4
# Units whose likeness is this or more may stand for each other.
ALIKE = 0.1


def representation_bounds(
    X: Any, posteriors: Any, marginals: Any = "auto", *, cv: Any = None, n_jobs: int | None = None
) -> Bounds:
    """How much of the total correlation TC(X) a representation explains; ``Corex.bounds`` does so for factors.

    Any probabilistic function p(y_j | x) of a sample will do: hidden units of a restricted Boltzmann
    machine, the code of an auto-encoder, cluster memberships, signs of principal components.

    Parameters
    ----------
    X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
    posteriors : array-like of shape (n_samples, n_units, n_states) or (n_samples, n_units)
        p(y_j = s | x), which sums to one over the states; or p(y_j = 1 | x) of units with two states.
    marginals : "auto", "gaussian", "rank", "categorical", "ordered", or a list or mapping of these by column
        As in ``Corex``.
    cv : int or scikit-learn splitter, default=None
        Evaluate each fold by the structure and the marginals p(x_i | y) of the other folds, so that no sample is
        evaluated by what was fitted to it. The representation itself stays as it is.
    n_jobs : int, default=None
        Number of threads; None and -1 mean all cores.

    Returns
    -------
    Bounds
        Units are named layer1_factor0, ... in the order given. Nothing was maximised, so that ``objective``
        repeats the contributions of the units, and their sum. The upper bound supposes that the most likely labels
        are functions of x.

    Examples
    --------
    >>> from hicorex import representation_bounds
    >>> from hicorex.datasets import make_independent_clusters
    >>> X, truth = make_independent_clusters(random_state=0)
    >>> bounds = representation_bounds(X, truth.factors)
    >>> bool(abs(bounds.lower / truth.total_correlation - 1) < 0.01)
    True
    """
    table = source_of(X, least_samples=2)
    if isinstance(table, ClusterSource):
        raise HicorexError(
            "This needs samples in memory; compute some of the rows, and pass them with their posteriors."
        )
    labels = _check_posteriors(posteriors, table.shape[0])
    with LocalEngine(n_jobs) as engine:
        encoder = Encoder.learn(table, marginals, None, engine)
        data, _ = encoder.encode(table, None, engine, dtype=np.float64)
        if cv is None:
            state, links = _structure(data, labels, engine)
            evaluator = _evaluator(state, links, data, labels, engine)
            return bounds_of([_gather(table, data, evaluator, labels, engine)])
        parts = []
        for training, held_out in splits(cv, table.shape[0]):
            seen, seen_labels = data.take(training, engine), labels[:, :, training]
            state, links = _structure(seen, seen_labels, engine)
            trained = _evaluator(state, links, seen, seen_labels, engine).smoothed
            new, new_labels = data.take(held_out, engine), labels[:, :, held_out]
            evaluator = _evaluator(state, links, new, new_labels, engine, trained)
            parts.append(_gather(table, new, evaluator, new_labels, engine, marginal_surprisals(seen)))
        return bounds_of(parts, cross_fitted=True)


def _gather(
    table: Source,
    data: Data,
    evaluator: LayerEvaluator,
    labels: np.ndarray,
    engine: Engine,
    surprisals: list | None = None,
) -> Evidence:
    """What the units say about samples; there is an upper bound only if they are functions of x."""
    evidence = gather(data, [StackedLayer(evaluator)], engine, surprisals, name=table.column_name)
    # The labels are given, not those of the state, so that its log Z says nothing about them.
    evidence = evidence._replace(soft=[means._replace(log_z=means.unique) for means in evidence.soft])
    if evidence.no_upper is None:
        # Columns that are not discrete do not vary here, so that they tell no samples apart.
        discrete = [
            codes
            for b, block in enumerate(data.blocks)
            if isinstance(block, Categorical)
            for codes in block.codes_of(join([part.samples[b] for part in data.parts]))
        ]
        _, same = frequencies(np.zeros(data.n_samples), *discrete)
        _, both = frequencies(same, *labels.argmax(axis=0))
        if both.max() > same.max():
            return evidence._replace(no_upper=NoUpper(NoUpperReason.NOT_A_FUNCTION))
    return evidence


def _structure(data: Data, labels: np.ndarray, engine: Engine) -> tuple[State, list]:
    """The factors that each variable belongs to, by the rule "unique", and what they know of it."""
    n_states, n_units, _ = labels.shape
    state = State.neutral(data.blocks, n_units, n_states)
    # The first pass links each variable to its best unit, the second to another one, the third to one more.
    for _ in range(3):
        sums = run_pass(state, data, engine, _instead(labels))
        state, _ = update(state, sums, data.blocks, RULES["unique"], engine)
    return state, links_of(state, data)


def _evaluator(
    state: State, links: list, data: Data, labels: np.ndarray, engine: Engine, trained: list | None = None
) -> LayerEvaluator:
    return LayerEvaluator.of(state, links, data, engine, trained, _instead(labels))


def _instead(labels: np.ndarray) -> Callable:
    """What puts these labels (k, m, N) in the place of those of a tile of samples, the first of which is ``first``."""
    return lambda tile_labels, first: labels[:, :, first : first + tile_labels.shape[2]]


def _check_posteriors(posteriors: Any, n_samples: int) -> np.ndarray:
    """Labels (k, m, N) from p(y_j = s | x)."""
    given = np.asarray(posteriors)
    if given.dtype.kind not in "fiub" or given.ndim not in (2, 3) or 0 in given.shape:
        raise HicorexError(
            f"posteriors has shape {given.shape} and type {given.dtype}; give numbers of shape (n_samples, n_units, "
            "n_states), or (n_samples, n_units) for p(y = 1 | x) of units with two states. Labels of clusters are one "
            "unit: np.eye(n_clusters)[labels][:, None, :]."
        )
    if len(given) != n_samples:
        raise HicorexError(f"posteriors has {len(given)} samples, X has {n_samples}; give one row for each.")
    given = given.astype(float)
    if not np.all((given >= 0) & (given <= 1 + ROUNDING)):
        raise HicorexError(
            "posteriors has values outside 0 to 1 or missing ones; give probabilities p(y_j = s | x), 0 or 1 if hard."
        )
    if given.ndim == 2 and given.shape[1] > 1 and np.allclose(given.sum(axis=1), 1):
        warn_caller(
            "Every row of posteriors sums to one, as if its columns were the states of one unit; each is read as a "
            "unit of two states. For one unit of several states pass posteriors[:, None, :]."
        )
    if given.ndim == 2:
        given = np.stack([1 - np.minimum(given, 1), np.minimum(given, 1)], axis=2)
    if given.shape[2] < 2:
        raise HicorexError("posteriors has one state a unit, which can tell nothing; give two or more.")
    total = given.sum(axis=2)
    if np.abs(total - 1).max() > ROUNDING:
        sample, unit = np.unravel_index(np.abs(total - 1).argmax(), total.shape)
        raise HicorexError(
            f"posteriors sums to {total[sample, unit]:.4g} over the states of unit {unit} in sample {sample}; "
            "divide by the sum, so that it is one."
        )
    return np.ascontiguousarray((given / total[:, :, None]).transpose(2, 1, 0))


class _Units(NamedTuple):
    """Some units, and what they say about the samples that their structure and marginals were learned from."""

    places: np.ndarray
    state: State
    links: list
    evaluator: LayerEvaluator
    explained: float
    unique: np.ndarray

    @classmethod
    def of(cls, places: np.ndarray, data: Data, labels: np.ndarray, engine: Engine) -> "_Units":
        """The units at these places among labels (k, m, N)."""
        chosen = np.ascontiguousarray(labels[:, places])
        state, links = _structure(data, chosen, engine)
        evaluator = _evaluator(state, links, data, chosen, engine)
        found = evaluator.evaluate(data, engine)
        return cls(places, state, links, evaluator, float(found.explained.mean()), found.unique.mean(axis=1))


def held_out_explained(
    data: Data, labels: np.ndarray, alike: np.ndarray, groups: Sequence[np.ndarray], n_folds: int, engine: Engine
) -> np.ndarray:
    """What labels (k, m, N) explain of each sample, (N,), by structure and marginals of other samples.

    Units without which no less is explained of the other samples are left out, such as near copies of other units.

    alike : (m, m), how alike the units are
    groups : places of units; the group that explains most of the other samples is taken
    """
    explained = np.zeros(data.n_samples)
    for training, held_out in splits(n_folds, data.n_samples):
        seen, seen_labels = data.take(training, engine), labels[:, :, training]
        found = [_worth_their_cost(places, seen, seen_labels, alike, engine) for places in groups]
        units = max(found, key=lambda units: 0.0 if units is None else units.explained)
        if units is not None:
            new, new_labels = data.take(held_out, engine), labels[:, units.places][:, :, held_out]
            chosen = np.ascontiguousarray(new_labels)
            evaluator = _evaluator(units.state, units.links, new, chosen, engine, units.evaluator.smoothed)
            explained[held_out] = evaluator.evaluate(new, engine).explained
    return explained


def _worth_their_cost(
    places: np.ndarray, data: Data, labels: np.ndarray, alike: np.ndarray, engine: Engine
) -> _Units | None:
    """Which units at some places to keep; None where together they explain nothing.

    Tried without are units that cost more than they explain alone, and those that others are like: variables may be
    shared between such, so that each seems to explain something.
    """
    places = places[np.ptp(labels[:, places], axis=2).max(axis=0) > 0]
    if not places.size:
        return None
    units = _Units.of(places, data, labels, engine)
    others = np.where(np.eye(places.size, dtype=bool), 0, alike[np.ix_(places, places)]).max(axis=1)
    doubtful = np.flatnonzero((units.unique < 0) | (others >= ALIKE))
    for place in places[doubtful[np.argsort(units.unique[doubtful], kind="stable")]].tolist():
        fewer = units.places[units.places != place]
        if not fewer.size:
            break
        without = _Units.of(fewer, data, labels, engine)
        if without.explained >= units.explained:
            units = without
    return units if units.explained > 0 else None
