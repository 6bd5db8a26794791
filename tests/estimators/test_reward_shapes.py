"""Posteriors of counts, levels, revenue and numbers: against numerical integration, and never certain of zeros."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from causal_bandits.core.estimators import gamma_interval
from causal_bandits.core.estimators.reward_shapes import (
    RewardStats,
    add_to_stats,
    draw_conjugate,
    learn_dispersion,
    own_dispersion,
    own_limits,
    row_variance,
    stats_for,
)
from causal_bandits.core.policies.posterior import snapshot
from causal_bandits.core.policies.reward_thompson import posterior
from causal_bandits.core.problem.rewards import read_reward

COUNT, AMOUNT, NUMBER = (stats_for(read_reward(kind)) for kind in ("count", "revenue", float))
LEVELS = {"levels": ["none", "one", "five"], "values": [0, 1, 5]}
VALUES = np.array([0.0, 1.0, 5.0])


def moments(values: list[float]) -> tuple[float, float, float]:
    """Rows, mean, scatter."""
    array = np.array(values, dtype=np.float64)
    return len(array), float(array.mean()) if len(array) else 0.0, float(((array - array.mean()) ** 2).sum())


@settings(max_examples=30, deadline=None)
@example(0.25, 1.0, [0])
@given(st.floats(0.25, 5), st.floats(0.05, 2), st.lists(st.integers(0, 12), min_size=1, max_size=15))
def test_counts_are_gamma_poisson(mean: float, variance: float, counts: list[int]) -> None:
    """Against the integral of prior times likelihood; the dispersion is that of a Poisson, 1."""
    known = snapshot(COUNT)
    known.steady[0] = 1e12  # the dispersion of all arms
    rates = np.exp(np.linspace(-700, 6, 80_001))  # a Gamma of shape 0.03 has much below e^-80
    log = stats.gamma(mean**2 / variance, scale=variance / mean).logpdf(rates) + np.log(rates)  # d rate = rate d log
    log += stats.poisson.logpmf(np.array(counts)[:, None], rates).sum(axis=0)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    middle = float(weights @ rates)
    found = posterior(known, mean, variance, *moments([float(count) for count in counts]))
    assert found == pytest.approx((middle, float(weights @ (rates - middle) ** 2)), rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(VALUES.tolist()), max_size=12),
    st.floats(0.5, 6),
    st.tuples(*[st.floats(0.2, 1.0)] * 3),
)
def test_levels_are_the_mean_of_a_dirichlet(
    values: list[float], size: float, shares: tuple[float, float, float]
) -> None:
    """Three levels: prior times likelihood integrated over the simplex."""
    base = np.array(shares) / sum(shares)
    mean = float(base @ VALUES)
    single = float(base @ (VALUES - mean) ** 2)
    known = stats_for(read_reward(LEVELS))
    known.dispersion[0] = single / (mean * (5 - mean))
    counts = np.array([values.count(value) for value in VALUES])
    alpha = size * base + counts
    points = (np.arange(400) + 0.5) / 400
    x, y = np.meshgrid(points, points, indexing="ij")  # P(first), and the share of the rest that is the second
    chances = np.stack([x, (1 - x) * y, (1 - x) * (1 - y)])
    log = ((alpha[:, None, None] - 1) * np.log(chances)).sum(axis=0) + np.log(1 - x)
    weight = np.exp(log - log.max())
    means = np.tensordot(VALUES, chances, 1)
    expected = (weight * means).sum() / weight.sum()
    spread = (weight * (means - expected) ** 2).sum() / weight.sum()
    found = posterior(known, mean, single / (size + 1), *(moments(values) if values else (0.0, 0.0, 0.0)))
    exact = float(alpha @ VALUES / alpha.sum())
    assert found[0] == pytest.approx(exact, rel=1e-9)
    if alpha.min() > 1:  # without poles at the edges the grid is exact enough
        assert found == pytest.approx((expected, spread), rel=5e-3)


def test_a_number_is_a_normal_mean() -> None:
    known = snapshot(NUMBER)
    known.dispersion[0], known.steady[0] = 4.0, 1e12
    mean, variance = posterior(known, 1.0, 0.5, *moments([3.0, 5.0]))
    assert (mean, variance) == pytest.approx(((1 / 0.5 + 8 / 4) / (1 / 0.5 + 2 / 4), 1 / (1 / 0.5 + 2 / 4)))


@pytest.mark.parametrize("given_nothing", [COUNT, AMOUNT], ids=["count", "revenue"])
def test_zeros_are_no_certainty(given_nothing: RewardStats) -> None:
    """Three zeros leave as much as a Gamma of its prior does; the interval of own rows has a width."""
    known = snapshot(given_nothing)
    known.dispersion[0], known.rate[0] = 30.0, 1.0
    mean, variance = posterior(known, 1.0, 0.5, 3.0, 0.0, 0.0)
    assert mean > 0.9
    assert variance == pytest.approx(30 * mean / (30 / 0.5 + 3))
    low, high = own_limits(known, 1.96, 3.0, 0.0, 0.0)
    assert low == pytest.approx(0.0, abs=1e-12)
    assert high == pytest.approx(1.96**2 * 30 / 3)
    assert own_dispersion(known, 3.0, 0.0, 0.0) == 30.0


@pytest.mark.parametrize("rate", [0.5, 1.0, 3.0, 10.0, 50.0])
def test_intervals_of_poisson_counts_cover(rate: float) -> None:
    """Of counts alone: 95% intervals cover at least so often, summed over all counts, and equal Garwood's."""
    counts = np.arange(200)
    means = np.maximum(counts, 1e-9)
    ends = np.array([gamma_interval(mean, mean, 0.95) for mean in means])
    np.testing.assert_allclose(ends[1:, 0], stats.chi2(2 * counts[1:]).ppf(0.025) / 2)
    np.testing.assert_allclose(ends[:, 1], stats.chi2(2 * counts + 2).ppf(0.975) / 2)
    covered = (ends[:, 0] <= rate) & (rate <= ends[:, 1])
    assert stats.poisson(rate).pmf(counts)[covered].sum() > 0.95


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=1, max_size=40))
def test_moments_of_all_rows(values: list[float]) -> None:
    known = snapshot(NUMBER)
    for value in values:
        add_to_stats(known, value)
    array = np.array(values)
    away = array - array.mean()
    expected = [len(array), array.mean(), (away**2).sum(), (away**3).sum(), (away**4).sum(), (array > 0).sum()]
    found = [each[0] for each in (known.rows, known.mean, known.m2, known.m3, known.m4, known.above)]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-5)


