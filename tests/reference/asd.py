"""A naive ASD: graphs one by one, separation by paths, losses by adding up."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from causal_bandits.core.discovery.asd.graph_space import Graphs, Space
from causal_bandits.core.discovery.asd.statements import Statements
from causal_bandits.core.graphs import MixedGraph

from .graphs import Separation


def name(space: Space, node: int) -> str:
    """System nodes are V0, V1, ...; contexts I0, I1, ..."""
    return f"V{node}" if node < space.system else f"I{node - space.system}"


def graph_of(space: Space, graphs: Graphs, place: int) -> MixedGraph:
    """A graph of the space with its contexts, built edge by edge (JCI1, JCI2, JCI3 and known targets)."""
    system = range(space.system)
    nodes = [name(space, node) for node in range(space.system + space.contexts)]
    parents, spouses = graphs.parents[place], graphs.spouses[place]
    directed = [(nodes[a], nodes[b]) for a in system for b in system if parents[b] >> a & 1]
    bidirected = [(nodes[a], nodes[b]) for a in system for b in system if a < b and spouses[b] >> a & 1]
    contexts = nodes[space.system :]
    directed += [
        (c, nodes[b]) for c, mask in zip(contexts, space.targets, strict=True) for b in system if mask >> b & 1
    ]
    bidirected += [(c, d) for c in contexts for d in contexts if c < d]
    return MixedGraph(nodes, directed, bidirected)


def holds(space: Space, graph: MixedGraph, statements: Statements) -> NDArray[np.bool_]:
    """Whether each statement holds in a graph, by searching all paths."""
    separation = Separation(graph, sigma=not space.acyclic)
    found = []
    for first, second, given in zip(*statements, strict=True):
        members = {name(space, node) for node in range(space.system + space.contexts) if given >> node & 1}
        found.append(separation.separated({name(space, first)}, {name(space, second)}, members))
    return np.array(found)


def loss(weights: NDArray[np.float64], holding: NDArray[np.bool_]) -> float:
    """The weight of the violated statements, one by one."""
    total = 0.0
    for weight, separated in zip(weights, holding, strict=True):
        if weight > 0 and not separated:
            total += weight
        if weight < 0 and separated:
            total -= weight
    return total


def all_losses(
    space: Space, graphs: Graphs, statements: Statements, weights: NDArray[np.float64]
) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    """Loss and separations of every graph."""
    for place in range(len(graphs.parents)):
        holding = holds(space, graph_of(space, graphs, place), statements)
        yield loss(weights, holding), holding
