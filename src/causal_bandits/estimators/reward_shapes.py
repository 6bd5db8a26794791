"""How the variance of a reward follows from its mean, for counts, revenue, ordered levels and any other number.

    row variance at mean m  =  dispersion * shape(m),    shape(m) = 1             a number
                                                                    m             a count, revenue
                                                                    (m - lo) (hi - m)    values of ordered levels

The dispersion is learnt from all arms: it is 1 for a Poisson count and more for one that varies more. Revenue that is 0
most of the time has a variance proportional to how often it is not, so an arm whose first rewards are 0 is as uncertain
as an arm like it would be: zeros are no certainty. An arm's own dispersion is shrunk to that of all arms by as many
rows as the kurtosis says (a variance of n rows has a relative variance of kurtosis / n).

Given a mean m and a variance v beforehand, n rows leave the conjugate posterior. With k = prior rows:

    counts, revenue    Gamma, k = dispersion m / v; the Gamma-Poisson posterior where the dispersion is 1
    levels             mean of a Dirichlet of k = V(m) / v - 1 rows before: exact in rows, mean and scatter alone
    a number           normal with that row variance; drawn with Student's tails
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, by_reference, compiled
from ..problem import Reward

NUMBER, POSITIVE, BOUNDED = range(3)
"""Shapes: any number, 0 or more, between two values."""
WEAKEST = 0.2
"""A Dirichlet prior is worth at least so many rows."""
STEADIEST, UNSTEADIEST = 2.0, 1e6
USUAL_ROWS = 3.0
"""The dispersion starts from so many rows of what is usual."""


@by_reference
class RewardStats(NamedTuple):
    """A kind of reward, and what all rewards so far say about how much it varies."""

    shape: int
    """NUMBER, POSITIVE or BOUNDED."""
    low: float
    high: float
    """The lowest and the highest value, where the reward is bounded."""
    is_count: bool
    fixed: bool
    """Whether the mean alone says how much a reward varies, as for rewards of 0 or 1."""
    rows: Floats
    mean: Floats
    m2: Floats
    m3: Floats
    m4: Floats
    """(1,) each: number of rewards, their mean, and sums of powers of their distance from it."""
    above: Floats
    """(1,): rewards above 0."""
    rate: Floats
    """(1,): mean over arms."""
    dispersion: Floats
    steady: Floats
    """(1,): how many rows the dispersion of all arms is worth in the dispersion of one arm."""


def stats_for(reward: Reward) -> RewardStats:
    """What is known of a kind of reward before any row."""
    fixed, values = reward.kind == "binary", reward.values or (0.0, 1.0)
    shape, low, high = NUMBER if reward.kind == "real" else POSITIVE, 0.0, 0.0
    if reward.kind in ("binary", "levels"):
        shape, low, high = BOUNDED, float(min(values)), float(max(values))
    rate = {NUMBER: 0.0, POSITIVE: 0.5, BOUNDED: 0.5 * (low + high)}[shape]
    dispersion = 1 / 3 if shape == BOUNDED and not fixed else 1.0
    seen = {name: np.zeros(1) for name in ("rows", "mean", "m2", "m3", "m4", "above")}
    learnt = {"rate": np.array([rate]), "dispersion": np.array([dispersion]), "steady": np.array([STEADIEST])}
    return RewardStats(shape, low, high, reward.kind == "count", fixed, **seen, **learnt)


def stats_arrays(stats: RewardStats) -> dict[str, Floats]:
    """What rewards have changed, by name, for save files."""
    return {f"reward_{name}": each for name, each in stats._asdict().items() if isinstance(each, np.ndarray)}


@compiled
def shape_at(stats: RewardStats, mean: float) -> float:
    """What the row variance is proportional to."""
    if stats.shape == NUMBER:
        return 1.0
    if stats.shape == POSITIVE:
        return mean
    return float((mean - stats.low) * (stats.high - mean))


@compiled
def row_variance(stats: RewardStats, mean: float) -> float:
    """Variance of one reward of an arm with this mean."""
    return float(stats.dispersion[0] * shape_at(stats, mean))


@compiled
def slope_at(stats: RewardStats, mean: float) -> float:
    """What one log-odds, one logarithm, or one standard deviation of a reward is worth at a mean."""
    if stats.shape == NUMBER:
        return math.sqrt(stats.dispersion[0])
    return shape_at(stats, mean) / (stats.high - stats.low if stats.shape == BOUNDED else 1.0)


@compiled
def into_range(stats: RewardStats, mean: float, rate: float, edge: float) -> float:
    """A mean kept inside the range of the reward: away from its ends by a share of the mean over arms."""
    if stats.shape == NUMBER:
        return mean
    low = stats.low + edge * (rate - stats.low)
    if stats.shape == POSITIVE:
        return float(max(mean, low))
    return float(min(max(mean, low), stats.high - edge * (stats.high - rate)))


@compiled
def from_link(stats: RewardStats, value: float) -> float:
    """The mean at this log-odds, logarithm, or number."""
    if stats.shape == NUMBER:
        return value
    if stats.shape == POSITIVE:
        return math.exp(min(value, 300.0))
    odds = math.exp(min(max(-value, -30.0), 30.0))
    return float(stats.low + (stats.high - stats.low) / (1 + odds))


@compiled
def conjugate(
    stats: RewardStats, prior: float, variance: float, rows: float, mean: float, dispersion: float
) -> tuple[float, float]:
    """Mean and variance of a mean after some rows, from those before: Beta, Gamma or normal (see the top)."""
    if stats.shape == BOUNDED:
        mean = min(max(mean, stats.low), stats.high)
        size = max(row_variance(stats, prior) / variance - 1, WEAKEST) + rows
        found = prior + rows / size * (mean - prior)
        return found, row_variance(stats, found) / (size + 1)
    if stats.shape == POSITIVE:
        mean = max(mean, 0.0)
    size = dispersion * shape_at(stats, prior) / variance + rows
    found = prior + rows / size * (mean - prior)
    return found, dispersion * shape_at(stats, found) / size


@compiled
def log_likelihood(stats: RewardStats, mean: float, reward: float) -> float:
    """Quasi-likelihood of one reward of an arm with this mean (Wedderburn 1974); exact for rewards of 0 or 1."""
    if stats.shape == NUMBER:
        return float(-0.5 * (reward - mean) ** 2 / stats.dispersion[0])
    if stats.shape == POSITIVE:
        return float(((reward * math.log(mean) if reward > 0 else 0.0) - mean) / stats.dispersion[0])
    width = stats.high - stats.low
    share, seen = (mean - stats.low) / width, (reward - stats.low) / width
    found = seen * math.log(share) if seen > 0 else 0.0
    return float((found + ((1 - seen) * math.log(1 - share) if seen < 1 else 0.0)) / stats.dispersion[0])


@compiled
def own_dispersion(stats: RewardStats, rows: float, mean: float, scatter: float) -> float:
    """The dispersion of an arm: its own, shrunk to that of all arms; rewards that are all 0 say nothing of it."""
    common, steady = stats.dispersion[0], stats.steady[0]
    if stats.shape == BOUNDED or rows < 2 or (stats.shape == POSITIVE and mean <= 0):
        return float(common)
    own = scatter / mean if stats.shape == POSITIVE else scatter
    return float((own + steady * common) / (rows - 1 + steady))


@compiled
def draw_mean(stats: RewardStats, mean: float, variance: float, rows: float, rng: np.random.Generator) -> float:
    """One draw of a mean that has this mean and variance: Gamma, Beta between the two values, or Student's t."""
    if stats.shape == POSITIVE:
        return float(rng.standard_gamma(mean * mean / variance) * variance / mean)
    if stats.shape == BOUNDED:
        width = stats.high - stats.low
        share, spread = (mean - stats.low) / width, variance / width**2
        size = max(share * (1 - share) / spread - 1, 1e-3)
        return float(stats.low + width * rng.beta(size * share, size * (1 - share)))
    freedom = max(rows - 1, 0.0) + stats.steady[0] + 1
    student = rng.standard_normal() / math.sqrt(rng.chisquare(freedom) / freedom)
    return float(mean + math.sqrt(variance) * student)


