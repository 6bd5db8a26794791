"""The drift alarm: it is silent while a set holds, and heard soon after it stops."""

import numpy as np
import pytest
from scipy import stats

from causal_bandits.compiled import Ints, interpreted
from causal_bandits.independence import drift
from causal_bandits.independence.drift import (
    binary_ranks,
    drift_of_counts,
    drift_of_regression,
    drift_of_values,
    real_ranks,
)

WATCHED = 12


def rewards(rng: np.random.Generator, cells: Ints, chance: list[float], moved: list[float], since: int) -> Ints:
    at = np.array(chance)[cells] + np.where(np.arange(len(cells)) >= since, np.array(moved)[cells], 0.0)
    found: Ints = (rng.random(len(cells)) < at).astype(np.int64)
    return found


@pytest.mark.slow
def test_at_most_one_false_alarm_in_a_hundred_per_5000_rounds() -> None:
    """Null: at most 1 % of runs of 5000 rounds alarm while nothing moves; the cells follow the rewards before them.

    300 runs: the standard error at 1 % is 0.57 %, so more than 9 alarms (3 %) have a probability under 1e-3. Seed 31.
    """
    rng = np.random.default_rng(31)
    alarms = 0
    for _ in range(300):
        cells, seen = np.empty(5000, dtype=np.int64), np.empty(5000, dtype=np.int64)
        noise, chance = rng.random((5000, 2)), (0.15, 0.5, 0.8)
        good = 0.5
        for row in range(5000):  # the better it goes, the more often the last cell comes up
            cells[row] = 2 if noise[row, 0] < good / 2 else int(noise[row, 0] * 2 % 2)
            seen[row] = noise[row, 1] < chance[cells[row]]
            good += 0.01 * (seen[row] - good)
        alarms += drift_of_counts(cells, seen, watched=WATCHED).alarm
    assert alarms <= 9


MOVES = [
    ([0.2, 0.4, 0.6], [0.2, 0.2, 0.2]),
    ([0.5, 0.5, 0.5], [0.2, 0.2, 0.2]),
    ([0.8, 0.5, 0.3], [-0.2, -0.2, -0.2]),
    ([0.4, 0.6], [0.2, -0.2]),
]


@pytest.mark.parametrize(("chance", "moved"), MOVES)
def test_a_shift_of_a_fifth_is_found_within_500_rounds(chance: list[float], moved: list[float]) -> None:
    """Null: at least 80 % of shifts are found. 60 runs: the standard error is at most 5.2 %; a true power of 80 % fails
    with probability 1e-3 each (3.1 of them). Seed 32.
    """
    rng = np.random.default_rng(32)
    found = 0
    for _ in range(60):
        cells = rng.integers(len(chance), size=3000)
        found += drift_of_counts(cells, rewards(rng, cells, chance, moved, 2500), watched=WATCHED).alarm
    assert found / 60 > 0.8 - 3.1 * 0.052


def test_a_regression_that_moves_is_found_and_one_that_holds_is_not() -> None:
    """Nulls as above: 60 runs of 3000 rows of y = x + noise, the last 500 of them half a standard deviation higher in
    every second run. At most 3 of 30 false alarms (probability under 3e-4 at 1 %); at least 19 of 30 found (under 2e-2
    at 80 %, but the power is near one). Seed 33.
    """
    rng = np.random.default_rng(33)
    alarms = {0.0: 0, 0.5: 0}
    for run in range(60):
        shift = 0.5 * (run % 2)
        groups = rng.integers(2, size=3000)
        x = rng.normal(size=(3000, 2)) + groups[:, None]
        y = x @ [1.0, -0.5] + groups + rng.normal(size=3000) + shift * (np.arange(3000) >= 2500)
        alarms[shift] += drift_of_regression(x, y, groups, watched=WATCHED).alarm
    assert alarms[0.0] <= 3
    assert alarms[0.5] >= 19


