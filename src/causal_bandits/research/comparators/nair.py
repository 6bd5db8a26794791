"""Nair, Patil and Sinha 2021: if there is no back-door, observing do() teaches about every arm at once."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph, plain_graph, separated
from ...core.policies.protocol import choose, indices
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import GraphError
from .base import CountingPolicy
from .counts import Counts, arm_index, choose_highest, counted, indices_of_arms, mean_and_rows
from .credit import Credit, credited
from .settings import atomic_arms, checked_graph, set_by, settings_of
from .ucb import ucb1_of_arm


@credited
@counted
@by_reference
class ObservingState(NamedTuple):
    """Counts, whom the rows of do() serve, and the number of do()."""

    counts: Counts
    credit: Credit
    idle: int


arm_index.of(ObservingState)(ucb1_of_arm)


@compiled
def observation_is_due(state: ObservingState) -> bool:
    """N_0 < beta^2 ln t, beta = min(2 sqrt(2) / (best mean - m_0), sqrt(ln t)), or 1 where do() looks best."""
    t, pulls = state.counts.rows[0], state.counts.seen[state.idle].sum()
    if t == 0 or pulls == 0:
        return True
    logarithm, mean, best = math.log(t), mean_and_rows(state.counts, state.idle)[0], 0.0
    for arm in range(len(state.counts.rewards)):
        best = max(best, mean_and_rows(state.counts, arm)[0])
    beta = min(2 * math.sqrt(2) / (best - mean), math.sqrt(logarithm)) if best > mean else 1.0
    return bool(pulls < beta * beta * logarithm)


@choose.of(ObservingState)
@compiled
def choose_or_observe(state: ObservingState, rng: np.random.Generator) -> int:
    """do() while an observation is due, else the highest bound."""
    return state.idle if observation_is_due(state) else choose_highest(state, rng)


@indices.of(ObservingState)
@compiled
def observing_indices(state: ObservingState, rng: np.random.Generator) -> Floats:
    """The bounds, unless an observation is due."""
    if observation_is_due(state):
        return np.full(len(state.counts.allowed), np.nan)
    return indices_of_arms(state, rng)


class NairObserving(CountingPolicy):
    """UCB over do() and arms that set one variable; observed rows with X_i = x count for do(X_i = x) too.

    do() is pulled while N_0 < beta^2 ln t, beta = min(2 sqrt(2) / (best mean - m_0), sqrt(ln t)), or 1 while do() looks
    best; otherwise the highest m_a + sqrt(2 ln t / (N_a + C_a)), C_a the observed rows with X_i = x.

    Only for graphs in which no X_i has an open back-door path to the reward: E[Y | X_i = x] is then E[Y | do(X_i = x)].
    `MaitiObserving` takes the others, and hidden common causes.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward, without open back-door paths as above.
        seed: Seed or Generator of its draws.
    """

    name = "nair-observing"
    tier = Tier.SEPARATING_SET
    needs = ("graph",)
    hints = "the graph, without back-doors"
    without_comparing = "arms were not compared: observing do() was due"

    def __init__(self, problem: Problem, *, graph: MixedGraph, seed: Seed = None) -> None:
        self._sets = settings_of(problem, self.name)
        self._idle = atomic_arms(problem, self._sets, self.name)
        self.graph = checked_graph(problem, graph)
        for names in set_by(problem, self._sets):
            for name in names:
                if has_back_door(graph, name, problem.target):
                    raise GraphError(
                        f"{name!r} has a back-door path to {problem.target!r}, so observing it is not setting it; "
                        "maiti-observing, yabe and pomis-ts take such graphs"
                    )
        self._options = {"graph": plain_graph(graph)}
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> ObservingState:
        donors = np.arange(len(counts.allowed)) == self._idle
        return ObservingState(counts, Credit(self._sets, donors), self._idle)


def has_back_door(graph: MixedGraph, name: str, target: str) -> bool:
    """Whether an open path leads from a variable to the target against one of its own arrows.

    >>> has_back_door(MixedGraph(["A", "B", "Y"], [("A", "B"), ("A", "Y"), ("B", "Y")]), "B", "Y")
    True
    """
    without = MixedGraph(graph.nodes, [edge for edge in graph.directed if edge[0] != name], graph.bidirected)
    return not separated(without, name, target)
