"""The model of the default policy against its plain twin, tests/reference/shared_model.py."""

import math
from collections.abc import Callable
from types import SimpleNamespace as Record
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.stats import norm

from causal_bandits import Problem
from causal_bandits.core.compiled import Compiled
from causal_bandits.core.data import Rows
from causal_bandits.core.estimators import model
from causal_bandits.core.estimators.model import (
    DEVIATIONS,
    EFFECTS,
    FACTORS,
    LEAST_EFFECT,
    NOTHING,
    Moments,
    agreement,
    deviation_variances,
    difference_regression,
    draw_through,
    index_moments,
    index_regression,
    mean_moments,
    read_set,
)
from causal_bandits.core.estimators.reward_shapes import slope_at
from causal_bandits.core.policies.safe import FittedState, SafePolicy
from tests.reference import shared_model as twin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VALUES = np.array([-1.0, 0.5, 4.0])
RATING = {"levels": ["bad", "fair", "good"], "values": VALUES.tolist()}
REWARDS: dict[str, Any] = {"binary": bool, "count": "count", "levels": RATING, "real": float, "revenue": "revenue"}
RANGES = {"binary": (0.0, 1.0), "levels": (-1.0, 4.0)}
LEVERS: dict[str, dict[str, int]] = {"one lever": {"I": 5}, "two levers": {"I": 3, "J": 2}}
SIZES = [2, 3]


class Case(NamedTuple):
    """A problem with two mediators and random rows, some of which are pending."""

    problem: Problem
    arms: Ints
    codes: Ints
    rewards: Floats
    """NaN while pending."""

    def state(self) -> FittedState:
        """The fitted state of the default policy."""
        policy, told = SafePolicy(self.problem, seed=0), ~np.isnan(self.rewards)
        dtype = np.float64 if self.problem.reward_is_real else np.int64
        none = np.empty((len(self.arms), 0))
        rows = Rows(self.arms[told], self.codes[told], self.rewards[told].astype(dtype), none[told])
        policy.learn(rows)
        if not told.all():
            policy.expect(Rows(self.arms[~told], self.codes[~told], np.zeros((~told).sum(), dtype), none[~told]))
        fitted: FittedState = policy._fitted()
        return fitted

    @property
    def reward(self) -> twin.Reward:
        """The reward of the twin, with no dispersion learned."""
        kind = self.problem.reward.kind
        return twin.Reward(kind, *RANGES.get(kind, (0.0, 0.0)), self.rewards[~np.isnan(self.rewards)])

    def twin(self) -> Record:
        """The same fit by the twin."""
        reward, rows = self.reward, Record(arms=self.arms, codes=self.codes, rewards=self.rewards)
        return twin.fit_all(rows, SIZES, [(), (0,), (1,), (0, 1)], self.problem.arm_codes, reward)


def case_of(kind: str, levers: str, *, pending: bool, rows: int, seed: int, alike: bool = False) -> Case:
    """The last arm has no rows, and the reward follows A, B and the arm; or all arms are alike, and all have rows."""
    rng = np.random.default_rng(seed)
    problem = Problem("Y", {"A": 2, "B": 3}, LEVERS[levers], reward=REWARDS[kind])
    arms = rng.integers(len(problem.arms) - (not alike), size=rows)
    codes = np.stack([rng.random(rows) < 0.2 + 0.15 * arms, rng.integers(3, size=rows)], axis=1).astype(np.int64)
    level = np.full(rows, 0.3) if alike else 0.15 + 0.3 * codes[:, 0] + 0.05 * codes[:, 1] + 0.05 * arms
    makers: dict[str, Callable[[], Floats]] = {
        "binary": lambda: (rng.random(rows) < level).astype(np.float64),
        "count": lambda: rng.poisson(3 * level).astype(np.float64),
        "levels": lambda: VALUES[rng.binomial(2, level)],
        "real": lambda: 5 * level + 2 * rng.normal(size=rows) - 1,
        "revenue": lambda: np.where(rng.random(rows) < level, rng.gamma(2.0, 20.0, size=rows), 0.0),
    }
    rewards = makers[kind]()
    if pending:
        rewards[rng.random(rows) < 0.2] = np.nan
    return Case(problem, arms, codes, rewards)


