"""Intervals of chances, beside scipy's distributions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm

from causal_bandits.core.estimators import beta_interval, jeffreys_interval

CHANCES = st.floats(1e-4, 1 - 1e-4)
SHARES = st.floats(1e-3, 0.95)
"""Variances as shares of the largest that a mean allows."""


@given(CHANCES, SHARES, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_are_the_betas_unless_it_has_next_to_no_event(mean: float, share: float, level: float) -> None:
    """With a quarter of an event and of its absence it is the Beta's; with less its far end is the further of two."""
    deviation = np.sqrt(share * mean * (1 - mean))
    low, high = beta_interval(mean, deviation**2, level)
    size = 1 / share - 1
    exact = beta(mean * size, (1 - mean) * size).interval(level)
    gaussian = norm(mean, deviation).interval(level)
    expected = [
        exact[0] if (1 - mean) * size >= 0.25 else min(exact[0], max(gaussian[0], 0.0)),
        exact[1] if mean * size >= 0.25 else max(exact[1], min(gaussian[1], 1.0)),
    ]
    np.testing.assert_allclose([low, high], expected, rtol=1e-6, atol=1e-12)


@given(CHANCES, SHARES)
def test_ones_and_zeros_are_treated_alike(mean: float, share: float) -> None:
    variance = share * mean * (1 - mean)
    low, high = beta_interval(mean, variance, 0.95)
    other_low, other_high = beta_interval(1 - mean, variance, 0.95)
    np.testing.assert_allclose([low, high], [1 - other_high, 1 - other_low], atol=1e-7)


@given(CHANCES, SHARES)
def test_a_95_percent_interval_holds_its_mean(mean: float, share: float) -> None:
    """Beta(0.004, 4), for one, has 97.5% of itself below its mean."""
    low, high = beta_interval(mean, share * mean * (1 - mean), 0.95)
    assert low <= mean <= high
    assert beta(0.004, 4).ppf(0.975) < beta(0.004, 4).mean()


@given(st.integers(1, 10**6), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_jeffreys_interval_is_that_of_scipy(rows: int, share: float, level: float) -> None:
    ones = round(rows * share)
    low, high = beta(ones + 0.5, rows - ones + 0.5).interval(level)
    expected = 0.0 if ones == 0 else low, 1.0 if ones == rows else high
    np.testing.assert_allclose(jeffreys_interval(rows, ones, level), expected, rtol=1e-3, atol=1e-9)
