"""The paper's simulated worlds (appendix B.1)."""

from collections.abc import Mapping

import numpy as np

from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.seeds import Seed, generator
from ...core.validation import validated
from ...errors import WorldError, brief
from .discrete_scm import DiscreteSCM
from .mechanisms import Mechanism, perfect


@validated
def paper_world(graph: MixedGraph, *, target: str = "Y", seed: Seed = None) -> DiscreteSCM:
    """Binary variables on a DAG with perfect interventions on every variable but the target.

    Each parent of X gets a random target value; with m parents at theirs, P(X = 1) = (1 + m) / (2 + parents).
    A bidirected edge, which the paper does not have here, is a fair coin that counts as a parent of both its ends.

    Args:
        graph: Acyclic graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the parents' target values.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")])
    >>> world = paper_world(graph, seed=0)
    >>> len(world.problem.arms), sorted(set(world.means.round(3).tolist()))
    (9, [0.333, 0.444, 0.5, 0.556, 0.667])
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {list(graph.nodes)}")
    if not graph.is_acyclic:
        raise WorldError("the graph has a directed cycle; use cyclic_world(), or a graph without one")
    return counting_world(graph, target, random_targets(graph, generator(seed)))


def random_targets(graph: MixedGraph, rng: np.random.Generator) -> dict[str, list[int]]:
    """A target value for each parent of each variable: its parents in the graph, then the coins it shares."""
    return {name: rng.integers(2, size=len(_parents(graph, name))).tolist() for name in graph.nodes}


def counting_world(
    graph: MixedGraph, target: str, wanted: Mapping[str, list[int]], start: Mapping[str, Level] | None = None
) -> DiscreteSCM:
    """The world with these target values; cycles converge from `start`."""
    return DiscreteSCM(
        variables=dict.fromkeys(graph.nodes, 2),
        mechanisms={name: _counting(_parents(graph, name), wanted[name]) for name in graph.nodes},
        interventions={f"I_{name}": perfect(name) for name in graph.nodes if name != target},
        target=target,
        noise={_coin(arc): [0.5, 0.5] for arc in graph.bidirected},
        cycles="unique" if start is None else "iterate",
        start=start,
    )


def _coin(arc: tuple[str, str]) -> str:
    return f"U({arc[0]},{arc[1]})"


def _parents(graph: MixedGraph, name: str) -> list[str]:
    return [*graph.parents(name), *(_coin(arc) for arc in graph.bidirected if name in arc)]


def _counting(parents: list[str], wanted: list[int]) -> Mechanism:
    def chances(*values: int) -> list[float]:
        matches = sum(value == target for value, target in zip(values, wanted, strict=True))
        one = (1 + matches) / (2 + len(parents))
        return [1 - one, one]

    return Mechanism(parents, chances)
