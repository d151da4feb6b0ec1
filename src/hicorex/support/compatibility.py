"""What hicorex uses of other libraries beyond their public names, each with the reason and what would replace it."""

from typing import TYPE_CHECKING, Any

# Checks the parameters of an estimator before a method runs; without it each method would begin by such a check.
from sklearn.base import _fit_context as fit_context

# Picks rows or columns of an array, a sparse table or a data frame of any library; narwhals could do so for frames.
from sklearn.utils import _safe_indexing as safe_indexing

# Imports pandas, or says which method needs it; a try around an import would do.
from sklearn.utils._optional_dependencies import check_pandas_support

# Say which values a parameter may have, in scikit-learn's words; checks of our own would need words of their own.
from sklearn.utils._param_validation import Interval, StrOptions

# The number of rows of whatever scikit-learn takes for a table; the door of input/ knows it too, once it has read one.
from sklearn.utils.validation import _num_samples as num_samples

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "Interval",
    "StrOptions",
    "check_pandas_support",
    "dask_example",
    "dask_meta",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "validate_parameters",
]


def validate_parameters(estimator: "BaseEstimator") -> None:
    """Refuse parameters that the estimator cannot have; ``fit_context`` does so by the same method."""
    estimator._validate_params()


def dask_meta(X: Any) -> Any:
    """A table without rows of the kind that a Dask collection holds; computing one of its parts would tell it too."""
    return X._meta


def dask_example(X: Any) -> Any:
    """Two rows like those of a Dask DataFrame; computing its first rows would give others."""
    return X._meta_nonempty
