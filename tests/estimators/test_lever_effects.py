"""Lever effects against dense Gaussian algebra, and what must come out of learnt scales."""

import itertools

import numpy as np
import pytest
from scipy import stats

from causal_bandits.compiled import Floats, interpreted
from causal_bandits.estimators.lever_effects import draw_effects, effect_starts, fit_given, gather, solve, without_own
from causal_bandits.estimators.lever_scales import (
    DEVIATIONS,
    EFFECTS,
    FACTOR,
    LEAST,
    TYPICAL,
    Beforehand,
    fit_levers,
    weigh_scales,
)

LEVELS = np.array([2, 3])
CODES = np.array(list(itertools.product(range(2), range(3))))
STARTS = effect_starts(LEVELS)
SIZE = 6
DESIGN = np.array([[1, *np.eye(2)[a], *np.eye(3)[b]] for a, b in CODES])
VARIANCES = np.array([0.5, 0.2, 0.1])


def _data(seed: int, missing: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    precision = rng.uniform(1, 20, len(CODES))
    precision[:missing] = 0.0
    return rng.normal(size=len(CODES)), precision


def dense(values: Floats, precision: Floats, variances: Floats) -> tuple[float, Floats, Floats]:
    """Log density of the values, mean and covariance of (effects, arms' own values), by the textbook."""
    prior = np.diag([variances[0], *[variances[1]] * (SIZE - 1)])
    seen = precision > 0
    x = DESIGN[seen]
    noise = np.diag(1 / precision[seen] + variances[2])
    total = x @ prior @ x.T + noise
    log = float(stats.multivariate_normal(cov=total).logpdf(values[seen])) + 0.5 * seen.sum() * np.log(2 * np.pi)
    gain = prior @ x.T @ np.linalg.inv(total)
    return log, gain @ values[seen], prior - gain @ x @ prior


@pytest.mark.parametrize(("seed", "missing"), [(0, 0), (1, 2), (2, 5)])
def test_posterior_is_the_textbooks(seed: int, missing: int) -> None:
    values, precision = _data(seed, missing)
    log, expected, spread = dense(values, precision, VARIANCES)
    for first, second in ((gather, solve), (interpreted(gather), interpreted(solve))):
        mean, vector = np.empty((2, SIZE))
        covariance, matrix = np.empty((2, SIZE, SIZE))
        found = first(values, precision, CODES, STARTS, VARIANCES[2], matrix, vector)
        found += second(matrix, vector, VARIANCES[0], VARIANCES[1], mean, covariance)
        assert found == pytest.approx(log)
        np.testing.assert_allclose(mean, expected, atol=1e-10)
        np.testing.assert_allclose(covariance, spread, atol=1e-10)


@pytest.mark.parametrize("none", [0.0, 0.3])
def test_scales_are_weighed_by_evidence(none: float) -> None:
    """The grid written out with dense algebra."""
    values, precision = _data(3)
    unit, beside = 0.4, 0.2
    before = Beforehand(unit, 0.5, none, beside, FACTOR, 0.0)
    weights, effects, deviations = [], [], []

    def log_prior(spread: float) -> float:
        return float(stats.norm(np.log(TYPICAL), FACTOR).logpdf(0.5 * np.log(spread + LEAST)))

    for effect, deviation in itertools.product(EFFECTS, DEVIATIONS):
        variances = np.array([0.5, max(effect**2, LEAST) * unit**2, deviation**2 * unit**2])
        log = dense(values, precision, variances)[0] + log_prior(beside + 2 * effect**2 + deviation**2)
        weights.append((1 - none) / 16 * np.exp(log))
        effects.append(effect**2 * unit**2)
        deviations.append(deviation**2 * unit**2)
    nothing = none * np.exp(dense(values, precision, np.array([0.5, *[LEAST * unit**2] * 2]))[0] + log_prior(beside))
    found, variances = weigh_scales(values, precision, CODES, STARTS, SIZE, before)
    assert found == pytest.approx(nothing / (nothing + sum(weights)))
    expected = np.average(effects, weights=weights), np.average(deviations, weights=weights)
    np.testing.assert_allclose(variances, [0.5, *expected])


def test_without_own_is_a_fit_without_the_arm() -> None:
    values, precision = _data(4)
    fit = fit_given(values, precision, CODES, STARTS, SIZE, 0.0, VARIANCES)
    for arm in range(len(CODES)):
        others = precision.copy()
        others[arm] = 0.0
        _, mean, covariance = dense(values, others, VARIANCES)
        row = DESIGN[arm]
        expected = row @ mean, row @ covariance @ row + VARIANCES[2]
        found = without_own(fit, values[arm], precision[arm], CODES[arm], STARTS)
        assert found == pytest.approx(expected)


def test_additive_values_have_small_deviations_and_odd_ones_large() -> None:
    precision = np.full(len(CODES), 1e4)
    before = Beforehand(1.0, 4.0, 0.1, 0.0, FACTOR, 0.0)
    additive = np.array([0.8, -0.8])[CODES[:, 0]] + np.array([0.5, 0.0, -0.5])[CODES[:, 1]]
    odd = np.where(CODES.sum(axis=1) % 2, 0.8, -0.8)
    fits = [fit_levers(values, precision, CODES, STARTS, SIZE, before) for values in (additive, odd, 0 * odd)]
    assert fits[0].deviation < 0.05 < 0.3 < fits[1].deviation
    assert fits[0].none < 1e-6 > fits[1].none
    assert fits[2].none > 0.5


def test_draws_have_mean_and_covariance() -> None:
    """Null: draws are N(mean, covariance). 20,000 draws; means within 5 standard errors, 6 of them, and the covariance
    within 6 %: a false alarm in 3e-6 of seeds for the means. Seed 0. Half as far means a quarter of the covariance."""
    values, precision = _data(5)
    fit = fit_given(values, precision, CODES, STARTS, SIZE, 0.0, VARIANCES)
    rng = np.random.default_rng(0)
    drawn = np.empty((20_000, SIZE))
    for line in drawn:
        draw_effects(fit.mean, fit.root, 0.5, rng, line)
    expected = 0.25 * fit.covariance
    assert np.all(np.abs(drawn.mean(axis=0) - fit.mean) < 5 * np.sqrt(np.diag(expected) / len(drawn)))
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.06 * expected.max())


def test_no_levers() -> None:
    """One lever: only the level and deviations are left."""
    values, precision = _data(6)
    nothing = np.empty((len(values), 0), dtype=np.int64)
    fit = fit_levers(values, precision, nothing, STARTS[:0], 1, Beforehand(1.0, 4.0, 0.0, 0.0, FACTOR, 0.0))
    weight = 1 / (1 / precision + fit.deviation)
    assert fit.mean[0] == pytest.approx((weight * values).sum() / (weight.sum() + 1 / 4))
    assert fit.spread == fit.deviation
