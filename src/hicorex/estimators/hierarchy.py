"""HierarchicalCorex: layers of factors, each of which explains the dependence among the factors below it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, repeat
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.result import Bounds
from hicorex.engine import Engine
from hicorex.estimators.anchoring import NO_ANCHORS, Anchored, anchored_by
from hicorex.estimators.base import LayeredEstimator
from hicorex.estimators.corex import PARAMETERS, Corex, options_of
from hicorex.estimators.learning import learn_more, learn_sized, size_layer
from hicorex.estimators.outputs import Output
from hicorex.estimators.stack import Stack
from hicorex.estimators.training import Training, names_of_columns
from hicorex.exceptions import HicorexError
from hicorex.fitted.layer import OfBatch, log_odds_of, posteriors_of, states_and_log_z_of, states_of
from hicorex.fitted.model import FileReading, FittedModel, StopReason
from hicorex.fitted.surprise import Usual
from hicorex.input.sources import Source, source_of
from hicorex.input.weights import weighted
from hicorex.layer.notes import Notes
from hicorex.selection.sizing import PARSIMONY, Sizing
from hicorex.storage.checkpoint import noting
from hicorex.storage.layer_checks import MOST_STATES
from hicorex.storage.records import HierarchyRecord, hierarchy_record
from hicorex.storage.soundness import checking
from hicorex.support.compatibility import StrOptions, fit_context
from hicorex.support.names import layer_name

# Parameters that mean the same in every layer.
SHARED = ("structure", "n_init", "max_iter", "tol", "batch_size", "parsimony", "n_jobs", "verbose")


class HierarchicalCorex(LayeredEstimator):
    """Layers of discrete latent factors that explain the dependence among variables.

    The first layer explains the variables, each further one the most likely states of the factors below.
    Each is fitted to explain as much as it can of the layer below (eq:basicopt), from the bottom up. What the layers
    explain adds up to a lower bound on the total correlation TC(X).

    Parameters
    ----------
    layers : tuple of int or "auto", default="auto"
        Number of factors of each layer, from the bottom up, never growing, such as (8, 2, 1). "auto" sizes each layer
        by the bound on held-out samples and adds layers while that raises the bound; ``stop_reason_`` says why it
        stopped.
    n_states : int, one for each layer, or "auto", default="auto"
        Number of states of each factor. "auto" chooses a number for each layer, as in ``Corex``.
    marginals, structure, n_init, max_iter, tol, batch_size, parsimony, output, n_jobs, random_state, verbose
        As in ``Corex``; the marginals are those of the first layer, above it they are categorical.

    Attributes
    ----------
    layers_ : list of Corex
        The fitted layers.
    bounds_ : Bounds
        Bounds on the total correlation and the entropy of the samples of the fit.
    tc_ : float
        What the fits maximised, summed over the layers.
    n_iter_ : int
        Most iterations of a layer.
    stop_reason_ : StopReason
        Why there is no further layer: AS_ASKED, ONE_FACTOR on top, NOTHING or NOTHING_MORE to explain, or a further
        layer ADDS_NOTHING.
    next_sizing_ : Sizing or None
        Where there is NOTHING_MORE or it ADDS_NOTHING: the sizes tried for a further layer.
    fitted_ : FittedModel
        What the layers have learned, frozen.

    Examples
    --------
    >>> from hicorex import HierarchicalCorex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, truth = make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)
    >>> model = HierarchicalCorex(random_state=0).fit(X)
    >>> [layer.n_factors_ for layer in model.layers_]
    [6, 1]
    >>> model.transform(X).shape
    (500, 7)
    >>> print(*model.get_feature_names_out()[-2:])
    layer1_factor5 layer2_factor0
    >>> bool(model.bounds_.lower <= model.bounds_.upper)
    True
    """

    layers_: list[Corex]
    stop_reason_: StopReason
    next_sizing_: Sizing | None

    _parameter_constraints = PARAMETERS | {
        "layers": [tuple, list, np.ndarray, Integral, StrOptions({"auto"})],
        "n_states": [*PARAMETERS["n_states"], tuple, list, np.ndarray],
    }

    def __init__(
        self,
        layers: Any = "auto",
        *,
        n_states: Any = "auto",
        marginals: Any = "auto",
        structure: Literal["unique", "overlap", "tree"] = "unique",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        batch_size: int | None = None,
        parsimony: float = PARSIMONY,
        output: Output = "labels",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.layers = layers
        self.n_states = n_states
        self.marginals = marginals
        self.structure = structure
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.parsimony = parsimony
        self.output = output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None, anchors: Any = None
    ) -> Self:
        """Learn the layers from the bottom up.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count samples: 2 is two samples, 0 none. Of other numbers only the ratios matter: together
            they count as the effective number of samples, (sum w)^2 / sum w^2.
        checkpoint : path or Checkpoint, default=None
            A file to save the fit to after each layer and every minute, and to go on from if it is there.
        anchors : mapping, default=None
            Anchors of factors of the first layer; see ``Corex.fit``.

        Returns
        -------
        self
        """
        source = source_of(X, least_samples=2)
        first = next(iter(self.shape()[0]))
        anchored = anchored_by(anchors, names_of_columns(source), source.shape[1], first)
        with noting(checkpoint, self._decisive() | anchored.decisive()) as notes:
            table, sample_weight = weighted(source, sample_weight)
            with table.engine(self.n_jobs) as engine:
                fitted, layers = self._learn(table, sample_weight, engine, notes, anchored)
        return self._publish(fitted, layers, Training.of(X, table, sample_weight))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream, layer by layer; see ``Corex.partial_fit``.

        The first batch decides on the layers and their sizes.
        """
        table, sample_weight = weighted(source_of(X, least_samples=2), sample_weight)
        with table.engine(self.n_jobs) as engine:
            if hasattr(self, "fitted_"):
                fitted, layers = self.fitted_, self.layers_
                self._checked(table)
            else:
                fitted, layers = self._learn(table, sample_weight, engine, Notes())
            fitted = self._learn_more(fitted, table, sample_weight, engine)
        return self._publish(fitted, layers, Training.of(X, table, sample_weight))

    def _learn_more(
        self, fitted: FittedModel, table: Source, sample_weight: np.ndarray | None, engine: Engine
    ) -> FittedModel:
        """Update every layer, from the bottom up, by one more batch."""
        stack = Stack()
        for k, layer in enumerate(fitted.layers):
            below = stack.labels(engine) if k else table
            stack.add(learn_more(layer, below, sample_weight, self.structure, engine), engine)
        evidence = stack.evidence(fitted, engine)
        return replace(
            fitted,
            layers=stack.layers,
            bounds=bounds_of([evidence]),
            usual=Usual.of(evidence),
            reading=FileReading(),
            cross_fitted=None,
            stability=None,
            pairs=None,
        )

    def _learn(
        self,
        table: Source,
        sample_weight: np.ndarray | None,
        engine: Engine,
        notes: Notes,
        anchored: Anchored = NO_ANCHORS,
    ) -> tuple[FittedModel, list[Corex]]:
        """Learn the layers from samples; gives what they learned, and an unfitted estimator for each."""
        names, progress = names_of_columns(table), self.listener()
        rng = None if self.random_state is None else check_random_state(self.random_state)
        stack, layers = Stack(), list[Corex]()
        stop_reason, next_sizing = StopReason.AS_ASKED, None
        for k, (size, n_states) in enumerate(zip(*self.shape(), strict=True)):
            below = stack.labels(engine) if k else table
            layer = self._layer(size, n_states, rng, reads_labels=k > 0)
            progress.layer(k + 1)
            options = options_of(layer, k + 1, NO_ANCHORS if k else anchored)
            of_layer = notes.within(layer_name(k + 1))
            sized = size_layer(below, sample_weight, options, engine, of_layer, progress)
            sizing = sized.sizing
            if k and self._found and (against := stack.against(sizing)) is not None:
                stop_reason, next_sizing = against, sizing
                break
            learned = learn_sized(sized, below.column_name, options, engine, of_layer, progress)
            stack.add(learned, engine)
            layers.append(layer)
            if self._found and sizing is not None and not sizing.chosen.explains:
                stop_reason = StopReason.NOTHING
                break
            if self._found and learned.layer.n_factors == 1:
                stop_reason = StopReason.ONE_FACTOR
                break
        fitted = FittedModel(stack.layers, stack.learned[0].layer.bounds, stack.learned[0].layer.usual, names)
        evidence = stack.evidence(fitted, engine)
        depth = _worth_their_place(bounds_of([evidence])) if self._found else len(layers)
        if depth < len(layers):
            stop_reason, next_sizing = StopReason.ADDS_NOTHING, stack.layers[depth].sizing
            stack.drop(depth)
            layers, fitted = layers[:depth], replace(fitted, layers=stack.layers)
            evidence = stack.evidence(fitted, engine)
        return replace(
            fitted,
            bounds=bounds_of([evidence]),
            usual=Usual.of(evidence),
            stop_reason=stop_reason,
            next_sizing=next_sizing,
        ), layers

    def transform(self, X: Any) -> np.ndarray:
        """The most likely state of each factor of every layer, (n_samples, n_factors of all layers).

        Or what else ``output`` asks for, the columns of each layer after those of the one below.
        """
        return self.columns_of(X, self.output)

    def posteriors(self, X: Any, layer: int | None = None) -> np.ndarray:
        """p(y_j = s | layer below), (n_samples, n_factors, n_states), of all layers or of one, 1, 2, ...

        Layers of fewer states than others are filled up with 0.
        """
        return _side_by_side(self._through(X, posteriors_of, layer)[0], 0)

    def log_odds(self, X: Any, layer: int | None = None) -> np.ndarray:
        """log p(y_j = s | below) / p(y_j = 0 | below), s > 0, (n_samples, n_factors, n_states - 1), as posteriors.

        Layers of fewer states than others are filled up with -inf.
        """
        return _side_by_side(self._through(X, log_odds_of, layer)[0], -np.inf)

    def log_z(self, X: Any, layer: int | None = None) -> np.ndarray:
        """log Z_j, what each factor explains of each sample, (n_samples, n_factors), of all layers or of one."""
        return np.hstack(self._through(X, states_and_log_z_of, layer)[1])

    def states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """What ``transform`` and ``log_z`` give, as arrays, in one pass through each layer."""
        return tuple(np.hstack(arrays) for arrays in self._through(X, states_and_log_z_of))

    def record(self) -> HierarchyRecord:
        """The fitted model as files hold it."""
        layers = [layer.record() for layer in self.layers_]
        return hierarchy_record(self.get_params(), self.fitted_, self._output(), layers)

    def check(self) -> None:
        """Refuse a fitted model that does not hold together, as ``hicorex.load`` does."""
        super().check()
        for layer in self.layers_:
            layer.check()
        with checking():
            self.shape()

    def of_fitted(self, fitted: FittedModel, training: Training | None) -> "HierarchicalCorex":
        """A new model of these parameters that has learned this, as edits make it."""
        sizes = [layer.n_factors for layer in fitted.layers]
        again = clone(self).set_output(**self._output())
        if not self._found:
            again.set_params(layers=tuple(sizes))
            if not isinstance(self.n_states, Integral | str):
                again.set_params(n_states=list(self.n_states)[: len(sizes)])
        layers = [like.of_size(size) for like, size in zip(self.layers_, sizes, strict=False)]
        return again.publish(fitted, training, layers_=layers_of(fitted, layers))

    def _publish(self, fitted: FittedModel, layers: list[Corex], training: Training | None) -> Self:
        """Publish what was learned, with a new estimator for each layer, of the parameters of those given."""
        return self.publish(fitted, training, layers_=layers_of(fitted, layers))

    def _attributes(self, fitted: FittedModel) -> dict[str, Any]:
        return {"stop_reason_": fitted.stop_reason, "next_sizing_": fitted.next_sizing}

    def _through(self, X: Any, function: OfBatch, layer: int | None = None) -> list[tuple[np.ndarray, ...]]:
        """What a function says of new samples, array by array; each for all layers from the bottom up, or for one."""
        table = self._new(X)
        layers = self.fitted_.layers
        if layer is not None and layer not in range(1, len(layers) + 1):
            raise HicorexError(f"layer is {layer!r}; this model has layers 1 to {len(layers)}.")
        results = []
        for k, fitted in enumerate(layers, start=1):
            if layer in (None, k):
                results.append(fitted.map(table, function, self.n_jobs))
            if k == (layer or len(layers)):
                break
            known = results and function in (states_of, states_and_log_z_of)
            labels = results[-1][0] if known else fitted.label(table, self.n_jobs)
            table = source_of(labels)
        return list(zip(*results, strict=True))

    def _layer(self, size: Any, n_states: Any, rng: Any, reads_labels: bool) -> Corex:
        """The unfitted estimator of the next layer."""
        shared = {name: value for name, value in self.get_params().items() if name in SHARED}
        return Corex(
            size,
            n_states=n_states,
            random_state=None if rng is None else rng.randint(2**31 - 1),
            marginals="categorical" if reads_labels else self.marginals,
            **shared,
        )

    @property
    def _found(self) -> bool:
        """Whether the layers are to be found."""
        return isinstance(self.layers, str)

    def shape(self) -> tuple[Iterable, Iterable]:
        """The number of factors and of states of each layer; refuses parameters that give none."""
        for_all = isinstance(self.n_states, Integral | str)
        if self._found:
            if not for_all:
                raise HicorexError(
                    f'n_states is {self.n_states!r}; with layers="auto" give "auto" or one number for all layers.'
                )
            return repeat("auto"), repeat(self.n_states)
        if isinstance(self.layers, Integral):
            raise HicorexError(f"layers is {self.layers}; write ({self.layers},) for one layer.")
        sizes = list(self.layers)
        if not sizes:
            raise HicorexError("layers is empty; give the number of factors of at least one layer.")
        for size in sizes:
            if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
                raise HicorexError(f"layers has {size!r} in it; each layer needs a whole number of factors, 1 or more.")
        if any(above > below for below, above in pairwise(sizes)):
            raise HicorexError(f"layers {tuple(sizes)} grow upward; give the largest first, as in (20, 3, 1).")
        if isinstance(self.n_states, str):
            return [int(size) for size in sizes], repeat(self.n_states, len(sizes))
        states = [self.n_states] * len(sizes) if for_all else list(self.n_states)
        if len(states) != len(sizes):
            raise HicorexError(f"n_states lists {len(states)} numbers for {len(sizes)} layers; give one a layer.")
        for number in states:
            if isinstance(number, bool) or not isinstance(number, Integral) or not 2 <= int(number) <= MOST_STATES:
                raise HicorexError(
                    f"n_states has {number!r} in it; each layer needs a whole number from 2 to {MOST_STATES}."
                )
        return [int(size) for size in sizes], [int(number) for number in states]


def _side_by_side(arrays: Sequence[np.ndarray], filler: float) -> np.ndarray:
    """Arrays (N, m, k) of several layers as one (N, sum of m, largest k)."""
    width = max(array.shape[2] for array in arrays)
    padded = [np.pad(a, ((0, 0), (0, 0), (0, width - a.shape[2])), constant_values=filler) for a in arrays]
    return np.concatenate(padded, axis=1)


def _worth_their_place(bounds: Bounds) -> int:
    """The number of the layers that together explain more than the first one alone does."""
    lower = [layer.lower for layer in bounds.layers]
    return max(k for k, value in enumerate(lower, start=1) if k == 1 or value > lower[0])


def layers_of(fitted: FittedModel, layers: Sequence[Corex]) -> list[Corex]:
    """One fitted estimator for each layer of a model, with the parameters of those given."""
    return [
        clone(like).publish(FittedModel.of_layer(layer, None if k else fitted.names))
        for k, (layer, like) in enumerate(zip(fitted.layers, layers, strict=True))
    ]
