import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.core.graphs import MixedGraph
from causal_bandits.errors import GraphError, UnknownVariableError
from tests.graphs.strategies import mixed_graphs
from tests.reference.graphs import reachable

GRAPH = MixedGraph(
    ["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "Y"), ("C", "Y")], bidirected=[("B", "Y"), ("A", "C")]
)
CYCLE = MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "C"), ("C", "B"), ("C", "Y")])


def test_equality_ignores_the_order_of_nodes_and_edges() -> None:
    other = MixedGraph(
        ["Y", "C", "B", "A"], directed=reversed(GRAPH.directed), bidirected=[("C", "A"), ("Y", "B"), ("B", "Y")]
    )
    assert other == GRAPH
    assert hash(other) == hash(GRAPH)
    assert other.nodes == ("Y", "C", "B", "A")
    assert len({GRAPH, other}) == 1


def test_graphs_that_differ_are_not_equal() -> None:
    forward = MixedGraph(["A", "B"], directed=[("A", "B")])
    assert forward != MixedGraph(["A", "B"], directed=[("B", "A")])
    assert forward != MixedGraph(["A", "B"], bidirected=[("A", "B")])
    assert forward != MixedGraph(["A", "B", "C"], directed=[("A", "B")])
    assert forward != "MixedGraph(A -> B)"


def test_edges_are_kept_in_node_order() -> None:
    graph = MixedGraph(["C", "A", "B"], [("B", "A"), ("A", "B"), ("C", "B")], [("B", "A"), ("A", "C")])
    assert graph.directed == (("C", "B"), ("A", "B"), ("B", "A"))
    assert graph.bidirected == (("C", "A"), ("A", "B"))


def test_nodes_given_as_a_set_are_sorted() -> None:
    assert MixedGraph({"C", "A", "D", "B"}).nodes == MixedGraph(frozenset("ABCD")).nodes == ("A", "B", "C", "D")
    assert MixedGraph({"C": 0, "A": 0}.keys()).nodes == ("C", "A")


def test_a_graph_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        GRAPH.nodes = ()  # type: ignore[misc]


def test_copies_and_pickles_are_equal() -> None:
    assert hash(GRAPH) == hash(copy.deepcopy(GRAPH))
    assert pickle.loads(pickle.dumps(GRAPH)) == GRAPH == copy.copy(GRAPH)


def test_repr_shows_edges_then_lonely_nodes() -> None:
    assert repr(GRAPH) == "MixedGraph(A -> B, B -> Y, C -> Y, A <-> C, B <-> Y)"
    assert repr(MixedGraph(["B", "A", "Y"], [("A", "Y")])) == "MixedGraph(A -> Y, B)"
    assert repr(MixedGraph([])) == "MixedGraph()"


def test_families_of_one_node_and_of_several() -> None:
    assert GRAPH.parents("Y") == ("B", "C")
    assert GRAPH.parents({"Y", "B"}) == ("A", "B", "C")
    assert GRAPH.children("A") == GRAPH.children(["A"]) == ("B",)
    assert GRAPH.spouses(["C", "Y"]) == ("A", "B")
    assert GRAPH.ancestors("B") == ("A", "B")
    assert GRAPH.ancestors(()) == ()
    assert GRAPH.descendants({"A", "C"}) == ("A", "B", "C", "Y")


def test_a_string_is_one_name() -> None:
    graph = MixedGraph("clicked")
    assert graph.nodes == ("clicked",)
    assert graph.parents("clicked") == ()


@given(mixed_graphs())
def test_families_agree_with_following_edges(graph: MixedGraph) -> None:
    below = {node: reachable(graph, node) for node in graph.nodes}
    for node in graph.nodes:
        assert set(graph.descendants(node)) == below[node]
        assert set(graph.ancestors(node)) == {other for other in graph.nodes if node in below[other]}
    mutual = {frozenset(other for other in below[node] if node in below[other]) for node in graph.nodes}
    components = graph.strongly_connected_components()
    assert {frozenset(names) for names in components} == mutual
    assert sorted(name for names in components for name in names) == sorted(graph.nodes)
    assert graph.is_acyclic == all(len(names) == 1 for names in mutual)


@given(mixed_graphs(acyclic=True))
def test_topological_order_puts_parents_first(graph: MixedGraph) -> None:
    assert graph.is_acyclic
    order = graph.topological_order()
    assert sorted(order) == sorted(graph.nodes)
    assert all(order.index(tail) < order.index(head) for tail, head in graph.directed)


def test_cycles() -> None:
    assert not CYCLE.is_acyclic
    assert CYCLE.strongly_connected_components() == (("A",), ("B", "C"), ("Y",))
    with pytest.raises(GraphError, match="no topological order: 'B', 'C' lie on a cycle"):
        CYCLE.topological_order()


