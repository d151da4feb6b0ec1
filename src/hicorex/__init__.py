"""Maximally informative hierarchical representations of high-dimensional data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hicorex import datasets, plot
    from hicorex.bounds.result import Bounds
    from hicorex.estimators.corex import Corex
    from hicorex.estimators.hierarchy import HierarchicalCorex
    from hicorex.estimators.model_file import load
    from hicorex.estimators.representation import representation_bounds
    from hicorex.exceptions import HicorexError
    from hicorex.input.files.public import describe_columns, read_table
    from hicorex.storage.checkpoint import Checkpoint

__version__ = "0.1.0"
__all__ = [
    "Bounds",
    "Checkpoint",
    "Corex",
    "HicorexError",
    "HierarchicalCorex",
    "annotate",
    "datasets",
    "describe_columns",
    "load",
    "plot",
    "read_table",
    "representation_bounds",
]

# Names come from their modules when they are first asked for, so that the command line starts at once.
_MODULES = {
    "Bounds": "bounds.result",
    "Checkpoint": "storage.checkpoint",
    "Corex": "estimators.corex",
    "HicorexError": "exceptions",
    "HierarchicalCorex": "estimators.hierarchy",
    "annotate": "findings.annotation",
    "describe_columns": "input.files.public",
    "load": "estimators.model_file",
    "read_table": "input.files.public",
    "representation_bounds": "estimators.representation",
}


def __getattr__(name: str) -> Any:
    if name in ("datasets", "plot"):
        return import_module(f"hicorex.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'hicorex' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"hicorex.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
