"""What estimators of one layer and of several have in common: scores, bounds, surprise and tests."""

from abc import abstractmethod
from itertools import zip_longest
from numbers import Integral
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hicorex.bounds.bounds import bounds_of
from hicorex.bounds.evidence import Evidence, StackedLayer, gather
from hicorex.bounds.result import Bounds
from hicorex.compatibility import parameter_names
from hicorex.engine import LocalEngine
from hicorex.exceptions import HicorexError, UnsoundError, quietly
from hicorex.input.reader import rows_of
from hicorex.input.sources import Source, disk_source, source_of
from hicorex.input.sources.collection import is_collection
from hicorex.layer.one_pass import run_pass
from hicorex.layer.progress import Lines, Progress
from hicorex.layer.state import used_only
from hicorex.layer.structure import RULES
from hicorex.names import names_of
from hicorex.selection.folds import splits
from hicorex.selection.permutation import Significance, compare_with_chance
from hicorex.storage.archive import write_archive


class Surprise(NamedTuple):
    """How far samples are from what was usual in the fit, in standard deviations.

    samples : (n_samples,), of the point-wise total correlation: far below zero, a sample breaks the dependence
        that the model has learned; far above, it follows it unusually strongly
    factors : (n_samples, n_factors of all layers), of each factor's log Z_j
    """

    samples: np.ndarray
    factors: np.ndarray


