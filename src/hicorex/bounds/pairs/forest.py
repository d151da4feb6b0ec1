"""A forest over variables: of the pairs that gain most, as many as make no circle, each directed to gain most."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree


def best_forest(pairs: np.ndarray, gain: np.ndarray, n_columns: int) -> np.ndarray:
    """The pairs of the best forest, as indices into pairs (2, P) of child and parent, which have gains (P,) above 0.

    Every pair is there in both directions. The forest is a maximum spanning one by the larger gain of the two; its
    roots are those from which the gains of the directed pairs have the largest sum.
    """
    if not gain.size:
        return np.empty(0, np.int64)
    low, high = pairs.min(axis=0), pairs.max(axis=0)
    order = np.lexsort((-gain, high, low))
    first = order[np.r_[True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)]]
    # The least weight of a tree is the largest gain; no weight may be 0, which stands for no pair.
    weight = coo_array((-gain[first], (low[first], high[first])), (n_columns, n_columns))
    tree = minimum_spanning_tree(weight.tocsr()).tocoo()
    directed = {pair: at for at, pair in enumerate(zip(*pairs.tolist(), strict=True))}
    n_trees, label = connected_components(tree, directed=False)
    both = (tree + tree.T).tocsr()
    chosen = list[int]()
    sizes = np.bincount(label, minlength=n_trees)
    any_root = np.full(n_trees, -1)
    any_root[label[::-1]] = np.arange(n_columns)[::-1]
    for root in any_root[sizes > 1].tolist():
        nodes, above = breadth_first_order(both, root, directed=False)
        root = _best_root(nodes, above, directed, gain)
        nodes, above = breadth_first_order(both, root, directed=False)
        chosen += [directed[int(node), int(above[node])] for node in nodes[1:]]
    return np.array(chosen, np.int64)


def _best_root(nodes: np.ndarray, above: np.ndarray, directed: dict[tuple[int, int], int], gain: np.ndarray) -> int:
    """The root from which the gains of a tree have the largest sum; turning one pair changes the sum by it alone."""
    total = {int(nodes[0]): 0.0}
    for node in nodes[1:].tolist():
        parent = int(above[node])
        total[node] = total[parent] - gain[directed[node, parent]] + gain[directed[parent, node]]
    return max(total, key=lambda node: total[node])