@compiled
def own_limits(stats: RewardStats, far: float, rows: float, mean: float, scatter: float) -> tuple[float, float]:
    """Means that an arm's own rows allow: within `far` standard errors, taken at the mean in question (Wilson 1927)."""
    if rows == 0:
        return -np.inf, np.inf
    dispersion = own_dispersion(stats, rows, mean, scatter)
    if stats.shape == NUMBER:
        reach = far * math.sqrt(dispersion / rows)
        return mean - reach, mean + reach
    if stats.shape == POSITIVE:
        square = far * far * dispersion / rows
        reach = math.sqrt(square * mean + 0.25 * square * square)
        return mean + 0.5 * square - reach, mean + 0.5 * square + reach
    width, square = stats.high - stats.low, far * far * dispersion / rows
    share = (mean - stats.low) / width
    middle = (share + 0.5 * square) / (1 + square)
    reach = math.sqrt(square * share * (1 - share) + 0.25 * square * square) / (1 + square)
    return stats.low + width * (middle - reach), stats.low + width * (middle + reach)


@compiled
def add_to_stats(stats: RewardStats, reward: float) -> None:
    """Count one reward among all (Pebay 2008)."""
    before = stats.rows[0]
    rows = before + 1
    away = reward - stats.mean[0]
    step = away / rows
    term = away * step * before
    square = step * step
    stats.m4[0] += term * square * (rows * rows - 3 * rows + 3) + 6 * square * stats.m2[0] - 4 * step * stats.m3[0]
    stats.m3[0] += term * step * (rows - 2) - 3 * step * stats.m2[0]
    stats.m2[0] += term
    stats.mean[0] += step
    stats.rows[0] = rows
    stats.above[0] += reward > 0


