"""Evidence that is valid at every look: against integrals, against all pairs of means, and as a martingale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits.compiled import Floats
from causal_bandits.independence.anytime import Sums, chance_evidence, evidence_ahead, leading, needed, sums_of
from tests.reference import anytime as slow


def sums(rows: list[float], total: list[float]) -> Sums:
    return Sums(*np.array([rows, total, total], dtype=np.float64))


@pytest.mark.parametrize("claimed", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("rewards", [[], [1], [0, 1, 0, 0], [1, 1, 1, 0, 1, 0, 1]])
def test_the_average_is_the_integral(claimed: float, rewards: list[int]) -> None:
    found = chance_evidence(np.array(float(len(rewards))), np.array(float(sum(rewards))), np.array(claimed))
    assert math.exp(float(found)) == pytest.approx(slow.martingale(rewards, claimed), rel=1e-6)


@pytest.mark.parametrize("claimed", [0.02, 0.5])
def test_it_is_a_martingale(claimed: float) -> None:
    """After any rewards, the next one leaves it where it is on average, if the claimed mean is the true one."""
    for rows, ones in ((0, 0), (5, 1), (400, 37)):
        now, with_zero, with_one = (
            math.exp(float(chance_evidence(np.array(float(n)), np.array(float(s)), np.array(claimed))))
            for n, s in ((rows, ones), (rows + 1, ones), (rows + 1, ones + 1))
        )
        assert claimed * with_one + (1 - claimed) * with_zero == pytest.approx(now, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.0, 0.05, -0.05]))
def test_no_pair_of_means_has_less_evidence(n: int, m: int, one: float, other: float, margin: float) -> None:
    """All pairs on a grid of 1/100, which both edges of the null are on: never lower, and about as low."""
    first, second = sums([n], [round(one * n)]), sums([m], [round(other * m)])
    grid = np.linspace(0.01, 0.99, 99)
    each: list[Floats] = [chance_evidence(arm.rows, arm.total, grid) for arm in (first, second)]
    lowest = max(slow.lowest(each[0].tolist(), each[1].tolist(), grid.tolist(), margin), 0.0)
    found = float(evidence_ahead(first, second, margin)[0])
    assert found <= lowest + 1e-6
    if 0.05 < first.means[0] < 0.9 and 0.05 < second.means[0] < 0.9:
        assert found == pytest.approx(lowest, abs=0.15)


def test_numbers_have_the_lowest_of_a_quadratic() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(0.5, 1, 400), rng.normal(0.0, 2, 300)
    arms = np.repeat([0, 1], [400, 300])
    both = sums_of(arms, np.concatenate([one, other]), 2)
    found = float(evidence_ahead(both.of(0), both.of(1), 0.1, binary=False)[0])
    lowest = math.inf
    for p in np.linspace(-0.5, 1, 3001):
        total = 0.0
        for values, claimed in ((one, p), (other, p + 0.1)):
            n, seen = len(values), len(values) * 0.05**2
            total += 0.5 * n * seen / (1 + seen) * (values.mean() - claimed) ** 2 / values.var(ddof=1)
            total -= 0.5 * math.log1p(seen)
        lowest = min(lowest, total)
    assert found == pytest.approx(max(lowest, 0.0), abs=1e-3)


def test_few_rows_of_a_number_are_no_evidence() -> None:
    arms = np.repeat([0, 1], [29, 500])
    rewards = np.concatenate([np.linspace(9, 10, 29), np.linspace(0, 1, 500)])
    both = sums_of(arms, rewards, 2)
    assert evidence_ahead(both.of(0), both.of(1), binary=False).tolist() == [0.0]


def test_the_leader_is_named_and_the_others_are_excluded() -> None:
    found = leading(sums([1000, 1000, 1000, 0], [500, 100, 480, 0]), np.ones(4, bool), 0, 0.0, needed(4, 0.95))
    assert (found.arm, found.is_best, found.behind) == (0, False, (1,))
    without = leading(sums([1000, 1000, 9, 0], [500, 100, 4, 0]), np.array([1, 1, 0, 0], bool), 1, 0.0, 3.0)
    assert (without.arm, without.is_best, without.behind) == (0, True, (1,))
    close = leading(sums([9000, 9000], [4500, 4490]), np.ones(2, bool), 1, 0.05, 3.0)
    assert (close.is_best, close.behind, close.evidence > 3) == (False, (), True)


def test_arms_with_costs_are_compared_by_what_is_left() -> None:
    """Against all pairs of means whose net means contradict the claim; the dearest arm earns most, and is behind."""
    earned, cost = sums([2000, 2000, 2000], [600, 900, 500]), np.array([0.0, 0.4, 0.05])
    found = leading(earned, np.ones(3, bool), 1, 0.0, 3.0, cost=cost)
    assert (found.arm, found.is_best, found.behind) == (0, True, (1, 2))
    grid = np.linspace(0.005, 0.995, 199)
    each = [chance_evidence(earned.rows[arm], earned.total[arm], grid) for arm in range(3)]
    lowest = [slow.lowest(each[0].tolist(), each[arm].tolist(), grid.tolist(), cost[arm]) for arm in (1, 2)]
    assert min(lowest) - 0.15 < found.evidence <= min(lowest) + 1e-6
    same = leading(earned, np.ones(3, bool), 1, 0.0, 3.0, cost=np.full(3, 0.2))
    assert same == leading(earned, np.ones(3, bool), 1, 0.0, 3.0)
    huge = leading(earned, np.ones(3, bool), 1, 0.0, 3.0, cost=np.array([0.0, 5.0, 5.0]))
    assert (huge.arm, huge.is_best) == (0, True)


def test_more_arms_need_more_evidence() -> None:
    assert needed(2, 0.95) == pytest.approx(math.log(20))
    assert needed(11, 0.9) == pytest.approx(math.log(100))
