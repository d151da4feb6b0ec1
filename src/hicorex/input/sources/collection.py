"""Arrays and DataFrames of Dask: what they are, and how their rows become parts.

Dask is imported where it is used, because hicorex works without it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy.sparse import csr_array, hstack, issparse, vstack

from hicorex.engine.pieces import Pieces
from hicorex.exceptions import HicorexError, quietly
from hicorex.input.sources.bundles import Group, bundled, even_groups
from hicorex.input.sources.declared import check_chunk, check_partition
from hicorex.support.compatibility import dask_example, dask_few, dask_is_within, dask_meta

if TYPE_CHECKING:
    from hicorex.engine.cluster import ClusterEngine

# Tasks by which a table is read at the most, unless it has more parts.
MOST_TASKS = 256


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame."""
    # Of the type, since X.dask makes the whole graph of a DataFrame.
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(type(X), "__dask_graph__")


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


def regrouped(X: Any) -> Any:
    """The rows of a Dask array or DataFrame in fewer chunks, where Dask need not make them one by one for that."""
    # A partition is a task beside the one that looks at it.
    return X if _is_array(X) else dask_few(X, MOST_TASKS // 2)


def row_count(X: Any, engine: "ClusterEngine | None" = None) -> int:
    """The rows of a Dask array or DataFrame."""
    return sum(row_lengths(X, engine))


def row_lengths(X: Any, engine: "ClusterEngine | None" = None) -> list[int]:
    """The rows of each chunk of a Dask array or partition of a Dask DataFrame, in one round where they are unknown."""
    return counted(X, engine)[0]


def counted(X: Any, engine: "ClusterEngine | None" = None) -> tuple[list[int], list | None]:
    """The rows of each chunk or partition; Dask's Delayed of whole partitions, if all of each was read to count."""
    if _is_array(X) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0]), None
    narrow = None if _is_array(X) else _narrow(X)
    blocks = X.to_delayed()[:, 0] if narrow is None else narrow.to_delayed()
    some = even_groups([1] * len(blocks), MOST_TASKS)
    try:
        counts = bundled([Group(blocks[group], [()] * len(blocks[group]), list) for group in some], _n_rows)
        return list(chain.from_iterable(_bring(counts, engine))), blocks if narrow is X else None
    except (KeyError, AttributeError, IndexError):  # of a partition without that column, if it is at fault
        if narrow is not None:
            partitions = X.to_delayed()
            groups = [Group([partition], [(at, None)], len) for at, partition in enumerate(partitions)]
            _bring(bundled(groups, _check_of(X)), engine)
        raise


def stored_cells(X: Any, lengths: list[int], engine: "ClusterEngine") -> int:
    """The cells that the chunks of a Dask array of sparse ones store, in one round."""
    groups, _ = _groups_of_chunks(X, lengths, MOST_TASKS)
    check = partial(check_chunk, X.dtype, is_sparse(X))
    return sum(_bring(bundled([group._replace(function=sum) for group in groups], partial(_n_stored, check)), engine))


class Chunks(NamedTuple):
    """The rows of a Dask array or DataFrame, one after the other, each looked at before it is used.

    tasks : Dask's Delayed of ndarrays, sparse tables or pandas DataFrames; by row, those of all its columns
    lengths : rows of each
    """

    tasks: list[list]
    lengths: list[int]


def checked(X: Any, lengths: list[int], most: int | None = None, partitions: list | None = None) -> Chunks:
    """The chunks of a Dask array, or the partitions of a Dask DataFrame, of these lengths.

    Neighbours are put together, so that there are ``most`` at the most if that is given. ``partitions`` are Dask's
    Delayed of those of a DataFrame, if they are there already: Dask takes long to make very many.
    """
    if _is_array(X):
        _require_columns(X)
        groups, width = _groups_of_chunks(X, lengths, most)
        tasks = bundled(groups, partial(check_chunk, X.dtype, is_sparse(X)))
    else:
        partitions, width = partitions or X.to_delayed(), 1
        groups = [
            Group(partitions[rows], list(enumerate(lengths[rows], rows.start)), partial(_join, 1))
            for rows in even_groups(lengths, most)
        ]
        tasks = bundled(groups, _check_of(X))
    by_row = [tasks[at : at + width] for at in range(0, len(tasks), width)]
    return Chunks(by_row, [sum(lengths[rows]) for rows in even_groups(lengths, most)])


