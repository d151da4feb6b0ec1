"""Where a fit starts: each factor is primed by one variable, the variables chosen to cover the table.

Among some candidate columns, m are chosen so that the dependence of every candidate on its nearest
chosen one is large in sum. That sum stands for the objective that the fit is about to raise.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.marginals import SparseCategorical

# Rows beyond this many add nothing to the choice.
MOST_ROWS = 20_000


class PrimingVariable(NamedTuple):
    """The variable that primes a factor: its block, its column there, and scores that set its categories apart."""

    block: int
    column: int
    scores: np.ndarray


def choose_variables(
    data: Data, n_factors: int, engine: Engine, shared: np.random.Generator, rngs: list
) -> list[list[PrimingVariable]]:
    """The variables that prime the factors of each start.

    The candidates are drawn from ``shared``, the choices of each start from its own of ``rngs``.
    """
    places = np.concatenate(
        [
            np.column_stack([np.full(columns.size, b), np.arange(columns.size)])[block.informative]
            for b, (block, columns) in enumerate(zip(data.blocks, data.columns, strict=True))
        ]
    )
    # In the table's own order, whatever the blocks.
    places = places[np.argsort([data.columns[b][i] for b, i in places], kind="stable")]
    candidates = places[shared.permutation(len(places))[: 10 * n_factors + 50]]
    correlation, offsets = feature_correlation(data, candidates, engine)
    dependence = column_dependence(correlation, offsets[:-1])
    starts = []
    for rng in rngs:
        some = rng.permutation(len(candidates))[: max(n_factors, 2 * len(candidates) // 3)]
        chosen = some[cover(dependence[np.ix_(some, some)], n_factors, rng)]
        seeds = []
        for at in chosen:
            own = slice(offsets[at], offsets[at + 1])
            block, column = candidates[at]
            seeds.append(PrimingVariable(block, column, telling_scores(correlation[own], own, rng)))
        starts.append(seeds)
    return starts


def telling_scores(correlation: np.ndarray, own: slice, rng: np.random.Generator) -> np.ndarray:
    """Scores of a column's features along a random direction, the more likely the more other columns follow it."""
    others = correlation.copy()
    others[:, own] = 0
    return others @ (others.T @ rng.standard_normal(len(others)))


def feature_correlation(data: Data, places: np.ndarray, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Correlations of the features of some columns, and where each column's features begin and end.

    Their squares, summed over the features of two columns, are the squared correlation of two numbers
    and the chi-square statistic over N of two categories.
    """
    step = max(1, int(np.ceil(data.n_samples / MOST_ROWS)))
    blocks = data.blocks
    widths = [blocks[b].n_features[i] for b, i in places]
    offsets = np.concatenate([[0], np.cumsum(widths)])
    zero = np.array([blocks[b].zero[i] if isinstance(blocks[b], SparseCategorical) else 0 for b, i in places])
    cells_alone = all(isinstance(blocks[b], SparseCategorical) for b in np.unique(places[:, 0]))

    def of_tile(part: Part, rows: slice) -> tuple[np.ndarray, ...]:
        if cells_alone:
            tiles, weight = part.tile(blocks, rows), part.sample_weight[rows].astype(float)
            return _products_of_cells([tiles[b].cells_of(i) for b, i in places], offsets, zero, weight)
        features: list = [None] * len(places)
        for b, tile in enumerate(part.tile(blocks, rows)):
            own = np.flatnonzero(places[:, 0] == b)
            for at, feature in zip(own, blocks[b].features(tile, places[own, 1]), strict=True):
                features[at] = feature
        matrix = np.concatenate(features)
        weight = part.sample_weight[rows].astype(float)
        return (matrix * weight) @ matrix.T, matrix @ weight, weight.sum()

    cross, mean, total = engine.sum(of_tile, data.parts, step=step)
    mean = mean / total
    norm = np.sqrt(np.maximum(np.diag(cross) / total, 1e-12))
    covariance = cross / total - np.outer(mean, mean)
    return covariance / np.outer(norm, norm), offsets


def _products_of_cells(
    cells: list[tuple[np.ndarray, np.ndarray]], offsets: np.ndarray, zero: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Cross products and sums of features, and the sum of weights, from rows and codes of cells that are not zeros.

    offsets where the features of each column begin; zero (n,) the code of the other cells.
    """
    n_features = np.diff(offsets)
    rows, features = [], []
    for (own_rows, codes), first, width, none in zip(cells, offsets[:-1], n_features, zero, strict=True):
        kept = codes < width
        rows += [own_rows[kept], own_rows[: own_rows.size if none < width else 0]]
        features += [first + codes[kept], np.full(rows[-1].size, first + none)]
    place = np.concatenate(features), np.concatenate(rows)
    matrix = csr_array((np.ones(place[0].size), place), (offsets[-1], weight.size))
    cross, total = (matrix.multiply(weight[None]) @ matrix.T).toarray(), matrix @ weight
    # What stood for a zero was that there is a cell: one less that.
    flipped = (offsets[:-1] + zero)[zero < n_features]
    cross[flipped] = total - cross[flipped]
    total[flipped] = weight.sum() - total[flipped]
    cross[:, flipped] = total[:, None] - cross[:, flipped]
    return cross, total, weight.sum()


def column_dependence(correlation: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How strongly columns depend on each other, 0 to 1."""
    squares = correlation**2
    dependence = np.add.reduceat(np.add.reduceat(squares, offsets, axis=0), offsets, axis=1)
    own = np.sqrt(np.maximum(np.diag(dependence), 1e-12))
    return dependence / np.outer(own, own)


def cover(dependence: np.ndarray, n_chosen: int, rng: np.random.Generator) -> np.ndarray:
    """Choose rows so that the sum over columns of the largest chosen entry is large, by best swaps."""
    size = len(dependence)
    if size <= n_chosen:
        return np.resize(rng.permutation(size), n_chosen)
    chosen = rng.permutation(size)[:n_chosen]
    for _ in range(3 * n_chosen):
        held = dependence[:, chosen]
        nearest = held.argmax(axis=1)
        best = held[np.arange(size), nearest]
        held[np.arange(size), nearest] = 0
        second = held.max(axis=1)
        with_new = np.maximum(dependence, best[:, None])
        without_nearest = np.maximum(dependence, second[:, None])
        member = (nearest == np.arange(n_chosen)[:, None]).astype(float)
        gain = with_new.sum(axis=0) - best.sum() - member @ (with_new - without_nearest)
        leaving, entering = np.unravel_index(gain.argmax(), gain.shape)
        if gain[leaving, entering] <= 1e-9 * size:
            break
        chosen[leaving] = entering
    return chosen
