"""What an estimator tells of its factors: the variables of each, and its structure for other tools."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

from hicorex.support.compatibility import check_pandas_support

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.findings.leading import LeadingVariable


class Telling:
    """What an estimator tells of its factors."""

    def top_variables(
        self, factor: int | str, n: int = 10, names: Sequence[str] | None = None
    ) -> "list[LeadingVariable]":
        """The variables that belong to a factor most, by falling weight, alpha times mutual information.

        Parameters
        ----------
        factor : int or str
            Its number among the factors of all layers, or its name.
        n : int, default=10
            At most this many.
        names : sequence of str, default=None
            The names of the columns where the table had none, as those of a vectorizer's words.

        Returns
        -------
        list of LeadingVariable
            Of each its ``name``; its ``weight`` in nats; ``sign``, 1 or -1 where it is higher or lower in the leading
            state of the factor; ``lift``, how much more frequent its telling value, or a word, is in that state than
            over all samples, None for numbers.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> leading = model.top_variables(0, 3)
        >>> len(leading), leading[0].weight >= leading[1].weight
        (3, True)
        """
        from hicorex.findings.leading import leading_variables

        check_is_fitted(self)
        return leading_variables(cast("LayeredEstimator", self), factor, n, names)

    def factors_by(self, X: Any, by: Any, bins: int | None = None) -> Any:
        """How often the leading state of each factor is met in each class of samples, or over time (needs pandas).

        Parameters
        ----------
        X : array-like, data frame or scipy sparse table of shape (n_samples, n_features)
        by : array-like of shape (n_samples,)
            The class of each sample, or its time.
        bins : int, default=None
            Cut numbers or times into this number of intervals of equal length.

        Returns
        -------
        DataFrame
            A row for each class or interval, in their order: ``n_samples``, and for each factor the mean probability of
            its leading state, the one that its ``top_variables`` tell of.

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> model = Corex(n_factors=3, n_states=2, random_state=0).fit(X)
        >>> table = model.factors_by(X, truth.root)
        >>> table.shape, int(table["n_samples"].sum())
        ((2, 4), 500)
        """
        from hicorex.findings.leading import shares_by

        check_is_fitted(self)
        check_pandas_support("factors_by")
        return shares_by(cast("LayeredEstimator", self), X, by, bins)

    def to_networkx(self) -> Any:
        """The structure as a directed graph of networkx, which ``pip install "hicorex[networkx]"`` brings.

        Nodes are the variables and the factors by name, with ``kind``, ``layer`` and ``information``; a variable that
        is called as a factor is gets ``_`` at its end. Edges point from a factor to what belongs to it, with
        ``weight``, ``alpha`` and ``mutual_information``.

        Returns
        -------
        networkx.DiGraph

        Examples
        --------
        >>> from hicorex import Corex
        >>> from hicorex.datasets import make_latent_tree
        >>> X, truth = make_latent_tree(500, 30, 3, random_state=0)
        >>> graph = Corex(n_factors=3, n_states=2, random_state=0).fit(X).to_networkx()
        >>> graph.number_of_nodes(), graph.nodes["layer1_factor0"]["kind"]
        (33, 'factor')
        """
        from hicorex.findings.graph import graph_of

        check_is_fitted(self)
        return graph_of(cast("LayeredEstimator", self)).to_networkx()
