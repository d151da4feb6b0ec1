"""Corex: one layer of total correlation explanation as a scikit-learn estimator."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.estimators.anchoring import NO_ANCHORS, Anchored, anchored_by
from hicorex.estimators.base import LayeredEstimator
from hicorex.estimators.learning import LayerOptions, learn_layer, learn_more
from hicorex.estimators.outputs import OUTPUTS, Output
from hicorex.estimators.training import Training, names_of_columns
from hicorex.fitted.layer import OfBatch, log_odds_of, posteriors_of, states_and_log_z_of
from hicorex.fitted.model import FittedModel
from hicorex.fitted.surprise import Usual
from hicorex.input.sources import source_of
from hicorex.input.weights import weighted
from hicorex.layer.notes import Notes
from hicorex.layer.structure import RULES
from hicorex.selection.sizing import PARSIMONY
from hicorex.storage.checkpoint import noting
from hicorex.storage.layer_checks import MOST_STATES
from hicorex.storage.records import CorexRecord, corex_record
from hicorex.support.compatibility import Interval, StrOptions, fit_context
from hicorex.support.names import layer_name

# The values that parameters may have, for one layer and for several.
PARAMETERS: dict[str, list[Any]] = {
    "n_states": [Interval(Integral, 2, MOST_STATES, closed="both"), StrOptions({"auto"})],
    "marginals": [str, list, tuple, np.ndarray, dict],
    "structure": [StrOptions(set(RULES))],
    "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "batch_size": [Interval(Integral, 2, None, closed="left"), None],
    "parsimony": [Interval(Real, 0, 1, closed="left")],
    "output": [StrOptions(set(OUTPUTS))],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class Corex(LayeredEstimator):
    """One layer of discrete latent factors that explain the dependence among variables.

    Learns factors Y_1, ..., Y_m of k states each that maximise a lower bound on the total correlation
    TC(X) that they explain. Time and memory are linear in samples, variables and factors.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        Number of latent factors, m. "auto" takes as many as raise the bound on held-out samples by enough, and says why
        in ``sizing_``. Of a number that is given, factors that the data have no use for stay empty.
    n_states : int or "auto", default="auto"
        Number of states of each factor, k. "auto" takes as few as explain nearly as much of held-out samples as the
        best size does, together with ``n_factors`` where that is "auto" as well.
    marginals : "auto", "gaussian", "rank", "categorical", "ordered", or a list or mapping of these by column
        How a variable depends on a factor. "auto" goes by the values, whatever their type: text, truth values and
        types of categories are categorical; so are whole numbers of two different values, and of up to 20 if there
        are three rows for each; all other numbers are amounts, "gaussian" as they are or by "rank", their normal
        scores, whichever tells more of the other columns. Keys of a mapping are names, indices or patterns such as
        "q*", which speak of columns of numbers alone. "ordered", which "auto" never takes, is for answers such as 1
        to 5: categories that are smoothed along their order, which pays where samples are few; a pattern means the
        columns of few whole numbers. NaN and None are missing values in any of them.
    structure : "unique", "overlap" or "tree", default="unique"
        How alpha is chosen. "unique": by how much of a factor's information about a variable the better
        factors lack. "overlap": by the paper's count of first right guesses. "tree": one factor a variable.
    n_init : int or "auto", default="auto"
        Number of starts. The first follows the leading directions of the table, the others single variables that cover
        it. They run together, hopeless ones are dropped, and the best one is improved by factors of the others. "auto"
        takes twelve, or as many as have 120 factors together.
    max_iter : int, default=200
        Most iterations of a start.
    tol : float, default=1e-5
        A start is finished when its objective has grown by less than ``tol`` times itself over ten iterations, or by
        less than the samples can tell, 0.05 nats of all of them together. With 0 it goes on to the fixed point.
    batch_size : int, default=None
        Number of samples in a batch. Every iteration looks at one batch of random samples, and at sums over earlier
        batches, which count less the older they are. A last pass over all samples gives bounds and structure. The
        time of a fit then hardly grows with the number of samples. 10,000 or more are good; None looks at all samples
        in every iteration.
    parsimony : float, default=0.06
        What "auto" forgoes for a smaller size: the share of the bound on held-out samples for fewer states, and for
        each further factor this share of what the others explain on average. Every factor must also be found again by
        fits to other samples, with a normalised mutual information of four times this share. The default serves people
        who read the factors, 0.01 those who want the most nats.
    output : "labels", "probabilities" or "log_odds", default="labels"
        What ``transform`` gives: the most likely state of each factor; p(y_j = s | x), a column for each factor and
        state; or log p(y_j = s | x) / p(y_j = 0 | x), a column for each state but the first, unsaturated scores for
        models downstream. A fit does not depend on it.
    n_jobs : int, default=None
        Number of threads; None and -1 mean all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1 shows a progress line on standard error.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features, n_factors)
        How much each variable belongs to each factor, from 0 to 1.
    mutual_information_ : ndarray of shape (n_features, n_factors)
        I(Y_j:X_i) in nats.
    tcs_ : ndarray of shape (n_factors,)
        E[log Z_j]: the total correlation that each factor explains, in nats: falling, but for anchored factors, which
        keep their places. What variables that anchor several factors count twice is taken off.
    tc_ : float
        The sum of ``tcs_``: a lower bound on TC(X), but for the optimism of a fit; see ``bounds`` and ``score``.
    link_pvalues_ : ndarray of shape (n_features, n_factors)
        How likely a variable that is independent of all others would seem to depend on the factor as much as this one
        does. Also where alpha is 0: such a variable may follow a factor that tells nothing more of it than its own
        ones do. NaN for a model from a file of an early version.
    clusters_ : ndarray of shape (n_features,)
        The factor that each variable belongs to most; -1 where none of its p-values is significant, at a false
        discovery rate of 0.01 over the table.
    communality_ : ndarray of shape (n_features,)
        The share of each variable's uncertainty that its factors explain, from 0 to 1: I(Y:X_i) / H(X_i) for
        categories, the share of the variance for numbers. Measured on the samples of the fit.
    bounds_ : Bounds
        Bounds on the total correlation of the samples of the fit.
    n_factors_ : int
        Number of factors.
    sizing_ : Sizing
        With "auto": the sizes tried, and why this one was taken.
    history_ : ndarray of shape (n_iter_,)
        The objective at each iteration of the start that was kept.
    histories_ : list of ndarray
        The objective at each iteration of every start; starts that were given up have fewer.
    n_iter_ : int
        Number of iterations of the start that was kept.
    fitted_ : FittedModel
        All that was learned, frozen. It reads, labels and evaluates samples.

    Examples
    --------
    >>> from hicorex import Corex
    >>> from hicorex.datasets import make_independent_clusters
    >>> X, truth = make_independent_clusters(random_state=0)
    >>> corex = Corex(random_state=0).fit(X)
    >>> corex.n_factors_, corex.n_states_
    (4, 2)
    >>> corex.transform(X).shape
    (100, 4)
    >>> bool(abs(corex.tc_ / truth.total_correlation - 1) < 0.01)
    True
    """

    n_factors_: int
    alpha_: np.ndarray
    mutual_information_: np.ndarray
    tcs_: np.ndarray
    tc_: float
    link_pvalues_: np.ndarray
    clusters_: np.ndarray
    history_: np.ndarray
    histories_: list[np.ndarray]
    n_iter_: int

    _parameter_constraints = PARAMETERS | {
        "n_factors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_factors: int | Literal["auto"] = "auto",
        *,
        n_states: int | Literal["auto"] = "auto",
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
        self.n_factors = n_factors
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
        """Learn the factors.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count samples: 2 is two samples, 0 none. Of other numbers only the ratios matter: together
            they count as the effective number of samples, (sum w)^2 / sum w^2.
        checkpoint : path or Checkpoint, default=None
            A file to save the fit to every minute, and to go on from if it is there.
        anchors : mapping, default=None
            By the name of a factor, or its number, the variables that it is begun by, by name or number, such as
            ``{"violence": ["gun", "war"]}``. They stay with it: their alpha is 1 for it. A variable may anchor several
            factors. Named factors come first, in order, all others are free. The bounds stay bounds.

        Returns
        -------
        self
        """
        source = source_of(X, least_samples=2)
        names = names_of_columns(source)
        anchored = anchored_by(anchors, names, source.shape[1], self.n_factors)
        with noting(checkpoint, self._decisive() | anchored.decisive()) as notes:
            table, sample_weight = weighted(source, sample_weight)
            with table.engine(self.n_jobs) as engine:
                options = options_of(self, anchored=anchored)
                layer = learn_layer(
                    table, sample_weight, options, engine, notes.within(layer_name(1)), self.listener()
                ).layer
        return self.publish(FittedModel.of_layer(layer, names), Training.of(X, table, sample_weight))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream.

        The first batch is fitted as by ``fit``. It decides on the number of factors, and on the scale and the
        categories of the columns, so it must be a fair sample. Each further batch makes one update, in which earlier
        batches count less the older they are. ``history_`` gets what the model explained of the batch before the
        update. Attributes describe the last batch; factors keep their order. After ``fit`` the first batch begins a
        stream with the factors of that fit.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
            Batches of less than some hundred samples make the factors noisy.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        table, sample_weight = weighted(source_of(X, least_samples=2), sample_weight)
        with table.engine(self.n_jobs) as engine:
            if hasattr(self, "fitted_"):
                layer, names = self.fitted_.layers[0], self.fitted_.names
                self._checked(table)
            else:
                names = names_of_columns(table)
                layer = learn_layer(table, sample_weight, options_of(self), engine, Notes(), self.listener()).layer
            learned = learn_more(layer, table, sample_weight, self.structure, engine)
            evidence = gather(learned.data, [StackedLayer(learned.evaluator)], engine, name=table.column_name)
        layer = replace(learned.layer, bounds=bounds_of([evidence]), usual=Usual.of(evidence))
        return self.publish(FittedModel.of_layer(layer, names), Training.of(X, table, sample_weight))

    def transform(self, X: Any) -> np.ndarray:
        """The most likely state of each factor, (n_samples, n_factors), or what else ``output`` asks for."""
        return self.columns_of(X, self.output)

    def posteriors(self, X: Any) -> np.ndarray:
        """p(y_j = s | x), (n_samples, n_factors, n_states)."""
        return self._of_new(X, posteriors_of)[0]

    def log_odds(self, X: Any) -> np.ndarray:
        """log p(y_j = s | x) / p(y_j = 0 | x) for s > 0, (n_samples, n_factors, n_states - 1): unsaturated scores."""
        return self._of_new(X, log_odds_of)[0]

    def log_z(self, X: Any) -> np.ndarray:
        """log Z_j(x), what each factor explains of each sample, (n_samples, n_factors)."""
        return self.states_and_log_z(X)[1]

    def states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """What ``transform`` and ``log_z`` give, as arrays, in one pass."""
        return self._of_new(X, states_and_log_z_of)

    @property
    def n_states_(self) -> int:
        """The number of states of each factor."""
        return self.fitted_.layers[0].n_states

    @property
    def communality_(self) -> np.ndarray:
        """The share of each variable's uncertainty that its factors explain, (n_features,)."""
        return self.fitted_.layers[0].communality

    def of_size(self, n_factors: int) -> "Corex":
        """An unfitted estimator of these parameters for this number of factors, if the number was given."""
        return clone(self).set_params(n_factors="auto" if self.n_factors == "auto" else n_factors)

    def of_fitted(self, fitted: FittedModel, training: Training | None) -> "Corex":
        """A new model of these parameters that has learned this, as edits make it."""
        again = self.of_size(fitted.layers[0].n_factors).set_output(**self._output())
        return again.publish(fitted, training)

    def record(self) -> CorexRecord:
        """The fitted model as files hold it."""
        return corex_record(self.get_params(), self.fitted_, self._output())

    def _attributes(self, fitted: FittedModel) -> dict[str, Any]:
        layer = fitted.layers[0]
        sizing = {} if layer.sizing is None else {"sizing_": layer.sizing}
        return sizing | {
            "alpha_": layer.alpha,
            "mutual_information_": layer.mutual_information,
            "tcs_": layer.tcs,
            "link_pvalues_": layer.link_pvalues,
            "clusters_": layer.clusters,
            "n_factors_": layer.n_factors,
            "history_": layer.history,
            "histories_": layer.histories,
        }

    def _of_new(self, X: Any, function: OfBatch) -> tuple[np.ndarray, ...]:
        """What a function says of new samples."""
        table = self._new(X)
        return self.fitted_.layers[0].map(table, function, self.n_jobs)

    def _through(self, X: Any, function: OfBatch) -> list[tuple[np.ndarray, ...]]:
        """What a function says of new samples, array by array, as those of a hierarchy of one layer."""
        return [(array,) for array in self._of_new(X, function)]


def options_of(layer: Corex, number: int | None = None, anchored: Anchored = NO_ANCHORS) -> LayerOptions:
    """How a layer is learned, by its parameters; ``number``, from 1, says which one of several it is."""
    return LayerOptions(
        n_factors=layer.n_factors,
        n_states=layer.n_states,
        marginals=layer.marginals,
        structure=layer.structure,
        n_init=layer.n_init,
        max_iter=layer.max_iter,
        tol=layer.tol,
        batch_size=layer.batch_size,
        random_state=layer.random_state,
        parsimony=layer.parsimony,
        number=number,
        held=anchored.held,
        factor_names=anchored.names,
    )
