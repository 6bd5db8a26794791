from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from causal_bandits.core.graphs import MixedGraph, random_dag, random_mixed_graph
from causal_bandits.errors import GraphError, OptionError, UnknownVariableError
from tests.reference.graphs import random_dag_distribution


def test_target_is_last_with_one_to_three_parents() -> None:
    rng = np.random.default_rng(0)
    numbers = set()
    for _ in range(300):
        graph = random_dag(["Y", "A", "B", "C", "D", "E"], "Y", rng)
        assert graph.nodes == ("A", "B", "C", "D", "E", "Y")
        assert all(graph.nodes.index(tail) < graph.nodes.index(head) for tail, head in graph.directed)
        assert "E" in graph.parents("Y")
        assert not graph.bidirected
        numbers.add(len(graph.parents("Y")))
    assert numbers == {1, 2, 3}


def test_reference_law_at_three_nodes_by_hand() -> None:
    """B picks Y. A has fan-out 1 (B or Y) or 2 (BB, BY, YB, YY), each with probability 1/2."""
    law = random_dag_distribution(("A", "B", "Y"), 3)
    assert law == {
        MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]): Fraction(3, 8),
        MixedGraph(["A", "B", "Y"], [("A", "Y"), ("B", "Y")]): Fraction(3, 8),
        MixedGraph(["A", "B", "Y"], [("A", "B"), ("A", "Y"), ("B", "Y")]): Fraction(1, 4),
    }


@pytest.mark.parametrize(("nodes", "max_target_parents"), [("ABY", 3), ("ABY", 1), ("ABCY", 2)])
def test_law_of_random_dag(nodes: str, max_target_parents: int) -> None:
    """Null: the draws follow the exact law of appendix B.2, found by walking through every sequence of picks.

    Pearson's chi-squared test on 8000 draws; the standard error of one frequency is sqrt(p (1 - p) / 8000),
    at most 0.0056. False-alarm rate 1e-4 for each of the three cases. Seed 7.
    """
    law = random_dag_distribution(tuple(nodes), max_target_parents)
    assert sum(law.values()) == 1
    rng = np.random.default_rng(7)
    seen = Counter(random_dag(list(nodes), "Y", rng, max_target_parents=max_target_parents) for _ in range(8000))
    assert set(seen) <= set(law)
    expected = np.array([float(weight) * 8000 for weight in law.values()])
    assert expected.min() > 5  # else the chi-squared law would not hold
    observed = np.array([seen[graph] for graph in law])
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_seeds() -> None:
    nodes = ["A", "B", "C", "D", "Y"]
    assert random_dag(nodes, "Y", 5) == random_dag(nodes, "Y", np.random.default_rng(5))
    rng = np.random.default_rng(5)
    assert len({random_dag(nodes, "Y", rng) for _ in range(20)}) > 1
    one, other = (random_mixed_graph(nodes, 5, p_directed=0.5, p_bidirected=0.5) for _ in range(2))
    assert one == other


def test_random_mixed_graph_at_the_ends_of_the_range() -> None:
    nodes = ["A", "B", "C", "Y"]
    empty = random_mixed_graph(nodes, 0, p_directed=0, p_bidirected=0, acyclic=False)
    assert empty == MixedGraph(nodes)
    full = random_mixed_graph(nodes, 0, p_directed=1, p_bidirected=1, acyclic=False)
    assert (len(full.directed), len(full.bidirected)) == (12, 6)
    dag = random_mixed_graph(nodes, 0, p_directed=1, p_bidirected=0)
    assert dag.is_acyclic
    assert len(dag.directed) == 6


def test_frequency_of_edges_in_a_random_mixed_graph() -> None:
    """Null: each directed edge of an acyclic graph has probability p/2 = 0.2, of a cyclic one 0.4; bidirected 0.3.

    4000 graphs; the standard error of a frequency is sqrt(p (1 - p) / 4000), at most 0.0078. Bound: 4.5 standard
    errors on 30 frequencies (2 x 12 directed and, in one of them, 6 bidirected), false-alarm rate 2e-4. Seed 8.
    """
    rng = np.random.default_rng(8)
    nodes = ["A", "B", "C", "Y"]
    for acyclic, p in ((True, 0.2), (False, 0.4)):
        graphs = [
            random_mixed_graph(nodes, rng, p_directed=0.4, p_bidirected=0.3, acyclic=acyclic) for _ in range(4000)
        ]
        assert not acyclic or all(graph.is_acyclic for graph in graphs)
        directed = Counter(edge for graph in graphs for edge in graph.directed)
        assert len(directed) == 12
        for count in directed.values():
            assert abs(count / 4000 - p) < 4.5 * (p * (1 - p) / 4000) ** 0.5
    for count in Counter(edge for graph in graphs for edge in graph.bidirected).values():
        assert abs(count / 4000 - 0.3) < 4.5 * (0.3 * 0.7 / 4000) ** 0.5


def test_bad_requests() -> None:
    with pytest.raises(UnknownVariableError, match="the target 'Z' is not one of the nodes 'A', 'Y'"):
        random_dag(["A", "Y"], "Z", 0)
    with pytest.raises(GraphError, match="a random DAG needs at least one node besides the target"):
        random_dag("Y", "Y", 0)
    with pytest.raises(OptionError, match="max_target_parents=0; expected an integer >= 1"):
        random_dag(["A", "Y"], "Y", 0, max_target_parents=0)
    with pytest.raises(OptionError, match=r"p_directed is 1.5, but a probability lies between 0 and 1"):
        random_mixed_graph(["A", "Y"], 0, p_directed=1.5, p_bidirected=0)
    with pytest.raises(OptionError, match=r"p_bidirected is nan, but a probability lies between 0 and 1"):
        random_mixed_graph(["A", "Y"], 0, p_directed=0.5, p_bidirected=float("nan"))