def test_rewards_of_any_kind() -> None:
    """Nulls as above: 60 runs of 3000 rewards that are mostly 0 and otherwise large, in three cells of different
    traffic and level; in every second run the last 500 are above 0 more often by 0.2. At most 3 of 30 false alarms
    (probability under 3e-4 at 1 %); at least 19 of 30 found (under 2e-2 at 80 %). Seed 37.
    """
    rng = np.random.default_rng(37)
    alarms = {0: 0, 1: 0}
    for run in range(60):
        cells = np.sort(rng.integers(3, size=3000)) if run % 4 < 2 else rng.integers(3, size=3000)
        above = np.array([0.2, 0.4, 0.6])[cells] + 0.2 * (run % 2) * (np.arange(3000) >= 2500)
        spent = np.where(rng.random(3000) < above, 1e4 * rng.exponential(1.0 + cells), 0.0)
        alarms[run % 2] += drift_of_values(cells, spent, watched=WATCHED).alarm
    assert alarms[0] <= 3
    assert alarms[1] >= 19
    with pytest.raises(ValueError, match="rewards must be 0 or 1"):
        drift_of_counts(cells, spent.astype(np.int64), watched=WATCHED)


def test_ranks_are_those_of_a_plain_count() -> None:
    rng = np.random.default_rng(38)
    scores, noise = rng.integers(6, size=200).astype(np.float64), rng.random(200)
    slow = [
        (np.sum(scores[:row] > scores[row]) + noise[row] * (np.sum(scores[:row] == scores[row]) + 1)) / (row + 1)
        for row in range(200)
    ]
    np.testing.assert_allclose(real_ranks(scores, noise), slow, rtol=1e-15)


def test_ranks_are_uniform_and_independent() -> None:
    """Null: conformal p-values are uniform, and so are those that follow a small one. Kolmogorov and Smirnov at 1e-4
    each; seed 34.
    """
    rng = np.random.default_rng(34)
    cells = rng.integers(3, size=4000)
    p, _ = binary_ranks(
        cells, (rng.random(4000) < np.array([0.1, 0.5, 0.9])[cells]).astype(np.int64), rng.random(4000), 3
    )
    p = p[~np.isnan(p)]
    q = real_ranks(rng.integers(5, size=3000).astype(np.float64), rng.random(3000))
    for values in (p, p[1:][p[:-1] < 0.2], q, q[1:][q[:-1] < 0.2]):
        assert stats.kstest(values, "uniform").pvalue > 1e-4


def test_recursive_residuals_equal_regressions_on_the_rows_before() -> None:
    rng = np.random.default_rng(35)
    x, groups = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    y = x @ [2.0, -1.0] + groups + rng.normal(size=60)
    found = drift.recursive_residuals(x, y, groups, 2)
    full = np.column_stack([np.ones(60), x])
    for row in np.flatnonzero(~np.isnan(found)):
        before = np.flatnonzero(groups[:row] == groups[row])
        past = full[before]
        slopes = np.linalg.lstsq(past, y[before], rcond=None)[0]
        scale = 1 + full[row] @ np.linalg.inv(past.T @ past) @ full[row]
        assert found[row] == pytest.approx((y[row] - full[row] @ slopes) / np.sqrt(scale), rel=1e-4, abs=1e-6)


def test_compiled_equals_interpreted() -> None:
    rng = np.random.default_rng(36)
    streams, scores, noise = rng.integers(2, size=300), rng.integers(2, size=300), rng.random(300)
    np.testing.assert_array_equal(
        binary_ranks(streams, scores, noise, 2)[0], interpreted(binary_ranks)(streams, scores, noise, 2)[0]
    )
    numbers = rng.normal(size=200)
    np.testing.assert_array_equal(real_ranks(numbers, noise[:200]), interpreted(real_ranks)(numbers, noise[:200]))


def test_nothing_seen_is_no_alarm() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert not drift_of_counts(nothing, nothing, watched=1).alarm
    assert not drift_of_values(nothing, np.empty(0), watched=1).alarm
    assert not drift_of_regression(np.empty((0, 1)), np.empty(0), nothing, watched=1).alarm
