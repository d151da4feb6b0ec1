"""Tables wherever their rows are: in memory, on disk, or on a cluster; some rows at a time are read."""

from hicorex.input.sources.base import Source
from hicorex.input.sources.choice import disk_source, source_of

__all__ = ["Source", "disk_source", "source_of"]
