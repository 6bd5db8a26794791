"""Health: outcomes that get lost, a control without its share, drift."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints
from causal_bandits.product.studies.health import (
    STRETCH,
    health_of,
    looks,
    share_of_look,
    shifted,
    uneven,
)

from .cases import Unstored

TWO = cb.Problem("Y", {"A": 2}, {"I": ["none", "a"]})


def slowly(arms: Ints, missing: Floats, count: int) -> tuple[float, float]:
    """Cochran, Mantel and Haenszel, stretch by stretch, for all arms but the last."""
    apart, variance = np.zeros(count), np.zeros((count, count))
    for start in range(0, len(arms), STRETCH):
        here, gone = arms[start : start + STRETCH], missing[start : start + STRETCH]
        n, m = len(here), gone.sum()
        for arm in range(count):
            apart[arm] += gone[here == arm].sum() - (here == arm).sum() * m / n
            for other in range(count):
                both = (here == arm).sum() * (n * (arm == other) - (here == other).sum())
                variance[arm, other] += m * (n - m) * both / (n * n * max(n - 1, 1))
    found = float(apart[:-1] @ np.linalg.solve(variance[:-1, :-1], apart[:-1]))
    return found, float(stats.chi2.sf(found, count - 1))


def test_uneven_is_the_test_of_cochran_mantel_and_haenszel() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        arms = rng.integers(0, 3, 430)
        missing = (rng.random(430) < np.array([0.2, 0.3, 0.25])[arms]).astype(float)
        assert uneven(arms, missing, 3) == pytest.approx(slowly(arms, missing, 3))


def test_rare_arms_are_taken_together_and_nothing_to_test_is_no_alarm() -> None:
    arms = np.array([0, 1] * 200 + [2])
    assert uneven(arms, np.zeros(401), 3) == (0.0, 1.0)
    assert uneven(arms, np.ones(401), 3) == (0.0, 1.0)
    statistic, p_value = uneven(arms, np.where(arms == 2, 1.0, (np.arange(401) % 4 < 2) * 1.0), 3)
    assert 0 <= statistic < 30
    assert 0 < p_value <= 1


def test_looks_share_the_false_alarms() -> None:
    assert looks(199) == []
    assert looks(200) == [200]
    assert sum(share_of_look(number) for number in range(10_000)) == pytest.approx(1, abs=1e-3)


def test_traffic_that_shifts_while_outcomes_are_late_is_no_alarm_and_losing_an_arm_is() -> None:
    """Most decisions late in a study are open and of the better arm; comparing arms as a whole would cry wolf."""
    arms = np.concatenate([np.tile([0, 1], 300), np.tile([1, 1, 1, 1, 0], 120)])
    late = (np.arange(1200) >= 600).astype(float)
    assert uneven(arms, late, 2)[1] == 1.0
    assert stats.chi2_contingency(np.histogram2d(arms, late, 2)[0]).pvalue < 1e-20
    lost = np.where((arms == 1) & (np.arange(1200) % 3 == 0), 1.0, late)
    assert uneven(arms, lost, 2)[1] < 1e-9


def test_health_of_a_study() -> None:
    """The arm `a` loses outcomes, its traffic grows, and the level of rewards falls half-way. Seed 8."""
    rng = np.random.default_rng(8)
    good, bad = (Unstored(TWO, seed=8, control_share=0.5) for _ in range(2))
    for number in range(1, 1501):
        for study in (good, bad):
            (arm,) = study.ask()
            lost = study is bad and arm == 1 and rng.random() < 0.3
            level = 0.7 if study is good or number < 700 else 0.3
            if lost:
                study.add("abandoned", {"ids": [number]})
            else:
                study.tell(number, {"A": 0, "Y": int(rng.random() < level)})
    found = health_of(good.state)
    assert [check.code for check in found] == [
        "lost-outcomes",
        "outcomes-stopped",
        "missing-mediators",
        "reward-drift",
        "mediator-shift",
        "set-drift",
        "traffic-shift",
        "stop-advised",
    ]
    assert found.ok
    assert "about the same share in all arms" in found[0].says
    found = health_of(bad.state)
    assert [check.code for check in found.alarms] == ["lost-outcomes", "reward-drift"]
    assert "lowest: I=a" in found[0].says
    assert "'Y' of I=" in found[3].says
    assert found.to_frame().height == 8
    assert "ALARM  lost-outcomes" in str(found)
    assert health_of(Unstored(TWO).state).ok


def test_traffic_that_moved() -> None:
    assert shifted(np.repeat([0, 1], 100), 2) == 1
    assert shifted(np.tile([0, 1], 100), 2) == 0
    assert shifted(np.array([0, 1]), 2) == 0


def only_buyers(window: float | None = None, **problem: Any) -> Unstored:
    """A study in which a third of the users buys, and nobody reports those who do not. Seed 12."""
    rng, rules = np.random.default_rng(12), dict[str, Any]({} if window is None else {"reward_window": window})
    study = Unstored(cb.Problem("Y", {"A": 2}, {"I": ["none", "a"]}, **problem), seed=12, **rules)
    for number in range(1, 121):
        study.ask()
        if rng.random() < 1 / 3:
            study.tell(number, {"A": 1, "Y": 1})
        else:
            study.tell(number, {"A": 0})
    return study


@pytest.mark.parametrize("reward", [bool, "count", "revenue"])
def test_zeros_that_are_never_reported_are_an_alarm_and_no_claim_is_made(reward: Any) -> None:
    study = only_buyers(reward=reward)
    (check,) = (check for check in health_of(study.state) if check.code == "missing-zeros")
    bought = study.state.policy.rows
    assert check.alarm
    assert check.says == (
        f"all {bought} reported rewards are positive and {120 - bought} decisions have none, so rewards of 0 seem to "
        "be missing; report them, or create the study with reward_window= so that a missing reward counts as 0; "
        "until then no claim is made about arms"
    )
    study.tell(min(study.state.decisions.open), {"Y": 0})
    assert all(check.code != "missing-zeros" for check in health_of(study.state))
    assert study.state.held == ""


def test_positive_rewards_alone_are_no_alarm() -> None:
    """With a window a missing reward is 0; without one all may be positive, if every decision has its reward."""
    assert only_buyers(window=1000.0).state.held == ""
    study = Unstored(cb.Problem("Y", {"A": 2}, {"I": ["none", "a"]}, reward="count"), seed=1)
    for number in range(1, 101):
        study.ask()
        study.tell(number, {"A": 0, "Y": 3})
    assert study.state.held == ""
    numbers = only_buyers(reward=float)
    assert numbers.state.held == ""
