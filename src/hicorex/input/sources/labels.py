"""The labels of a layer as the table of the next one."""

from collections.abc import Callable

import numpy as np

from hicorex.engine import ClusterEngine, Engine
from hicorex.input.sources.base import MemorySource, Source
from hicorex.input.sources.dask_tables import ClusterSource
from hicorex.input.sources.spooled import SpooledSource
from hicorex.layer.data import Data, Part


def label_source(of_tile: Callable[[Part, slice], np.ndarray], data: Data, engine: Engine) -> Source:
    """The labels (T, m) that of_tile(part, rows) gives, as a table that is where the samples are."""
    if isinstance(engine, ClusterEngine):
        return ClusterSource(engine.dask_array(of_tile, data.parts), engine.client)
    tiles = engine.tiles(of_tile, data.parts)
    return MemorySource(np.concatenate(list(tiles))) if data.in_memory else SpooledSource(tiles)
