"""What every table on disk can do, and every file of a table."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.input.sources.integrity import Stamp, check_stamp

if TYPE_CHECKING:
    import pyarrow as pa

Opened = tuple[Callable[[int], Any], Callable[[], None]]


class Source(ABC):
    """A table on disk, of which some rows at a time are read.

    Several threads may read at once, and a source can be sent to another process. What it holds open is closed by
    ``close()``, by the end of a ``with`` block or with the source itself; a later read opens it again.
    """

    shape: tuple[int, int]
    names: list[str] | None

    @abstractmethod
    def read(self, first: int, stop: int) -> "np.ndarray | pa.Table":
        """Rows ``first`` to ``stop - 1`` as an array or a ``pyarrow.Table`` in memory.

        Raises
        ------
        HicorexError
            If a file that holds the rows has changed since the source was opened, is gone or is broken.
        """

    @abstractmethod
    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""

    def decoded_bytes(self, n_rows: int) -> int:
        """About the size of what is held while so many rows are read, beside these."""
        return 0

    def check(self) -> None:  # noqa: B027  (what is on no disk of the user's stays what it is)
        """Refuse files that are no longer what they were when the source was opened."""

    def close(self) -> None:  # noqa: B027  (nothing is held open, unless a subclass says so)
        """Close what is open, and forget what was decoded."""

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check_range(self, first: int, stop: int) -> None:
        if not 0 <= first <= stop <= self.shape[0]:
            raise IndexError(f"rows {first} to {stop} of a table of {self.shape[0]} rows")


class Part(ABC):
    """One file of a table: what its footer says, and how pieces of it are decoded."""

    name: str
    schema: "pa.Schema"
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


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a table of nothing."""
    if 0 in shape:
        raise HicorexError(f"{name} has no {'rows' if shape[1] else 'columns'}; give a table with some.")
