"""Worlds of revenue, counts and ratings: exact means, laws, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from causal_bandits.errors import OptionError, WorldError
from causal_bandits.research.worlds import (
    ContinuousWorld,
    Mechanism,
    RewardSCM,
    count_world,
    fixed,
    hillstrom_spend_world,
    log_normal,
    negative_binomial,
    ordered_world,
    poisson,
    revenue_world,
)
from causal_bandits.research.worlds.gym import CausalBanditEnv

WORLDS: dict[str, ContinuousWorld] = {
    "revenue": revenue_world(direct=True, seed=1),
    "count": count_world(dispersed=True, seed=2),
    "levels": ordered_world(seed=3),
    "hillstrom": hillstrom_spend_world(),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_means_are_those_of_many_pulls(world: ContinuousWorld) -> None:
    """Null: the sample mean of 40,000 pulls has the stated mean; 5 standard errors, two arms per world, seed 0."""
    rng = np.random.default_rng(0)
    for number in (0, len(world.problem.arms) - 1):
        rewards = world.sample(world.problem.arms[number], 40_000, rng).rewards
        assert rewards.mean() == pytest.approx(world.means[number], abs=5 * rewards.std() / 200)


def test_zeros_are_as_many_as_asked_for() -> None:
    """Null: 97% of the control's customers spend nothing; 40,000 pulls, 5 standard errors."""
    rewards = revenue_world(zeros=0.97, seed=5).sample({}, 40_000, np.random.default_rng(1)).rewards
    assert np.mean(rewards == 0) == pytest.approx(0.97, abs=5 * np.sqrt(0.97 * 0.03 / 40_000))


def test_the_laws_have_their_variances() -> None:
    """Null: variance mean (Poisson), mean + mean^2 / shape (negative binomial); 40,000 pulls, 6% (5 s.e. or more)."""
    laws: dict[Any, Any] = {
        "a": poisson(2.0),
        "b": negative_binomial(2.0, 0.5),
        "c": log_normal(3.0, 0.5),
        "d": fixed(4.0),
    }
    effects: Any = {level: {"Y": Mechanism([], np.eye(4)[place].tolist())} for place, level in enumerate(laws) if place}
    world = RewardSCM(
        {"A": 2, "Y": list(laws)},
        {"A": Mechanism([], [0.5, 0.5]), "Y": Mechanism([], [1.0, 0.0, 0.0, 0.0])},
        {"I": {"a": {}, **effects}},
        laws,
        reward=float,
    )
    assert world.means.tolist() == [2.0, 2.0, 3.0, 4.0]
    rng = np.random.default_rng(2)
    found = [world.sample({"I": level}, 40_000, rng).rewards.var() for level in laws]
    assert found[:3] == pytest.approx([2.0, 10.0, 9 * (np.exp(0.25) - 1)], rel=0.06)
    assert found[3] == 0
    assert world.graph.nodes == ("A", "Y")


def test_the_same_seed_makes_the_same_world_and_pulls_are_told_in_words() -> None:
    assert revenue_world(seed=4).means.tolist() == revenue_world(seed=4).means.tolist()
    rng = np.random.default_rng(0)
    assert {WORLDS["levels"].pull({}, rng)["rating"] for _ in range(60)} <= {"bad", "poor", "fair", "good", "great"}
    calls = [WORLDS["count"].pull({}, rng)["calls"] for _ in range(20)]
    assert all(isinstance(each, int) for each in calls)


def test_what_cannot_be() -> None:
    coin = Mechanism([], [0.5, 0.5])
    with pytest.raises(WorldError, match="rewards has no law for 1"):
        RewardSCM({"Y": 2}, {"Y": coin}, {"I": {0: {}, 1: {}}}, {0: 1.0}, reward=float)
    with pytest.raises(WorldError, match="target 'Z' is not among"):
        RewardSCM({"Y": 2}, {"Y": coin}, {"I": {0: {}, 1: {}}}, {0: 1.0, 1: 2.0}, reward=float, target="Z")
    with pytest.raises(WorldError, match="log_normal"):
        log_normal(-1.0)
    with pytest.raises(WorldError, match="poisson"):
        poisson(float("nan"))
    with pytest.raises(WorldError, match="negative_binomial"):
        negative_binomial(1.0, 0.0)
    with pytest.raises(OptionError, match=r"zeros=1\.5"):
        revenue_world(zeros=1.5)


def test_as_a_gymnasium_environment() -> None:
    world = WORLDS["revenue"]
    env = CausalBanditEnv(world, horizon=3)
    env.reset(seed=4)
    rng = np.random.default_rng(4)
    for step in range(3):
        arm = world.problem.arms[step]
        observation, reward, _, truncated, info = env.step(world.problem.arm_codes[step])
        pulled = world.pull(arm, rng)
        assert reward == pulled["spend"]
        assert observation["cart"] == world.problem.observed[1].code(pulled["cart"])
        assert info["arm"] == str(arm)
        assert truncated == (step == 2)
        assert env.observation_space.contains(observation)


def test_a_bare_world_draws_the_same() -> None:
    """Runs in other processes are sent the arrays alone."""
    world = WORLDS["count"]
    bare = ContinuousWorld(world.problem, world.sampler, world.means)
    draws = [each.sample({}, 20, np.random.default_rng(1)).rewards.tolist() for each in (world, bare)]
    assert draws[0] == draws[1]
