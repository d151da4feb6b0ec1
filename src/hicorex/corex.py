"""Corex: one layer of total correlation explanation as a scikit-learn estimator."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hicorex.base import LayeredEstimator
from hicorex.bounds.entropy import marginal_surprisals
from hicorex.bounds.evaluation import LayerEvaluator, links_of
from hicorex.bounds.evidence import StackedLayer, gather
from hicorex.compatibility import Interval, StrOptions, fit_context, parameter_names
from hicorex.engine import Engine, LocalEngine
from hicorex.exceptions import caution
from hicorex.input.encoder import Encoder, label_data
from hicorex.input.sources import Source, source_of
from hicorex.input.sources.dask_tables import ClusterSource
from hicorex.input.sources.labels import label_source
from hicorex.input.weights import weighted
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import add_scores, block_coefficients, harden, label_tile, labels_of
from hicorex.layer.loop import Fit, fit_layer
from hicorex.layer.notes import Notes
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import Progress
from hicorex.layer.state import State, all_information, clear, used_only
from hicorex.layer.stream import Stream, advance
from hicorex.layer.structure import RULES
from hicorex.marginals.base import Questions, most_likely
from hicorex.selection.significance import LEVEL, held_out_probabilities, link_probabilities
from hicorex.selection.sizing import Search, Sizing, choose_size
from hicorex.storage.checkpoint import noting
from hicorex.storage.contents import STORED, Stored
from hicorex.storage.layer_checks import MOST_STATES
from hicorex.storage.model_checks import check_corex
from hicorex.storage.soundness import known

# New samples are read and labelled this many cells at a time.
BATCH_CELLS = 2**23
# What is less of a factor's total correlation than this share is rounding.
ROUNDING = 1e-6
# What a fit sets, beside the parameters.
FITTED = (
    "n_features_in_",
    "feature_names_in_",
    "alpha_",
    "mutual_information_",
    "tcs_",
    "tc_",
    "clusters_",
    "bounds_",
    "n_factors_",
    "sizing_",
    "history_",
    "histories_",
    "n_iter_",
    "_schema",
    "_state",
    "_links",
    "_joints",
    "_surprisals",
    "_usual",
    "_inner",
    "_stream",
)
# Of these, what the table tells whatever is learned from it.
READ = ("n_features_in_", "feature_names_in_", "_schema")


class Corex(ClassNamePrefixFeaturesOutMixin, LayeredEstimator):
    """One layer of discrete latent factors that explain the dependence among variables.

    Learns factors Y_1, ..., Y_m of k states each that maximise a lower bound on the total correlation
    TC(X) that they explain. Time and memory are linear in samples, variables and factors.

    Parameters
    ----------
    n_factors : int or "auto", default=2
        Number of latent factors, m. Factors that the data have no use for stay empty. "auto" takes as
        many as raise the bound on held-out samples, and says why in ``sizing_``.
    n_states : int, default=2
        Number of states of each factor, k.
    marginals : "auto", "gaussian", "rank", "categorical", or a list or mapping of these by column
        How a variable depends on a factor. "auto" takes floats as Gaussian, and integers, booleans,
        strings and categories as categorical. "rank" maps a numeric column to normal scores first,
        for heavy tails. NaN and None are missing values in any of them.
    structure : "unique", "overlap" or "tree", default="unique"
        How alpha is chosen: by the share of a factor's information about a variable that better
        factors do not have; by the paper's count of first right guesses; or one factor a variable.
    n_init : int, default=10
        Number of starts. They run together, hopeless ones are dropped, the best one is kept.
    max_iter : int, default=200
        Most iterations of a start.
    tol : float, default=1e-5
        A start is finished when its objective has grown by less than this share over ten iterations.
    batch_size : int, default=None
        Samples of a batch: every iteration looks at so many random samples, and at sums over earlier ones that count
        less the older they are, as if at all; a last pass over all samples gives bounds and structure. The time of a
        fit then hardly grows with the samples. 10,000 or more are good; None looks at all samples every time.
    n_jobs : int, default=None
        Number of threads; None and -1 mean all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1 shows a progress line on standard error.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features, n_factors)
        The share in which each variable belongs to each factor.
    mutual_information_ : ndarray of shape (n_features, n_factors)
        I(Y_j:X_i) in nats.
    tcs_ : ndarray of shape (n_factors,)
        E[log Z_j]: the total correlation that each factor explains, falling, in nats.
    tc_ : float
        Their sum, a lower bound on TC(X) but for the optimism of a fit; see ``bounds`` and ``score``.
    clusters_ : ndarray of shape (n_features,)
        The factor that each variable belongs to most; -1 where no link is significant.
    bounds_ : Bounds
        Bounds on the total correlation of the samples of the fit.
    n_factors_ : int
        Number of factors.
    sizing_ : Sizing
        With ``n_factors="auto"``: the sizes tried and why this one was taken.
    history_ : ndarray of shape (n_iter_,)
        The objective at each iteration of the start that was kept.
    histories_ : list of ndarray
        The same of every start, in their order; those that were given up are shorter.
    n_iter_ : int
        Number of iterations of that start.

    Examples
    --------
    >>> from hicorex import Corex
    >>> from hicorex.datasets import make_independent_clusters
    >>> X, truth = make_independent_clusters(random_state=0)
    >>> corex = Corex(n_factors=4, random_state=0).fit(X)
    >>> corex.transform(X).shape
    (100, 4)
    >>> bool(abs(corex.tc_ / truth.total_correlation - 1) < 0.01)
    True
    """

    # Whether the input is the labels of a layer below: states that it has not seen are nothing to warn of.
    _inner = False
    _fitted = FITTED

    _parameter_constraints: dict = {
        "n_factors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_states": [Interval(Integral, 2, MOST_STATES, closed="both")],
        "marginals": [str, list, tuple, np.ndarray, dict],
        "structure": [StrOptions(set(RULES))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_factors: int | Literal["auto"] = 2,
        *,
        n_states: int = 2,
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
        self.n_factors = n_factors
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
        """Learn the factors.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count samples: 2 is two samples, 0 none. Other numbers are relative, whatever their scale:
            together they count as many samples as are there in effect, (sum w)^2 / sum w^2.
        checkpoint : path or Checkpoint, default=None
            A file to save the fit to every minute, and to go on from if it is there.

        Returns
        -------
        self
        """
        learner = self._unfitted()
        with noting(checkpoint, self._decisive()) as notes:
            table, weight = weighted(source_of(X, least_samples=2), sample_weight)
            with table.engine(self.n_jobs) as engine:
                learner._fit(table, weight, engine, notes.within("layer1"), self._progress())
        return self._publish(learner, X, table, weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream.

        The first batch is fitted as by ``fit``: it decides on the number of factors, and on the scale and the
        categories of the columns, so it must be a fair sample. Each further one makes one update, in which all before
        it count less the older they are; ``history_`` gets what the model explained of it before. Attributes tell of
        the last batch; factors keep their order. After ``fit`` the first batch begins a stream with the factors found.

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
        learner = self._copied()
        table, weight = weighted(source_of(X, least_samples=2), sample_weight)
        with table.engine(self.n_jobs) as engine:
            stacked, data = learner._learn_more(table, weight, engine, self._progress())
            learner._conclude(gather(data, [stacked], engine, name=table.column_name))
        return self._publish(learner, X, table, weight)

    def _begin_stream(self, table: Source, weight: np.ndarray | None, engine: Engine) -> tuple[StackedLayer, Data]:
        """Get ready for further batches after a fit to the first, or to others; return as ``_learn_more``."""
        validate_data(self, table.head, reset=False, skip_check_array=True)
        data, _ = self._encode_open(table, weight, engine)
        # The first update only asks what the next one needs.
        self._stream, _ = advance(Stream(self._state, None), data, RULES[self.structure], engine)
        return StackedLayer(LayerEvaluator.of(self._state, self._links, data, engine)), data

    def _learn_more(
        self, table: Source, weight: np.ndarray | None, engine: Engine, progress: Progress
    ) -> tuple[StackedLayer, Data]:
        """One more batch; return how the layer looks at it, and its samples."""
        if not hasattr(self, "_stream"):
            if not hasattr(self, "_state"):
                self._fit(table, weight, engine, Notes(), progress)
            return self._begin_stream(table, weight, engine)
        validate_data(self, table.head, reset=False, skip_check_array=True)
        data, unseen = self._encode_open(table, weight, engine)
        self._tell_of(unseen)
        # The samples are new to the factors, so that links may be tested on them as they are.
        chance = data.to_table(held_out_probabilities(self._stream.state, data, engine))
        self._stream, log_z = advance(self._stream, data, RULES[self.structure], engine)
        seen = self._show(self._stream.state, data, engine)
        self.tcs_: np.ndarray = used_only(seen.log_z)
        self.tc_ = float(self.tcs_.sum())
        self._assign(chance)
        history = np.append(self.history_, log_z.sum())
        self.histories_: list = [history if np.array_equal(own, self.history_) else own for own in self.histories_]
        self.history_: np.ndarray = history
        self.n_iter_ = len(self.history_)
        return StackedLayer(seen), data

    def _fit(
        self, table: Source, weight: np.ndarray | None, engine: Engine, notes: Notes, progress: Progress
    ) -> tuple[Data, LayerEvaluator]:
        """Learn the factors, unfitted as yet; return the samples as they were read, and how the layer looks at them."""
        validate_data(self, table.head, skip_check_array=True)
        self._schema = Encoder.learn(table, self.marginals, weight, engine)
        data, _ = self._schema.encode(table, weight, engine, gaps=self._schema.gaps)
        if notes.kept:
            notes.check("data", self._schema.fingerprint(table.names, data, engine))
        seed = self._seed(notes.recall("random_state"))
        notes.check("random_state", seed.entropy)
        done = notes.recall("fitted")
        if done is None:
            seen = self._learn(data, engine, seed, notes, progress)
            self._conclude(gather(data, [StackedLayer(seen)], engine, name=table.column_name))
            self._surprisals = marginal_surprisals(data)
            fitted = {name: getattr(self, name) for name in FITTED if hasattr(self, name) and name not in READ}
            notes.conclude("fitted", fitted, instead_of=("sizes", "run"))
        else:
            known(done, FITTED)
            self.__dict__.update({name: value for name, value in done.items() if name not in READ})
            check_corex(self)
            seen = LayerEvaluator.of(self._state, self._links, data, engine)
        return data, seen

    def _learn(
        self, data: Data, engine: Engine, seed: np.random.SeedSequence, notes: Notes, progress: Progress
    ) -> LayerEvaluator:
        """Find the factors and the structure, or go on with what was noted; return how they look at the samples."""
        rule = RULES[self.structure]
        if isinstance(self.n_factors, str):
            self.sizing_ = self._choose_size(data, engine, seed, notes, progress)
            self.n_factors_ = self.sizing_.n_factors
        else:
            self.n_factors_ = int(self.n_factors)
        options = replace(self._options(), batch_size=self.batch_size)
        fit = fit_layer(data, rule, engine, options, seed, progress, notes)
        progress.layer_done()
        if not fit.converged:
            caution(
                f"The objective still grew after max_iter={self.max_iter} iterations; raise max_iter or tol.",
                ConvergenceWarning,
            )
        seen = self._keep(fit, data, engine)
        # Empty factors would only make the fits to halves harder.
        n_used = max(1, int(np.count_nonzero(self.tcs_)))
        chance = link_probabilities(data, rule, engine, n_used, self.n_states, seed)
        self._assign(data.to_table(chance))
        self.history_ = fit.history
        self.histories_ = fit.histories
        self.n_iter_ = len(fit.history)
        return seen

    def transform(self, X: Any) -> np.ndarray:
        """The most likely state of each factor, (n_samples, n_factors)."""
        return self._label(X)

    def posteriors(self, X: Any) -> np.ndarray:
        """p(y_j = s | x), (n_samples, n_factors, n_states)."""
        return self._map(X, lambda state, data, engine: (_labels(state, data, engine)[0].transpose(2, 1, 0),))[0]

    def log_odds(self, X: Any) -> np.ndarray:
        """log p(y_j = s | x) / p(y_j = 0 | x) for s > 0, (n_samples, n_factors, n_states - 1): unsaturated scores."""

        def of_batch(state: State, data: Data, engine: Engine):
            prior = np.log(state.prior[1:] / state.prior[0])[:, :, None]
            return ((_scores(state, data, engine) + prior).transpose(2, 1, 0),)

        return self._map(X, of_batch)[0]

    def log_z(self, X: Any) -> np.ndarray:
        """log Z_j(x), what each factor explains of each sample, (n_samples, n_factors)."""
        return self._map(X, _states_and_log_z)[1]

    @property
    def n_states_(self) -> int:
        """The number of states of each factor."""
        return len(self._state.prior)

    @property
    def _n_features_out(self) -> int:
        return self.n_factors_

    @property
    def _stack(self) -> list["Corex"]:
        return [self]

    def _sized(self) -> dict[str, Any]:
        return {"n_factors": self.n_factors_}

    @classmethod
    def _restored(cls, **held: Any) -> Self:
        # The first files hold no other history than that of the start that was kept; that of a stream went on alone.
        history, histories = held["history_"], held.get("histories_", [held["history_"]])
        if not any(own.size == history.size and np.array_equal(own, history) for own in histories):
            histories = [history if np.array_equal(own, history[: own.size]) else own for own in histories]
        return super()._restored(**held | {"histories_": histories})

    def _check(self) -> None:
        check_corex(self)

    def _label(self, X: Any) -> np.ndarray:
        """As transform, but an array whatever the output is set to."""
        return self._map(X, lambda state, data, engine: (most_likely(_labels(state, data, engine)[0]).T,))[0]

    def _states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """What transform and log_z give, in one pass."""
        return self._map(X, _states_and_log_z)

    def _options(self) -> FitOptions:
        """How a fit to all samples is made, but for its data, rule and seed."""
        return FitOptions(self.n_factors_, self.n_states, self.n_init, self.max_iter, self.tol)

    def _choose_size(
        self, data: Data, engine: Engine, seed: np.random.SeedSequence, notes: Notes, progress: Progress
    ) -> Sizing:
        """The number of factors that held-out samples ask for."""
        options = FitOptions(1, self.n_states, self.n_init, self.max_iter, self.tol)
        look_ahead = label_data if self._inner else None
        search = Search(data, RULES[self.structure], engine, options, seed, look_ahead, progress, notes)
        return choose_size(search, most=max(1, data.n_columns // 2))

    def _keep(self, fit: Fit, data: Data, engine: Engine) -> LayerEvaluator:
        """Set what a fit leaves behind: the best state, its factors in falling order of what they explain."""
        state, log_z = fit.state, fit.log_z
        while True:
            explains = used_only(log_z)
            order = np.argsort(-explains, kind="stable")
            if isinstance(self.n_factors, str):  # a size that was found has no empty factors
                self.n_factors_ = max(1, int(np.count_nonzero(explains)))
                order = order[: self.n_factors_]
            state = state.take_factors(order, [Questions() for _ in data.blocks])
            for unused in np.flatnonzero(explains[order] == 0):
                clear(state, data, int(unused))
            seen = self._show(state, data, engine)
            log_z, tcs = seen.log_z, used_only(seen.log_z)
            # After batches the last update may have changed the order.
            if (np.diff(tcs) <= ROUNDING * tcs[0]).all():
                break
        self.tcs_ = np.minimum.accumulate(tcs)
        self.tc_ = float(self.tcs_.sum())
        return seen

    def _show(self, state: State, data: Data, engine: Engine) -> LayerEvaluator:
        """Set what follows from a state alone; how it looks at the samples."""
        self._state = replace(state, questions=[Questions() for _ in data.blocks])
        self.alpha_ = data.to_table(state.alpha).T
        self.mutual_information_ = data.to_table(all_information(state, data)).T
        self._links = links_of(state, data)
        seen = LayerEvaluator.of(self._state, self._links, data, engine)
        self._joints = {False: seen.smoothed}
        return seen

    def _assign(self, chance: np.ndarray) -> None:
        """Give each variable to the factor that it belongs to most, if its link is not a matter of chance (n,)."""
        linked = (chance < LEVEL) & self.alpha_.any(axis=1)
        self.clusters_ = np.where(linked, (self.alpha_ * self.mutual_information_).argmax(axis=1), -1)

    def _feed(self, data: Data, engine: Engine) -> LayerEvaluator:
        """Get ready to feed another layer with most likely states; how these look at the samples of the fit."""
        seen = LayerEvaluator.of(self._state, self._links, data, engine, relabel=harden)
        self._joints = self._joints | {True: seen.smoothed}
        return seen

    def _view(self, data: Data, engine: Engine, hard: bool) -> LayerEvaluator:
        """How the layer looks at new samples, by soft labels or most likely states."""
        relabel = harden if hard else None
        return LayerEvaluator.of(self._state, self._links, data, engine, self._joints[hard], relabel)

    def _label_table(self, data: Data, engine: Engine) -> Source:
        """The most likely states of samples as they were read, the table of the layer above, (n_samples, m)."""
        state, blocks, weights = self._state, data.blocks, block_coefficients(self._state, data, engine)

        def of_tile(part: Part, rows: slice) -> np.ndarray:
            labels, _ = label_tile(state, blocks, weights, part.tile(blocks, rows))
            return most_likely(labels, np.int8).T

        return label_source(of_tile, data, engine)

    def _encode(self, X: Any, engine: Engine, weight: np.ndarray | None = None, dtype: Any = np.float64) -> Data:
        table = source_of(X)
        validate_data(self, table.head, reset=False, skip_check_array=True)
        data, unseen = self._schema.encode(table, weight, engine, dtype=dtype)
        self._tell_of(unseen)
        return data

    def _encode_open(self, table: Source, weight: np.ndarray | None, engine: Engine) -> tuple[Data, list[str]]:
        """Samples of a stream, in which any column may lack values now or later, and columns with unseen categories."""
        anywhere = np.ones(table.shape[1], bool)
        return self._schema.encode(table, weight, engine, dtype=np.float32, gaps=anywhere)

    def _tell_of(self, unseen: list[str]) -> None:
        """Warn of categories that the fit has not seen, in these columns."""
        if unseen and not self._inner:
            caution(
                f"Categories that the fit has not seen count as missing, in column {', '.join(unseen[:5])}"
                f"{' and others' if len(unseen) > 5 else ''}."
            )

    def _map(self, X: Any, function) -> tuple[np.ndarray, ...]:
        """The arrays that function(state, data, engine) gives for batches of samples, put together.

        Of a table on a cluster, arrays of Dask.
        """
        check_is_fitted(self)
        table = source_of(X)
        if isinstance(table, ClusterSource):
            return table.lazily(self, lambda model, rows: model._map(rows, function))
        # What is not categorical is never sparse; labels are not either.
        width = self.n_factors_ if set(self._schema.kinds) == {"categorical"} else table.shape[1]
        with LocalEngine(self.n_jobs) as engine:
            parts = [
                function(self._state, self._encode(rows, engine), engine)
                for rows in table.read_batches(BATCH_CELLS, width)
            ]
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _scores(state: State, data: Data, engine: Engine) -> np.ndarray:
    """Scores of all samples, (k - 1, J, N)."""
    blocks, weights = data.blocks, block_coefficients(state, data, engine)

    def of_tile(part: Part, rows: slice) -> np.ndarray:
        return add_scores(blocks, part.tile(blocks, rows), weights)

    n_states, n_factors = state.prior.shape
    return np.concatenate(list(engine.tiles(of_tile, data.parts)), axis=1).reshape(n_states - 1, n_factors, -1)


def _labels(state: State, data: Data, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    return labels_of(_scores(state, data, engine).reshape(-1, data.n_samples), state.prior)


def _states_and_log_z(state: State, data: Data, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """The most likely states and log Z of all samples, both (N, m)."""
    blocks, weights = data.blocks, block_coefficients(state, data, engine)

    def of_tile(part: Part, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        labels, log_z = label_tile(state, blocks, weights, part.tile(blocks, rows))
        return most_likely(labels), log_z

    states, log_z = zip(*engine.tiles(of_tile, data.parts), strict=True)
    return np.concatenate(states, axis=1).T, np.concatenate(log_z, axis=1).T


STORED["corex"] = Stored(
    Corex, (*parameter_names(Corex), *FITTED, "_reading", "_sklearn_output_config"), Corex._restored
)
