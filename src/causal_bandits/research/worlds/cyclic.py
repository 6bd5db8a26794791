"""Random worlds whose variables may cause each other."""

from ...core.graphs import MixedGraph
from ...core.seeds import Seed, generator
from ...core.validation import validated
from ...errors import WorldError, brief
from .discrete_scm import DiscreteSCM
from .paper import counting_world, random_targets


@validated
def cyclic_world(graph: MixedGraph, *, target: str = "Y", seed: Seed = None) -> DiscreteSCM:
    """The binary variables of `paper_world` on a graph that may have cycles, the reward on them or not.

    Each parent of X has a target value; with m of them at theirs, P(X = 1) = (1 + m) / (2 + parents). Target values are
    random, but every variable on a cycle has a random level at rest, and is the likelier to leave it the more of its
    parents in the same strongly connected component have left theirs. So feedback is positive around every cycle, and
    updates from rest converge for every noise: this equilibrium is seen. Without cycles it is `paper_world`.

    Args:
        graph: Graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the target values and levels at rest.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "A"), ("B", "Y")])
    >>> world = cyclic_world(graph, seed=0)
    >>> len(world.problem.arms), world.graph == graph, world.separating_sets()
    (9, True, [('B',), ('A', 'B')])
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {list(graph.nodes)}")
    rng = generator(seed)
    wanted = random_targets(graph, rng)
    parts = [part for part in graph.strongly_connected_components() if len(part) > 1]
    if not parts:
        return counting_world(graph, target, wanted)
    rest = dict(zip(graph.nodes, rng.integers(2, size=len(graph.nodes)).tolist(), strict=True))
    for part in parts:
        for name in part:
            for position, parent in enumerate(graph.parents(name)):
                if parent in part:
                    wanted[name][position] = 1 ^ rest[parent] ^ rest[name]
    return counting_world(graph, target, wanted, rest)
