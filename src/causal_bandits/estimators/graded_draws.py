"""Draws of arms by degrees: to play by, and to compare what is stated."""

import math

import numpy as np

from ..compiled import Bools, Floats, compiled
from .averaging import draw_set
from .degrees import (
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
from .index_parts import CELL_ROWS
from .lever_effects import at_arm, draw_effects
from .main_effects import draw_chance

FAR = 0.8
"""What is played by is drawn so much as far from its mean as the posterior says."""
NOW, AHEAD = 0.0, 1.0
"""Draws take pending rewards as they are, or as if they had come. Floats: for other literals numba compiles twice."""
COMPARED = 0.93
"""When arms are compared, they are drawn so much as far from their means as the posterior says."""
APART = 0.2
"""Arms that go by their own rows: the share of the variance added for stating that is drawn when arms are compared."""


@compiled
def draw_sets(state: Graded, far: float, ahead: float, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """Lever effects of own rows and of each set in use, and whether the set is taken not to separate.

    AHEAD: effects on the difference are drawn as if the pending rewards had come.
    """
    sets = len(state.used)
    drawn, differs = np.empty((2, sets, len(state.own.mean))), state.used.copy()
    draw_effects(state.own.mean, state.own.root, far, rng, drawn[0, 0])
    for place in range(1, sets):
        if state.used[place]:
            draw_effects(state.means[0, place], state.roots[0, place], far, rng, drawn[0, place])
            differs[place] = rng.random() >= state.separates[place]
            if differs[place]:
                root = state.ahead[place] if ahead == AHEAD and len(state.ahead) else state.roots[1, place]
                draw_effects(state.means[1, place], root, far, rng, drawn[1, place])
    return drawn, differs


@compiled
def through_set(
    state: Graded, arm: int, drawn: Floats, differs: bool, ahead: float, level: float
) -> tuple[float, float]:
    """Mean and variance of an arm's mean through its set, given drawn effects.

    AHEAD: as if all rewards were in; `level` is what the indices of the state are counted from.
    """
    place, sums, parts, own = state.chosen[arm], state.sums[arm], state.parts[arm], state.own
    mean, variance = at_arm(drawn[0, place], own.codes[arm], own.starts), state.deviations[0, place]
    n, index = sums[COUNTED], 0.0
    if n > 0:
        index = sums[SUM] / n
        scatter = max(sums[SQUARES] - n * index * index, 0.0)
        precision = n * (n + parts[PRIOR_ROWS]) / (scatter + parts[PRIOR_ROWS] * parts[WITHIN])
        total = precision + 1 / variance
        mean, variance = (precision * (level + index) + mean / variance) / total, 1 / total
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
        if ahead == AHEAD and n > known:
            noise = parts[SPREAD] / n
            left = spread / (spread + noise) * noise
        spread = left
        mean += change
        variance += spread
    return mean, variance


@compiled
def draw_arm(
    state: Graded,
    arm: int,
    drawn: Floats,
    differs: Bools,
    far: float,
    ahead: float,
    error: float,
    less: float,
    rng: np.random.Generator,
) -> float:
    """An arm's chance, given drawn effects; through a set it stays within what the arm's own rows allow.

    `error` is what E[Y | S] was drawn to be wrong by over the arm's rows, `less` its variance; 0: not drawn apart.
    """
    place = state.chosen[arm]
    if place == 0:
        return draw_chance(state.own, drawn[0, 0], arm, rng)
    mean, variance = through_set(state, arm, drawn, differs[place], ahead, 0.0)
    if len(state.shifts):
        mean += state.shifts[arm]
    low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
    left = math.sqrt(max(variance - less, 0.0))
    return min(max(mean + error + far * left * rng.standard_normal(), low), high)


@compiled
def played_chances(state: Graded, allowed: Bools, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance to play by; NaN for the others."""
    drawn, differs = draw_sets(state, FAR, AHEAD, rng)
    chances = np.full(len(state.chosen), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            chances[arm] = draw_arm(state, arm, drawn, differs, FAR, AHEAD, 0.0, 0.0, rng)
    return chances


@compiled
def index_errors(state: Graded) -> Floats:
    """The standard deviation of E[Y | S = s] in every cell of the sets in use, as `index_parts` has its variance."""
    tables, errors = state.tables, np.zeros(len(state.indices))
    for place in range(1, len(state.used)):
        if state.used[place]:
            cells, first = tables.cells[place], state.starts[place]
            rows = np.full(cells, CELL_ROWS)
            for arm in range(len(state.chosen)):
                for cell in range(cells):
                    at = tables.starts[place] + (arm * cells + cell) * 2
                    rows[cell] += tables.counts[at] + tables.counts[at + 1]
            for cell in range(cells):
                chance = state.indices[first + cell]
                errors[first + cell] = math.sqrt(chance * (1 - chance) / (rows[cell] + 1))
    return errors


@compiled
def _mean_error(state: Graded, arm: int, errors: Floats) -> float:
    """The mean over an arm's rows, with pending ones, of what E[Y | S] was drawn to be wrong by."""
    tables, place = state.tables, state.chosen[arm]
    cells, start, first = tables.cells[place], tables.starts[place], state.starts[place]
    found, total = 0.0, 0.0
    for cell in range(cells):
        at = start + (arm * cells + cell) * 2
        rows = float(tables.counts[at] + tables.counts[at + 1])
        if len(tables.pending):
            rows += tables.pending[at // 2]
        found += rows * errors[first + cell]
        total += rows
    return found / total if total > 0 else 0.0


@compiled
def _other_word(state: Graded, arm: int, told: int) -> float:
    """How far the word of a set on an arm's mean is from the average over sets; 0 if own rows contradict it."""
    mean = state.moments[told, arm, 0]
    low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
    if told == 0 or mean < low or mean > high:
        return 0.0
    shift = state.shifts[arm] if len(state.shifts) else 0.0
    return float(mean - state.moments[state.chosen[arm], arm, 0] - shift)


@compiled
def stated_chances(
    state: Graded, allowed: Bools, moments: Floats, errors: Floats, weights: Floats, rng: np.random.Generator
) -> Floats:
    """One draw of every allowed arm's chance, from what is `stated` of it; NaN for the others.

    E[Y | S] is drawn once for all arms that go by S: what it is wrong by is no difference between them. And each draw
    takes the word of one set, drawn by weight, for all arms.
    """
    drawn, differs = draw_sets(state, COMPARED, NOW, rng)
    told, wrong = draw_set(weights, rng), np.zeros(len(errors))
    for cell in range(len(errors)):
        if errors[cell] > 0:
            wrong[cell] = errors[cell] * rng.standard_normal()
    chances = np.full(len(state.chosen), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            place = state.chosen[arm]
            error, less = (_mean_error(state, arm, wrong), state.parts[arm, SHARED]) if place else (0.0, 0.0)
            chances[arm] = draw_arm(state, arm, drawn, differs, COMPARED, NOW, error, less, rng)
            if place:
                chances[arm] += _other_word(state, arm, told)
            else:
                more = APART * max(moments[arm, 1] - state.moments[place, arm, 1], 0.0)
                chances[arm] += math.sqrt(more) * rng.standard_normal()
    return chances
