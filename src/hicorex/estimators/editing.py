"""Editing: factors renamed, merged, split, dropped or frozen, each in a new model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from sklearn.utils.validation import check_is_fitted

from hicorex.exceptions import HicorexError
from hicorex.fitted.naming import check_names

if TYPE_CHECKING:
    import numpy as np

    from hicorex.estimators.base import LayeredEstimator
    from hicorex.estimators.training import Training
    from hicorex.fitted.model import FittedModel
    from hicorex.input.sources import Source


class Editing:
    """What people do with factors that they have looked at. Every edit is a new model; the old one stays as it is."""

    fitted_: "FittedModel"
    _training: "Training | None"

    if TYPE_CHECKING:  # what every estimator has

        def of_fitted(self, fitted: FittedModel, training: Training | None) -> Any:
            """A new model of these parameters that has learned this."""

        def _samples(self, X: Any) -> tuple[Source, np.ndarray | None]: ...
        def _checked(self, table: Source) -> Source: ...

    def rename(self, names: Any) -> Self:
        """A new model whose factors have names, in files, tables, pictures and the report.

        Parameters
        ----------
        names : mapping or path
            The new name of each factor by the one that it has, such as ``{"layer1_factor0": "mood"}``, in a model of
            one layer also by its number; None takes a name away. Or a names file, CSV with the columns factor and name,
            or JSON.

        Returns
        -------
        Corex or HierarchicalCorex

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X).rename({0: "mood"})
        >>> print(*model.get_feature_names_out())
        mood layer1_factor1 layer1_factor2
        """
        from hicorex.estimators.reworking import place_of
        from hicorex.findings.named_lists import names_from

        check_is_fitted(self)
        if isinstance(names, str | PathLike):
            names = names_from(names)
        if not isinstance(names, Mapping):
            raise HicorexError(
                f"names is of type {type(names).__name__}; give a mapping of factors to their names, or a names file."
            )
        given: list[dict[int, str]] = [dict(layer.factor_names) for layer in self.fitted_.layers]
        seen = set()
        for key, name in names.items():
            k, j = place_of(self, key)
            if (k, j) in seen:
                raise HicorexError(f"names has the factor {key!r} twice, by name and by number; give it once.")
            seen.add((k, j))
            given[k].pop(j, None)
            if name is not None:
                given[k][j] = name
        check_names([name for of_layer in given for name in of_layer.values()], self.fitted_.variable_names())
        layers = tuple(
            replace(layer, factor_names=dict(sorted(of_layer.items())))
            for layer, of_layer in zip(self.fitted_.layers, given, strict=True)
        )
        return self.of_fitted(replace(self.fitted_, layers=layers), self._training)

    def drop(self, factors: Any, X: Any = None) -> Self:
        """A new model without some factors; the others of their layer stay as they are.

        Layers above are fitted anew to the labels that are left, as after each of the edits below.

        Parameters
        ----------
        factors : name or number, or a list of them
            Of one layer.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            The samples for which the new model has its bounds. None stands for those of the fit, if the model still
            knows them.

        Returns
        -------
        Corex or HierarchicalCorex

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> fewer = model.drop(2)
        >>> fewer.n_factors_, bool((fewer.transform(X) == model.transform(X)[:, :2]).all())
        (2, True)
        """
        from hicorex.estimators.reworking import places_of, without

        check_is_fitted(self)
        k, some = places_of(self, factors, "drop")
        if len(some) == self.fitted_.layers[k].n_factors:
            raise HicorexError("drop names all factors of the layer, and nothing would be left; keep one.")
        return self._reworked(X, k, lambda bench: without(bench, some))

    def merge(self, factors: Any, name: str | None = None, X: Any = None) -> Self:
        """A new model with one factor in the place of several, fitted to the variables of all; the others stay.

        Parameters
        ----------
        factors : list of names or numbers
            Two or more, of one layer.
        name : str, default=None
            The name of the new factor, which has the place of the first.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            As in ``drop``.

        Returns
        -------
        Corex or HierarchicalCorex

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X).merge([0, 2], "both")
        >>> print(*model.get_feature_names_out())
        both layer1_factor1
        """
        from hicorex.estimators.reworking import merged, places_of

        check_is_fitted(self)
        k, some = places_of(self, factors, "merge")
        if len(some) < 2:
            raise HicorexError("merge names one factor; give two or more.")
        self._check_new([] if name is None else [name], k, some)
        return self._reworked(X, k, lambda bench: merged(bench, some, name))

    def split(self, factor: Any, names: Sequence[str] | None = None, X: Any = None) -> Self:
        """A new model with two factors in the place of one, fitted to its variables; the others stay as they are.

        Parameters
        ----------
        factor : name or number
        names : two names, default=None
            Of the new factors, which have its place and the next one.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            As in ``drop``.

        Returns
        -------
        Corex or HierarchicalCorex
        """
        from hicorex.estimators.reworking import places_of, split

        check_is_fitted(self)
        k, some = places_of(self, factor, "split")
        if len(some) > 1:
            raise HicorexError("split names several factors; give one.")
        if names is not None and (isinstance(names, str) or len(names) != 2):
            raise HicorexError(f"names is {names!r}; give two names, one for each new factor.")
        self._check_new([] if names is None else list(names), k, some)
        return self._reworked(X, k, lambda bench: split(bench, some[0], names, repr(factor)))

    def freeze(self, factors: Any, X: Any = None) -> Self:
        """A new model in which some factors are as they are, and the others of their layer are fitted anew beside them.

        Parameters
        ----------
        factors : name or number, or a list of them
            Of one layer. They keep their numbers, and give the same labels as before.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            As in ``drop``.

        Returns
        -------
        Corex or HierarchicalCorex
        """
        from hicorex.estimators.reworking import frozen, places_of

        check_is_fitted(self)
        k, some = places_of(self, factors, "freeze")
        return self._reworked(X, k, lambda bench: frozen(bench, some))

    def names_prompt(self, n_variables: int = 10) -> str:
        """A text of each factor's top variables and states, for whoever or whatever is to name the factors.

        Parameters
        ----------
        n_variables : int, default=10
            The most variables of a factor that are listed.

        Returns
        -------
        str
            It asks for lines of CSV, which ``rename`` takes as a file. Nothing is sent anywhere.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> text = Corex(n_factors=3, n_states=2, random_state=0).fit(X).names_prompt()
        >>> "layer1_factor2" in text and "factor,name" in text
        True
        """
        from hicorex.findings.prompt import names_prompt

        check_is_fitted(self)
        return names_prompt(cast("LayeredEstimator", self), n_variables)

    def _reworked(self, X: Any, layer: int, change: Any) -> Any:
        """A new model in which a layer, 0, 1, ..., is changed, evaluated on X or the samples of the fit."""
        from hicorex.estimators.reworking import reworked
        from hicorex.estimators.training import Training

        table, sample_weight = self._samples(X)
        training = self._training if X is None else Training.of(X, table, sample_weight)
        return reworked(self, self._checked(table), training, layer, change)

    def _check_new(self, names: list[str], layer: int, gone: list[int]) -> None:
        """Refuse names for new factors that others have, but for those that they take the place of."""
        kept = [
            name
            for k, of_layer in enumerate(self.fitted_.layers)
            for j, name in of_layer.factor_names.items()
            if (k, j) not in {(layer, j) for j in gone} and k <= layer
        ]
        check_names([*kept, *names], self.fitted_.variable_names())
