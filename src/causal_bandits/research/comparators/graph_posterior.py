"""Thompson Sampling over causal graphs: for those who know what their levers act on and accept no hidden causes."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Ints
from ...core.data import TableLayout
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph
from ...core.graphs.enumeration import MOST_NODES, edge_sets
from ...core.policies.arms import mechanism_numbers
from ...core.policies.base import Policy
from ...core.policies.posterior import Posterior, Source, beta_limits, beta_sizes, sampler_of
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError, ProblemError, whole_number
from .graph_rules import GraphState, graph_weights

DRAWS = 1000
"""Worlds drawn for posterior means."""
MOST_VALUES = 2**14
"""Joint values of the observed variables that a round may go through, for each arm."""


class GraphPosteriorThompson(Policy[GraphState]):
    """Draws a causal graph and its parameters from their exact posterior, and plays the arm that is best there.

    It is given what every lever acts on (``Problem(..., targets=...)``) and assumes that a lever overrides the other
    causes of what it acts on, and that no two variables have a hidden common cause; where that is wrong, it may
    converge on a bad arm. All graphs are listed, so there can be at most 4 observed variables. Rows must be complete.

    Args:
        problem: What is played; `targets` must say what every lever acts on.
        seed: Seed or Generator of its draws.

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
    layout: TableLayout

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> TableLayout:
        layout = TableLayout.of(problem, 0)
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
        """Means over drawn worlds; intervals are those of the Beta with the draws' mean and variance."""
        sampler = sampler_of(state, len(state.allowed))
        draws = sampler(np.random.default_rng(self.rows), DRAWS).clip(1e-9, 1 - 1e-9)
        means, variances, own = draws.mean(axis=0), np.maximum(draws.var(axis=0), 1e-12), state.own.sum(axis=1)
        effective = beta_sizes(means, variances) - 2
        sources = [Source(*each) for each in zip(own.tolist(), effective.tolist(), strict=True)]
        return Posterior(self.rows, means, sources, sampler, beta_limits(means, variances))


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
