"""Claims about arms: who is dropped, what stays proven, and how the error is shared."""

import math
from pathlib import Path

import numpy as np
import pytest

from causal_bandits import Problem, ThompsonSampling
from causal_bandits.core.data import History, Rows
from causal_bandits.core.independence.betting import evidence_ahead, sums_of
from causal_bandits.core.policies.claims import Comparison, Proven, Scale, checkpoints, prove, scale_of

UNIT = Scale(0.0, 1.0)


def history(arms: list[int], rewards: list[int], count: int, *, batch: bool = False) -> History:
    made = History(Problem("Y", {}, {"lever": count}))
    nothing = np.empty((len(arms), 0))
    made.extend(Rows(np.array(arms), nothing.astype(np.int64), np.array(rewards), nothing), None if batch else ())
    return made


def asked(count: int, first_arms: int | None = None, **more: object) -> Comparison:
    every = np.ones(count, dtype=np.bool_)
    made = Comparison(np.arange(count), every, count if first_arms is None else first_arms, 0.05)
    return made._replace(**more)  # type: ignore[arg-type]


def race(rates: list[float], rows: int, seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(rates), size=rows)
    return arms.tolist(), (rng.random(rows) < np.array(rates)[arms]).astype(int).tolist()


def test_nothing_is_proven_by_nothing() -> None:
    assert prove(history([], [], 2), UNIT, asked(2)) == Proven()


def test_the_best_arm_is_named_and_the_others_are_excluded() -> None:
    arms, rewards = race([0.1, 0.5, 0.15], 1500, 1)
    found = prove(history(arms, rewards, 3), UNIT, asked(3))
    assert (found.behind, found.arm, found.is_best, found.progress) == ((0, 2), 1, True, 1.0)


def test_a_claim_stays_proven() -> None:
    """Whatever comes later: every prefix from the first proof on has it, even where the rows turn around."""
    arms, rewards = race([0.3, 0.5], 600, 2)
    turned, other = race([0.5, 0.3], 1200, 3)
    arms, rewards = arms + turned, rewards + other
    found = [prove(history(arms[:n], rewards[:n], 2), UNIT, asked(2, margin=0.0)).arm for n in range(100, 1800, 50)]
    assert found[-1] == 1
    first = found.index(1)
    assert found == [None] * first + [1] * (len(found) - first)


def test_added_arms_change_no_claim() -> None:
    arms, rewards = race([0.3, 0.5, 0.35], 1200, 4)
    before = prove(history(arms, rewards, 3), UNIT, asked(3))
    assert before.behind
    after = prove(history(arms, rewards, 5), UNIT, asked(5, first_arms=3))
    assert after.behind == before.behind
    assert after.arm is None  # two arms without rows may be better


def test_an_added_arm_is_compared_with_its_own_share_of_the_error() -> None:
    arms, rewards = race([0.2, 0.2, 0.6], 900, 5)
    found = prove(history(arms, rewards, 3), UNIT, asked(3, first_arms=2))
    assert (found.arm, found.is_best) == (2, True)
    few = next(n for n in range(50, 900, 10) if prove(history(arms[:n], rewards[:n], 3), UNIT, asked(3)).is_best)
    assert not prove(history(arms[:few], rewards[:few], 3), UNIT, asked(3, first_arms=2)).is_best


def test_the_first_drop_needs_the_stated_evidence() -> None:
    """Two arms: 2 / (0.98 * 0.05); checked against the evidence itself at every checkpoint."""
    arms, rewards = race([0.3, 0.4], 3000, 6)
    ends = checkpoints(3000, 2).tolist()
    needed, first = math.log(2 / (0.98 * 0.05)), None
    for end in ends:
        sums = sums_of(np.array(rewards[:end]), np.array(arms[:end]), 2)
        evidence = float(evidence_ahead(sums.of([1]), sums.of([0]), binary=True)[0])
        if evidence >= needed:
            first = end
            break
    assert first is not None
    for end, behind in ((first - 1, ()), (first, (0,))):
        assert prove(history(arms[:end], rewards[:end], 2), UNIT, asked(2, margin=0.0)).behind == behind


