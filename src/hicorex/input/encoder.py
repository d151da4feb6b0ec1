"""From typed columns to blocks of marginals: the same way for every table, of a fit and of new samples."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.special import ndtr

from hicorex import kernels
from hicorex.engine import Engine
from hicorex.engine.reduction import ARITY, add_up
from hicorex.exceptions import HicorexError
from hicorex.input.column_kinds import CODED
from hicorex.input.encoder_learning import (
    Scales,
    blocks_of_columns,
    chunks,
    normal_scores,
    scales_of,
    to_scores,
    warn_of_many_categories,
)
from hicorex.input.marginal_kinds import wishes_of
from hicorex.input.readers import Reader, SparseReader, reader_of, slices
from hicorex.input.readers.codes import find_codes
from hicorex.input.sources import MemorySource, Source
from hicorex.input.survey import survey_of
from hicorex.layer.data import Data, Part, digest_of, row_slices, tile_height, totals_of
from hicorex.marginals import Categorical, Gaussian, Ordered, SparseCategorical, categorical, gaussian
from hicorex.marginals.base import Block

# The family of marginals of each kind of column.
FAMILIES: dict[str, type[Block]] = {
    "gaussian": Gaussian,
    "rank": Gaussian,
    "categorical": Categorical,
    "ordered": Ordered,
}
# Small tables are computed in double precision, where speed does not matter.
SMALL_TABLE_CELLS = 100_000
# Standard deviations beyond which new values count as this far: their squares must stay finite, by any weight.
FARTHEST = {np.dtype(np.float64): 1e15, np.dtype(np.float32): 1e9}


def precision(shape: tuple[int, int]) -> type:
    """The type in which a fit to a table of this shape is computed."""
    return np.float64 if shape[0] * shape[1] <= SMALL_TABLE_CELLS else np.float32


class PartSums(NamedTuple):
    """What adds up over the parts of a table.

    totals : the weight of the samples, and the totals of the columns by block
    lacking : (n_columns,), positive for columns that lack values
    unseen : (n_columns,), positive for columns with categories that the fit has not seen
    """

    totals: tuple[np.ndarray, list[Any]]
    lacking: np.ndarray
    unseen: np.ndarray


@dataclass(frozen=True)
class Encoder:
    """How each column of a table is encoded: its kind, its scale or its categories.

    size, centre, spread : (n_columns,), by which columns of numbers are standardised
    informative : (n_columns,), False for columns that are constant or wholly missing
    ranks : by column of rank marginals, the values of the fit, rising, and their normal scores
    categories : by column of categorical or ordered marginals, its categories, rising
    parts : the columns of each block; columns of two categories without gaps have separate blocks, since a
        matrix product serves them
    gaps : (n_columns,), whether a column of the fit lacks values; None if that is no longer known
    """

    n_columns: int
    kinds: list[str]
    size: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    informative: np.ndarray
    ranks: dict[int, tuple[np.ndarray, np.ndarray]]
    categories: dict[int, np.ndarray]
    parts: list[np.ndarray]
    gaps: np.ndarray | None = None

    @classmethod
    def learn(cls, source: Source, marginals: Any, sample_weight: np.ndarray | None, engine: Engine) -> "Encoder":
        """How the columns of a table are encoded, from samples with these weights (n_samples,)."""
        kinds, survey = survey_of(source, wishes_of(source, marginals), sample_weight, engine)
        if marginals == "auto":
            warn_of_many_categories(survey, source.names)
        ranks = normal_scores(survey)
        scales = scales_of(survey, ranks, len(kinds))
        parts = blocks_of_columns(kinds, survey, source.sparse)
        return cls(len(kinds), kinds, *scales, ranks, survey.categories, parts, survey.gaps)

    @classmethod
    def of_labels(cls, n_factors: int, n_states: int) -> "Encoder":
        """How the labels of a layer are encoded, where every factor may have every state."""
        columns, states = np.arange(n_factors), np.arange(n_states, dtype=np.int8)
        categories = dict.fromkeys(columns.tolist(), states)
        scales = Scales.neutral(n_factors)
        return cls(n_factors, ["categorical"] * n_factors, *scales, {}, categories, chunks(columns))

    def encode(
        self,
        source: Source,
        sample_weight: np.ndarray | None,
        engine: Engine,
        *,
        dtype: DTypeLike | None = None,
        gaps: np.ndarray | None = None,
    ) -> tuple[Data, list[str]]:
        """The samples of a table, and the names of columns with categories that the fit has not seen.

        Parameters
        ----------
        sample_weight : (n_samples,), None for 1 each
        dtype : in which the samples are computed; None for what the table's shape asks for
        gaps : (n_columns,), which columns may lack values; None for those that do
        """
        if source.sparse and "ordered" in self.kinds:
            raise HicorexError(
                f'Column {source.column_name(self.kinds.index("ordered"))} is "ordered", which needs a dense table: '
                'give X.toarray(), or marginals "categorical".'
            )
        chosen = np.dtype(dtype or precision(source.shape))
        height = tile_height(self.row_cells(source.row_cells))
        coder = _PartEncoder(self, gaps, chosen, source.sparse, height)
        may_lack = np.ones(self.n_columns, bool) if gaps is None else gaps
        parts, sums = source.keep(
            coder.encode,
            coder.finish,
            sample_weight,
            row_slices(source.shape[0], ARITY * height),
            engine,
            source.shape[0] * self.row_bytes(may_lack, chosen),
        )
        blocks = self.blocks(sums.lacking > 0 if gaps is None else gaps, chosen, source.sparse)
        data = Data.with_totals(blocks, self.parts, parts, source.shape[0], height, sums.totals)
        return data, [source.column_name(i) for i in np.flatnonzero(sums.unseen).tolist()]

    def blocks(self, gaps: np.ndarray, dtype: DTypeLike, sparse: bool) -> list[Block]:
        """The blocks of a table, sparse or not, where the columns ``gaps`` may lack values."""
        blocks: list[Block] = []
        for part in self.parts:
            if self.is_coded(part):
                blocks.append(self._categorical(part, not gaps[part].any(), dtype, sparse))
            else:
                blocks.append(Gaussian(np.flatnonzero(gaps[part]), self.informative[part], dtype))
        return blocks

    def is_coded(self, part: np.ndarray) -> bool:
        """Whether the columns of a block are categorical, in order or not."""
        return self.kinds[part[0]] in CODED

    def row_cells(self, stored: int) -> int:
        """The number of cells of a sample in blocks, if a table stores ``stored`` of them; numbers are never sparse."""
        numeric = sum(kind not in CODED for kind in self.kinds)
        return min(self.n_columns, numeric + stored)

    def row_bytes(self, gaps: np.ndarray, dtype: DTypeLike) -> int:
        """The number of bytes of an encoded row, where the columns ``gaps`` may lack values."""
        width = np.dtype(dtype).itemsize
        size = width
        for part in self.parts:
            if self.is_coded(part):
                size += part.size * self.code_type(part).itemsize
            else:
                size += part.size * width + int(np.count_nonzero(gaps[part]))
        return size

    def code_type(self, part: np.ndarray) -> np.dtype:
        """The type of the codes of a block."""
        return np.min_scalar_type(max(self.categories[i].size for i in part.tolist()))

    def encode_labels(self, labels: np.ndarray) -> list[categorical.Samples]:
        """Labels (m, T) of a layer below, whose table this is, by block."""
        nowhere = np.zeros(self.n_columns, bool)
        coder = _PartEncoder(self, nowhere, np.dtype(float), False, labels.shape[1])
        return coder.samples(reader_of(labels.T), nowhere.copy(), nowhere.copy())

    def standardised(self, reader: Reader, columns: np.ndarray, values: np.ndarray, present: np.ndarray) -> None:
        """Fill in standardised numbers, (c, T), 0 where missing, and which of them are observed, (c, T)."""
        numbers = reader.numbers(columns)
        to_scores(self.ranks, numbers, columns)
        scale = self.size[columns], self.centre[columns], self.spread[columns], self.informative[columns]
        kernels.gaussian.standardise(numbers, *scale, FARTHEST[values.dtype], values, present)

    def shades(self, reader: Reader, columns: np.ndarray) -> np.ndarray:
        """The values of columns as numbers from 0, low, to 1, high: (n_samples, len(columns)), NaN where missing.

        Numbers go by their normal distribution or their rank in the fit, categories by their order.
        """
        shades = np.full((reader.shape[0], len(columns)), 0.5)
        # Frames are read in windows of neighbours, which rising columns leave once.
        rising = np.argsort(columns)
        coded = np.array([i in self.categories for i in columns[rising].tolist()], bool)
        for at in slices(rising[~coded]):
            chosen = columns[at]
            numbers = reader.numbers(chosen)
            to_scores(self.ranks, numbers, chosen)
            with np.errstate(over="ignore"):
                shades[:, at] = ndtr((numbers / self.size[chosen] - self.centre[chosen]) / self.spread[chosen])
        for place in rising[coded].tolist():
            categories = self.categories[int(columns[place])]
            codes, _ = reader.codes(int(columns[place]), categories)
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
        parts, categories = ([array.tolist() for array in arrays] for arrays in (self.parts, self.categories.values()))
        digest = hashlib.sha256(repr((names, self.kinds, parts, categories)).encode("utf-8", "surrogatepass"))
        for array in (self.size, self.centre, self.spread):
            digest.update(array.data)
        for part_digest in engine.each(digest_of, data.parts):
            digest.update(part_digest)
        return digest.hexdigest()

    def _categorical(self, part: np.ndarray, whole: bool, dtype: DTypeLike, sparse: bool) -> Categorical:
        """A block of coded columns; ``whole`` says that none lacks values."""
        known = [self.categories[i] for i in part.tolist()]
        sizes = np.array([categories.size for categories in known])
        if self.kinds[part[0]] == "ordered":
            return Ordered(sizes, dtype)
        if not sparse:
            return Categorical(sizes, bool(whole and np.all(sizes == 2)), dtype)
        none_missing = np.zeros(1, bool)
        zero = np.array([find_codes(values.dtype.type([0]), values, none_missing)[0][0] for values in known], np.int64)
        return SparseCategorical(sizes, zero, bool(whole and np.all((sizes == 2) & (zero == 0))), dtype)


def label_data(labels: np.ndarray, n_states: int, sample_weight: np.ndarray, engine: Engine) -> Data:
    """Labels (m, N) of a layer, in memory, as the table of the next one."""
    encoder = Encoder.of_labels(len(labels), n_states)
    return encoder.encode(MemorySource(labels.T), sample_weight, engine, dtype=sample_weight.dtype)[0]


class _PartEncoder:
    """Encodes the parts of one table.

    gaps : (n_columns,), which columns may lack values; None where this is seen once all parts are read
    """

    def __init__(self, encoder: Encoder, gaps: np.ndarray | None, dtype: np.dtype, sparse: bool, height: int):
        self._encoder, self._gaps, self._dtype, self._sparse, self._height = encoder, gaps, dtype, sparse, height

    @cached_property
    def _blocks(self) -> list[Block] | None:
        """The blocks of the table, as far as they are known."""
        return None if self._gaps is None else self._encoder.blocks(self._gaps, self._dtype, self._sparse)

    def encode(self, reader: Reader, sample_weight: np.ndarray, rows: slice) -> tuple[Part, PartSums]:
        """The part that some rows become, and its sums."""
        encoder = self._encoder
        lacking, unseen = np.zeros((2, encoder.n_columns), bool)
        samples = self.samples(reader, lacking, unseen)
        part = Part(samples, sample_weight.astype(self._dtype), rows.start, self._height)
        if self._blocks is None:
            blocks, counted = encoder.blocks(lacking, self._dtype, self._sparse), self._narrowed(part, lacking)
        else:
            blocks, counted = self._blocks, part
        totals = add_up(totals_of(blocks, counted, tile) for tile in part.tiles())
        return part, PartSums(totals, lacking, unseen)

    def samples(self, reader: Reader, lacking: np.ndarray, unseen: np.ndarray) -> list[Any]:
        """Some rows by block; ``lacking`` and ``unseen``, (n_columns,), are set for the columns that show either."""
        return [
            self._codes(reader, part, lacking, unseen)
            if self._encoder.is_coded(part)
            else self._values(reader, part, lacking)
            for part in self._encoder.parts
        ]

    def finish(self, sums: PartSums) -> Callable[[Part], Part] | None:
        """What every part goes through once it is known which columns lack values; None if nothing."""
        if self._gaps is not None or all(self._encoder.is_coded(part) for part in self._encoder.parts):
            return None
        gaps = sums.lacking > 0
        return lambda part: self._narrowed(part, gaps)

    def _narrowed(self, part: Part, gaps: np.ndarray) -> Part:
        """A part that says which values are present for the columns ``gaps`` alone, from one that says it for all."""
        samples = [
            block._replace(present=block.present[gaps[columns]]) if isinstance(block, gaussian.Samples) else block
            for block, columns in zip(part.samples, self._encoder.parts, strict=True)
        ]
        return part._replace(samples=samples)

    def _values(self, reader: Reader, part: np.ndarray, lacking: np.ndarray) -> gaussian.Samples:
        """The samples of a block of numbers."""
        n_rows = reader.shape[0]
        values = np.empty((part.size, n_rows), self._dtype)
        present = [np.empty((0, n_rows), bool)]
        for places in slices(np.arange(part.size)):
            columns = part[places]
            there = np.empty((places.size, n_rows), bool)
            self._encoder.standardised(reader, columns, values[places[0] : places[-1] + 1], there)
            if self._gaps is None:
                lacking[columns] = ~there.all(axis=1)
            present.append(there if self._gaps is None else there[self._gaps[columns]])
        return gaussian.Samples(values, np.concatenate(present))

    def _codes(self, reader: Reader, part: np.ndarray, lacking: np.ndarray, unseen: np.ndarray) -> Any:
        """The samples of a block of categories."""
        categories = [self._encoder.categories[i] for i in part.tolist()]
        if isinstance(reader, SparseReader):
            cells, lacks, strange = reader.cells(part, categories)
            lacking[part], unseen[part] = lacks, strange
            return cells
        codes = np.empty((part.size, reader.shape[0]), self._encoder.code_type(part))
        for at, (i, known) in enumerate(zip(part.tolist(), categories, strict=True)):
            codes[at], unseen[i] = reader.codes(i, known)
            if self._gaps is None:
                lacking[i] = codes[at].max(initial=0) == known.size
        return categorical.Samples(codes)
