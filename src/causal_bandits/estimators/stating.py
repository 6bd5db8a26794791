"""What is said of arms and sets by degrees: wider than what is played by, and measured to be so."""

import numpy as np

from ..compiled import Floats, Ints, compiled
from .averaging import said_of_arm, set_weights
from .degrees import Graded
from .main_effects import EDGE, RATE, beta_moments

ALONE, THROUGH, UNEVEN, FEW, MOST = 1.4, 0.75, 0.3, 0.5, 1.3
"""What is stated has other variances than what is played by: factors of that by own rows and through a set, what uneven
play adds to them and few arms to that, of which scales are learnt, and the most relative to own rows alone."""
WIDEST = 0.95
"""The variance of a chance is at most so much of that of a coin that shows 0 or 1, and so between any two values."""
SLOPE, LARGER, SUREST = 0.85, 1.9, 0.93
"""From the odds that all differences are 0 to the chance that they are small: a power of the odds, one of the number of
variables, and the highest chance."""


@compiled
def unevenness(rows: Floats) -> float:
    """0 where all arms have as many rows, up to 1 - 1 / arms where one has them all."""
    total, squares = 0.0, 0.0
    for arm in range(len(rows)):
        total += rows[arm]
        squares += rows[arm] * rows[arm]
    return 1 - total * total / (len(rows) * squares) if squares > 0 else 0.0


@compiled
def stated(state: Graded, wider: float) -> Floats:
    """(arms, 2): mean and variance of every arm's chance to be stated: at the last refresh, averaged over sets.

    Sets that are apart are doubt about each of them, and arms that were played less because they looked bad look worse
    than they are. So the variance grows with how far sets are apart and with the unevenness of play. Measured, not
    derived. It is not much wider than own rows alone make the expected squared error. `wider` is a factor more.
    """
    arms, own = len(state.chosen), state.own.own
    uneven, weights, found = UNEVEN * unevenness(own[:, 0]), set_weights(state), np.empty((arms, 2))
    factor = wider * (1 + FEW / arms)
    for arm in range(arms):
        rows, rewards, place = own[arm, 0], own[arm, 1], state.chosen[arm]
        mean, apart = said_of_arm(state, arm, weights)
        variance = factor * ((THROUGH if place else ALONE) + uneven) * state.moments[place, arm, 1] + apart
        alone, spread = beta_moments(rewards + 0.5, rows - rewards + 0.5)
        variance = min(variance, MOST * (spread + (mean - alone) ** 2))
        mean = min(max(mean, EDGE * state.own.numbers[RATE] / (1 + rows)), 1 - 1e-9)
        found[arm, 0], found[arm, 1] = mean, min(variance, WIDEST * mean * (1 - mean))
    return found


def nearly_separates(separates: Floats, sizes: Ints) -> Floats:
    """P(the differences are small) from P(they are 0): under 5 % of the mean reward, root mean square over arms.

    "0" is weighed against 0.06 log-odds and more, so what lies between is counted with it, and not all of that is
    small, however many rows there are. And the more variables a set has, the more of what the levers do goes through
    it: `sizes` are their numbers. The three constants were measured.
    """
    kept = np.clip(separates, 1e-12, 1 - 1e-12)
    odds = (kept / (1 - kept)) ** SLOPE * np.maximum(sizes, 1.0) ** LARGER
    chances: Floats = SUREST * odds / (1 + odds)
    return chances
