"""Layouts: every node has its place, the strongest links do not cross, and the same graph looks the same."""

import time
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hicorex import HierarchicalCorex
from hicorex.datasets import make_latent_tree
from hicorex.findings.graph import Edge, Graph, Node, graph_of
from hicorex.findings.layout import GAP, arrange


def graph(levels, links):
    """Nodes by layer, from the bottom up, and links (below, factor, weight) by name."""
    nodes = [Node(name, name, k, 1.0) for k, names in enumerate(levels) for name in names]
    return Graph(tuple(nodes), tuple(Edge(below, factor, 1.0, w, w) for below, factor, w in links))


@pytest.fixture(scope="module")
def learned():
    X, _ = make_latent_tree(500, 60, (6, 2), root_flip=0.15, random_state=0)
    return graph_of(HierarchicalCorex((8, 3, 1), n_states=2, n_init=2, random_state=0).fit(X))


def test_a_small_tree_by_hand():
    tree = graph([["a", "b", "c"], ["f", "g"], ["t"]], [*zip("abcfg", "ffgtt", (2, 1, 1, 1, 1), strict=True)])
    layout = arrange(tree)
    # a and b belong to f, then a gap, then c, and another gap until the ring closes.
    assert_allclose(layout.place * (3 + 2 * GAP), [0, 1, 2 + GAP, 0.5, 2 + GAP, (0.5 + 2 + GAP) / 2])
    assert_array_equal(layout.home, [3, 3, 4, 5, 5, -1])
    assert layout.depth == 2
    radius, angle = layout.polar()
    assert_allclose(radius, [1, 1, 1, 0.5, 0.5, 0])
    assert_allclose(angle[0], np.pi / 2)
    assert np.all(np.diff(angle[:3]) < 0)
    x, y = layout.layered()
    assert_allclose(x[[0, 2]], [0, 1])
    assert_allclose(y, [0, 0, 0, 0.5, 0.5, 1])


def test_links_to_homes_do_not_cross(learned):
    layout = arrange(learned)
    homes = [(layout.level[i], layout.place[i], layout.place[home]) for i, home in enumerate(layout.home) if home >= 0]
    for (level, below, above), (other_level, other_below, other_above) in combinations(homes, 2):
        if level == other_level:
            assert (below - other_below) * (above - other_above) >= 0


def test_home_is_the_strongest_link(learned):
    layout = arrange(learned)
    for i, node in enumerate(learned.nodes):
        own = [edge for edge in learned.edges if edge.below == node.id]
        if not own:
            assert layout.home[i] == -1
            continue
        strongest = max(edge.weight for edge in own)
        assert learned.nodes[layout.home[i]].id in {edge.factor for edge in own if edge.weight == strongest}


def test_what_has_nothing_below_it_shares_no_place(learned):
    layout = arrange(learned)
    lowest = np.setdiff1d(np.arange(len(learned.nodes)), layout.home)
    places = np.sort(layout.place[lowest])
    step = 1 / (lowest.size + GAP * lowest.size)  # no more gaps than places
    assert np.diff(places).min() >= step
    assert places[0] == 0
    assert places[-1] < 1


def test_groups_are_together_within_a_factor():
    names = [f"v{i}" for i in range(6)]
    tree = graph([names, ["f"]], [(name, "f", w) for name, w in zip(names, (1, 2, 3, 4, 5, 6), strict=True)])
    layout = arrange(tree, [1, 0, 1, 0, -1, 0, -1])
    assert [names[i] for i in np.argsort(layout.place[:6])] == ["v4", "v5", "v3", "v1", "v2", "v0"]


def test_factors_that_share_variables_are_neighbours():
    # f and h share v2 and v3, g shares nothing, so that g is not between them.
    links = [("v0", "f", 3), ("v1", "g", 3), ("v2", "h", 2), ("v3", "h", 2), ("v2", "f", 1), ("v3", "f", 1)]
    tree = graph([[f"v{i}" for i in range(4)], ["f", "g", "h"], ["t"]], [*links, *((x, "t", 1) for x in "fgh")])
    order = np.argsort(arrange(tree).place[4:7])
    assert order[1] != 1


def test_the_same_graph_has_the_same_layout(learned):
    first, again = arrange(learned), arrange(learned)
    assert_array_equal(first.place, again.place)


@pytest.mark.parametrize(
    ("levels", "links"),
    [
        ([["a"]], []),
        ([["a", "b"], ["f"]], []),
        ([["a", "b"], ["f", "g"]], [("a", "f", 1)]),
        ([["a"], ["f"], ["g"], ["h"]], [("a", "f", 1), ("f", "g", 1)]),
        ([], []),
    ],
    ids=["a variable", "no links", "an empty factor", "nothing on top", "nothing"],
)
def test_odd_graphs_are_laid_out(levels, links):
    layout = arrange(graph(levels, links))
    assert np.all((layout.place >= 0) & (layout.place < 1))
    assert np.all(np.isfinite([*layout.polar(), *layout.layered()]))


def test_thousands_of_nodes_take_seconds():
    rng = np.random.default_rng(0)
    factors = [f"f{j}" for j in range(300)]
    variables = [f"v{i}" for i in range(20_000)]
    links = [
        (v, factors[j], w) for v in variables for j, w in zip(rng.integers(300, size=3), rng.random(3), strict=True)
    ]
    big = graph([variables, factors, ["t"]], [*links, *((f, "t", 1.0) for f in factors)])
    begun = time.process_time()
    layout = arrange(big)
    assert time.process_time() - begun < 30  # some tenths of a second here; this only rules out another order of cost
    assert np.unique(layout.place[:20_000]).size == 20_000
