"""Where the nodes of a graph go: variables in one row or ring, each factor over those that belong to it most."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from hicorex.findings.graph import Graph

# The room between the variables of two factors, a variable being 1.
GAP = 1.0
# The most factors that are put in the best order; that of more takes long to find, and nobody would see it.
MOST_ORDERED = 200


class Layout(NamedTuple):
    """The places of the nodes.

    place : (n_nodes,), around the ring of the variables, from 0 to below 1
    level : (n_nodes,), the layer, 0 for variables
    home : (n_nodes,), the index of the factor that a node belongs to most; -1 if there is none
    depth : the highest layer, and one more if several factors are there: then the middle of the rings is empty
    """

    place: np.ndarray
    level: np.ndarray
    home: np.ndarray
    depth: int

    def polar(self) -> tuple[np.ndarray, np.ndarray]:
        """Radius and angle of each node in the unit disc: variables on its edge, from the top on clockwise."""
        return 1 - self.level / max(self.depth, 1), np.pi / 2 - 2 * np.pi * self.place

    def layered(self) -> tuple[np.ndarray, np.ndarray]:
        """The places as x and y in the unit square, variables at the bottom."""
        return self.place / max(self.place.max(initial=0), 1e-9), self.level / max(self.level.max(initial=0), 1)


def arrange(graph: Graph, groups: ArrayLike | None = None) -> Layout:
    """A layout in which the strongest links do not cross, the same for the same graph.

    Factors with the same variables become neighbours; the variables of a factor are in the order of their groups,
    and then of their weight.

    Parameters
    ----------
    graph : Graph
    groups : array-like of int of shape (n_nodes,), default=None
        The number of each node's group.
    """
    n = len(graph.nodes)
    level = np.array([node.layer for node in graph.nodes], int)
    home, strength = _homes(graph)
    group = np.zeros(n, int) if groups is None else np.asarray(groups)
    children: dict[int, list[int]] = {}
    for i in np.lexsort((-strength, group, -level)).tolist():
        children.setdefault(int(home[i]), []).append(i)
    leaves = _in_order(children, level, _similarity(graph)) if n else []

    place = np.zeros(n)
    end, last_home = 0.0, None
    for i in leaves:
        end += 0.0 if last_home is None or last_home == home[i] else GAP
        place[i] = end
        end, last_home = end + 1, home[i]
    for i in np.argsort(level, kind="stable").tolist():
        if i in children:
            below = place[children[i]]
            place[i] = (below.min() + below.max()) / 2
    top = level.max(initial=0)
    return Layout(place / (end + GAP), level, home, int(top + (np.count_nonzero(level == top) > 1)))


def _homes(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The factor that each node belongs to most, -1 if there is none, and the weight of that link, (n_nodes,)."""
    below, above, weight = graph.links()
    home, strength = np.full(len(graph.nodes), -1), np.zeros(len(graph.nodes))
    weakest_first = np.argsort(weight, kind="stable")
    home[below[weakest_first]] = above[weakest_first]
    strength[below[weakest_first]] = weight[weakest_first]
    return home, strength


def _similarity(graph: Graph) -> csr_array:
    """How far two factors have the same links: the cosine of their weights, (n_nodes, n_nodes)."""
    n = len(graph.nodes)
    below, above, weight = graph.links()
    length = np.maximum(np.sqrt(np.bincount(above, weight**2, minlength=n)), np.finfo(float).tiny)
    links = csr_array((weight / length[above], (below, above)), shape=(n, n))
    return (links.T @ links).tocsr()


def _in_order(children: dict[int, list[int]], level: np.ndarray, similarity: csr_array) -> list[int]:
    """The nodes below which there are no others, in the order of the layout: depth first, without recursion."""
    leaves, waiting = [], [-1]
    while waiting:
        i = waiting.pop()
        if i not in children:
            leaves.append(i)
            continue
        factors = [child for child in children[i] if level[child]]
        variables = [child for child in children[i] if not level[child]]
        waiting += [*reversed(variables), *reversed(_neighbourly(factors, similarity))]
    return leaves


def _neighbourly(factors: list[int], similarity: csr_array) -> list[int]:
    """Factors in an order in which those that are most similar are close to each other."""
    if not 2 < len(factors) <= MOST_ORDERED:
        return factors
    alike = similarity[factors][:, factors].toarray()
    np.fill_diagonal(alike, 1)
    distance = squareform(1 - np.clip(alike, 0, 1), checks=False)
    if np.all(distance == 1):
        return factors
    return [factors[i] for i in leaves_list(linkage(distance, "average", optimal_ordering=True))]
