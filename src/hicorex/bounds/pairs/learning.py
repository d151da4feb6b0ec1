"""Learning of residual pairs from samples in memory and their labels: candidates, a forest of them, their tables."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hicorex import kernels
from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.pairs.candidates import candidate_pairs
from hicorex.bounds.pairs.children import ChildTables, child_levels, child_tables, marginals_of
from hicorex.bounds.pairs.counting import Counts, Layout, count, gains, log_ratios, spread_of
from hicorex.bounds.pairs.decoder import PairDecoder, links_of_columns
from hicorex.bounds.pairs.forest import best_forest
from hicorex.bounds.pairs.levels import CellReader, rare_levels
from hicorex.engine import Engine
from hicorex.information import entropy, mutual_information
from hicorex.layer.data import Data
from hicorex.layer.labels import labels_of_samples
from hicorex.marginals.base import most_likely

# Samples by which candidates are found, and cells of them.
MOST_ROWS, MOST_CELLS, FEWEST_ROWS = 5000, 2**23, 500
# Numbers that tables of pairs take at a time.
AT_A_TIME = 2**22
# Tables of a state are drawn towards the same odds ratios in all states as if by so many samples.
PRIOR_SAMPLES = 10.0
# Held-out log-likelihood, in nats over all samples, that a pair must gain: this, or the log of the number of columns,
# since the best of so many is chosen.
LEAST_GAIN = 3.0
# Columns repeat each other that share this part of the entropy of either, or of the variance.
NEARLY_ALL, NEARLY_ALL_VARIANCE = 0.9, 0.98
SEED = 0


def learn_pairs(
    data: Data,
    layer: LayerEvaluator,
    links: Sequence[np.ndarray],
    explained: float,
    place: np.ndarray,
    engine: Engine,
    factors: bool | None = None,
) -> PairDecoder:
    """The pairs that tell most beyond the factors, or without any factor where that explains more.

    Parameters
    ----------
    data : samples in memory
    layer : evaluates the labels that count of the first layer
    links : by block, the factors of each column, (1, D, n)
    explained : what the layers that count explain of these samples
    place : (n_samples,), the samples of one place are copies of one, and stay in one half
    factors : whether factors decode, where that is known
    """
    tables = _Tables(data, place, engine)
    if factors is False:
        return tables.learn_alone(links)
    labels = labels_of_samples(layer.state, data, engine).astype(float)
    if layer.relabel is not None:
        labels = layer.relabel(labels, 0)
    with_factors = tables.learn(layer, labels, links_of_columns(links, data.columns, True))
    if factors:
        return with_factors
    alone = tables.learn_alone(links)
    return with_factors if explained + with_factors.gain.sum() >= alone.gain.sum() else alone


class Children(NamedTuple):
    """The levels of columns as children: centre and scale by column, and the tables of some columns, of these sizes."""

    levels: list[tuple[np.ndarray, np.ndarray]]
    tables: ChildTables
    columns: np.ndarray
    sizes: np.ndarray


class _Tables:
    """Makes tables of pairs of columns of samples in memory, in two halves."""

    def __init__(self, data: Data, place: np.ndarray, engine: Engine):
        self._data, self._engine = data, engine
        self._reader = CellReader.of(data.blocks, data.columns, rare_levels(data))
        self._varying = np.flatnonzero(self._reader.n_levels > 1)
        tiles = [block.tile(samples, slice(None)) for block, samples in zip(data.blocks, data.samples, strict=True)]
        self._cells = self._reader.read(data.blocks, tiles, self._varying).reshape(self._varying.size, data.n_samples)
        self._sample_weight = data.sample_weight.astype(float)
        rng = np.random.default_rng(SEED)
        most = max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // max(self._varying.size, 1)))
        self._rows = np.sort(rng.permutation(data.n_samples)[:most])
        self._half = rng.permutation(int(place.max()) + 1)[place] % 2

    def learn(self, layer: LayerEvaluator | None, labels: np.ndarray, links: np.ndarray) -> PairDecoder:
        """The best forest of pairs, given labels (k, m, N) of a layer and the factors of columns (D, n)."""
        pairs = self._candidates(labels, links)
        children = self._children(layer)
        in_sample, held_out = self._scores(pairs, children, labels, links)
        least = max(LEAST_GAIN, np.log(max(self._varying.size, 1)))
        worth = np.tile(held_out.reshape(2, -1).max(axis=0, initial=0) > least, 2)
        kept = np.flatnonzero(worth)
        chosen = kept[best_forest(pairs[:, kept], held_out[kept], links.shape[1])]
        chosen = chosen[held_out[chosen] > least]
        layout, _, counts = self._counted(pairs[:, chosen], children, labels, links)
        return PairDecoder(
            pairs=pairs[:, chosen],
            factors=True,
            centre=layout.centre,
            scale=layout.scale,
            log_ratio=log_ratios(layout, self._reader.is_number, counts.total(), PRIOR_SAMPLES),
            rare=self._reader.rare,
            information=(2 * in_sample[chosen] + held_out[chosen]) / (3 * self._data.total),
            gain=held_out[chosen] / self._data.total,
            repeats=self._repeats(pairs[:, chosen]),
        )

    def learn_alone(self, links: Sequence[np.ndarray]) -> PairDecoder:
        """The best forest of pairs without any factor."""
        one_state = np.ones((1, 1, self._data.n_samples))
        found = self.learn(None, one_state, links_of_columns(links, self._data.columns, False))
        return found._replace(factors=False)

    def _children(self, layer: LayerEvaluator | None) -> Children:
        """How the levels of every column that varies lie in the joint states of its factors."""
        marginals = marginals_of(layer, self._data)
        levels = child_levels(marginals, self._reader.is_number)
        columns = self._varying
        tables = child_tables(columns, [levels[i] for i in columns], marginals, self._reader, self._data, self._engine)
        sizes = np.array([levels[i][0].size for i in columns.tolist()], int) * self._reader.n_levels[columns]
        return Children(levels, tables, columns, sizes)

    def _candidates(self, labels: np.ndarray, links: np.ndarray) -> np.ndarray:
        """Pairs (2, 2 C) of child and parent, each in both directions, those turned round after the others."""
        found = candidate_pairs(
            self._cells[:, self._rows],
            self._reader.is_number[self._varying],
            most_likely(labels.take(self._rows, axis=2)),
            links[:, self._varying],
        )
        return self._varying[np.concatenate([found, found[::-1]], axis=1)]

    def _scores(
        self, pairs: np.ndarray, children: Children, labels: np.ndarray, links: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What pairs gain, in sum over the samples: of those that tables are from, and of the other half, (P,)."""
        in_sample, held_out = np.zeros((2, pairs.shape[1]))
        is_number = self._reader.is_number
        sizes = np.diff(Layout.of(self._reader, pairs, links, len(labels)).joint)
        group = np.cumsum(sizes) // AT_A_TIME
        own = [self._own(self._half == at) for at in range(2)]
        for some in np.split(np.arange(sizes.size), np.flatnonzero(np.diff(group)) + 1):
            layout, spread, counts = self._counted(pairs[:, some], children, labels, links)
            both = counts.total()
            tables = log_ratios(layout, is_number, both, PRIOR_SAMPLES)
            in_sample[some] = gains(layout, tables, both, spread, 0).total
            for at in range(2):
                tables = log_ratios(layout, is_number, counts.part(at), PRIOR_SAMPLES)
                held_out[some] += gains(layout, tables, counts.part(1 - at), spread, own[1 - at]).total
        return in_sample, held_out

    def _own(self, rows: np.ndarray) -> float:
        """The share of a sample in the weight of all in the one half, of which the levels of all are an estimate."""
        weight = self._sample_weight[rows]
        return float(weight @ weight / max(weight.sum() * self._sample_weight.sum(), 1e-300))

    def _counted(
        self, pairs: np.ndarray, children: Children, labels: np.ndarray, links: np.ndarray
    ) -> tuple[Layout, np.ndarray, Counts]:
        """The layout of pairs, the levels of their children in the states, and the counts of each half."""
        layout = Layout.of(self._reader, pairs, links, len(labels)).with_children(children.levels)
        here = layout.among(self._varying)
        if self._reader.is_number[pairs[1]].any():
            moments = np.zeros((layout.states[-1], 3))
            arrays = here.columns, here.factors, here.states
            kernels.pairs.moments(self._cells, *arrays, labels, self._sample_weight, moments)
            layout = layout.with_parents(moments, self._reader.is_number)
            here = layout.among(self._varying)
        spread, ratio = spread_of(layout, children.tables, children.columns, children.sizes)
        counts = count(self._cells, here, ratio, labels, self._sample_weight, self._half, 2)
        return layout, spread, counts

    def _repeats(self, pairs: np.ndarray) -> np.ndarray:
        """Whether the columns of pairs tell nearly the same, (P,), whatever the factors."""
        nowhere = np.full((1, self._reader.n_levels.size), -1)
        one_state = np.ones((1, 1, self._half.size))
        layout, _, counts = self._counted(pairs, self._children(None), one_state, nowhere)
        joint = counts.total().joint
        repeats = np.zeros(pairs.shape[1], bool)
        for p, (first, stop) in enumerate(pairwise(layout.joint.tolist())):
            table = joint[first:stop].reshape(layout.n_levels[1, p], layout.n_levels[0, p])
            repeats[p] = alike(table, self._reader.is_number[pairs[:, p]])
        return repeats


def alike(table: np.ndarray, is_number: np.ndarray) -> bool:
    """Whether child and parent tell nearly the same, by counts (A, V) of their levels and which of them are numbers."""
    table = table / max(table.sum(), 1e-300)
    if not is_number.any():
        largest = max(entropy(table.sum(axis=0)), entropy(table.sum(axis=1)))
        return bool(largest > 0 and mutual_information(table) >= NEARLY_ALL * largest)
    if not is_number[0]:
        table = table.T
    # The variance of the child, a number, that is left when the parent is known.
    level = np.arange(table.shape[1])
    mean = table @ level / np.maximum(table.sum(axis=1), 1e-300)
    overall = table.sum(axis=0) @ level
    spread = table.sum(axis=0) @ level**2 - overall**2
    return bool(spread > 0 and table.sum(axis=1) @ (mean - overall) ** 2 >= NEARLY_ALL_VARIANCE * spread)
