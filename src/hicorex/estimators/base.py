"""What estimators of one layer and of several have in common: scores, bounds, surprise, tests and files."""

from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.pairs.result import ResidualPairs
from hicorex.bounds.result import Bounds
from hicorex.estimators.chance import significance_of
from hicorex.estimators.comparing import Comparing
from hicorex.estimators.crossfit import N_FOLDS, cross_fit
from hicorex.estimators.editing import Editing
from hicorex.estimators.explaining import Explaining
from hicorex.estimators.imputing import Imputing
from hicorex.estimators.outputs import Transforming
from hicorex.estimators.pairing import pairs_of
from hicorex.estimators.relating import Relating
from hicorex.estimators.resampling import N_RESAMPLES, QUICK_RESAMPLES, stability_of
from hicorex.estimators.telling import Telling
from hicorex.estimators.training import Training, has_rows_here
from hicorex.exceptions import HicorexError, TooFewSamplesError, UnknownSamplesError, UnsoundError, quietly
from hicorex.fitted.model import FileReading, FittedModel
from hicorex.fitted.surprise import OfValues, Surprise, of_values
from hicorex.input.sources import Source, source_of
from hicorex.layer.progress import Progress, listener_of
from hicorex.selection.folds import most_folds
from hicorex.selection.permutation import Significance
from hicorex.selection.stability import Stability
from hicorex.storage.archive import write_archive
from hicorex.storage.model_checks import check_model, check_output
from hicorex.storage.records import ModelRecord
from hicorex.storage.soundness import checking
from hicorex.support.compatibility import check_pandas_support, validate_parameters

# Notebooks make cross-fitted bounds unasked if samples x variables x factors are no more than this, and reports and the
# command line stability.
CELLS_AT_ONCE, CELLS_TO_RESAMPLE = 10**6, 4 * 10**6

# Parameters on which a fit does not depend.
UNDECISIVE = ("n_jobs", "output", "verbose")