def test_dispersion_is_learnt_from_within_arms() -> None:
    """Null: negative binomial with variance 4 times the mean; 6 arms of 4000 rows, s.e. below .1, seed 0."""
    rng, known, own = np.random.default_rng(0), snapshot(COUNT), np.zeros((6, 3))
    for arm in range(6):
        counts = rng.poisson(rng.gamma((1 + arm) / 3, 3.0, size=4000))
        own[arm] = moments([float(count) for count in counts])
        for count in counts:
            add_to_stats(known, count)
    known.rate[0] = known.mean[0]
    learn_dispersion(known, own)
    assert known.dispersion[0] == pytest.approx(4.0, abs=0.4)
    assert row_variance(known, 2.0) == pytest.approx(2 * known.dispersion[0])
    assert known.steady[0] > 3


@pytest.mark.parametrize("reward", [float, "count", LEVELS], ids=["number", "count", "levels"])
def test_draws_have_the_mean_and_variance_that_were_asked_for(reward: Any) -> None:
    """Null: mean 1.2, variance .09 (Student's t with many degrees of freedom); 20,000 draws, 5 standard errors."""
    known, rng = stats_for(read_reward(reward)), np.random.default_rng(1)
    mean, variance, rows = (np.full(20_000, each) for each in (1.2, 0.09, 1e6))
    draws = draw_conjugate(known, mean, variance, rows, rng)
    assert draws.mean() == pytest.approx(1.2, abs=5 * 0.3 / math.sqrt(20_000))
    assert draws.var() == pytest.approx(0.09, abs=5 * 0.09 * math.sqrt(2.5 / 20_000))
