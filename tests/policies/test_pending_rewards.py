"""Counts, revenue, levels and numbers that come late: mediators count at once, rewards when they come."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import Problem, load_policy
from causal_bandits.core.policies import Pending, SafePolicy
from causal_bandits.research.simulation import play

from .cases import full_state
from .test_safe_rewards import REWARDS, VALUES, WORLDS, problem_of, table_of

Told = list[tuple[dict[str, Any], dict[str, Any], Any]]


def rows_of(kind: str, rows: int, seed: int = 0) -> Told:
    """Arm, mediators and reward of every row."""
    table = table_of(kind, rows, seed)
    return [
        ({"I": i, "J": j}, {"A": a, "B": b}, y)
        for i, j, a, b, y in zip(*(table[name] for name in "IJABY"), strict=True)
    ]


def tell_late(policy: SafePolicy, rows: Told, wait: int) -> list[Pending]:
    """Tell mediators at once and the reward `wait` rows later; what is left waits."""
    left: list[Pending] = []
    for place, (arm, seen, _) in enumerate(rows):
        policy.ask()
        row = policy.tell(arm, seen)
        assert row is not None
        left.append(row)
        if place >= wait:
            policy.tell(left.pop(0), reward=rows[place - wait][2])
    return left


@pytest.mark.parametrize("kind", REWARDS)
def test_a_pending_row_with_its_reward_is_a_row(kind: str) -> None:
    rows = rows_of(kind, 160)
    late, whole = (SafePolicy(problem_of(kind), seed=0) for _ in range(2))
    left = tell_late(late, rows, 30)
    for row, (_, _, reward) in zip(left, rows[-30:], strict=True):
        late.tell(row, reward=reward)
    for arm, seen, reward in rows:
        whole.tell(arm, {**seen, "Y": reward})
    assert late.history.to_frame().equals(whole.history.to_frame())
    np.testing.assert_array_equal(late._state.counts.tables.sums, whole._state.counts.tables.sums)
    assert not late._state.counts.tables.pending.any()
    for one, other in zip(late.estimates(), whole.estimates(), strict=True):
        assert one.mean == pytest.approx(other.mean)
        assert one.through == other.through
        assert one.pending_rows == 0


@pytest.mark.parametrize("kind", REWARDS)
def test_pending_rows_survive_saving(kind: str, tmp_path: Path) -> None:
    rows = rows_of(kind, 120, seed=2)
    policy = SafePolicy(problem_of(kind), seed=3)
    left = tell_late(policy, rows, 40)
    policy.save(tmp_path / "policy.npz")
    again = load_policy(tmp_path / "policy.npz")
    assert again.pending() == left
    for row, (_, _, reward) in zip(left, rows[-40:], strict=True):
        assert policy.ask() == again.ask()
        for one in (policy, again):
            one.tell(row, reward=reward)
    assert full_state(policy) == full_state(again)
    policy.save(tmp_path / "policy.npz")  # none waits, and yet what was learned from them is kept
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)


def test_mediators_decide_before_any_reward_of_an_arm_has_come() -> None:
    """The control is logged, and A is worth much; of two new arms one brings A. Complete rows only could not tell.

    300 draws of one state, seed 1: the better arm is asked for much more often; with whole rows the two are alike.
    """
    problem = Problem("Y", {"A": 2}, {"I": 3}, reward="count")
    early, whole = (SafePolicy(problem, seed=1) for _ in range(2))
    for policy in (early, whole):
        policy.tell_many([{"A": n % 2, "Y": 2 * (n % 2) + n % 3} for n in range(250)], arm={})
    for number in range(200):
        early.tell({"I": 1}, {"A": int(number % 10 == 0)})
        early.tell({"I": 2}, {"A": int(number % 10 > 0)})
    asked, blind = early.ask(300), whole.ask(300)
    good, bad = problem.arm({"I": 2}), problem.arm({"I": 1})
    assert asked.count(good) > 5 * asked.count(bad)
    assert blind.count(good) < 5 * blind.count(bad)
    found = {row.arm: row for row in early.estimates()}
    assert found[good].mean > found[problem.arm()].mean > found[bad].mean
    assert found[good].pending_rows == 200
    assert found[good].pending_effective > 1


@pytest.mark.parametrize("kind", WORLDS)
def test_worlds_with_delays(kind: str) -> None:
    policy = SafePolicy(WORLDS[kind].problem, seed=5)
    play(policy, WORLDS[kind], 100, np.random.default_rng(6), delay=60)
    assert (policy.rows, len(policy.pending())) == (40, 60)
    assert sum(row.pending_rows for row in policy.estimates()) == 60


def test_levels_wait_by_name() -> None:
    policy = SafePolicy(problem_of("levels"), seed=0)
    row = policy.tell({"I": 1}, {"A": 1, "B": "low"})
    assert isinstance(row, Pending)
    policy.tell(row, reward=VALUES["levels"][2])
    assert policy.history.to_frame()["Y"].to_list() == ["good"]
