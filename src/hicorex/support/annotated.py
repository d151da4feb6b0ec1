"""AnnData objects, known by what they have, so that nobody needs the library to be asked."""

from typing import Any


def is_annotated(X: Any) -> bool:
    """Whether X is an AnnData object.

    >>> is_annotated([[1, 2]])
    False
    """
    return type(X).__module__.split(".")[0] == "anndata" and hasattr(X, "obs_names") and hasattr(X, "var_names")