@compiled
def one_more(stats: RewardStats) -> float:
    """The reward of one row more: with nothing but zeros a mean is "less than one in so many", not 0."""
    if stats.shape == NUMBER:
        return float(stats.mean[0])
    if stats.shape == BOUNDED:
        return float(0.5 * (stats.low + stats.high))
    if stats.is_count or stats.mean[0] <= 0:
        return 0.5
    return float(0.5 * (stats.mean[0] + stats.m2[0] / stats.rows[0] / stats.mean[0]))


@compiled
def learn_dispersion(stats: RewardStats, own: Floats) -> None:
    """Learn the dispersion from the rows within arms, with a few of what is usual; and how steady it is."""
    rows, mean = stats.rows[0], stats.mean[0]
    if stats.fixed:
        return
    usual = 1.0
    if stats.shape == NUMBER and stats.m2[0] > 0:
        usual = stats.m2[0] / rows
    elif stats.shape == BOUNDED:
        usual = 1 / 3
    elif not stats.is_count and stats.m2[0] > 0:
        usual = stats.m2[0] / rows / mean
    level = shape_at(stats, stats.rate[0])
    total, weight = USUAL_ROWS * usual * level, USUAL_ROWS * level
    for arm in range(len(own)):
        if own[arm, 0] > 1:
            total += own[arm, 2]
            weight += (own[arm, 0] - 1) * shape_at(stats, own[arm, 1])
    found = total / weight
    stats.dispersion[0] = min(found, 1.0) if stats.shape == BOUNDED else found
    steady = STEADIEST
    if stats.m2[0] > 0:
        steady = rows * stats.m4[0] / stats.m2[0] ** 2
    stats.steady[0] = min(max(steady, STEADIEST), UNSTEADIEST)
