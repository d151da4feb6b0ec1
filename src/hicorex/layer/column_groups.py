"""Groups of columns that follow one of them: what many small groups show where leading directions are mostly noise.

With nearly as many factors as samples, the directions of many small groups are lost in those of chance. A column that
others follow is not: its correlations with them stand out one by one. Columns are chosen so that the others depend
strongly on their nearest chosen one, in sum, and each chosen one and its followers give one score of every sample.
"""

import heapq

import numpy as np

# Columns that are tried by group, at least and while others follow none of them, and how many of them at a time.
FEWEST_TRIED, MOST_TRIED, AT_A_TIME = 3, 8, 0.25
# Columns are tried in an order of chance, the same one whatever the order of the columns.
PROBE, DIGITS = 7, 1e3


def grouped_scores(table: np.ndarray, share: np.ndarray, n_groups: int) -> np.ndarray:
    """The scores (R, q) of samples by groups of columns (R, n) of mean 0 and variance 1, at most ``n_groups``.

    share : (R,) the share of each sample in the weight of all
    """
    n_columns = table.shape[1]
    # Squared correlations of independent columns exceed this in a few of all pairs.
    chance = 2 * np.log(max(n_columns * min(n_columns, MOST_TRIED * n_groups), 2)) * float(share @ share)
    correlation = _tried(table, share, n_groups, chance)
    correlation = correlation[_cover(np.maximum(correlation**2 - chance, 0), n_groups)]
    loadings = np.zeros_like(correlation)
    if len(correlation):
        nearest, columns = (correlation**2).argmax(axis=0), np.arange(n_columns)
        followed = correlation[nearest, columns]
        loadings[nearest, columns] = np.where(followed**2 > chance, followed, 0)
    return (table @ loadings.T).astype(float)


def _tried(table: np.ndarray, share: np.ndarray, n_groups: int, chance: float) -> np.ndarray:
    """The correlations (c, n) of some columns with all: of those that others follow, and that are little alike."""
    n_columns, weighted = table.shape[1], table.T * share.astype(table.dtype)
    # The probe lives among the samples, so that the order of columns does not matter; digits of it are chance.
    probe = np.random.default_rng(PROBE).standard_normal(len(table))
    order = np.einsum("rn,r->n", table, DIGITS * probe, dtype=float) % 1
    rest, nearest = np.arange(n_columns), np.full(n_columns, chance, table.dtype)
    tried = [np.empty((0, n_columns), table.dtype)]
    while rest.size:
        n_tried, of_group = n_columns - rest.size, nearest[rest]
        if n_tried >= (MOST_TRIED if (of_group == chance).any() else FEWEST_TRIED) * n_groups:
            break
        places = np.lexsort((order[rest], of_group))[: max(1, int(AT_A_TIME * n_groups))]
        correlation = weighted[rest[places]] @ table
        np.maximum(nearest, (correlation**2).max(axis=0), out=nearest)
        tried.append(correlation[((correlation**2) > chance).sum(axis=1) > 1])
        rest = np.delete(rest, places)
    return np.concatenate(tried)


def _cover(gain: np.ndarray, most: int) -> np.ndarray:
    """Choose rows of gain (c, n) so that the sum over columns of the largest chosen entry is large, one by one.

    What a row adds only falls while others are chosen, so that few rows are looked at again for each.
    """
    covered = np.zeros(gain.shape[1], gain.dtype)
    heap = [(-float(added), row) for row, added in enumerate(gain.sum(axis=1))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < most:
        _, row = heap[0]
        added = float(np.maximum(gain[row] - covered, 0).sum())
        heapq.heapreplace(heap, (-added, row))
        if heap[0][1] == row:
            heapq.heappop(heap)
            if added <= 0:
                break
            np.maximum(covered, gain[row], out=covered)
            chosen.append(row)
    return np.array(chosen, np.int64)
