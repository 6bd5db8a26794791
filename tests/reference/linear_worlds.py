"""Linear Gaussian worlds with and without a separating set, for tests and benchmarks."""

from typing import Any

import numpy as np

from causal_bandits import LinearGaussianSCM, MixedGraph
from causal_bandits.research.worlds import random_linear_world, shift

DAGS = {
    "chain": MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")]),
    "collider": MixedGraph(["A", "B", "Y"], directed=[("A", "Y"), ("B", "Y")]),
    "late": MixedGraph(["A", "B", "C", "Y"], directed=[("A", "C"), ("B", "C"), ("C", "Y")]),
    "two paths": MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("A", "C"), ("B", "Y"), ("C", "Y")]),
    "one cause": MixedGraph(["A", "B", "C", "Y"], directed=[("A", "Y"), ("A", "B"), ("B", "C")]),
}


def beside(graph: MixedGraph, seed: int) -> LinearGaussianSCM:
    """Every intervention shifts the reward itself besides, each by its own amount."""
    base, rng = random_linear_world(graph, seed=seed), np.random.default_rng(seed)
    changes: Any = {lever: {"idle": {}} for lever in base.problem.intervention_names}
    for lever, effects in changes.items():
        for value, by in (("up", 1.0), ("down", -1.0)):
            effects[value] = {lever[2:]: shift(by), "Y": shift(float(rng.normal()))}
    single = [{}, *({lever: value} for lever in changes for value in ("up", "down"))]
    return LinearGaussianSCM(base.coefficients, changes, variables=graph.nodes, arms=single)


def direct(seed: int) -> LinearGaussianSCM:
    """Eight arms that act on the reward and on nothing else; a cause and an effect of it are observed."""
    rng = np.random.default_rng(seed)
    effects: Any = {0: {}} | {value: {"Y": shift(float(rng.normal()))} for value in range(1, 8)}
    return LinearGaussianSCM({("A", "Y"): 1.0, ("Y", "B"): 1.0}, {"I": effects})


UNSHARED = {
    "besides": [beside(DAGS[name], number) for number, name in enumerate(("chain", "late", "two paths"))],
    "directly": [direct(seed) for seed in range(3)],
}
