"""How samples come in: from tables in memory, on disk or on a cluster, part by part."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.utils.validation import _check_sample_weight

from hicorex.columns import Columns, check_shape, rows_of
from hicorex.data import Data, Part, row_slices, tile_height, totals_of
from hicorex.engine import ClusterEngine, LocalEngine, cluster
from hicorex.engine.reduction import ARITY, add_up
from hicorex.exceptions import HicorexError
from hicorex.schema import Schema, precision, resolve_kinds
from hicorex.sources import Source, source_of
from hicorex.spool import Spool, SpooledTable
from hicorex.survey import Survey, Surveyor


class InMemory:
    """A table in memory.

    shape, names : of the table; ``name`` says how messages call a column
    head : something from which scikit-learn knows the number and the names of the columns
    here : whether all samples are in memory
    """

    here = True

    def __init__(self, X: Any, least_samples: int = 2):
        self._columns = Columns(X, least_samples)
        self.head = X
        self.shape, self.names, self.name = self._columns.shape, self._columns.names, self._columns.name
        self.row_cells, self._sparse = self._columns.row_cells, self._columns.sparse is not None

    def engine(self, n_jobs: int | None) -> LocalEngine:
        """What passes over the samples, here with so many threads."""
        return LocalEngine(n_jobs)

    def take(self, rows: np.ndarray) -> "InMemory":
        """Some of the samples."""
        return InMemory(rows_of(self.head, rows))

    def batches(self, cells: int, width: int) -> Iterator[Any]:
        """The samples in memory, at most so many cells at a time if each has at least ``width``."""
        all_rows = self._batches(cells, width)
        for rows in all_rows:
            yield self.head if len(all_rows) == 1 else rows_of(self.head, np.arange(rows.start, rows.stop))

    def learn(self, marginals: Any, weight: np.ndarray | None, engine: Any) -> Schema:
        """How the columns are read, of samples with these weights (n_samples,)."""
        kinds = resolve_kinds(self._columns, marginals)
        surveyor = Surveyor(kinds, self.shape[0], self.name)

        def look(rows: slice) -> Survey:
            return surveyor.look(self._read(rows), _part_of(weight, rows), rows.start)

        return Schema(kinds, surveyor.merged(engine.map(look, self._rows())), marginals, self.name, self._sparse)

    def encode(self, schema: Schema, weight: np.ndarray | None, engine: Any) -> Data:
        """The samples of the fit for which the schema was learned."""
        return self._encode(schema, schema.gaps, weight, precision(self.shape), engine)[0]

    def encode_open(self, schema: Schema, weight: np.ndarray | None, engine: Any) -> Data:
        """Samples of a stream, in which any column may lack values now or later; unseen categories are such a lack."""
        return self._encode(schema, np.ones(self.shape[1], bool), weight, np.float32, engine)[0]

    def encode_new(self, schema: Schema, weight: np.ndarray | None, dtype: Any, engine: Any) -> tuple[Data, list[str]]:
        """Other samples than those of the fit, and the names of columns in which unseen categories were met."""
        return schema.encode(self._columns, weight, dtype)

    def _encode(
        self, schema: Schema, gaps: np.ndarray, weight: np.ndarray | None, dtype: Any, engine: Any
    ) -> tuple[Data, list[str]]:
        """The samples, of which the columns ``gaps`` may lack values, and columns with unseen categories."""
        blocks, height = schema.blocks(gaps, dtype, self._sparse), self._height(schema)

        def of_rows(rows: slice) -> tuple[Part, Any, list[str]]:
            samples, unseen = schema.samples(self._read(rows), gaps, dtype)
            part = Part(samples, _part_of(weight, rows).astype(dtype), rows.start, height)
            return part, add_up(totals_of(blocks, part, tile) for tile in part.tiles()), unseen

        parts = self._store(self.shape[0] * schema.row_bytes(gaps, dtype))
        sums, unseen = [], dict[str, None]()
        for part, own, new in engine.map(of_rows, row_slices(self.shape[0], ARITY * height)):
            parts.append(part)
            sums.append(own)
            unseen |= dict.fromkeys(new)
        return Data.with_totals(blocks, schema.parts, parts, self.shape[0], height, add_up(sums)), list(unseen)

    def _batches(self, cells: int, width: int) -> list[slice]:
        return row_slices(self.shape[0], max(1, cells // max(width, self.row_cells)))

    def _height(self, schema: Schema) -> int:
        return tile_height(schema.row_cells(self.row_cells))

    def _rows(self) -> list[slice]:
        return row_slices(self.shape[0], ARITY * tile_height(self.row_cells))

    def _read(self, rows: slice) -> Columns:
        return self._columns.cut(rows)

    def _store(self, size: int) -> Any:
        """Where parts of so many bytes together are kept."""
        return []


class OnDisk(InMemory):
    """A table on disk, of which a few parts are in memory at any time.

    If all samples fit into scikit-learn's ``working_memory``, they are kept there; otherwise on disk, in the form in
    which a pass needs them.
    """

    here = False

    def __init__(self, source: Source, least_samples: int = 2):
        super().__init__(source.read(0, min(2, source.shape[0])), least_samples)
        self._source, self.shape = source, source.shape

    def take(self, rows: np.ndarray) -> "OnDisk":
        """Some of the samples, in their order."""
        return OnDisk(_Chosen(self._source, rows))

    def batches(self, cells: int, width: int) -> Iterator[Any]:
        """The samples in memory, at most so many cells at a time if each has at least ``width``."""
        for rows in self._batches(cells, width):
            yield self._source.read(rows.start, rows.stop)

    def encode_new(self, schema: Schema, weight: np.ndarray | None, dtype: Any, engine: Any) -> tuple[Data, list[str]]:
        """Other samples than those of the fit, and the names of columns in which unseen categories were met."""
        anywhere = np.ones(self.shape[1], bool)  # may lack values: to know where would take one more reading
        return self._encode(schema, anywhere, weight, dtype or precision(self.shape), engine)

    def _read(self, rows: slice) -> Columns:
        return Columns(self._source.read(rows.start, rows.stop), least_samples=1)

    def _store(self, size: int) -> Any:
        return [] if size <= 2**20 * get_config()["working_memory"] else Spool()


class OnCluster(InMemory):
    """A Dask array or data frame, whose samples the workers of a cluster hold."""

    here = False

    def __init__(self, X: Any, client: Any, least_samples: int = 2):
        super().__init__(cluster.example(X), 1)
        self._X, self._client = X, client
        with ClusterEngine(client) as engine:
            self._lengths = cluster.row_lengths(X, engine)
            self.shape = (sum(self._lengths), self.shape[1])
            check_shape(self.shape, least_samples)
            if self._sparse:
                self.row_cells = max(1, cluster.stored_cells(X, engine) // self.shape[0])

    def engine(self, n_jobs: int | None) -> ClusterEngine:
        """What passes over the samples: the workers, and here so many threads."""
        return ClusterEngine(self._client, n_jobs)

    def take(self, rows: np.ndarray) -> "OnCluster":
        """Refused."""
        raise HicorexError("On a cluster no sample may have weight 0; leave these out of X and of sample_weight.")

    def batches(self, cells: int, width: int) -> Iterator[Any]:
        """The samples in memory, at most so many cells at a time if each has at least ``width``."""
        edges = [0, *(rows.stop for rows in self._batches(cells, width))]
        with self.engine(None) as engine:
            yield from engine.each(lambda rows: rows, cluster.row_parts(self._X, edges, self._lengths))

    def lazily(self, model: Any, function: Callable) -> tuple[Any, ...]:
        """The arrays that function(model, rows) gives, as arrays of Dask that are computed where the rows are."""
        return cluster.map_rows(self._X, self._lengths, function, model)

    def learn(self, marginals: Any, weight: np.ndarray | None, engine: Any) -> Schema:
        """How the columns are read, of samples with these weights (n_samples,)."""
        kinds = resolve_kinds(self._columns, marginals)
        surveyor, sparse = Surveyor(kinds, self.shape[0], self.name), self._sparse

        def look(table: Any, weight: np.ndarray | None, rows: slice) -> Survey:
            return surveyor.look(_columns_of(table, sparse), _weight_of(table, weight), rows.start)

        found = engine.each(look, *self._items(weight, self._rows()))
        return Schema(kinds, surveyor.merged(found), marginals, self.name, sparse)

    def encode_new(self, schema: Schema, weight: np.ndarray | None, dtype: Any, engine: Any) -> tuple[Data, list[str]]:
        """Other samples than those of the fit; unseen categories are not told of."""
        anywhere = np.ones(self.shape[1], bool)
        return self._encode(schema, anywhere, weight, dtype or precision(self.shape), engine)

    def _encode(
        self, schema: Schema, gaps: np.ndarray, weight: np.ndarray | None, dtype: Any, engine: Any
    ) -> tuple[Data, list[str]]:
        sparse, height = self._sparse, self._height(schema)
        blocks = schema.blocks(gaps, dtype, sparse)

        def of_rows(table: Any, weight: np.ndarray | None, rows: slice) -> Part:
            samples, _ = schema.samples(_columns_of(table, sparse), gaps, dtype)
            return Part(samples, _weight_of(table, weight).astype(dtype), rows.start, height)

        parts = engine.hold(of_rows, *self._items(weight, row_slices(self.shape[0], ARITY * height)))
        sums = engine.sum(partial(totals_of, blocks), parts)
        return Data.with_totals(blocks, schema.parts, parts, self.shape[0], height, sums), []

    def _items(self, weight: np.ndarray | None, all_rows: list[slice]) -> tuple[list, list, list[slice]]:
        """Of each part its rows, where they are, their weights, None for one each, and which they are."""
        raw = cluster.row_parts(self._X, [0, *(rows.stop for rows in all_rows)], self._lengths)
        return raw, [None if weight is None else weight[rows] for rows in all_rows], all_rows


class _FromDask(Source):
    """A Dask array or data frame where there is no cluster, computed here some rows at a time."""

    def __init__(self, X: Any):
        self._X, self._lengths = X, cluster.row_lengths(X)
        self.names = cluster.column_names(X)
        self.shape = (sum(self._lengths), X.shape[1])

    def read(self, first: int, stop: int) -> Any:
        """Rows ``first`` to ``stop - 1``, computed."""
        self._check_range(first, stop)
        return cluster.row_parts(self._X, [first, stop], self._lengths)[0].compute()

    def n_bytes(self) -> int:
        """About the size of the whole table in memory."""
        return 8 * self.shape[0] * self.shape[1]


class _Chosen(Source):
    """Some of the rows of a table, rising."""

    def __init__(self, source: Source, rows: np.ndarray):
        self._source, self._rows = source, rows
        self.names, self.shape = source.names, (rows.size, source.shape[1])

    def read(self, first: int, stop: int) -> Any:
        """Rows ``first`` to ``stop - 1`` of those chosen."""
        own = self._rows[first:stop]
        start, end = (int(own[0]), int(own[-1]) + 1) if own.size else (0, 0)
        table = self._source.read(start, end)
        return table[own - start] if isinstance(table, np.ndarray) else table.take(own - start)

    def n_bytes(self) -> int:
        """About the size of these rows in memory."""
        return self._source.n_bytes() * self.shape[0] // self._source.shape[0]


def take_in(X: Any, least_samples: int = 2) -> InMemory:
    """The table that X stands for, of at least so many samples."""
    if cluster.is_collection(X):
        client = cluster.current_client()
        if client is not None:
            return OnCluster(X, client, least_samples)
        cluster.example(X)  # refuses what is no table
        return InMemory(X.compute(), least_samples) if cluster.is_sparse(X) else OnDisk(_FromDask(X), least_samples)
    source = X if isinstance(X, Source) else source_of(X)
    return InMemory(X, least_samples) if source is None else OnDisk(source, least_samples)


def put_together(of_tile: Callable, data: Data, engine: Any) -> Any:
    """The arrays (T, m) that of_tile(part, rows) gives, as one table that is where the samples are."""
    if isinstance(engine, ClusterEngine):
        return engine.table(of_tile, data.parts)
    tiles = engine.tiles(of_tile, data.parts)
    return SpooledTable(tiles) if isinstance(data.parts, Spool) else np.concatenate(list(tiles))


def weighted(table: InMemory, sample_weight: Any) -> tuple[InMemory, np.ndarray | None]:
    """The samples that have a weight, and what it is, None for one each."""
    if sample_weight is None:
        return table, None
    weight = _check_sample_weight(sample_weight, np.empty((table.shape[0], 0)), dtype=float, ensure_non_negative=True)
    if np.count_nonzero(weight) < 2:
        raise HicorexError("sample_weight leaves fewer than two samples; give at least two a positive weight.")
    if not 1e-30 < weight.sum() < 1e30:
        raise HicorexError(f"sample_weight sums to {weight.sum():.2g}; scale it to about the number of samples.")
    return (table, weight) if weight.all() else (table.take(np.flatnonzero(weight)), weight[weight > 0])


def _columns_of(table: Any, sparse: bool) -> Columns:
    """Some rows of a Dask array or data frame that said whether it is sparse."""
    if issparse(table) and not sparse:
        raise HicorexError("Chunks of the Dask array are sparse: tell it so, by meta=scipy.sparse.csr_array((0, 0)).")
    return Columns(table if issparse(table) == sparse else csr_array(table), least_samples=1)


def _weight_of(table: Any, weight: np.ndarray | None) -> np.ndarray:
    """The weights of the rows of a table, which are these, or one each."""
    return np.ones(table.shape[0]) if weight is None else weight


def _part_of(weight: np.ndarray | None, rows: slice) -> np.ndarray:
    return np.ones(rows.stop - rows.start) if weight is None else weight[rows]
