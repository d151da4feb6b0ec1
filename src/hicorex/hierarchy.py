"""HierarchicalCorex: layers of factors, each of which explains the dependence among the factors below it."""

from collections.abc import Callable, Iterable
from itertools import pairwise, repeat
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hicorex.base import LayeredEstimator
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.compatibility import Interval, StrOptions, fit_context, parameter_names
from hicorex.corex import Corex
from hicorex.engine import Engine
from hicorex.exceptions import HicorexError
from hicorex.findings.reasons import why_this_size
from hicorex.input.sources import Source, source_of
from hicorex.input.weights import weighted
from hicorex.layer.data import Data
from hicorex.layer.notes import Notes
from hicorex.layer.progress import Progress
from hicorex.storage.checkpoint import noting
from hicorex.storage.contents import STORED, Stored
from hicorex.storage.layer_checks import MOST_STATES
from hicorex.storage.model_checks import check_hierarchy

# Parameters that mean the same in every layer.
SHARED = ("structure", "n_init", "max_iter", "tol", "batch_size", "n_jobs", "verbose")
# What a fit sets, beside the parameters.
FITTED = ("n_features_in_", "feature_names_in_", "layers_", "bounds_", "tc_", "n_iter_", "stop_reason_", "_usual")


class HierarchicalCorex(LayeredEstimator):
    """Layers of discrete latent factors that explain the dependence among variables.

    The first layer explains the variables, each further one the most likely states of the factors below.
    What the layers explain adds up to a lower bound on the total correlation TC(X).

    Parameters
    ----------
    layers : tuple of int or "auto", default=(8, 2, 1)
        Number of factors of each layer, from the bottom up, never growing. "auto" sizes each layer by the
        bound on held-out samples and adds layers while they explain something beyond chance;
        ``stop_reason_`` says why it stopped.
    n_states : int or one for each layer, default=2
        Number of states of each factor.
    marginals, structure, n_init, max_iter, tol, batch_size, n_jobs, random_state, verbose
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
    stop_reason_ : str
        Why there is no further layer.

    Examples
    --------
    >>> from hicorex import HierarchicalCorex
    >>> from hicorex.datasets import make_latent_tree
    >>> X, truth = make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)
    >>> model = HierarchicalCorex((6, 1), random_state=0).fit(X)
    >>> model.transform(X).shape
    (500, 7)
    >>> print(*model.get_feature_names_out()[-2:])
    layer1_factor5 layer2_factor0
    >>> bool(model.bounds_.lower <= model.bounds_.upper)
    True
    """

    layers_: list[Corex]
    _fitted = FITTED
    _parameter_constraints: dict = Corex._parameter_constraints | {
        "layers": [tuple, list, np.ndarray, Integral, StrOptions({"auto"})],
        "n_states": [Interval(Integral, 2, MOST_STATES, closed="both"), tuple, list, np.ndarray],
    }
    _parameter_constraints.pop("n_factors")

    def __init__(
        self,
        layers: Any = (8, 2, 1),
        *,
        n_states: Any = 2,
        marginals: Any = "auto",
        structure: Literal["unique", "overlap", "tree"] = "unique",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-5,
        batch_size: int | None = None,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None) -> Self:
        """Learn the layers from the bottom up.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count samples: 2 is two samples, 0 none. Other numbers are relative, whatever their scale:
            together they count as many samples as are there in effect, (sum w)^2 / sum w^2.
        checkpoint : path or Checkpoint, default=None
            A file to save the fit to after each layer and every minute, and to go on from if it is there.

        Returns
        -------
        self
        """
        learner = self._unfitted()
        with noting(checkpoint, self._decisive()) as notes:
            table, weight = weighted(source_of(X, least_samples=2), sample_weight)
            with table.engine(self.n_jobs) as engine:
                learner._fit(table, weight, engine, notes, self._progress())
        return self._publish(learner, X, table, weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream, layer by layer; see ``Corex.partial_fit``.

        The first batch decides on the layers and their sizes.
        """
        learner = self._copied()
        table, weight = weighted(source_of(X, least_samples=2), sample_weight)
        with table.engine(self.n_jobs) as engine:
            learner._learn_more(table, weight, engine, self._progress())
        return self._publish(learner, X, table, weight)

    def _learn_more(self, table: Source, weight: np.ndarray | None, engine: Engine, progress: Progress) -> None:
        """One more batch, through layers that are no others' yet."""
        if not hasattr(self, "layers_"):
            self._fit(table, weight, engine, Notes(), progress)
        validate_data(self, table.head, reset=False, skip_check_array=True)
        self.layers_ = [layer._copied() for layer in self.layers_]
        stacked: list[StackedLayer] = []
        read: list[Data] = []
        below = table
        for k, layer in enumerate(self.layers_):
            own, data = layer._learn_more(below, weight, engine, Progress())
            read.append(data)
            above = k + 1 < len(self.layers_)
            feeding = layer._feed(data, engine) if above else None
            stacked.append(own._replace(feeding=feeding, read=layer._schema.encode_labels if k else None))
            if above:
                below = layer._label_table(data, engine)
        self.tc_ = float(sum(layer.tc_ for layer in self.layers_))
        self.n_iter_ = max(layer.n_iter_ for layer in self.layers_)
        self._conclude(gather(read[0], stacked, engine, name=self._column_name))

    def _fit(self, table: Source, weight: np.ndarray | None, engine: Engine, notes: Notes, progress: Progress) -> None:
        sizes, states = self._shape()
        validate_data(self, table.head, skip_check_array=True)
        rng = None if self.random_state is None else check_random_state(self.random_state)
        layers: list[Corex] = []
        stop_reason = "as many layers as asked for"
        read: list[Data] = []
        stacked: list[StackedLayer] = []
        for size, n_states in zip(sizes, states, strict=True):
            if layers:
                table = layers[-1]._label_table(read[-1], engine)
            layer = self._layer(size, n_states, rng, inner=bool(layers))
            progress.layer(len(layers) + 1)
            data, seen = layer._fit(table, weight, engine, notes.within(f"layer{len(layers) + 1}"), progress)
            explains = size != "auto" or layer.sizing_.chosen.explains
            if not explains:
                stop_reason = f"in layer {len(layers) + 1}, {why_this_size(layer.sizing_)}"
            if layers and not explains:
                break
            if layers:
                stacked[-1] = stacked[-1]._replace(feeding=layers[-1]._feed(read[-1], engine))
            stacked.append(StackedLayer(seen, read=layer._schema.encode_labels if layers else None))
            layers.append(layer)
            read.append(data)
            if size == "auto" and layer.n_factors_ == 1 and explains:
                stop_reason = "there is one factor on top"
            if size == "auto" and (layer.n_factors_ == 1 or not explains):
                break
        self.layers_ = layers
        self.stop_reason_ = stop_reason
        self.n_iter_ = max(layer.n_iter_ for layer in layers)
        self.tc_ = float(sum(layer.tc_ for layer in layers))
        self._conclude(gather(read[0], stacked, engine, name=self._column_name))

    def transform(self, X: Any) -> np.ndarray:
        """The most likely state of each factor of every layer, (n_samples, n_factors of all layers)."""
        return np.hstack(self._through(X, Corex._label))

    def posteriors(self, X: Any, layer: int | None = None) -> np.ndarray:
        """p(y_j = s | layer below), (n_samples, n_factors, n_states), of all layers or of one, 1, 2, ...

        Layers of fewer states than others are filled up with 0.
        """
        return _side_by_side(self._through(X, Corex.posteriors, layer), 0)

    def log_odds(self, X: Any, layer: int | None = None) -> np.ndarray:
        """log p(y_j = s | below) / p(y_j = 0 | below), s > 0, (n_samples, n_factors, n_states - 1), as posteriors.

        Layers of fewer states than others are filled up with -inf.
        """
        return _side_by_side(self._through(X, Corex.log_odds, layer), -np.inf)

    def log_z(self, X: Any, layer: int | None = None) -> np.ndarray:
        """log Z_j, what each factor explains of each sample, (n_samples, n_factors), of all layers or of one."""
        return np.hstack(self._through(X, Corex.log_z, layer))

    def _states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """What transform and log_z give, in one pass through each layer."""
        check_is_fitted(self)
        found = []
        for layer in self.layers_:
            found.append(layer._states_and_log_z(X))
            X = found[-1][0]
        return tuple(np.hstack(arrays) for arrays in zip(*found, strict=True))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """layer1_factor0, ..., in the order of ``transform``."""
        check_is_fitted(self)
        names = [f"layer{k}_factor{j}" for k, own in enumerate(self.layers_, start=1) for j in range(own.n_factors_)]
        return np.array(names, dtype=object)

    def _check(self) -> None:
        check_hierarchy(self)

    @property
    def _stack(self) -> list[Corex]:
        return self.layers_

    def _sized(self) -> dict[str, Any]:
        return {"layers": tuple(layer.n_factors_ for layer in self.layers_)}

    def _through(self, X: Any, method: Callable, layer: int | None = None) -> list[np.ndarray]:
        """What a method of each layer gives, from the bottom up, or that of one alone."""
        check_is_fitted(self)
        if layer is not None and layer not in range(1, len(self.layers_) + 1):
            raise HicorexError(f"layer is {layer!r}; this model has layers 1 to {len(self.layers_)}.")
        X = source_of(X)
        results = []
        for k, own in enumerate(self.layers_, start=1):
            if layer in (None, k):
                results.append(method(own, X))
            if k == (layer or len(self.layers_)):
                break
            X = results[-1] if method is Corex._label else own._label(X)
        return results

    def _layer(self, size: Any, n_states: int, rng: Any, inner: bool) -> Corex:
        """The next layer, not yet fitted."""
        shared = {name: value for name, value in self.get_params().items() if name in SHARED}
        layer = Corex(size, n_states=n_states, **shared)
        layer.random_state = None if rng is None else rng.randint(2**31 - 1)
        layer.marginals = "categorical" if inner else self.marginals
        layer._inner = inner
        return layer

    def _shape(self) -> tuple[Iterable, Iterable]:
        """The number of factors and of states of each layer."""
        if isinstance(self.layers, str):
            if not isinstance(self.n_states, Integral):
                raise HicorexError(f'n_states is {self.n_states!r}; with layers="auto" give one number for all layers.')
            return repeat("auto"), repeat(int(self.n_states))
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
        states = [self.n_states] * len(sizes) if isinstance(self.n_states, Integral) else list(self.n_states)
        if len(states) != len(sizes):
            raise HicorexError(f"n_states lists {len(states)} numbers for {len(sizes)} layers; give one a layer.")
        for number in states:
            if isinstance(number, bool) or not isinstance(number, Integral) or not 2 <= int(number) <= MOST_STATES:
                raise HicorexError(
                    f"n_states has {number!r} in it; each layer needs a whole number from 2 to {MOST_STATES}."
                )
        return [int(size) for size in sizes], [int(number) for number in states]


def _side_by_side(arrays: list[np.ndarray], filler: float) -> np.ndarray:
    """Arrays (N, m, k) of several layers as one (N, sum of m, largest k)."""
    width = max(array.shape[2] for array in arrays)
    padded = [np.pad(a, ((0, 0), (0, 0), (0, width - a.shape[2])), constant_values=filler) for a in arrays]
    return np.concatenate(padded, axis=1)


STORED["hierarchy"] = Stored(
    HierarchicalCorex,
    (*parameter_names(HierarchicalCorex), *FITTED, "_reading", "_sklearn_output_config"),
    HierarchicalCorex._restored,
)
