"""Pictures of a fitted model, one function each: they take matplotlib axes as ``ax`` and return them."""

from hicorex.plot.associations import associations
from hicorex.plot.bounds import bounds
from hicorex.plot.convergence import convergence
from hicorex.plot.factor import factor
from hicorex.plot.graph import graph
from hicorex.plot.pointwise import pointwise
from hicorex.plot.sizing import sizing
from hicorex.plot.sorted_data import sorted_data
from hicorex.plot.structure import structure
from hicorex.plot.topics import topics

__all__ = [
    "associations",
    "bounds",
    "convergence",
    "factor",
    "graph",
    "pointwise",
    "sizing",
    "sorted_data",
    "structure",
    "topics",
]
