"""Thompson Sampling over causal graphs, as compiled rules over local counts.

Nodes are the observed variables and, last, the reward. A node X with parents P has one chance vector per joint value of
P, with the prior Dirichlet(1, ..., 1), learned from the rows in which no lever acts on X; the product of one-step
predictions is the local score, so a row adds one logarithm to each. A graph's posterior is the product of its scores.
"""

from typing import NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled, put
from ...core.policies.protocol import choose, indices, learn, prepare, prepare_nothing, sample_means

FIXED = 0.05
"""Prior count of each value of a node that a lever acts on: such a node is nearly always one value, not known which."""


@by_reference
class GraphState(NamedTuple):
    """Local counts and scores of every node given every set of parents."""

    sizes: Ints
    """(nodes,): levels."""
    acting: Ints
    """(arms, nodes): the number of the setting that acts on the node; 0: none."""
    strides: Ints
    """(nodes, masks, nodes): the joint value of the parents in a mask is the dot product of a row with this."""
    starts: Ints
    """(nodes, masks): where the counts (joint values of the parents, levels) begin; -1: not a set of parents."""
    counts: Ints
    scores: Floats
    """(nodes, masks): log marginal likelihood."""
    fixed: Ints
    """(nodes, settings, levels): what a node was while a lever acted on it."""
    graphs: Ints
    """(graphs, nodes): the mask of each node's parents."""
    own: Ints
    """(arms, 2): rewards."""
    allowed: Bools


@compiled
def joint_value(state: GraphState, node: int, mask: int, values: Ints) -> int:
    """The number of the parents' joint value."""
    found = 0
    for parent in range(len(state.sizes)):
        found += state.strides[node, mask, parent] * values[parent]
    return found


@learn.of(GraphState)
@compiled
def learn_graph_row(state: GraphState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row in every local table of every node that was left to its causes."""
    nodes = len(state.sizes)
    values = np.empty(nodes, dtype=np.int64)
    put(values[: nodes - 1], codes)
    values[nodes - 1] = reward
    state.own[arm, reward] += 1
    for node in range(nodes):
        setting = state.acting[arm, node]
        if setting:
            state.fixed[node, setting, values[node]] += 1
            continue
        size = state.sizes[node]
        for mask in range(state.starts.shape[1]):
            if state.starts[node, mask] < 0:
                continue
            start = state.starts[node, mask] + joint_value(state, node, mask, values) * size
            total = 0
            for level in range(size):
                total += state.counts[start + level]
            at = start + values[node]
            state.scores[node, mask] += np.log((state.counts[at] + 1.0) / (total + size))
            state.counts[at] += 1


@compiled
def graph_weights(state: GraphState) -> Floats:
    """The posterior of every graph, relative to the most probable one."""
    count, nodes = state.graphs.shape
    weights = np.zeros(count)
    for graph in range(count):
        for node in range(nodes):
            weights[graph] += state.scores[node, state.graphs[graph, node]]
    found: Floats = np.exp(weights - weights.max())
    return found


@compiled
def draw_graph(state: GraphState, rng: np.random.Generator) -> int:
    """A graph from its posterior."""
    cumulative = np.cumsum(graph_weights(state))
    place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    return min(int(place), len(cumulative) - 1)


@compiled
def _draw_chances(counts: Ints, prior: float, rng: np.random.Generator, chances: Floats) -> None:
    """A draw of Dirichlet(counts + prior)."""
    total = 0.0
    for level in range(len(counts)):
        chances[level] = rng.standard_gamma(counts[level] + prior)
        total += chances[level]
    for level in range(len(counts)):
        chances[level] = chances[level] / total if total > 0 else 1 / len(counts)


@compiled
def draw_parameters(state: GraphState, masks: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Chances of every node: (nodes, joint values of its parents, levels), and under every setting of its levers."""
    nodes, most = len(state.sizes), state.sizes.max()
    widest = 1
    for node in range(nodes):
        widest = max(widest, _joint_values(state, masks[node]))
    free = np.zeros((nodes, widest, most))
    fixed = np.zeros((nodes, state.fixed.shape[1], most))
    for node in range(nodes):
        size, start = state.sizes[node], state.starts[node, masks[node]]
        for value in range(_joint_values(state, masks[node])):
            _draw_chances(state.counts[start + value * size : start + (value + 1) * size], 1.0, rng, free[node, value])
        for setting in range(1, state.fixed.shape[1]):
            _draw_chances(state.fixed[node, setting, :size], FIXED, rng, fixed[node, setting])
    return free, fixed


@compiled
def _joint_values(state: GraphState, mask: int) -> int:
    count = 1
    for node in range(len(state.sizes)):
        if mask >> node & 1:
            count *= state.sizes[node]
    return count


@compiled
def graph_mean(state: GraphState, masks: Ints, arm: int, free: Floats, fixed: Floats) -> float:
    """P(reward = 1 | arm): the sum over all joint values with the reward 1 of the product of the nodes' chances."""
    nodes = len(state.sizes)
    values = np.zeros(nodes, dtype=np.int64)
    values[nodes - 1] = 1
    mean = 0.0
    while True:
        chance = 1.0
        for node in range(nodes):
            setting = state.acting[arm, node]
            if setting:
                chance *= fixed[node, setting, values[node]]
            else:
                chance *= free[node, joint_value(state, node, masks[node], values), values[node]]
        mean += chance
        node = 0  # the next joint value, like the digits of a counter
        while node < nodes - 1:
            values[node] += 1
            if values[node] < state.sizes[node]:
                break
            values[node] = 0
            node += 1
        if node == nodes - 1:
            return mean


@indices.of(GraphState)
@compiled
def draw_graph_means(state: GraphState, rng: np.random.Generator) -> Floats:
    """The mean of every allowed arm in one drawn world: a graph, then its parameters. NaN for the others."""
    masks = state.graphs[draw_graph(state, rng)]
    free, fixed = draw_parameters(state, masks, rng)
    means = np.full(len(state.allowed), np.nan)
    for arm in range(len(means)):
        if state.allowed[arm]:
            means[arm] = graph_mean(state, masks, arm, free, fixed)
    return means


@choose.of(GraphState)
@compiled
def choose_by_graph(state: GraphState, rng: np.random.Generator) -> int:
    """The next arm: the best one of the drawn world."""
    means = draw_graph_means(state, rng)
    best, highest = 0, -1.0
    for arm in range(len(means)):
        if state.allowed[arm] and means[arm] > highest:
            best, highest = arm, means[arm]
    return best


prepare.of(GraphState)(prepare_nothing)  # every draw is of another world


@sample_means.of(GraphState)
@compiled
def means_of_a_world(state: GraphState, prepared: int, rng: np.random.Generator) -> Floats:
    """The means of a drawn world."""
    return draw_graph_means(state, rng)
