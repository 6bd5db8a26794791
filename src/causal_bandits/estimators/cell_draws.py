"""Playing and stating by degrees where rewards are not 0 or 1: draws, and what is said of an arm."""

import math

import numpy as np

from ..compiled import Bools, Floats, compiled
from .cell_sharing import allowed_means
from .degrees import Graded
from .graded_draws import AHEAD, FAR, NOW, draw_sets, through_set
from .reward_effects import draw_by_effects
from .reward_shapes import BOUNDED, EDGE, HIGH, LOW, NUMBER, RATE, SHAPE, one_more, own_dispersion, shape_at
from .stating import WIDEST

DISAGREEMENT = 0.5
"""The share of a disagreement beyond chance that is added to the variance of an arm's mean."""


@compiled
def disagreement(state: Graded, arm: int) -> float:
    """What is added to the variance of an arm's mean: a share of what own rows disagree with its set beyond chance."""
    place, moments = state.chosen[arm], state.moments
    mean, variance = moments[place, arm, 0], moments[place, arm, 1]
    other, wide = moments[0, arm, 0], moments[0, arm, 1]
    return float(DISAGREEMENT * max((mean - other) ** 2 - max(wide - variance, 0.0), 0.0))


@compiled
def stated_means(state: Graded, arm: int) -> tuple[float, float]:
    """Mean and variance of an arm's mean to be stated: through its set, and no wider than own rows make them.

    Where own rows disagree with the set beyond chance it is wider than what is played by. Own rows have one reward more
    than came, so that zeros are no certainty, and what they vary by is taken at the mean that is stated. That
    intervals cover as they say was measured (`python -m benchmarks.rewards`).
    """
    mean, variance = state.moments[state.chosen[arm], arm]
    variance += disagreement(state, arm)
    numbers = state.own.numbers
    rows, alone, scatter = state.own.own[arm]
    if numbers[SHAPE] != NUMBER:
        mean = max(mean, numbers[LOW] + EDGE * (numbers[RATE] - numbers[LOW]) / (1 + rows))
    if numbers[SHAPE] == BOUNDED:
        mean = min(mean, numbers[HIGH] - EDGE * (numbers[HIGH] - numbers[RATE]) / (1 + rows))
    if rows > 0:
        alone = (rows * alone + one_more(numbers)) / (rows + 1)
        spread = own_dispersion(numbers, rows, alone, scatter) * shape_at(numbers, alone) / rows
        share = min(shape_at(numbers, mean) / shape_at(numbers, alone), 1.0)
        variance = min(variance, share * (spread + (mean - alone) ** 2))
    if numbers[SHAPE] == BOUNDED:
        variance = min(variance, WIDEST * (mean - numbers[LOW]) * (numbers[HIGH] - mean))
    return mean, variance


@compiled
def _draw_arm(
    state: Graded, arm: int, drawn: Floats, differs: Bools, far: float, ahead: float, rng: np.random.Generator
) -> float:
    """An arm's mean, given drawn effects; through a set it stays within what the arm's own rows allow."""
    place = state.chosen[arm]
    if place == 0:
        return draw_by_effects(state.own, drawn[0, 0], arm, rng)
    mean, variance = through_set(state, arm, drawn, differs[place], ahead, state.own.numbers[RATE])
    low, high = allowed_means(state, arm)
    return min(max(mean + far * math.sqrt(variance) * rng.standard_normal(), low), high)


@compiled
def played_means(state: Graded, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean to play by; NaN for the others."""
    drawn, differs = draw_sets(state, FAR, AHEAD, rng)
    means = np.full(len(state.chosen), np.nan)
    for arm in range(len(means)):
        if allowed[arm]:
            means[arm] = _draw_arm(state, arm, drawn, differs, FAR, AHEAD, rng)
    return means


@compiled
def believed_means(state: Graded, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean, as wide as what is stated of it; NaN for the others."""
    drawn, differs = draw_sets(state, 1.0, NOW, rng)
    means = np.full(len(state.chosen), np.nan)
    for arm in range(len(means)):
        if allowed[arm]:
            more = max(stated_means(state, arm)[1] - state.moments[state.chosen[arm], arm, 1], 0.0)
            means[arm] = _draw_arm(state, arm, drawn, differs, 1.0, NOW, rng)
            means[arm] += math.sqrt(more) * rng.standard_normal()
    return means
