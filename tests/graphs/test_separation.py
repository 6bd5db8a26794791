from itertools import combinations, product
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from causal_bandits.core.graphs import (
    MixedGraph,
    random_mixed_graph,
    separated,
    separates,
    separating_sets,
    to_networkx,
)
from causal_bandits.errors import GraphError, OptionError, UnknownVariableError
from tests.graphs.strategies import mixed_graphs
from tests.reference.cycles import acyclified
from tests.reference.graphs import Separation

Criterion = Literal["d", "sigma"]
CRITERIA: tuple[Criterion, ...] = ("d", "sigma")

# The paper's Fig. 1: interventions on A and B, reward Y.
FIGURE_1 = MixedGraph(
    ["A", "B", "S2", "S3", "Y"], directed=[("A", "S2"), ("B", "S2"), ("S2", "S3"), ("S3", "Y")]
).with_context({"I_A": "A", "I_B": "B"})


def subsets(nodes: tuple[str, ...]) -> list[frozenset[str]]:
    return [frozenset(chosen) for size in range(len(nodes) + 1) for chosen in combinations(nodes, size)]


def random_graphs(number: int, nodes: str, *, seed: int) -> list[MixedGraph]:
    """Random graphs from sparse to dense, every second one free to be cyclic."""
    rng = np.random.default_rng(seed)
    return [
        random_mixed_graph(
            list(nodes), rng, p_directed=rng.uniform(0.2, 0.8), p_bidirected=rng.uniform(0, 0.5), acyclic=i % 2 == 0
        )
        for i in range(number)
    ]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_agrees_with_the_path_search_on_500_random_graphs(criterion: Criterion) -> None:
    """Every pair, and every conditioning set, those that hold an end of the path included."""
    cyclic = 0
    for graph in random_graphs(500, "ABCY", seed=1):
        reference = Separation(graph, sigma=criterion == "sigma")
        cyclic += not graph.is_acyclic
        for (a, b), condition in product(combinations(graph.nodes, 2), subsets(graph.nodes)):
            expected = reference.separated({a}, {b}, condition)
            assert separated(graph, a, b, condition, criterion=criterion) == expected, (graph, a, b, condition)
    assert cyclic > 150


@pytest.mark.parametrize("criterion", CRITERIA)
def test_agrees_with_the_path_search_on_every_graph_of_three_nodes(criterion: Criterion) -> None:
    possible = [("A", "B"), ("B", "A"), ("A", "Y"), ("Y", "A"), ("B", "Y"), ("Y", "B")]
    arcs = [("A", "B"), ("A", "Y"), ("B", "Y")]
    for directed, bidirected in product(product([0, 1], repeat=6), product([0, 1], repeat=3)):
        graph = MixedGraph(
            ["A", "B", "Y"],
            [edge for edge, present in zip(possible, directed, strict=True) if present],
            [edge for edge, present in zip(arcs, bidirected, strict=True) if present],
        )
        reference = Separation(graph, sigma=criterion == "sigma")
        for (a, b), condition in product(arcs, subsets(graph.nodes)):
            expected = reference.separated({a}, {b}, condition)
            assert separated(graph, a, b, condition, criterion=criterion) == expected, (graph, a, b, condition)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_agrees_with_the_path_search_on_sets(criterion: Criterion) -> None:
    """Random sets, which may overlap each other and the conditioning set, on five nodes."""
    rng = np.random.default_rng(2)
    for graph in random_graphs(150, "ABCDY", seed=3):
        reference = Separation(graph, sigma=criterion == "sigma")
        for _ in range(50):
            a, b, condition = ({name for name in graph.nodes if rng.random() < 0.3} for _ in range(3))
            expected = reference.separated(a, b, condition)
            assert separated(graph, a, b, condition, criterion=criterion) == expected, (graph, a, b, condition)


def test_agrees_with_networkx_on_dags() -> None:
    rng = np.random.default_rng(4)
    for nodes in ("ABCDY", "ABCDEY") * 10:
        graph = random_mixed_graph(list(nodes), rng, p_directed=0.4, p_bidirected=0)
        G = to_networkx(graph)
        for a, b in combinations(graph.nodes, 2):
            for condition in subsets(tuple(name for name in graph.nodes if name not in (a, b))):
                assert separated(graph, a, b, condition) == nx.is_d_separator(G, {a}, {b}, condition)


def test_agrees_with_networkx_on_hidden_causes() -> None:
    rng = np.random.default_rng(5)
    for _ in range(15):
        graph = random_mixed_graph(list("ABCDY"), rng, p_directed=0.3, p_bidirected=0.3)
        G = to_networkx(graph)
        for a, b in combinations(graph.nodes, 2):
            for condition in subsets(tuple(name for name in graph.nodes if name not in (a, b))):
                assert separated(graph, a, b, condition) == nx.is_d_separator(G, {a}, {b}, condition)


@given(mixed_graphs(), st.data())
def test_sigma_separation_is_d_separation_without_the_cycles(graph: MixedGraph, data: st.DataObject) -> None:
    """In the acyclification of Bongers et al. (2021), asked of networkx."""
    G = acyclified(graph)
    nodes = data.draw(st.permutations(graph.nodes))
    assume(len(nodes) > 1)
    parts = ["a", "b", *(data.draw(st.sampled_from(["a", "b", "given", "none"])) for _ in nodes[2:])]
    a, b, condition = ({x for x, part in zip(nodes, parts, strict=True) if part == of} for of in ("a", "b", "given"))
    assert separated(graph, a, b, condition, criterion="sigma") == nx.is_d_separator(G, a, b, condition)


