"""Random graphs: the paper's generator of larger DAGs (appendix B.2), and mixed graphs with independent edges."""

from itertools import combinations, permutations

import numpy as np

from ...errors import GraphError, OptionError, UnknownVariableError, brief, listing, whole_number
from ..seeds import generator
from ..validation import validated
from .mixed import MixedGraph, Names


@validated
def random_dag(nodes: Names, target: str, rng: np.random.Generator | int, *, max_target_parents: int = 3) -> MixedGraph:
    """A random DAG in which the target comes last, as in the paper's appendix B.2.

    The topological order is the given one, with the target moved to the end. From the last node to the
    first, each node X but the target draws a fan-out f between 1 and the number of nodes after it, then f
    times one of these nodes: an edge from X to it is added unless it exists already, or it is the target
    and has ``max_target_parents`` parents. The node just before the target has only the target to choose,
    so the target always has a parent.

    Args:
        nodes: Names of the nodes, the target among them.
        target: The reward.
        rng: Generator or seed.
        max_target_parents: Most parents of the target.

    >>> random_dag(["A", "B", "C", "Y"], "Y", rng=0)
    MixedGraph(A -> B, B -> Y, C -> Y)
    """
    names = MixedGraph(nodes).nodes  # rejects bad names
    if target not in names:
        raise UnknownVariableError(f"the target {brief(target)} is not one of the nodes {listing(names)}")
    if len(names) < 2:
        raise GraphError("a random DAG needs at least one node besides the target")
    max_target_parents = whole_number("max_target_parents", max_target_parents, 1)
    rng = generator(rng)
    order = [*(name for name in names if name != target), target]
    edges: dict[tuple[str, str], None] = {}
    target_parents = 0
    for i in reversed(range(len(order) - 1)):
        after = order[i + 1 :]
        fan_out = rng.integers(1, len(after), endpoint=True)
        for k in rng.integers(len(after), size=fan_out):
            edge = (order[i], after[k])
            if edge in edges or (after[k] == target and target_parents == max_target_parents):
                continue
            edges[edge] = None
            target_parents += after[k] == target
    return MixedGraph(order, edges)


def random_mixed_graph(
    nodes: Names, rng: np.random.Generator | int, *, p_directed: float, p_bidirected: float, acyclic: bool = True
) -> MixedGraph:
    """A random graph in which every possible edge is present or not, independently of the others.

    Acyclic: one of all orders of the nodes is drawn first, and only edges along it are possible. Otherwise both
    directions are possible, independently, so the graph may have cycles.

    >>> random_mixed_graph(["A", "B", "C"], rng=0, p_directed=0.5, p_bidirected=0.2)
    MixedGraph(C -> A, C -> B)
    """
    names = MixedGraph(nodes).nodes  # rejects bad names
    for option, p in (("p_directed", p_directed), ("p_bidirected", p_bidirected)):
        if not 0 <= p <= 1:
            raise OptionError(f"{option} is {p}, but a probability lies between 0 and 1")
    rng = np.random.default_rng(rng)
    if acyclic:
        possible = list(combinations([names[i] for i in rng.permutation(len(names))], 2))
    else:
        possible = list(permutations(names, 2))
    pairs = list(combinations(names, 2))
    # A uniform draw is below 1 always and below 0 never, so both ends of the range mean what they say.
    directed = rng.random(len(possible)) < p_directed
    bidirected = rng.random(len(pairs)) < p_bidirected
    return MixedGraph(
        names,
        [edge for edge, present in zip(possible, directed, strict=True) if present],
        [pair for pair, present in zip(pairs, bidirected, strict=True) if present],
    )
