"""How the variance of a reward follows from its mean, for counts, revenue, ordered levels and any other number.

    row variance at mean m  =  dispersion * shape(m),    shape(m) = 1             a number
                                                                    m             a count, revenue
                                                                    (m - lo) (hi - m)    values of ordered levels

The dispersion is learned from all arms: it is 1 for a Poisson count and more if it varies more. Revenue that is 0 most
of the time has a variance proportional to how often it is not, so an arm whose first rewards are 0 stays as uncertain
as any similar arm: zeros do not make it certain. An arm's own dispersion is shrunk to that of all arms by as many rows
as the kurtosis says (a variance of n rows has a relative variance of kurtosis / n).

Given a prior with mean m and variance v, n rows leave the conjugate posterior. With k = prior rows:

    counts, revenue    Gamma, k = dispersion m / v; the Gamma-Poisson posterior where the dispersion is 1
    levels             mean of a Dirichlet of k = V(m) / v - 1 rows before: exact in rows, mean and scatter alone
    a number           normal with that row variance; drawn with Student's tails
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np

from ..compiled import Floats, by_reference, compiled
from ..problem import Reward
from .random_arrays import draw_betas, draw_gammas, draw_students

NUMBER, POSITIVE, BOUNDED = range(3)
"""Shapes: any number, 0 or more, between two values."""
WEAKEST = 0.2
"""A Dirichlet prior is worth at least this many rows."""
LEAST = 1e-300
"""Stands for 0 in logarithms and divisions."""
TINY = 1e-9
"""The least parameter of a Beta distribution, where rounding would leave 0."""
STEADIEST, UNSTEADIEST = 2.0, 1e6
USUAL_ROWS = 3.0
"""The dispersion starts from this many rows with the usual dispersion."""


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


N = TypeVar("N", float, Floats)
"""A number or an array of them."""


@compiled
def shape_at(stats: RewardStats, mean: N) -> N:
    """What the row variance is proportional to."""
    if stats.shape == NUMBER:
        return 1 + 0 * mean
    if stats.shape == POSITIVE:
        return mean
    return (mean - stats.low) * (stats.high - mean)


@compiled
def row_variance(stats: RewardStats, mean: N) -> N:
    """Variance of one reward of an arm with this mean."""
    found: N = stats.dispersion[0] * shape_at(stats, mean)
    return found


@compiled
def slope_at(stats: RewardStats, mean: N) -> N:
    """What one log-odds, one logarithm, or one standard deviation of a reward is worth at a mean."""
    if stats.shape == NUMBER:
        return math.sqrt(stats.dispersion[0]) + 0 * mean
    return shape_at(stats, mean) / (stats.high - stats.low if stats.shape == BOUNDED else 1.0)


@compiled
def into_range(stats: RewardStats, mean: N, rate: float, edge: float) -> N:
    """A mean kept inside the range of the reward: away from its ends by a share of the mean over arms."""
    if stats.shape == NUMBER:
        return mean + 0.0
    inside: N = np.maximum(mean, stats.low + edge * (rate - stats.low))
    if stats.shape == BOUNDED:
        inside = np.minimum(inside, stats.high - edge * (stats.high - rate))
    return inside


@compiled
def to_link(stats: RewardStats, mean: N) -> N:
    """The log-odds, logarithm, or number of a mean inside the range."""
    if stats.shape == NUMBER:
        return mean + 0.0
    found: N = np.log(mean if stats.shape == POSITIVE else (mean - stats.low) / (stats.high - mean))
    return found


@compiled
def from_link(stats: RewardStats, value: N) -> N:
    """The mean at this log-odds, logarithm, or number."""
    if stats.shape == NUMBER:
        return value + 0.0
    if stats.shape == POSITIVE:
        mean: N = np.exp(np.minimum(value, 300.0))
    else:
        mean = stats.low + (stats.high - stats.low) / (1 + np.exp(-np.minimum(np.maximum(value, -30.0), 30.0)))
    return mean


@compiled
def conjugate(
    stats: RewardStats, prior: Floats, variance: Floats, rows: Floats, mean: Floats, dispersion: Floats
) -> tuple[Floats, Floats]:
    """Means and variances of means after some rows, from those before: Beta, Gamma or normal (see the top)."""
    if stats.shape == BOUNDED:
        mean = np.minimum(np.maximum(mean, stats.low), stats.high)
        size = np.maximum(row_variance(stats, prior) / variance - 1, WEAKEST) + rows
        found = prior + rows / size * (mean - prior)
        return found, row_variance(stats, found) / (size + 1)
    mean = np.maximum(mean, 0.0) if stats.shape == POSITIVE else mean + 0.0
    size = dispersion * shape_at(stats, prior) / variance + rows
    found = prior + rows / size * (mean - prior)
    return found, dispersion * shape_at(stats, found) / size


@compiled
def log_likelihood(stats: RewardStats, means: Floats, reward: float) -> Floats:
    """Quasi-likelihood of one reward of an arm with these means (Wedderburn 1974); exact for rewards of 0 or 1."""
    if stats.shape == NUMBER:
        found = -0.5 * (reward - means) ** 2
    elif stats.shape == POSITIVE:
        found = reward * np.log(np.maximum(means, LEAST)) - means
    else:
        width = stats.high - stats.low
        share, seen = (means - stats.low) / width, (reward - stats.low) / width
        found = seen * np.log(np.maximum(share, LEAST)) + (1 - seen) * np.log(np.maximum(1 - share, LEAST))
    logs: Floats = found / stats.dispersion[0]
    return logs


@compiled
def own_dispersion(stats: RewardStats, rows: N, mean: N, scatter: N) -> N:
    """The dispersion of an arm: its own, shrunk to that of all arms; rewards that are all 0 say nothing of it."""
    common, steady = stats.dispersion[0], stats.steady[0]
    found: N = common + 0 * mean
    if stats.shape != BOUNDED:
        freedom, own = np.maximum(rows - 1, 0.0), scatter
        if stats.shape == POSITIVE:
            freedom, own = freedom * (mean > 0), scatter / np.maximum(mean, LEAST)
        found = (own + steady * common) / (freedom + steady)
    return found


@compiled
def draw_conjugate(
    stats: RewardStats, mean: Floats, variance: Floats, rows: Floats, rng: np.random.Generator
) -> Floats:
    """Draws of means that have these means and variances: Gamma, Beta between the two values, or Student's t."""
    if stats.shape == POSITIVE:
        return draw_gammas(rng, mean * mean / variance) * (variance / mean)
    if stats.shape == BOUNDED:
        width = stats.high - stats.low
        share = (mean - stats.low) / width
        size = np.maximum(share * (1 - share) / (variance / width**2) - 1, 1e-3)
        return stats.low + width * draw_betas(rng, np.maximum(size * share, TINY), np.maximum(size * (1 - share), TINY))
    freedom = np.maximum(rows - 1, 0.0) + (stats.steady[0] + 1)
    return mean + np.sqrt(variance) * draw_students(rng, freedom)


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
    """The reward of one row more: with nothing but zeros a mean is "less than one in this many", not 0."""
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
    few, freedom = USUAL_ROWS * shape_at(stats, stats.rate[0]), np.maximum(own[:, 0] - 1, 0.0)
    total = few * usual + own[:, 2].sum()
    weight = few + (freedom * shape_at(stats, own[:, 1])).sum()
    found = total / weight
    stats.dispersion[0] = min(found, 1.0) if stats.shape == BOUNDED else found
    steady = STEADIEST
    if stats.m2[0] > 0:
        steady = rows * stats.m4[0] / stats.m2[0] ** 2
    stats.steady[0] = min(max(steady, STEADIEST), UNSTEADIEST)
