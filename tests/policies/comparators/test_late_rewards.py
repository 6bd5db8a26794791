"""Delay-corrected Thompson sampling and Impatient Bandits: steps by hand, slow twins, and what they lose."""

import math

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.errors import OptionError
from causal_bandits.research.comparators import DelayCorrectedThompson, ImpatientBandit
from causal_bandits.research.comparators.late_rewards import delay_law, law_at, pending_weights
from causal_bandits.research.simulation import ByOutcome, Geometric, play, told

PROBLEM = cb.Problem("Y", {"Z": 2, "W": 3}, {"I": ["none", "on"]})


# Delay-corrected Thompson sampling


def slow_law(rows: list[tuple[int, int]], at: int) -> float:
    """F(at) from (delay, age) of the rows that have their reward, delay by delay."""
    found = 0.0 if not rows or at < min(delay for delay, _ in rows) else 1.0
    for k in {delay for delay, _ in rows}:
        if k > at:
            same = sum(delay == k for delay, _ in rows)
            exposed = sum(delay <= k <= age for delay, age in rows)
            found *= 1 - same / (exposed + 1)
    return found


def test_a_step_of_the_correction_by_hand() -> None:
    """Conversions came after 2, 5 and 5 rows, told 9, 9 and 13 ago: F(2) = 1 - 2 / (3 + 1) = 1/2, F(5) = 1.

    Zeros came after 4: a row that waits for 3 counts F1(3) = 1/2, one that waits for 1 counts 0, and one that waits for
    4 should have been reported, so it counts 0.
    """
    ones = delay_law(np.array([2, 5, 5]), np.array([9, 9, 13]))
    zeros = delay_law(np.array([4]), np.array([20]))
    assert law_at(ones, np.array([1, 2, 4, 5, 6])).tolist() == [0, 0.5, 0.5, 1, 1]
    assert pending_weights(ones, zeros, np.array([1, 3, 4])).tolist() == [0, 0.5, 0]
    nothing = delay_law(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert pending_weights(nothing, zeros, np.array([3])).tolist() == [0]
    assert pending_weights(ones, nothing, np.array([3])).tolist() == [0.5]


def test_equal_delays_of_both_outcomes_leave_plain_thompson_sampling() -> None:
    law = delay_law(np.array([3, 7]), np.array([20, 20]))
    assert pending_weights(law, law, np.arange(7)).tolist() == [0] * 7


def test_the_correction_keeps_the_books_of_its_slow_twin() -> None:
    """A random stream of rows told, rewarded and dropped; the twin keeps every row and computes weights row by row."""
    policy, rng = DelayCorrectedThompson(PROBLEM, seed=0), np.random.default_rng(3)
    told_at: dict[int, tuple[int, int]] = {}
    rewards: dict[int, int] = {}
    done: list[tuple[int, int, int]] = []
    clock = 0
    for _ in range(150):
        arm = int(rng.integers(2))
        handle = policy.tell(PROBLEM.arms[arm], {"Z": 0, "W": 2})
        assert handle is not None
        clock += 1
        told_at[handle.number], rewards[handle.number] = (arm, clock), int(rng.random() < 0.4)
        for number in [each for each in told_at if rng.random() < (0.1 if rewards[each] else 0.01)]:
            reward = rewards[number]
            waiting = next(each for each in policy.pending() if each.number == number)
            policy.tell(waiting, reward=reward)
            done.append((told_at.pop(number)[1], clock, reward))
    policy.schedule.due = 0
    state = policy.ready()
    laws = [[(came - at, clock - at) for at, came, said in done if said == reward] for reward in (0, 1)]
    expected = np.zeros(2)
    for arm, at in told_at.values():
        zero, one = (slow_law(law, clock - at) for law in laws)
        expected[arm] += max(0.0, 1 - (1 - one) / (1 - zero)) if zero < 1 else 0.0
    assert state.weight == pytest.approx(expected)
    assert state.waiting.tolist() == [sum(arm == each for arm, _ in told_at.values()) for each in (0, 1)]
    assert expected.sum() > 1
    found = policy.posterior().means
    ones = 1 + state.rewards[:, 1]
    assert found == pytest.approx(ones / (ones + 1 + state.rewards[:, 0] + expected))


@pytest.mark.parametrize("delay", [40, Geometric(30), ByOutcome(zero=100, other=Geometric(10))])
@pytest.mark.parametrize("name", ["delay-corrected-ts", "impatient"])
def test_compiled_rounds_choose_the_same_arms(name: str, delay: object) -> None:
    world = cb.worlds.practice_world("mediated", rate=0.3, arms=6, seed=2)
    runs = []
    for compiled in (True, False):
        policy = told(name, world, horizon=400)(world.problem, seed=1)
        runs.append(play(policy, world, 400, np.random.default_rng(5), delay=delay, compiled=compiled))  # type: ignore[arg-type]
    assert runs[0].arms.tolist() == runs[1].arms.tolist()


def test_conversions_that_come_early_are_not_taken_for_the_rate() -> None:
    """Rates of 30%, conversions known after 20 rounds on average and zeros after 400: after 400 rounds Thompson
    sampling has seen conversions alone and states more than 90%; corrected, the truth is within .12 (one seed)."""
    world = cb.worlds.loan_world()
    found = {}
    for name in ("ts", "delay-corrected-ts"):
        policy = told(name, world, horizon=2)(world.problem, seed=4)
        play(policy, world, 400, np.random.default_rng(6), delay=ByOutcome(zero=400, other=Geometric(20)))
        posterior = policy.posterior()
        found[name] = float(
            np.average(posterior.means, weights=[source.effective_rows for source in posterior.sources])
        )
    assert found["ts"] > 0.8
    assert abs(found["delay-corrected-ts"] - world.means.mean()) < 0.12


# Impatient Bandits

PAST = np.array([[0.2, 0.5, 0.3, 0.1], [0.4, 0.7, 0.4, 0.3], [0.3, 0.5, 0.2, 0.1], [0.5, 0.6, 0.5, 0.3]])
NOISE = np.diag([0.2, 0.25, 0.2, 0.15]) + 0.02


def conditioned(rows: list[Floats]) -> tuple[float, float]:
    """Mean and standard deviation of the last coordinate given rows of 3 or 4 outcomes, from one big joint Gaussian."""
    mean, covariance = PAST.mean(axis=0), np.cov(PAST.T)
    noise = NOISE + 1e-9 * np.eye(4)
    picks = [np.eye(4)[: len(row)] for row in rows]
    stacked, seen = np.vstack(picks), np.concatenate(rows)
    joint = stacked @ covariance @ stacked.T
    at = 0
    for pick in picks:
        joint[at : at + len(pick), at : at + len(pick)] += pick @ noise @ pick.T
        at += len(pick)
    gain = covariance @ stacked.T @ np.linalg.inv(joint)
    left = covariance - gain @ stacked @ covariance
    return float((mean + gain @ (seen - stacked @ mean))[-1]), math.sqrt(left[-1, -1])


def test_impatient_is_the_conditional_of_one_big_gaussian() -> None:
    """Complete and pending rows of one arm, a reward that comes and a row that is dropped, against its slow twin."""
    policy = ImpatientBandit(PROBLEM, past_means=PAST, noise=NOISE, seed=0)
    arm, rng, rows = PROBLEM.arms[1], np.random.default_rng(1), []
    for number in range(14):
        z, w, y = int(rng.integers(2)), int(rng.integers(3)), int(rng.integers(2))
        handle = policy.tell(arm, {"Z": z, "W": w})
        assert handle is not None
        early = np.array([z, w >= 1, w >= 2], dtype=float)
        if number % 3 == 0:
            policy.tell(handle, reward=y)
            rows.append(np.append(early, y))
        elif number % 3 == 1:
            rows.append(early)
        else:
            policy.drop(handle)
    state = policy.ready()
    assert state.posterior[1] == pytest.approx(conditioned(rows), rel=1e-6)
    assert state.posterior[0] == pytest.approx([PAST[:, -1].mean(), PAST[:, -1].std(ddof=1)])


def test_a_step_of_impatient_by_hand() -> None:
    """One mediator; past arms have means (.2, .1) and (.4, .3): m = (.3, .2), all of Sigma is .02. Noise .25 and .16.

    Four pending rows with Z = 1 have average 1: the gain is .02 / (.02 + .25 / 4) = .2424, so the reward's mean is
    .2 + .2424 (1 - .3) = .3697, and its variance .02 (1 - .2424) = .01515.
    """
    problem = cb.Problem("Y", {"Z": 2}, {"I": ["none", "on"]})
    policy = ImpatientBandit(problem, past_means=[[0.2, 0.1], [0.4, 0.3]], noise=[[0.25, 0], [0, 0.16]], seed=0)
    for _ in range(4):
        policy.tell(problem.arms[1], {"Z": 1})
    mean, sd = policy.ready().posterior[1]
    assert mean == pytest.approx(0.2 + 0.02 / 0.0825 * 0.7, rel=1e-6)
    assert sd**2 == pytest.approx(0.02 * (1 - 0.02 / 0.0825), rel=1e-6)


def test_moments_of_outcomes_are_those_of_the_world() -> None:
    """By brute force: many rows of every arm of a funnel; standard errors below .01, so .05 is beyond five of them."""
    world = cb.worlds.practice_world("mediated", rate=0.3, arms=3, seed=5)
    policy = told("impatient", world, horizon=2)(world.problem, seed=0)
    assert isinstance(policy, ImpatientBandit)
    rng = np.random.default_rng(0)
    within = []
    for place, arm in enumerate(world.problem.arms):
        rows = world.sample(arm, 4000, rng)
        columns = [
            rows.codes[:, v] >= level for v, each in enumerate(world.problem.observed) for level in range(1, each.size)
        ]
        trace = np.array([*columns, rows.rewards], dtype=float)
        assert policy.past_means[place] == pytest.approx(trace.mean(axis=1), abs=0.05)
        within.append(np.cov(trace))
    assert policy.noise == pytest.approx(np.mean(within, axis=0), abs=0.05)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OptionError, match=r"past_means has shape .* 4 outcomes"):
        ImpatientBandit(PROBLEM, past_means=PAST[:, :2], noise=NOISE)
    with pytest.raises(OptionError, match="noise has shape"):
        ImpatientBandit(PROBLEM, past_means=PAST, noise=NOISE[:2])
