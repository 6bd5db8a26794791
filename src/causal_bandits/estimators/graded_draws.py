"""Playing and stating by degrees: draws from a graded state, counting of rows, and what is said of an arm."""

import math

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled
from ..data import cell_of, count_pending, count_row
from .graded import (
    COUNTED,
    GAINED,
    LEFT,
    PRIOR_ROWS,
    SCALED,
    SHARED,
    SPREAD,
    SQUARES,
    SUM,
    WAITING,
    WAITING_SUM,
    WITHIN,
    Graded,
    own_bounds,
)
from .lever_effects import at_arm, draw_effects
from .main_effects import EDGE, RATE, beta_moments, draw_chance, learn_own

FAR = 0.8
"""What is played by is drawn so much as far from its mean as the posterior says."""
DISAGREEMENT, DOUBT, WIDER = 0.5, 0.25, 1.3
"""How much wider what is stated is than what is played by; chosen so that intervals cover."""
WIDEST = 0.95
"""The variance of a chance is at most so much of that of a coin that shows 0 or 1."""


@compiled
def stated_moments(state: Graded, arm: int) -> tuple[float, float]:
    """Mean and variance of an arm's chance to be stated: at the last refresh, through its set, and wider.

    Choosing the set with the lowest variance is optimistic. What is stated adds DISAGREEMENT of the squared distance to
    what own rows say, and DOUBT of the variance that sharing saves; scales and rows that were not drawn at random do
    the rest (WIDER). Measured, not derived. It is no wider than own rows alone make the expected squared error.
    """
    mean, variance = state.moments[state.chosen[arm], arm]
    own, wide = state.moments[0, arm]
    variance = WIDER * (variance + DISAGREEMENT * (mean - own) ** 2 + DOUBT * max(wide - variance, 0.0))
    alone, spread = beta_moments(state.own.own[arm, 1] + 0.5, state.own.own[arm, 0] - state.own.own[arm, 1] + 0.5)
    variance = min(variance, spread + (mean - alone) ** 2)
    mean = min(max(mean, EDGE * state.own.numbers[RATE] / (1 + state.own.own[arm, 0])), 1 - 1e-9)
    return mean, min(variance, WIDEST * mean * (1 - mean))


