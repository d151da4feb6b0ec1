"""Arrays and DataFrames of Dask: what they are, and how their rows become parts.

Dask is imported where it is used, because hicorex works without it.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from scipy.sparse import csr_array, issparse

from hicorex.exceptions import HicorexError, quietly
from hicorex.input.sources.declared import check_chunk, check_partition
from hicorex.support.compatibility import dask_example, dask_meta

if TYPE_CHECKING:
    from hicorex.engine.cluster import ClusterEngine

# Edges of chunks are moved in one step, however many pieces that makes.
ONE_STEP = 10**12


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def is_sparse(X: Any) -> bool:
    """Whether X is a Dask array that says of its chunks that they are scipy's sparse tables."""
    return _is_array(X) and issparse(dask_meta(X))


def example(X: Any) -> Any:
    """Two rows like those of a Dask array or DataFrame, computed from nothing."""
    n_dimensions = X.ndim if hasattr(type(X), "ndim") else 0
    if n_dimensions != 2:
        raise HicorexError(f"X is a Dask collection of {n_dimensions} dimension(s); give rows and columns.")
    if not _is_array(X):
        return dask_example(X)
    _require_columns(X)
    if X.dtype == object:
        raise HicorexError("The Dask array is of type object: make it numbers or text, or a Dask DataFrame.")
    return csr_array((2, X.shape[1]), dtype=X.dtype) if is_sparse(X) else np.zeros((2, X.shape[1]), X.dtype)


def column_names(X: Any) -> list | None:
    """The names of the columns of a Dask DataFrame, None of an array."""
    return None if _is_array(X) else list(X.columns)


def row_count(X: Any, engine: "ClusterEngine | None" = None) -> int:
    """The rows of a Dask array or DataFrame."""
    return sum(row_lengths(X, engine))


def row_lengths(X: Any, engine: "ClusterEngine | None" = None) -> list[int]:
    """The rows of each chunk of a Dask array or partition of a Dask DataFrame, in one round where they are unknown."""
    from dask import compute, delayed

    if _is_array(X) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    # One column tells the length, and is all that many formats then read.
    blocks = X.to_delayed()[:, 0] if _is_array(X) else X.iloc[:, :1].to_delayed()
    lengths = [delayed(_n_rows, pure=False)(block) for block in blocks]
    bring = compute if engine is None else (lambda *tasks: engine.fetch(tasks))
    try:
        return list(bring(*lengths))
    except (KeyError, AttributeError, IndexError):  # of a partition without that column, if it is at fault
        if not _is_array(X):
            bring(*(delayed(_n_rows, pure=False)(partition) for partition in _partitions(X, None)))
        raise


def stored_cells(X: Any, engine: "ClusterEngine") -> int:
    """The cells that the chunks of a Dask array of sparse ones store, in one round."""
    from dask import delayed

    blocks = _checked(X, row_lengths(X, engine)).to_delayed().ravel()
    return sum(engine.fetch([delayed(_n_stored, pure=False)(block) for block in blocks]))


def row_parts(X: Any, boundaries: list[int], lengths: list[int] | None = None) -> list:
    """Dask's Delayed of the rows from each of the boundaries to the next, all columns together.

    Each gives an ndarray or a sparse table of a Dask array and a pandas DataFrame of a Dask DataFrame. ``lengths`` are
    those of ``row_lengths``, which are computed if they are not given.
    """
    from dask import delayed

    lengths = row_lengths(X) if lengths is None else lengths
    if not 0 <= boundaries[0] <= boundaries[-1] <= sum(lengths):
        raise HicorexError(f"Boundaries {boundaries[0]} to {boundaries[-1]} are not those of {sum(lengths)} rows.")
    if _is_array(X):
        _require_columns(X)
        X = _checked(X, lengths)
        chunks = (tuple(int(b - a) for a, b in pairwise(boundaries)), (X.shape[1],))
        X = X[boundaries[0] : boundaries[-1]].rechunk(chunks, threshold=ONE_STEP, method="tasks")
        return list(X.to_delayed()[:, 0])
    partitions = _partitions(X, lengths)
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    cut = delayed(_cut, pure=False)
    parts = []
    for a, b in pairwise(boundaries):
        # The first partition stands for rows that are none.
        within = [p for p in range(len(lengths)) if edges[p] < b and edges[p + 1] > a] or [0]
        slices = [(max(0, int(a - edges[p])), max(0, int(b - edges[p]))) for p in within]
        name = f"hicorex-rows-{uuid4().hex}"
        parts.append(cut([partitions[p] for p in within], slices, dask_key_name=name))
    return parts


def map_rows(X: Any, lengths: list[int], function: Callable, model: Any) -> tuple:
    """The arrays that function(model, rows) gives for each chunk or partition, as arrays of Dask."""
    from dask import array, delayed

    with quietly():  # about values that are in no row
        known = function(model, example(X))
    call = delayed(function, pure=False, nout=len(known))
    sent = delayed(model, pure=False, traverse=False)
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(int).tolist()
    found = [call(sent, rows) for rows in row_parts(X, edges, lengths)]
    return tuple(
        array.concatenate(
            [
                array.from_delayed(arrays[at], (length, *like.shape[1:]), like.dtype)
                for arrays, length in zip(found, lengths, strict=True)
            ]
        )
        for at, like in enumerate(known)
    )


def computed(X: Any) -> Any:
    """All of a Dask array, brought here."""
    return _checked(X, row_lengths(X)).compute()


def _checked(X: Any, lengths: list[int]) -> Any:
    """A Dask array of chunks of these numbers of rows, each of which is looked at before it is used."""
    from dask.array import Array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    check = partial(check_chunk, X.dtype, is_sparse(X))
    name = f"hicorex-checked-{tokenize(X.name, lengths)}"
    tasks: dict = {
        (name, i, j): (check, (X.name, i, j), i, j, int(n_rows), int(n_columns))
        for i, n_rows in enumerate(lengths)
        for j, n_columns in enumerate(X.chunks[1])
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[X])
    return Array(graph, name, (tuple(lengths), X.chunks[1]), meta=X)


def _partitions(X: Any, lengths: list[int] | None) -> list:
    """Dask's Delayed of the partitions of a Dask DataFrame, each of which is looked at before it is used."""
    from dask import delayed

    check = delayed(partial(check_partition, dask_meta(X)), pure=False)
    return [
        check(partition, at, None if lengths is None else lengths[at]) for at, partition in enumerate(X.to_delayed())
    ]


def _cut(partitions: list, slices: list[tuple[int, int]]) -> Any:
    """The rows of some partitions, one after the other."""
    from dask.dataframe.dispatch import concat

    pieces = [partition.iloc[a:b] for partition, (a, b) in zip(partitions, slices, strict=True)]
    return pieces[0] if len(pieces) == 1 else concat(pieces)


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "rechunk")


def _require_columns(X: Any) -> None:
    if np.isnan(X.chunks[1]).any():
        raise HicorexError("The Dask array has columns of unknown number: call its compute_chunk_sizes() before.")


def _n_rows(rows: Any) -> int:
    return rows.shape[0]


def _n_stored(rows: Any) -> int:
    rows = rows.tocsr(copy=True)
    rows.sum_duplicates()
    return int(rows.nnz)
