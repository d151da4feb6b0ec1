"""Compiled loops over one tile. Nothing here knows of tables, layers or threads."""

from hicorex.kernels import categorical, gaussian, sparse, structure

__all__ = ["categorical", "gaussian", "sparse", "structure"]
