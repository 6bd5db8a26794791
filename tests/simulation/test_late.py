"""Late rewards: compiled rollouts and ask/tell are the same thing, and delays are what they say."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from causal_bandits import CausalThompsonSampling, SafePolicy, ThompsonSampling, simulate
from causal_bandits.core.policies import GaussianThompsonSampling
from causal_bandits.errors import OptionError
from causal_bandits.research.comparators import UCB1, MainEffectsThompson
from causal_bandits.research.simulation import ByOutcome, Geometric, observe, play
from causal_bandits.research.simulation.delays import draw_waits
from causal_bandits.research.worlds import example_world
from tests.policies.cases import full_state

from .worlds import SCM

WORLD = example_world("S3")
DELAYS: dict[str, Any] = {
    "fixed": 37,
    "geometric": Geometric(20),
    "by outcome": ByOutcome(zero=50, other=Geometric(5)),
}


LATE = [
    (make, delay, whole) for make in (SafePolicy, CausalThompsonSampling) for delay in DELAYS for whole in (False, True)
]
QUICK = [(SafePolicy, "by outcome", False), (SafePolicy, "geometric", True)]


@pytest.mark.parametrize(
    ("make", "delay", "whole"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[0] is SafePolicy and case not in QUICK else ())
        for case in LATE
    ],
)
def test_a_rollout_is_ask_and_tell(make: Any, delay: str, whole: bool) -> None:
    runs, states = [], []
    for compiled in (True, False):
        policy = make(WORLD.problem, seed=1)
        observe(policy, WORLD, 30, np.random.default_rng(5))
        rng = np.random.default_rng(2)
        runs.append(play(policy, WORLD, 250, rng, delay=DELAYS[delay], whole_rows=whole, compiled=compiled))
        states.append(full_state(policy))
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    np.testing.assert_array_equal(runs[0].rewards, runs[1].rewards)
    assert states[0] == states[1]


def test_no_delay_is_a_delay_of_zero() -> None:
    at_once = simulate(SafePolicy, WORLD, 200, seed=3, keep_arms=True)
    for whole in (False, True):
        late = simulate(SafePolicy, WORLD, 200, seed=3, keep_arms=True, delay=0, whole_rows=whole)
        np.testing.assert_array_equal(at_once.arms, late.arms)


@pytest.mark.parametrize("make", [ThompsonSampling, MainEffectsThompson, UCB1])
def test_policies_without_mediators_do_not_care_when_these_come(make: Any) -> None:
    early = simulate(make, WORLD, 120, seed=3, keep_arms=True, delay=25)
    late = simulate(make, WORLD, 120, seed=3, keep_arms=True, delay=25, whole_rows=True)
    np.testing.assert_array_equal(early.arms, late.arms)


def test_rewards_that_never_come_leave_rows_waiting() -> None:
    policy = SafePolicy(WORLD.problem, seed=1)
    play(policy, WORLD, 100, np.random.default_rng(2), delay=40)
    assert (policy.rows, len(policy.history.pending)) == (60, 40)
    play(policy, WORLD, 20, np.random.default_rng(2), delay=10**9)
    assert (policy.rows, len(policy.history.pending)) == (60, 60)


def test_real_valued_worlds_have_delays_too() -> None:
    found = simulate(GaussianThompsonSampling, SCM, 40, seed=1, delay=Geometric(5), keep_arms=True)
    assert found.arms is not None
    assert found.arms.shape == (1, 40)


def test_delays_are_what_they_say() -> None:
    """Geometric(20) has mean 20 and standard deviation sqrt(20 * 21); the mean of 40,000 lies within 4 s.e. (6e-5)."""
    rng = np.random.default_rng(0)
    waits = draw_waits(ByOutcome(zero=7, other=Geometric(20)), 40_000, rng)
    assert set(waits.zero.tolist()) == {7}
    assert abs(waits.other.mean() - 20) < 4 * np.sqrt(20 * 21 / 40_000)
    assert waits.other.min() == 0


@pytest.mark.parametrize(
    ("delay", "said"),
    [
        (-1, "delay=-1"),
        (1.5, "delay=1.5"),
        ("soon", "delay='soon'"),
        (partial(Geometric, -1), "mean=-1"),
        (partial(ByOutcome, zero=-3, other=1), "zero=-3"),
    ],
)
def test_bad_delays_are_refused(delay: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        simulate(ThompsonSampling, WORLD, 10, delay=delay() if callable(delay) else delay)
