"""Data for the command line that are too large for memory: how they are read, and what they may take."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hicorex.engine.process import return_freed_memory
from hicorex.engine.reduction import ARITY
from hicorex.exceptions import HicorexError, NotInPartsError
from hicorex.input import memory as limits
from hicorex.input.memory import MemoryLimit, keeping
from hicorex.input.sources import Source, disk_source
from hicorex.input.sources.integrity import check_stamp, stamp_of, whole
from hicorex.layer.data import row_slices, tile_height

# Seconds that a scheduler has to answer, and workers to come.
PATIENCE = 30
# What is less than this share of the memory that is free is read at once, or if so many times its size and the bytes of
# the results of each row are within a limit.
OF_FREE, OF_LIMIT, OF_ROW = 3, 6, 250
# What has no more bytes is read however little is free.
ALWAYS = 2**25
# Bytes of the process with all that it imports and compiles.
BASE = 420 * 10**6
# Bytes of a cell of a part while it is read and encoded, and of one that waits, in a fit and of new samples.
IN_FIT, OF_NEW = (20, 4), (25, 9)


class Opened(NamedTuple):
    """What to read: a path or a source, whether part by part, and what refuses files that are not what they were."""

    source: Any
    in_parts: bool
    check: Callable[[], None]


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
        return Opened(for_workers, True, for_workers.check)
    if data == "-" or not (os.path.isfile(data) or os.path.isdir(data)):
        if memory is not None and (data == "-" or os.path.exists(data)):
            stream = "standard input" if data == "-" else f"{data}, which is no file"
            raise HicorexError(f"--memory cannot be kept with {stream}; give a file.")
        return Opened(data, False, lambda: None)
    free = limits.free_memory()
    most = None if free is None else free // OF_FREE
    if memory is not None:
        most = _at_once(memory)
    folder = os.path.isdir(data)
    try:
        source = disk_source(data)
    except HicorexError:
        if folder:
            raise
        return Opened(data, False, partial(check_stamp, data, whole(data, stamp_of, data)))
    assert source is not None
    results = 0 if memory is None else source.shape[0] * OF_ROW // OF_LIMIT
    if most is not None and source.n_bytes() + results > most:
        _be_lean()
        return Opened(source, True, source.check)
    return Opened(source if folder else data, False, source.check)


def keeping_within(memory: int | None) -> AbstractContextManager[None]:
    """Refuse to read what takes more than so many bytes leave for it, or than those that are free."""
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
    source: Source, memory: int | None, threads: int | None, folder: Path, cell: tuple[int, int] = IN_FIT
) -> Iterator[int | None]:
    """Keep the limit of memory, and scratch files in a folder; gives the number of threads that this leaves."""
    import sklearn

    at_work, waiting = cell

    n_rows = min(source.shape[0], ARITY * tile_height(source.shape[1]))
    n_cells = n_rows * source.shape[1]
    free = limits.free_memory()
    given = threads or os.cpu_count() or 1

    def need(n_threads: int) -> int:
        cells = n_cells * (at_work * n_threads + waiting * (n_threads + 1))
        return BASE + source.decoded_bytes(n_rows) + cells

    if memory is not None:
        most, threads = memory, next((own for own in range(given, 0, -1) if need(own) <= memory), None)
        if threads is None:
            groups = ", or write it with smaller row groups" if source.decoded_bytes(0) > 10**8 else ""
            raise HicorexError(
                f"--memory {memory / 1e9:.3g}GB is too little for this table of {source.shape[1]:,} columns; give at "
                f"least {need(1) / 1e9 + 0.005:.2f}GB{groups}."
            )
        given = threads
    else:
        most = (free or 2**40) * 8 // 10
    before = tempfile.tempdir
    with keeping_within(memory), sklearn.config_context(working_memory=max((most - need(given)) // 2**20, 1)):
        if not os.environ.get("TMPDIR"):
            tempfile.tempdir = str(next(own for own in (folder, *folder.parents) if own.is_dir()))
        try:
            yield threads
        finally:
            tempfile.tempdir = before


@contextmanager
def workers(address: str, source: Source) -> Iterator[Any]:
    """The table as a Dask collection whose parts the workers at an address read themselves."""
    try:
        from dask import array, dataframe  # noqa: F401  (each needs packages of its own)
        from distributed import Client
    except ImportError:
        raise HicorexError('--dask needs Dask, which is not installed: pip install "hicorex[dask]".') from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=True)
    except (OSError, ValueError, TimeoutError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise HicorexError(f"--dask {address}: no scheduler answers there ({reason}); check the address.") from None
    try:
        _check_workers(client, address, source)
        yield _collection(source)
    finally:
        client.close()


def _check_workers(client: Any, address: str, source: Source) -> None:
    """Refuse a cluster without workers, and workers that cannot read the table."""
    from distributed import TimeoutError as NoWorkers

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except (NoWorkers, TimeoutError):
        raise HicorexError(f"--dask {address}: the cluster has no workers; start some.") from None
    try:
        found = client.run(_reads, source)
    except Exception as error:
        raise HicorexError(
            f"--dask {address}: a worker fails before it has read anything: {' '.join(str(error).split())}; give the "
            "workers the same versions of Python, hicorex and pyarrow."
        ) from None
    for worker, reason in found.items():
        if reason:
            raise HicorexError(
                f"--dask {address}: the worker {worker} cannot read the data ({reason.rstrip('.')}); put them where "
                "all workers see them, under the same path."
            )


def _reads(source: Source) -> str:
    """Why a worker cannot read a table, "" if it can."""
    try:
        source.read(0, 1)
    except Exception as error:
        return " ".join(str(error).split())
    return ""


def _collection(source: Source) -> Any:
    """A Dask array or data frame, in the parts that a fit passes over."""
    from dask import array, dataframe, delayed

    sent = delayed(source, traverse=False)
    slices = row_slices(source.shape[0], ARITY * tile_height(source.shape[1]))
    if source.names is None:
        dtype, read = source.read(0, 1).dtype, delayed(_rows_of)
        pieces = [
            array.from_delayed(read(sent, own.start, own.stop), (own.stop - own.start, source.shape[1]), dtype)
            for own in slices
        ]
        return array.concatenate(pieces)
    read = delayed(_frame_of)
    return dataframe.from_delayed(
        [read(sent, own.start, own.stop) for own in slices], meta=_frame_of(source, 0, 1), verify_meta=False
    )


def _rows_of(source: Source, first: int, stop: int) -> Any:
    return source.read(first, stop)


def _frame_of(source: Source, first: int, stop: int) -> Any:
    """Rows as a pandas data frame of pyarrow's types, in which whole numbers stay whole beside missing values."""
    import pandas as pd
    import pyarrow as pa

    table: Any = source.read(first, stop)
    # Parts have categories of their own, of which Dask would have to know.
    plain = [own.with_type(own.type.value_type) if pa.types.is_dictionary(own.type) else own for own in table.schema]
    return table.cast(pa.schema(plain)).to_pandas(types_mapper=pd.ArrowDtype)
