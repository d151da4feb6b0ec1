"""How factors go with what is known from elsewhere: traits of samples, groups of variables."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hicorex.estimators.training import Training
from hicorex.exceptions import HicorexError, UnknownSamplesError
from hicorex.fitted.model import FittedModel
from hicorex.relations.associations import Associations
from hicorex.relations.dependence import dependences_of
from hicorex.relations.enrichment import Enrichment, enrichment_of, variables_of_factors
from hicorex.relations.traits import Traits, traits_of
from hicorex.relations.variable_groups import variable_groups
from hicorex.support.names import factor_names

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator


class Relating:
    """What estimators say of factors and of what is known from elsewhere."""

    n_jobs: int | None
    fitted_: FittedModel
    _training: Training | None

    def associate(self, traits: Any, X: Any = None, *, kinds: Any = "auto", survival: Any = None) -> Associations:
        """Which traits of samples, that the fit has not seen, go with which factors.

        Each trait is held against the most likely states of each factor. Numbers: an F test of the normal scores of
        their ranks, exact whatever their distribution. Categories: a likelihood-ratio test, in which rare ones count
        as one. Times until an event: the log-rank test. ``q_values`` are over the whole table.

        Parameters
        ----------
        traits : data frame, mapping of names to columns, or array
            A row for each sample; values may be missing. If it and X are pandas tables with names of rows, rows are
            matched by these, and samples without traits are left out.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            None stands for the samples of the fit, if the model still knows them.
        kinds : "auto", or a mapping of "gaussian", "rank", "categorical" or "ordered" by trait
            How traits are read, as ``marginals`` of the variables: whole numbers of few values are categories.
        survival : pair of str, or mapping of names to such pairs, default=None
            The traits that hold a time and whether the event came then (1) or the sample was only seen until then (0).

        Returns
        -------
        Associations
            ``explained_share``, ``p_values`` and ``q_values`` (n_factors of all layers, n_traits); ``rows()`` and
            ``to_frame()``, a row for each pair.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from sklearn.datasets import load_wine
        >>> X, grower = load_wine(return_X_y=True, as_frame=True)
        >>> model = Corex(n_factors=2, n_states=3, random_state=0).fit(X)
        >>> found = model.associate({"grower": grower})
        >>> print(found)
                          trait       kind  explained   p-value   q-value
        layer1_factor0    grower  category      87.7%     7e-72   1.4e-71
        layer1_factor1    grower  category       6.4%   1.3e-05   1.3e-05
        """
        check_is_fitted(self)
        samples, sample_weight = self._samples_beside(X)
        states = np.asarray(cast("LayeredEstimator", self).states_and_log_z(samples)[0])
        known = traits_of(traits, samples, len(states), survival, self.fitted_.variable_names())
        return self.associations_of(known, states, kinds, sample_weight)

    def associations_of(
        self,
        traits: Traits,
        states: np.ndarray,
        kinds: Any = "auto",
        sample_weight: np.ndarray | None = None,
    ) -> Associations:
        """Which traits go with which factors, by the states (n_samples, n_factors of all layers) of samples."""
        return Associations.of(self._names(), dependences_of(traits, states, kinds, sample_weight, self.n_jobs))

    def enrichment(self, groups: Any) -> Enrichment:
        """Which groups of variables, such as sectors or sets of genes, are more frequent in a factor than by chance.

        The variables of a factor are those of ``clusters_``, of one above the first layer all that are below it. They
        are held against all variables of the model by the hypergeometric distribution; groups may share variables.

        Parameters
        ----------
        groups : mapping, data frame or path
            The group of each variable by its name, or the variables of each group by its name; a pandas frame with a
            row for each variable, whose columns are groupings; a .gmt file of sets of genes, or a CSV file with a
            column of names and others of groups.

        Returns
        -------
        Enrichment
            ``rows``, the least p-value first; ``to_frame()``.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> found = model.enrichment({f"x{i}": f"group {c}" for i, c in enumerate(truth.clusters)})
        >>> len(found.rows), bool(found.rows[0].q_value < 1e-6), found.rows[0].n_shared
        (3, True, 10)
        """
        check_is_fitted(self)
        variables = self.fitted_.variable_names()
        if groups is None:
            raise HicorexError("groups is None; give the groups of the variables.")
        members = variables_of_factors(self.fitted_)
        return enrichment_of(self._names(), variables, members, variable_groups(variables, groups))

    def _samples_beside(self, X: Any) -> tuple[Any, np.ndarray | None]:
        """X as it was given, or the samples of the fit with their weights."""
        if X is not None:
            return X, None
        if self._training is None:
            raise UnknownSamplesError("This model no longer knows the samples of its fit; pass them as X.")
        samples, sample_weight = self._training
        return samples, sample_weight

    def _names(self) -> list[str]:
        """The names of the factors of all layers."""
        return factor_names(cast("LayeredEstimator", self))
