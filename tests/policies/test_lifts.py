"""Lifts over a control and effects of levels: against the definition, and arm by arm."""

import itertools
import math

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.core.policies import Posterior, Source
from causal_bandits.core.policies.lifts import difference, effects_of_levels
from causal_bandits.core.policies.protocol import choose_net_many, highest_net
from causal_bandits.errors import OptionError, UnknownLevelError

SHOP = cb.Problem("buys", {"clicked": 2}, {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]})


def told(rows: int = 240, seed: int = 1) -> cb.ThompsonSampling:
    """Thompson Sampling with rows of all arms; red helps."""
    rng = np.random.default_rng(seed)
    policy = cb.ThompsonSampling(SHOP, seed=0)
    for number in range(rows):
        arm = SHOP.arms[number % 6]
        clicked = int(rng.random() < 0.3)
        policy.tell(arm, {"clicked": clicked, "buys": int(rng.random() < 0.2 + 0.3 * (arm["banner"] == "red"))})
    return policy


def test_a_lift_is_what_joint_draws_say() -> None:
    policy = told()
    rows = policy.estimates(control={})
    draws = policy.posterior().draws
    assert draws.shape == (4000, 6)
    for number in range(1, 6):
        lift, apart = rows[number].lift, draws[:, number] - draws[:, 0]
        assert lift is not None
        assert lift.absolute == pytest.approx(rows[number].mean - rows[0].mean)
        assert (lift.low, lift.high) == pytest.approx(tuple(np.quantile(apart, [0.025, 0.975])))
        assert lift.relative == pytest.approx(rows[number].mean / rows[0].mean - 1)
        ratio = np.quantile(draws[:, number] / draws[:, 0] - 1, [0.025, 0.975])
        assert (lift.relative_low, lift.relative_high) == pytest.approx(tuple(ratio))
        assert lift.probability_better == np.mean(apart > 0)
    assert rows[0].lift is None
    assert rows[0].is_control
    assert not rows[1].is_control
    frame = rows.to_frame()
    assert frame["lift"].null_count() == 1
    assert frame["is_control"].sum() == 1
    assert policy.estimates()[1].lift == rows[1].lift  # "none" is a name of a control
    assert rows[2].lift is not None
    assert rows[2].lift.low > 0


def test_looking_draws_the_same_and_changes_nothing() -> None:
    policy, other = told(), told()
    assert np.array_equal(policy.posterior().draws, other.posterior().draws)
    policy.estimates(control={"banner": "red"})
    policy.effects()
    assert policy.ask(20) == other.ask(20)


def given(draws: Floats) -> Posterior:
    """A posterior with these draws."""
    sources = [Source(number, float(number)) for number in range(draws.shape[1])]
    return Posterior(9, draws.mean(axis=0), sources, lambda rng, n: draws)


def test_effects_of_levels_are_averaged_over_the_other_levers() -> None:
    """Against the definition: all pairs of arms that differ in one lever alone, or those there are."""
    rng = np.random.default_rng(5)
    whole = cb.Problem("Y", {}, {"a": ["x", "y", "z"], "b": [1, 2], "c": ["p", "q"]})
    some = cb.Problem(
        "Y", {}, {"a": ["x", "y", "z"], "b": [1, 2], "c": ["p", "q"]}, arms=whole.arms[::2] + whole.arms[3:6:2]
    )
    for problem in (whole, some):
        draws = rng.random((50, len(problem.arms))) + 0.1
        posterior = given(draws)
        found = {
            (row.lever, row.level): row for row in effects_of_levels(problem, posterior, problem.idle_settings, 0.9)
        }
        for lever in problem.interventions:
            for level in lever.levels[1:]:
                pairs = [
                    (one, other)
                    for one, other in itertools.product(range(len(problem.arms)), repeat=2)
                    if problem.arms[one][lever.name] == level
                    and dict(problem.arms[other]) == {**problem.arms[one], lever.name: lever.levels[0]}
                ]
                row = found.pop((lever.name, level))
                assert row.settings == len(pairs)
                if not pairs:
                    assert math.isnan(row.effect.absolute)
                    continue
                apart = np.mean([draws[:, one] - draws[:, other] for one, other in pairs], axis=0)
                assert row.effect.absolute == pytest.approx(apart.mean())
                assert (row.effect.low, row.effect.high) == pytest.approx(tuple(np.quantile(apart, [0.05, 0.95])))
        assert not found


def test_effects_of_a_policy() -> None:
    effects = told().effects(control={"banner": "blue"})
    assert [(row.lever, row.level, row.base) for row in effects] == [
        ("banner", "none", "blue"),
        ("banner", "red", "blue"),
        ("discount", "10%", "none"),
    ]
    assert effects[1].effect.low > 0
    assert effects[1].own_rows == 80
    assert effects[1].settings == 2
    assert effects.to_frame().height == 3
    assert "instead of" in effects._repr_html_()


def test_a_relative_lift_needs_a_control_above_nothing() -> None:
    base, ours = np.array([-1.0, 1.0, 2.0, 3.0] * 20), np.array([2.0, 2.0, 3.0, 3.0] * 20)
    found = difference(ours, base, 2.5, 1.25, 0.9)
    assert math.isnan(found.relative)
    assert math.isnan(found.relative_high)
    assert found.absolute == 1.25
    assert found.probability_better == (3 + 0.5) / 4
    real = cb.Problem("Y", {}, {"I": 3}, reward=float)
    policy = cb.policies.GaussianThompsonSampling(real, seed=0)
    assert [row.lift for row in policy.estimates(control={})] == [None, None, None]
    with pytest.raises(OptionError, match="too few rows"):
        policy.effects()
    for number in range(6):
        policy.tell(real.arms[number % 2], {"Y": float(number)})
    rows = policy.estimates(control={})
    assert rows[1].lift is not None
    assert rows[1].lift.absolute == pytest.approx(1)
    assert rows[2].lift is None
    with pytest.raises(UnknownLevelError):
        policy.estimates(control={"I": 9})


def test_the_highest_less_its_cost() -> None:
    rng = np.random.default_rng(0)
    nan, inf = math.nan, math.inf
    assert highest_net(np.array([nan, 0.5, 0.4, 0.1]), np.array([0, 0.3, 0, 0]), rng) == 2
    assert highest_net(np.array([nan, nan]), np.zeros(2), rng) == -1
    tied = [highest_net(np.array([inf, inf, 1.0]), np.array([0.5, 0, 0]), rng) for _ in range(400)]
    assert {0, 1} == set(tied)
    assert 140 < tied.count(0) < 260
    policy = told()
    cost = np.array([0, 0, 0.5, 0.5, 0, 0])
    state = policy.ready()
    chosen = choose_net_many(state, np.random.default_rng(3), 30, cost)
    one = np.random.default_rng(3)
    for arm in chosen:  # the same, one at a time, from what is compared
        assert arm == int(np.nanargmax(policy.indices(one) - cost))
    assert not {2, 3} & set(chosen.tolist())