class LayeredEstimator(
    Comparing, Editing, Explaining, Imputing, Relating, Telling, Transforming, TransformerMixin, BaseEstimator
):
    """An estimator of one or more layers. Each layer explains the dependence among the labels of the one below."""

    n_init: int | Literal["auto"]
    max_iter: int
    tol: float
    structure: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    fitted_: FittedModel
    bounds_: Bounds
    _training: Training | None

    @abstractmethod
    def log_z(self, X: Any) -> np.ndarray:
        """log Z_j of every factor, (n_samples, n_factors of all layers)."""

    @abstractmethod
    def states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """What ``transform`` and ``log_z`` give, as arrays, in one pass."""

    @abstractmethod
    def record(self) -> ModelRecord:
        """The fitted model as files hold it."""

    @abstractmethod
    def of_fitted(self, fitted: FittedModel, training: Training | None) -> "LayeredEstimator":
        """A new model of these parameters that has learned this, as edits make it."""

    @abstractmethod
    def _attributes(self, fitted: FittedModel) -> dict[str, Any]:
        """The attributes that this estimator publishes beside those of every estimator."""

    def score_samples(self, X: Any) -> np.ndarray:
        """Point-wise total correlation, the sum of log Z_j over all factors, (n_samples,).

        A value far from the mean is surprising.
        """
        return self.log_z(X).sum(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean point-wise total correlation; of new samples, an estimate of the objective without optimism."""
        return float(self.score_samples(X).mean())

    def surprise(self, X: Any) -> Surprise:
        """How unusual each sample is, and which factor says so.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)

        Returns
        -------
        Surprise
            ``samples`` (n_samples,) and ``factors`` (n_samples, n_factors of all layers): deviations from the
            mean of the fit in its standard deviations; 0 where nothing varied in the fit. ``surprisal`` (n_samples,)
            in nats, of the whole sample; ``odd_values`` and ``odd_combination``, why it is more than usual;
            ``unusual``, which of the two it is.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> surprise = Corex(n_factors=3, n_states=2, random_state=0).fit(X).surprise(X)
        >>> surprise.surprisal.shape, sorted(set(surprise.unusual.tolist()))
        ((500,), ['', 'combination', 'values'])
        """
        return self.fitted_.usual.surprise(self.log_z(X), self.of_values(X))

    def of_values(self, X: Any) -> OfValues:
        """What the values of samples say one by one: their surprisal, and what is usual of it."""
        layer = self.fitted_.layers[0]
        return OfValues(*layer.map(self._new(X), partial(of_values, layer.surprisals), self.n_jobs))

    def bounds(self, X: Any = None, *, cv: Any = None) -> Bounds:
        """Bounds on the total correlation and the entropy, with standard errors.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            New samples, for bounds without the optimism of the fit. None stands for the samples of the
            fit: the bounds are then those of their empirical distribution. The samples of the fit give the
            same if they are passed as X.
        cv : int or scikit-learn splitter, default=None
            Cross-fit: models of the same size are fitted to all folds but one, from six starts and without
            further search, and evaluated on that one. Without X this needs the samples of the fit, which a
            loaded model no longer knows. Folds of a few samples make the bounds wide: take two to ten. Of large
            tables the folds are of some rows, 2**25 cells or less.
        """
        check_is_fitted(self)
        if isinstance(X, Integral):
            raise HicorexError(f"X is {X}; give samples, or write cv={X} for {X} folds.")
        if cv is not None:
            return cross_fit(self, *self._samples(X), cv)
        if X is None:
            return self.bounds_
        table, depth = self._new(X), self.bounds_.depth
        if table.shape[0] == self.bounds_.n_samples:
            with quietly():  # the samples of the fit need no warning
                evidence = self.fitted_.evidence(table, self.n_jobs, depth, dtype=None)
            if self.fitted_.saw(evidence):
                return self.bounds_
        return bounds_of([self.fitted_.evidence(table, self.n_jobs, depth)])

    @property
    def cross_fitted_(self) -> Bounds:
        """The bounds to rely on, ``bounds(cv=5)``: made when they are first asked for, then kept, in files too.

        Models of the same sizes are fitted to four fifths of the samples and evaluated on the others, which takes
        about as long as the fit. This needs the samples of the fit, which a loaded model no longer knows.
        """
        check_is_fitted(self)
        if self.fitted_.cross_fitted is None:
            self.with_cross_fit()
        assert self.fitted_.cross_fitted is not None
        return self.fitted_.cross_fitted

    def with_cross_fit(self, n_folds: int = N_FOLDS) -> Self:
        """Make ``cross_fitted_`` by this number of folds, fewer where there are few samples."""
        table, sample_weight = self._samples(None)
        bounds = cross_fit(self, table, sample_weight, most_folds(n_folds, table.shape[0]))
        self.fitted_ = replace(self.fitted_, cross_fitted=bounds)
        return self

    @property
    def resamples_quickly(self) -> bool:
        """Whether fits to halves take so little that reports and the command line make some unasked."""
        return self._n_products <= CELLS_TO_RESAMPLE

    @property
    def _n_products(self) -> int:
        """Samples x variables x factors of the first layer, by which the time of an iteration goes."""
        return self.bounds_.n_samples * self.fitted_.n_columns * self.fitted_.layers[0].n_factors

    def _make_cross_fitted(self, and_stability: bool = False) -> None:
        """Make residual pairs, and cross-fitted bounds of enough samples, where those of the fit are in memory."""
        if self._training is None or not has_rows_here(self._training.samples):
            return
        self.residual_pairs()
        with suppress(TooFewSamplesError):  # which is said in words
            if self.fitted_.cross_fitted is None:
                self.with_cross_fit()
            if and_stability and self.fitted_.stability is None:
                self.stability(n_resamples=QUICK_RESAMPLES)

    def significance(self, X: Any = None, n_permutations: int = 100) -> Significance:
        """How likely chance would explain as much as each layer and each factor do.

        Each layer is fitted anew to its input with every column shuffled by itself. Once chance has done
        as well ten times, a test ends early.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            The samples of the fit; None if the model still knows them.
        n_permutations : int, default=100
            Most permutations for each layer. The smallest p-value is 1 / (n_permutations + 1).

        Returns
        -------
        Significance
            A row for each layer and factor: name, explains (nats), p_value, n_permutations.
        """
        check_is_fitted(self)
        if isinstance(X, Integral):
            raise HicorexError(f"X is {X}; give the samples of the fit, or write n_permutations={X}.")
        if not isinstance(n_permutations, Integral) or isinstance(n_permutations, bool) or n_permutations < 1:
            raise HicorexError(f"n_permutations is {n_permutations!r}; give a whole number, 1 or more.")
        table, sample_weight = self.samples_of_fit(X)
        if sample_weight is not None and np.ptp(sample_weight) > 0:
            raise HicorexError("Samples of different weights cannot be shuffled; fit without sample_weight.")
        return significance_of(self, table, sample_weight, int(n_permutations))

    def stability(self, X: Any = None, n_resamples: int = N_RESAMPLES) -> Stability:
        """Whether the factors come back in fits to halves of the samples, with the same variables.

        Models of the same sizes are fitted to random halves, both halves of each split in turn; ``random_state`` draws
        them. The result is remembered for reports and files, until the next fit.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            None stands for the samples of the fit, if the model still knows them.
        n_resamples : int, default=50
            The number of fits.

        Returns
        -------
        Stability
            ``factors``, ``links``, ``consensus``, and by layer ``layers``.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> found = Corex(n_factors=4, n_states=2, random_state=0).fit(X).stability(n_resamples=10)
        >>> (found.factors > 0.5).tolist()  # there are three factors, and one is left empty
        [True, True, True, False]
        """
        check_is_fitted(self)
        if isinstance(X, Integral):
            raise HicorexError(f"X is {X}; give samples, or write n_resamples={X}.")
        if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 2:
            raise HicorexError(f"n_resamples is {n_resamples!r}; give a whole number, 2 or more.")
        table, sample_weight = self._samples(X)
        found = stability_of(self, self._checked(table), sample_weight, int(n_resamples))
        self.fitted_ = replace(self.fitted_, stability=found)
        return found

    def residual_pairs(self, X: Any = None) -> ResidualPairs:
        """Which pairs of variables still depend on each other when the factors are known.

        For each variable the one other that tells most about it beyond its factors is looked for, so that these pairs
        make no circle; those that do not gain on held-out samples are left out. Near-duplicates, chains and missing
        factors show here. Where the pairs are of the samples of the fit they are remembered until the next fit:
        ``bounds_`` and ``bounds`` of new samples then have ``lower_with_pairs``.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            None stands for the samples of the fit, if the model still knows them or has found their pairs.

        Returns
        -------
        ResidualPairs
            ``pairs``, a row each: variable, other, kind, information and gain in nats; ``gain`` in all;
            ``lower_with_pairs`` and its standard error.

        Examples
        --------
        >>> import numpy as np
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(1000, 20, 2, random_state=0)
        >>> X = np.column_stack([X, X[:, 3]])
        >>> found = Corex(n_factors=2, n_states=2, random_state=0).fit(X).residual_pairs()
        >>> str(found.pairs[0]) in ("x3 repeats x20", "x20 repeats x3")
        True
        """
        check_is_fitted(self)
        names, decoder = self.fitted_.variable_names(), self.fitted_.pairs
        if X is not None or decoder is None:
            table, sample_weight = self._samples(X)
            decoder, bounds, of_fit = pairs_of(self, self._checked(table), sample_weight)
            if not of_fit and X is not None:
                return ResidualPairs.of(decoder, bounds, names)
            known = replace(
                self.bounds_,
                lower_with_pairs=bounds.lower_with_pairs,
                lower_with_pairs_stderr=bounds.lower_with_pairs_stderr,
            )
            self.fitted_ = self.fitted_.with_pairs(decoder, known)
            self.bounds_ = known
        return ResidualPairs.of(decoder, self.bounds_, names)

    def variables_frame(self) -> Any:
        """What was found of each variable, a row each (needs pandas).

        Returns
        -------
        DataFrame
            By variable: ``kind``; ``cluster``, the factor that it belongs to, missing where no link is significant;
            ``main_factor``, the one of most alpha x mutual information, and of that link ``alpha``,
            ``mutual_information``, ``p_value``, ``q_value`` and, once measured, ``stability``; ``communality``.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> table = Corex(n_factors=3, random_state=0).fit(X).variables_frame()
        >>> bool(table["communality"].between(0, 1).all())
        True
        """
        from hicorex.findings.tables import variables_table

        check_is_fitted(self)
        check_pandas_support("variables_frame")
        return variables_table(self).to_pandas().set_index("variable")

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, whole or not at all; ``hicorex.load`` reads it.

        The file holds no samples, and no code runs when it is read. A file of that name is replaced, a folder is
        refused.
        """
        check_is_fitted(self)
        try:
            self.check()
        except UnsoundError as error:  # better told while the model is still there
            raise HicorexError(f"The model could not be read again: {error}. Mend that, or fit again.") from error
        if type(self).__module__.partition(".")[0] != __name__.partition(".")[0]:
            raise HicorexError(f"The model is of type {type(self).__name__}, which a file cannot hold.")
        write_archive(path, "model", self.record())

    def check(self) -> None:
        """Refuse a fitted model that does not hold together, as ``hicorex.load`` does."""
        check_model(self.fitted_)
        with checking():
            validate_parameters(self)
            check_output(self._output())

    def report(
        self, path: Any, X: Any = None, *, groups: Any = None, row_names: Any = None, title: str | None = None
    ) -> None:
        """Write one HTML file that shows what was found, for people to explore, mail and keep.

        The page loads nothing from elsewhere. It shows numbers and examples of the samples, never the whole table.
        Where the samples of the fit are in memory, ``cross_fitted_`` is made for it, and ``stability`` where that is
        quick. A file of that name is replaced, a folder is refused.

        Parameters
        ----------
        path : path
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            The samples to show. None stands for those of the fit, if the model still knows them; otherwise
            the report shows the model alone.
        groups : mapping, path or None, default=None
            The group of each variable by its name, or a CSV file with a column of names and others of groups,
            by which the variables can be coloured.
        row_names : array-like of shape (n_samples,), default=None
            What the samples are called; by default the index of a pandas data frame, or their numbers.
        title : str, default=None
            The title of the page; None stands for "hicorex report".
        """
        from hicorex.findings.groups import groupings_of
        from hicorex.report import TITLE, named_samples, write_report

        check_is_fitted(self)
        if isinstance(X, str | PathLike):
            raise HicorexError(f"X is {str(X)!r}, a path; read the file first, or use the command hicorex report.")
        groupings = groupings_of(self.fitted_.variable_names(), groups)
        if X is not None and not has_rows_here(X):
            raise HicorexError(
                f"X is of type {type(X).__name__}, not in memory; pass some of its rows as an array or a data frame, "
                "or use the command hicorex report."
            )
        if X is None and self._training is not None and has_rows_here(self._training.samples):
            X = self._training.samples
        if X is None and row_names is not None:
            raise HicorexError("row_names are of samples that this model no longer knows; pass them as X.")
        samples = None
        if X is not None:
            states, log_z = self.states_and_log_z(X)
            samples = named_samples(X, states, log_z, row_names)
        self._make_cross_fitted(and_stability=self.resamples_quickly)
        write_report(path, self, samples, groupings, title or TITLE)

    def with_reading(self, reading: FileReading) -> Self:
        """Remember until the next fit how the file of the samples was read; files of new samples are read alike."""
        self.fitted_ = replace(self.fitted_, reading=reading)
        return self

    def publish(self, fitted: FittedModel, training: Training | None = None, **more: Any) -> Self:
        """Set all attributes of a fit at once, as its last step: a fit that fails or is interrupted changes none.

        Fits, further batches and loaded files come here. Nothing else sets an attribute of a fit.
        """
        names = {} if fitted.names is None else {"feature_names_in_": fitted.names}
        learned = names | {
            "n_features_in_": fitted.n_columns,
            "tc_": fitted.tc,
            "bounds_": fitted.bounds,
            "n_iter_": fitted.n_iter,
            "fitted_": fitted,
            "_training": training,
        }
        kept = {name: value for name, value in vars(self).items() if not (name.endswith("_") or name == "_training")}
        self.__dict__ = kept | self._attributes(fitted) | more | learned
        return self

    def samples_of_fit(self, X: Any = None) -> tuple[Source, np.ndarray | None]:
        """X or the samples of the fit, in memory and with the columns of the fit, and their sample_weight."""
        table, sample_weight = self._samples(X)
        if not table.in_memory:
            raise HicorexError("This needs samples in memory; read some of the table's rows, and pass them as X.")
        return self._checked(table), sample_weight

    def _samples(self, X: Any) -> tuple[Source, np.ndarray | None]:
        """The same with any columns and in any place, for samples to fit again."""
        if X is None and self._training is None:
            raise UnknownSamplesError("This model no longer knows the samples of its fit; pass them as X.")
        samples, sample_weight = (X, None) if X is not None or self._training is None else self._training
        return source_of(samples, least_samples=2), sample_weight

    def _decisive(self) -> dict[str, str]:
        """The parameters on which a fit depends, as text."""
        given = {name: value for name, value in self.get_params().items() if name not in UNDECISIVE}
        if isinstance(self.random_state, np.random.RandomState):
            del given["random_state"]
        plain = {name: v if isinstance(v, dict) else np.asarray(v).tolist() for name, v in given.items()}
        return {name: repr(value) for name, value in plain.items()}

    def listener(self) -> Progress:
        """Who hears of the fits of this model."""
        return listener_of(self.verbose)

    def _new(self, X: Any) -> Source:
        """New samples, of the columns of the fit."""
        check_is_fitted(self)
        return self._checked(source_of(X))

    def _checked(self, table: Source) -> Source:
        """A table that has the columns of the fit."""
        validate_data(self, table.head, reset=False, skip_check_array=True)
        return table

    def _output(self) -> dict[str, Any]:
        """The output that ``set_output`` has set."""
        return getattr(self, "_sklearn_output_config", {})

    def _html_repr(self) -> str:
        """What notebooks show: the parameters, and once fitted what was found."""
        diagram = super()._html_repr()
        if not hasattr(self, "bounds_"):
            return diagram
        if self._n_products <= CELLS_AT_ONCE:
            self._make_cross_fitted()
        from hicorex.report import small_report

        return diagram + small_report(self)

    def __dir__(self) -> list[str]:
        """The names of attributes; to list them makes no bounds, as to look at them would."""
        is_made = "fitted_" in vars(self) and self.fitted_.cross_fitted is not None
        names = [name for name in object.__dir__(self) if is_made or name != "cross_fitted_"]
        return [name for name in names if hasattr(self, name)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {k: None if k == "_training" else v for k, v in super().__getstate__().items()}
