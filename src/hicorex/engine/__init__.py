"""Engines: how a function is mapped over tiles. They differ in nothing else."""

from hicorex.engine.base import Engine
from hicorex.engine.cluster import ClusterEngine
from hicorex.engine.local import LocalEngine

__all__ = ["ClusterEngine", "Engine", "LocalEngine"]
