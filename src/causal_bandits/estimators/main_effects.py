"""Rewards of 0 or 1 through lever effects alone: main-effects Thompson Sampling, and own rows in the sharing rule.

Every arm's chance is a level, an effect of each of its levers' levels and a deviation of its own (`lever_effects`), on
the scale of chances or of log-odds. Between refreshes effects stay as they are and arms count their own rows: given the
effects, an arm's chance is Beta with the mean that they say and the variance of a deviation, so its draw is

    chance ~ Beta(k m + rewards, k (1 - m) + others),    k = m (1 - m) / deviation variance - 1,    m: drawn effects

The effects are drawn once for all arms: arms that share a lever's level go up and down together, as they should.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled, total
from .lever_effects import at_arm, draw_effects, effect_starts, keep_effects, without_own
from .lever_scales import FACTOR, Beforehand, fit_levers

EDGE = 0.05
"""Chances that effects say are kept above this share of the mean chance, and as far below 1."""
WEAKEST = 0.2
"""A Beta prior is worth at least so many rows."""
LEVEL = 4.0
"""Prior variance of the common level, in units (log-odds: squared)."""

ROWS, REWARDS, RATE, DEVIATION = range(4)


@by_reference
class MainEffects(NamedTuple):
    """Counts of every arm, and the lever effects of the last refresh."""

    codes: Ints
    """(arms, levers): the level of each lever; no columns where there is one lever."""
    starts: Ints
    own: Floats
    """(arms, 2): rows, rewards."""
    known: Floats
    """(arms, 4), of the last refresh: mean and variance of the chance; what the other arms said of them."""
    mean: Floats
    root: Floats
    """Level and effects, as in `LeverFit`."""
    numbers: Floats
    """Rows, rewards, the mean chance over arms, variance of a deviation."""
    logistic: bool
    alike: float
    """As in `Beforehand`."""


def main_effects(codes: Ints, levels: Ints, *, logistic: bool = False, alike: float = 0.0) -> MainEffects:
    """Nothing counted yet."""
    several = codes.shape[1] > 1
    kept = np.ascontiguousarray(codes if several else codes[:, :0]).astype(np.int64)
    starts = effect_starts(np.asarray(levels if several else levels[:0], dtype=np.int64))
    arms, size = len(codes), 1 + (int(np.sum(levels)) if several else 0)
    known = np.tile([0.5, 1 / 12, 0.5, 1 / 12], (arms, 1))
    mean = np.zeros(size)
    mean[0] = 0.0 if logistic else 0.5
    numbers = np.array([0.0, 0.0, 0.5, 1.0 if logistic else 1 / 12])
    return MainEffects(kept, starts, np.zeros((arms, 2)), known, mean, np.zeros((size, size)), numbers, logistic, alike)


def copy_of(state: MainEffects) -> MainEffects:
    """A state that learns apart from this one."""
    own, known, mean, root, numbers = (array.copy() for array in state[2:7])
    return state._replace(own=own, known=known, mean=mean, root=root, numbers=numbers)


@compiled
def inside(chance: float, rate: float) -> float:
    """A chance kept away from 0 and 1, as far as the mean chance is."""
    return min(max(chance, EDGE * rate), 1 - EDGE * (1 - rate))


@compiled
def mean_chance(chances: Floats, rows: float) -> float:
    """The mean over arms; half a reward of one row more keeps it from 0 and 1 where nothing was seen."""
    least = 0.5 / (rows + 1)
    return float(min(max(total(chances) / len(chances), least), 1 - least))


@compiled
def beta_posterior(mean: float, variance: float, rows: float, rewards: float) -> tuple[float, float]:
    """Parameters of the Beta that has this mean and variance, after counting rows."""
    prior = max(mean * (1 - mean) / variance - 1, WEAKEST)
    return prior * mean + rewards, prior * (1 - mean) + rows - rewards


@compiled
def beta_moments(a: float, b: float) -> tuple[float, float]:
    """Mean and variance."""
    mean = a / (a + b)
    return mean, mean * (1 - mean) / (a + b + 1)


@compiled
def _to_chance(state: MainEffects, value: float, variance: float) -> tuple[float, float]:
    """Mean and variance of a chance, from those on the scale of the effects; to first order."""
    rate = state.numbers[RATE]
    if not state.logistic:
        return inside(value, rate), variance
    chance = inside(1 / (1 + math.exp(-value)), rate)
    return chance, (chance * (1 - chance)) ** 2 * variance


@compiled
def measured(state: MainEffects, rate: float) -> tuple[Floats, Floats]:
    """Values less the level of the mean chance, and their precisions, on the scale of the effects.

    The noise of an arm is that of a chance halfway between what it knows and what the others say of it: with its own
    alone an arm without rewards would seem exact. Half a reward in one row more is divided among the arms by their
    rows, so that no reward at all means "less than one in so many".
    """
    arms = len(state.own)
    more = 1 / (state.numbers[ROWS] + 1)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        rows = state.own[arm, 0]
        if rows > 0:
            chance = inside(0.5 * (state.known[arm, 0] + state.known[arm, 2]), rate)
            noise = chance * (1 - chance)
            mean = (state.own[arm, 1] / rows + 0.5 * more) / (1 + more)
            if state.logistic:
                values[arm] = math.log(chance / (1 - chance)) - math.log(rate / (1 - rate)) + (mean - chance) / noise
                precision[arm] = rows * noise
            else:
                values[arm] = mean - rate
                precision[arm] = rows / noise
    return values, precision


@compiled
def refresh_effects(state: MainEffects) -> None:
    """Learn scales and effects from all rows.

    What is stated takes a log-odds for what it is worth at the mean chance over arms; what is played, at that over rows
    where it is less: arms like those that are played, not all that could be, are worth another look.
    """
    numbers = state.numbers
    rows, rewards = numbers[ROWS], numbers[REWARDS]
    rate = mean_chance(state.known[:, 0], rows)
    unit = 1.0 if state.logistic else rate * (1 - rate)
    level = math.log(rate / (1 - rate)) if state.logistic else rate
    numbers[RATE] = rate
    values, precision = measured(state, rate)
    codes, starts, size = state.codes, state.starts, len(state.mean)
    before = Beforehand(unit, LEVEL * unit, 0.0, 0.0, FACTOR, state.alike)
    fit = fit_levers(values, precision, codes, starts, size, before)
    for arm in range(len(values)):
        value, variance = without_own(fit, values[arm], precision[arm], codes[arm], starts)
        chance, spread = _to_chance(state, value + level, variance)
        a, b = beta_posterior(chance, spread, state.own[arm, 0], state.own[arm, 1])
        state.known[arm, 0], state.known[arm, 1] = beta_moments(a, b)
        state.known[arm, 2], state.known[arm, 3] = chance, spread
    played = (rewards + 0.5) / (rows + 1)
    if not state.logistic and played * (1 - played) < unit:
        before = Beforehand(played * (1 - played), LEVEL * unit, 0.0, 0.0, FACTOR, state.alike)
        fit = fit_levers(values, precision, codes, starts, size, before)
    keep_effects(fit, level, state.mean, state.root)
    numbers[DEVIATION] = fit.deviation


@compiled
def own_chances(state: MainEffects, arm: int) -> tuple[float, float]:
    """Parameters of the Beta that says what is known of an arm: what others said at the last refresh, and own rows."""
    return beta_posterior(state.known[arm, 2], state.known[arm, 3], state.own[arm, 0], state.own[arm, 1])


@compiled
def draw_chance(state: MainEffects, effects: Floats, arm: int, rng: np.random.Generator) -> float:
    """An arm's chance, given drawn effects."""
    value = at_arm(effects, state.codes[arm], state.starts)
    chance, spread = _to_chance(state, value, state.numbers[DEVIATION])
    a, b = beta_posterior(chance, spread, state.own[arm, 0], state.own[arm, 1])
    return float(rng.beta(a, b))


@compiled
def chances_by_effects(state: MainEffects, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance; NaN for the others."""
    effects = np.empty(len(state.mean))
    draw_effects(state.mean, state.root, 1.0, rng, effects)
    chances = np.full(len(state.own), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            chances[arm] = draw_chance(state, effects, arm, rng)
    return chances


@compiled
def highest(chances: Floats) -> int:
    """The arm with the highest chance; NaN is none."""
    best, most = 0, -np.inf
    for arm in range(len(chances)):
        if chances[arm] > most:
            best, most = arm, chances[arm]
    return best


@compiled
def learn_own(state: MainEffects, arm: int, reward: int) -> None:
    """Count one row."""
    state.own[arm, 0] += 1
    state.own[arm, 1] += reward
    state.numbers[ROWS] += 1
    state.numbers[REWARDS] += reward
