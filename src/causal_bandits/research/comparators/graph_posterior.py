"""Thompson Sampling over causal graphs: for those who know what their levers act on and accept no hidden causes.

Nodes are the observed variables and, last, the reward. A node X with parents P has one chance vector per joint value of
P, with the prior Dirichlet(1, ..., 1), learned from the rows in which no lever acts on X; the product of one-step
predictions is the local score, so a row adds one logarithm to each. A graph's posterior is the product of its scores.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled, put
from ...core.data import TableLayout
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph
from ...core.graphs.enumeration import MOST_NODES, edge_sets
from ...core.policies.posterior import Posterior, sampler_of
from ...core.policies.protocol import indices, learn
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError, ProblemError, whole_number
from .base import WithoutSets
from .counts import drawn

FIXED = 0.05
"""Prior count of each value of a node that a lever acts on: such a node is nearly always one value, not known which."""


@drawn
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


DRAWS = 1000
"""Worlds drawn for posterior means."""
MOST_VALUES = 2**14
"""Joint values of the observed variables that a round may go through, for each arm."""


class GraphPosteriorThompson(WithoutSets[GraphState]):
    """Draws a causal graph and its parameters from their exact posterior, and plays the arm that is best there.

    It is given what every lever acts on (``Problem(..., targets=...)``) and assumes that a lever overrides the other
    causes of what it acts on, and that no two variables have a hidden common cause; where that is wrong, it may
    converge on a bad arm. All graphs are listed, so there can be at most 4 observed variables. Rows must be complete.

    Args:
        problem: What is played; `targets` must say what every lever acts on.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]}, targets={"I": "A"})
    >>> policy = GraphPosteriorThompson(problem, seed=0)
    >>> for arm, a in (({}, 0), ({"I": "on"}, 1)):
    ...     for _ in range(20):
    ...         policy.tell(arm, {"A": a, "Y": a})
    >>> policy.recommend().arm
    do(I=on)
    >>> [(str(graph), round(chance, 2)) for graph, chance in policy.graphs(1)]
    [('MixedGraph(A -> Y)', 1.0)]
    """

    name = "graph-posterior"
    tier = Tier.OBSERVED
    hints = f"{TARGETS}, and that there are no hidden common causes"
    assumes = ("unconfounded",)
    plays_highest = True

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> TableLayout:
        layout = super()._make_layout(problem)
        _check_problem(problem)
        return layout

    def graphs(self, count: int = 10) -> list[tuple[MixedGraph, float]]:
        """The most probable graphs with their posterior probabilities."""
        state = self._state
        weights = graph_weights(state)
        names = (*self.problem.observed_names, self.problem.target)
        best = np.argsort(-weights, kind="stable")[: whole_number("count", count, 1)]
        return [(_graph(names, state.graphs[place]), float(weights[place] / weights.sum())) for place in best]

    def _empty(self) -> GraphState:
        problem = self.problem
        sizes = np.array([*(variable.size for variable in problem.observed), 2], dtype=np.int64)
        strides, starts, length = _local_tables(sizes)
        acting = mechanism_numbers(problem)
        return GraphState(
            sizes,
            acting,
            strides,
            starts,
            np.zeros(length, dtype=np.int64),
            np.zeros(starts.shape),
            np.zeros((len(sizes), int(acting.max()) + 1, int(sizes.max())), dtype=np.int64),
            all_graphs(len(sizes)),
            np.zeros((len(problem.arms), 2), dtype=np.int64),
            np.ones(len(problem.arms), dtype=np.bool_),
        )

    def _rows_seen(self) -> NDArray[np.int64]:
        return np.array([self.rows])

    def _posterior(self, state: GraphState) -> Posterior:
        """Means over drawn worlds."""
        draws = sampler_of(state, len(state.allowed))(np.random.default_rng(self.rows), DRAWS).clip(1e-9, 1 - 1e-9)
        means, variances = draws.mean(axis=0), np.maximum(draws.var(axis=0), 1e-12)
        return self._beta_posterior(state, means, variances, state.own.sum(axis=1))


def _check_problem(problem: Problem) -> None:
    if len(problem.observed) >= MOST_NODES:
        raise ProblemError(
            f"graph-posterior lists every causal graph, which is possible for {MOST_NODES - 1} observed variables and "
            f"the reward; this problem has {len(problem.observed)}; use SafePolicy"
        )
    values = int(np.prod([variable.size for variable in problem.observed], dtype=np.int64))
    if values > MOST_VALUES:
        raise ProblemError(
            f"{values} joint values of the observed variables are too many to sum over; use fewer levels"
        )
    known = dict(problem.targets)
    for name in problem.intervention_names:
        if name not in known:
            raise OptionError(f"what {name!r} acts on is not known; pass targets={{...}} to Problem")


def _local_tables(sizes: Ints) -> tuple[Ints, Ints, int]:
    """Strides and starts of the local counts, and how many there are."""
    nodes = len(sizes)
    strides = np.zeros((nodes, 2**nodes, nodes), dtype=np.int64)
    starts = np.full((nodes, 2**nodes), -1, dtype=np.int64)
    length = 0
    for node in range(nodes):
        for mask in range(2**nodes):
            if mask >> node & 1:
                continue
            cells = 1
            for parent in range(nodes):
                if mask >> parent & 1:
                    strides[node, mask, parent] = cells
                    cells *= int(sizes[parent])
            starts[node, mask] = length
            length += cells * int(sizes[node])
    return strides, starts, length


@lru_cache(maxsize=MOST_NODES)
def all_graphs(nodes: int) -> Ints:
    """(graphs, nodes): the parents of each node as a mask, for every DAG."""
    found = []
    for edges in edge_sets(nodes):
        masks = [0] * nodes
        for tail, head in edges:
            masks[head] |= 1 << tail
        found.append(masks)
    return np.array(found, dtype=np.int64)


def _graph(names: tuple[str, ...], masks: Ints) -> MixedGraph:
    count = len(names)
    edges = [(names[a], names[b]) for b in range(count) for a in range(count) if masks[b] >> a & 1]
    return MixedGraph(names, edges)


def mechanism_numbers(problem: Problem) -> Ints:
    """(arms, nodes), the reward last: which joint setting of the levers on a node an arm has; 0 where all are idle."""
    nodes = (*problem.observed_names, problem.target)
    idle = np.array([v.code(problem.idle_settings[v.name]) for v in problem.interventions])
    acting = np.zeros((len(problem.arms), len(nodes)), dtype=np.int64)
    for place, node in enumerate(nodes):
        levers = [lever for lever, name in enumerate(problem.intervention_names) if node in dict(problem.targets)[name]]
        settings = problem.arm_codes[:, levers]
        busy = (settings != idle[levers]).any(axis=1)
        if busy.any():
            acting[busy, place] = 1 + np.unique(settings[busy], axis=0, return_inverse=True)[1].reshape(-1)
    return acting
