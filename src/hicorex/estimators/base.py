"""What estimators of one layer and of several have in common: scores, bounds, surprise, tests and files."""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.result import Bounds
from hicorex.engine import LocalEngine
from hicorex.estimators.learning import seed_of
from hicorex.exceptions import HicorexError, UnsoundError, quietly
from hicorex.fitted.model import FileReading, FittedModel
from hicorex.fitted.surprise import Surprise
from hicorex.input.readers import rows_of
from hicorex.input.sources import Source, disk_source, source_of
from hicorex.input.sources.collection import is_collection
from hicorex.layer.one_pass import run_pass
from hicorex.layer.options import FitOptions
from hicorex.layer.progress import Progress, listener_of
from hicorex.layer.state import used_only
from hicorex.layer.structure import RULES
from hicorex.selection.folds import splits
from hicorex.selection.permutation import Significance, Tested, compare_with_chance
from hicorex.storage.archive import write_archive
from hicorex.storage.model_checks import check_model, check_output
from hicorex.storage.records import ModelRecord
from hicorex.storage.soundness import checking
from hicorex.support.compatibility import validate_parameters
from hicorex.support.names import factor_names


class Training(NamedTuple):
    """The samples of a fit, and their sample_weight, None if each counts once. Files do not hold them."""

    samples: Any
    sample_weight: np.ndarray | None

    @classmethod
    def of(cls, X: Any, table: Source, sample_weight: np.ndarray | None) -> "Training":
        """The samples as they were given; with a sample_weight in memory, only those that it counts."""
        return cls(table.head, sample_weight) if table.in_memory and sample_weight is not None else cls(X, None)


