"""The learned structure as a graph: every number of it, and names that try to break the file."""

import io
import json
import re
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from conftest import HOSTILE, named_table
from models import layers_of
from numpy.testing import assert_array_equal

from hicorex import Corex, HierarchicalCorex
from hicorex.datasets import make_latent_tree, make_overlapping_clusters
from hicorex.findings.graph import graph_of

AS_READ = {
    HOSTILE[6]: "control\ufffd\ufffd\ufffd[31m\x7f\x85",
    HOSTILE[7]: "lone \ufffd half",
    HOSTILE[8]: "not characters \ufffd\ufffd",
}


def read(graph):
    return nx.read_graphml(io.BytesIO(graph.to_graphml()))


@pytest.fixture(scope="module")
def model():
    X, _ = make_latent_tree(500, 60, 6, root_flip=0.15, random_state=0)
    return HierarchicalCorex((8, 2, 1), n_states=(2, 3, 2), n_init=2, max_iter=500, random_state=0).fit(X)


def check_against_arrays(model, found):
    """Every node and edge that was read has the numbers of the model, and there are no others."""
    level = [f"n{i}" for i in range(model.n_features_in_)]
    n_edges, n_nodes = 0, len(level)
    for k, layer in enumerate(layers_of(model), start=1):
        own = [f"n{n_nodes + j}" for j in range(layer.n_factors_)]
        for j, id in enumerate(own):
            assert found.nodes[id] == {
                "label": f"layer{k}_factor{j}",
                "kind": "factor",
                "layer": k,
                "information": layer.tcs_[j],
            }
            assert set(found.successors(id)) == {level[i] for i in np.flatnonzero(layer.alpha_[:, j])}
            for i in np.flatnonzero(layer.alpha_[:, j]):
                assert found.edges[id, level[i]] == {
                    "alpha": layer.alpha_[i, j],
                    "mutual_information": layer.mutual_information_[i, j],
                    "weight": layer.alpha_[i, j] * layer.mutual_information_[i, j],
                }
                n_edges += 1
        level, n_nodes = own, n_nodes + len(own)
    assert (found.number_of_nodes(), found.number_of_edges()) == (n_nodes, n_edges)
    first = layers_of(model)[0]
    for i in range(model.n_features_in_):
        node = found.nodes[f"n{i}"]
        known = [first.mutual_information_[i, j] for j in np.flatnonzero(first.alpha_[i])]
        assert (node["kind"], node["layer"], node["information"]) == ("variable", 0, max(known, default=0))


def test_a_file_of_three_layers_reads_back_exactly(model):
    assert model.layers_[0].tcs_[-1] == 0  # there is an empty factor
    found = read(graph_of(model))
    assert found.is_directed()
    check_against_arrays(model, found)
    assert [found.nodes[f"n{i}"]["label"] for i in range(60)] == [f"x{i}" for i in range(60)]


@pytest.mark.parametrize("structure", ["unique", "overlap"])
def test_a_variable_of_several_factors_has_an_edge_for_each(structure):
    X, _ = make_overlapping_clusters(random_state=0)
    corex = Corex(3, n_states=2, structure=structure, n_init=2, random_state=0).fit(X)
    assert np.any(np.count_nonzero(corex.alpha_, axis=1) > 1)
    check_against_arrays(corex, read(graph_of(corex)))


def test_edges_are_sorted_by_layer_factor_and_falling_weight(model):
    number = {node.id: i for i, node in enumerate(graph_of(model).nodes)}
    keys = [(number[edge.factor], -edge.weight, number[edge.below]) for edge in graph_of(model).edges]
    assert keys == sorted(keys)


def test_hostile_names_neither_break_the_file_nor_merge_nodes():
    X = named_table(HOSTILE)
    corex = Corex(2, n_states=2, n_init=2, random_state=0).fit(X)
    graph = graph_of(corex)
    assert [node.name for node in graph.nodes] == [*HOSTILE, "layer1_factor0", "layer1_factor1"]
    found = read(graph)
    check_against_arrays(corex, found)
    labels = [found.nodes[f"n{i}"]["label"] for i in range(len(HOSTILE))]
    assert labels == [AS_READ.get(name, name) for name in HOSTILE]
    assert len(ElementTree.fromstring(graph.to_graphml())[-1]) == len(graph.nodes) + len(graph.edges)


def test_variables_that_look_the_same_in_the_file_stay_apart():
    graph = graph_of(Corex(1, n_states=2, n_init=2, random_state=0).fit(named_table(["a\x00", "a\x01", "a\ufffd", ""])))
    assert len({node.id for node in graph.nodes}) == len(read(graph)) == 5


