"""Compiled rollouts and ask/tell are the same thing at different speeds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from causal_bandits import (
    Arm,
    CausalThompsonSampling,
    DirectTesting,
    KnownSets,
    MixedGraph,
    Problem,
    StructurelessWorld,
    ThompsonSampling,
)
from causal_bandits.core.policies import DiscretePolicy
from causal_bandits.core.problem import Level
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import Run, one_run, play
from causal_bandits.research.worlds import DiscreteWorld, example_world, paper_world
from tests.policies.cases import full_state

CHAIN = paper_world(MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "C"), ("C", "Y"), ("A", "Y")]), seed=1)
CONFOUNDED = paper_world(
    MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")], bidirected=[("A", "Y")]), seed=2
)
WORLDS: dict[str, DiscreteWorld] = {
    "chain": CHAIN,
    "confounded": CONFOUNDED,
    "structureless": StructurelessWorld(CONFOUNDED, seed=3),
    "four levels": example_world("S3"),
}
POLICIES: dict[str, Callable[..., DiscretePolicy]] = {
    "ts": ThompsonSampling,
    "conditional": CausalThompsonSampling,
    "marginal": partial(CausalThompsonSampling, discovery=DirectTesting(reading="marginal")),
    "joint": partial(CausalThompsonSampling, discovery=DirectTesting(reading="joint")),
    "evidence": partial(CausalThompsonSampling, discovery=DirectTesting(require_evidence=True)),
    "monte carlo": partial(CausalThompsonSampling, variance="monte-carlo", samples=8),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_both_ways_choose_the_same_arms(make: Callable[..., DiscretePolicy], world: DiscreteWorld) -> None:
    assert_same(make, world, 250)


@pytest.mark.parametrize("told", [[["B"]], [[], ["A"], ["A", "B", "C"]], {("C",): ["I_C", "I_B"], ("A", "C"): ["I_A"]}])
@pytest.mark.parametrize("variance", ["closed-form", "monte-carlo"])
def test_both_ways_with_known_sets(told: Any, variance: Any) -> None:
    make = partial(CausalThompsonSampling, discovery=KnownSets(told), variance=variance, samples=6)
    assert_same(make, CHAIN, 200)


def assert_same(make: Callable[..., DiscretePolicy], world: DiscreteWorld, horizon: int) -> None:
    fast, slow = make(world.problem, seed=11), make(world.problem, seed=11)
    worlds = [np.random.default_rng(12), np.random.default_rng(12)]
    one = play(fast, world, horizon, worlds[0])
    other = play(slow, world, horizon, worlds[1], compiled=False)
    assert np.array_equal(one.arms, other.arms)
    assert np.array_equal(one.rewards, other.rewards)
    assert full_state(fast) == full_state(slow)
    assert worlds[0].bit_generator.state == worlds[1].bit_generator.state
    assert fast.ask(20) == slow.ask(20)


def test_a_run_may_be_cut_into_parts() -> None:
    whole, parts = (CausalThompsonSampling(CHAIN.problem, seed=1) for _ in range(2))
    at_once = play(whole, CHAIN, 120, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    runs = [
        play(parts, CHAIN, rounds, rng, compiled=compiled) for rounds, compiled in ((7, True), (50, False), (63, True))
    ]
    assert np.array_equal(at_once.arms, np.concatenate([run.arms for run in runs]))
    assert full_state(whole) == full_state(parts)


def test_rows_told_before_the_run() -> None:
    """Observational rows, as in Fig. 3."""
    fast, slow = (CausalThompsonSampling(CHAIN.problem, seed=1) for _ in range(2))
    rows = CHAIN.sample({}, 100, np.random.default_rng(0))
    table = dict(zip("ABC", rows.codes.T.tolist(), strict=True)) | {"Y": rows.rewards.tolist()}
    for policy in (fast, slow):
        policy.tell_many(table, arm={})
    one = play(fast, CHAIN, 80, np.random.default_rng(2))
    other = play(slow, CHAIN, 80, np.random.default_rng(2), compiled=False)
    assert np.array_equal(one.arms, other.arms)
    assert full_state(fast) == full_state(slow)


class RoundRobin:
    """A policy of somebody else: only ask and tell."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.told: list[tuple[Arm, Mapping[str, Any]]] = []

    def ask(self) -> Arm:
        return self.problem.arms[len(self.told) % len(self.problem.arms)]

    def tell(self, arm: Arm, observation: Mapping[str, Any]) -> None:
        self.told.append((arm, observation))


def test_any_policy_can_be_played() -> None:
    policy = RoundRobin(CHAIN.problem)
    run = play(policy, CHAIN, 30, np.random.default_rng(0))
    assert run.arms.tolist() == [step % 27 for step in range(30)]
    assert [seen["Y"] for _, seen in policy.told] == run.rewards.tolist()


def test_regret_by_hand() -> None:
    run = Run(np.array([0, 2, 1, 1]), np.array([0, 1, 1, 0]))
    means = np.array([0.25, 0.75, 0.5])
    assert run.regret(means).tolist() == [0.5, 0.75, 0.75, 0.75]
    assert run.realized_regret(means).tolist() == [0.75, 0.5, 0.25, 1.0]


def test_no_rounds() -> None:
    policy = CausalThompsonSampling(CHAIN.problem, seed=0)
    for compiled in (True, False):
        assert len(play(policy, CHAIN, 0, np.random.default_rng(0), compiled=compiled).arms) == 0
    assert policy.rows == 0


@pytest.mark.parametrize("horizon", [-1, 2.5, True, "10", None])
def test_bad_horizon(horizon: Any) -> None:
    policy = ThompsonSampling(CHAIN.problem, seed=0)
    with pytest.raises(OptionError, match="horizon"):
        play(policy, CHAIN, horizon, np.random.default_rng(0))


def test_policy_of_another_problem() -> None:
    with pytest.raises(OptionError, match=r"world\.problem"):
        play(ThompsonSampling(CONFOUNDED.problem), CHAIN, 5, np.random.default_rng(0))


def test_a_subclass_that_tells_in_its_own_way_is_played_that_way() -> None:
    class Counting(ThompsonSampling):
        told = 0

        def tell(  # type: ignore[override]
            self, arm: Arm | Mapping[str, Level], observation: Mapping[str, Any], *, missing: bool = False
        ) -> None:
            self.told += 1
            super().tell(arm, observation)

    world = example_world()
    policy = Counting(world.problem, seed=0)
    play(policy, world, 50, np.random.default_rng(0))
    assert policy.told == 50
    play(policy, world, 50, np.random.default_rng(0), delay=10)  # it knows nothing of rows that wait
    assert policy.told == 90


@pytest.mark.parametrize("patience", [1e-12, 1e9])
def test_how_often_signals_are_looked_at_changes_nothing(patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of one round, and parts from one discovery to the next."""
    world = example_world("S3")
    runs, policies = [], []
    for seconds in (one_run.PATIENCE, patience):
        monkeypatch.setattr(one_run, "PATIENCE", seconds)
        policies.append(CausalThompsonSampling(world.problem, seed=1))
        runs.append(play(policies[-1], world, 700, np.random.default_rng(2)))
    assert np.array_equal(runs[0].arms, runs[1].arms)
    assert full_state(policies[0]) == full_state(policies[1])
