"""Thompson Sampling from each arm's own rows, for counts, revenue, ordered levels and numbers.

A hierarchical normal model gives the prior of an arm's mean:

    mean of arm a  =  intercept  +  deviation[a],     deviations ~ N(0, deviation variance)

The deviation variance is averaged over a grid, weighted by its posterior probability. Given the intercept, own rows
lead to the conjugate posterior of `estimators.reward_shapes`, with a dispersion that is learned from all arms.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..compiled import Bools, Floats, by_reference, compiled
from ..data import CellLayout, Rows, add_reward
from ..discovery.tiers import Tier
from ..estimators.linear_algebra import copy_to
from ..estimators.model import to_weights
from ..estimators.reward_shapes import (
    BOUNDED,
    NUMBER,
    POSITIVE,
    WEAKEST,
    N,
    RewardStats,
    add_to_stats,
    draw_conjugate,
    into_range,
    learn_dispersion,
    one_more,
    own_dispersion,
    row_variance,
    shape_at,
    slope_at,
    stats_arrays,
    stats_for,
)
from ..problem import Problem
from ..seeds import Seed
from .base import Policy
from .posterior import Posterior, Source, sampler_of, snapshot
from .protocol import choose, indices, learn, prepare, prepare_nothing, sample_means

DEVIATION_SDS = np.array([0.06, 0.2, 0.6, 1.6])
"""The grid of standard deviations, in units of one log-odds, one logarithm, or one standard deviation of a reward."""
TYPICAL_SD, SD_FACTOR = 0.35, 1.6
"""Prior of the standard deviation over arms: lognormal, the median and the standard deviation of the log."""
LEAST_VARIANCE, LEAST_PIVOT = 1e-6, 1e-18
"""Added to the variance over arms, in squared units; the smallest posterior variance of the intercept."""
INTERCEPT_VARIANCE = 4.0
"""Prior variance of the intercept, in variances of one reward."""
EDGE = 0.05
"""Predicted means are kept this share of the mean over arms away from the ends of the reward's range."""
EXPLORATION = 0.8
"""Arms are chosen with the posterior standard deviation of the intercept multiplied by this."""
FEWEST_PLAYS, BY_THEN = 5, 100
"""Every arm is played this many times once there are this many rows per arm, whatever its first rewards were."""
REFITS, EXPENSIVE = 5, 2**15
"""The posterior is read after this many refits from nothing; a refit of more arms than this is expensive."""


@by_reference
class RewardFit(NamedTuple):
    """The prior and the posterior of every arm's mean as of the last refit."""

    posterior_mean: Floats
    posterior_variance: Floats
    prior_mean: Floats
    """(arms,): what the other arms predict."""
    intercept: Floats
    """(2,): posterior mean and standard deviation."""
    deviation: Floats
    """(1,): variance of the deviations."""


@by_reference
class RewardState(NamedTuple):
    """Rows of every arm, and the fitted model."""

    own: Floats
    """(arms, 3): rows, mean reward, sum of squared deviations from it."""
    stats: RewardStats
    fit: RewardFit
    allowed: Bools


@compiled
def own_columns(state: RewardState) -> tuple[Floats, Floats, Floats]:
    """(arms,) each: rows, mean reward, sum of squared deviations from it."""
    return state.own[:, 0].copy(), state.own[:, 1].copy(), state.own[:, 2].copy()


@compiled
def posterior(stats: RewardStats, prior: N, variance: N, rows: N, mean: N, scatter: N) -> tuple[N, N]:
    """Means and variances of means after own rows, from those before; exact for a Dirichlet prior of levels."""
    if stats.shape == BOUNDED:
        single = row_variance(stats, prior)
        k: N = np.maximum(single / variance - 1, WEAKEST)
        found = (k * prior + rows * mean) / (k + rows)
        spread = k * (single + (prior - found) ** 2) + scatter + rows * (mean - found) ** 2
        return found, spread / (k + rows) / (k + rows + 1)
    dispersion = own_dispersion(stats, rows, mean, scatter)
    k = dispersion * shape_at(stats, prior) / variance
    found = (k * prior + rows * mean) / (k + rows)
    return found, dispersion * shape_at(stats, found) / (k + rows)


@compiled
def mean_over_arms(state: RewardState) -> float:
    """Mean of the posterior means, with one more row that keeps it away from the lowest value."""
    stats, mean = state.stats, state.fit.posterior_mean.mean()
    if stats.rows[0] == 0 or stats.shape == NUMBER:
        return float(stats.rate[0] if stats.rows[0] == 0 else mean)
    share, more = 1 / (stats.rows[0] + 1), one_more(stats)
    if stats.shape == POSITIVE:
        return float(max(mean, 0.5 * (stats.mean[0] * stats.rows[0] + more) * share, share * more))
    return float((1 - share) * mean + share * more)


