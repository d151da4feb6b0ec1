"""Learning of residual pairs from samples in memory and their labels: candidates, a forest of them, their tables."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hicorex import kernels
from hicorex.bounds.evaluation import LayerEvaluator
from hicorex.bounds.pairs.candidates import candidate_pairs
from hicorex.bounds.pairs.counting import Counts, Layout, count, gains, log_ratios
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
# Held-out log-likelihood, in nats over all samples, that a pair must gain.
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
) -> PairDecoder:
    """The pairs that tell most beyond the factors, or without any factor where that explains more.

    Parameters
    ----------
    data : samples in memory
    layer : evaluates the labels that count of the first layer
    links : by block, the factors of each column, (1, D, n)
    explained : what the layers that count explain of these samples
    place : (n_samples,), the samples of one place are copies of one, and stay in one half
    """
    tables = _Tables(data, place)
    labels = labels_of_samples(layer.state, data, engine)
    if layer.relabel is not None:
        labels = layer.relabel(labels, 0)
    with_factors = tables.learn(labels, links_of_columns(links, data.columns, True))
    alone = tables.learn(np.ones((1, 1, data.n_samples), np.float32), links_of_columns(links, data.columns, False))
    factors = explained + with_factors.gain.sum() >= alone.gain.sum()
    return (with_factors if factors else alone)._replace(factors=bool(factors))


class _Tables:
    """Makes tables of pairs of columns of samples in memory, in two halves."""

    def __init__(self, data: Data, place: np.ndarray):
        self._reader = CellReader.of(data.blocks, data.columns, rare_levels(data))
        self._varying = np.flatnonzero(self._reader.n_levels > 1)
        tiles = [block.tile(samples, slice(None)) for block, samples in zip(data.blocks, data.samples, strict=True)]
        self._cells = self._reader.read(data.blocks, tiles, self._varying)
        self._sample_weight, self._total = data.sample_weight.astype(float), data.total
        rng = np.random.default_rng(SEED)
        most = max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // max(self._varying.size, 1)))
        self._rows = np.sort(rng.permutation(data.n_samples)[:most])
        self._half = rng.permutation(int(place.max()) + 1)[place] % 2

    def learn(self, labels: np.ndarray, links: np.ndarray) -> PairDecoder:
        """The best forest of pairs, given labels (k, m, N) and the factors of columns (D, n)."""
        pairs = self._candidates(labels, links)
        in_sample, held_out = self._scores(pairs, labels, links)
        worth = np.tile(held_out.reshape(2, -1).max(axis=0, initial=0) > LEAST_GAIN, 2)
        kept = np.flatnonzero(worth)
        chosen = kept[best_forest(pairs[:, kept], held_out[kept], links.shape[1])]
        chosen = chosen[held_out[chosen] > LEAST_GAIN]
        layout = Layout.of(self._reader, pairs[:, chosen], links, len(labels))
        counts, layout = self._counted(layout, labels)
        return PairDecoder(
            pairs=pairs[:, chosen],
            factors=True,
            centre=layout.centre,
            scale=layout.scale,
            log_ratio=log_ratios(layout, self._reader.is_number, counts.total(), PRIOR_SAMPLES),
            rare=self._reader.rare,
            information=(2 * in_sample[chosen] + held_out[chosen]) / (3 * self._total),
            gain=held_out[chosen] / self._total,
            repeats=self._repeats(pairs[:, chosen]),
        )

    def _candidates(self, labels: np.ndarray, links: np.ndarray) -> np.ndarray:
        """Pairs (2, 2 C) of child and parent, each in both directions, those turned round after the others."""
        found = candidate_pairs(
            self._cells[:, self._rows],
            self._reader.is_number[self._varying],
            most_likely(labels[:, :, self._rows]),
            links[:, self._varying],
        )
        return self._varying[np.concatenate([found, found[::-1]], axis=1)]

    def _scores(self, pairs: np.ndarray, labels: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What pairs gain, in sum over the samples: of those that tables are from, and of the other half, (P,)."""
        in_sample, held_out = np.zeros((2, pairs.shape[1]))
        is_number = self._reader.is_number
        sizes = np.diff(Layout.of(self._reader, pairs, links, len(labels)).joint)
        group = np.cumsum(sizes) // AT_A_TIME
        for some in np.split(np.arange(sizes.size), np.flatnonzero(np.diff(group)) + 1):
            counts, layout = self._counted(Layout.of(self._reader, pairs[:, some], links, len(labels)), labels)
            both = counts.total()
            in_sample[some] = gains(layout, log_ratios(layout, is_number, both, PRIOR_SAMPLES), both, new=False)
            for at in range(2):
                tables = log_ratios(layout, is_number, counts.part(at), PRIOR_SAMPLES)
                held_out[some] += gains(layout, tables, counts.part(1 - at), new=True)
        return in_sample, held_out

    def _counted(self, layout: Layout, labels: np.ndarray) -> tuple[Counts, Layout]:
        """The counts of each half of the samples, and the layout with the levels of numbers."""
        here = layout.among(self._varying)
        if self._reader.is_number[layout.columns].any():
            moments = np.zeros((2, layout.states[-1], 3))
            arrays = here.columns, here.factors, here.states
            kernels.pairs.moments(self._cells, *arrays, labels, self._sample_weight, moments)
            layout = layout.scaled(moments, self._reader.is_number)
            here = layout.among(self._varying)
        return count(self._cells, here, labels, self._sample_weight, self._half, 2), layout

    def _repeats(self, pairs: np.ndarray) -> np.ndarray:
        """Whether the columns of pairs tell nearly the same, (P,), whatever the factors."""
        nowhere = np.full((1, self._reader.n_levels.size), -1)
        layout = Layout.of(self._reader, pairs, nowhere, 1)
        counts, layout = self._counted(layout, np.ones((1, 1, self._half.size), np.float32))
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
