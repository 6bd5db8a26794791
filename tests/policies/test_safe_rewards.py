"""Counts, revenue, ordered levels and numbers: both ways of playing, sharing, zeros, saving, studies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits import Problem, Study, load_policy, preset
from causal_bandits.core.policies import (
    CausalUCBNormal,
    GaussianThompsonSampling,
    RewardThompson,
    SafeGaussianThompson,
    SafePolicy,
    ThompsonSampling,
    policy_class,
)
from causal_bandits.core.policies.saving import Saved, pack, restore
from causal_bandits.errors import ObservationError, OptionError, ProblemError, SaveFileError
from causal_bandits.research.simulation import play
from tests.policies.cases import SIX, full_state
from tests.problem.test_problem import described

WORLDS = {
    "revenue": cb.worlds.revenue_world(zeros=0.9, seed=3),
    "count": cb.worlds.count_world(seed=2),
    "levels": cb.worlds.ordered_world(direct=True, seed=4),
}
RATING = {"levels": ["bad", "fair", "good"], "values": [0, 1, 5]}
REWARDS: dict[str, Any] = {"revenue": "revenue", "count": "count", "levels": RATING, "real": float}
VALUES: dict[str, list[Any]] = {
    "revenue": [0.0, 0.0, 0.0, 12.5],
    "count": [0, 1, 3],
    "levels": ["bad", "fair", "good"],
    "real": [-1.0, 0.5, 2.0],
}


def problem_of(kind: str) -> Problem:
    return Problem("Y", {"A": 2, "B": ["low", "high"]}, {"I": 3, "J": 2}, reward=REWARDS[kind])


def table_of(kind: str, rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """A follows the lever I, and the reward follows A."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, 3, rows)
    a = (rng.random(rows) < 0.2 + 0.3 * i).astype(int)
    rank = (rng.random(rows) * (1 + a) / 2 * len(VALUES[kind])).astype(int)
    return {
        "I": i.tolist(),
        "J": rng.integers(0, 2, rows).tolist(),
        "A": a.tolist(),
        "B": rng.choice(["low", "high"], rows).tolist(),
        "Y": [VALUES[kind][each] for each in rank],
    }


@pytest.mark.parametrize("make", [SafePolicy, RewardThompson])
@pytest.mark.parametrize("kind", WORLDS)
def test_both_ways_choose_the_same_arms(make: Any, kind: str) -> None:
    world, runs = WORLDS[kind], []
    for compiled in (True, False):
        policy = make(world.problem, seed=5)
        runs.append((play(policy, world, 250, np.random.default_rng(6), compiled=compiled), full_state(policy)))
    assert runs[0][0].arms.tolist() == runs[1][0].arms.tolist()
    assert runs[0][0].rewards.tolist() == runs[1][0].rewards.tolist()
    assert runs[0][1] == runs[1][1]


@pytest.mark.parametrize("kind", REWARDS)
def test_save_and_load_go_on_with_the_same_arms(kind: str, tmp_path: Path) -> None:
    policy = SafePolicy(problem_of(kind), seed=1)
    policy.tell_many(table_of(kind, 90))
    policy.tell({"I": 1}, {"A": 1, "Y": VALUES[kind][-1]}, missing=True)
    policy.ask(3)
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    assert full_state(loaded) == full_state(policy)
    more = table_of(kind, 60, seed=1)
    for each in (policy, loaded):
        each.tell_many(more)
    assert loaded.ask(40) == policy.ask(40)
    assert [repr(each) for each in loaded.estimates()] == [repr(each) for each in policy.estimates()]


@pytest.mark.parametrize("kind", ["count", "revenue", "levels"])
def test_a_save_file_with_rewards_of_another_kind(kind: str) -> None:
    policy = SafePolicy(problem_of(kind), seed=1)
    policy.tell_many(table_of(kind, 20))
    saved = pack(policy)
    rewards = saved.arrays["rewards"] - 0.75
    with pytest.raises(SaveFileError, match="contradicts itself"):
        restore(SafePolicy, Saved(saved.header, {**saved.arrays, "rewards": rewards}))


@pytest.mark.parametrize("kind", REWARDS)
def test_estimates_lie_where_rewards_can(kind: str) -> None:
    policy = preset("safe", problem_of(kind), seed=1)
    assert isinstance(policy, SafePolicy)
    for rows in (0, 1, 40):
        policy.tell_many(table_of(kind, rows))
        for estimate in policy.estimates():
            assert -np.inf < estimate.low < estimate.mean < estimate.high < np.inf
            if kind != "real":
                assert estimate.low >= 0
            if kind == "levels":
                assert estimate.high <= 5
            if estimate.own_rows > 1 and kind != "real":
                assert 0 <= estimate.own_low <= estimate.own_mean < estimate.own_high


def test_an_arm_without_sales_may_sell() -> None:
    """300 customers without a sale; elsewhere one in 170 and in 80 buy, for about 100: the rule of three allows 1.0.

    At the rate of the first arm, whose mean is 0.6, 300 customers would have bought 1.8 times.
    """
    policy, rng = (
        SafePolicy(Problem("spend", {"visit": 2}, {"email": 3}, reward="revenue"), seed=0),
        np.random.default_rng(0),
    )
    for arm, rows, rate in ((0, 3000, 0.04), (1, 6000, 0.08)):
        visit = rng.random(rows) < 0.15
        spend = np.where(visit & (rng.random(rows) < rate), rng.lognormal(4.3, 0.8, rows), 0.0)
        policy.tell_many({"email": [arm] * rows, "visit": visit.astype(int).tolist(), "spend": spend.tolist()})
    policy.tell_many({"email": [2] * 300, "visit": [1] * 30 + [0] * 270, "spend": [0.0] * 300})
    found = policy.estimates()[2]
    assert found.low < found.mean < 0.6
    assert 0.9 < found.high < 4


