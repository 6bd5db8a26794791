"""Maiti, Nair and Sinha 2022: under hidden common causes too, observing do() teaches about most arms; pull the rest."""

import math

import numpy as np

from ...core.compiled import Bools, Floats, Ints
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph, latent_projection
from ...core.problem import Problem
from ...errors import GraphError
from .base import ALL
from .counts import Counts
from .graph_plan import GraphPlanPolicy
from .lattimore import smallest_tau
from .settings import atomic_arms
from .ucb import UCB1State


class MaitiObserving(GraphPlanPolicy):
    """SRM-ALG: half of the budget observes, the other half pulls the arms that observing teaches too little about.

    As in the paper, known to us from reviews of it: arms are do() and do(X_i = x). C_i is the c-component of X_i, k_i
    its size. Where no child of X_i is in C_i, E[Y | do(X_i = x)] follows from observed rows (see `effect_means`).
    q_i = min P(X_i = x, Pa^c = z) over x and z. With m = min{tau >= 2: #{i: q_i^k_i < 1 / tau} <= tau} the arms with
    q_i^k_i < 1 / m share the second half evenly, and their means are those of their pulls. The best is recommended.

    Decided here: Pa^c is the rest of C_i and the parents of C_i. Only ancestors of Y count; setting another variable is
    do(). Where a child of X_i is in C_i the paper does not apply; such an arm counts as never observed (q_i = 0), so it
    is pulled. Conditionals are frequencies, and uniform where the condition was not seen. Levels may be many, pulls are
    whole, the best arm is played on.

    Its tier is that of the graph with latents, which it is told; all probabilities are learned. Not built: CRM-ALG, for
    cumulative regret without latents.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Acyclic causal graph over the observed variables and the reward; bidirected edges are hidden common
            causes.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"X": 2, "Z": 2}, {"I": ["idle", 0, 1]}, targets={"I": "X"})
    >>> front_door = MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")])
    >>> policy = MaitiObserving(problem, graph=front_door, horizon=100, seed=0)
    >>> set(map(str, policy.ask(10))), policy.budget
    ({'do()'}, 50)
    """

    name = "maiti-observing"
    tier = Tier.GRAPH
    needs = ("graph", "horizon")
    hints = "the graph with its latents, the horizon"
    _through = ALL

    def _read(self, problem: Problem, graph: MixedGraph) -> MixedGraph:
        self._idle = atomic_arms(problem, self._sets, self.name)
        if not graph.is_acyclic:
            raise GraphError(f"{self.name} needs an acyclic graph; use a policy that only sees rewards")
        names = (*problem.observed_names, problem.target)
        seen = latent_projection(graph, names)
        kept = seen.subgraph(seen.ancestors(problem.target))
        return MixedGraph([name for name in names if name in kept.nodes], kept.directed, kept.bidirected)

    def _start(self, counts: Counts) -> UCB1State:
        self._thin: Bools | None = None
        observing = np.arange(len(self._sets)) == self._idle
        return self._explore(UCB1State(counts), np.where(observing, max(1, self.budget // 2), 0))

    def _plan(self, state: UCB1State) -> UCB1State:
        if self._thin is None:
            self._thin = self._too_thin(state.counts)
            if self._thin.any():
                pulls = max(1, round((self.budget - self.budget // 2) / self._thin.sum()))
                return self._explore(state, np.where(self._thin, pulls, 0))
        best = int(self._means(state.counts, self._thin).argmax())
        return self._settle(state, np.arange(len(self._sets)) == best)

    def scores(self) -> Floats:
        """The means of all arms from the rows so far: from pulls where observing teaches too little, else from do()."""
        counts = self._state.counts
        return self._means(counts, self._too_thin(counts) if self._thin is None else self._thin)

    # What observed rows say

    def _observed(self, counts: Counts) -> Ints:
        """Counts of the rows of do(), with an axis for every node of the graph of the ancestors of Y."""
        sizes = [variable.size for variable in self.problem.observed]
        others = [axis for axis, name in enumerate(self.problem.observed_names) if name not in self.graph.nodes]
        observed: Ints = counts.seen[self._idle].reshape(*sizes, 2).sum(axis=tuple(others))
        return observed

    def _variable(self, arm: int) -> str:
        return self.problem.observed_names[int((self._sets[arm] >= 0).argmax())]

    def _too_thin(self, counts: Counts) -> Bools:
        """The arms with q_i^k_i < 1 / m; never do()."""
        observed = self._observed(counts)
        of_arm = [None if arm == self._idle else self._variable(arm) for arm in range(len(self._sets))]
        levers = dict.fromkeys(name for name in of_arm if name is not None)
        ease = {name: observed_ease(observed, self.graph, name) for name in levers}
        limit = 1 / smallest_tau(np.array(list(ease.values())))
        return np.array([name is not None and ease[name] < limit for name in of_arm])

    def _means(self, counts: Counts, thin: Bools) -> Floats:
        observed = self._observed(counts)
        rewards = counts.seen.sum(axis=1)
        means: Floats = rewards[:, 1] / np.maximum(rewards.sum(axis=1), 1)
        for arm in np.flatnonzero(~thin & (np.arange(len(thin)) != self._idle)).tolist():
            name = self._variable(arm)
            level = int(self._sets[arm].max())
            taught = name in self.graph.nodes
            means[arm] = effect_means(observed, self.graph, name)[level] if taught else means[self._idle]
        return means


def c_component(graph: MixedGraph, name: str) -> tuple[str, ...]:
    """A node and all that bidirected paths lead to from it.

    >>> c_component(MixedGraph(["A", "B", "C", "Y"], [("A", "B")], [("A", "C"), ("C", "Y")]), "A")
    ('A', 'C', 'Y')
    """
    found: tuple[str, ...] = (name,)
    while len(grown := {*found, *graph.spouses(found)}) > len(found):
        found = graph.names(graph.mask(grown))
    return found


def is_identified(graph: MixedGraph, name: str) -> bool:
    """Whether no bidirected path leads from a node to one of its children (Tian and Pearl 2002).

    >>> is_identified(MixedGraph(["X", "Y"], [("X", "Y")], [("X", "Y")]), "X")
    False
    """
    return not set(graph.children(name)) & set(c_component(graph, name))


def observed_ease(counts: Ints, graph: MixedGraph, name: str) -> float:
    """q^k: the share of observed rows that the rarest values of C and its parents have, to the power of the size of C.

    1 for a node that is no ancestor of Y, which every row serves; 0 where the effect is not identified.
    """
    if name not in graph.nodes:
        return 1.0
    if not is_identified(graph, name):
        return 0.0
    component = c_component(graph, name)
    kept = {*component, *graph.parents(component)}
    table = counts.sum(axis=tuple(axis for axis, node in enumerate(graph.nodes) if node not in kept))
    return float(table.min() / table.sum()) ** len(component)


def effect_means(counts: Ints, graph: MixedGraph, name: str) -> Floats:
    """E[Y | do(X = x)] for every x from counts of observed rows, an axis per node, Y the last.

    With C the c-component of X and Z_j what `condition` gives for V_j (Tian and Pearl 2002):
    P_x(w) = (sum over x' of the product over V_j in C of P(v_j | z_j) at X = x') times the product over V_j outside of
    C of P(v_j | z_j) at X = x.
    """
    component, axis = c_component(graph, name), graph.nodes.index(name)
    parts = {node: _conditional(counts, graph, node) for node in graph.nodes}
    inside = math.prod((parts[node] for node in component), start=np.ones((1,) * counts.ndim))
    outside = math.prod((part for node, part in parts.items() if node not in component), start=np.ones(()))
    joint = np.broadcast_to(inside.sum(axis=axis, keepdims=True) * outside, counts.shape)
    means: Floats = joint[..., 1].sum(axis=tuple(other for other in range(counts.ndim - 1) if other != axis))
    return means


def condition(graph: MixedGraph, name: str) -> tuple[str, ...]:
    """The nodes before V that P(V | all before it) depends on: V's c-component among V and these, and its parents.

    >>> condition(MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")]), "Y")
    ('X', 'Z')
    """
    order = graph.topological_order()
    component = c_component(graph.subgraph(order[: order.index(name) + 1]), name)
    return tuple(node for node in graph.nodes if node != name and node in {*component, *graph.parents(component)})


def _conditional(counts: Ints, graph: MixedGraph, name: str) -> Floats:
    """P(V | its condition), an axis per node, of length 1 where it does not depend on the node."""
    kept = {name, *condition(graph, name)}
    others = tuple(axis for axis, node in enumerate(graph.nodes) if node not in kept)
    own = graph.nodes.index(name)
    table = counts.sum(axis=others, keepdims=True)
    total = table.sum(axis=own, keepdims=True)
    even = np.full(table.shape, 1 / table.shape[own])
    found: Floats = np.divide(table, total, out=even, where=total > 0)
    return found