def test_selection_keeps_the_edges_from_a_weight_on_and_what_they_join(model):
    graph = graph_of(model)
    least = sorted(edge.weight for edge in graph.edges)[len(graph.edges) // 2]
    selected = graph.select(least)
    assert selected.edges == tuple(edge for edge in graph.edges if edge.weight >= least)
    joined = {id for edge in selected.edges for id in (edge.below, edge.factor)}
    assert [node for node in graph.nodes if node.id in joined] == list(selected.nodes)
    assert set(read(selected).nodes) == joined
    assert graph.select(np.inf) == ((), ())
    assert len(read(graph.select(np.inf))) == 0


def test_factors_without_use_have_no_edges():
    corex = Corex(3, n_states=2, random_state=0).fit(np.random.default_rng(0).normal(size=(1000, 3)))
    graph = graph_of(corex)
    assert_array_equal(corex.tcs_, 0)
    assert graph.edges == ()
    assert [node.information for node in graph.nodes] == [0] * 6
    check_against_arrays(corex, read(graph))


# What GraphML says of its parts: the types of values, and which attributes an element must have.
TYPES = {"boolean": bool, "int": int, "long": int, "float": float, "double": float, "string": str}
NEEDED = {
    "graphml": set(),
    "key": {"id", "for"},
    "graph": {"edgedefault"},
    "node": {"id"},
    "edge": {"source", "target"},
}
PARENTS = {"key": "graphml", "graph": "graphml", "node": "graph", "edge": "graph", "data": ("node", "edge")}


def test_the_file_is_as_graphml_asks(model):
    """By the rules of its schema: keys are declared before they are used, values have their types, ends are nodes."""
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.fromstring(graph_of(model).to_graphml())
    keys, ids = {}, set()
    for parent in root.iter():
        for child in parent:
            tag, above = child.tag.removeprefix(space), parent.tag.removeprefix(space)
            assert above in PARENTS[tag]
            assert NEEDED.get(tag, {"key"}) <= set(child.attrib)
    for key in root.findall(f"{space}key"):
        assert key.get("attr.type") in TYPES
        assert key.get("for") in ("node", "edge")
        keys[key.get("for"), key.get("id")] = TYPES[key.get("attr.type")]
    (graph,) = root.findall(f"{space}graph")
    assert graph.get("edgedefault") == "directed"
    for node in graph.findall(f"{space}node"):
        assert re.fullmatch("[A-Za-z0-9_.:-]+", node.get("id"))  # a name token
        assert node.get("id") not in ids
        ids.add(node.get("id"))
    for edge in graph.findall(f"{space}edge"):
        assert {edge.get("source"), edge.get("target")} <= ids
    for element in graph:
        for datum in element:
            keys[element.tag.removeprefix(space), datum.get("key")](datum.text)


def test_networkx_gets_what_files_hold(model):
    graph = model.to_networkx()
    in_file = nx.relabel_nodes(read(graph_of(model)), dict(read(graph_of(model)).nodes(data="label")))
    for _, told in in_file.nodes(data=True):
        del told["label"]
    assert dict(graph.nodes(data=True)) == dict(in_file.nodes(data=True))
    assert {(*ends, *known.items()) for *ends, known in graph.edges(data=True)} == {
        (*ends, *known.items()) for *ends, known in in_file.edges(data=True)
    }


def test_gephi_and_cytoscape_get_every_number(model, tmp_path):
    """By the formats of networkx that they read: GEXF, and the JSON of Cytoscape."""
    graph = model.to_networkx()
    nx.write_gexf(graph, tmp_path / "graph.gexf")
    again = nx.read_gexf(tmp_path / "graph.gexf")
    for name, told in graph.nodes(data=True):
        assert again.nodes[name].items() >= told.items()
    for *ends, known in graph.edges(data=True):
        assert again.edges[ends].items() >= known.items()
    told = json.loads(json.dumps(nx.cytoscape_data(graph)))["elements"]
    assert {node["data"]["id"] for node in told["nodes"]} == set(graph)
    assert {edge["data"]["weight"] for edge in told["edges"]} == {w for *_, w in graph.edges(data="weight")}


def test_variables_that_are_called_as_factors_stay_apart():
    table = named_table(HOSTILE)
    model = Corex(2, n_states=2, random_state=0).fit(table)
    graph = model.to_networkx()
    assert graph.number_of_nodes() == len(HOSTILE) + 2
    assert graph.nodes["layer1_factor0"]["kind"] == "factor"
    assert graph.nodes["layer1_factor0_"]["kind"] == "variable"