def test_a_set_that_separates_is_used_and_narrows() -> None:
    """2000 rows in which the reward follows A alone; seed 7."""
    policy, plain = (make(problem_of("count"), seed=0) for make in (SafePolicy, RewardThompson))
    for each in (policy, plain):
        each.tell_many(table_of("count", 2000, seed=7))
    shared, own = policy.estimates(), plain.estimates()
    assert all("A" in found.variables for found in policy.separating_sets())
    assert policy.separating_sets()
    assert sum(each.high - each.low for each in shared) < 0.9 * sum(each.high - each.low for each in own)
    assert policy.recommend().arm["I"] == 2


def test_revenue_is_shared_through_how_often() -> None:
    """The amount is the same in all arms, how often is not: arms go by the set "above zero"."""
    rng = np.random.default_rng(0)
    problem = Problem("spend", {"A": 2}, {"I": 4}, reward="revenue")
    policy = SafePolicy(problem, seed=0)
    arms = rng.integers(0, 4, 4000)
    spend = np.where(rng.random(4000) < 0.05 + 0.1 * arms, rng.lognormal(3, 1, 4000), 0.0)
    policy.tell_many({"I": arms.tolist(), "A": rng.integers(0, 2, 4000).tolist(), "spend": spend.tolist()})
    assert {"spend > 0"} & {name for each in policy.estimates() for name in each.through or ()}
    assert policy.recommend().arm == problem.arm(I=3)


@pytest.mark.parametrize("kind", ["revenue", "count"])
@pytest.mark.parametrize("make", [SafePolicy, RewardThompson, GaussianThompsonSampling, SafeGaussianThompson])
def test_first_rewards_of_zero_are_no_certainty(make: Any, kind: str) -> None:
    """Three zeros in every arm but one: all arms are still played, and not the first one for ever."""
    problem = problem_of(kind)
    policy = make(problem, seed=3)
    for arm in problem.arms:
        seen = [0, 0, 0] if arm.active else [0, 0, 2]
        policy.tell_many([{"A": 1, "B": "low", "Y": y} for y in seen], arm=arm)
    rows = [{"A": n % 2, "B": "low", "Y": 0} for n in range(40)]
    policy.tell_many(rows, arm={})  # past the first uniform rounds
    assert len(set(policy.ask(400))) == len(problem.arms)


def test_nothing_but_zeros_is_played_evenly() -> None:
    policy = SafePolicy(problem_of("revenue"), seed=0)
    for arm in policy.problem.arms:
        policy.tell_many([{"A": 0, "B": "low", "Y": 0.0}] * 40, arm=arm)
    assert min(map(policy.ask(600).count, policy.problem.arms)) > 40


def test_zero_and_one_as_levels_say_what_the_default_says() -> None:
    """The same rows as 0 and 1, and as two levels worth 0 and 1: means within a quarter of an interval."""
    table = table_of("count", 1500, seed=2)
    table["Y"] = [int(y > 0) for y in table["Y"]]
    binary = SafePolicy(Problem("Y", {"A": 2, "B": ["low", "high"]}, {"I": 3, "J": 2}), seed=0)
    levels = SafePolicy(
        Problem("Y", {"A": 2, "B": ["low", "high"]}, {"I": 3, "J": 2}, reward={"levels": [0, 1], "values": [0, 1]})
    )
    for each in (binary, levels):
        each.tell_many(table)
    for one, other in zip(binary.estimates(), levels.estimates(), strict=True):
        assert abs(one.mean - other.mean) < 0.25 * (one.high - one.low)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.5)


def test_which_policy_a_name_stands_for() -> None:
    for kind in REWARDS:
        assert policy_class("safe", problem_of(kind)) is SafePolicy
        assert policy_class("paper", problem_of(kind)) is CausalUCBNormal
        assert policy_class("ts", problem_of(kind)) is RewardThompson
    assert policy_class("safe", SIX) is SafeGaussianThompson
    assert policy_class("ts", SIX) is GaussianThompsonSampling
    assert policy_class("ts", Problem.from_dict(described())) is ThompsonSampling


def test_real_mediators_are_refused_in_one_sentence() -> None:
    with pytest.raises(ProblemError, match=r"'A' is a real number; cut it with bins\(\.\.\.\)$"):
        preset("safe", Problem("Y", {"A": float}, {"I": 2}, reward="count"))
    with pytest.raises(OptionError, match="prior_rows=-1"):
        GaussianThompsonSampling(SIX, prior_rows=-1)


@pytest.mark.parametrize("kind", ["count", "revenue", "levels"])
def test_a_study_goes_on_and_refuses_rewards_of_another_kind(kind: str, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/studies.db"
    study = Study.create("shop", problem_of(kind), storage=storage, seed=1)
    assert study.policy_name == "safe"
    for number in range(12):
        decision = study.ask()
        study.tell(decision.id, {"A": number % 2, "B": "low", "Y": VALUES[kind][number % 3]})
    decision = study.ask()
    with pytest.raises(ObservationError, match="reward 'Y' is -7; expected"):
        study.tell(decision.id, {"A": 1, "B": "low", "Y": -7})
    again = Study.load("shop", storage=storage)
    assert [each.own_rows for each in again.estimates()] == [each.own_rows for each in study.estimates()]
    study.tell(decision.id, {"A": 1, "B": "low", "Y": VALUES[kind][0]})
    assert sum(each.own_rows for each in Study.load("shop", storage=storage).estimates()) == 13
