"""Nair, Patil and Sinha 2021: where there is no back-door, observing do() teaches about every arm at once."""

from typing import Any, Self

import numpy as np

from ...errors import GraphError
from ...graphs import MixedGraph, separated
from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy
from .settings import atomic_arms, checked_graph, plain_graph, set_by, settings_of
from .tally import Tally


class NairObserving(TallyPolicy):
    """UCB over do() and arms that set one variable; observed rows with X_i = x count for do(X_i = x) too.

    do() is pulled while N_0 < beta^2 ln t, beta = min(2 sqrt(2) / (best mean - m_0), sqrt(ln t)), or 1 while do() looks
    best; otherwise the highest m_a + sqrt(2 ln t / (N_a + C_a)), C_a the observed rows with X_i = x.

    Only for graphs in which no X_i has an open back-door path to the reward: E[Y | X_i = x] is then E[Y | do(X_i = x)].
    `MaitiObserving` takes the others, and hidden common causes.
    """

    name = "nair-observing"
    tier = Tier.SEPARATING_SET
    needs = ("graph",)
    hints = "the graph, without back-doors"
    rule = rules.OBSERVING

    def __init__(self, problem: Problem, *, graph: MixedGraph, seed: Seed = None) -> None:
        settings = settings_of(problem, self.name)
        self._idle = atomic_arms(problem, settings, self.name)
        self.graph = checked_graph(problem, graph)
        for names in set_by(problem, settings):
            for name in names:
                if has_back_door(graph, name, problem.target):
                    raise GraphError(
                        f"{name!r} has a back-door path to {problem.target!r}, so observing it is not setting it; "
                        "maiti-observing, yabe and pomis-ts take such graphs"
                    )
        options = {"graph": plain_graph(graph)}
        super().__init__(problem, seed=seed, numbers=(self._idle,), settings=settings, options=options)

    def _start(self, tally: Tally) -> Tally:
        tally.donors[:] = np.arange(len(tally.donors)) == self._idle
        return tally

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        return cls(problem, graph=MixedGraph(**options["graph"]))


def has_back_door(graph: MixedGraph, name: str, target: str) -> bool:
    """Whether an open path leads from a variable to the target against one of its own arrows.

    >>> has_back_door(MixedGraph(["A", "B", "Y"], [("A", "B"), ("A", "Y"), ("B", "Y")]), "B", "Y")
    True
    """
    without = MixedGraph(graph.nodes, [edge for edge in graph.directed if edge[0] != name], graph.bidirected)
    return not separated(without, name, target)
