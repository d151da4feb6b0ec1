"""How a model compares with another one, and how its factors differ between groups and sets of samples."""

from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hicorex.engine import LocalEngine
from hicorex.estimators.relating import Relating
from hicorex.estimators.representation import held_out_explained
from hicorex.exceptions import HicorexError
from hicorex.fitted.layer import posteriors_of
from hicorex.input.sources import Source
from hicorex.marginals import Categorical
from hicorex.relations.comparison import Comparison, Explained, FactorsOf, matched_factors
from hicorex.relations.enrichment import variables_of_factors
from hicorex.relations.group_differences import GroupDifferences, group_differences_of
from hicorex.relations.preservation import Preservation, preservation_of
from hicorex.relations.redundancy import Redundancy, redundancy_of
from hicorex.relations.traits import traits_of
from hicorex.selection.folds import most_folds
from hicorex.selection.likeness import likeness
from hicorex.support.names import factor_names

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The folds by which what models explain is held out; the name of the groups among messages.
N_FOLDS, GROUPS = 3, "group"


class Comparing(Relating):
    """What estimators say of other models, of groups of samples, and of other samples."""

    def compare(self, other: Any, X: Any = None) -> Comparison:
        """How far another model has found the same factors, and what each explains beyond the other.

        Factors are matched one to one, so that their labels of X are as alike as can be.

        Parameters
        ----------
        other : Corex or HierarchicalCorex
            Fitted to the same columns, perhaps of other samples or by other settings.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            Samples in memory; None stands for those of the fit, if the model still knows them.

        Returns
        -------
        Comparison
            ``matches``, a row for each factor; ``agreement`` from 0 to 1; ``beyond_other`` and ``other_beyond`` in
            nats, with standard errors.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> all_three = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> found = Corex(n_factors=2, n_states=2, random_state=0).fit(X).compare(all_three)
        >>> len(found.matches), len(found.unmatched)
        (2, 1)
        >>> bool(found.other_beyond.nats > 3 * found.other_beyond.stderr)
        True
        >>> bool(found.beyond_other.nats < 3 * found.beyond_other.stderr)
        True
        """
        check_is_fitted(self)
        self._check_comparable(other)
        model = cast("LayeredEstimator", self)
        table, _ = model.samples_of_fit(X)
        other.samples_of_fit(table)  # refuses samples of other columns
        mine, theirs = _factors_of(model, table), _factors_of(other, table)
        n_states = 1 + max(int(of.labels.max(initial=0)) for of in (mine, theirs))
        share = np.full(table.shape[0], 1 / table.shape[0])
        alike = likeness(mine.labels, theirs.labels, n_states, share)
        matches, unmatched, agreement = matched_factors(mine, theirs, alike)
        one, two, both = _explained(model, other, table)
        numbers = [_mean(v) for v in (one, two, both, both - two, both - one)]
        return Comparison(matches, unmatched, alike, agreement, *numbers)

    def compare_groups(self, by: Any, X: Any = None) -> GroupDifferences:
        """In which factors groups of samples differ, and by how much.

        Parameters
        ----------
        by : array-like of shape (n_samples,)
            The group of each sample; samples without one are left out. A pandas Series is matched to X by its index.
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            None stands for the samples of the fit, if the model still knows them.

        Returns
        -------
        GroupDifferences
            ``rows``, the least p-value first; ``shares`` of states and ``explains`` of each group.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from sklearn.datasets import load_wine
        >>> X, grower = load_wine(return_X_y=True, as_frame=True)
        >>> model = Corex(n_factors=2, n_states=3, random_state=0).fit(X)
        >>> row = model.compare_groups(grower).rows[0]
        >>> row.factor, row.state, row.most, row.least, round(row.difference, 2)
        ('layer1_factor0', 0, '2', '0', 1.0)
        """
        check_is_fitted(self)
        samples, sample_weight = self._samples_beside(X)
        states, log_z = (np.asarray(array) for array in cast("LayeredEstimator", self).states_and_log_z(samples))
        column = by if hasattr(by, "to_frame") and hasattr(by, "index") else np.asarray(by)
        if np.ndim(column) != 1:
            raise HicorexError(f"by has {np.ndim(column)} dimensions; give one group for each sample.")
        known = traits_of({GROUPS: column}, samples, len(states), None, ())
        assert known.frame is not None
        column = known.frame[:, 0]
        there = ~column.is_null().to_numpy().astype(bool)
        names = np.array([str(value) for value in column.to_list()])[there]
        if np.unique(names).size < 2:
            raise HicorexError(f"by has {np.unique(names).size} group; give two or more to compare.")
        rows = known.rows[there]
        weight = np.ones(len(states)) if sample_weight is None else np.asarray(sample_weight, float)
        groups = traits_of({GROUPS: names}, None, rows.size, None, ())
        found = self.associations_of(groups, states[rows], {GROUPS: "categorical"}, weight[rows])
        return group_differences_of(found, names, states[rows], log_z[rows], weight[rows])

    def preservation(self, X: Any, n_permutations: int = 100, random_state: int = 0) -> Preservation:
        """Whether the factors are there in other samples too.

        What each factor explains of them, E[log Z_j], is held against the same samples with every column shuffled by
        itself, which have the same values and no dependence.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
            Samples in memory that the model was not fitted to; of those of its fit the answer is too good.
        n_permutations : int, default=100
            How often they are shuffled. The smallest p-value is 1 / (n_permutations + 1).
        random_state : int, default=0
            Draws the shuffles.

        Returns
        -------
        Preservation
            ``rows``, one for each factor in use.

        Examples
        --------
        >>> import numpy as np
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(600, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X[:300])
        >>> new = X[300:].copy()
        >>> lost = np.flatnonzero(model.clusters_ == 1)   # break up one factor
        >>> new[:, lost] = np.random.default_rng(0).permuted(new[:, lost], axis=0)
        >>> [row.preserved for row in model.preservation(new).rows]
        [True, False, True]
        """
        check_is_fitted(self)
        if X is None:
            raise HicorexError("X is None; give samples that the model was not fitted to.")
        if not isinstance(n_permutations, Integral) or isinstance(n_permutations, bool) or n_permutations < 2:
            raise HicorexError(f"n_permutations is {n_permutations!r}; give a whole number, 2 or more.")
        model = cast("LayeredEstimator", self)
        table, _ = model.samples_of_fit(X)
        rng = np.random.default_rng(random_state)
        with LocalEngine(self.n_jobs) as engine:
            return preservation_of(self.fitted_, self._names(), table, int(n_permutations), rng, engine)

    def redundancy(self, X: Any = None) -> Redundancy:
        """Whether the variables of each factor repeat each other, or say something only together.

        The O-information of discrete variables, the total correlation less its dual, is above zero where redundancy
        prevails and below where synergy does. It is counted from joint values: of the strongest variables of a factor
        in turn those are taken that leave five samples or more for each cell of the joint table.

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features), default=None
            Samples in memory; None stands for those of the fit, if the model still knows them.

        Returns
        -------
        Redundancy
            ``rows``, one for each factor of the first layer that has variables.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> found = Corex(n_factors=3, n_states=2, random_state=0).fit(X).redundancy()
        >>> [(row.verdict, len(row.variables)) for row in found.rows]
        [('redundancy', 6), ('redundancy', 6), ('redundancy', 6)]
        """
        check_is_fitted(self)
        model = cast("LayeredEstimator", self)
        table, _ = model.samples_of_fit(X)
        layer, names = self.fitted_.layers[0], self.fitted_.variable_names()
        with LocalEngine(self.n_jobs) as engine:
            data = layer.encode(table, engine)
        codes: dict[int, np.ndarray] = {}
        sizes: dict[int, int] = {}
        for block, columns, samples in zip(data.blocks, data.columns, data.samples, strict=True):
            if isinstance(block, Categorical):
                by_column = block.codes_of(cast("Any", samples))
                for i, of_column, size in zip(columns.tolist(), by_column, block.sizes, strict=True):
                    codes[i], sizes[i] = np.asarray(of_column), int(size)
        weight = layer.alpha * layer.mutual_information
        rows = []
        for j in range(layer.n_factors):
            members = np.flatnonzero(layer.clusters == j)
            order = members[np.argsort(-weight[members, j], kind="stable")].tolist()
            if order:
                rows.append(redundancy_of(self._names()[j], names, codes, sizes, order))
        return Redundancy(tuple(rows))

    def _check_comparable(self, other: Any) -> None:
        """Refuse what is no fitted model of the same columns."""
        if not isinstance(other, Comparing):
            raise HicorexError(f"other is of type {type(other).__name__}; give a fitted Corex or HierarchicalCorex.")
        check_is_fitted(cast("LayeredEstimator", other))
        mine, theirs = self.fitted_.variable_names(), other.fitted_.variable_names()
        if len(mine) != len(theirs):
            raise HicorexError(
                f"other was fitted to {len(theirs)} columns, this model to {len(mine)}; fit both to the same columns."
            )
        for name, of_other in zip(mine, theirs, strict=True):
            if name != of_other:
                raise HicorexError(
                    f"other has the column {of_other!r} where this model has {name!r}; fit both to the same columns, "
                    "in one order."
                )


