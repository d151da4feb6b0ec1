"""Compiled loops over one tile. Nothing here knows of tables, layers or threads."""

from hicorex.kernels import categorical, gaussian, labels, sparse, structure

__all__ = ["categorical", "gaussian", "labels", "sparse", "structure"]
