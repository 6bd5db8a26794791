"""Playing and stating by degrees: draws from a graded state, counting of rows, and what is said of an arm."""

import math

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled
from ..data import cell_of, count_pending, count_row, count_rows
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
ALONE, THROUGH, UNEVEN, DISAGREEMENT, MOST = 1.2, 1.0, 0.5, 0.5, 1.2
"""What is stated is wider than what is played by: factors of the variance by own rows and through a set, what uneven
play adds to them, the share of a disagreement beyond chance, and the most relative to own rows alone."""
APART = 0.2
"""The share of the variance added for stating that is drawn for each arm apart when arms are compared."""
WIDEST = 0.95
"""The variance of a chance is at most so much of that of a coin that shows 0 or 1."""
LIFT, SLOPE = 0.94, 0.74
"""From the odds that all differences are 0 to those that they are small."""


@compiled
def unevenness(rows: Floats) -> float:
    """0 where all arms have as many rows, up to 1 - 1 / arms where one has them all."""
    total, squares = 0.0, 0.0
    for count in rows:
        total += count
        squares += count * count
    return 1 - total * total / (len(rows) * squares) if squares > 0 else 0.0


@compiled
def stated(state: Graded) -> Floats:
    """(arms, 2): mean and variance of every arm's chance to be stated: at the last refresh, through its set, and wider.

    Choosing the set with the lowest variance is optimistic, and arms that were played less because they looked bad
    look worse than they are. So the variance grows with the unevenness of play and with what own rows disagree by
    beyond chance. Measured, not derived. It is not much wider than own rows alone make the expected squared error.
    """
    arms, own = len(state.chosen), state.own.own
    uneven, found = UNEVEN * unevenness(own[:, 0]), np.empty((arms, 2))
    for arm in range(arms):
        rows, rewards, place = own[arm, 0], own[arm, 1], state.chosen[arm]
        mean, variance = state.moments[place, arm]
        other, wide = state.moments[0, arm]
        beyond = max((mean - other) ** 2 - max(wide - variance, 0.0), 0.0)
        variance = ((THROUGH if place else ALONE) + uneven) * (variance + DISAGREEMENT * beyond)
        alone, spread = beta_moments(rewards + 0.5, rows - rewards + 0.5)
        variance = min(variance, MOST * (spread + (mean - alone) ** 2))
        mean = min(max(mean, EDGE * state.own.numbers[RATE] / (1 + rows)), 1 - 1e-9)
        found[arm, 0], found[arm, 1] = mean, min(variance, WIDEST * mean * (1 - mean))
    return found


def nearly_separates(separates: Floats) -> Floats:
    """P(the differences are small) from P(they are 0): under 5 % of the mean reward, root mean square over arms.

    "0" is weighed against 0.06 log-odds and more, so what lies between is counted with it; and sets are weighed with
    few rows. The odds are mended by a factor and a power that were measured.
    """
    kept = np.clip(separates, 1e-12, 1 - 1e-12)
    chances: Floats = 1 / (1 + math.exp(-LIFT) * ((1 - kept) / kept) ** SLOPE)
    return chances


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
def stated_chances(state: Graded, allowed: Bools, moments: Floats, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance, from what is `stated` of it; NaN for the others."""
    drawn, differs = _draw_sets(state, 1.0, False, rng)
    chances = np.full(len(state.chosen), np.nan)
    for arm in range(len(chances)):
        if allowed[arm]:
            more = APART * max(moments[arm, 1] - state.moments[state.chosen[arm], arm, 1], 0.0)
            chances[arm] = draw_arm(state, arm, drawn, differs, 1.0, False, rng)
            chances[arm] += math.sqrt(more) * rng.standard_normal()
    return chances


@compiled
def learn_graded(state: Graded, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    _count_index(state, arm, codes, 0.0, reward)
    count_row(state.tables, arm, codes, reward)
    learn_own(state.own, arm, reward)


@compiled
def learn_graded_rows(state: Graded, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count many rows, with the same result as one by one."""
    for row in range(len(arms)):
        _count_index(state, arms[row], codes[row], 0.0, rewards[row])
        learn_own(state.own, arms[row], rewards[row])
    count_rows(state.tables, arms, codes, rewards)


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