def _factors_of(model: "LayeredEstimator", table: Source) -> FactorsOf:
    """The factors of all layers, and their labels of some samples."""
    states = np.asarray(model.states_and_log_z(table)[0])
    return FactorsOf(factor_names(model), states.T, variables_of_factors(model.fitted_))


def _explained(model: "LayeredEstimator", other: "LayeredEstimator", table: Source) -> list[np.ndarray]:
    """What the first layers of two models explain of each held-out sample, (N,): of each, and of both together."""
    posteriors = [one.fitted_.layers[0].map(table, posteriors_of, model.n_jobs)[0] for one in (model, other)]
    n_states = max(of.shape[2] for of in posteriors)
    filled = [np.pad(of, ((0, 0), (0, 0), (0, n_states - of.shape[2]))) for of in posteriors]
    both = np.ascontiguousarray(np.concatenate(filled, axis=1).transpose(2, 1, 0))
    hard = both.argmax(axis=0)
    alike = likeness(hard, hard, n_states, np.full(table.shape[0], 1 / table.shape[0]))
    every, n_first = np.arange(both.shape[1]), filled[0].shape[1]
    one, two = every[:n_first], every[n_first:]
    n_folds = most_folds(N_FOLDS, table.shape[0])
    with LocalEngine(model.n_jobs) as engine:
        data = model.fitted_.layers[0].encode(table, engine)
        return [
            held_out_explained(data, both, alike, groups, n_folds, engine)
            for groups in ([one], [two], [one, two, every])
        ]


def _mean(values: np.ndarray) -> Explained:
    """The mean over samples, and its standard error."""
    return Explained(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))