@compiled
def measured(state: RewardState) -> tuple[Floats, Floats]:
    """Own means relative to the mean over arms, and their precisions; 0 without rows.

    The noise of an arm is taken at a mean between its posterior and what the others predict: an arm whose rewards are
    all 0 would otherwise have none.
    """
    stats, fit, (rows, mean, scatter) = state.stats, state.fit, own_columns(state)
    at = into_range(stats, 0.5 * (fit.posterior_mean + fit.prior_mean), stats.rate[0], EDGE)
    precision = rows / (own_dispersion(stats, rows, mean, scatter) * shape_at(stats, at))
    if stats.shape != NUMBER:
        more = 1 / (stats.rows[0] + 1)
        mean = (mean + more * one_more(stats)) / (1 + more)
    return np.where(rows > 0, mean - stats.rate[0], 0.0), precision


@compiled
def weights_of(precision: Floats, deviation: float) -> Floats:
    """(arms,): how much an arm's own mean says about the intercept; 0 without rows."""
    seen = precision > 0
    return np.where(seen, 1 / (1 / np.where(seen, precision, 1.0) + deviation), 0.0)


@compiled
def intercept_given(
    values: Floats, precision: Floats, prior_variance: float, deviation: float
) -> tuple[float, float, float]:
    """Posterior mean and variance of the intercept, and the log evidence, given the deviation variance."""
    weight = weights_of(precision, deviation)
    evidence = 0.5 * (np.log(np.where(weight > 0, weight, 1.0)) - weight * values**2).sum()
    variance, weighted = 1 / (weight.sum() + 1 / prior_variance), (weight * values).sum()
    mean = variance * weighted
    return mean, variance, evidence + 0.5 * (math.log(variance / prior_variance) + mean * weighted)


@compiled
def fit_deviation(values: Floats, precision: Floats, prior_variance: float, unit: float) -> float:
    """The deviation variance, averaged over the grid."""
    variances = DEVIATION_SDS**2
    logs = -0.5 * ((0.5 * np.log(variances + LEAST_VARIANCE) - math.log(TYPICAL_SD)) / SD_FACTOR) ** 2
    for place in range(len(logs)):
        logs[place] += intercept_given(values, precision, prior_variance, variances[place] * unit**2)[2]
    return float((to_weights(logs) * variances).sum() * unit**2)


@compiled
def refit(state: RewardState) -> None:
    """Fit dispersion, intercept and deviation variance to all rows, in place."""
    stats, fit = state.stats, state.fit
    rate = mean_over_arms(state)
    stats.rate[0] = rate
    learn_dispersion(stats, state.own)
    values, precision = measured(state)
    prior_variance = INTERCEPT_VARIANCE * row_variance(stats, rate)
    deviation = fit_deviation(values, precision, prior_variance, slope_at(stats, rate))
    mean, variance, _ = intercept_given(values, precision, prior_variance, deviation)
    known = variance * weights_of(precision, deviation)
    rest = np.maximum(1 - known, 1e-9)
    prior = into_range(stats, rate + (mean - known * values) / rest, rate, EDGE)
    rows, own, scatter = own_columns(state)
    found, spread = posterior(stats, prior, variance / rest + deviation, rows, own, scatter)
    copy_to(fit.prior_mean, prior)
    copy_to(fit.posterior_mean, found)
    copy_to(fit.posterior_variance, spread)
    fit.intercept[0], fit.intercept[1] = rate + mean, math.sqrt(max(variance, LEAST_PIVOT))
    fit.deviation[0] = deviation


@compiled
def draw_means(state: RewardState, width: float, rng: np.random.Generator) -> Floats:
    """One joint draw of all allowed arms' means, NaN for the others; `width` scales the spread of the intercept."""
    stats, fit, (rows, mean, scatter) = state.stats, state.fit, own_columns(state)
    intercept = fit.intercept[0] + fit.intercept[1] * (width * rng.standard_normal())
    prior = np.full(len(rows), into_range(stats, intercept, stats.rate[0], EDGE))
    found, spread = posterior(stats, prior, np.full(len(rows), fit.deviation[0]), rows, mean, scatter)
    chosen, means = np.flatnonzero(state.allowed), np.full(len(rows), np.nan)
    means[chosen] = draw_conjugate(stats, found[chosen], spread[chosen], rows[chosen], rng)
    return means


