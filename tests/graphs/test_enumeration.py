import math
from collections import Counter
from itertools import combinations, permutations

import networkx as nx
import pytest

from causal_bandits.core.graphs import MixedGraph, all_dags, dag_classes, to_networkx
from causal_bandits.errors import GraphError, UnknownVariableError

NODES = ("A", "B", "C", "Y")


@pytest.mark.parametrize(("n", "number"), [(0, 1), (1, 1), (2, 3), (3, 25), (4, 543)])
def test_number_of_dags(n: int, number: int) -> None:
    dags = list(all_dags(NODES[:n]))
    assert len(dags) == len(set(dags)) == number
    assert all(graph.is_acyclic and graph.nodes == NODES[:n] for graph in dags)


def test_numbers_of_the_all_dag_experiment() -> None:
    """paper-notes, 2.2: 543 DAGs, 343 with a parent of Y, 64 classes of those."""
    assert sum(bool(graph.parents("Y")) for graph in all_dags(NODES)) == 343
    classes = dag_classes(NODES, "Y")
    assert len(classes) == 64
    assert sum(size for _, size in classes) == 343
    assert all(graph.parents("Y") for graph, _ in classes)
    everything = dag_classes(NODES, "Y", with_parent=False)
    assert sum(size for _, size in everything) == 543


@pytest.mark.parametrize("with_parent", [True, False])
def test_number_of_classes_by_burnsides_lemma(with_parent: bool) -> None:
    """The number of orbits is the mean number of graphs that a permutation leaves as they are."""
    dags = [graph for graph in all_dags(NODES) if graph.parents("Y") or not with_parent]
    moves = [dict(zip("ABC", order, strict=True)) for order in permutations("ABC")]
    fixed = sum(graph.relabel(move) == graph for graph in dags for move in moves)
    assert len(dag_classes(NODES, "Y", with_parent=with_parent)) * len(moves) == fixed


def test_classes_are_pairwise_not_isomorphic() -> None:
    """Isomorphic = networkx's own search finds a renaming that keeps Y. Every DAG has exactly one class."""
    marked = []
    for graph, _ in dag_classes(NODES, "Y"):
        G = to_networkx(graph)
        nx.set_node_attributes(G, {name: name == "Y" for name in graph.nodes}, "target")
        marked.append(G)
    same_role = nx.algorithms.isomorphism.categorical_node_match("target", None)
    assert not any(nx.is_isomorphic(one, other, node_match=same_role) for one, other in combinations(marked, 2))


def test_size_is_the_number_of_distinct_renamings() -> None:
    dags = Counter(graph for graph in all_dags(NODES) if graph.parents("Y"))
    for graph, size in dag_classes(NODES, "Y"):
        orbit = {graph.relabel(dict(zip("ABC", order, strict=True))) for order in permutations("ABC")}
        assert len(orbit) == size
        dags.subtract(orbit)
    assert set(dags.values()) == {0}


def test_the_graph_of_a_class_is_its_first_dag() -> None:
    order = {graph: i for i, graph in enumerate(all_dags(NODES))}
    for graph, _ in dag_classes(NODES, "Y", with_parent=False):
        renamings = (graph.relabel(dict(zip("ABC", names, strict=True))) for names in permutations("ABC"))
        assert order[graph] == min(order[other] for other in renamings)


def test_classes_do_not_depend_on_where_the_target_stands() -> None:
    moved = dag_classes(["Y", "A", "B", "C"], "Y")
    assert Counter(size for _, size in moved) == Counter(size for _, size in dag_classes(NODES, "Y"))
    assert all(graph.parents("Y") for graph, _ in moved)


def test_five_nodes() -> None:
    classes = dag_classes(["A", "B", "C", "D", "Y"], "Y", with_parent=False)
    assert sum(size for _, size in classes) == 29281
    assert all(math.factorial(4) % size == 0 for _, size in classes)


def test_bad_requests() -> None:
    with pytest.raises(GraphError, match="there are too many DAGs over 6 nodes to list; use at most 5 nodes"):
        all_dags(list("ABCDEF"))
    with pytest.raises(GraphError, match="there are too many DAGs over 6 nodes"):
        dag_classes(list("ABCDEF"), "A")
    with pytest.raises(UnknownVariableError, match="the target 'Z' is not one of the nodes 'A', 'B', 'C', 'Y'"):
        dag_classes(NODES, "Z")
    with pytest.raises(GraphError, match="node names must differ"):
        all_dags(["A", "A"])


def test_one_node() -> None:
    assert dag_classes("Y", "Y") == []
    assert dag_classes("Y", "Y", with_parent=False) == [(MixedGraph("Y"), 1)]
