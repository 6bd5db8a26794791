"""Policies that know which variable each lever sets: Lattimore's parallel bandit, POMIS and UCB+."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.compiled import Bools, Floats, Ints
from ...core.discovery.tiers import TARGETS, Tier
from ...core.graphs import MixedGraph, pomis_sets
from ...core.policies.base import Variant
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import GraphError, OptionError, ProblemError, listing, whole_number
from .base import checked_number
from .baselines import BETA_DRAW, KL_UCB, SCALED_UCB, UCB_1, IndexPolicy, IndexState
from .counts import Counts

# What an arm sets: perfect interventions read from the problem, and knowledge of graphs as plain values


def settings_of(problem: Problem, who: str) -> Ints:
    """(arms, observed variables): the level number that an arm sets, -1 where it leaves the variable alone.

    >>> problem = Problem("Y", {"A": 2, "B": 2}, {"I_A": ["idle", 0, 1]}, targets={"I_A": "A"})
    >>> settings_of(problem, "a rule").tolist()
    [[-1, -1], [0, -1], [1, -1]]
    """
    settings = np.full((len(problem.arms), len(problem.observed)), -1)
    targets = dict(problem.targets)
    for lever in problem.interventions:
        acted_on = targets.get(lever.name, ())
        if len(acted_on) != 1 or acted_on[0] == problem.target:
            raise ProblemError(
                f"{who} needs to know which one variable {lever.name!r} sets, and has {list(acted_on)}; "
                "say so with Problem(..., targets={...}), or use a policy that only sees rewards"
            )
        place = problem.observed_names.index(acted_on[0])
        variable = problem.observed[place]
        for number, arm in enumerate(problem.arms):
            level = arm.active.get(lever.name)
            if level is None:
                continue
            if level not in variable.codes:
                raise ProblemError(
                    f"{who} needs levers that set their variable: {lever.name!r} has a value {level!r}, which is not "
                    f"a level of {variable.name!r}; those are {listing(variable.levels)}"
                )
            if settings[number, place] >= 0:
                raise ProblemError(f"{arm} sets {variable.name!r} twice; {who} needs one lever per variable")
            settings[number, place] = variable.code(level)
    return settings


def set_by(problem: Problem, settings: Ints) -> list[frozenset[str]]:
    """The variables that each arm sets."""
    names = np.array(problem.observed_names, dtype=object)
    return [frozenset(names[row >= 0].tolist()) for row in settings]


def atomic_arms(problem: Problem, settings: Ints, who: str) -> int:
    """Where the idle arm is among arms that set one variable each at most; an error for others."""
    sizes = (settings >= 0).sum(axis=1)
    if sizes.max() > 1 or np.count_nonzero(sizes == 0) != 1:
        raise ProblemError(
            f"{who} plays do() and arms that set one variable; the problem has {problem.arms[int(sizes.argmax())]}, so "
            "list the arms: Problem(..., arms=[...]), or use a policy for all arms"
        )
    return int(np.flatnonzero(sizes == 0)[0])


def checked_graph(problem: Problem, graph: object) -> MixedGraph:
    """A graph over the observed variables and the target."""
    if not isinstance(graph, MixedGraph):
        raise OptionError(f"graph is a {type(graph).__name__}; expected causal_bandits.MixedGraph(...)")
    missing = [name for name in (*problem.observed_names, problem.target) if name not in graph.nodes]
    if missing:
        raise GraphError(f"the graph has no node {listing(missing)}; it needs all observed variables and the target")
    return graph


# The parallel bandit (Lattimore, Lattimore and Reid 2016)


class LattimoreParallel(IndexPolicy):
    """Algorithm 1, the parallel bandit: observe, find the arms too rare to learn from that, pull them, commit.

    Half the budget is do(); P(X_i = x) is estimated from it, m = min{tau >= 2: #{i: q_i < 1 / tau} <= tau} with
    q_i = min_x P(X_i = x); the other half goes evenly to the arms with P(X_i = x) <= 1 / m. Every other arm's mean is
    that of the observed rows with X_i = x: true when the X_i are independent causes of Y, which is what it assumes.

    Deviation: pulls are counted whole, so the second half may end up to one pull per arm early or late.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph in which the observed variables are independent causes of the reward.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
    """

    name = "lattimore-parallel"
    tier = Tier.PARENTS
    rule = UCB_1
    needs = ("graph", "horizon")
    hints = "the graph, of independent causes, and the horizon"

    simple_regret = True

    def __init__(
        self, problem: Problem, *, graph: MixedGraph, horizon: int, budget: int | None = None, seed: Seed = None
    ) -> None:
        self.horizon = whole_number("horizon", horizon, 2)
        self.budget = max(1, self.horizon // 2) if budget is None else whole_number("budget", budget, 1)
        self._sets = settings_of(problem, self.name)
        self.graph = checked_graph(problem, graph)
        self._idle = atomic_arms(problem, self._sets, self.name)
        caused = [name for name in graph.children(graph.nodes) if name != problem.target]
        if caused or graph.bidirected:
            raise GraphError(f"{self.name} needs independent causes of {problem.target!r}, in a graph without latents")
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> IndexState:
        donors = np.arange(len(counts.allowed)) == self._idle
        self._rare: Bools | None = None
        state = super()._start(counts._replace(settings=self._sets, donors=donors))
        return self._explore(state, np.where(donors, max(1, self.budget // 2), 0))

    def _plan(self, state: IndexState) -> IndexState:
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


# POMIS bandits (Lee and Bareinboim 2018; 2019 with variables that cannot be set): play only what may be optimal


class PomisPolicy(IndexPolicy):
    """A plain rule over the arms do(X = x) with X a possibly-optimal minimal intervention set of the graph.

    The variables that no lever sets count as not manipulable. Interventions must be perfect.
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
        super().__init__(problem, seed=seed)

    def _empty(self) -> Any:
        return self._settle(super()._empty(), self._playable)


class PomisTS(PomisPolicy):
    """Thompson Sampling over the POMIS arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.

    >>> problem = Problem("Y", {"Z": 2, "X": 2}, {"I_Z": ["idle", 0, 1], "I_X": ["idle", 0, 1]},
    ...                   targets={"I_Z": "Z", "I_X": "X"})
    >>> instrument = MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")])
    >>> policy = PomisTS(problem, graph=instrument, seed=0)
    >>> policy.sets, sorted(set(map(str, policy.ask(50))))
    ([('Z',), ('X',)], ['do(X=0)', 'do(X=1)', 'do(Z=0)', 'do(Z=1)'])
    """

    name = "pomis-ts"
    rule = BETA_DRAW
    compares = "its draw from the posterior"


class PomisKLUCB(PomisPolicy):
    """KL-UCB over the POMIS arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        graph: Causal graph over the observed variables and the reward; bidirected edges are hidden common causes.
    """

    name = "pomis-kl-ucb"
    rule = KL_UCB


# UCB+ with a known number of parents (Shahverdikondori et al. 2026): few random actions, and rows that serve many


NO_LEVEL = 2**31
"""A level that no row has."""


class UCBPlus(IndexPolicy):
    """UCB over random actions that set exactly m variables; a row counts for every action whose values it has.

    The index is the mean + sqrt(c ln T / rows), with c = `constant`.

    With k parents of the reward among n variables of v levels and m >= k, an action agrees with the best setting of
    the parents with chance v^-k C(m, k) / C(n, k), so min(all, ceil(v^k C(n, k) / C(m, k) ln sqrt(T))) random actions
    hold a best one with probability 1 - 1 / sqrt(T); with m < k all are kept. m is the most variables that an arm
    sets; arms that set fewer are never played. Counting rows for other actions is biased where variables are
    confounded. Theory has c = 2; the authors' own experiments take c below 0.1.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        parents: Number of parents of the reward among the variables that levers set.
        horizon: Number of rounds that will be played.
        constant: The constant c of the bound.
        shuffle: Seed of the random choice of actions; drawn from `seed` by default.
    """

    name = "ucb-plus"
    tier = Tier.OBSERVED
    rule = SCALED_UCB
    needs = ("parents", "horizon")
    hints = f"{TARGETS}, the number of parents k, the horizon"
    variants: ClassVar[Mapping[str, Variant]] = {"ucb-plus-small": Variant({"constant": 0.1})}

    def __init__(
        self,
        problem: Problem,
        *,
        parents: int,
        horizon: int,
        constant: float = 2.0,
        shuffle: int | None = None,
        seed: Seed = None,
    ) -> None:
        settings = settings_of(problem, self.name)
        horizon, k = whole_number("horizon", horizon, 2), whole_number("parents", parents, 0)
        sizes = (settings >= 0).sum(axis=1)
        m, n = int(sizes.max()), int((settings >= 0).any(axis=0).sum())
        if k > n:
            raise OptionError(f"parents={parents}; the levers set {n} variables, so the reward has at most {n} to set")
        actions = np.flatnonzero(sizes == m)
        levels = max(variable.size for variable in problem.observed)
        rng = generator(seed)
        order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        kept = np.random.default_rng(order).permutation(actions)[
            : enough_actions(len(actions), n, m, k, levels, horizon)
        ]
        self._playable = np.isin(np.arange(len(settings)), kept)
        settings[~self._playable] = NO_LEVEL
        self._sets, self.horizon, self.constant = settings, horizon, checked_number("constant", constant)
        self.parents, self.shuffle = k, order
        super().__init__(problem, seed=rng)

    def _start(self, counts: Counts) -> IndexState:
        credited = counts._replace(settings=self._sets, donors=np.ones_like(counts.allowed))
        return self._settle(super()._start(credited), self._playable)


def enough_actions(actions: int, n: int, m: int, k: int, levels: int, horizon: int) -> int:
    """How many random actions hold a best one with probability 1 - 1 / sqrt(T)."""
    if m < k:
        return actions
    wanted: float = levels**k * math.comb(n, k) / math.comb(m, k) * math.log(math.sqrt(horizon))
    return min(actions, max(1, math.ceil(wanted)))
