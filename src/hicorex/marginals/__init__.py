"""Families of marginals: how a variable depends on a factor's state."""

from hicorex.marginals.categorical import Categorical
from hicorex.marginals.gaussian import Gaussian
from hicorex.marginals.sparse import SparseCategorical

__all__ = ["Categorical", "Gaussian", "SparseCategorical"]
