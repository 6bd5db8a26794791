"""The permutation test of means: exact where all deals can be listed, its level with zeros and heavy tails, power."""

import itertools

import numpy as np
import pytest

from causal_bandits.core.independence import mean_test
from causal_bandits.core.independence.means import _statistic
from causal_bandits.errors import OptionError


def test_against_all_deals() -> None:
    """Six rows in two strata: the p-value is the share of all deals; 20,000 draws, 5 standard errors."""
    values = np.array([0.0, 3.0, 1.0, 7.0, 2.0, 2.0])
    arms = np.array([0, 0, 1, 1, 0, 1])
    strata = np.array([0, 0, 0, 0, 1, 1])
    scaled = (values - values.mean()) / np.abs(values - values.mean()).max()

    def statistic(first: tuple[float, ...], second: tuple[float, ...]) -> float:
        return float(_statistic(np.array(first), arms[:4], 2) + _statistic(np.array(second), arms[4:], 2))

    observed = statistic(tuple(scaled[:4]), tuple(scaled[4:]))
    deals = [
        statistic(first, second)
        for first in itertools.permutations(scaled[:4])
        for second in itertools.permutations(scaled[4:])
    ]
    expected = np.mean([each >= observed * (1 - 1e-9) for each in deals])
    found = mean_test(values, arms, strata, draws=20_000)
    assert found.p_value == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 20_000))
    assert found.statistic == pytest.approx(observed)
    assert found.dof == 1  # the second stratum has one value


@pytest.mark.statistical
def test_revenue_that_no_arm_changes() -> None:
    """Null: 3% log-normal revenue, four arms, 2000 rows; p < .05 in 5% of 200 tables.

    Standard error 1.5%; between 0.5 and 11% fails by chance with probability 1e-4. Seed 3. The residual test of the
    paper rejects most of such tables (docs/results/rewards.md).
    """
    rng = np.random.default_rng(3)
    low = 0
    for number in range(200):
        spend = np.where(rng.random(2000) < 0.03, np.exp(3 + rng.normal(size=2000)), 0.0)
        low += mean_test(spend, rng.integers(0, 4, 2000), draws=199, seed=number).p_value < 0.05
    assert 0.005 <= low / 200 <= 0.11


@pytest.mark.statistical
def test_unequal_variances_are_no_difference_of_means() -> None:
    """Null: means are equal, standard deviations 1 and 4, rows 400 and 100; 200 tables as above, seed 4."""
    rng = np.random.default_rng(4)
    arms = np.repeat([0, 1], [400, 100])
    low = sum(
        mean_test(rng.normal(size=500) * np.where(arms, 4.0, 1.0), arms, draws=199, seed=number).p_value < 0.05
        for number in range(200)
    )
    assert 0.005 <= low / 200 <= 0.12


def test_a_difference_is_found_and_scales_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    arms = rng.integers(0, 3, 2000)
    spend = np.where(rng.random(2000) < 0.1 + 0.2 * (arms == 2), np.exp(rng.normal(size=2000)), 0.0)
    found = mean_test(spend, arms)
    assert found.p_value == 0.001
    assert mean_test(1e80 * spend, arms).p_value == found.p_value
    assert mean_test(1e6 + spend, arms).p_value == found.p_value


def test_without_evidence() -> None:
    assert mean_test([], []).p_value == 1.0
    assert mean_test([1.0, 1.0, 1.0], [0, 1, 0]) == (0.0, 0, 1.0)
    assert mean_test([1.0, 2.0], [0, 1], [0, 1]).dof == 0


@pytest.mark.parametrize(
    ("rewards", "arms", "said"),
    [
        ([1.0, 2.0], [0], "2 rewards, 1 arms"),
        (["a", "b"], [0, 1], "rewards is not a list of numbers"),
        ([1.0, 2.0], [0.5, 1.0], "arms is not a list of whole numbers"),
        ([1.0, np.inf], [0, 1], "finite"),
        ([1.0, 2.0], [0, -1], "from 0"),
    ],
)
def test_bad_columns(rewards: list[object], arms: list[object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        mean_test(rewards, arms)  # type: ignore[arg-type]
