"""Data for the command line that are too large for memory: how they are read, and what they may take."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hicorex.engine.process import return_freed_memory
from hicorex.engine.reduction import ARITY
from hicorex.exceptions import HicorexError, NotInPartsError
from hicorex.input import memory as limits
from hicorex.input.memory import MemoryLimit, keeping
from hicorex.input.sources import Source, disk_source
from hicorex.input.sources.integrity import check_stamp, stamp_of, whole
from hicorex.layer.data import tile_height

if TYPE_CHECKING:
    from hicorex.input.files import KnownColumns, Reading, Table

# A table is read at once if it is smaller than the memory that is free divided by OF_FREE; within a limit, if it and
# OF_ROW bytes of results for each row, times OF_LIMIT, are smaller than what the limit leaves.
OF_FREE, OF_LIMIT, OF_ROW = 3, 6, 250
# What has no more bytes is read however little is free.
ALWAYS = 2**25
# Bytes of the process with all that it imports and compiles.
BASE = 420 * 10**6
# Bytes of row groups from which on smaller ones would help.
LARGE_GROUPS = 10**8


class CellBytes(NamedTuple):
    """Bytes of a cell of a part while it is read and encoded, and of one that waits."""

    at_work: int
    waiting: int


IN_FIT, OF_NEW = CellBytes(20, 4), CellBytes(25, 9)


class Opened(NamedTuple):
    """Data that can be read.

    path : where they are, "-" for standard input
    source : what gives their rows, None for a file that is read at once by its path
    in_parts : whether they are read part by part
    check : refuses files that are not what they were
    is_text : whether the file is text that is larger than what may be read at once
    """

    path: str
    source: Source | None = None
    in_parts: bool = False
    check: Callable[[], None] = lambda: None
    is_text: bool = False

    def table(self, reading: "Reading") -> "Table":
        """The table to learn from."""
        from hicorex.input.files import read_table, stream_table

        source = self._spooled(reading)
        if source is not None and self.in_parts:
            return stream_table(source, self.path, reading)
        return read_table(self.path if self.source is None else self.source, reading)

    def new_samples(self, reading: "Reading", known: "KnownColumns") -> "Table":
        """The table as new samples for a model that knows some columns."""
        from hicorex.input.files import read_new, stream_new

        source = self._spooled(reading)
        if source is not None and self.in_parts:
            return stream_new(source, self.path, reading, known)
        return read_new(self.path if self.source is None else self.source, reading, known)

    def _spooled(self, reading: "Reading") -> Source | None:
        """What gives the rows, a text once it has been read."""
        if not self.is_text:
            return self.source
        from hicorex.input.files import TextSource

        return TextSource(self.path, reading)


def open_data(data: str, memory: int | None, always: bool = False) -> Opened:
    """How to read a table.

    Parameters
    ----------
    data : path, or "-" for standard input
    memory : most bytes to take, None for what is free
    always : whether it must be part by part, because workers of a cluster are to read it
    """
    if always and (data == "-" or os.path.exists(data)):
        for_workers = _source(data)
        _be_lean()
        return Opened(data, for_workers, True, for_workers.check)
    folder = os.path.isdir(data)
    if data == "-" or not (os.path.isfile(data) or folder):
        if memory is not None and (data == "-" or os.path.exists(data)):
            stream = "standard input" if data == "-" else f"{data}, which is no file"
            raise HicorexError(f"--memory cannot be kept with {stream}; give a file.")
        return Opened(data)
    try:
        source = disk_source(data)
    except HicorexError:
        if folder:
            raise
        check = partial(check_stamp, data, whole(data, stamp_of, data))
        is_text = _is_large_text(data, memory)
        if is_text:
            _be_lean()
        return Opened(data, in_parts=is_text, check=check, is_text=is_text)
    assert source is not None
    if _fits(source, memory):
        return Opened(data, source if folder else None, check=source.check)
    _be_lean()
    return Opened(data, source, True, source.check)


def _fits(source: Source, memory: int | None) -> bool:
    """Whether a table can be read at once, within a limit or what is free."""
    if memory is not None:
        return source.n_bytes() + source.shape[0] * OF_ROW // OF_LIMIT <= _at_once(memory)
    free = limits.free_memory()
    return free is None or source.n_bytes() <= free // OF_FREE


def _is_large_text(data: str, memory: int | None) -> bool:
    """Whether a file is plain text that is too large to be read at once."""
    from hicorex.input.files import is_plain_text

    free = limits.free_memory()
    most = _at_once(memory) if memory is not None else max((free or 2**62) // OF_FREE, ALWAYS)
    return os.path.getsize(data) > most and is_plain_text(data)


def keeping_within(memory: int | None) -> AbstractContextManager[None]:
    """Refuse to read what is too large for a limit of memory, or for what is free."""
    if memory is not None:
        return keeping(MemoryLimit(_at_once(memory), max(0, memory - BASE) // 2, f"--memory {memory / 1e9:.3g}GB"))
    free = limits.free_memory()
    most = max((free or 0) // 2, ALWAYS)
    return keeping(None if free is None else MemoryLimit(most, most, "the memory that is free"))


def _at_once(memory: int) -> int:
    """Bytes that a table may have which is read at once, of a limit of memory."""
    return max(0, memory - BASE) // OF_LIMIT


def _be_lean() -> None:
    """Have memory that is freed go back to the system at once, where it can be told to."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    return_freed_memory()


