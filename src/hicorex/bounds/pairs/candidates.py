"""Candidates: pairs of columns that are still correlated once their factors' states are known."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

# Of each column the most correlated others, in one order of the columns or in each of several; the number of columns
# that are compared with each other at a time.
NEIGHBOURS, NEIGHBOURS_OF_SEVERAL, GROUP = 8, 3, 1024
# Of more columns than these, tables are made of the pairs of some forests only: the best, the best without it, ...
FEW_COLUMNS, N_FORESTS = 128, 2
# Categories of a column that are compared, the most frequent ones.
MOST_FEATURES = 8
# Squared correlations of candidates times the number of samples: of independent columns one in a hundred exceeds the
# least. Of n columns it is this times log n, for a pair that gains log n nats has twice log n.
LEAST_SQUARE, LEAST_OF_MANY = 6.6, 1.5
SEED = 0


def candidate_pairs(cells: np.ndarray, is_number: np.ndarray, labels: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Pairs of columns (2, C), each once, of cells (n, R) with most likely states (m, R) and links (D, n).

    All pairs are compared if columns are few. Of many, those are that are neighbours in some order: by their factors,
    and by leading directions of what these leave; so time is linear in columns.
    """
    if len(cells) < 2:
        return np.empty((2, 0), np.int64)
    residuals, column = _residuals(cells, is_number, labels, links)
    n_columns = len(cells)
    found, squares = [np.empty((2, 0), np.int64)], [np.empty(0)]
    orders = _orders(residuals, column, links, n_columns)
    n_neighbours = NEIGHBOURS if len(orders) == 1 else NEIGHBOURS_OF_SEVERAL
    least = max(LEAST_SQUARE, LEAST_OF_MANY * np.log(n_columns)) / cells.shape[1]
    for order in orders:
        for first in range(0, n_columns, GROUP):
            group = np.zeros(n_columns, bool)
            group[order[first : first + GROUP]] = True
            features = np.flatnonzero(group[column])
            if features.size:
                pairs, square = _strongest(residuals[features], column[features], n_neighbours, least)
                found.append(pairs)
                squares.append(square)
    pairs, places = np.unique(np.sort(np.concatenate(found, axis=1), axis=0), axis=1, return_index=True)
    if n_columns <= FEW_COLUMNS:
        return pairs
    return pairs[:, _of_forests(pairs, np.concatenate(squares)[places], n_columns)]


def _of_forests(pairs: np.ndarray, square: np.ndarray, n_columns: int) -> np.ndarray:
    """Which of the pairs (2, P) are in one of the best forests by squared correlation (P,), indices."""
    chosen, left = list[np.ndarray](), np.arange(square.size)
    for _ in range(N_FORESTS):
        # No weight may be 0, which stands for no pair.
        weight = coo_array((-1 - square[left], tuple(pairs[:, left])), (n_columns, n_columns)).tocsr()
        tree = minimum_spanning_tree(weight).tocoo()
        of_tree = tree.row.astype(np.int64) * n_columns + tree.col
        is_chosen = np.isin(pairs[0, left] * n_columns + pairs[1, left], of_tree)
        chosen.append(left[is_chosen])
        left = left[~is_chosen]
    return np.sort(np.concatenate(chosen))


def _residuals(
    cells: np.ndarray, is_number: np.ndarray, labels: np.ndarray, links: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Columns as features of mean 0 in every joint state, of norm 1, (f, R), and the column of each, (f,)."""
    distinct, which = np.unique(links, axis=1, return_inverse=True)
    features, column = [np.empty((0, cells.shape[1]), np.float32)], [np.empty(0, np.int64)]
    n_states = int(labels.max(initial=0)) + 1
    for t, factors in enumerate(distinct.T):
        code = np.zeros(cells.shape[1], np.int64)
        for factor in factors[factors >= 0]:
            code = code * n_states + labels[factor]
        _, code = np.unique(code, return_inverse=True)
        for i in np.flatnonzero(which == t).tolist():
            of_column = _centred(_features(cells[i], bool(is_number[i])), np.isnan(cells[i]), code)
            features.append(of_column)
            column.append(np.full(len(of_column), i))
    of_features = np.concatenate(column)
    order = np.argsort(of_features, kind="stable")
    return np.concatenate(features)[order], of_features[order]


def _features(x: np.ndarray, is_number: bool) -> np.ndarray:
    """A column as features (f, R): its number, or whether it has each of its most frequent categories."""
    if is_number:
        return np.nan_to_num(x)[None]
    count = np.bincount(x[~np.isnan(x)].astype(int))
    present = np.argsort(-count, kind="stable")[: min(MOST_FEATURES, int((count > 0).sum()))]
    return (x == (present[1:] if present.size == 2 else present)[:, None]).astype(float)


def _centred(features: np.ndarray, missing: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Features less their mean in each state, 0 where missing, of norm 1; those that do not vary are left out."""
    there = ~missing
    count = np.maximum(np.bincount(code[there], minlength=code.max() + 1), 1)
    centred = np.empty(features.shape, np.float32)
    for out, x in zip(centred, features, strict=True):
        mean = np.bincount(code[there], x[there], code.max() + 1) / count
        out[:] = np.where(there, x - mean[code], 0)
    norm = np.sqrt(np.einsum("fr,fr->f", centred, centred))
    kept = norm > 1e-3 * np.sqrt(features.shape[1])
    return centred[kept] / norm[kept, None]


def _orders(residuals: np.ndarray, column: np.ndarray, links: np.ndarray, n_columns: int) -> list[np.ndarray]:
    """Orders of the columns (n,) in which those that may be correlated are near each other."""
    by_factor = np.lexsort(links[::-1])
    if n_columns <= GROUP:
        return [by_factor]
    rng = np.random.default_rng(SEED)
    sketch = rng.standard_normal((residuals.shape[1], 2), dtype=np.float32)
    for _ in range(2):
        sketch = residuals.T @ (residuals @ sketch)
        sketch /= np.linalg.norm(sketch, axis=0)
    orders = [by_factor]
    for loading in (residuals @ sketch).T:
        of_column = np.zeros(n_columns)
        np.add.at(of_column, column, loading)
        orders.append(np.argsort(of_column, kind="stable"))
    return orders


def _strongest(
    residuals: np.ndarray, column: np.ndarray, n_neighbours: int, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (2, p) of columns, each with those it is correlated with most, if by more than chance; and by how much."""
    columns, first = np.unique(column, return_index=True)
    correlation = residuals @ residuals.T
    np.square(correlation, out=correlation)
    square = np.maximum.reduceat(np.maximum.reduceat(correlation, first, axis=0), first, axis=1)
    np.fill_diagonal(square, 0)
    most = min(n_neighbours, columns.size - 1)
    if most < 1:
        return np.empty((2, 0), np.int64), np.empty(0)
    near = np.argpartition(-square, most - 1, axis=1)[:, :most]
    of_near = np.take_along_axis(square, near, axis=1)
    kept = of_near > least
    return np.stack([np.broadcast_to(columns[:, None], near.shape)[kept], columns[near[kept]]]), of_near[kept]