class LayeredEstimator(TransformerMixin, BaseEstimator):
    """A fitted stack of layers, of which each explains the dependence among the labels of the one below."""

    n_jobs: int | None
    random_state: Any
    verbose: int
    # What a fit sets, beside the parameters.
    _fitted: tuple[str, ...]
    # How the file of the samples was read, for those that are yet to come.
    _reading: dict[str, Any]
    # Who hears of the steps of a fit in the place of standard error.
    _listener: Progress | None = None

    @property
    @abstractmethod
    def _stack(self) -> list:
        """The fitted layers, from the bottom up."""

    @abstractmethod
    def log_z(self, X: Any) -> np.ndarray:
        """log Z_j of every factor, (n_samples, n_factors of all layers)."""

    @abstractmethod
    def _states_and_log_z(self, X: Any) -> tuple[np.ndarray, ...]:
        """The most likely states of every factor, and log_z, in one pass."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse a model that does not hold together, as files that hold one are."""

    @abstractmethod
    def _sized(self) -> dict[str, Any]:
        """The parameters that hold the sizes found, for fits of the same size."""

    def score_samples(self, X: Any) -> np.ndarray:
        """Point-wise total correlation, the sum of log Z_j over all factors, (n_samples,).

        Far from its mean: surprising.
        """
        return self.log_z(X).sum(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean point-wise total correlation: on new samples, an estimate of the objective without optimism."""
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
            mean of the fit in its standard deviations; 0 where the fit saw none.
        """
        log_z = self.log_z(X)
        return Surprise(self._surprise_of_samples(log_z.sum(axis=1)), self._surprise_of_factors(log_z, slice(None)))

    def _surprise_of_samples(self, total: np.ndarray) -> np.ndarray:
        """How unusual samples of this point-wise total correlation are, (n_samples,)."""
        return _standardised(total, *self._usual[0])

    def _surprise_of_factors(self, log_z: np.ndarray, factors: Any) -> np.ndarray:
        """How unusual the log Z of some factors are: by one of them, all samples take little memory."""
        mean, spread = self._usual[1]
        return _standardised(log_z, mean[factors], spread[factors])

    def bounds(self, X: Any = None, *, cv: Any = None) -> Bounds:
        """Bounds on the total correlation and the entropy, with standard errors.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            New samples, for bounds without the optimism of the fit. None stands for the samples of the
            fit, whose own distribution is then bounded.
        cv : int or scikit-learn splitter, default=None
            Cross-fit: models of the same size are fitted to all folds but one, and evaluated on that one.
            Without X, on the samples of the fit, if the model still knows them (a loaded one does not).
            Folds of a few samples make the bounds wide: take two to ten.
        """
        check_is_fitted(self)
        if isinstance(X, Integral):
            raise HicorexError(f"X is {X}; give samples, or write cv={X} for so many folds.")
        if cv is not None:
            return self._cross_fit(*self._samples(X), cv)
        if X is None:
            return self.bounds_
        return bounds_of([self._evidence(X, self.bounds_.depth)])

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
        table, weight = self._samples(X)
        if weight is not None and np.ptp(weight) > 0:
            raise HicorexError("Samples of different weights cannot be shuffled; fit without sample_weight.")
        rows = []
        entropy = self._seed().entropy
        for k, layer in enumerate(self._stack, start=1):
            with LocalEngine(self.n_jobs) as engine:
                data = layer._encode(table, engine, weight, dtype=None)
                again = used_only(run_pass(layer._state, data, engine).log_z)
                if data.n_samples != layer.bounds_.n_samples or not np.allclose(again, layer.tcs_, 1e-3, 1e-3):
                    raise HicorexError(
                        f"X, of {data.n_samples} samples, is not what the model was fitted to, "
                        f"{layer.bounds_.n_samples} samples; give the samples of the fit."
                    )
                rows += compare_with_chance(
                    f"layer{k}",
                    layer.tcs_,
                    data,
                    RULES[layer.structure],
                    engine,
                    n_permutations=n_permutations,
                    seed=np.random.SeedSequence(entropy, spawn_key=(k,)),
                    options=layer._options(),
                )
            table = source_of(layer._label(table))
        return Significance(rows)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, whole or not at all; ``hicorex.load`` reads it.

        The file holds no samples, and no code runs when it is read. A file of that name is replaced, a folder is
        refused.
        """
        check_is_fitted(self)
        try:
            self._check()
        except UnsoundError as error:  # better told while the model is still there
            raise HicorexError(f"The model could not be read again: {error}. Mend that, or fit again.") from error
        write_archive(path, "model", self)

    def report(
        self, path: Any, X: Any = None, *, groups: Any = None, row_names: Any = None, title: str | None = None
    ) -> None:
        """Write one HTML file that shows what was found, for people to explore, mail and keep.

        It loads nothing from anywhere. Samples are told of in numbers and examples, never as a whole table. A file of
        that name is replaced, a folder is refused.

        Parameters
        ----------
        path : path
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            The samples to tell of. None stands for those of the fit, if the model still knows them; otherwise
            the report tells of the model alone.
        groups : mapping, path or None, default=None
            The group of each variable by its name, or a CSV file with a column of names and others of groups,
            by which the variables can be coloured.
        row_names : array-like of shape (n_samples,), default=None
            What the samples are called; by default the index of a pandas data frame, or their numbers.
        title : str, default=None
            What the page is called, "hicorex report" if nothing else.
        """
        from hicorex.findings.groups import groupings_of
        from hicorex.report import TITLE, named_samples, write_report

        check_is_fitted(self)
        if isinstance(X, str | PathLike):
            raise HicorexError(f"X is {str(X)!r}, a path; read the file first, or use the command hicorex report.")
        groupings = groupings_of(names_of(self)[0], groups)
        if X is not None and not _has_rows_here(X):
            raise HicorexError(
                f"X is of type {type(X).__name__}, not in memory; pass some of its rows as an array or a data frame, "
                "or use the command hicorex report."
            )
        if X is None and getattr(self, "_training", None) is not None and _has_rows_here(self._training[0]):
            X = self._training[0]
        if X is None and row_names is not None:
            raise HicorexError("row_names are of samples that this model no longer knows; pass them as X.")
        samples = None
        if X is not None:
            states, log_z = self._states_and_log_z(X)
            samples = named_samples(X, states, log_z, row_names)
        write_report(path, self, samples, groupings, title or TITLE)

    def _html_repr(self) -> str:
        """What notebooks show: the parameters, and once fitted what was found."""
        diagram = super()._html_repr()
        if not hasattr(self, "bounds_"):
            return diagram
        from hicorex.report import small_report

        return diagram + small_report(self)

    def _seed(self, begun: int | None = None) -> np.random.SeedSequence:
        """Where the random numbers of a fit come from, or of one that was begun without a random_state."""
        # None draws fresh entropy, so that numpy's global generator is left alone.
        drawn = begun if self.random_state is None else check_random_state(self.random_state).randint(2**31 - 1)
        return np.random.SeedSequence(drawn)

    def _decisive(self) -> dict[str, str]:
        """The parameters on which a fit depends, in words."""
        given = {name: value for name, value in self.get_params().items() if name not in ("n_jobs", "verbose")}
        if isinstance(self.random_state, np.random.RandomState):
            del given["random_state"]
        plain = {name: v if isinstance(v, dict) else np.asarray(v).tolist() for name, v in given.items()}
        return {name: repr(value) for name, value in plain.items()}

    def _progress(self) -> Progress:
        return self._listener or (Lines() if self.verbose else Progress())

    def _evidence(self, X: Any, depth: int, weight: np.ndarray | None = None) -> Evidence:
        """What the layers say about new samples, so many of them counting."""
        stack = self._stack
        stacked: list[StackedLayer] = []
        table = source_of(X)
        with table.engine(self.n_jobs) as engine:
            first = data = stack[0]._encode(table, engine, weight)
            for layer, above in zip_longest(stack, stack[1:]):
                feeding = None if above is None else layer._view(data, engine, hard=True)
                read = layer._schema.encode_labels if stacked else None
                stacked.append(StackedLayer(layer._view(data, engine, hard=False), feeding, read))
                if above is not None:
                    data = above._encode(layer._label_table(data, engine), engine, weight)
            return gather(first, stacked, engine, stack[0]._surprisals, depth, self._column_name)

    def _expected(self) -> dict[str, str]:
        """The columns that the model knows, and what their values are, in words."""
        types = self._stack[0]._schema.types()
        return dict(zip(self._variable_names(len(types)), types, strict=True))

    def _variable_names(self, n_columns: int) -> list[str]:
        """What the columns are called: by the table, by the file that an array came from, or by their numbers."""
        of_file = getattr(self, "_reading", {}).get("names")
        names = getattr(self, "feature_names_in_", of_file or [f"x{i}" for i in range(n_columns)])
        return [str(name) for name in names]

    def _column_name(self, i: int) -> str:
        return repr(str(self.feature_names_in_[i])) if hasattr(self, "feature_names_in_") else str(i)

    def _cross_fit(self, table: Source, weight: np.ndarray | None, cv: Any) -> Bounds:
        """Bounds from models of the same size, each fitted without the samples it is evaluated on."""
        parts = []
        for training, held_out in splits(cv, table.shape[0]):
            model = clone(self).set_params(**self._sized())
            own, other = (None, None) if weight is None else (weight[training], weight[held_out])
            with quietly():  # this model's own fit has said what there is to say
                model.fit(rows_of(table.head, training), sample_weight=own)
                parts.append(model._evidence(rows_of(table.head, held_out), self.bounds_.depth, other))
        return bounds_of(parts, cross_fitted=True)

    def _conclude(self, evidence: Evidence) -> None:
        """Keep the bounds, and what was usual in the fit."""
        self.bounds_ = bounds_of([evidence])
        log_z = np.concatenate([means.log_z for means in evidence.soft])
        self._usual = evidence.usual_score(), (log_z, np.concatenate([means.log_z_spread for means in evidence.soft]))

    def _unfitted(self) -> Self:
        """Another estimator with these parameters, to learn in the place of this one."""
        return self._with({name: value for name, value in vars(self).items() if name not in self._own_to_fits()})

    def _copied(self) -> Self:
        """Another estimator that is this one, to learn more in its place: it sets attributes, and changes none."""
        return self._with(dict(vars(self)))

    def _with(self, attributes: dict[str, Any]) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__ = attributes
        return other

    def _publish(self, learner: Self, X: Any, table: Source, weight: np.ndarray | None) -> Self:
        """Become what another has learned, at once and last of all: no fit that fails or is interrupted gets here.

        Also a reference to the samples of the fit is kept, those with a weight, which files do not get.
        """
        own = self._own_to_fits()
        learned = {name: value for name, value in vars(learner).items() if name in own and name != "_reading"}
        learned["_training"] = (table.head, weight) if table.in_memory and weight is not None else (X, None)
        self.__dict__ = {name: value for name, value in vars(self).items() if name not in own} | learned
        return self

    def _own_to_fits(self) -> tuple[str, ...]:
        """The attributes that come and go with a fit, and with the file that it was fitted to."""
        return (*self._fitted, "_reading", "_training")

    def _samples(self, X: Any) -> tuple[Source, np.ndarray | None]:
        """Samples in memory to fit again, and their weights."""
        if X is None and getattr(self, "_training", None) is None:
            raise HicorexError("This model no longer knows the samples of its fit; pass them as X.")
        samples, weight = self._training if X is None else (X, None)
        table = source_of(samples, least_samples=2)
        if not table.in_memory:
            raise HicorexError("This needs samples in memory; read some of the table's rows, and pass them as X.")
        return table, weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @classmethod
    def _restored(cls, **held: Any) -> Self:
        """The model with these parameters and attributes; a parameter that is younger than its file has its default."""
        names = set(parameter_names(cls))
        model = cls(**{name: value for name, value in held.items() if name in names})
        model.__dict__.update({name: value for name, value in held.items() if name not in names})
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k not in ("_training", "_listener")}


def _has_rows_here(X: Any) -> bool:
    """Whether X is a table of which rows can be picked, as of a memory map; not a file, data set or Dask collection."""
    if isinstance(X, str | PathLike):
        return False
    return isinstance(X, np.ndarray) or not (is_collection(X) or disk_source(X) is not None)


def _standardised(values: np.ndarray, mean: Any, spread: Any) -> np.ndarray:
    """Deviations from the mean in standard deviations, 0 where those are mere rounding."""
    varies = spread > 1e-6 * np.maximum(1, np.abs(mean))
    deviation = values - mean
    deviation /= np.where(varies, spread, 1)
    np.copyto(deviation, 0, where=~varies)
    return deviation
