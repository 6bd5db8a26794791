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

import numpy as np

from ..compiled import Floats, compiled
from ..problem import Reward

NUMBER, POSITIVE, BOUNDED = range(3)
"""Shapes: any number, 0 or more, between two values."""
ROWS, MEAN, M2, M3, M4, ABOVE, RATE, DEVIATION, DISPERSION, STEADY, SHAPE, LOW, HIGH, COUNTS, FIXED = range(15)
"""Numbers of a state: rows, their mean, central sums of powers, how many are above 0; mean over arms; variance of a
deviation; dispersion; rows that it is worth; the shape, its lowest and highest value; whether it is a count; whether
the mean alone says how much a reward varies, as for rewards of 0 or 1."""
EDGE = 0.05
"""Means that effects say are kept above this share of the mean over arms (and as far below the highest value)."""
WEAKEST = 0.2
"""A Dirichlet prior is worth at least so many rows."""
STEADIEST, UNSTEADIEST = 2.0, 1e6
USUAL_ROWS = 3.0
"""The dispersion starts from so many rows of what is usual."""


def numbers_for(reward: Reward) -> Floats:
    """What is known of a kind of reward before any row."""
    if reward.kind == "binary":
        numbers = reward_numbers(BOUNDED, 0.0, 1.0, counts=False)
        numbers[DISPERSION], numbers[DEVIATION], numbers[FIXED] = 1.0, 0.25, 1.0
        return numbers
    if reward.kind == "levels":
        return reward_numbers(BOUNDED, min(reward.values), max(reward.values), counts=False)
    return reward_numbers(NUMBER if reward.kind == "real" else POSITIVE, 0.0, 0.0, counts=reward.kind == "count")


def reward_numbers(shape: int, low: float, high: float, *, counts: bool) -> Floats:
    """The numbers of a state that has seen nothing."""
    numbers = np.zeros(15)
    numbers[[SHAPE, LOW, HIGH, COUNTS]] = shape, low, high, counts
    numbers[DISPERSION], numbers[STEADY] = (1 / 3 if shape == BOUNDED else 1.0), STEADIEST
    numbers[RATE] = {NUMBER: 0.0, POSITIVE: 0.5, BOUNDED: 0.5 * (low + high)}[shape]
    numbers[DEVIATION] = numbers[DISPERSION] * (0.5 if shape == POSITIVE else 0.25 * (high - low) ** 2 or 1.0)
    return numbers


@compiled
def shape_at(numbers: Floats, mean: float) -> float:
    """What the row variance is proportional to."""
    if numbers[SHAPE] == NUMBER:
        return 1.0
    if numbers[SHAPE] == POSITIVE:
        return mean
    return float((mean - numbers[LOW]) * (numbers[HIGH] - mean))


@compiled
def row_variance(numbers: Floats, mean: float) -> float:
    """Variance of one reward of an arm with this mean."""
    return float(numbers[DISPERSION] * shape_at(numbers, mean))


@compiled
def inside(numbers: Floats, mean: float) -> float:
    """A mean kept away from the lowest and highest possible value."""
    rate = numbers[RATE]
    if numbers[SHAPE] == NUMBER:
        return mean
    low = numbers[LOW] + EDGE * (rate - numbers[LOW])
    if numbers[SHAPE] == POSITIVE:
        return float(max(mean, low))
    return float(min(max(mean, low), numbers[HIGH] - EDGE * (numbers[HIGH] - rate)))


@compiled
def unit_of(numbers: Floats) -> float:
    """What a lever effect is measured in: one log-odds, one logarithm, or one standard deviation of a reward."""
    if numbers[SHAPE] == NUMBER:
        return math.sqrt(numbers[DISPERSION])
    return shape_at(numbers, numbers[RATE]) / (numbers[HIGH] - numbers[LOW] if numbers[SHAPE] == BOUNDED else 1.0)


@compiled
def slope_at(numbers: Floats, mean: float) -> float:
    """What one log-odds, one logarithm, or one standard deviation of a reward is worth at a mean."""
    if numbers[SHAPE] == NUMBER:
        return math.sqrt(numbers[DISPERSION])
    return shape_at(numbers, mean) / (numbers[HIGH] - numbers[LOW] if numbers[SHAPE] == BOUNDED else 1.0)


