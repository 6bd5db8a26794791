import importlib
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from causal_bandits import DiscreteSCM, MixedGraph, StructurelessWorld
from causal_bandits.errors import MissingExtraError, OptionError, UnknownArmError
from causal_bandits.research.worlds import DiscreteWorld, paper_world, segmented_world
from causal_bandits.research.worlds.gym import CausalBanditEnv

from .worlds import random_scm

WORLD = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]), seed=0)


@pytest.mark.parametrize("world", [WORLD, StructurelessWorld(WORLD, seed=0), random_scm(1)], ids=["a", "b", "c"])
def test_passes_the_checks_of_gymnasium(world: DiscreteWorld) -> None:
    check_env(CausalBanditEnv(world, horizon=20), skip_render_check=True)  # nothing is rendered, and so says metadata


def test_an_episode_is_the_worlds_own_draws_and_reports_regret() -> None:
    env = CausalBanditEnv(WORLD, horizon=9)
    observation, info = env.reset(seed=4)
    assert (observation, info) == ({"A": 0, "B": 0}, {})
    rng = np.random.default_rng(4)
    for step, arm in enumerate(WORLD.problem.arms):
        observation, reward, terminated, truncated, info = env.step(WORLD.problem.arm_codes[step])
        assert {**observation, "Y": reward} == WORLD.pull(arm, rng)
        assert info == {"arm": str(arm), "regret": pytest.approx(WORLD.means.max() - WORLD.means[step])}
        assert (terminated, truncated) == (False, step == 8)
    assert min(WORLD.means.max() - WORLD.means) == 0


def test_actions_that_are_no_arms() -> None:
    world = DiscreteSCM(
        {"A": 2, "B": 2, "Y": 2}, WORLD.mechanisms, WORLD.interventions, arms=[{}, {"I_A": 0}, {"I_B": 1}]
    )
    env = CausalBanditEnv(world)
    env.reset(seed=0)
    with pytest.raises(UnknownArmError, match=r"action \(1, 1\) is not one of the 3 arms"):
        env.step(np.array([1, 1]))


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "10"])
def test_bad_horizon(horizon: Any) -> None:
    with pytest.raises(OptionError, match=f"horizon={horizon!r}"):
        CausalBanditEnv(WORLD, horizon)


def test_without_gymnasium_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "causal_bandits.research.worlds.gym")
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[gym\]'"):
        importlib.import_module("causal_bandits.research.worlds.gym")


def test_segments_are_observed_and_not_chosen() -> None:
    world = segmented_world({"device": {"mobile": 0.7, "desktop": 0.3}}, lambda segment: WORLD)
    env = CausalBanditEnv(world, horizon=20)
    check_env(env, skip_render_check=True)
    seen, _ = env.reset(seed=1)
    drawn = {seen["device"]}
    for _ in range(20):
        device = ("mobile", "desktop")[seen["device"]]
        seen, _, _, _, info = env.step(np.zeros(len(world.problem.levers), dtype=np.int64))
        assert info["arm"] == f"do(| device={device})"
        assert info["regret"] == pytest.approx(WORLD.means.max() - WORLD.means[0])
        drawn.add(seen["device"])
    assert drawn == {0, 1}
