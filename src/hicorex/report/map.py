"""The hierarchy as a map for the page to draw: nodes, links and where they go."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hicorex.findings.graph import graph_of
from hicorex.findings.groups import Grouping
from hicorex.findings.layout import arrange
from hicorex.report.markup import shown

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
        "linked": (model.fitted_.layers[0].clusters[columns] >= 0).astype(int).tolist(),
        "groupings": [_colours(grouping, columns) for grouping in groupings],
    }
    factors = {node.name: at[node.id] for node in graph.nodes if node.layer}
    return Map(payload, {i: node for node, i in enumerate(columns)}, factors, len(whole.edges))


def _colours(grouping: Grouping, columns: list[int]) -> dict[str, Any]:
    """The groups of the variables on the map."""
    return {
        "title": shown(grouping.title),
        "groups": [shown(name) for name in grouping.groups],
        "number": grouping.number[columns].tolist(),
    }


def _rounded(numbers: Iterable[float], digits: int = 4) -> list[float]:
    return [float(f"{x:.{digits}g}") for x in numbers]
