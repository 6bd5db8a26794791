"""Real-valued policies with late rewards: mediators count for the arm's mean of S at once, regressions wait."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import KnownSets, Problem, load_policy
from causal_bandits.core.policies import (
    CausalGaussianThompsonSampling,
    CausalUCBNormal,
    SafeGaussianThompson,
)

from .cases import SIX, full_state, rows_of, table_of, tell_late, without_reward

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROWS = rows_of(SIX, table_of(150, 3))
MAKERS = [CausalUCBNormal, CausalGaussianThompsonSampling, SafeGaussianThompson]
every_maker = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, marks=() if make in (CausalUCBNormal, SafeGaussianThompson) else pytest.mark.slow)
        for make in MAKERS
    ],
)
"""They have states of one class."""


@every_maker
def test_a_pending_row_with_its_reward_is_a_row(make: Any) -> None:
    late, whole = make(SIX, seed=0), make(SIX, seed=0)
    for row, (_, seen) in zip(tell_late(late, ROWS, 40), ROWS[-40:], strict=True):
        late.tell(row, reward=seen["Y"])
    for arm, seen in ROWS:
        whole.tell(arm, seen)
    for one, other in zip(late._state.rewarded, whole._state.rewarded, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(late._state.seen.counts, whole._state.rewarded.counts)
    np.testing.assert_allclose(late._state.seen.means, whole._state.rewarded.means[..., :-1])
    np.testing.assert_allclose(late._state.seen.scatter, whole._state.rewarded.scatter[..., :-1, :-1], atol=1e-9)
    for one, other in zip(late.estimates(), whole.estimates(), strict=True):
        assert (one.mean, one.low) == pytest.approx((other.mean, other.low))
        assert (one.through, one.pending_rows) == (other.through, 0)


@pytest.mark.parametrize("make", [CausalUCBNormal, SafeGaussianThompson])
def test_pending_rows_survive_saving(make: Any, tmp_path: Path) -> None:
    policy = make(SIX, seed=3)
    left = tell_late(policy, ROWS, 60)
    policy.drop(left.pop(5))
    policy.save(tmp_path / "policy.npz")
    again = load_policy(tmp_path / "policy.npz")
    assert again.pending() == left
    assert full_state(again) == full_state(policy)
    for place, row in enumerate(left):
        assert policy.ask() == again.ask()
        for one in (policy, again):
            one.tell(row, reward=place / 10)
    assert full_state(policy) == full_state(again)
    policy.save(tmp_path / "policy.npz")  # none waits, and yet what was learned from them is kept
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)


def spread_of_products(e: Floats, u: Floats) -> float:
    """Sum over rows of the variance of e u, if both are normal."""
    (v, c), (_, w) = np.cov(e, u, bias=True)
    both = e.mean() ** 2 * w + u.mean() ** 2 * v + 2 * e.mean() * u.mean() * c + v * w + c * c
    return float(len(e) * both)


def by_rows(x: Floats, y: Floats, arms: Ints, late: Floats, late_arms: Ints, arm: int) -> tuple[float, float]:
    """Mean and variance of an arm through a set that all arms share, from the rows: the formula of `regression`."""
    centre = x.mean(axis=0)
    slopes = np.linalg.lstsq(x - centre, y - y.mean(), rcond=None)[0]
    own = np.concatenate([x[arms == arm], late[late_arms == arm]])
    mean = y.mean() + (own.mean(axis=0) - centre) @ slopes
    g = np.linalg.solve((x - centre).T @ (x - centre), own.mean(axis=0) - centre)
    e, u = y - y.mean() - (x - centre) @ slopes, 1 / len(y) + (x - centre) @ g
    variance = sum(spread_of_products(e[arms == each], u[arms == each]) for each in np.unique(arms))
    fitted, mine = own @ slopes, arms == arm
    variance += ((fitted - fitted.mean()) ** 2).sum() / len(own) ** 2
    if mine.any():
        w = x[mine] @ slopes
        with_w = e[mine].mean() * np.cov(u[mine], w, bias=True)[0, 1]
        with_w += u[mine].mean() * np.cov(e[mine], w, bias=True)[0, 1]
        variance += 2 * mine.sum() * with_w / len(own)
    return mean, variance


def test_against_the_rows() -> None:
    """The pool has rows with a reward, the arm's mean of S all rows; one arm has rows that wait and no other."""
    policy = CausalUCBNormal(SIX, discovery=KnownSets({("A", "B"): ["I", "J"]}), seed=0)
    alone = SIX.arms[4]
    for arm, seen in ROWS:
        if SIX.arm(arm) != alone:
            policy.tell(arm, seen)
    for arm, seen in rows_of(SIX, table_of(100, 8)):
        policy.tell(arm, without_reward(seen))
    done, waiting, columns = policy.history.rows, policy.history.pending.all, [0, 1, 2]
    x, late = policy.layout.design(done)[:, columns], policy.layout.design(waiting)[:, columns]
    found, through = policy.estimates(), 0
    for number, row in enumerate(found):
        if row.through is None:
            continue
        through += 1
        mean, variance = by_rows(x, done.rewards, done.arms, late, waiting.arms, number)
        assert row.mean == pytest.approx(mean, abs=1e-9)
        own = done.rewards[done.arms == number]
        single = own.var(ddof=1) if len(own) > 1 else np.std(done.rewards, ddof=1) ** 2
        assert single / row.effective_rows == pytest.approx(variance, abs=1e-9)
        assert row.pending_rows == (waiting.arms == number).sum()
        assert row.pending_effective > 0
    assert through >= 4
    assert found[4].through == ("A", "B")
    assert found[4].own_rows == 0


