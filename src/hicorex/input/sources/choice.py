"""Which source X stands for. pyarrow is imported only where it is needed."""

import os
import stat
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hicorex.engine.cluster import current_client
from hicorex.exceptions import HicorexError, NotInPartsError
from hicorex.input.readers import check_shape
from hicorex.input.sources import collection
from hicorex.input.sources.arrays import array_file, mapped
from hicorex.input.sources.base import MemorySource, Source, TypedTable
from hicorex.input.sources.dask_tables import ClusterSource, DaskSource
from hicorex.input.sources.integrity import broken, not_opened, whole
from hicorex.input.sources.signatures import LENGTH, FileFormat, format_of
from hicorex.support.annotated import is_annotated

ENDINGS = (".parquet", ".parq", ".pq")
# What the model of a folder of results is called.
MODEL = "model.hicorex"
KNOWN = (*ENDINGS, ".npy", ".feather", ".arrow", ".ipc")


def source_of(X: Any, least_samples: int = 1) -> Source:
    """The table that X stands for, of at least ``least_samples`` rows; X itself if it is a source.

    Parameters
    ----------
    X : array-like, data frame, scipy sparse table, AnnData, Dask array or data frame, or what ``disk_source`` knows
    """
    if isinstance(X, TypedTable):
        typed = source_of(X.frame, least_samples)
        typed.kinds = X.kinds
        return typed
    if is_annotated(X):
        return MemorySource(_named_matrix(X), least_samples)
    if isinstance(X, Source):
        source: Source | None = X
    else:
        source = _dask_source(X) if collection.is_collection(X) else disk_source(X)
    if source is None:
        return MemorySource(X, least_samples)
    check_shape(source.shape, least_samples)
    return source


def _named_matrix(annotated: Any) -> Any:
    """The matrix of an AnnData object: sparse as it is, dense with the names of the variables."""
    X = annotated.X
    if X is None:
        raise HicorexError("The AnnData object has no matrix X; put the layer to learn from there.")
    if issparse(X):
        return X
    import pyarrow as pa

    names = [str(name) for name in annotated.var_names]
    if len(set(names)) < len(names):
        raise HicorexError("The AnnData object has two variables of one name; call its var_names_make_unique().")
    return pa.table(list(np.asarray(X).T), names=names)


def disk_source(X: Any) -> Source | None:
    """The table on disk that X stands for, None if X is none.

    Parameters
    ----------
    X : path, memory-mapped array, ``pyarrow.dataset.Dataset``, ``pyarrow.parquet.ParquetFile`` or anything else
        A path is that of a .npy, Parquet, Feather or Arrow file, or of a folder of Parquet files. An array that is
        mapped with copy on write, ``mmap_mode="c"``, counts as one in memory, since it may differ from its file.
    """
    if isinstance(X, np.memmap):
        return mapped(X)
    if isinstance(X, str | os.PathLike):
        return _opened(os.path.abspath(os.fsdecode(X)))
    if type(X).__module__.split(".")[0] != "pyarrow":
        return None
    from pyarrow import dataset, parquet

    from hicorex.input.sources.datasets import dataset_source
    from hicorex.input.sources.formats import Handle
    from hicorex.input.sources.tables import TableSource

    if isinstance(X, parquet.ParquetFile):
        return TableSource([whole("The Parquet file", Handle, X)], "The Parquet file")
    return dataset_source(X) if isinstance(X, dataset.Dataset) else None


def _dask_source(X: Any) -> Source:
    collection.example(X)  # refuses what is no table
    client = current_client()
    if client is not None:
        return ClusterSource(X, client)
    # Sparse chunks are put together at once, since a table of them is small.
    return MemorySource(collection.computed(X)) if collection.is_sparse(X) else DaskSource(X, collection.row_lengths(X))


def _opened(path: str) -> Source:
    try:
        if os.path.isdir(path):
            from hicorex.input.sources.folders import FolderSource

            return FolderSource(path)
        if not stat.S_ISREG(os.stat(path).st_mode):  # what is read of a pipe is gone
            raise HicorexError(f"{path} is {kind_of(path)}; give a file, or a folder of Parquet files.")
        with open(path, "rb", buffering=0) as file:
            form = format_of(file.read(LENGTH))
    except OSError as error:
        raise not_opened(path, error) from None
    if form is FileFormat.EMPTY:
        raise HicorexError(f"{path} is empty; make or fetch it again.")
    if form is FileFormat.NUMPY:
        return whole(path, array_file, path)
    from hicorex.input.sources.formats import Feather, Parquet
    from hicorex.input.sources.tables import TableSource

    if form is FileFormat.PARQUET:
        return TableSource([whole(path, Parquet, path)], path)
    if form is FileFormat.ARROW:
        return TableSource([whole(path, Feather, path)], path)
    if path.lower().endswith(KNOWN) and form is not FileFormat.FEATHER_1:
        raise broken(path)
    remedy = (
        f"or convert it by pyarrow.dataset.write_dataset(pyarrow.dataset.dataset({path!r}, format='csv'), 'table', "
        "format='parquet') and give that folder"
    )
    if path.lower().endswith(".npz"):
        remedy = "by scipy.sparse.load_npz or numpy.load"
    raise NotInPartsError(f"{path} is no file of which some rows can be read; read it into memory first, {remedy}.")


def kind_of(path: str) -> str:
    """What a path is that is neither a file nor a folder."""
    mode = os.stat(path).st_mode
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
