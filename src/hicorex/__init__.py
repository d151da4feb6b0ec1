"""Maximally informative hierarchical representations of high-dimensional data."""

from hicorex import datasets
from hicorex.bounds import Bounds
from hicorex.corex import Corex
from hicorex.exceptions import HicorexError
from hicorex.hierarchy import HierarchicalCorex
from hicorex.representation import representation_bounds

__version__ = "0.1.0"
__all__ = ["Bounds", "Corex", "HicorexError", "HierarchicalCorex", "datasets", "representation_bounds"]
