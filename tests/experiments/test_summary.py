"""Means, standard errors and paired ratios against plain numpy and against simulation."""

import numpy as np
import pytest

from causal_bandits.research.experiments.curves import paired_ratio, stratified


def test_equal_weights_give_the_plain_mean() -> None:
    cube = np.random.default_rng(0).normal(size=(5, 4, 3))
    mean, se = stratified(cube, np.full(5, 0.2))
    assert mean == pytest.approx(cube.mean(axis=(0, 1)))
    assert se == pytest.approx(np.sqrt(cube.var(axis=1, ddof=1).mean(axis=0) / (5 * 4)))


def test_a_single_run_per_world_falls_back_on_the_spread_between_worlds() -> None:
    cube = np.random.default_rng(0).normal(size=(50, 1, 1))
    mean, se = stratified(cube, np.full(50, 0.02))
    assert mean == pytest.approx(cube.mean(axis=(0, 1)))
    assert se == pytest.approx(cube[:, 0].std(axis=0, ddof=1) / np.sqrt(50))


def test_the_standard_error_is_the_spread_of_the_mean() -> None:
    """Null: the mean over 3 worlds x 6 runs has the variance that `stratified` reports on average.

    2000 replicates of normal data with world-dependent mean and spread; the ratio of variances has a relative
    standard error of sqrt(2 / 2000) = .03, and 5 of them are allowed: false alarms below 1e-6. Seed 1.
    """
    rng = np.random.default_rng(1)
    weights = np.array([0.5, 0.3, 0.2])
    spread = np.array([1.0, 2.0, 3.0])[:, None, None]
    found = [stratified(10 * spread + spread * rng.normal(size=(3, 6, 1)), weights) for _ in range(2000)]
    means = np.array([mean[0] for mean, _ in found])
    reported = np.mean([se[0] ** 2 for _, se in found])
    assert means.var(ddof=1) / reported == pytest.approx(1, abs=5 * 0.032)


def test_ratio_of_proportional_series_is_certain() -> None:
    base = np.random.default_rng(0).random((4, 3, 2)) + 1
    ratio, se = paired_ratio(0.5 * base, base, np.full(4, 0.25))
    assert ratio == pytest.approx([0.5, 0.5])
    assert se == pytest.approx([0, 0], abs=1e-12)


def test_ratio_to_no_regret_at_all_is_one() -> None:
    nothing = np.zeros((4, 3, 1))
    ratio, se = paired_ratio(nothing, nothing, np.full(4, 0.25))
    assert (ratio[0], se[0]) == (1, 0)