@compiled
def into_range(numbers: Floats, mean: float, rate: float, edge: float) -> float:
    """A mean kept inside the range of the reward: away from its ends by a share of the mean over arms."""
    if numbers[SHAPE] == NUMBER:
        return mean
    low = numbers[LOW] + edge * (rate - numbers[LOW])
    if numbers[SHAPE] == POSITIVE:
        return float(max(mean, low))
    return float(min(max(mean, low), numbers[HIGH] - edge * (numbers[HIGH] - rate)))


@compiled
def from_link(numbers: Floats, value: float) -> float:
    """The mean at this log-odds, logarithm, or number."""
    if numbers[SHAPE] == NUMBER:
        return value
    if numbers[SHAPE] == POSITIVE:
        return math.exp(min(value, 300.0))
    odds = math.exp(min(max(-value, -30.0), 30.0))
    return float(numbers[LOW] + (numbers[HIGH] - numbers[LOW]) / (1 + odds))


@compiled
def conjugate(
    numbers: Floats, prior: float, variance: float, rows: float, mean: float, dispersion: float
) -> tuple[float, float]:
    """Mean and variance of a mean after some rows, from those before: Beta, Gamma or normal (see the top)."""
    if numbers[SHAPE] == BOUNDED:
        mean = min(max(mean, numbers[LOW]), numbers[HIGH])
        size = max(row_variance(numbers, prior) / variance - 1, WEAKEST) + rows
        found = prior + rows / size * (mean - prior)
        return found, row_variance(numbers, found) / (size + 1)
    if numbers[SHAPE] == POSITIVE:
        mean = max(mean, 0.0)
    size = dispersion * shape_at(numbers, prior) / variance + rows
    found = prior + rows / size * (mean - prior)
    return found, dispersion * shape_at(numbers, found) / size


@compiled
def log_likelihood(numbers: Floats, mean: float, reward: float) -> float:
    """Quasi-likelihood of one reward of an arm with this mean (Wedderburn 1974); exact for rewards of 0 or 1."""
    if numbers[SHAPE] == NUMBER:
        return float(-0.5 * (reward - mean) ** 2 / numbers[DISPERSION])
    if numbers[SHAPE] == POSITIVE:
        return float(((reward * math.log(mean) if reward > 0 else 0.0) - mean) / numbers[DISPERSION])
    width = numbers[HIGH] - numbers[LOW]
    share, seen = (mean - numbers[LOW]) / width, (reward - numbers[LOW]) / width
    found = seen * math.log(share) if seen > 0 else 0.0
    return float((found + ((1 - seen) * math.log(1 - share) if seen < 1 else 0.0)) / numbers[DISPERSION])


@compiled
def own_dispersion(numbers: Floats, rows: float, mean: float, scatter: float) -> float:
    """The dispersion of an arm: its own, shrunk to that of all arms; rewards that are all 0 say nothing of it."""
    common, steady = numbers[DISPERSION], numbers[STEADY]
    if numbers[SHAPE] == BOUNDED or rows < 2 or (numbers[SHAPE] == POSITIVE and mean <= 0):
        return float(common)
    own = scatter / mean if numbers[SHAPE] == POSITIVE else scatter
    return float((own + steady * common) / (rows - 1 + steady))


@compiled
def posterior(
    numbers: Floats, prior: float, variance: float, rows: float, mean: float, scatter: float
) -> tuple[float, float]:
    """Mean and variance of an arm's mean, from those beforehand and own rows (see the top)."""
    if numbers[SHAPE] == BOUNDED:
        single = row_variance(numbers, prior)
        k = max(single / variance - 1, WEAKEST)
        found = (k * prior + rows * mean) / (k + rows)
        spread = k * (single + (prior - found) ** 2) + scatter + rows * (mean - found) ** 2
        return found, spread / (k + rows) / (k + rows + 1)
    dispersion = own_dispersion(numbers, rows, mean, scatter)
    k = dispersion * shape_at(numbers, prior) / variance
    found = (k * prior + rows * mean) / (k + rows)
    return found, dispersion * shape_at(numbers, found) / (k + rows)


