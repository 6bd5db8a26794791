"""Playing and stating by degrees where rewards are not 0 or 1: draws, counting of rows, and what is said of an arm."""

import math

import numpy as np

from ..compiled import Bools, Floats, compiled
from ..data import count_reward, reward_cell
from .cell_sharing import SharedCells, allowed_means
from .graded import COUNTED, GAINED, LEFT, PRIOR_ROWS, SHARED, SPREAD, SQUARES, SUM, WITHIN
from .graded_draws import FAR
from .lever_effects import at_arm, draw_effects
from .reward_effects import draw_by_effects, learn_reward
from .reward_shapes import BOUNDED, EDGE, HIGH, LOW, NUMBER, RATE, SHAPE, one_more, own_dispersion, shape_at

DISAGREEMENT, DOUBT, WIDER = 0.25, 0.1, 1.0
"""How much wider what is stated is than what is played by, as in `graded_draws`; chosen so that intervals cover."""
WIDEST = 0.95
"""The variance of a mean between two values is at most so much of the largest there is."""


@compiled
def stated_means(state: SharedCells, arm: int) -> tuple[float, float]:
    """Mean and variance of an arm's mean to be stated, as `stated_moments` of `graded_draws` has them."""
    mean, variance = state.moments[state.chosen[arm], arm]
    own, wide = state.moments[0, arm]
    variance = WIDER * (variance + DISAGREEMENT * (mean - own) ** 2 + DOUBT * max(wide - variance, 0.0))
    numbers = state.own.numbers
    rows, alone, scatter = state.own.own[arm]
    if rows > 0:
        alone = (rows * alone + one_more(numbers) / rows) / (rows + 1 / rows)
        spread = own_dispersion(numbers, rows, alone, scatter) * shape_at(numbers, alone) / rows
        variance = min(variance, spread + (mean - alone) ** 2)
    if numbers[SHAPE] == NUMBER:
        return mean, variance
    low = numbers[LOW] + EDGE * (numbers[RATE] - numbers[LOW]) / (1 + rows)
    mean = max(mean, low)
    if numbers[SHAPE] == BOUNDED:
        mean = min(mean, numbers[HIGH] - EDGE * (numbers[HIGH] - numbers[RATE]) / (1 + rows))
        variance = min(variance, WIDEST * (mean - numbers[LOW]) * (numbers[HIGH] - mean))
    return mean, variance


@compiled
def _draw_sets(state: SharedCells, far: float, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """Lever effects of own rows and of each set in use, and whether the set is taken not to separate."""
    sets = len(state.used)
    drawn, differs = np.empty((2, sets, len(state.own.mean))), np.zeros(sets, dtype=np.bool_)
    draw_effects(state.own.mean, state.own.root, far, rng, drawn[0, 0])
    for place in range(1, sets):
        if state.used[place]:
            draw_effects(state.means[0, place], state.roots[0, place], far, rng, drawn[0, place])
            differs[place] = rng.random() >= state.separates[place]
            if differs[place]:
                draw_effects(state.means[1, place], state.roots[1, place], far, rng, drawn[1, place])
    return drawn, differs


@compiled
def _through(state: SharedCells, arm: int, drawn: Floats, differs: bool) -> tuple[float, float]:
    """Mean and variance of an arm's mean through its set, given drawn effects."""
    place, sums, parts, own = state.chosen[arm], state.sums[arm], state.parts[arm], state.own
    rate = own.numbers[RATE]
    mean, variance = at_arm(drawn[0, place], own.codes[arm], own.starts), state.deviations[0, place]
    n, index = sums[COUNTED], 0.0
    if n > 0:
        index = sums[SUM] / n
        scatter = max(sums[SQUARES] - n * index * index, 0.0)
        precision = n * (n + parts[PRIOR_ROWS]) / (scatter + parts[PRIOR_ROWS] * parts[WITHIN])
        total = precision + 1 / variance
        mean, variance = (precision * (rate + index) + mean / variance) / total, 1 / total
    variance += parts[SHARED]
    if differs:
        change = parts[LEFT] * at_arm(drawn[1, place], own.codes[arm], own.starts)
        spread = parts[LEFT] ** 2 * state.deviations[1, place]
        if n > 0:
            noise = parts[SPREAD] / n
            weight = spread / (spread + noise)
            change += weight * (sums[GAINED] / n - index - change)
            spread = weight * noise
        mean += change
        variance += spread
    return mean, variance


@compiled
def _draw_arm(
    state: SharedCells, arm: int, drawn: Floats, differs: Bools, far: float, rng: np.random.Generator
) -> float:
    """An arm's mean, given drawn effects; through a set it stays within what the arm's own rows allow."""
    place = state.chosen[arm]
    if place == 0:
        return draw_by_effects(state.own, drawn[0, 0], arm, rng)
    mean, variance = _through(state, arm, drawn, differs[place])
    low, high = allowed_means(state, arm)
    return min(max(mean + far * math.sqrt(variance) * rng.standard_normal(), low), high)


@compiled
def played_means(state: SharedCells, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean to play by; NaN for the others."""
    drawn, differs = _draw_sets(state, FAR, rng)
    means = np.full(len(state.chosen), np.nan)
    for arm in range(len(means)):
        if allowed[arm]:
            means[arm] = _draw_arm(state, arm, drawn, differs, FAR, rng)
    return means


@compiled
def believed_means(state: SharedCells, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean, as wide as what is stated of it; NaN for the others."""
    drawn, differs = _draw_sets(state, 1.0, rng)
    means = np.full(len(state.chosen), np.nan)
    for arm in range(len(means)):
        if allowed[arm]:
            more = max(stated_means(state, arm)[1] - state.moments[state.chosen[arm], arm, 1], 0.0)
            means[arm] = _draw_arm(state, arm, drawn, differs, 1.0, rng) + math.sqrt(more) * rng.standard_normal()
    return means


@compiled
def learn_cells(state: SharedCells, arm: int, values: Floats, reward: float) -> None:
    """Count one row."""
    place = state.chosen[arm]
    if place > 0:
        cell = reward_cell(state.tables, place, values, reward)
        if cell >= 0:
            index = state.indices[state.starts[place] + cell]
            state.sums[arm, COUNTED] += 1
            state.sums[arm, SUM] += index
            state.sums[arm, SQUARES] += index * index
            state.sums[arm, GAINED] += reward - state.own.numbers[RATE]
    count_reward(state.tables, arm, values, reward)
    learn_reward(state.own, arm, reward)
