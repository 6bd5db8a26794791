"""POMIS bandits (Lee and Bareinboim 2018; 2019 with variables that cannot be set): play only what may be optimal."""

from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph, plain_graph, pomis_sets
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import ProblemError
from .base import CountingPolicy
from .counts import Counts, arm_index, counted, draw_by_rewards
from .kl_ucb import KLUCBState
from .settings import checked_graph, set_by, settings_of


@counted
@by_reference
class BetaState(NamedTuple):
    """Counts are all it needs."""

    counts: Counts


@arm_index.of(BetaState)
@compiled
def draw_of_arm(state: BetaState, arm: int, rng: np.random.Generator) -> float:
    """A draw from Beta(1 + ones, 1 + zeros)."""
    return draw_by_rewards(state.counts, arm, rng)


class PomisPolicy(CountingPolicy):
    """A plain rule over the arms do(X = x) with X a possibly-optimal minimal intervention set of the graph.

    The variables that no lever sets count as not manipulable. Interventions must be perfect.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.
        seed: Seed or Generator of its draws.
    """

    tier = Tier.GRAPH
    needs = ("graph",)
    hints = "the graph with its latents"

    def __init__(self, problem: Problem, *, graph: MixedGraph, seed: Seed = None) -> None:
        settings = settings_of(problem, self.name)
        self.graph = checked_graph(problem, graph)
        manipulable = [name for _, acted_on in problem.targets for name in acted_on]
        self.sets = pomis_sets(graph, problem.target, manipulable=manipulable)
        of_arm, wanted = set_by(problem, settings), {frozenset(each) for each in self.sets}
        sizes = {variable.name: variable.size for variable in problem.observed}
        for each in self.sets:
            expected = int(np.prod([sizes[name] for name in each]))
            if of_arm.count(frozenset(each)) != expected:
                raise ProblemError(
                    f"{self.name} would play do({', '.join(each)}), of which the problem lacks an arm; "
                    "add it, or use a policy that only sees rewards"
                )
        self._playable = np.array([each in wanted for each in of_arm])
        self._options = {"graph": plain_graph(graph)}
        super().__init__(problem, seed=seed)

    def _empty(self) -> Any:
        return self._settle(super()._empty(), self._playable)


class PomisTS(PomisPolicy):
    """Thompson Sampling over the POMIS arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"Z": 2, "X": 2}, {"I_Z": ["idle", 0, 1], "I_X": ["idle", 0, 1]},
    ...                   targets={"I_Z": "Z", "I_X": "X"})
    >>> instrument = MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")])
    >>> policy = PomisTS(problem, graph=instrument, seed=0)
    >>> policy.sets, sorted(set(map(str, policy.ask(50))))
    ([('Z',), ('X',)], ['do(X=0)', 'do(X=1)', 'do(Z=0)', 'do(Z=1)'])
    """

    name = "pomis-ts"
    state = BetaState
    compares = "its draw from the posterior"


class PomisKLUCB(PomisPolicy):
    """KL-UCB over the POMIS arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.
        seed: Seed or Generator of its draws.
    """

    name = "pomis-kl-ucb"
    state = KLUCBState