@compiled
def draw_mean(numbers: Floats, mean: float, variance: float, rows: float, rng: np.random.Generator) -> float:
    """One draw of a mean that has this mean and variance: Gamma, Beta between the two values, or Student's t."""
    if numbers[SHAPE] == POSITIVE:
        return float(rng.standard_gamma(mean * mean / variance) * variance / mean)
    if numbers[SHAPE] == BOUNDED:
        width = numbers[HIGH] - numbers[LOW]
        share, spread = (mean - numbers[LOW]) / width, variance / width**2
        size = max(share * (1 - share) / spread - 1, 1e-3)
        return float(numbers[LOW] + width * rng.beta(size * share, size * (1 - share)))
    freedom = max(rows - 1, 0.0) + numbers[STEADY] + 1
    student = rng.standard_normal() / math.sqrt(rng.chisquare(freedom) / freedom)
    return float(mean + math.sqrt(variance) * student)


@compiled
def own_limits(numbers: Floats, far: float, rows: float, mean: float, scatter: float) -> tuple[float, float]:
    """Means that an arm's own rows allow: within `far` standard errors, taken at the mean in question (Wilson 1927)."""
    if rows == 0:
        return -np.inf, np.inf
    dispersion = own_dispersion(numbers, rows, mean, scatter)
    if numbers[SHAPE] == NUMBER:
        reach = far * math.sqrt(dispersion / rows)
        return mean - reach, mean + reach
    if numbers[SHAPE] == POSITIVE:
        square = far * far * dispersion / rows
        reach = math.sqrt(square * mean + 0.25 * square * square)
        return mean + 0.5 * square - reach, mean + 0.5 * square + reach
    width, square = numbers[HIGH] - numbers[LOW], far * far * dispersion / rows
    share = (mean - numbers[LOW]) / width
    middle = (share + 0.5 * square) / (1 + square)
    reach = math.sqrt(square * share * (1 - share) + 0.25 * square * square) / (1 + square)
    return numbers[LOW] + width * (middle - reach), numbers[LOW] + width * (middle + reach)


@compiled
def add_to_numbers(numbers: Floats, reward: float) -> None:
    """Count one reward among all (Pebay 2008)."""
    before = numbers[ROWS]
    rows = before + 1
    away = reward - numbers[MEAN]
    step = away / rows
    term = away * step * before
    square = step * step
    numbers[M4] += term * square * (rows * rows - 3 * rows + 3) + 6 * square * numbers[M2] - 4 * step * numbers[M3]
    numbers[M3] += term * step * (rows - 2) - 3 * step * numbers[M2]
    numbers[M2] += term
    numbers[MEAN] += step
    numbers[ROWS] = rows
    numbers[ABOVE] += reward > 0


@compiled
def one_more(numbers: Floats) -> float:
    """The reward of one row more: with nothing but zeros a mean is "less than one in so many", not 0."""
    if numbers[SHAPE] == NUMBER:
        return float(numbers[MEAN])
    if numbers[SHAPE] == BOUNDED:
        return float(0.5 * (numbers[LOW] + numbers[HIGH]))
    if numbers[COUNTS] or numbers[MEAN] <= 0:
        return 0.5
    return float(0.5 * (numbers[MEAN] + numbers[M2] / numbers[ROWS] / numbers[MEAN]))


@compiled
def learn_dispersion(numbers: Floats, own: Floats) -> None:
    """Learn the dispersion from the rows within arms, with a few of what is usual; and how steady it is."""
    rows, mean = numbers[ROWS], numbers[MEAN]
    if numbers[FIXED]:
        return
    usual = 1.0
    if numbers[SHAPE] == NUMBER and numbers[M2] > 0:
        usual = numbers[M2] / rows
    elif numbers[SHAPE] == BOUNDED:
        usual = 1 / 3
    elif not numbers[COUNTS] and numbers[M2] > 0:
        usual = numbers[M2] / rows / mean
    level = shape_at(numbers, numbers[RATE])
    total, weight = USUAL_ROWS * usual * level, USUAL_ROWS * level
    for arm in range(len(own)):
        if own[arm, 0] > 1:
            total += own[arm, 2]
            weight += (own[arm, 0] - 1) * shape_at(numbers, own[arm, 1])
    found = total / weight
    numbers[DISPERSION] = min(found, 1.0) if numbers[SHAPE] == BOUNDED else found
    steady = STEADIEST
    if numbers[M2] > 0:
        steady = rows * numbers[M4] / numbers[M2] ** 2
    numbers[STEADY] = min(max(steady, STEADIEST), UNSTEADIEST)
