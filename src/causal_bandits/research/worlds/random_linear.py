"""Random linear worlds on a graph."""

import numpy as np

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.seeds import generator
from ...core.validation import validated
from ...errors import WorldError, brief, listing
from .changes import Change, shift
from .feedback import parts_in_order
from .linear_scm import LinearGaussianSCM
from .mechanisms import IDLE

MOST_FEEDBACK = 0.7
"""The spectral radius that cycles are scaled down to."""


@validated
def random_linear_world(
    graph: MixedGraph, *, target: str = "Y", seed: int | np.random.SeedSequence | np.random.Generator | None = None
) -> LinearGaussianSCM:
    """A linear Gaussian world on a graph, with a shift up or down by 1 on every variable but the target.

    Coefficients are uniform in [0.5, 1.5] with a random sign, noises have standard deviation 1. Bidirected edges
    are correlations of 0.5 with random signs, all of them smaller where no matrix has these. Coefficients within a
    strongly connected component are smaller where its spectral radius would be above 0.7.

    Args:
        graph: Graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the coefficients and signs.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")], bidirected=[("A", "Y")])
    >>> world = random_linear_world(graph, seed=0)
    >>> len(world.problem.arms), world.graph == graph
    (9, True)
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {listing(graph.nodes)}")
    rng = generator(seed)
    sizes = rng.uniform(0.5, 1.5, size=len(graph.directed)) * rng.choice([-1.0, 1.0], size=len(graph.directed))
    sizes = _stable(graph, sizes)
    signs = rng.choice([-1.0, 1.0], size=len(graph.bidirected))
    adjacency = np.zeros((len(graph.nodes), len(graph.nodes)))
    for (one, other), sign in zip(graph.bidirected, signs, strict=True):
        at = graph.nodes.index(one), graph.nodes.index(other)
        adjacency[at] = adjacency[at[::-1]] = sign
    least = np.linalg.eigvalsh(adjacency)[0]
    rho = 0.5 if least > -1.8 else -0.9 / least  # no eigenvalue of 1 + rho * adjacency is below 0.1
    return LinearGaussianSCM(
        dict(zip(graph.directed, sizes.tolist(), strict=True)),
        {f"I_{name}": _up_and_down(name) for name in graph.nodes if name != target},
        target=target,
        variables=graph.nodes,
        correlated=dict(zip(graph.bidirected, (rho * signs).tolist(), strict=True)),
    )


def _stable(graph: MixedGraph, sizes: Floats) -> Floats:
    """The coefficients, smaller where they feed back too much."""
    place = {name: number for number, name in enumerate(graph.nodes)}
    for part in parts_in_order(graph):
        if len(part) == 1:
            continue
        inner = [edge for edge, (tail, head) in enumerate(graph.directed) if {place[tail], place[head]} <= set(part)]
        weights = np.zeros((len(graph.nodes), len(graph.nodes)))
        for edge in inner:
            tail, head = graph.directed[edge]
            weights[place[head], place[tail]] = sizes[edge]
        radius = float(np.abs(np.linalg.eigvals(weights)).max())
        sizes[inner] *= min(1.0, MOST_FEEDBACK / max(radius, MOST_FEEDBACK))
    return sizes


def _up_and_down(name: str) -> dict[Level, dict[str, Change]]:
    return {IDLE: {}, "up": {name: shift(1.0)}, "down": {name: shift(-1.0)}}
