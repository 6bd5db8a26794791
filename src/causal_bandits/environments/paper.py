"""The paper's simulated worlds (appendix B.1)."""

from ..doors import door
from ..errors import WorldError, brief
from ..graphs import MixedGraph
from ..seeds import Seed, generator
from .discrete_scm import DiscreteSCM
from .mechanisms import Mechanism, perfect


@door
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
        raise WorldError("the graph has a directed cycle; a discrete SCM must be acyclic")
    rng = generator(seed)
    coins = {f"U({a},{b})": (a, b) for a, b in graph.bidirected}
    mechanisms = {}
    for name in graph.nodes:
        parents = [*graph.parents(name), *(coin for coin, ends in coins.items() if name in ends)]
        mechanisms[name] = _counting(parents, rng.integers(2, size=len(parents)).tolist())
    return DiscreteSCM(
        variables=dict.fromkeys(graph.nodes, 2),
        mechanisms=mechanisms,
        interventions={f"I_{name}": perfect(name) for name in graph.nodes if name != target},
        target=target,
        noise={coin: [0.5, 0.5] for coin in coins},
    )


def _counting(parents: list[str], wanted: list[int]) -> Mechanism:
    def chances(*values: int) -> list[float]:
        matches = sum(value == target for value, target in zip(values, wanted, strict=True))
        one = (1 + matches) / (2 + len(parents))
        return [1 - one, one]

    return Mechanism(parents, chances)
