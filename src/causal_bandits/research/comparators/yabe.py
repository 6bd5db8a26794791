"""Yabe et al. 2018: estimate how every node follows its parents, choose pulls for that, then commit."""

import numpy as np

from ...core.compiled import Floats
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph
from ...core.problem import Problem
from ...errors import GraphError
from .allocation import best_allocation
from .base import ALL
from .counts import Counts
from .graph_plan import GraphPlanPolicy
from .sampling import SamplingState
from .ucb import UCB1State


class YabePropagating(GraphPlanPolicy):
    """Node conditionals P(V | pa(V)) are learned from all arms that leave V alone; arms' means follow from them.

    A third of the budget estimates beta_n(pi, A) = P(Pa_n = pi | do(A)) for every node n, propagated along the graph;
    the rest samples arms from the eta that minimizes max_A sum_{n, pi} beta_n(pi, A)^2 / sum_A' eta_A' beta_n(pi, A').
    Then the arm with the highest mean, computed from the conditionals, is played on. Only ancestors of Y matter.

    Deviation: the first third pulls all arms evenly rather than by the paper's adaptive order; conditionals use the
    rows of both parts, smoothed as (count + 1) / (total + levels); eta is within 2% of the best; any number
    of levels.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Acyclic causal graph over the observed variables and the reward, without hidden common causes.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    name = "yabe"
    tier = Tier.SEPARATING_SET
    needs = ("graph", "horizon")
    hints = "the graph, without latents, and the horizon"
    _through = ALL

    def _read(self, problem: Problem, graph: MixedGraph) -> MixedGraph:
        found = graph.subgraph(graph.ancestors(problem.target))
        hidden = [name for name in found.nodes if name not in (*problem.observed_names, problem.target)]
        if hidden or found.bidirected or not found.is_acyclic:
            raise GraphError(f"{self.name} needs an acyclic graph without latents; pomis-ts takes graphs with them")
        return found

    def _start(self, counts: Counts) -> UCB1State:
        self._first = True
        arms = len(counts.allowed)
        each, rest = divmod(max(self.budget // 3, arms), arms)
        return self._explore(UCB1State(counts), each + (np.arange(arms) < rest))

    def _plan(self, state: UCB1State | SamplingState) -> UCB1State | SamplingState:
        counts = state.counts
        joints = self._joints(counts)
        if self._first:
            self._first = False
            eta, _ = best_allocation(self._parent_chances(joints), tolerance=0.02)
            self._plan_at = self._counted + max(1, self.budget - self._counted)
            return SamplingState(counts, eta)
        means = self._means(counts, joints)
        return self._settle(UCB1State(counts), np.arange(len(means)) == int(means.argmax()))

    # Conditionals, joint distributions, means

    def _others(self, name: str, *own: int) -> tuple[int, ...]:
        """The axes of the observed variables that are neither the node's parents nor its own."""
        parents = self.graph.parents(name)
        return tuple(a for a, each in enumerate(self.problem.observed_names) if each not in parents and a not in own)

    def _joints(self, counts: Counts) -> Floats:
        """(arms, *sizes): P(observed variables | arm), every node by its conditional or as the arm sets it."""
        sizes = [variable.size for variable in self.problem.observed]
        rows = counts.seen.sum(axis=2).reshape(-1, *sizes)
        joints = np.ones((len(rows), *sizes))
        for axis, variable in enumerate(self.problem.observed):
            if variable.name not in self.graph.nodes:  # no ancestor of the reward: whatever it does
                joints /= variable.size
                continue
            free = self._sets[:, axis] < 0
            table = rows[free].sum(axis=0).sum(axis=self._others(variable.name, axis), keepdims=True) + 1.0
            joints[free] *= table / table.sum(axis=axis, keepdims=True)
            shape = [1] * (1 + len(sizes))
            shape[0], shape[1 + axis] = -1, sizes[axis]
            joints[~free] *= np.eye(sizes[axis])[self._sets[~free, axis]].reshape(shape)
        return joints

    def _parent_chances(self, joints: Floats) -> Floats:
        """(arms, pairs of node and parents' values): beta_n(pi, A), 0 for the arms that set the node."""
        columns = []
        for axis, name in enumerate([*self.problem.observed_names, self.problem.target]):
            if name not in self.graph.nodes:
                continue
            chances = joints.sum(axis=tuple(a + 1 for a in self._others(name))).reshape(len(joints), -1)
            free = self._sets[:, axis] < 0 if axis < self._sets.shape[1] else np.ones(len(joints), dtype=np.bool_)
            columns.append(np.where(free[:, None], chances, 0.0))
        return np.hstack(columns)

    def _means(self, counts: Counts, joints: Floats) -> Floats:
        """E[Y | arm] = sum over values of P(values | arm) E[Y | pa(Y)]."""
        seen = counts.seen.sum(axis=0).reshape(*joints.shape[1:], 2)
        table = seen.sum(axis=self._others(self.problem.target), keepdims=True) + 1.0
        reward = table[..., 1] / table.sum(axis=-1)
        means: Floats = (joints * reward).reshape(len(joints), -1).sum(axis=1)
        return means

    def scores(self) -> Floats:
        """The means of all arms, computed from the conditionals of all rows so far."""
        return self._means(self._state.counts, self._joints(self._state.counts))
