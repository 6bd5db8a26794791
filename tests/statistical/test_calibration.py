"""Simulation-based calibration of the default policy's posterior under its own prior (Talts et al. 2018).

Scales, effects, cell means and rows of 0/1 rewards are drawn as estimators/model.py says, the model is fitted, and the
rank of every true mean among 199 posterior draws is counted in ten bins. If the posterior were exact, each bin would
have a tenth of the ranks. It is an approximation (plug-in variances, scales on a grid, moments matched by skewed
distributions, an average over sets that are not all true), so each bin is allowed to be off by `TOLERANCE`.

The prior of the model leaves two things open, which are drawn from something ordinary: the mean over arms, and cell
means inside (0, 1), where the model has a normal prior as wide as the range. Log-odds of the cell means are N(-1, 1).
"""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from causal_bandits import Problem
from causal_bandits.core.data import Rows
from causal_bandits.core.estimators.model import (
    ETA,
    FACTOR,
    FACTORS,
    LEAST_EFFECT,
    SEPARATES,
    TAU,
    TYPICAL,
    draw_means,
    draw_through,
)
from causal_bandits.core.policies.safe import SafePolicy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROBLEMS = {
    "one lever": Problem("Y", {"A": 2}, {"I": 5}),
    "two levers": Problem("Y", {"A": 2}, {"I": 2, "J": 3}),
}
DRAWS, BINS = 199, 10
PLACES: dict[str, int | None] = {"empty set": 0, "mediator": 1, "average": None}
TOLERANCE = {30: 0.04, 100: 0.025, 1000: 0.01}
"""How far the frequency of a bin may be from 0.1, by rows. In 10,000 repetitions bins were off by at most .032, .022
and .006: with five rows per arm intervals are a little narrow (95% intervals hold 93% of the means)."""
AVERAGED = 0.025
"""The average over sets may be this far off: two posteriors that differ are wider together than each of them. With
1,000 rows bins were off by at most .019, and 95% intervals held 96% of the means."""


class World(NamedTuple):
    """P(A = 1 | arm), and (arms, 2) E[Y | A, arm]."""

    shares: Floats
    cells: Floats

    @property
    def means(self) -> Floats:
        return np.asarray((1 - self.shares) * self.cells[:, 0] + self.shares * self.cells[:, 1])


def draw_world(levers: Ints, rng: np.random.Generator) -> World:
    """Scales, then effects and deviations: of the index, and of differences unless A separates."""
    several = levers.shape[1] if levers.shape[1] > 1 else 0
    points = [(eta, tau) for eta in (ETA if several else ETA[:1]) for tau in TAU]
    totals = np.array([several * eta**2 + tau**2 for eta, tau in points])

    def differences(point: int) -> Floats:
        eta, tau = points[point]
        effects = eta * rng.normal(size=(several, levers.max() + 1))
        found: Floats = tau * np.sqrt(rng.choice(FACTORS, size=len(levers))) * rng.normal(size=len(levers))
        for each in range(several):
            found += effects[each, levers[:, each]]
        return found

    means = expit(rng.normal(-1.0, 1.0, size=2))
    rate = means.mean()
    index = int(rng.integers(len(points)))
    step = rate * (1 - rate) * differences(index) / (means[1] - means[0])
    away = (0.5 * np.log(totals[index] + totals + LEAST_EFFECT) - np.log(TYPICAL)) / FACTOR
    prior = 1 / (1 + away**2)
    left = differences(int(rng.choice(len(points), p=prior / prior.sum()))) * (rng.random() >= SEPARATES)
    return World(np.clip(rng.uniform(0.2, 0.8) + step, 0.02, 0.98), expit(logit(means) + left[:, None]))


def ranks(problem: Problem, place: int | None, rows: int, repetitions: int, seed: int) -> Ints:
    """(repetitions, arms): ranks of the true means among draws through one set, or averaged over sets."""
    rng, arms = np.random.default_rng(seed), len(problem.arms)
    found, draws = np.empty((repetitions, arms), dtype=np.int64), np.empty((DRAWS, arms))
    for repetition in range(repetitions):
        world = draw_world(problem.arm_codes, rng)
        arm = rng.choice(arms, size=rows, p=rng.dirichlet(np.full(arms, 2.0)))
        a = (rng.random(rows) < world.shares[arm]).astype(np.int64)
        y = (rng.random(rows) < world.cells[arm, a]).astype(np.int64)
        policy = SafePolicy(problem, seed=0)
        policy.learn(Rows(arm, a[:, None], y, np.empty((rows, 0))))
        state = policy._fitted()
        tables, stats = state.counts
        if place is None:
            draw_means(tables, stats, state.levers, state.fit, rng, draws)
        else:
            draws = draw_through(tables, place, stats, state.levers, state.fit, rng, DRAWS)
        found[repetition] = (draws < world.means).sum(axis=0)
    return found


def assert_calibrated(levers: str, through: str, rows: int, repetitions: int, seed: int) -> None:
    """Every bin is within the tolerance and 4 standard errors; arms of one repetition are not independent."""
    found = ranks(PROBLEMS[levers], PLACES[through], rows, repetitions, seed) * BINS // (DRAWS + 1)
    tolerance = max(TOLERANCE[rows], AVERAGED if through == "average" else 0.0)
    for each in range(BINS):
        shares = (found == each).mean(axis=1)
        error = shares.std() / np.sqrt(repetitions)
        assert abs(shares.mean() - 1 / BINS) <= tolerance + 4 * error, (
            f"bin {each}: {shares.mean():.4f}, s.e. {error:.4f}"
        )


CASES = [(levers, through, rows) for levers in PROBLEMS for through in PLACES for rows in TOLERANCE]


QUICK = [("two levers", through, 100) for through in PLACES] + [("one lever", "average", rows) for rows in (30, 1000)]


@pytest.mark.parametrize(("levers", "through", "rows"), QUICK)
def test_ranks_are_uniform(levers: str, through: str, rows: int) -> None:
    """Null: the frequency of every bin is within the tolerance of 0.1.

    400 repetitions of 5 or 6 arms; standard errors about .008, so that the frequency of a bin may be .032 beyond the
    tolerance. 50 bins: false alarms in 0.3% of runs where all of them are at the edge of the tolerance; seed 11.
    """
    assert_calibrated(levers, through, rows, 400, 11)


@pytest.mark.slow
@pytest.mark.parametrize(("levers", "through", "rows"), CASES)
def test_ranks_are_uniform_in_10000_repetitions(levers: str, through: str, rows: int) -> None:
    """The same with standard errors of about .0015; seed 12."""
    assert_calibrated(levers, through, rows, 10_000, 12)
