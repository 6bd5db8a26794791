"""Lattimore, Lattimore and Reid 2016: explore so that every arm is estimated from all rows, then commit."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import Bools, Floats, Ints, by_reference
from ...core.discovery.tiers import Tier
from ...core.graphs import MixedGraph
from ...core.policies.protocol import choose, indices
from ...core.problem import Problem
from ...errors import GraphError
from .allocation import best_allocation
from .counts import Counts, arm_index, counted
from .credit import Credit, credited
from .graph_plan import GraphPlanPolicy
from .sampling import choose_by_weights, nothing_compared
from .sen import CommittedState
from .settings import atomic_arms
from .through_cells import through_chances
from .told_set import CommittingPolicy
from .ucb import ucb1_of_arm


@through_chances
@counted
@by_reference
class AllocatedState(NamedTuple):
    """Counts, P(Z | arm), and the probability of each arm."""

    counts: Counts
    chances: Floats
    weights: Floats


choose.of(AllocatedState)(choose_by_weights)
indices.of(AllocatedState)(nothing_compared)


@credited
@counted
@by_reference
class ObservedState(NamedTuple):
    """Counts, and whom the rows of do() serve."""

    counts: Counts
    credit: Credit


arm_index.of(ObservedState)(ucb1_of_arm)


class LattimoreParallel(GraphPlanPolicy):
    """Algorithm 1, the parallel bandit: observe, find the arms too rare to learn from that, pull them, commit.

    Half the budget is do(); P(X_i = x) is estimated from it, m = min{tau >= 2: #{i: q_i < 1 / tau} <= tau} with
    q_i = min_x P(X_i = x); the other half goes evenly to the arms with P(X_i = x) <= 1 / m. Every other arm's mean is
    that of the observed rows with X_i = x: true when the X_i are independent causes of Y, which is what it is told.

    Deviation: pulls are counted whole, so the second half may end up to one pull per arm early or late.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph in which the observed variables are independent causes of the reward.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    name = "lattimore-parallel"
    tier = Tier.PARENTS
    needs = ("graph", "horizon")
    hints = "the graph, of independent causes, and the horizon"

    def _read(self, problem: Problem, graph: MixedGraph) -> MixedGraph:
        self._idle = atomic_arms(problem, self._sets, self.name)
        caused = [name for name in graph.children(graph.nodes) if name != problem.target]
        if caused or graph.bidirected:
            raise GraphError(f"{self.name} needs independent causes of {problem.target!r}, in a graph without latents")
        return graph

    def _start(self, counts: Counts) -> ObservedState:
        donors = np.arange(len(counts.allowed)) == self._idle
        self._rare: Bools | None = None
        state = ObservedState(counts, Credit(self._sets, donors))
        return self._explore(state, np.where(donors, max(1, self.budget // 2), 0))

    def _plan(self, state: ObservedState) -> ObservedState:
        credited_rewards = state.counts.rewards
        if self._rare is None:
            observed = credited_rewards.sum(axis=1)
            self._rare = rare_arms(observed / observed[self._idle], self._sets)
            if self._rare.any():
                pulls = max(1, round((self.budget - self.budget // 2) / self._rare.sum()))
                return self._explore(state, np.where(self._rare, pulls, 0))
        rewards = np.where(np.asarray(self._rare)[:, None], state.counts.seen.sum(axis=1), credited_rewards)
        means = rewards[:, 1] / np.maximum(rewards.sum(axis=1), 1)
        return self._settle(state, np.arange(len(means)) == int(means.argmax()))


class LattimoreGeneral(CommittingPolicy):
    """Algorithm 2: sample arms from eta*, weigh rewards by R_a(z) = p(z | a) / Q(z) clipped at B, commit to the best.

    eta* minimizes m = max_a sum_z p(z | a)^2 / Q(z); B = sqrt(m n / ln(2 n K)) with n = `budget` rounds of exploration.
    Made for simple regret after the budget, which is half the horizon unless told. Deviation: the paper stops there;
    here the best arm is played on, so that a cumulative table may show it as explore-then-commit.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    name = "lattimore-general"
    plays_all_arms = True

    def _start(self, counts: Counts) -> AllocatedState:
        self.allocation, self.hardness = best_allocation(self.chances)
        self._plan_at = self.budget
        return AllocatedState(counts, self.chances, self.allocation)

    def scores(self) -> Floats:
        """The clipped estimates of the means, from all rows so far."""
        return clipped_means(self._state.counts.pooled, self.chances, self.allocation, self.hardness)

    def _plan(self, state: AllocatedState) -> CommittedState:
        means = self.scores()
        return self._settle(CommittedState(state.counts, self.chances), np.arange(len(means)) == int(means.argmax()))


def clipped_means(pooled: Ints, p: Floats, eta: Floats, hardness: float) -> Floats:
    """mu_a = (1 / n) sum over rows of Y R_a(Z) 1{R_a(Z) <= B} (Algorithm 2)."""
    n, arms = int(pooled.sum()), len(p)
    bound = math.sqrt(hardness * n / math.log(2 * n * arms))
    mixture = eta @ p
    ratio = np.divide(p, mixture, out=np.zeros_like(p), where=mixture > 0)
    means: Floats = np.where(ratio <= bound, ratio, 0.0) @ pooled[:, 1] / n
    return means


def rare_arms(chances: Floats, settings: Ints) -> Bools:
    """The arms with P(X_i = x) <= 1 / m (Algorithm 1); never do()."""
    active = (settings >= 0).any(axis=1)
    variable = np.where(active, (settings >= 0).argmax(axis=1), -1)
    lowest = np.array([chances[variable == place].min() for place in np.unique(variable[active])])
    rare: Bools = active & (chances <= 1 / smallest_tau(lowest))
    return rare


def smallest_tau(q: Floats) -> int:
    """m = min{tau >= 2: #{i: q_i < 1 / tau} <= tau} (Lattimore, Lattimore and Reid 2016, sec. 3).

    >>> smallest_tau(np.array([0.5, 0.5, 0.1, 0.1, 0.1]))
    3
    """
    tau = 2
    while np.count_nonzero(q < 1 / tau) > tau:
        tau += 1
    return tau
