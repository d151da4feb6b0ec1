"""What every file of a table can do."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from hicorex.input.sources.integrity import Stamp, check_stamp

# What decodes a piece of a file, and what closes the file.
Opened = tuple[Callable[[int], pa.Table], Callable[[], None]]


class TableFile(ABC):
    """One file of a table: what its footer says, and how pieces of it are decoded."""

    name: str
    schema: pa.Schema
    # Rows of each row group or record batch.
    rows: list[int]
    # Bytes of all values before compression, or of the file.
    stored: int
    stamp: Stamp | None = None
    # The file system that has the file, None for that of this computer.
    files: Any = None
    # Columns that the file has and the table leaves out.
    spare: Sequence[str] = ()

    @abstractmethod
    def open(self) -> Opened:
        """What decodes a piece of the file, and what closes the file."""

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        if self.stamp is not None:
            check_stamp(self.name, self.stamp, self.files)

    def is_blank(self, column: str) -> bool:
        """Whether the footer says that the column has no value at all."""
        return not sum(self.rows)
