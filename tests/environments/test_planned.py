"""Worlds to plan by have the rate, the lift and the mediators that were asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import Problem
from causal_bandits.errors import CausalBanditsError
from causal_bandits.research.worlds import planned_world

PROBLEM = Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"], "noise": 2},
    {"banner": ["none", "red", "blue"], "discount": ["10%", "none"]},
    idle={"discount": "none"},
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.005, 0.02, 0.3]), st.floats(0.05, 0.6), st.booleans())
def test_rate_and_lift_are_exact(seed: int, rate: float, lift: float, direct: bool) -> None:
    world = planned_world(PROBLEM, rate=rate, lift=lift, mediators=["clicked", "cart"], direct=direct, seed=seed)
    assert world.means[world.problem.index({})] == pytest.approx(rate)
    assert world.means.max() == pytest.approx(rate * (1 + lift))
    assert set(map(str, world.problem.arms)) == set(map(str, PROBLEM.arms))


def test_mediators_have_their_rates_and_carry_the_effects() -> None:
    world = planned_world(PROBLEM, rate=0.02, lift=0.2, mediators={"clicked": 0.2, "cart": None}, seed=1)
    idle = world.problem.arm()
    assert world.distribution(idle, ["clicked"])[1] == pytest.approx(0.2)
    assert world.distribution(idle, ["cart"])[1:].sum() == pytest.approx(np.sqrt(0.2 * 0.02))
    chances = [world.distribution(arm, ["cart", "purchase"]) for arm in world.problem.arms]
    given_cart = np.array([(each / each.sum(axis=1, keepdims=True))[:, 1] for each in chances])
    assert np.ptp(given_cart, axis=0).max() < 1e-9  # the last stage separates
    noise = [world.distribution(arm, ["noise"]) for arm in world.problem.arms]
    assert np.ptp(noise, axis=0).max() < 1e-12


def test_without_mediators_levers_act_on_the_reward() -> None:
    world = planned_world(Problem("Y", {}, {"I": 4}), rate=0.1, lift=0.3, seed=2)
    assert sorted(world.means)[-1] == pytest.approx(0.13)


BAD = [
    ({"lift": 0}, "lift=0: without any difference there is no best arm"),
    ({"lift": -0.1}, "lift=-0.1; expected a number from 0.0001"),
    ({"lift": 60}, "lift=60; expected a number from 0.0001"),
    ({"lift": "much"}, "lift='much'"),
    ({"rate": 0}, "rate=0; expected a number between 0 and 1"),
    ({"rate": 2}, "rate=2; expected"),
    ({"rate": 1e-300}, "rate=1e-300; expected a rate from 0.000001 to 0.999999"),
    ({"lift": 1e-300}, "lift=1e-300; expected a number from 0.0001"),
    ({"mediators": {"clicked": 1e-300}}, "the rate of clicked=1e-300; expected a rate from 0.000001"),
    ({"mediators": ["clicks"]}, "mediator 'clicks' is not observed; expected some of 'clicked', 'cart', 'noise'"),
    ({"mediators": "clicked"}, "mediators='clicked'; expected a list"),
    ({"mediators": {"clicked": 0.01}}, "a rate of 0.02 follows 0.01; each mediator needs a lower rate"),
    ({"mediators": {"clicked": 1.5}}, "the rate of clicked=1.5; expected"),
]


@pytest.mark.parametrize(("options", "said"), BAD)
def test_bad_input_is_one_sentence(options: dict[str, object], said: str) -> None:
    with pytest.raises(CausalBanditsError) as caught:
        planned_world(PROBLEM, **{"rate": 0.02, "lift": 0.2, **options})  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


def test_a_real_reward_has_no_rate() -> None:
    with pytest.raises(CausalBanditsError, match="a plan needs a reward of 0 or 1"):
        planned_world(Problem("Y", {}, {"I": 2}, reward="revenue"), rate=0.1, lift=0.1)
