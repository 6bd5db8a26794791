"""Counts, revenue, levels and numbers that come late: mediators count at once, rewards when they come."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import Problem, load_policy
from causal_bandits.data import reward_cell
from causal_bandits.estimators.cell_parts import cell_parts
from causal_bandits.estimators.degrees import COUNTED, GAINED, SUM, WAITING
from causal_bandits.estimators.index_parts import ALL, CELL_ROWS, DIFFERENCE, INDEX, NOISE, OTHERS, SCATTER, SHARE, N
from causal_bandits.estimators.reward_shapes import RATE
from causal_bandits.policies import Pending, RewardThompson, SafePolicy
from causal_bandits.simulation import play

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
    np.testing.assert_array_equal(late._state.shared.tables.sums, whole._state.shared.tables.sums)
    assert not late._state.shared.tables.pending.any()
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
    policy.save(tmp_path / "policy.npz")  # none waits, and yet what was learnt from them is kept
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)


@pytest.mark.parametrize("kind", ["revenue", "count"])
def test_pending_rows_count_for_the_index_alone(kind: str) -> None:
    """Against the rows: the index is over all rows, the difference over those with a reward, scaled to the index.

    Tables with "above zero" know no cell of a row without its reward.
    """
    policy = SafePolicy(problem_of(kind), seed=0)
    policy.tell_many({name: values[:250] for name, values in table_of(kind, 250).items()})
    late = [(policy.problem.index(arm), seen) for arm, seen, _ in rows_of(kind, 90, seed=1) if arm["I"] < 2]
    for arm, seen in late:
        policy.tell(policy.problem.arms[arm], seen)
    state, waiting, told = policy.ready().shared, policy.history.pending.all, policy.history.rows
    numbers, tables = state.own.numbers, state.tables
    for place in range(1, len(tables.cells)):
        index = np.zeros(int(tables.cells[place]))
        found = cell_parts(tables, place, numbers, index)
        cells = np.array([reward_cell(tables, place, c, r) for c, r in zip(told.codes, told.rewards, strict=True)])
        extra = np.array([reward_cell(tables, place, codes, 0.0) for codes in waiting.codes])
        everywhere = np.bincount(cells, minlength=len(index)) + CELL_ROWS
        for arm in range(6):
            own = cells[told.arms == arm]
            both = own if place >= tables.plain else np.concatenate([own, extra[waiting.arms == arm]])
            assert (found[arm, N], found[arm, ALL]) == (len(own), len(both))
            assert found[arm, INDEX] == pytest.approx(index[both].mean(), abs=1e-9)
            assert found[arm, SCATTER] == pytest.approx(((index[both] - index[both].mean()) ** 2).sum(), abs=1e-9)
            mine = np.bincount(own, minlength=len(index)) / everywhere
            others, alone = (max(1 - mine[which].mean(), 0.02) for which in (both, own))
            assert (found[arm, OTHERS], found[arm, SHARE]) == pytest.approx((others, alone))
            mean = told.rewards[told.arms == arm].mean() - numbers[RATE]
            assert found[arm, DIFFERENCE] == pytest.approx((mean - index[own].mean()) * others / alone, abs=1e-9)
    without = cell_parts(tables._replace(pending=tables.pending[:0]), 1, numbers, np.zeros(2))
    with_them = cell_parts(tables, 1, numbers, np.zeros(2))
    ratio = (with_them[:, OTHERS] / without[:, OTHERS]) ** 2
    np.testing.assert_allclose(with_them[:, NOISE], without[:, NOISE] * ratio)


def test_running_sums_are_those_of_a_recount() -> None:
    """Between refreshes an arm's sums change by the row; a recount with the same index gives the same."""
    policy = SafePolicy(problem_of("count"), seed=0)
    policy.tell_many(table_of("count", 1500, seed=7))
    policy.make_room()
    state = policy.ready().shared
    assert state.chosen.any()
    rows = [policy.tell(arm, seen) for arm, seen, _ in rows_of("count", 90, seed=8)]
    for place, row in enumerate(rows):
        if place % 3 == 0:
            policy.drop(row)  # type: ignore[arg-type]
        elif place % 3 == 1:
            policy.tell(row, reward=place % 4)  # type: ignore[arg-type]
    assert state is policy._state.shared
    told, waiting = policy.history.rows, policy.history.pending.all
    assert state.late[:, WAITING].sum() > 10
    for arm, place in enumerate(state.chosen):
        if place > 0:
            strides = state.tables.strides[place, :-1]
            index = state.indices[state.starts[place] : state.starts[place] + state.tables.cells[place]]
            mine, late = told.arms == arm, waiting.codes[waiting.arms == arm] @ strides
            both = index[np.concatenate([told.codes[mine] @ strides, late])]
            assert state.sums[arm, COUNTED] == len(both)
            assert state.sums[arm, SUM] == pytest.approx(both.sum(), abs=1e-6)
            gained = (told.rewards[mine] - state.own.numbers[RATE]).sum()
            assert state.sums[arm, GAINED] == pytest.approx(gained, abs=1e-6)
            assert state.late[arm, WAITING] == len(late)


def test_mediators_decide_before_any_reward_of_an_arm_has_come() -> None:
    """The control is logged, and A is worth much; of two new arms one brings A. Complete rows only could not tell.

    300 draws of one state, seed 1: the better arm was asked for every time, with whole rows 91 times.
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
    assert asked.count(good) > 1.5 * blind.count(good)
    found = {row.arm: row for row in early.estimates()}
    assert found[good].mean > found[problem.arm()].mean > found[bad].mean
    assert found[good].pending_rows == 200
    assert found[good].pending_effective > 1


def test_rows_that_wait_are_plays() -> None:
    """An arm with 2 rows and 3 that wait is not left alone; the plain policy counts what it has learnt."""
    for make, forced in ((SafePolicy, False), (RewardThompson, True)):
        policy = make(problem_of("count"), seed=0)
        for number, arm in enumerate(policy.problem.arms):
            policy.tell_many([{"A": 1, "B": "low", "Y": 5 * (number > 0)}] * (2 if number == 0 else 150), arm=arm)
        for _ in range(3):
            policy.tell({}, {"A": 1, "B": "low"})
        assert (set(policy.ask(20)) == {policy.problem.arms[0]}) == forced


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
