"""Means of any reward through lever effects: own rows in the sharing rule for rewards that are not 0 or 1.

The twin of `main_effects`: every arm's mean is a level, an effect of each of its levers' levels and a deviation of its
own, with scales learnt from all arms; given the effects, own rows leave the posterior of `reward_shapes`.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, by_reference, compiled, total
from ..data import add_reward
from .lever_effects import at_arm, effect_starts, keep_effects, without_own
from .lever_scales import FACTOR, Beforehand, fit_levers
from .main_effects import LEVEL
from .reward_shapes import (
    DEVIATION,
    MEAN,
    NUMBER,
    POSITIVE,
    RATE,
    ROWS,
    SHAPE,
    add_to_numbers,
    draw_mean,
    inside,
    learn_dispersion,
    one_more,
    own_dispersion,
    posterior,
    row_variance,
    shape_at,
    unit_of,
)


@by_reference
class RewardEffects(NamedTuple):
    """Rows of every arm, and the lever effects of the last refresh."""

    codes: Ints
    """(arms, levers): the level of each lever; no columns where there is one lever."""
    starts: Ints
    own: Floats
    """(arms, 3): rows, mean reward, sum of squared deviations from it."""
    known: Floats
    """(arms, 4), of the last refresh: mean and variance of the arm's mean; what the other arms said of them."""
    mean: Floats
    root: Floats
    """Level and effects, as in `LeverFit`."""
    numbers: Floats
    """See `reward_shapes`."""


def reward_effects(codes: Ints, levels: Ints, numbers: Floats) -> RewardEffects:
    """Nothing counted yet."""
    several = codes.shape[1] > 1
    kept = np.ascontiguousarray(codes if several else codes[:, :0]).astype(np.int64)
    starts = effect_starts(np.asarray(levels if several else levels[:0], dtype=np.int64))
    arms, size = len(codes), 1 + (int(np.sum(levels)) if several else 0)
    rate, variance = numbers[RATE], numbers[DEVIATION]
    known, mean = np.tile([rate, variance, rate, variance], (arms, 1)), np.zeros(size)
    mean[0] = rate
    return RewardEffects(kept, starts, np.zeros((arms, 3)), known, mean, np.zeros((size, size)), numbers.copy())


@compiled
def _mean_over_arms(state: RewardEffects) -> float:
    """The mean over arms of what is known; one row more keeps it from the lowest value where nothing else was seen."""
    numbers = state.numbers
    if numbers[ROWS] == 0:
        return float(numbers[RATE])
    found = total(state.known[:, 0]) / len(state.known)
    if numbers[SHAPE] == NUMBER:
        return float(found)
    share = 1 / (numbers[ROWS] + 1)
    pooled = (numbers[MEAN] * numbers[ROWS] + one_more(numbers)) * share
    if numbers[SHAPE] == POSITIVE:
        return float(max(found, 0.5 * pooled, share * one_more(numbers)))
    return float((1 - share) * found + share * one_more(numbers))


@compiled
def measured_means(state: RewardEffects) -> tuple[Floats, Floats]:
    """Own means less the mean over arms, and their precisions.

    The noise of an arm is that of a mean halfway between what it knows and what the others say of it: with its own
    alone an arm without rewards would seem exact.
    """
    numbers, arms = state.numbers, len(state.own)
    rate, more = numbers[RATE], 1 / (numbers[ROWS] + 1)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        rows, mean, scatter = state.own[arm]
        if rows > 0:
            there = inside(numbers, 0.5 * (state.known[arm, 0] + state.known[arm, 2]))
            single = own_dispersion(numbers, rows, mean, scatter) * shape_at(numbers, there)
            if numbers[SHAPE] != NUMBER:
                mean = (mean + more * one_more(numbers)) / (1 + more)
            values[arm] = mean - rate
            precision[arm] = rows / single
    return values, precision


@compiled
def refresh_rewards(state: RewardEffects) -> None:
    """Learn dispersion, scales and effects from all rows."""
    numbers = state.numbers
    numbers[RATE] = _mean_over_arms(state)
    learn_dispersion(numbers, state.own)
    rate = numbers[RATE]
    values, precision = measured_means(state)
    before = Beforehand(unit_of(numbers), LEVEL * row_variance(numbers, rate), 0.0, 0.0, FACTOR, 0.0)
    fit = fit_levers(values, precision, state.codes, state.starts, len(state.mean), before)
    for arm in range(len(values)):
        value, variance = without_own(fit, values[arm], precision[arm], state.codes[arm], state.starts)
        said = inside(numbers, rate + value)
        rows, mean, scatter = state.own[arm]
        state.known[arm, 0], state.known[arm, 1] = posterior(numbers, said, variance, rows, mean, scatter)
        state.known[arm, 2], state.known[arm, 3] = said, variance
    keep_effects(fit, rate, state.mean, state.root)
    numbers[DEVIATION] = fit.deviation


@compiled
def draw_by_effects(state: RewardEffects, effects: Floats, arm: int, rng: np.random.Generator) -> float:
    """An arm's mean, given drawn effects."""
    numbers = state.numbers
    prior = inside(numbers, at_arm(effects, state.codes[arm], state.starts))
    rows, mean, scatter = state.own[arm]
    found, variance = posterior(numbers, prior, numbers[DEVIATION], rows, mean, scatter)
    return draw_mean(numbers, found, variance, rows, rng)


@compiled
def learn_reward(state: RewardEffects, arm: int, reward: float) -> None:
    """Count one row."""
    add_reward(state.own[arm], reward)
    add_to_numbers(state.numbers, reward)