def _source(data: str) -> Source:
    """What workers of a cluster can read."""
    try:
        source = None if data == "-" else disk_source(data)
    except NotInPartsError:
        source = None
    if source is None:
        raise HicorexError(
            f"--dask cannot be used with {'standard input' if data == '-' else data}; give Parquet, Feather or .npy "
            "files that all workers see."
        )
    return source


@contextmanager
def sparing(
    source: Source, memory: int | None, threads: int | None, folder: Path, cell: CellBytes = IN_FIT
) -> Iterator[int | None]:
    """Keep the limit of memory, and scratch files in a folder; gives the number of threads that this leaves."""
    import sklearn

    free = limits.free_memory()
    if memory is not None:
        threads = _threads_within(memory, source, threads or os.cpu_count() or 1, cell)
    most = (free or 2**40) * 8 // 10 if memory is None else memory
    left = most - _need(source, threads or os.cpu_count() or 1, cell)
    working_memory = sklearn.config_context(working_memory=max(left // 2**20, 1))
    with keeping_within(memory), working_memory, scratch_beside(folder):
        yield threads


@contextmanager
def scratch_beside(folder: Path) -> Iterator[None]:
    """Have scratch files put into a folder or, if it is not there, the nearest one above, unless TMPDIR names one."""
    before = tempfile.tempdir
    if not os.environ.get("TMPDIR"):
        tempfile.tempdir = str(next(place for place in (folder, *folder.parents) if place.is_dir()))
    try:
        yield
    finally:
        tempfile.tempdir = before


def _need(source: Source, n_threads: int, cell: CellBytes) -> int:
    """Bytes that the process takes while threads pass over a table."""
    n_rows = min(source.shape[0], ARITY * tile_height(source.shape[1]))
    n_cells = n_rows * source.shape[1]
    return BASE + source.decoded_bytes(n_rows) + n_cells * (cell.at_work * n_threads + cell.waiting * (n_threads + 1))


def _threads_within(memory: int, source: Source, most: int, cell: CellBytes) -> int:
    """The number of threads, at most this, for which a limit of memory is enough."""
    for n_threads in range(most, 0, -1):
        if _need(source, n_threads, cell) <= memory:
            return n_threads
    groups = ", or write it with smaller row groups" if source.decoded_bytes(0) > LARGE_GROUPS else ""
    raise HicorexError(
        f"--memory {memory / 1e9:.3g}GB is too little for this table of {source.shape[1]:,} columns; give at least "
        f"{_need(source, 1, cell) / 1e9 + 0.005:.2f}GB{groups}."
    )
