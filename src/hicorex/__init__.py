"""Maximally informative hierarchical representations of high-dimensional data."""

from hicorex import datasets
from hicorex.bounds import Bounds
from hicorex.corex import Corex
from hicorex.exceptions import HicorexError

__version__ = "0.1.0"
__all__ = ["Bounds", "Corex", "HicorexError", "datasets"]
