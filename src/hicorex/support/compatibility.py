"""The private names of other libraries that hicorex uses, each with the reason and what could replace it."""

from typing import TYPE_CHECKING, Any

# Checks the parameters of an estimator before a method runs; without it each method would begin by such a check.
from sklearn.base import _fit_context as fit_context

# Picks rows or columns of an array, a sparse table or a data frame of any library; narwhals could do so for frames.
from sklearn.utils import _safe_indexing as safe_indexing

# Imports pandas, or says which method needs it; a try around an import would do.
from sklearn.utils._optional_dependencies import check_pandas_support

# Say which values a parameter may have, in scikit-learn's words; checks in each fit would do.
from sklearn.utils._param_validation import Interval, StrOptions

# The number of rows of whatever scikit-learn takes for a table; a Source of input/ knows it too, once it is made.
from sklearn.utils.validation import _num_samples as num_samples

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "Interval",
    "StrOptions",
    "check_pandas_support",
    "dask_example",
    "dask_few",
    "dask_is_within",
    "dask_meta",
    "dask_nodes",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "validate_parameters",
]


def validate_parameters(estimator: "BaseEstimator") -> None:
    """Refuse parameters that the estimator cannot have; ``fit_context`` does so by the same method."""
    estimator._validate_params()


def dask_meta(X: Any) -> Any:
    """A table without rows, of the kind that a Dask collection holds; computing one part would give it too."""
    return X._meta


def dask_example(X: Any) -> Any:
    """Two made-up rows like those of a Dask DataFrame; computing its first rows would give real ones."""
    return X._meta_nonempty


def dask_few(X: Any, most: int) -> Any:
    """A Dask DataFrame of at most ``most`` partitions, if Dask cuts it from a frame in this process; else X.

    X itself would do: but Dask cuts all its partitions here, one by one, before any is sent.
    """
    expression = X.expr
    if type(expression).__name__ != "FromPandas" or expression.npartitions <= most:
        return X
    if expression.operand("_partitions") is not None:
        return X
    from dask.dataframe.dask_expr import new_collection

    fewer = {"npartitions": most, "chunksize": None, "_pd_length_stats": None}
    return new_collection(expression.substitute_parameters(fewer))


def dask_is_within(X: Any, other: Any) -> bool:
    """Whether Dask makes all of one DataFrame on the way to another; if not known, each could be made by itself."""
    root = X.optimize(fuse=False).expr._name
    return any(step._name == root for step in other.optimize(fuse=False).expr.walk())


def dask_nodes(graph: dict, others: set | None = None) -> dict:
    """By key the tasks of a graph of Dask, which know what they need; Dask's public words see no futures.

    others : keys that are in no graph, or in another one
    """
    from dask._task_spec import convert_legacy_graph

    return convert_legacy_graph(graph, graph.keys() | (others or set()))
