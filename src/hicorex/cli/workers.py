"""The workers of a Dask cluster that read and fit the data of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hicorex.engine.reduction import ARITY
from hicorex.exceptions import HicorexError
from hicorex.input.sources import Source
from hicorex.layer.data import row_slices, tile_height

# Seconds that a scheduler has to answer, and workers to come.
PATIENCE = 30


@contextmanager
def workers(address: str, source: Source) -> Iterator[Any]:
    """The table as a Dask collection whose parts the workers at an address read themselves."""
    try:
        from dask import array, dataframe  # noqa: F401  (each needs other packages)
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
        reasons = client.run(_reads, source)
    except Exception as error:
        raise HicorexError(
            f"--dask {address}: a worker fails before it has read anything: {' '.join(str(error).split())}; give the "
            "workers the same versions of Python, hicorex and pyarrow."
        ) from None
    for worker, reason in reasons.items():
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
            array.from_delayed(read(sent, rows.start, rows.stop), (rows.stop - rows.start, source.shape[1]), dtype)
            for rows in slices
        ]
        return array.concatenate(pieces)
    read = delayed(_frame_of)
    return dataframe.from_delayed(
        [read(sent, rows.start, rows.stop) for rows in slices], meta=_frame_of(source, 0, 1), verify_meta=False
    )


def _rows_of(source: Source, first: int, stop: int) -> Any:
    return source.read(first, stop)


def _frame_of(source: Source, first: int, stop: int) -> Any:
    """Rows as a pandas data frame of pyarrow's types, in which whole numbers stay whole beside missing values."""
    import pandas as pd
    import pyarrow as pa

    table: Any = source.read(first, stop)
    # Every part has other categories, of which Dask would have to know.
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain)).to_pandas(types_mapper=pd.ArrowDtype)