def row_parts(chunks: Chunks, boundaries: list[int], size: int = 1) -> Sequence[Any]:
    """Dask's Delayed of the rows from each of the boundaries to the next, all columns together.

    If ``size`` is more than 1, these are pieces of tasks that read one part of this number after the other.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    edges = [0, *accumulate(chunks.lengths)]
    if not 0 <= boundaries[0] <= boundaries[-1] <= edges[-1]:
        raise HicorexError(f"Boundaries {boundaries[0]} to {boundaries[-1]} are not those of {edges[-1]} rows.")
    name = f"hicorex-part-{uuid4().hex}"
    tasks = dict(chunks.tasks[0][0].dask)
    parts = []
    for part, (a, b) in enumerate(pairwise(boundaries)):
        pieces: list = []
        # The first rows stand for those that are none.
        for at in range(bisect_right(edges, a) - 1, bisect_left(edges, b)) or [0]:
            first, stop = max(0, a - edges[at]), max(0, min(b, edges[at + 1]) - edges[at])
            whole = stop - first == chunks.lengths[at]
            for task in chunks.tasks[at]:
                # A cut is a task of its own, so that only the rows that are needed travel.
                pieces.append(task.key if whole else f"{name}-{part}-{len(pieces)}")
                if not whole:
                    tasks[pieces[-1]] = (_cut, task.key, first, stop)
        parts.append(f"{name}-{part}" if len(pieces) > 1 else pieces[0])
        if len(pieces) > 1:
            tasks[parts[-1]] = (_join, len(chunks.tasks[0]), pieces)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=())
    delayed = [Delayed(key, graph, layer=name) for key in parts]
    if size == 1:
        return delayed
    groups = [delayed[at : at + size] for at in range(0, len(delayed), size)]
    return Pieces(bundled([Group(group, [()] * len(group), None) for group in groups], _itself), size, len(delayed))


def map_rows(X: Any, lengths: list[int], function: Callable, model: Any) -> tuple:
    """The arrays that function(model, rows) gives for each chunk or partition, as arrays of Dask."""
    from dask import array, delayed

    with quietly():  # about values that are in no row
        known = function(model, example(X))
    call = delayed(function, pure=False, nout=len(known))
    sent = delayed(model, pure=False, traverse=False)
    found = [call(sent, rows) for rows in row_parts(checked(X, lengths), [0, *accumulate(lengths)])]
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
    lengths = row_lengths(X)
    return row_parts(checked(X, lengths), [0, sum(lengths)])[0].compute()


def _groups_of_chunks(X: Any, lengths: list[int], most: int | None) -> tuple[list[Group], int]:
    """Neighbouring chunks of a Dask array, row by row, and how many groups are beside each other."""
    blocks, widths = X.to_delayed(), list(X.chunks[1])
    all_rows = even_groups(lengths, most)
    all_columns = even_groups(widths, most and max(1, most // len(all_rows)))
    groups = []
    for rows in all_rows:
        for columns in all_columns:
            places = [
                (i, j, int(lengths[i]), int(widths[j]))
                for i in range(rows.start, rows.stop)
                for j in range(columns.start, columns.stop)
            ]
            join = partial(_join, columns.stop - columns.start)
            groups.append(Group([blocks[i, j] for i, j, _, _ in places], places, join))
    return groups, len(all_columns)


def _narrow(X: Any) -> Any:
    """One column of a Dask DataFrame, which tells the lengths of partitions and is all that many formats then read.

    X itself, where a column is cut from X once that is made. Dask may also read several files of a narrow table as one
    partition, and then all columns are read.
    """
    column = X.iloc[:, :1]
    return X if dask_is_within(X, column) or column.optimize().npartitions != X.optimize().npartitions else column


def _check_of(X: Any) -> Callable[..., Any]:
    """What looks at each partition of a Dask DataFrame."""
    meta = dask_meta(X)
    return partial(check_partition, meta.columns, list(meta.dtypes))


def _bring(tasks: list, engine: "ClusterEngine | None") -> Sequence[Any]:
    """The results of some of Dask's Delayed, computed by the workers or here."""
    from dask import compute

    return compute(*tasks) if engine is None else engine.fetch(tasks)


def _cut(rows: Any, first: int, stop: int) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[first:stop]
    return (rows.tocsr() if issparse(rows) else rows)[first:stop]


def _join(width: int, pieces: list) -> Any:
    """Pieces of a table, row by row of ``width`` pieces each, put together."""
    rows = [_stack(pieces[at : at + width], 1) for at in range(0, len(pieces), width)]
    return _stack(rows, 0)


def _stack(pieces: list, axis: int) -> Any:
    """Tables of one kind below or beside each other."""
    if len(pieces) == 1:
        return pieces[0]
    if hasattr(pieces[0], "iloc"):
        from dask.dataframe.dispatch import concat

        return concat(pieces)
    if any(map(issparse, pieces)):
        return (hstack if axis else vstack)(pieces, format="csr")
    return np.concatenate(pieces, axis)


def _is_array(X: Any) -> bool:
    return hasattr(X, "chunks") and hasattr(X, "rechunk")


def _require_columns(X: Any) -> None:
    if np.isnan(X.chunks[1]).any():
        raise HicorexError("The Dask array has columns of unknown number: call its compute_chunk_sizes() before.")


def _itself(rows: Any) -> Any:
    return rows


def _n_rows(rows: Any) -> int:
    return rows.shape[0]


def _n_stored(check: Callable[..., Any], chunk: Any, *place: int) -> int:
    rows = csr_array(check(chunk, *place), copy=True)
    rows.sum_duplicates()
    return int(rows.nnz)
