"""Rows whose reward is pending: they count for P(S | arm) at once, and for E[Y | S] when the reward comes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import (
    CausalThompsonSampling,
    KnownSets,
    Problem,
    SafePolicy,
    ThompsonSampling,
    bins,
    load_policy,
)
from causal_bandits.core.estimators import make_pools
from causal_bandits.core.policies import GaussianThompsonSampling, Pending, Policy
from causal_bandits.core.policies.saving import pack, restore
from causal_bandits.errors import ObservationError, OptionError, SaveFileError, UnknownVariableError
from causal_bandits.research.comparators import UCB1, MainEffectsThompson
from causal_bandits.research.worlds import example_world

from .cases import FOUR_ARMS, FULL, SIX, full_state, random_table, rows_of, tell_late, without_reward

ROWS = rows_of(FOUR_ARMS, random_table(FOUR_ARMS, 60, 5))


def known(problem: Problem, seed: int) -> CausalThompsonSampling:
    return CausalThompsonSampling(problem, discovery=KnownSets(FULL), seed=seed)


MAKERS: dict[str, Callable[..., Policy[Any]]] = {
    "default": SafePolicy,
    "paper": CausalThompsonSampling,
    "told sets": known,
    "ts": ThompsonSampling,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_pending_row_with_its_reward_is_a_row(make: Callable[..., Policy[Any]]) -> None:
    late, whole = make(FOUR_ARMS, seed=0), make(FOUR_ARMS, seed=0)
    for row, (arm, seen) in zip(tell_late(late, ROWS, 13), ROWS[-13:], strict=True):
        late.tell(row, reward=seen["Y"])
        del arm
    for arm, seen in ROWS:
        assert whole.tell(arm, seen) is None
    assert late.pending() == []
    assert late.history.to_frame().equals(whole.history.to_frame())
    tables = [state.counts.tables if hasattr(state := p._state, "counts") else state.tables for p in (late, whole)]
    counted = [each.sums if hasattr(each, "sums") else each.counts for each in tables]
    np.testing.assert_array_equal(*counted)
    assert not tables[0].pending.any()
    for one, other in zip(late.estimates(), whole.estimates(), strict=True):
        assert one.mean == pytest.approx(other.mean, abs=1e-12)
        assert one.through == other.through


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_pending_rows_survive_saving(make: Callable[..., Policy[Any]], tmp_path: Path) -> None:
    policy = make(FOUR_ARMS, seed=3)
    left = tell_late(policy, ROWS, 20)
    policy.save(tmp_path / "policy.npz")
    again = load_policy(tmp_path / "policy.npz")
    assert again.pending() == left
    for row, (_, seen) in zip(left, ROWS[-20:], strict=True):
        assert policy.ask() == again.ask()
        for one in (policy, again):
            one.tell(row, reward=seen["Y"])
    assert full_state(policy) == full_state(again)
    policy.save(tmp_path / "policy.npz")  # none waits, and yet what was learned from them is kept
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)


def test_damaged_pending_rows_are_refused(tmp_path: Path) -> None:
    policy = ThompsonSampling(FOUR_ARMS, seed=3)
    tell_late(policy, ROWS[:9], 5)
    saved = pack(policy)
    for name, array in (("waiting_numbers", np.array([3, 3, 5, 6, 7])), ("waiting_arms", np.full(5, 99))):
        with pytest.raises(SaveFileError, match="contradicts itself"):
            restore(ThompsonSampling, saved._replace(arrays={**saved.arrays, name: array}))


def test_algorithm_1_counts_pending_rows_for_the_mediators_alone() -> None:
    """Against the formulas: p from all rows of the arm, mu from the rows with a reward; and against a recount."""
    policy = known(FOUR_ARMS, seed=1)
    tell_late(policy, ROWS, 25)
    state = policy._state
    assert policy.findings is not None
    done, waiting = ROWS[:35], ROWS[35:]
    for index, place in enumerate(state.pools.sets):
        names = policy.layout.names[place]
        cell = [tuple(seen[name] for name in names) for _, seen in ROWS]
        for number, arm in enumerate(FOUR_ARMS.arms):
            own = [cell[row] for row, (at, _) in enumerate(ROWS) if FOUR_ARMS.index(at) == number]
            total = len(own) + state.tables.cells[place]
            mean = 0.0
            for value in set(cell):
                ones = sum(seen["Y"] for (_, seen), at in zip(done, cell, strict=False) if at == value)
                rows = sum(at == value for at in cell[: len(done)])
                mean += (own.count(value) + 1) / total * (ones + 1) / (rows + 2)
            unseen = int(state.tables.cells[place]) - len(set(cell))
            mean += unseen / total * 0.5
            assert state.pools.linear[index, number] / state.pools.totals[index, number] == pytest.approx(mean)
            del arm
    fresh = make_pools(policy.findings, state.tables)
    np.testing.assert_allclose(state.pools.variance, fresh.variance)
    np.testing.assert_array_equal(state.pools.shares, fresh.shares)
    assert len(policy.history.pending) == len(waiting)


@pytest.mark.parametrize("make", [UCB1, MainEffectsThompson])
def test_other_policies_learn_the_row_when_it_is_whole(make: Callable[..., Policy[Any]]) -> None:
    late, whole = make(FOUR_ARMS, seed=2), make(FOUR_ARMS, seed=2)
    rows: list[Pending | None] = []
    for place, (arm, seen) in enumerate(ROWS):
        assert late.ask() == whole.ask()
        rows.append(late.tell(arm, without_reward(seen)))
        if place >= 7:
            before, then = ROWS[place - 7]
            late.tell(rows[place - 7], reward=then["Y"])  # type: ignore[arg-type]
            whole.tell(before, then)
    assert [row.pending_effective for row in late.estimates()] == [0.0] * 4
    assert sum(row.pending_rows for row in late.estimates()) == 7


def test_real_rewards_may_be_late() -> None:
    table = random_real()
    late, whole = GaussianThompsonSampling(SIX, seed=2), GaussianThompsonSampling(SIX, seed=2)
    for arm, seen in table:
        row = late.tell(arm, without_reward(seen))
        late.tell(row, reward=seen["Y"])  # type: ignore[arg-type]
        whole.tell(arm, seen)
    assert late.ask(20) == whole.ask(20)


def random_real() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    rng = np.random.default_rng(4)
    level = ["low", "middle", "high"]
    return [
        (
            {"I": int(rng.integers(3)), "J": int(rng.integers(2))},
            {"A": rng.normal(), "B": level[int(rng.integers(3))], "C": rng.normal(), "Y": rng.normal()},
        )
        for _ in range(30)
    ]


@pytest.mark.parametrize("make", [SafePolicy, CausalThompsonSampling])
def test_what_pending_rows_add_is_said(make: Callable[..., Policy[Any]]) -> None:
    world = example_world("S3")
    policy = make(world.problem, seed=0)
    rng = np.random.default_rng(1)
    for arm in world.problem.arms:
        policy.learn(world.sample(arm, 100 if arm == world.problem.arm() else 20, rng))
        policy.expect(world.sample(arm, 200, rng))
    found = policy.estimates()
    assert [row.pending_rows for row in found] == [200] * len(found)
    assert any(row.pending_effective > 1 for row in found)
    assert found.to_frame()["pending_rows"].sum() == 200 * len(found)
    assert sum(row.own_rows for row in found) == 100 + 20 * (len(found) - 1)
    before = full_state(policy)
    policy.estimates()
    assert full_state(policy) == before


def test_a_dropped_row_counts_for_nothing() -> None:
    policy, never = known(FOUR_ARMS, 1), known(FOUR_ARMS, 1)
    for arm, seen in ROWS[:30]:
        policy.tell(arm, seen)
        never.tell(arm, seen)
    rows = [policy.tell(arm, without_reward(seen)) for arm, seen in ROWS[30:]]
    for row in rows:
        policy.drop(row)  # type: ignore[arg-type]
    assert [e.mean for e in policy.estimates()] == pytest.approx([e.mean for e in never.estimates()])
    np.testing.assert_array_equal(policy._state.pools.shares, never._state.pools.shares)


def test_values_may_be_missing_in_pending_rows() -> None:
    policy = known(FOUR_ARMS, 1)
    row = policy.tell({}, {"A": 1}, missing=True)
    assert isinstance(row, Pending)
    policy.tell(row, reward=1)
    assert policy.history.observation(0) == {"A": 1, "B": None, "Y": 1}
    with pytest.raises(ObservationError, match="no value for 'B'"):
        policy.tell({}, {"A": 1})


def test_cut_points_are_learnt_while_rows_wait() -> None:
    problem = Problem("Y", {"speed": bins(quantiles=3, after=20)}, {"I": 2})
    late, whole = SafePolicy(problem, seed=0), SafePolicy(problem, seed=0)
    rng = np.random.default_rng(0)
    rows = [({"I": int(rng.integers(2))}, {"speed": rng.normal(), "Y": int(rng.random() < 0.5)}) for _ in range(60)]
    left = [late.tell(arm, without_reward(seen)) for arm, seen in rows]
    for row, (arm, seen) in zip(left, rows, strict=True):
        late.tell(row, reward=seen["Y"])  # type: ignore[arg-type]
        whole.tell(arm, seen)
    np.testing.assert_array_equal(late._state.counts.tables.sums, whole._state.counts.tables.sums)
    assert not late._state.counts.tables.pending.any()


def test_bad_input_is_a_sentence_and_counts_nothing() -> None:
    policy = SafePolicy(FOUR_ARMS, seed=0)
    row = policy.tell({}, {"A": 1, "B": "low"})
    assert isinstance(row, Pending)
    before = full_state(policy)
    for reward in (2, None, float("nan"), "yes"):
        with pytest.raises(ObservationError, match="reward 'Y' is"):
            policy.tell(row, reward=reward)
    with pytest.raises(ObservationError, match="has its observation already"):
        policy.tell(row, {"A": 1}, reward=1)
    with pytest.raises(ObservationError, match="both in the observation and given as reward="):
        policy.tell({}, {"A": 1, "B": "low", "Y": 1}, reward=1)
    with pytest.raises(UnknownVariableError, match="'C' is not an observed variable"):
        policy.tell({}, {"A": 1, "B": "low", "C": 3})
    with pytest.raises(OptionError, match="is not a pending row"):
        policy.drop(3)  # type: ignore[arg-type]
    assert full_state(policy) == before
    policy.tell(row, reward=1)
    for closed in (row, Pending(7, row.arm)):
        with pytest.raises(ObservationError, match="does not wait for a reward; it has one already, was closed"):
            policy.tell(closed, reward=1)
    assert repr(row) == "Pending(0, do())"


def test_memory_of_pending_rows() -> None:
    """13 bytes, 2 per variable, 8 per number; at most twice as many places as rows wait, and a few."""
    policy = ThompsonSampling(FOUR_ARMS, seed=0)
    rows = policy.history.encode_many(random_table(FOUR_ARMS, 1000, 1))
    numbers = policy.expect(rows)
    assert policy.history.pending.nbytes <= 2 * 1000 * (13 + 2 * 2)
    policy.forget(numbers[:900].tolist())
    assert policy.history.pending.nbytes <= 2 * 200 * (13 + 2 * 2)
    assert [row.number for row in policy.pending()] == list(range(900, 1000))