class LayeredEstimator(TransformerMixin, BaseEstimator):
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
    def _attributes(self, fitted: FittedModel) -> dict[str, Any]:
        """The attributes that this estimator publishes beside those of every estimator."""

    @abstractmethod
    def _sized(self) -> dict[str, Any]:
        """The parameters that make another fit have the same sizes."""

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
            mean of the fit in its standard deviations; 0 where nothing varied in the fit.
        """
        log_z = self.log_z(X)
        return self.fitted_.usual.surprise(log_z)

    def bounds(self, X: Any = None, *, cv: Any = None) -> Bounds:
        """Bounds on the total correlation and the entropy, with standard errors.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            New samples, for bounds without the optimism of the fit. None stands for the samples of the
            fit: the bounds are then those of their empirical distribution. The samples of the fit give the
            same if they are passed as X.
        cv : int or scikit-learn splitter, default=None
            Cross-fit: models of the same size are fitted to all folds but one, and evaluated on that one.
            Without X this needs the samples of the fit, which a loaded model no longer knows.
            Folds of a few samples make the bounds wide: take two to ten.
        """
        check_is_fitted(self)
        if isinstance(X, Integral):
            raise HicorexError(f"X is {X}; give samples, or write cv={X} for {X} folds.")
        if cv is not None:
            return self._cross_fit(*self._samples(X), cv)
        if X is None:
            return self.bounds_
        table, depth = self._new(X), self.bounds_.depth
        if table.shape[0] == self.bounds_.n_samples:
            with quietly():  # the samples of the fit need no warning
                evidence = self.fitted_.evidence(table, self.n_jobs, depth, dtype=None)
            if self.fitted_.saw(evidence):
                return self.bounds_
        return bounds_of([self.fitted_.evidence(table, self.n_jobs, depth)])

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
        return Significance(self._compare_with_chance(table, sample_weight, int(n_permutations)))

    def _compare_with_chance(
        self, table: Source, sample_weight: np.ndarray | None, n_permutations: int
    ) -> list[Tested]:
        """How likely chance would explain as much of the samples of the fit as each layer does."""
        rows = []
        entropy = seed_of(self.random_state).entropy
        for k, layer in enumerate(self.fitted_.layers, start=1):
            with LocalEngine(self.n_jobs) as engine:
                data = layer.encode(table, engine, sample_weight, dtype=None)
                again = used_only(run_pass(layer.state, data, engine).log_z)
                if data.n_samples != layer.bounds.n_samples or not np.allclose(again, layer.tcs, 1e-3, 1e-3):
                    raise HicorexError(
                        f"X, of {data.n_samples} samples, is not what the model was fitted to, "
                        f"{layer.bounds.n_samples} samples; give the samples of the fit."
                    )
                rows += compare_with_chance(
                    k,
                    layer.tcs,
                    data,
                    RULES[self.structure],
                    engine,
                    n_permutations=n_permutations,
                    seed=np.random.SeedSequence(entropy, spawn_key=(k,)),
                    options=FitOptions(layer.n_factors, layer.n_states, self.n_init, self.max_iter, self.tol),
                )
            table = source_of(layer.label(table, self.n_jobs))
        return rows

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

        The page loads nothing from elsewhere. It shows numbers and examples of the samples, never the whole table. A
        file of that name is replaced, a folder is refused.

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
        if X is not None and not _has_rows_here(X):
            raise HicorexError(
                f"X is of type {type(X).__name__}, not in memory; pass some of its rows as an array or a data frame, "
                "or use the command hicorex report."
            )
        if X is None and self._training is not None and _has_rows_here(self._training.samples):
            X = self._training.samples
        if X is None and row_names is not None:
            raise HicorexError("row_names are of samples that this model no longer knows; pass them as X.")
        samples = None
        if X is not None:
            states, log_z = self.states_and_log_z(X)
            samples = named_samples(X, states, log_z, row_names)
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

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """layer1_factor0, ..., in the order of ``transform``."""
        check_is_fitted(self)
        return np.array(factor_names(self), dtype=object)

    def samples_of_fit(self, X: Any = None) -> tuple[Source, np.ndarray | None]:
        """X or the samples of the fit, in memory and with the columns of the fit, and their sample_weight."""
        table, sample_weight = self._samples(X)
        return self._checked(table), sample_weight

    def _samples(self, X: Any) -> tuple[Source, np.ndarray | None]:
        """The same with any columns, for samples to fit again."""
        if X is None and self._training is None:
            raise HicorexError("This model no longer knows the samples of its fit; pass them as X.")
        samples, sample_weight = (X, None) if X is not None or self._training is None else self._training
        table = source_of(samples, least_samples=2)
        if not table.in_memory:
            raise HicorexError("This needs samples in memory; read some of the table's rows, and pass them as X.")
        return table, sample_weight

    def _decisive(self) -> dict[str, str]:
        """The parameters on which a fit depends, as text."""
        given = {name: value for name, value in self.get_params().items() if name not in ("n_jobs", "verbose")}
        if isinstance(self.random_state, np.random.RandomState):
            del given["random_state"]
        plain = {name: v if isinstance(v, dict) else np.asarray(v).tolist() for name, v in given.items()}
        return {name: repr(value) for name, value in plain.items()}

    def _progress(self) -> Progress:
        return listener_of(self.verbose)

    def _new(self, X: Any) -> Source:
        """New samples, of the columns of the fit."""
        check_is_fitted(self)
        return self._checked(source_of(X))

    def _checked(self, table: Source) -> Source:
        """A table that has the columns of the fit."""
        validate_data(self, table.head, reset=False, skip_check_array=True)
        return table

    def _cross_fit(self, table: Source, sample_weight: np.ndarray | None, cv: Any) -> Bounds:
        """Bounds from models of the same size; each is evaluated on the samples that its fit left out."""
        parts = []
        for training, held_out in splits(cv, table.shape[0]):
            model = clone(self).set_params(**self._sized(), marginals=list(self.fitted_.layers[0].encoder.kinds))
            training_weight, held_out_weight = (
                None if sample_weight is None else sample_weight[rows] for rows in (training, held_out)
            )
            with quietly():  # the fit of this model has warned already
                fitted = model.fit(rows_of(table.head, training), sample_weight=training_weight).fitted_
                new = source_of(rows_of(table.head, held_out))
                parts.append(fitted.evidence(new, self.n_jobs, self.bounds_.depth, held_out_weight))
        return bounds_of(parts, cross_fitted=True)

    def _output(self) -> dict[str, Any]:
        """The output that ``set_output`` has set."""
        return getattr(self, "_sklearn_output_config", {})

    def _html_repr(self) -> str:
        """What notebooks show: the parameters, and once fitted what was found."""
        diagram = super()._html_repr()
        if not hasattr(self, "bounds_"):
            return diagram
        from hicorex.report import small_report

        return diagram + small_report(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {k: None if k == "_training" else v for k, v in super().__getstate__().items()}


def names_of_columns(table: Source) -> np.ndarray | None:
    """The names by which scikit-learn knows the columns of a table, None if it has none."""
    probe = BaseEstimator()
    validate_data(probe, table.head, skip_check_array=True)
    return getattr(probe, "feature_names_in_", None)


def _has_rows_here(X: Any) -> bool:
    """Whether rows of X can be picked, as of an array or a memory map, but not of a file or a Dask collection."""
    if isinstance(X, str | PathLike):
        return False
    return isinstance(X, np.ndarray) or not (is_collection(X) or disk_source(X) is not None)
