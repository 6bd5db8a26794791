"""Worlds with cycles, by number: random graphs over 4 variables, confounded or not, with separating sets or without."""

import numpy as np

from ...core.graphs import MixedGraph, random_mixed_graph, separating_sets
from ..worlds import DiscreteSCM, cyclic_world

NAMES = ("A", "B", "C", "Y")


def cyclic_graph(rng: np.random.Generator, *, confounded: bool, separable: bool) -> MixedGraph:
    """A random graph with a cycle among the causes of the reward, on which the reward may be itself.

    Args:
        rng: Generator of the graph.
        confounded: Whether there is a hidden common cause.
        separable: Whether some set separates all levers from the reward (by sigma-separation).
    """
    while True:
        bidirected = 0.3 if confounded else 0.0
        graph = random_mixed_graph(NAMES, rng, p_directed=0.35, p_bidirected=bidirected, acyclic=False)
        above = set(graph.ancestors("Y"))
        parts = [part for part in graph.strongly_connected_components() if len(part) > 1 and above.issuperset(part)]
        if parts and bool(graph.bidirected) == confounded and _has_sets(graph) == separable:
            return graph


def _has_sets(graph: MixedGraph) -> bool:
    levers = {f"I_{name}": name for name in NAMES[:-1]}
    return bool(separating_sets(graph.with_context(levers), levers, "Y"))


def four_node_cycles(
    confounded: bool, separable: bool, _horizon: int, _number: int, seed: np.random.SeedSequence
) -> DiscreteSCM:
    """A world on such a graph, with the paper's distribution if its updates converge."""
    rng = np.random.default_rng(seed)
    return cyclic_world(cyclic_graph(rng, confounded=confounded, separable=separable), seed=rng)