@every_maker
def test_mediators_decide_before_any_reward_of_an_arm_has_come(make: Any) -> None:
    """The control is logged, and A is worth 1; of two new arms one brings more of A. Complete rows cannot tell."""
    problem, rng = Problem("Y", {"A": float}, {"I": 3}, reward=float), np.random.default_rng(0)
    told = {"discovery": KnownSets({("A",): ["I"]})} if make in MAKERS[::2] else {}
    policy = make(problem, seed=1, **told)
    for arm, shift in ((0, 0.0), (1, -0.5)):
        policy.tell_many(
            [{"A": x + shift, "Y": x + shift + 0.3 * rng.normal()} for x in rng.normal(size=200)], arm={"I": arm}
        )
    for arm, shift in ((1, -0.5), (2, 1.0)):
        for x in rng.normal(size=200) + shift:
            policy.tell({"I": arm}, {"A": x})
    good = problem.arm({"I": 2})
    assert Counter(policy.ask(40))[good] > 35
    found = {row.arm: row for row in policy.estimates()}
    assert found[good].low > found[problem.arm()].mean
    assert found[good].pending_effective > 10
    assert found[good].own_rows == 0


def test_arms_without_rewards_take_turns() -> None:
    """No set for J, and no rewards where J is 1: both arms are as unknown as can be, and rows that wait are plays."""
    problem = Problem("Y", {"A": float}, {"I": 2, "J": 2}, reward=float)
    for make in (CausalUCBNormal, CausalGaussianThompsonSampling):
        policy = make(problem, discovery=KnownSets({("A",): ["I"]}), seed=0, initial=0)
        policy.tell_many([{"A": 0.1 * n, "Y": n % 5} for n in range(30)], arm={})
        played = []
        for _ in range(40):
            played.append(policy.ask())
            policy.tell(played[-1], {"A": 0.0})
        often = Counter(played)
        assert min(often[problem.arm({"I": i, "J": 1})] for i in range(2)) >= 5
        assert all(row.mean != row.mean for row in policy.estimates() if row.arm["J"] == 1)


def test_a_dropped_row_counts_for_nothing(tmp_path: Path) -> None:
    """Also one that missed what no other row did: the views of sets are then those of before."""
    policy, never = (SafeGaussianThompson(SIX, seed=1) for _ in range(2))
    for arm, seen in ROWS[:80]:
        policy.tell(arm, seen)
        never.tell(arm, seen)
    rows = [policy.tell(arm, without_reward(seen)) for arm, seen in ROWS[80:]]
    arm, seen = ROWS[0]
    gone = policy.tell(arm, {"B": seen["B"]}, missing=True)
    assert len(policy._state.seen.counts) == 2
    assert policy._state.seen.counts.sum(axis=1).tolist() == [151, 150]
    policy.save(tmp_path / "policy.npz")
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)
    for row in (gone, *rows):
        policy.drop(row)  # type: ignore[arg-type]
    assert len(policy._state.seen.counts) == 1
    np.testing.assert_allclose(policy._state.seen.means, never._state.rewarded.means[..., :-1], atol=1e-9)
    np.testing.assert_allclose(policy._state.seen.scatter, never._state.rewarded.scatter[..., :-1, :-1], atol=1e-9)
    assert [e.mean for e in policy.estimates()] == pytest.approx([e.mean for e in never.estimates()])
    policy.save(tmp_path / "policy.npz")
    assert full_state(load_policy(tmp_path / "policy.npz")) == full_state(policy)


def test_values_may_be_missing_in_pending_rows() -> None:
    """They count for the sets whose variables they have, before the reward and after."""
    policy, whole = (CausalUCBNormal(SIX, seed=1) for _ in range(2))
    rows = [(arm, seen if n % 3 else {**seen, "A": None}) for n, (arm, seen) in enumerate(ROWS)]
    left = [policy.tell(arm, without_reward(seen), missing=True) for arm, seen in rows]
    for row, (arm, seen) in zip(left, rows, strict=True):
        policy.tell(row, reward=seen["Y"])  # type: ignore[arg-type]
        whole.tell(arm, seen, missing=True)
    for one, other in zip(policy._state.rewarded, whole._state.rewarded, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(policy._state.seen.counts, whole._state.rewarded.counts)
    np.testing.assert_allclose(policy._state.seen.means, whole._state.rewarded.means[..., :-1], atol=1e-12)


def test_a_bootstrap_waits_for_whole_rows() -> None:
    policy, whole = (CausalUCBNormal(SIX, seed=1, variance="bootstrap") for _ in range(2))
    for arm, seen in ROWS[:60]:
        row = policy.tell(arm, without_reward(seen))
        policy.tell(row, reward=seen["Y"])  # type: ignore[arg-type]
        whole.tell(arm, seen)
    assert not policy.uses_pending
    assert policy._sums() == {}
    for one, other in zip(policy._state.rewarded, whole._state.rewarded, strict=True):
        np.testing.assert_array_equal(one, other)