@compiled
def neglected(state: RewardState) -> int:
    """The first allowed arm with too few plays by now; -1 if there is none."""
    rows, _, _ = own_columns(state)
    few = np.flatnonzero(state.allowed & (rows < FEWEST_PLAYS))
    return int(few[0]) if len(few) > 0 and rows.sum() >= BY_THEN * len(rows) else -1


@indices.of(RewardState)
@compiled
def compared_means(state: RewardState, rng: np.random.Generator) -> Floats:
    """The draws that `choose` compares; NaN if a neglected arm is next."""
    return np.full(len(state.own), np.nan) if neglected(state) >= 0 else draw_means(state, EXPLORATION, rng)


@choose.of(RewardState)
@compiled
def choose_arm(state: RewardState, rng: np.random.Generator) -> int:
    """A neglected arm, or else the one with the highest draw."""
    arm = neglected(state)
    return arm if arm >= 0 else int(np.argmax(np.where(state.allowed, draw_means(state, EXPLORATION, rng), -np.inf)))


prepare.of(RewardState)(prepare_nothing)


@sample_means.of(RewardState)
@compiled
def sample_posterior(state: RewardState, prepared: int, rng: np.random.Generator) -> Floats:
    """One joint draw from the posterior."""
    return draw_means(state, 1.0, rng)


@learn.of(RewardState)
@compiled
def count_reward(state: RewardState, arm: int, values: Floats, reward: float) -> None:
    """Count one row."""
    add_reward(state.own[arm], reward)
    add_to_stats(state.stats, reward)


class RewardThompson(Policy[RewardState]):
    """Plain Thompson Sampling for counts, revenue, ordered levels and numbers.

    Each arm learns from its own rows: Gamma for counts and revenue, Dirichlet for levels, Student's t for numbers, with
    a prior that is learned from all arms. Mediators and levers are ignored.

    Args:
        problem: The problem; its reward is "count", "revenue", levels with values, or `float`.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("calls", {"visit": 2}, {"page": ["old", "new"]}, reward="count")
    >>> policy = RewardThompson(problem, seed=0)
    >>> policy.tell_many([{"page": "old", "visit": 1, "calls": 1}, {"page": "new", "visit": 1, "calls": 3}] * 30)
    >>> policy.recommend().arm
    do(page=new)
    """

    name = "reward-ts"
    tier = Tier.REWARDS
    layout: CellLayout
    numbers = float
    growth: ClassVar[float] = 0.1
    plays_highest = True
    rolls_out_late = True

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> CellLayout:
        if not problem.reward_is_real:
            raise ProblemError(f"the reward {problem.target!r} is 0 or 1; use ThompsonSampling")
        return CellLayout.of(problem, 0)

    def _empty(self) -> RewardState:
        arms, stats = len(self.problem.arms), stats_for(self.problem.reward)
        rate = float(stats.rate[0])
        deviation = row_variance(stats, rate)
        mean, variance = np.full(arms, rate), np.full(arms, deviation)
        fit = RewardFit(mean, variance, mean.copy(), np.array([rate, 0.0]), np.array([deviation]))
        return RewardState(np.zeros((arms, 3)), stats, fit, np.ones(arms, dtype=np.bool_))

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts without any observed variable."""
        return ()

    def _seen(self, rows: Rows) -> NDArray[Any]:
        return rows.codes.astype(np.float64)

    def _fill(self, before: Rows, after: Rows) -> None:
        """Observed variables are ignored."""

    def _is_expensive(self) -> bool:
        return len(self.problem.arms) > EXPENSIVE

    def _refresh(self) -> None:
        refit(self._state)

    def _recount(self) -> None:
        super()._recount()
        refit(self._state)

    def _latest(self) -> RewardState:
        state = self._state
        if self.schedule.is_due(self.progress):
            state = snapshot(state)
            refit(state)
        return state

    def _fit(self, *, pending: bool) -> RewardState:
        fresh, seen = self._empty(), self._state
        learnt = {name: getattr(fresh.stats, name) for name in ("rate", "dispersion", "steady")}
        state = fresh._replace(own=seen.own, stats=seen.stats._replace(**learnt))
        for _ in range(REFITS):
            refit(state)
        return state

    def _posterior(self, state: RewardState) -> Posterior:
        sources = [Source(int(rows), math.nan) for rows in state.own[:, 0]]

        def size(mean: float, variance: float) -> float:
            return row_variance(state.stats, mean) / variance if variance > 0 else math.inf

        return Posterior.of_draws(self.rows, sources, sampler_of(state, len(sources)), size)

    def _sums(self) -> dict[str, NDArray[Any]]:
        return {**stats_arrays(self._state.stats), **self._state.fit._asdict()}
