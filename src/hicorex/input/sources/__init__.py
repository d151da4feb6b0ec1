"""Tables wherever their rows are: in memory, on disk, or on a cluster; some rows at a time are read."""

from hicorex.input.sources.base import MemorySource, Source
from hicorex.input.sources.choice import disk_source, source_of

__all__ = ["MemorySource", "Source", "disk_source", "source_of"]
