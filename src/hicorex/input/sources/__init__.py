"""Tables on disk that are read some rows at a time."""

from hicorex.input.sources.base import Source
from hicorex.input.sources.choice import source_of

__all__ = ["Source", "source_of"]
