"""The learned structure as nodes and edges, and as a file that programs for drawing networks read."""

import re
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from hicorex.exceptions import HicorexError
from hicorex.support.names import names_of

if TYPE_CHECKING:
    from hicorex.estimators.base import LayeredEstimator
    from hicorex.fitted.layer import FittedLayer

# What XML 1.0 has no way to write: control characters, halves of surrogate pairs, and two non-characters.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="kind" for="node" attr.name="kind" attr.type="string"/>
<key id="layer" for="node" attr.name="layer" attr.type="int"/>
<key id="information" for="node" attr.name="information" attr.type="double"/>
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
<key id="alpha" for="edge" attr.name="alpha" attr.type="double"/>
<key id="mutual_information" for="edge" attr.name="mutual_information" attr.type="double"/>
<graph edgedefault="directed">
"""


class Node(NamedTuple):
    """A variable or a factor.

    id : n0, n1, ..., which no other node has, whatever the variables are called
    name : of the variable, or layer1_factor0, ...
    layer : 0 for variables
    information : in nats; what a factor explains, E[log Z_j], and the most that any factor which a variable
        belongs to knows of it, 0 if it belongs to none
    """

    id: str
    name: str
    layer: int
    information: float

    @property
    def kind(self) -> str:
        """What the node is, "variable" or "factor"."""
        return "factor" if self.layer else "variable"


class Edge(NamedTuple):
    """A variable, or a factor of the layer below, that belongs to a factor.

    below, factor : the ids of the two nodes
    alpha : how far it belongs to the factor, from 0 to 1
    mutual_information : what the factor knows of it, in nats
    weight : the product of the two
    """

    below: str
    factor: str
    alpha: float
    mutual_information: float
    weight: float


class Graph(NamedTuple):
    """Variables and factors, and which belong to which.

    nodes : the variables, then the factors from the bottom up
    edges : by layer, factor and falling weight
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def select(self, least_weight: float) -> "Graph":
        """The edges of at least this weight, and the nodes that they join."""
        edges = tuple(edge for edge in self.edges if edge.weight >= least_weight)
        joined = {id for edge in edges for id in edge[:2]}
        return Graph(tuple(node for node in self.nodes if node.id in joined), edges)

    def links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges as columns: the indices of the nodes below, of the factors, and the weights."""
        at = {node.id: i for i, node in enumerate(self.nodes)}
        below = np.array([at[edge.below] for edge in self.edges], int)
        above = np.array([at[edge.factor] for edge in self.edges], int)
        return below, above, np.array([edge.weight for edge in self.edges])

    def strongest(self, most: int) -> "Graph":
        """At most this many links, the strongest, and the nodes that they join."""
        edges = self.edges
        if len(edges) > most:
            chosen = np.argsort([-edge.weight for edge in edges], kind="stable")[:most]
            edges = tuple(edges[i] for i in np.sort(chosen))
        return Graph(self.nodes, edges).select(0)

    def to_networkx(self) -> Any:
        """The graph as a directed one of networkx, with the attributes that files have, its nodes by name.

        A variable that is called as a factor is, or as another variable, gets ``_`` at its end.
        """
        try:
            import networkx as nx
        except ImportError:
            raise HicorexError('to_networkx needs networkx: pip install "hicorex[networkx]".') from None
        taken = {node.name for node in self.nodes if node.layer}
        keys = {}
        for node in self.nodes:
            key = node.name
            while not node.layer and key in taken:
                key += "_"
            taken.add(key)
            keys[node.id] = key
        graph = nx.DiGraph()
        for node in self.nodes:
            known = {"kind": node.kind, "layer": node.layer, "information": node.information}
            graph.add_node(keys[node.id], **known)
        for edge in self.edges:
            numbers = {"weight": edge.weight, "alpha": edge.alpha, "mutual_information": edge.mutual_information}
            graph.add_edge(keys[edge.factor], keys[edge.below], **numbers)
        return graph

    def to_graphml(self) -> bytes:
        """The graph as a GraphML file, in UTF-8.

        Edges point from a factor to what it explains: layouts of trees put sources on top, and with them the
        highest layer. Nodes have label, kind, layer and information, edges weight, alpha and
        mutual_information; Gephi takes ``label`` and ``weight`` as names and widths. Characters that XML cannot hold
        are replaced by U+FFFD.
        """
        nodes = (
            f'<node id="{node.id}"><data key="label">{_escaped(node.name)}</data><data key="kind">{node.kind}</data>'
            f'<data key="layer">{node.layer}</data><data key="information">{node.information!r}</data></node>\n'
            for node in self.nodes
        )
        edges = (
            f'<edge source="{edge.factor}" target="{edge.below}"><data key="weight">{edge.weight!r}</data>'
            f'<data key="alpha">{edge.alpha!r}</data>'
            f'<data key="mutual_information">{edge.mutual_information!r}</data></edge>\n'
            for edge in self.edges
        )
        return "".join([HEADER, *nodes, *edges, "</graph>\n</graphml>\n"]).encode()


def graph_of(model: "LayeredEstimator") -> Graph:
    """The structure of a fitted model.

    Every variable and factor is a node; an edge stands for each alpha above zero, so that a factor which
    explains nothing has none.
    """
    ids = (f"n{i}" for i in count())
    levels = [
        [Node(next(ids), name, k, known) for name, known in zip(names, information, strict=True)]
        for k, (names, information) in enumerate(zip(names_of(model), _information(model), strict=True))
    ]
    edges = [_edges(layer, *ends) for layer, ends in zip(model.fitted_.layers, pairwise(levels), strict=True)]
    return Graph(tuple(chain(*levels)), tuple(chain(*edges)))


def ranked_links(layer: "FittedLayer") -> tuple[np.ndarray, np.ndarray]:
    """Which variable belongs to which factor, both by index, by factor and falling weight."""
    factor, below = np.nonzero(layer.alpha.T > 0)
    order = np.lexsort((-weights_of(layer)[below, factor], factor))
    return below[order], factor[order]


def weights_of(layer: "FittedLayer") -> np.ndarray:
    """How much each link counts: alpha x mutual information, in nats, (n_features, n_factors)."""
    return layer.alpha * layer.mutual_information


def _information(model: "LayeredEstimator") -> list[list[float]]:
    """In nats, for each variable and the factors of each layer."""
    first = model.fitted_.layers[0]
    known = np.where(first.alpha > 0, first.mutual_information, 0).max(axis=1)
    return [known.tolist(), *(layer.tcs.tolist() for layer in model.fitted_.layers)]


def _edges(layer: "FittedLayer", below: list[Node], factors: list[Node]) -> list[Edge]:
    i, j = ranked_links(layer)
    tables = (layer.alpha, layer.mutual_information, weights_of(layer))
    columns = (table[i, j].tolist() for table in tables)
    ends = ([below[one].id for one in i.tolist()], [factors[one].id for one in j.tolist()])
    return [Edge(*row) for row in zip(*ends, *columns, strict=True)]


def _escaped(name: str) -> str:
    """Text that an XML file can hold; a carriage return would come back as a line feed."""
    return escape(NOT_XML.sub("\ufffd", name), {"\r": "&#13;"})