@compiled
def _draw_sets(state: Graded, far: float, ahead: bool, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """Lever effects of own rows and of each set in use, and whether the set is taken not to separate.

    With `ahead` effects on the difference are drawn as if the pending rewards had come.
    """
    sets = len(state.used)
    drawn, differs = np.empty((2, sets, len(state.own.mean))), np.zeros(sets, dtype=np.bool_)
    draw_effects(state.own.mean, state.own.root, far, rng, drawn[0, 0])
    for place in range(1, sets):
        if state.used[place]:
            draw_effects(state.means[0, place], state.roots[0, place], far, rng, drawn[0, place])
            differs[place] = rng.random() >= state.separates[place]
            if differs[place]:
                root = state.ahead[place] if ahead and len(state.ahead) else state.roots[1, place]
                draw_effects(state.means[1, place], root, far, rng, drawn[1, place])
    return drawn, differs


@compiled
def _through(state: Graded, arm: int, drawn: Floats, differs: bool, ahead: bool) -> tuple[float, float]:
    """Mean and variance of an arm's chance through its set, given drawn effects; `ahead`: as if all rewards were in."""
    place, sums, parts, own = state.chosen[arm], state.sums[arm], state.parts[arm], state.own
    mean, variance = at_arm(drawn[0, place], own.codes[arm], own.starts), state.deviations[0, place]
    n, index = sums[COUNTED], 0.0
    if n > 0:
        index = sums[SUM] / n
        scatter = max(sums[SQUARES] - n * index * index, 0.0)
        precision = n * (n + parts[PRIOR_ROWS]) / (scatter + parts[PRIOR_ROWS] * parts[WITHIN])
        total = precision + 1 / variance
        mean, variance = (precision * index + mean / variance) / total, 1 / total
    variance += parts[SHARED]
    if differs:
        change = parts[LEFT] * at_arm(drawn[1, place], own.codes[arm], own.starts)
        spread = parts[LEFT] ** 2 * state.deviations[1, place]
        late = state.late[arm]
        known, left = n - late[WAITING], spread
        if known > 0:
            noise = parts[SPREAD] / known
            weight = spread / (spread + noise)
            found = late[SCALED] * (sums[GAINED] / known - (sums[SUM] - late[WAITING_SUM]) / known)
            change += weight * (found - change)
            left = weight * noise
        if ahead and n > known:
            noise = parts[SPREAD] / n
            left = spread / (spread + noise) * noise
        spread = left
        mean += change
        variance += spread
    return mean, variance


@compiled
def draw_arm(
    state: Graded, arm: int, drawn: Floats, differs: Bools, far: float, ahead: bool, rng: np.random.Generator
) -> float:
    """An arm's chance, given drawn effects; through a set it stays within what the arm's own rows allow."""
    place = state.chosen[arm]
    if place == 0:
        return draw_chance(state.own, drawn[0, 0], arm, rng)
    mean, variance = _through(state, arm, drawn, differs[place], ahead)
    low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
    return min(max(mean + far * math.sqrt(variance) * rng.standard_normal(), low), high)


@compiled
def played_chances(state: Graded, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance to play by; NaN for the others."""
    drawn, differs = _draw_sets(state, FAR, True, rng)
    chances = np.full(len(state.chosen), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            chances[arm] = draw_arm(state, arm, drawn, differs, FAR, True, rng)
    return chances


@compiled
def stated_chances(state: Graded, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance, as wide as what is stated of it; NaN for the others."""
    drawn, differs = _draw_sets(state, 1.0, False, rng)
    chances = np.full(len(state.chosen), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            more = max(stated_moments(state, arm)[1] - state.moments[state.chosen[arm], arm, 1], 0.0)
            chances[arm] = (
                draw_arm(state, arm, drawn, differs, 1.0, False, rng) + math.sqrt(more) * rng.standard_normal()
            )
    return chances


@compiled
def learn_graded(state: Graded, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    _count_index(state, arm, codes, 0.0, reward)
    count_row(state.tables, arm, codes, reward)
    learn_own(state.own, arm, reward)


@compiled
def expect_graded(state: Graded, arm: int, codes: Ints) -> None:
    """Count a row whose reward is pending."""
    _count_index(state, arm, codes, 1.0, 0)
    count_pending(state.tables, arm, codes, 1)


@compiled
def settle_graded(state: Graded, arm: int, codes: Ints, reward: int) -> None:
    """Count the reward of a pending row."""
    place = state.chosen[arm]
    if place > 0:
        cell = cell_of(state.tables, place, codes)
        if cell >= 0:
            _add_waiting(state, arm, -1.0, state.indices[state.starts[place] + cell])
            state.sums[arm, GAINED] += reward
    count_pending(state.tables, arm, codes, -1)
    count_row(state.tables, arm, codes, reward)
    learn_own(state.own, arm, reward)


@compiled
def forget_graded(state: Graded, arm: int, codes: Ints) -> None:
    """Take a pending row back: it will get no reward."""
    _count_index(state, arm, codes, -1.0, 0)
    count_pending(state.tables, arm, codes, -1)


@compiled
def _count_index(state: Graded, arm: int, codes: Ints, waiting: float, reward: int) -> None:
    """Count the index of one row in the sums of its arm's set: complete, pending (1) or no longer pending (-1)."""
    place = state.chosen[arm]
    if place == 0:
        return
    cell = cell_of(state.tables, place, codes)
    if cell < 0:
        return
    index, by = state.indices[state.starts[place] + cell], -1.0 if waiting < 0 else 1.0
    state.sums[arm, COUNTED] += by
    state.sums[arm, SUM] += by * index
    state.sums[arm, SQUARES] += by * index * index
    if waiting == 0:
        state.sums[arm, GAINED] += reward
    else:
        _add_waiting(state, arm, by, index)


@compiled
def _add_waiting(state: Graded, arm: int, by: float, index: float) -> None:
    """One pending row more or less in the sums of an arm's set."""
    state.late[arm, WAITING] += by
    state.late[arm, WAITING_SUM] += by * index
    if state.late[arm, WAITING] == 0:
        state.late[arm, WAITING_SUM] = 0.0