@given(mixed_graphs(), st.data())
def test_symmetric_and_invariant_under_relabelling(graph: MixedGraph, data: st.DataObject) -> None:
    some = st.sets(st.sampled_from(graph.nodes))
    a, b, condition = data.draw(some), data.draw(some), data.draw(some)
    new = dict(zip(graph.nodes, data.draw(st.permutations(graph.nodes)), strict=True))
    renamed = graph.relabel(new)
    for criterion in CRITERIA:
        answer = separated(graph, a, b, condition, criterion=criterion)
        assert separated(graph, b, a, condition, criterion=criterion) == answer
        moved = ({new[name] for name in names} for names in (a, b, condition))
        assert separated(renamed, *moved, criterion=criterion) == answer


@given(mixed_graphs(acyclic=True), st.data())
def test_the_two_criteria_agree_without_cycles(graph: MixedGraph, data: st.DataObject) -> None:
    some = st.sets(st.sampled_from(graph.nodes))
    a, b, condition = data.draw(some), data.draw(some), data.draw(some)
    answers = {separated(graph, a, b, condition, criterion=c) for c in ("auto", "d", "sigma")}
    assert len(answers) == 1


def test_cycles_are_read_by_sigma_separation_unless_told_otherwise() -> None:
    """With B and C on a cycle, A -> B and D -> C, the set {B, C} d-separates A from D, but not by sigma."""
    graph = MixedGraph(list("ABCD"), [("A", "B"), ("B", "C"), ("C", "B"), ("D", "C")])
    assert separated(graph, "A", "D", {"B", "C"}, criterion="d")
    assert not separated(graph, "A", "D", {"B", "C"}, criterion="sigma")
    assert not separated(graph, "A", "D", {"B", "C"})


def test_ends_by_definition_1() -> None:
    graph = MixedGraph(["A", "Y"], [("A", "Y")])
    assert not separated(graph, "A", "A")
    assert separated(graph, "A", "A", "A")
    assert separated(graph, "A", "Y", "A")
    assert separated(graph, (), "Y")


def test_separating_sets_of_the_papers_example() -> None:
    found = separating_sets(FIGURE_1, ["I_A", "I_B"], "Y")
    assert found[:4] == [("S2",), ("S3",), ("A", "B"), ("A", "S2")]
    assert () not in found
    assert len(found) == len(set(found)) == 13
    assert [len(chosen) for chosen in found] == sorted(len(chosen) for chosen in found)
    assert separating_sets(FIGURE_1, ["I_A", "I_B"], "Y", max_size=1) == [("S2",), ("S3",)]
    assert separating_sets(FIGURE_1, ["I_A", "I_B"], "Y", within=["B", "A", "S3"], max_size=2) == [
        ("S3",),
        ("A", "B"),
        ("A", "S3"),
        ("B", "S3"),
    ]


@given(mixed_graphs(), st.booleans())
@settings(max_examples=50)
def test_separating_sets_are_those_that_separate_each_context(graph: MixedGraph, confounded: bool) -> None:
    target, *others = graph.nodes
    contexts = {f"I_{name}": name for name in others}
    contextual = graph.with_context(contexts, confounded=confounded)
    found = separating_sets(contextual, contexts, target)
    for chosen in subsets(tuple(others)):
        each = all(separated(contextual, context, target, chosen) for context in contexts)
        assert separates(contextual, chosen, contexts, target) == each
        assert (tuple(name for name in others if name in chosen) in found) == each


def test_partial_sets_condition_on_the_other_contexts() -> None:
    graph = MixedGraph(["S", "Y"], [("S", "Y")]).with_context({"I": "S", "J": "Y"}, confounded=True)
    assert not separates(graph, "S", "I", "Y")
    assert separates(graph, ["S", "J"], "I", "Y")


def test_bad_questions() -> None:
    with pytest.raises(UnknownVariableError, match="the graph has no node 'X'"):
        separated(FIGURE_1, "X", "Y")
    with pytest.raises(UnknownVariableError, match="the graph has no node 'X'"):
        separated(FIGURE_1, "A", "Y", given=["B", "X"])
    wrong: Any = "m"
    with pytest.raises(OptionError, match="criterion='m'; expected one of auto, d, sigma"):
        separated(FIGURE_1, "A", "Y", criterion=wrong)
    with pytest.raises(GraphError, match="the separating set contains the target 'Y', which is not allowed"):
        separates(FIGURE_1, ["S2", "Y"], "I_A", "Y")
    with pytest.raises(GraphError, match="the separating set contains 'I_A', which it should separate"):
        separates(FIGURE_1, ["S2", "I_A"], "I_A", "Y")
    with pytest.raises(GraphError, match="the target 'Y' is among the levers"):
        separates(FIGURE_1, ["S2"], ["I_A", "Y"], "Y")
    with pytest.raises(GraphError, match="within contains the target 'Y', which is not allowed"):
        separating_sets(FIGURE_1, "I_A", "Y", within=["A", "Y"])
    with pytest.raises(OptionError, match="max_size=-1; expected an integer >= 0"):
        separating_sets(FIGURE_1, "I_A", "Y", max_size=-1)
    many = MixedGraph([f"V{i}" for i in range(30)])
    with pytest.raises(OptionError, match=r"268435456 sets are too many to try .* or set max_size"):
        separating_sets(many, "V0", "V1")
