"""How the columns of a table are read: from typed columns to blocks of marginals."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.exceptions import ColumnTypeError, HicorexError, caution
from hicorex.input.reader import KINDS, Reader, find_codes, slices
from hicorex.input.survey import Scale, Survey, scale_of
from hicorex.layer.data import Data, digest_of
from hicorex.marginals import Categorical, Gaussian, SparseCategorical, categorical, gaussian
from hicorex.marginals.base import Block

# Blocks depend on the shape of the table alone, so that results do not depend on the threads.
BLOCK_COLUMNS = 10000
# Small tables are computed in double precision, where speed does not matter.
SMALL_TABLE_CELLS = 100_000
# Standard deviations beyond which new values count as this far: their squares must stay finite, by any weight.
FARTHEST = {np.dtype(np.float64): 1e15, np.dtype(np.float32): 1e9}
HALF_OF_LARGEST = np.finfo(float).max / 2


def precision(shape: tuple[int, int]) -> Any:
    """The type in which a fit to a table of this shape is computed."""
    return np.float64 if shape[0] * shape[1] <= SMALL_TABLE_CELLS else np.float32


class Encoder:
    """How each column of a table is read: its kind, its scale or its categories.

    parts : the columns of each block; columns of two categories, none missing, go into blocks of
        their own, since a matrix product serves them.
    informative : (n_columns,), False for columns that are constant or wholly missing
    """

    def __init__(self, kinds: list[str], found: Survey, marginals: Any, name: Callable[[int], str], sparse: bool):
        self.n_columns = len(kinds)
        self.kinds = kinds
        self.size, self.spread = np.ones((2, self.n_columns))
        self.centre = np.zeros(self.n_columns)
        self.informative = np.ones(self.n_columns, bool)
        self.ranks: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.categories: dict[int, np.ndarray] = {}
        self.gaps = found.gaps
        self._keep_scale(found.numeric, found.scale)
        if found.ranked.size:
            values, weight = found.values, found.weight
            for at, i in enumerate(found.ranked.tolist()):
                self.ranks[i] = _normal_scores(values[:, at], weight)
            self._to_scores(values, found.ranked)
            self._keep_scale(found.ranked, scale_of(values, weight))
        many: list[str] = []
        for i, categories in found.categories.items():
            self.categories[i] = categories
            if marginals == "auto" and categories.dtype.kind in "iu" and categories.size > max(20, 0.2 * found.n_rows):
                many.append(name(i))
            self.informative[i] = categories.size > 1
        if many:
            caution(
                f"Whole numbers are read as categories, of which there are very many in column {', '.join(many[:5])}"
                f"{' and others' if len(many) > 5 else ''}. Counts and other amounts need marginals "
                '"gaussian" or "rank"; identifiers are better left out.'
            )
        numeric = np.array([i for i, kind in enumerate(kinds) if kind != "categorical"], int)
        coded = np.array(list(self.categories), int)
        # Cells of a sparse table that are not stored hold 0, the first of two categories in a product.
        two = {i for i, own in self.categories.items() if own.size == 2 and (own[0] == 0 or not sparse)}
        binary = np.array([i in two and not self.gaps[i] for i in coded.tolist()], bool)
        self.parts = [*_chunks(numeric), *_chunks(coded[binary]), *_chunks(coded[~binary])]

    @classmethod
    def of_fields(cls, **fields: Any) -> "Encoder":
        """The encoder of these attributes, as one that was fitted has them."""
        encoder = cls.__new__(cls)
        encoder.__dict__.update(fields)
        return encoder

    def _keep_scale(self, columns: np.ndarray, scale: Scale) -> None:
        spread = np.sqrt(scale.square / np.maximum(scale.total, 1e-300))
        varies = (scale.least < scale.most) & (spread > 0)
        self.size[columns] = np.where(scale.size > 0, scale.size, 1)
        self.centre[columns] = scale.centre
        self.spread[columns] = np.where(varies, spread, 1)
        self.informative[columns] = varies

    def encode(self, table: Reader, weight: np.ndarray | None = None, dtype: Any = None) -> tuple[Data, list[str]]:
        """New samples as blocks, and the names of columns in which unseen categories were met."""
        dtype = dtype or precision(table.shape)
        weight = np.ones(table.shape[0], dtype) if weight is None else weight.astype(dtype)
        unseen: list[str] = []
        blocks: list[Block] = []
        samples: list[Any] = []
        for part in self.parts:
            if self.kinds[part[0]] == "categorical":
                samples.append(self._codes(table, part, unseen))
                whole = bool(samples[-1].codes.max(initial=0) < 2)
                blocks.append(self._categorical(part, whole, dtype, table.sparse is not None))
            else:
                gaps, values = self._values(table, part, dtype)
                samples.append(values)
                blocks.append(Gaussian(gaps, self.informative[part], dtype))
        return Data.of(blocks, self.parts, samples, weight), unseen

    def blocks(self, gaps: np.ndarray, dtype: Any, sparse: bool) -> list[Block]:
        """The blocks of a table, sparse or not, of which the columns ``gaps`` may lack values."""
        blocks: list[Block] = []
        for part in self.parts:
            if self.kinds[part[0]] == "categorical":
                blocks.append(self._categorical(part, not gaps[part].any(), dtype, sparse))
            else:
                blocks.append(Gaussian(np.flatnonzero(gaps[part]), self.informative[part], dtype))
        return blocks

    def samples(self, table: Reader, gaps: np.ndarray, dtype: Any) -> tuple[list[Any], list[str]]:
        """Some rows of such a table by block, and the names of columns in which unseen categories were met."""
        unseen: list[str] = []
        samples = [
            self._codes(table, part, unseen)
            if self.kinds[part[0]] == "categorical"
            else self._values(table, part, dtype, gaps)[1]
            for part in self.parts
        ]
        return samples, unseen

    def row_cells(self, stored: int) -> int:
        """How many cells a sample has in blocks if a table stores so many of it: numbers are never sparse."""
        numeric = sum(kind != "categorical" for kind in self.kinds)
        return min(self.n_columns, numeric + stored)

    def row_bytes(self, gaps: np.ndarray, dtype: Any) -> int:
        """Bytes of a row of such a table."""
        size = np.dtype(dtype).itemsize
        for part in self.parts:
            if self.kinds[part[0]] == "categorical":
                size += part.size * np.min_scalar_type(max(self.categories[i].size for i in part.tolist())).itemsize
            else:
                size += part.size * np.dtype(dtype).itemsize + int(np.count_nonzero(gaps[part]))
        return size

    def encode_labels(self, labels: np.ndarray) -> list[categorical.Samples]:
        """Labels (m, T) of a layer below, whose table this is, by block."""
        none = np.zeros(labels.shape[1], bool)
        return [
            categorical.Samples(
                np.stack([find_codes(labels[i], self.categories[i], none)[0] for i in part.tolist()]).astype(np.uint8)
            )
            for part in self.parts
        ]

    def shades(self, table: Reader, columns: np.ndarray) -> np.ndarray:
        """Columns from low to high as numbers from 0 to 1, (n_samples, len(columns)), NaN where missing.

        Continuous ones by their normal distribution or their rank in the fit, categories by their order.
        """
        shades = np.full((table.shape[0], len(columns)), 0.5)
        # Frames are read in windows of neighbours, which rising columns leave once.
        rising = np.argsort(columns)
        coded = np.array([i in self.categories for i in columns[rising].tolist()], bool)
        for at in slices(rising[~coded]):
            own = columns[at]
            numbers = table.numbers(own)
            self._to_scores(numbers, own)
            with np.errstate(over="ignore"):
                shades[:, at] = ndtr((numbers / self.size[own] - self.centre[own]) / self.spread[own])
        for place in rising[coded].tolist():
            categories = self.categories[int(columns[place])]
            codes, _ = table.codes(columns[place], categories)
            if categories.size > 1:
                shades[:, place] = codes / (categories.size - 1)
            shades[codes == categories.size, place] = np.nan
        return shades

    def types(self) -> list[str]:
        """What the values of each column are: "number", "whole number", "text" or "boolean"."""
        words = {"b": "boolean", "i": "whole number", "u": "whole number", "U": "text", "S": "text"}
        types = ["number"] * self.n_columns
        for i, categories in self.categories.items():
            types[i] = words.get(categories.dtype.kind, "number")
        return types

    def fingerprint(self, names: Sequence[str] | None, data: Data, engine: Engine) -> str:
        """What tells the samples of a fit from any others."""
        parts, categories = ([own.tolist() for own in arrays] for arrays in (self.parts, self.categories.values()))
        digest = hashlib.sha256(repr((names, self.kinds, parts, categories)).encode("utf-8", "surrogatepass"))
        for array in (self.size, self.centre, self.spread):
            digest.update(array.data)
        for own in engine.each(digest_of, data.parts):
            digest.update(own)
        return digest.hexdigest()

    def _values(
        self, table: Reader, part: np.ndarray, dtype: Any, gaps: np.ndarray | None = None
    ) -> tuple[np.ndarray, gaussian.Samples]:
        """Which columns of a block lack values, or may do so by ``gaps``, (n_columns,), and the block's samples."""
        values = np.empty((part.size, table.shape[0]), dtype)
        lacking: list[np.ndarray] = []
        present: list[np.ndarray] = [np.empty((0, table.shape[0]), bool)]
        for own in slices(np.arange(part.size)):
            columns = part[own]
            numbers = table.numbers(columns)
            self._to_scores(numbers, columns)
            scale = self.size[columns], self.centre[columns], self.spread[columns], self.informative[columns]
            there = np.empty((own.size, table.shape[0]), bool)
            kernels.gaussian.standardise(numbers, *scale, FARTHEST[values.dtype], values[own[0] : own[-1] + 1], there)
            some = ~there.all(axis=1) if gaps is None else gaps[columns]
            lacking.append(own[some])
            present.append(there[some])
        return np.concatenate(lacking), gaussian.Samples(values, np.concatenate(present))

    def _to_scores(self, numbers: np.ndarray, columns: np.ndarray) -> None:
        """Map columns of rank marginals to their normal scores, in place."""
        for at, i in enumerate(columns):
            if i in self.ranks:
                values, scores = self.ranks[i]
                # Halved where the difference of two might be infinite.
                unit = 0.5 if np.abs(values[[0, -1]]).max() > HALF_OF_LARGEST else 1.0
                numbers[:, at] = np.interp(unit * numbers[:, at], unit * values, scores)

    def _categorical(self, part: np.ndarray, whole: bool, dtype: Any, sparse: bool) -> Categorical:
        """A block of coded columns; ``whole`` says that none lacks values."""
        known = [self.categories[i] for i in part.tolist()]
        sizes = np.array([own.size for own in known])
        if not sparse:
            return Categorical(sizes, bool(whole and np.all(sizes == 2)), dtype)
        zero = np.array([find_codes(own.dtype.type([0]), own, np.zeros(1, bool))[0][0] for own in known], np.int64)
        return SparseCategorical(sizes, zero, bool(whole and np.all((sizes == 2) & (zero == 0))), dtype)

    def _codes(self, table: Reader, part: np.ndarray, unseen: list[str]) -> Any:
        """The samples of a block; columns in which unseen categories are met are added to ``unseen``."""
        if table.sparse is not None:
            cells, _, new_in = table.cells(part, [self.categories[i] for i in part.tolist()])
            unseen += map(table.name, new_in)
            return cells
        most = max(self.categories[i].size for i in part.tolist())
        codes = np.empty((part.size, table.shape[0]), np.min_scalar_type(most))
        for at, i in enumerate(part.tolist()):
            codes[at], new = table.codes(i, self.categories[i])
            if new:
                unseen.append(table.name(i))
        return categorical.Samples(codes)


