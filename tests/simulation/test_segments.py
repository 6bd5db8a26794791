"""Segments in simulations: both ways of playing choose the same arms, and regret is against the best of the segment."""

from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import DiscreteWorld, practice_world, segmented_world


def _world() -> Any:
    rates = {"mobile": 0.08, "desktop": 0.3}
    return segmented_world(
        {"device": {"mobile": 0.7, "desktop": 0.3}},
        lambda segment: practice_world("mediated", rate=rates[str(segment["device"])], arms=6, seed=3),
    )


WORLD = _world()
DEFAULT = cb.SafePolicy


def test_a_rollout_is_asking_and_telling() -> None:
    quick = play(DEFAULT(WORLD.problem, seed=1), WORLD, 250, np.random.default_rng(2))
    slow = play(DEFAULT(WORLD.problem, seed=1), WORLD, 250, np.random.default_rng(2), compiled=False)
    np.testing.assert_array_equal(quick.arms, slow.arms)
    np.testing.assert_array_equal(quick.rewards, slow.rewards)
    assert set(WORLD.problem.arm_segments[quick.arms]) == {0, 1}


def test_a_rollout_heeds_arms_that_are_not_allowed() -> None:
    runs = []
    for compiled in (True, False):
        policy = DEFAULT(WORLD.problem, seed=1)
        policy.restrict([{"lever1": 0}, {"lever1": 2}, {"lever1": 3, "device": "mobile"}])
        runs.append(play(policy, WORLD, 100, np.random.default_rng(2), compiled=compiled))
        assert policy.allowed.sum() == 5
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    assert {str(WORLD.problem.arms[arm].lever_arm) for arm in runs[0].arms} <= {
        "do()",
        "do(lever1=2)",
        "do(lever1=3)",
    }


def test_regret_is_against_the_best_arm_of_the_segment() -> None:
    found = cb.simulate(DEFAULT, WORLD, 200, runs=3, seed=1, checkpoints=[100, 200], keep_arms=True)
    means = WORLD.means.reshape(-1, 2)  # arms by segment
    assert found.arms is not None
    assert found.by_segment is not None
    lost = means.max(axis=0)[found.arms % 2] - means[found.arms // 2, found.arms % 2]
    np.testing.assert_allclose(found.regret[:, -1], lost.sum(axis=1))
    for segment in range(2):
        inside = np.where(found.arms % 2 == segment, lost, 0.0)
        np.testing.assert_allclose(found.by_segment[segment, :, 0], inside[:, :100].sum(axis=1))
    np.testing.assert_allclose(found.by_segment.sum(axis=0), found.regret)
    assert found.segments()["segment"].to_list() == ["device=mobile", "device=desktop"]
    np.testing.assert_allclose(found.segments()["regret"].to_numpy().sum(), found.regret[:, -1].mean())
    np.testing.assert_array_less(0, found.segments()["se"].to_numpy())


def test_late_rewards_and_rows_from_before() -> None:
    """Delays with segments are told row by row; the rows of the control before come with segments, too."""
    policy = cb.ThompsonSampling(WORLD.problem, seed=1)
    cb.observe(policy, WORLD, 40, np.random.default_rng(3))
    frame = policy.history.to_frame()
    assert set(frame["lever1"]) == {0}
    assert set(frame["device"]) == {"mobile", "desktop"}
    run = play(policy, WORLD, 60, np.random.default_rng(2), delay=5)
    assert set(WORLD.problem.arm_segments[run.arms]) == {0, 1}


@pytest.mark.slow
def test_a_comparison_plays_segments() -> None:
    found = cb.compare(
        {"TS": cb.ThompsonSampling, "UCB1": cb.comparators.UCB1}, {"devices": WORLD}, horizon=30, runs=2, seed=1
    )
    alone = cb.simulate(cb.ThompsonSampling, WORLD, 30, runs=2, seed=1)
    assert found.to_frame()["regret"].max() < 30 * (WORLD.means.max() - WORLD.means.min())
    assert alone.regret.max() < 30 * (WORLD.means.max() - WORLD.means.min())


def test_a_world_must_say_how_its_segments_come() -> None:
    silent = DiscreteWorld(WORLD.problem, WORLD.sampler, WORLD.means)
    with pytest.raises(OptionError, match="how probable its segments are"):
        play(DEFAULT(WORLD.problem), silent, 10, np.random.default_rng(1))
    with pytest.raises(OptionError, match="plan over all arms and cannot be restricted"):
        cb.simulate(cb.comparators.SuccessiveElimination, WORLD, 10)
