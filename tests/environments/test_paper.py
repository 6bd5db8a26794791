import itertools

import numpy as np
import pytest

from causal_bandits import MixedGraph
from causal_bandits.core.graphs import dag_classes
from causal_bandits.errors import WorldError
from causal_bandits.research.worlds import paper_world


def test_tables_arms_and_interventions_of_all_64_classes() -> None:
    classes = dag_classes(["A", "B", "C", "Y"], "Y")
    assert len(classes) == 64
    for number, (graph, _) in enumerate(classes):
        world = paper_world(graph, seed=number)
        assert world.graph == graph
        assert len(world.problem.arms) == 27
        assert dict(world.problem.targets) == {"I_A": ("A",), "I_B": ("B",), "I_C": ("C",)}
        for name in graph.nodes:
            parents = graph.parents(name)
            variables = [world.variables[parent] for parent in parents]
            ones = world.mechanisms[name].probabilities(world.variables[name], variables)[..., 1]
            # The corner with the highest chance holds the parents' target values.
            wanted = np.unravel_index(ones.argmax(), ones.shape)
            for cell in np.ndindex(ones.shape):
                matches = sum(value == target for value, target in zip(cell, wanted, strict=True))
                assert ones[cell] == pytest.approx((1 + matches) / (2 + len(parents)))  # 1/2 for a root


def test_every_pattern_of_target_values_occurs() -> None:
    graph = MixedGraph(["A", "B", "Y"], [("A", "Y"), ("B", "Y")])
    best = {int(paper_world(graph, seed=seed).means.argmax()) for seed in range(40)}
    arms = paper_world(graph, seed=0).problem.arms
    assert {tuple(arms[place].values()) for place in best} == set(itertools.product((0, 1), repeat=2))


def test_perfect_interventions_cut_the_parents() -> None:
    world = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]), seed=0)
    for value in (0, 1):
        joint = world.distribution({"B": value}, ["A", "B"])
        np.testing.assert_allclose(joint[:, value], [0.5, 0.5])
        np.testing.assert_allclose(joint[:, 1 - value], 0)
        np.testing.assert_allclose(
            world.distribution({"B": value, "A": 1}, ["Y"]), world.distribution({"B": value}, ["Y"])
        )


def test_a_bidirected_edge_is_a_fair_coin_that_counts_as_a_parent() -> None:
    world = paper_world(MixedGraph(["A", "Y"], bidirected=[("A", "Y")]), seed=0)
    assert world.graph == MixedGraph(["A", "Y"], bidirected=[("A", "Y")])
    seen = world.distribution({})
    same = 2 * (1 / 2) * (2 / 3 * 2 / 3 + 1 / 3 * 1 / 3) / 2
    assert max(seen[0, 0], seen[0, 1]) == pytest.approx(same)
    np.testing.assert_allclose(world.means, 0.5)


def test_seeds() -> None:
    graph = dag_classes(["A", "B", "C", "Y"], "Y")[-1].graph
    np.testing.assert_array_equal(paper_world(graph, seed=3).means, paper_world(graph, seed=3).means)
    assert len({tuple(paper_world(graph, seed=seed).means) for seed in range(9)}) > 1


def test_graphs_that_are_no_worlds() -> None:
    with pytest.raises(WorldError, match="target 'Z' is not a node of the graph"):
        paper_world(MixedGraph(["A", "Y"]), target="Z")
    with pytest.raises(WorldError, match="directed cycle"):
        paper_world(MixedGraph(["A", "Y"], [("A", "Y"), ("Y", "A")]))