def resolve_kinds(table: Reader, marginals: Any) -> list[str]:
    """The kind of each column, from "auto", one kind for all, a list or a mapping by name or index."""
    n_columns = table.shape[1]
    if isinstance(marginals, str):
        given: dict[int, str] = {} if marginals == "auto" else dict.fromkeys(range(n_columns), marginals)
    elif isinstance(marginals, Mapping):
        given = {_column_index(table, key): kind for key, kind in marginals.items()}
    elif isinstance(marginals, Sequence | np.ndarray):
        if np.ndim(marginals) != 1 or len(marginals) != n_columns:
            raise HicorexError(f"marginals lists {len(marginals)} kinds for {n_columns} columns; give one a column.")
        given = dict(enumerate(marginals))
    else:
        raise ColumnTypeError(f"marginals is {marginals!r}; give 'auto', a kind, a list of kinds or a mapping.")
    for i, kind in given.items():
        if kind not in (*KINDS, "auto"):
            raise HicorexError(
                f"marginals gives column {table.name(i)} the kind {kind!r}; use one of {', '.join(KINDS)}."
            )
    given = {i: kind for i, kind in given.items() if kind != "auto"}
    if len(given) == n_columns:
        return [str(given[i]) for i in range(n_columns)]
    return [str(given.get(i, kind)) for i, kind in enumerate(table.kinds())]


def _column_index(table: Reader, key: Any) -> int:
    if table.names and key in table.names:
        return table.names.index(key)
    if isinstance(key, int | np.integer) and 0 <= key < table.shape[1]:
        return int(key)
    raise HicorexError(f"marginals names column {key!r}, which the table does not have; use a name or an index of it.")


def _chunks(columns: np.ndarray) -> list[np.ndarray]:
    """Columns in parts of equal size: few, since each costs time of its own, but more than one for two threads."""
    n_parts = max(-(-columns.size // BLOCK_COLUMNS), 2 if columns.size >= 1000 else 1)
    return np.array_split(columns, n_parts) if columns.size else []


def _normal_scores(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, rising, and the normal quantile of each one's middle rank."""
    observed = ~np.isnan(values)
    if not observed.any():
        return np.zeros(1), np.zeros(1)
    distinct, where = np.unique(values[observed], return_inverse=True)
    share = np.bincount(where, weight[observed])
    middle = (np.cumsum(share) - share / 2) / share.sum()
    # Weights may be so uneven that a rank rounds to the very end, whose score is infinite.
    return distinct, ndtri(np.clip(middle, np.finfo(float).tiny, np.nextafter(1, 0)))
