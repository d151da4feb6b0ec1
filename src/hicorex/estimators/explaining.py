"""Why samples are what they are: what each variable adds to what factors say of a sample."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hicorex.estimators.training import has_rows_here
from hicorex.exceptions import HicorexError
from hicorex.fitted.explanation import Explanation, explain_samples, links_of_layers, value_surprisals
from hicorex.fitted.layer import OfBatch
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.model import FittedModel
    from hicorex.input.sources import Source


class Explaining:
    """What an estimator says about single samples, variable by variable."""

    fitted_: "FittedModel"
    n_jobs: int | None

    @abstractmethod
    def _new(self, X: Any) -> "Source":
        """New samples, of the columns of the fit."""

    @abstractmethod
    def _through(self, X: Any, function: OfBatch) -> Sequence[Sequence[np.ndarray]]:
        """What a function says of new samples, array by array, each for all layers from the bottom up."""

    def explain(self, X: Any) -> Explanation:
        """How much each variable adds to each factor's log Z of each sample, and to its surprisal.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
            Samples in memory; of a large table those that are of interest.

        Returns
        -------
        Explanation
            ``terms`` (n_samples, n_links) and ``cost`` (n_samples, n_factors of all layers), of which ``log_z``
            is the sum; ``surprisal_of_variables`` and ``surprisal_of_factors``, which add up to the surprisal of
            ``surprise(X)``; ``odd`` (n_samples, n_features), how much more surprising than usual each value is;
            ``top(sample)``, the variables that say most about a sample.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, flip=(0.01, 0.02), random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> X[5, 4] = 1 - X[5, 4]  # a wrong entry
        >>> [reason.name for reason in model.explain(X[5:6]).top(0, 1)]
        ['x4']
        """
        check_is_fitted(self)
        if not has_rows_here(X):
            raise HicorexError(
                f"X is of type {type(X).__name__}, not in memory; pass the samples to explain as an array or a data "
                "frame."
            )
        table, layers = self._new(X), self.fitted_.layers
        first, names = layers[0], names_of(cast("LayeredEstimator", self))
        known = (first.alpha * first.mutual_information).sum(axis=1)
        values, usual = first.map(table, partial(value_surprisals, first.surprisals, known), self.n_jobs)
        terms, lost, cost = (np.hstack(of_layers) for of_layers in self._through(X, explain_samples))
        factors = [name for of_layer in names[1:] for name in of_layer]
        return Explanation(names[0], factors, links_of_layers(layers), terms, lost, cost, values, usual)
