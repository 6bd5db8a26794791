"""Main-effects Thompson Sampling: its fit against dense formulas, and what it learns from levers."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, multivariate_normal

from causal_bandits import Problem
from causal_bandits.research.comparators import MainEffectsThompson
from causal_bandits.research.comparators.main_effects import (
    DEVIATION_SDS,
    beta_posterior,
    fit_effects,
    log_evidence,
    normal_equations,
)

NINE = Problem("Y", {"A": 2}, {"I": 3, "J": 3})


def rows_of(arm: int, rows: int, rewards: int) -> dict[str, Any]:
    levels = dict(zip("IJ", NINE.arm_codes[arm].tolist(), strict=True))
    return {
        **{name: [level] * rows for name, level in levels.items()},
        "A": [0] * rows,
        "Y": [1] * rewards + [0] * (rows - rewards),
    }


def measurements() -> tuple[Any, Any, Any, Any]:
    """Values and precisions of nine arms, one of them without rows; the columns and the dense design matrix."""
    rng = np.random.default_rng(0)
    columns = MainEffectsThompson(NINE, seed=0)._state.columns
    design = np.zeros((9, 7))
    np.put_along_axis(design, columns, 1.0, axis=1)
    precision = rng.uniform(5, 50, 9)
    precision[4] = 0.0
    return rng.normal(0, 0.3, 9), precision, columns, design


def test_evidence_is_the_density_of_the_measured_values() -> None:
    values, precision, columns, design = measurements()
    prior, deviation = np.array([[0.5, *[8.0] * 6], [0.5, *[90.0] * 6]]), np.array([0.01, 0.2, 1.5])
    found = log_evidence(values, precision, columns, prior, deviation)
    seen = precision > 0
    for i in range(2):
        for j in range(3):
            covariance = design[seen] / prior[i] @ design[seen].T + np.diag(1 / precision[seen] + deviation[j])
            density = multivariate_normal.logpdf(values[seen], np.zeros(8), covariance)
            assert found[i, j] == pytest.approx(density + 4 * np.log(2 * np.pi))  # without the constant


def test_effects_are_the_regression_of_the_measured_values() -> None:
    """The posterior precision is X'WX and a diagonal prior; measurements have next to no noise of their own."""
    values, _, columns, design = measurements()
    mean, covariance, deviation = fit_effects(values, np.full(9, 1e9), columns, 7, 1.0, 4.0)
    assert DEVIATION_SDS[0] ** 2 < deviation < DEVIATION_SDS[-1] ** 2
    matrix, vector, _ = normal_equations(values, np.full(9, 1e9), columns, 7, deviation)
    np.testing.assert_allclose(matrix, design.T @ design / (1e-9 + deviation))
    np.testing.assert_allclose(vector, design.T @ values / (1e-9 + deviation))
    prior = np.linalg.inv(covariance) - matrix
    np.testing.assert_allclose(prior, np.diag(np.diag(prior)), atol=1e-6)
    assert prior[0, 0] == pytest.approx(1 / 4)
    np.testing.assert_allclose(mean, covariance @ vector)


@pytest.mark.parametrize("scale", ["linear", "logistic"])
def test_an_arm_without_rows_is_known_by_its_levers(scale: Any) -> None:
    """Effects of .15 a level and .1 a level; the best arm has no rows."""
    policy = MainEffectsThompson(NINE, scale=scale, seed=0)
    truth = 0.2 + NINE.arm_codes @ [0.15, 0.1]
    for arm in range(8):
        policy.tell_many(rows_of(arm, 400, round(400 * truth[arm])))
    found = policy.estimates()
    means = np.array([row.mean for row in sorted(found, key=lambda row: NINE.index(row.arm))])
    np.testing.assert_allclose(means[:8], truth[:8], atol=0.03)
    assert abs(means[8] - truth[8]) < 0.1
    widths = {NINE.index(row.arm): row.high - row.low for row in found}
    assert max(widths, key=widths.__getitem__) == 8
    asked = policy.ask(200)
    assert asked.count(NINE.arms[8]) + asked.count(NINE.arms[7]) > 100


def test_one_lever_has_no_effects_beside_deviations() -> None:
    policy = MainEffectsThompson(Problem("Y", {"A": 2}, {"I": 3}), seed=0)
    assert policy._state.columns.tolist() == [[0], [0], [0]]
    assert policy._state.fit.effects.shape == (1,)


def test_beta_posterior_counts_rows() -> None:
    a, b = beta_posterior(0.02, 1e-4, 0.0, 0.0)
    assert beta.stats(a, b) == pytest.approx((0.02, 1e-4))
    assert beta_posterior(0.02, 1e-4, 50.0, 3.0) == pytest.approx((a + 3, b + 47))


def test_reading_does_not_change_what_is_played() -> None:
    read, alone = (MainEffectsThompson(NINE, seed=1) for _ in range(2))
    for arm in range(9):
        for policy in (read, alone):
            policy.tell_many(rows_of(arm, 20, arm))
        read.estimates()
        read.frequencies(10, np.random.default_rng(0))
        assert read.ask(5) == alone.ask(5)
