"""What pairs add to a layer: a decoder of each variable by its factors and its parent, learned and evaluated."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from hicorex import kernels
from hicorex.bounds.evaluation import Evaluation, LayerEvaluator
from hicorex.bounds.pairs.children import child_tables, marginals_of
from hicorex.bounds.pairs.counting import Counts, Layout, count, gains
from hicorex.bounds.pairs.levels import CellReader
from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.layer.labels import label_tile
from hicorex.marginals.base import Block, Tile


class PairDecoder(NamedTuple):
    """What decodes variables by their factors and by one other variable each.

    pairs : (2, P), the child and the parent of each pair: a forest over the columns of the table
    factors : whether labels decode, or pairs alone
    centre, scale : (2, states), where the levels of child and parent lie, by joint state of the child's factors
    log_ratio : log q(v | y, a) / q(v | y) for the levels of all pairs, one table after the other
    rare : by column of many categories, the level of each
    information : (P,), I(X_i:X_parent | Y_S), corrected for its bias
    gain : (P,), what the bound gains of samples that the tables were not made from
    repeats : (P,), whether the two tell nearly the same
    """

    pairs: np.ndarray
    factors: bool
    centre: np.ndarray
    scale: np.ndarray
    log_ratio: np.ndarray
    rare: dict[int, np.ndarray]
    information: np.ndarray
    gain: np.ndarray
    repeats: np.ndarray

    def layout(self, reader: CellReader, links: np.ndarray, n_states: int) -> Layout:
        """The layout of the pairs, by the factors of each column (D, n)."""
        layout = Layout.of(reader, self.pairs, links, n_states)
        return layout._replace(centre=self.centre, scale=self.scale)


def links_of_columns(links: Sequence[np.ndarray], columns: Sequence[np.ndarray], factors: bool) -> np.ndarray:
    """The factors of each column of the table, best first, (D, n), from links (1, D, n) by block; none without any."""
    of_table = np.full((links[0].shape[1] if factors else 1, sum(part.size for part in columns)), -1)
    for of_block, part in zip(links, columns, strict=True):
        if factors:
            of_table[:, part] = of_block[0]
    return of_table


@dataclass(frozen=True)
class PairEvaluator:
    """Evaluates what layers and pairs together explain of samples.

    layer : whose labels decode; None if pairs do alone
    depth : the number of layers that count, 0 if none does
    reader, columns : what cells are read, and of which columns (c,)
    layout : of the pairs, among these columns
    log_ratio, excess, constant : as ``kernels.pairs.add_gains`` takes them
    """

    layer: LayerEvaluator | None
    depth: int
    reader: CellReader
    columns: np.ndarray
    layout: Layout
    log_ratio: np.ndarray
    excess: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(
        cls,
        decoder: PairDecoder,
        layer: LayerEvaluator,
        links: Sequence[np.ndarray],
        depth: int,
        data: Data,
        engine: Engine,
        new: bool,
    ) -> Self:
        """The evaluator of samples; ``new`` says that they are not those of the fit.

        ``layer`` has the labels that count of the first layer, ``links`` (1, D, n) by block the factors of columns.
        """
        reader = CellReader.of(data.blocks, data.columns, decoder.rare)
        of_table = links_of_columns(links, data.columns, decoder.factors)
        layout = decoder.layout(reader, of_table, len(layer.state.prior))
        columns = np.unique(decoder.pairs)
        here = layout.among(columns)
        labelling = layer if decoder.factors else None
        tables = child_tables(
            decoder.pairs[0], layout.child_levels(), marginals_of(labelling, data), reader, data, engine
        )
        counts, own = Counts.none(here, 1).total(), 0.0
        if columns.size:
            of_tile = partial(_count_tile, data.blocks, labelling, reader, columns, here, tables.ratio)
            counts, square = engine.sum(of_tile, data.parts)
            own = float(square[0]) / data.total**2
        gained = gains(here, decoder.log_ratio, counts, tables.spread, own if new else 0.0)
        return cls(
            labelling,
            depth if decoder.factors else 0,
            reader,
            columns,
            here,
            decoder.log_ratio,
            gained.excess,
            gained.constant,
        )

    def explained(
        self,
        blocks: Sequence[Block],
        tiles: list[Tile],
        first: int,
        feeding: Sequence[Evaluation],
        soft: Sequence[Evaluation],
        n_samples: int,
    ) -> np.ndarray:
        """What layers and pairs explain of the samples of a tile, (T,), with what layers do."""
        total = np.zeros(n_samples)
        for of_layer in (*feeding[: self.depth - 1], soft[self.depth - 1]) if self.depth else ():
            total += of_layer.explained
        if self.columns.size:
            labels = _labels(blocks, self.layer, tiles, first, n_samples)
            cells = self.reader.read(blocks, tiles, self.columns)
            kernels.pairs.add_gains(
                cells,
                tuple(self.layout),
                labels,
                self.log_ratio,
                self.excess,
                self.constant,
                total,
            )
        return total


def _labels(
    blocks: Sequence[Block], layer: LayerEvaluator | None, tiles: list[Tile], first: int, n_samples: int
) -> np.ndarray:
    """The labels (k, m, T) of a tile; without a layer those of one factor of one state."""
    if layer is None:
        return np.ones((1, 1, n_samples))
    labels, _ = label_tile(layer.state, blocks, layer.coefficients, tiles)
    return labels if layer.relabel is None else layer.relabel(labels, first)


def _count_tile(
    blocks: Sequence[Block],
    layer: LayerEvaluator | None,
    reader: CellReader,
    columns: np.ndarray,
    layout: Layout,
    ratio: np.ndarray,
    part: Part,
    rows: slice,
) -> tuple[Counts, np.ndarray]:
    """The counts of a tile, and the sum of its squared weights."""
    sample_weight = part.sample_weight[rows].astype(float)
    tiles = part.tile(blocks, rows)
    labels = _labels(blocks, layer, tiles, part.first + rows.start, sample_weight.size)
    cells = reader.read(blocks, tiles, columns)
    at_once = np.zeros(sample_weight.size, np.int64)
    counts = count(cells, layout, ratio, labels, sample_weight, at_once, 1).total()
    return counts, np.array([sample_weight @ sample_weight])
