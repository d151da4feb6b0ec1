"""How samples come in: from tables in memory, on disk or on a cluster, part by part."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import get_config

from hicorex.engine import ClusterEngine, Engine, LocalEngine, cluster
from hicorex.engine.reduction import ARITY, add_up
from hicorex.exceptions import HicorexError
from hicorex.input import collection
from hicorex.input.encoder import Encoder, precision, resolve_kinds
from hicorex.input.reader import Reader, check_shape, rows_of
from hicorex.input.sources import Source, source_of
from hicorex.input.spool import Spool, SpooledTable
from hicorex.input.survey import Survey, Surveyor
from hicorex.input.weights import as_samples, check_weights
from hicorex.layer.data import Data, Part, row_slices, tile_height, totals_of


class Intake(ABC):
    """A table that comes in part by part.

    shape, names : of the table; ``name`` says how messages call a column
    head : something from which scikit-learn knows the number and the names of the columns
    here : whether all samples are in memory
    """

    here = False

    def __init__(self, head: Any, least_samples: int):
        self._columns = Reader(head, least_samples)
        self.head = head
        self.shape, self.names, self.name = self._columns.shape, self._columns.names, self._columns.name
        self.row_cells, self._sparse = self._columns.row_cells, self._columns.sparse is not None

    @abstractmethod
    def take(self, rows: np.ndarray) -> "Intake":
        """Some of the samples, in their order."""

    @abstractmethod
    def _each(
        self, function: Callable, weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Any]:
        """function(columns, weight, rows) of each of the parts, in their order."""

    def engine(self, n_jobs: int | None) -> Engine:
        """What passes over the samples, here with so many threads."""
        return LocalEngine(n_jobs)

    def learn(self, marginals: Any, weight: np.ndarray | None, engine: Engine) -> Encoder:
        """How the columns are read, of samples with these weights (n_samples,)."""
        kinds = resolve_kinds(self._columns, marginals)
        surveyor = Surveyor(kinds, self.shape[0], self.name)

        def look(columns: Reader, own: np.ndarray, rows: slice) -> Survey:
            return surveyor.look(columns, own, rows.start)

        found = self._each(look, weight, row_slices(self.shape[0], ARITY * tile_height(self.row_cells)), engine)
        return Encoder(kinds, surveyor.merged(found), marginals, self.name, self._sparse)

    def encode(self, encoder: Encoder, weight: np.ndarray | None, engine: Engine) -> Data:
        """The samples of the fit for which the encoder was learned."""
        return self._encode(encoder, encoder.gaps, weight, precision(self.shape), engine)[0]

    def encode_open(self, encoder: Encoder, weight: np.ndarray | None, engine: Engine) -> tuple[Data, list[str]]:
        """Samples of a stream, in which any column may lack values now or later, and columns with unseen categories."""
        return self._encode(encoder, np.ones(self.shape[1], bool), weight, np.float32, engine)

    def encode_new(
        self, encoder: Encoder, weight: np.ndarray | None, dtype: Any, engine: Engine
    ) -> tuple[Data, list[str]]:
        """Other samples than those of the fit, and the names of columns in which unseen categories were met."""
        anywhere = np.ones(self.shape[1], bool)  # may lack values: to know where would take one more reading
        return self._encode(encoder, anywhere, weight, dtype or precision(self.shape), engine)

    def _encode(
        self, encoder: Encoder, gaps: np.ndarray, weight: np.ndarray | None, dtype: Any, engine: Engine
    ) -> tuple[Data, list[str]]:
        """The samples, of which the columns ``gaps`` may lack values, and columns with unseen categories."""
        blocks, height = encoder.blocks(gaps, dtype, self._sparse), self._height(encoder)

        def of_rows(columns: Reader, own: np.ndarray, rows: slice) -> tuple[Part, Any, list[str]]:
            samples, unseen = encoder.samples(columns, gaps, dtype)
            part = Part(samples, own.astype(dtype), rows.start, height)
            return part, add_up(totals_of(blocks, part, tile) for tile in part.tiles()), unseen

        parts = self._store(self.shape[0] * encoder.row_bytes(gaps, dtype))
        sums, unseen = [], dict[str, None]()
        for part, own, new in self._each(of_rows, weight, row_slices(self.shape[0], ARITY * height), engine):
            parts.append(part)
            sums.append(own)
            unseen |= dict.fromkeys(new)
        return Data.with_totals(blocks, encoder.parts, parts, self.shape[0], height, add_up(sums)), list(unseen)

    def _batches(self, cells: int, width: int) -> list[slice]:
        return row_slices(self.shape[0], max(1, cells // max(width, self.row_cells)))

    def _height(self, encoder: Encoder) -> int:
        return tile_height(encoder.row_cells(self.row_cells))

    def _store(self, size: int) -> Any:
        """Where parts of so many bytes together are kept."""
        return []


class InMemory(Intake):
    """A table in memory."""

    here = True

    def take(self, rows: np.ndarray) -> "InMemory":
        """Some of the samples, in their order."""
        return InMemory(rows_of(self.head, rows), 2)

    def batches(self, cells: int, width: int) -> Iterator["InMemory"]:
        """The samples, at most so many cells at a time if each has at least ``width``."""
        all_rows = self._batches(cells, width)
        for rows in all_rows:
            yield self if len(all_rows) == 1 else InMemory(rows_of(self.head, np.arange(rows.start, rows.stop)), 1)

    def encode_new(
        self, encoder: Encoder, weight: np.ndarray | None, dtype: Any, engine: Engine
    ) -> tuple[Data, list[str]]:
        """Other samples than those of the fit, and the names of columns in which unseen categories were met."""
        return encoder.encode(self._columns, weight, dtype)

    def _each(
        self, function: Callable, weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Any]:
        return engine.map(lambda rows: function(self._columns.cut(rows), _part_of(weight, rows), rows), all_rows)


class OnDisk(Intake):
    """A table on disk, of which a few parts are in memory at any time.

    If all samples fit into scikit-learn's ``working_memory``, they are kept there; otherwise on disk, in the form in
    which a pass needs them.
    """

    def __init__(self, source: Source, least_samples: int):
        super().__init__(source.read(0, min(2, source.shape[0])), least_samples)
        self._source, self.shape = source, source.shape

    def take(self, rows: np.ndarray) -> "OnDisk":
        """Some of the samples, in their order."""
        return OnDisk(_Chosen(self._source, rows), 2)

    def batches(self, cells: int, width: int) -> Iterator[InMemory]:
        """The samples in memory, at most so many cells at a time if each has at least ``width``."""
        for rows in self._batches(cells, width):
            yield InMemory(self._source.read(rows.start, rows.stop), 1)

    def _each(
        self, function: Callable, weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Any]:
        def of_rows(rows: slice) -> Any:
            columns = Reader(self._source.read(rows.start, rows.stop), least_samples=1)
            return function(columns, _part_of(weight, rows), rows)

        return engine.map(of_rows, all_rows)

    def _store(self, size: int) -> Any:
        return [] if size <= 2**20 * get_config()["working_memory"] else Spool()


class OnCluster(Intake):
    """A Dask array or data frame, whose samples the workers of a cluster hold; of unseen categories nothing is told."""

    def __init__(self, X: Any, client: Any, least_samples: int):
        super().__init__(collection.example(X), 1)
        self._X, self._client = X, client
        with ClusterEngine(client) as engine:
            self._lengths = collection.row_lengths(X, engine)
            self.shape = (sum(self._lengths), self.shape[1])
            check_shape(self.shape, least_samples)
            if self._sparse:
                self.row_cells = max(1, collection.stored_cells(X, engine) // self.shape[0])

    def engine(self, n_jobs: int | None) -> ClusterEngine:
        """What passes over the samples: the workers, and here so many threads."""
        return ClusterEngine(self._client, n_jobs)

    def take(self, rows: np.ndarray) -> "OnCluster":
        """Refused."""
        raise HicorexError("On a cluster no sample may have weight 0; leave these out of X and of sample_weight.")

    def lazily(self, model: Any, function: Callable) -> tuple[Any, ...]:
        """The arrays that function(model, rows) gives, as arrays of Dask that are computed where the rows are."""
        return collection.map_rows(self._X, self._lengths, function, model)

    def _each(
        self, function: Callable, weight: np.ndarray | None, all_rows: list[slice], engine: Engine
    ) -> Iterator[Any]:
        return engine.each(*self._there(function, weight, all_rows))

    def _encode(
        self, encoder: Encoder, gaps: np.ndarray, weight: np.ndarray | None, dtype: Any, engine: Engine
    ) -> tuple[Data, list[str]]:
        blocks, height = encoder.blocks(gaps, dtype, self._sparse), self._height(encoder)

        def of_rows(columns: Reader, own: np.ndarray, rows: slice) -> Part:
            return Part(encoder.samples(columns, gaps, dtype)[0], own.astype(dtype), rows.start, height)

        assert isinstance(engine, ClusterEngine)
        parts = engine.hold(*self._there(of_rows, weight, row_slices(self.shape[0], ARITY * height)))
        sums = engine.sum(partial(totals_of, blocks), parts)
        return Data.with_totals(blocks, encoder.parts, parts, self.shape[0], height, sums), []

    def _there(self, function: Callable, weight: np.ndarray | None, all_rows: list[slice]) -> tuple:
        """What a worker calls for function(columns, weight, rows), and with what for each part."""
        tables = collection.row_parts(self._X, [0, *(rows.stop for rows in all_rows)], self._lengths)
        weights = [None if weight is None else weight[rows] for rows in all_rows]
        return partial(_read_there, function, self._sparse), tables, weights, all_rows


class _FromDask(Source):
    """A Dask array or data frame where there is no cluster, computed here some rows at a time."""

    def __init__(self, X: Any):
        self._X, self._lengths = X, collection.row_lengths(X)
        self.names = collection.column_names(X)
        self.shape = (sum(self._lengths), X.shape[1])

    def read(self, first: int, stop: int) -> Any:
        """Rows ``first`` to ``stop - 1``, computed."""
        self._check_range(first, stop)
        return collection.row_parts(self._X, [first, stop], self._lengths)[0].compute()

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


def take_in(X: Any, least_samples: int = 2) -> InMemory | OnDisk | OnCluster:
    """The table that X stands for, of at least so many samples, or X itself if it was taken in before."""
    if isinstance(X, InMemory | OnDisk | OnCluster):
        return X
    if collection.is_collection(X):
        client = cluster.current_client()
        if client is not None:
            return OnCluster(X, client, least_samples)
        collection.example(X)  # refuses what is no table
        return (
            InMemory(collection.computed(X), least_samples)
            if collection.is_sparse(X)
            else OnDisk(_FromDask(X), least_samples)
        )
    source = X if isinstance(X, Source) else source_of(X)
    return InMemory(X, least_samples) if source is None else OnDisk(source, least_samples)


def put_together(of_tile: Callable, data: Data, engine: Engine) -> Any:
    """The arrays (T, m) that of_tile(part, rows) gives, as one table that is where the samples are."""
    if isinstance(engine, ClusterEngine):
        return engine.dask_array(of_tile, data.parts)
    tiles = engine.tiles(of_tile, data.parts)
    return SpooledTable(tiles) if isinstance(data.parts, Spool) else np.concatenate(list(tiles))


def weighted(table: Intake, sample_weight: Any) -> tuple[Intake, np.ndarray | None]:
    """The samples that have a weight, and how many samples each of them is, None for one each."""
    if sample_weight is None:
        return table, None
    weight = check_weights(sample_weight, table.shape[0], "sample_weight")
    own = as_samples(weight[weight > 0], "sample_weight")
    return table if weight.all() else table.take(np.flatnonzero(weight)), own


def _read_there(function: Callable, sparse: bool, table: Any, weight: np.ndarray | None, rows: slice) -> Any:
    """function(columns, weight, rows) of some rows of a Dask array that said whether it is sparse, or a data frame."""
    columns = Reader(table if issparse(table) == sparse else csr_array(table), least_samples=1)
    return function(columns, np.ones(table.shape[0]) if weight is None else weight, rows)


def _part_of(weight: np.ndarray | None, rows: slice) -> np.ndarray:
    return np.ones(rows.stop - rows.start) if weight is None else weight[rows]