def test_rows_of_one_batch_are_looked_at_together() -> None:
    """A table sorted by reward: in its order the arms would seem far apart, together they are alike."""
    arms = [0] * 200 + [1] * 200 + [0] * 200 + [1] * 200
    rewards = [1] * 200 + [0] * 200 + [0] * 200 + [1] * 200
    assert prove(history(arms, rewards, 2), UNIT, asked(2)).behind
    assert not prove(history(arms, rewards, 2, batch=True), UNIT, asked(2, margin=0.0)).behind
    assert checkpoints(800, 2, batches=[(0, 800)]).tolist() == [800]


def test_costs_are_taken_off() -> None:
    arms, rewards = race([0.3, 0.45, 0.25], 6000, 7)
    cost = np.array([0.0, 0.4, 0.02])
    found = prove(history(arms, rewards, 3), UNIT, asked(3, margin=0.0, cost=cost))
    assert (found.arm, found.is_best, found.behind) == (0, True, (1, 2))
    same = prove(history(arms, rewards, 3), UNIT, asked(3, cost=np.full(3, 0.2), margin=0.01))
    assert same.behind == prove(history(arms, rewards, 3), UNIT, asked(3, margin=0.01)).behind


def test_arms_that_are_not_in_play_win_nothing() -> None:
    arms, rewards = race([0.3, 0.5, 0.3], 900, 8)
    found = prove(history(arms, rewards, 3), UNIT, asked(3, allowed=np.array([True, False, True]), margin=0.0))
    assert (found.behind, found.arm) == ((), None)
    alone = prove(history(arms, rewards, 3), UNIT, asked(3, allowed=np.array([True, False, False])))
    assert (alone.arm, alone.is_best) == (0, True)


@pytest.mark.parametrize(
    ("reward", "cap", "expected"),
    [
        (bool, None, Scale(0.0, 1.0)),
        ("revenue", 50, Scale(0.0, 50.0)),
        (float, 3, Scale(-3.0, 3.0)),
        (float, (1, 3), Scale(1.0, 3.0)),
        ({"levels": ["a", "b"], "values": [2, 7]}, None, Scale(2.0, 7.0)),
        ("count", None, None),
    ],
)
def test_ends_of_rewards(reward: object, cap: object, expected: Scale | None) -> None:
    problem = Problem("Y", {}, {"lever": 2}, reward=reward, cap=cap)  # type: ignore[arg-type]
    assert scale_of(problem.reward, np.zeros(5)) == expected


def test_rows_that_set_the_cap_are_no_evidence() -> None:
    rng = np.random.default_rng(9)
    problem = Problem("Y", {}, {"lever": 2}, reward="revenue")
    arms = rng.integers(2, size=1200)
    rewards = np.where(arms == 1, 3.0, 1.0) * rng.random(1200)
    made = History(problem)
    nothing = np.empty((1200, 0))
    made.extend(Rows(arms, nothing.astype(np.int64), rewards, nothing), ())
    scale = scale_of(problem.reward, rewards)
    assert scale is not None
    assert (scale.first, scale.high) == (1000, np.quantile(rewards[:1000], 0.999))
    found = prove(made, scale, asked(2))
    late = np.concatenate([rewards[:1000][::-1], rewards[1000:]])  # another order of the first rows changes nothing
    again = History(problem)
    again.extend(Rows(np.concatenate([arms[:1000][::-1], arms[1000:]]), nothing.astype(np.int64), late, nothing), ())
    assert prove(again, scale, asked(2)) == found


def test_batches_are_kept_in_save_files(tmp_path: Path) -> None:
    """Which rows came at once decides where claims are checked, so it is the same after loading."""
    policy = ThompsonSampling(Problem("Y", {}, {"lever": 2}), seed=0)
    policy.tell_many([{"Y": 1}] * 7, arm={"lever": 1})
    policy.tell(policy.problem.arms[0], {"Y": 0})
    policy.tell_many([{"Y": 0}] * 4, arm={"lever": 0})
    assert policy.history.batches == [(0, 7), (8, 12)]
    policy.save(tmp_path / "policy.npz")
    assert ThompsonSampling.load(tmp_path / "policy.npz").history.batches == [(0, 7), (8, 12)]