CASES = [(kind, levers, pending) for kind in REWARDS for levers in LEVERS for pending in (False, True)]


@pytest.mark.parametrize(("kind", "levers", "pending"), CASES)
@pytest.mark.parametrize(("rows", "seed"), [(4, 1), (60, 2), (600, 3)])
def test_fit_is_that_of_the_twin(kind: str, levers: str, pending: bool, rows: int, seed: int) -> None:
    """Scales, moments and weights of all sets: the same numbers from sums and eliminations as from full matrices."""
    case = case_of(kind, levers, pending=pending, rows=rows, seed=seed)
    state, expected = case.state(), case.twin()
    fit = state.fit
    assert_allclose(fit.rate[0], expected.rate, rtol=1e-9)
    assert_allclose(state.counts.stats.dispersion[0], expected.reward.dispersion, rtol=1e-9)
    for place, of_set in enumerate(expected.fits):
        if expected.weights[place] == 0:
            continue  # it is left out
        assert_allclose(fit.index_scales[place], of_set.index, rtol=1e-7, atol=1e-12)
        assert_allclose(fit.difference_scales[place], of_set.difference, rtol=1e-7, atol=1e-12)
        assert_allclose(fit.shared[place], of_set.shared[:, 0], rtol=1e-7, atol=1e-12)
        assert_allclose(fit.shared_variances[place], of_set.shared[:, 1], rtol=1e-7, atol=1e-12)
        assert_allclose(fit.means[place], of_set.means, rtol=1e-7, atol=1e-12)
        assert_allclose(fit.variances[place], of_set.variances, rtol=1e-7)
    assert_allclose(fit.weights, expected.weights, rtol=1e-7)
    # The average over sets as a law of total variance: a set drawn by weight, then a mean with the set's variance.
    weighted = list(zip(expected.weights, expected.fits, strict=True))
    center = sum(weight * of_set.means for weight, of_set in weighted)
    whole = sum(weight * (of_set.variances + of_set.means**2) for weight, of_set in weighted) - center**2
    within = sum(weight * of_set.variances for weight, of_set in weighted)
    assert_allclose(agreement(fit) ** 2, within / whole, rtol=1e-5)


def test_what_sets_disagree_about_is_not_explored() -> None:
    """Numbers, 6 arms, 60 rows: draws that are played by vary as the sets' own variances say, around the same means.

    4,096 draws with seed 8. A standard deviation has a standard error of about 1.6% (a kurtosis of up to 5); 6 arms
    within 5 standard errors: one false alarm in 140,000.
    """
    case = case_of("real", "two levers", pending=False, rows=60, seed=2)
    fitted = case.state()
    policy = SafePolicy(case.problem, seed=8)
    state = policy._state._replace(counts=fitted.counts)
    state = state._replace(sums=state.sums._replace(draws=np.empty((4096, 6)), weights=np.empty(4096)))
    policy._draw(state, fitted)
    drawn, all_ = state.sums.draws, np.empty((4096, 6))
    fitted.draw(np.random.default_rng(9), all_)
    factors = agreement(fitted.fit)
    assert (factors < 0.999).any()
    assert_allclose(drawn.std(axis=0) / (factors * all_.std(axis=0)), 1, atol=5 * 0.016 * math.sqrt(2))
    apart = (drawn.mean(axis=0) - all_.mean(axis=0)) / all_.std(axis=0) * math.sqrt(4096 / 2)
    assert np.abs(apart).max() < 5


