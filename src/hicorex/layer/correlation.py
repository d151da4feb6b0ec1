"""How strongly columns of a table depend on each other, by correlations of their features."""

import numpy as np
from scipy.sparse import csr_array

from hicorex.engine import Engine
from hicorex.layer.data import Data, Part
from hicorex.marginals import SparseCategorical

# Rows beyond this many add nothing to a choice of columns.
MOST_ROWS = 20_000


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
        sample_weight = part.sample_weight[rows].astype(float)
        if cells_alone:
            tiles = part.tile(blocks, rows)
            return _products_of_cells([tiles[b].cells_of(i) for b, i in places], offsets, zero, sample_weight)
        features: list = [None] * len(places)
        for b, tile in enumerate(part.tile(blocks, rows)):
            in_block = np.flatnonzero(places[:, 0] == b)
            for at, feature in zip(in_block, blocks[b].features(tile, places[in_block, 1]), strict=True):
                features[at] = feature
        matrix = np.concatenate(features)
        return (matrix * sample_weight) @ matrix.T, matrix @ sample_weight, sample_weight.sum()

    # Finer tiles, since every cell becomes several numbers in double precision.
    cross, mean, total = engine.sum(of_tile, data.parts, step=step, finer=4)
    mean = mean / total
    norm = np.sqrt(np.maximum(np.diag(cross) / total, 1e-12))
    covariance = cross / total - np.outer(mean, mean)
    return covariance / np.outer(norm, norm), offsets


def _products_of_cells(
    cells: list[tuple[np.ndarray, np.ndarray]], offsets: np.ndarray, zero: np.ndarray, sample_weight: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Cross products and sums of features, and the sum of weights, from rows and codes of cells that are not zeros.

    offsets where the features of each column begin; zero (n,) the code of the other cells.
    """
    n_features = np.diff(offsets)
    rows, features = [], []
    for (cell_rows, codes), first, width, none in zip(cells, offsets[:-1], n_features, zero, strict=True):
        kept = codes < width
        rows += [cell_rows[kept], cell_rows[: cell_rows.size if none < width else 0]]
        features += [first + codes[kept], np.full(rows[-1].size, first + none)]
    place = np.concatenate(features), np.concatenate(rows)
    matrix = csr_array((np.ones(place[0].size), place), (offsets[-1], sample_weight.size))
    cross, total = (matrix.multiply(sample_weight[None]) @ matrix.T).toarray(), matrix @ sample_weight
    # What stood for a zero was that there is a cell: one less that.
    flipped = (offsets[:-1] + zero)[zero < n_features]
    cross[flipped] = total - cross[flipped]
    total[flipped] = sample_weight.sum() - total[flipped]
    cross[:, flipped] = total[:, None] - cross[:, flipped]
    return cross, total, sample_weight.sum()


def column_dependence(correlation: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How strongly columns depend on each other, 0 to 1."""
    squares = correlation**2
    dependence = np.add.reduceat(np.add.reduceat(squares, offsets, axis=0), offsets, axis=1)
    norm = np.sqrt(np.maximum(np.diag(dependence), 1e-12))
    return dependence / np.outer(norm, norm)