def test_do_cuts_every_arrowhead() -> None:
    assert GRAPH.do("B") == MixedGraph(GRAPH.nodes, [("B", "Y"), ("C", "Y")], [("A", "C")])
    assert GRAPH.do(["A", "Y"]) == MixedGraph(GRAPH.nodes, [("A", "B")])
    assert GRAPH.do(()) == GRAPH
    assert CYCLE.do("B").is_acyclic


def test_with_context() -> None:
    contextual = GRAPH.with_context({"I": "A", "J": ["Y", "A"], "K": ()})
    assert contextual.nodes == ("A", "B", "C", "Y", "I", "J", "K")
    assert contextual.children("J") == ("A", "Y")
    assert contextual.children("K") == ()
    assert contextual.bidirected == GRAPH.bidirected
    confounded = GRAPH.with_context({"I": "A", "J": "Y", "K": "B"}, confounded=True)
    assert confounded.bidirected == (*GRAPH.bidirected, ("I", "J"), ("I", "K"), ("J", "K"))
    assert confounded.subgraph(GRAPH.nodes) == GRAPH


def test_subgraph_keeps_the_order_of_the_graph() -> None:
    part = GRAPH.subgraph({"Y", "B"})
    assert part.nodes == ("B", "Y")
    assert part == MixedGraph(["B", "Y"], [("B", "Y")], [("B", "Y")])


@given(mixed_graphs(), st.permutations(["v", "w", "x", "y", "z"]))
def test_relabelling_relabels_every_answer(graph: MixedGraph, fresh: list[str]) -> None:
    new = dict(zip(graph.nodes, fresh, strict=False))
    renamed = graph.relabel(new)
    assert renamed.is_acyclic == graph.is_acyclic
    for node in graph.nodes:
        assert renamed.ancestors(new[node]) == tuple(new[name] for name in graph.ancestors(node))
        assert renamed.do(new[node]) == graph.do(node).relabel(new)
    assert renamed.relabel({name: old for old, name in new.items()}) == graph


def test_relabel_may_swap_names() -> None:
    swapped = MixedGraph(["A", "B"], [("A", "B")]).relabel({"A": "B", "B": "A"})
    assert swapped.directed == (("B", "A"),)


def test_masks_and_names_are_inverse() -> None:
    assert GRAPH.names(GRAPH.mask(["Y", "A"])) == ("A", "Y")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["A", "B", "A"],), GraphError, "node names must differ, but these occur more than once: 'A'"),
        ((["A", 1],), GraphError, "node name 1 is not a non-empty string"),
        ((["A", ""],), GraphError, "node name '' is not a non-empty string"),
        ((["A", "B"], [("A", "A")]), GraphError, r"edge \('A', 'A'\) is a self-loop"),
        ((["A", "B"], [], [("B", "B")]), GraphError, r"edge \('B', 'B'\) is a self-loop"),
        ((["A", "B"], [("A", "X")]), UnknownVariableError, "the graph has no node 'X'; its nodes are 'A', 'B'"),
        ((["A", "B"], [], [("X", "A")]), UnknownVariableError, "the graph has no node 'X'; its nodes are 'A', 'B'"),
        ((["A", "B"], [("A", ["B"])]), UnknownVariableError, r"the graph has no node \['B'\]"),
        ((["A", "B"], ["AB"]), GraphError, "edge 'AB' is not a pair of node names"),
        ((["A", "B"], [("A", "B", "A")]), GraphError, r"edge \('A', 'B', 'A'\) is not a pair of node names"),
        ((["A", "B"], [3]), GraphError, "edge 3 is not a pair of node names"),
        ((["A", "B"], [{"A", "B"}]), GraphError, "edge {.*} is not a pair of node names"),
    ],
)
def test_bad_graphs(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        MixedGraph(*arguments)


@pytest.mark.parametrize("method", ["parents", "children", "spouses", "ancestors", "descendants", "do", "subgraph"])
def test_unknown_names_are_refused(method: str) -> None:
    with pytest.raises(UnknownVariableError, match="the graph has no node 'X'; its nodes are 'A', 'B', 'C', 'Y'"):
        getattr(GRAPH, method)(["A", "X"])


def test_bad_contexts_and_labels() -> None:
    with pytest.raises(GraphError, match="lever 'A' is already a node; give it another name"):
        GRAPH.with_context({"A": "B"})
    with pytest.raises(UnknownVariableError, match="the graph has no node 'X'"):
        GRAPH.with_context({"I": "X"})
    with pytest.raises(UnknownVariableError, match="the graph has no node 'X'"):
        GRAPH.relabel({"X": "Z"})
    with pytest.raises(GraphError, match="these occur more than once: 'B'"):
        GRAPH.relabel({"A": "B"})