def moments_through(state: FittedState, place: int, index: Floats, difference: Floats) -> Moments:
    """Moments of all means through one set, given the weights of scales."""
    tables, stats, rate = state.counts.tables, state.counts.stats, state.fit.rate[0]
    data = read_set(tables, place, stats, rate, np.zeros(0))
    unit, none = slope_at(stats, rate), np.zeros(len(data.indices))
    of_index = Moments(data.indices, none, data.indices, none)
    if len(data.mean) > 1:
        of_index = index_moments(data, index_regression(data, state.levers, unit), state.levers, index, unit)
    return mean_moments(data, difference_regression(data, state.levers), state.levers, difference, of_index)


@pytest.mark.parametrize(("kind", "levers", "pending"), CASES)
def test_means_are_those_of_the_twin(kind: str, levers: str, pending: bool) -> None:
    """Through every set but the empty one, which is fitted before the mean over arms is known."""
    case = case_of(kind, levers, pending=pending, rows=80, seed=4)
    state, expected = case.state(), case.twin()
    for place, of_set in enumerate(expected.fits[1:], 1):
        assert_allclose(moments_through(state, place, of_set.index, of_set.difference).mean, of_set.means, rtol=1e-8)


def test_sets_with_many_cells_are_left_out() -> None:
    problem = Problem("Y", {"A": 13, "B": 5}, {"I": 3})
    policy = SafePolicy(problem, seed=0)
    policy.tell_many({"I": [0, 1, 2] * 30, "A": [*range(9)] * 10, "B": [*range(5)] * 18, "Y": [0, 1] * 45})
    fit = policy._fitted().fit
    assert (fit.weights[:3] > 0).all()
    assert fit.weights[3] == 0
    assert policy.posterior().means.shape == (3,)


def draws_at(case: Case, state: FittedState, place: int, point: int, count: int, seed: int) -> Floats:
    """Draws through one set with the scales of one grid point, of the index and of differences; deviations are normal.

    They are normal, as in the twin, if the only factor of their variance is 1.
    """
    points = len(EFFECTS)
    index, difference = np.eye(points)[min(point, points - 1)], np.eye(points + 1)[point]
    state.fit.index_scales[place], state.fit.difference_scales[place] = index, difference
    found = moments_through(state, place, index, difference)
    state.fit.shared[place], state.fit.shared_variances[place] = found.shared, found.shared_variance
    rng, counts = np.random.default_rng(seed), state.counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "FACTORS", np.ones(1))
        # Compiled code has the factors built in.
        interpret = cast(Compiled[..., Floats], draw_through)._interpret
        return interpret(counts.tables, place, counts.stats, state.levers, state.fit, rng, count)


def exact_at(case: Case, state: FittedState, place: int, point: int) -> tuple[Floats, Floats]:
    """Mean and covariance of all means by the twin, for the dispersion and mean over arms of the state."""
    stats, rate, levers = state.counts.stats, state.fit.rate[0], case.problem.arm_codes
    matches = (levers[:, None] == levers).sum(axis=2) * float(levers.shape[1] > 1)
    reward = case.reward._replace(dispersion=stats.dispersion[0], steady=stats.steady[0])
    cells, above_zero = int(state.counts.tables.cells[place]), place >= 4
    strides = np.array([(0, 0), (1, 0), (0, 1), (1, 2)])[place % 4]
    cell = case.codes @ strides + above_zero * cells // 2 * (case.rewards > 0)
    rows = Record(arms=case.arms, codes=case.codes, rewards=case.rewards)
    data = twin.read(rows, cell, len(case.problem.arms), cells, above_zero, reward, rate)
    scales = [(max(eta**2, LEAST_EFFECT), tau**2) for eta, tau in zip(EFFECTS, DEVIATIONS, strict=True)]
    chosen = np.array([*scales, (NOTHING, 0.0)][point])
    mean, covariance = data.index, 0.0 * matches
    if cells > 1:
        scale = np.array(scales[min(point, len(scales) - 1)])
        mean, covariance, _ = twin.index_given(data, matches, scale, slope_at(stats, rate))
    found = twin.difference_given(data, matches, chosen)
    return mean + found[0], covariance + found[1]


