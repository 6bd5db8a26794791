"""Comparators that are given the graph, explore by a plan for a budget of rounds, and then commit to an arm."""

from ...core.graphs import MixedGraph, plain_graph
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_budget, checked_horizon
from .settings import checked_graph, settings_of


class GraphPlanPolicy(CountingPolicy):
    """What they have in common: the options, and what every arm sets.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    simple_regret = True

    def __init__(
        self, problem: Problem, *, graph: MixedGraph, horizon: int, budget: int | None = None, seed: Seed = None
    ) -> None:
        horizon = checked_horizon(horizon)
        self.budget = checked_budget(horizon, budget)
        self._sets = settings_of(problem, self.name)
        self.graph = self._read(problem, checked_graph(problem, graph))
        self._options = {"graph": plain_graph(graph), "horizon": horizon, "budget": self.budget}
        super().__init__(problem, seed=seed)

    def _read(self, problem: Problem, graph: MixedGraph) -> MixedGraph:
        """The part of the graph that it needs; an error for a graph that it cannot use."""
        return graph
