"""Compiled loops over one tile. Nothing here knows of tables, layers or threads."""

from hicorex.kernels import candidates, categorical, gaussian, labels, pairs, sparse, structure

__all__ = ["candidates", "categorical", "gaussian", "labels", "pairs", "sparse", "structure"]
