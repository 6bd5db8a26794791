import sys

import networkx as nx
import pytest
from hypothesis import given

from causal_bandits.core.graphs import MixedGraph, from_networkx, to_networkx
from causal_bandits.errors import GraphError, MissingExtraError
from tests.graphs.strategies import mixed_graphs


@given(mixed_graphs())
def test_round_trip(graph: MixedGraph) -> None:
    back = from_networkx(to_networkx(graph))
    assert back == graph
    assert back.nodes == graph.nodes


def test_without_bidirected_edges_the_graph_is_itself() -> None:
    G = to_networkx(MixedGraph(["A", "B", "Y"], [("A", "Y")]))
    assert type(G) is nx.DiGraph
    assert list(G.nodes) == ["A", "B", "Y"]
    assert list(G.edges) == [("A", "Y")]


def test_hidden_nodes_get_names_that_are_free() -> None:
    graph = MixedGraph(["A", "Y", "U(A,Y)"], bidirected=[("A", "Y")])
    assert list(to_networkx(graph).nodes) == ["A", "Y", "U(A,Y)", "U(A,Y)'"]
    assert from_networkx(to_networkx(graph)) == graph


def test_a_hidden_cause_joins_every_pair_of_its_children() -> None:
    G = nx.DiGraph([("A", "B"), ("U", "A"), ("U", "B"), ("U", "Y"), ("W", "Y")])
    G.nodes["U"]["observed"] = "no"
    G.nodes["W"]["observed"] = "no"  # one child: noise
    G.add_node("V", observed="no")  # no child at all
    assert from_networkx(G) == MixedGraph(["A", "B", "Y"], [("A", "B")], [("A", "B"), ("A", "Y"), ("B", "Y")])


def test_bad_networkx_graphs() -> None:
    with pytest.raises(GraphError, match="an undirected networkx graph has no causal directions; pass a DiGraph"):
        from_networkx(nx.Graph([("A", "B")]))
    G = nx.DiGraph([("A", "U"), ("U", "B"), ("U", "Y")])
    G.nodes["U"]["observed"] = "no"
    with pytest.raises(GraphError, match="hidden node 'U' has a parent, which no bidirected edge can express"):
        from_networkx(G)
    with pytest.raises(GraphError, match="node name 1 is not a non-empty string"):
        from_networkx(nx.DiGraph([(1, 2)]))
    with pytest.raises(GraphError, match="is a self-loop"):
        from_networkx(nx.DiGraph([("A", "A")]))


def test_networkx_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[networkx\]'"):
        to_networkx(MixedGraph(["A", "Y"]))
