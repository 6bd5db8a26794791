"""Arms that are alike in all segments, against dense Gaussian algebra over all cells."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from causal_bandits.compiled import Floats, interpreted
from causal_bandits.estimators.joined_segments import ARM_ROWS, join_segments, within_arms
from causal_bandits.estimators.lever_effects import effect_starts, fit_given, gather, solve, without_own
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

LEVELS = np.array([2, 2, 3, 4])
"""Two levers, a segment, and the arm but for its segment."""
CODES = np.array([[a, b, g, 2 * a + b] for a, b, g in itertools.product(range(2), range(2), range(3))])
STARTS = effect_starts(LEVELS)
DESIGN = np.array([[1, *np.eye(2)[a], *np.eye(2)[b], *np.eye(3)[g], *np.eye(4)[arm]] for a, b, g, arm in CODES])
LEVERS, SIZE = 8, 12
"""Level and effects without those of arms, and with them."""


def _data(seed: int, missing: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    precision = rng.uniform(1, 20, len(CODES))
    precision[rng.permutation(len(CODES))[:missing]] = 0.0
    return rng.normal(size=len(CODES)), precision


def dense(values: Floats, precision: Floats, variances: Floats) -> tuple[float, Floats, Floats]:
    """Log density of the values but for its constant, mean and covariance of all effects, arms' among them."""
    level, effect, apart, together = variances
    prior = np.diag([level, *[effect] * (LEVERS - 1), *[together] * (SIZE - LEVERS)])
    seen = precision > 0
    x = DESIGN[seen]
    total = x @ prior @ x.T + np.diag(1 / precision[seen] + apart)
    log = float(stats.multivariate_normal(cov=total).logpdf(values[seen])) + 0.5 * seen.sum() * np.log(2 * np.pi)
    gain = prior @ x.T @ np.linalg.inv(total)
    return log, gain @ values[seen], prior - gain @ x @ prior


variance = st.floats(1e-3, 10.0)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 9), variance, variance, variance, variance)
def test_taken_out_arm_by_arm_is_the_textbooks(
    seed: int, missing: int, level: float, effect: float, apart: float, together: float
) -> None:
    values, precision = _data(seed, missing)
    log, mean, covariance = dense(values, precision, np.array([level, effect, apart, together]))
    starts = STARTS[:-1]
    for add, first, second in (
        (join_segments, gather, solve),
        (interpreted(join_segments), interpreted(gather), interpreted(solve)),
    ):
        found, vector = np.empty((2, LEVERS))
        spread, matrix = np.empty((2, LEVERS, LEVERS))
        value = first(values, precision, CODES, starts, apart, matrix, vector)
        value += add(values, precision, CODES, starts, apart, together, matrix, vector)
        value += second(matrix, vector, level, effect, found, spread)
        assert value == pytest.approx(log)
        np.testing.assert_allclose(found, mean[:LEVERS], atol=1e-8)
        np.testing.assert_allclose(spread, covariance[:LEVERS, :LEVERS], atol=1e-8)


@pytest.mark.parametrize("none", [0.0, 0.3])
def test_scales_are_weighed_by_evidence(none: float) -> None:
    """The grid written out with dense algebra: deviations of single cells, or of arms in all segments."""
    values, precision = _data(3)
    unit, beside, alike = 0.4, 0.2, 0.7
    square = unit**2
    weights, each = [], []

    def weight(chance: float, spread: float, *variances: float) -> float:
        prior = float(stats.norm(np.log(TYPICAL), FACTOR).logpdf(0.5 * np.log(spread + LEAST)))
        scaled = np.array([0.5, *[max(one, LEAST) * square for one in variances]])
        return chance * float(np.exp(dense(values, precision, scaled)[0] + prior))

    for effect, deviation in itertools.product(EFFECTS**2, DEVIATIONS**2):
        spread = beside + 3 * effect + deviation
        for chance, own, common in ((1 - alike, deviation, 0.0), (alike, 0.0, deviation)):
            weights.append(weight(chance * (1 - none) / 16, spread, effect, own, common))
            each.append([effect, own, common])
    nothing = weight(none, beside, 0.0, 0.0, 0.0)
    before = Beforehand(unit, 0.5, none, beside, FACTOR, alike)
    found, variances = weigh_scales(values, precision, CODES, STARTS, SIZE, before)
    assert found == pytest.approx(nothing / (nothing + sum(weights)), rel=1e-4)
    np.testing.assert_allclose(variances, [0.5, *(square * np.average(each, axis=0, weights=weights))], rtol=1e-4)


def test_a_fit_and_what_others_say() -> None:
    values, precision = _data(4, 2)
    variances = np.array([0.5, 0.2, 0.05, 0.3])
    fit = fit_given(values, precision, CODES, STARTS, SIZE, 0.0, variances)
    _, mean, covariance = dense(values, precision, variances)
    np.testing.assert_allclose(fit.mean, mean, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, atol=1e-10)
    assert fit.spread == pytest.approx(3 * 0.2 + 0.05 + 0.3)
    for cell in range(len(CODES)):
        others = precision.copy()
        others[cell] = 0.0
        _, mean, covariance = dense(values, others, variances)
        expected = DESIGN[cell] @ mean, DESIGN[cell] @ covariance @ DESIGN[cell] + variances[2]
        assert without_own(fit, values[cell], precision[cell], CODES[cell], STARTS) == pytest.approx(expected)


def test_odd_arms_are_learnt_from_all_segments_if_they_are_odd_in_all() -> None:
    """One arm is far off: in all segments alike, or in one."""
    precision, before = np.full(len(CODES), 100.0), Beforehand(1.0, 4.0, 0.0, 0.0, FACTOR, 0.8)
    everywhere = np.where(CODES[:, 3] == 3, 1.0, 0.0)
    somewhere = np.where(CODES[:, 2] == 1, everywhere, 0.0)
    for values, low, high in ((everywhere, 0.9, 1.1), (somewhere, -0.1, 0.5)):
        known = precision.copy()
        known[-1] = 0.0  # the odd arm in the last segment was never played
        fit = fit_levers(values, known, CODES, STARTS, SIZE, before)
        assert low < without_own(fit, 0.0, 0.0, CODES[-1], STARTS)[0] < high


def test_within_arms_is_that_of_their_rows() -> None:
    rng = np.random.default_rng(5)
    index = [rng.normal(size=size) for size in rng.integers(1, 9, len(CODES))]
    rows = np.array([float(len(each)) for each in index])
    scatter = np.array([((each - each.mean()) ** 2).sum() for each in index])
    for function in (within_arms, interpreted(within_arms)):
        found = function(rows, scatter, CODES, 2.0, 0.8)
        for cell, arm in enumerate(CODES[:, 3]):
            same = CODES[:, 3] == arm
            assert found[cell] == pytest.approx((scatter[same].sum() + 2.0 * ARM_ROWS) / (rows[same].sum() + ARM_ROWS))
        assert np.all(function(rows, scatter, CODES, 2.0, 0.0) == 2.0)
