"""The hierarchy as a map for the page to draw: nodes, links and where they go."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.findings.graph import Edge, Graph, graph_of, weights_of
from hicorex.findings.groups import Grouping
from hicorex.findings.layout import arrange
from hicorex.report.markup import shown
from hicorex.selection.stability import STABLE, SURE

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator

# The strongest links that a page shows, so that it stays small and quick.
MOST_LINKS = 100_000


class Map(NamedTuple):
    """The hierarchy for the page to draw.

    payload : nodes and links as columns, with the places of the nodes
    variables : the node of each variable that is in it, by column
    factors : the node of each factor that is in it, by name
    n_links : how many links the model has
    """

    payload: dict[str, Any]
    variables: dict[int, int]
    factors: dict[str, int]
    n_links: int


def map_of(model: "LayeredEstimator", groupings: Sequence[Grouping]) -> Map:
    """The linked variables and factors, and where they go."""
    whole = graph_of(model)
    graph = whole.strongest(MOST_LINKS)
    at = {node.id: i for i, node in enumerate(graph.nodes)}
    columns = [i for i, node in enumerate(whole.nodes) if node.layer == 0 and node.id in at]
    first = groupings[0].number[columns] if groupings else np.zeros(len(columns), int)
    places = arrange(graph, np.pad(first, (0, len(graph.nodes) - len(columns))))
    steps = np.diff(np.unique(places.place[: len(columns)]))
    below, above, weight = graph.links()
    payload = {
        "names": [shown(node.name) for node in graph.nodes],
        "level": places.level.tolist(),
        "information": _rounded(node.information for node in graph.nodes),
        "place": _rounded(places.place, 6),
        "home": places.home.tolist(),
        "depth": places.depth,
        "slots": float(f"{1 / steps.min():.4g}") if steps.size else 1.0,
        "below": below.tolist(),
        "above": above.tolist(),
        "weight": _rounded(weight),
        "alpha": _rounded(edge.alpha for edge in graph.edges),
        "known": _rounded(edge.mutual_information for edge in graph.edges),
        "communality": _rounded(model.fitted_.layers[0].communality[columns].tolist(), 3),
        "linked": (model.fitted_.layers[0].clusters[columns] >= 0).astype(int).tolist(),
        "weak": _weak(model, at, whole),
        "unsure": _unsure(model, graph.edges, whole),
        "groupings": [_colours(grouping, columns) for grouping in groupings],
    }
    factors = {node.name: at[node.id] for node in graph.nodes if node.layer}
    return Map(payload, {i: node for node, i in enumerate(columns)}, factors, len(whole.edges))


def _weak(model: "LayeredEstimator", at: dict[str, int], whole: Graph) -> list[int] | None:
    """The nodes of factors that do not come back in fits to halves; None where nobody has measured that."""
    stability = model.fitted_.stability
    if stability is None:
        return None
    factors = [node.id for node in whole.nodes if node.layer]
    weak = [id for id, value in zip(factors, stability.factors.tolist(), strict=True) if value < STABLE]
    return [at[id] for id in weak if id in at]


def _unsure(model: "LayeredEstimator", edges: Sequence[Edge], whole: Graph) -> list[int] | None:
    """The links of variables to their main factors that too few fits to halves have; None where not measured."""
    stability = model.fitted_.stability
    if stability is None:
        return None
    layer_of = {node.id: node.layer for node in whole.nodes}
    place = _places(whole)
    main = [weights_of(layer).argmax(axis=1) for layer in model.fitted_.layers]
    unsure = []
    for e, edge in enumerate(edges):
        k, i, j = layer_of[edge.factor] - 1, place[edge.below], place[edge.factor]
        if main[k][i] == j and stability.layers[k].links[i, j] < SURE:
            unsure.append(e)
    return unsure


def _places(whole: Graph) -> dict[str, int]:
    """The number of each variable, and of each factor in its layer."""
    counts = defaultdict[int, count](count)
    return {node.id: next(counts[node.layer]) for node in whole.nodes}


def _colours(grouping: Grouping, columns: list[int]) -> dict[str, Any]:
    """The groups of the variables on the map."""
    return {
        "title": shown(grouping.title),
        "groups": [shown(name) for name in grouping.groups],
        "number": grouping.number[columns].tolist(),
    }


def _rounded(numbers: Iterable[float], digits: int = 4) -> list[float]:
    return [float(f"{x:.{digits}g}") for x in numbers]
