"""Arrays and data frames of Dask, computed here or held by the workers of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from hicorex.engine import ClusterEngine, Engine
from hicorex.engine.pieces import piece_size
from hicorex.engine.reduction import ARITY
from hicorex.exceptions import HicorexError
from hicorex.input.readers import reader_of
from hicorex.input.sources import collection
from hicorex.input.sources.base import Found, OfRows, Rows, Source
from hicorex.layer.data import TILE_CELLS, Part

if TYPE_CHECKING:
    from distributed import Client


class DaskSource(Source):
    """A Dask array or data frame where there is no cluster, computed here some rows at a time.

    lengths : rows of each chunk or partition
    """

    def __init__(self, X: Any, lengths: list[int]):
        self._X, self._lengths = X, lengths
        names = collection.column_names(X)
        self.names = None if names is None else [str(name) for name in names]
        self.shape = (sum(lengths), X.shape[1])

    def read(self, first: int, stop: int) -> Rows:
        """Rows ``first`` to ``stop - 1``, computed."""
        self._check_range(first, stop)
        return collection.row_parts(self._chunks, [first, stop])[0].compute()

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return 8 * self.shape[0] * self.shape[1]

    @cached_property
    def _chunks(self) -> collection.Chunks:
        return collection.checked(self._X, self._lengths)


class ClusterSource(DaskSource):
    """A Dask array or data frame whose rows the workers of a cluster hold."""

    def __init__(self, X: Any, client: "Client"):
        self._client, self._given = client, X
        X = collection.regrouped(X)
        with ClusterEngine(client) as engine:
            lengths, self._partitions = collection.counted(X, engine)
            super().__init__(X, lengths)
            self.sparse = collection.is_sparse(X)
            stored = collection.stored_cells(X, self._lengths, engine) if self.sparse else self.shape[0] * self.shape[1]
        self._row_cells = max(1, stored // max(1, self.shape[0]))

    @property
    def head(self) -> Rows:
        """Two rows like those of the table, computed from nothing."""
        return collection.example(self._X)

    @property
    def row_cells(self) -> int:
        """The number of cells that a row stores, on average."""
        return self._row_cells

    def engine(self, n_jobs: int | None) -> ClusterEngine:
        """What passes over the rows: the workers, and here ``n_jobs`` threads."""
        return ClusterEngine(self._client, n_jobs)

    def take(self, rows: np.ndarray) -> Source:
        """Refused."""
        raise HicorexError("On a cluster no sample may have weight 0; leave these out of X and of sample_weight.")

    def lazily(self, model: Any, function: Callable[[Any, Rows], tuple[np.ndarray, ...]]) -> tuple[Any, ...]:
        """The arrays that function(model, rows) gives, as arrays of Dask that are computed where the rows are.

        Their chunks are those of the collection that was given.
        """
        lengths = self._lengths
        if self._given is not self._X:
            with ClusterEngine(self._client) as engine:
                lengths = collection.row_lengths(self._given, engine)
        return collection.map_rows(self._given, lengths, function, model)

    def map(
        self, function: OfRows[Found], sample_weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Found]:
        """function(reader, sample_weight, rows) of each of the ranges of rows, in their order, brought here."""
        return _of_cluster(engine).each(*self._there(function, sample_weight, all_rows))

    def keep(
        self,
        encode: OfRows[tuple[Part, Any]],
        finish: Callable[[Any], Callable[[Part], Part] | None],
        sample_weight: np.ndarray | None,
        all_rows: list[slice],
        engine: Engine,
        n_bytes: int,
    ) -> tuple[Sequence[Any], Any]:
        """The parts of the ranges of rows, which the workers hold, and the sums over these."""
        cluster = _of_cluster(engine)
        encoded = cluster.hold(*self._there(encode, sample_weight, all_rows))
        total = cluster.sum_parts(itemgetter(1), encoded)
        return cluster.hold(partial(_finished, finish(total)), encoded), total

    @cached_property
    def _chunks(self) -> collection.Chunks:
        """Few, since each is a task in every round that reads, and of no more cells than a part."""
        n_parts = self.shape[0] * self.row_cells // (ARITY * TILE_CELLS)
        most, partitions = max(collection.MOST_TASKS, n_parts), self._partitions
        self._partitions = None  # let go with this call
        return collection.checked(self._X, self._lengths, most, partitions)

    def _there(self, function: OfRows[Any], sample_weight: np.ndarray | None, all_rows: list[slice]) -> tuple[Any, ...]:
        """What a worker calls for function(reader, sample_weight, rows), and with what for each range of rows."""
        tables = collection.row_parts(self._chunks, [0, *(rows.stop for rows in all_rows)], piece_size(len(all_rows)))
        weights = [None if sample_weight is None else sample_weight[rows] for rows in all_rows]
        return partial(_of_worker, function, self.sparse), tables, weights, all_rows


def _of_cluster(engine: Engine) -> ClusterEngine:
    if not isinstance(engine, ClusterEngine):
        raise HicorexError("The workers of a cluster hold these samples; give an engine of that cluster.")
    return engine


def _of_worker(function: OfRows[Found], sparse: bool, table: Rows, weight: np.ndarray | None, rows: slice) -> Found:
    """function(reader, sample_weight, rows) of some rows; ``sparse`` is what the Dask array says of its chunks."""
    reader = reader_of(table if issparse(table) == sparse else csr_array(table))
    return function(reader, np.ones(table.shape[0]) if weight is None else weight, rows)


def _finished(last: Callable[[Part], Part] | None, encoded: tuple[Part, Any]) -> Part:
    return encoded[0] if last is None else last(encoded[0])