def assert_moments(drawn: Floats, mean: Floats, covariance: Floats, away: float) -> None:
    """Within 5 standard errors, plus `away` standard deviations for what is approximated."""
    deviation, count = np.sqrt(np.diag(covariance)), len(drawn)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) <= (5 / np.sqrt(count) + away) * deviation)
    both = np.outer(deviation, deviation)
    error = np.sqrt((both**2 + covariance**2) / count)
    assert np.all(np.abs(np.cov(drawn.T) - covariance) <= 5 * error + 2 * away * both)


def test_variances_of_deviations_are_those_of_the_posterior() -> None:
    """Null: each factor is drawn as often as Bayes' theorem says, given a normal measurement of the deviation.

    20,000 draws at each of two grid points, 4 arms, 5 factors: 40 shares within 4.5 standard errors, one false alarm
    in 3,600 such test runs; seed 8.
    """
    points = np.repeat([3, 13], 20_000)  # tau = 0.03, 0.6
    away, noise = np.array([0.0, 0.5, -2.0, 0.0]), np.array([0.1, 0.2, 0.01, 1 / NOTHING])
    worth = np.array([1.0, 0.5, 2.0, 1.0])
    drawn = deviation_variances(points, away, noise, worth, np.random.default_rng(8))
    for point in (3, 13):
        variances = DEVIATIONS[point] ** 2 * FACTORS
        likely = norm.pdf(away[:, None], scale=np.sqrt(variances * worth[:, None] ** 2 + noise[:, None]))
        expected = likely / likely.sum(axis=1, keepdims=True)
        found = np.isclose(drawn[points == point][:, :, None], variances).mean(axis=0)
        assert np.all(np.abs(found - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-12)


POINTS = {"one lever": [0, 8, 20], "two levers": [4, 9, 19, 20]}


@pytest.mark.parametrize(("levers", "point"), [(levers, point) for levers in LEVERS for point in POINTS[levers]])
@pytest.mark.parametrize("place", range(4))
def test_draws_of_numbers_have_the_exact_moments(levers: str, point: int, place: int) -> None:
    """Null: draws at fixed scales are normal with the mean and covariance of the twin.

    20,000 draws; 6 means and 21 covariances in each of 28 cases within 5 standard errors of normal theory: one false
    alarm in 2,000 such test runs; seed 5. All arms have the same, known dispersion, so nothing is approximated.
    """
    case = case_of("real", levers, pending=False, rows=60, seed=2)
    state = case.state()
    state.counts.stats.steady[0] = 1e12
    drawn = draws_at(case, state, place, point, 20_000, 5)
    assert_moments(drawn, *exact_at(case, state, place, point), 0.0)


SKEWED = [(kind, place) for kind in REWARDS for place in range(8 if kind == "revenue" else 4) if kind != "real"]


@pytest.mark.parametrize(("kind", "place"), SKEWED)
def test_skewed_draws_have_about_the_exact_moments(kind: str, place: int) -> None:
    """Null: with 12,000 rows of arms that are alike, draws at fixed scales have the moments of the twin, about.

    An arm is drawn with the row variance at its own mean, a normal draw with that of all arms; 2,000 rows of each of
    six equal arms estimate their standard deviations within about 5%. So 0.05 standard deviations of a mean and 10% of
    a variance are allowed besides 5 standard errors of 20,000 draws; seeds 6 and 7. Scales in the middle of the grid,
    and "the set separates".
    """
    case = case_of(kind, "two levers", pending=False, rows=12_000, seed=6, alike=True)
    state = case.state()
    for point in (8, 20):
        assert_moments(draws_at(case, state, place, point, 20_000, 7), *exact_at(case, state, place, point), 0.05)
