"""Anytime-valid evidence that one arm is ahead of another: valid at every look, however the rows were chosen.

For a claimed mean p of an arm, M(p) is the likelihood of its rewards averaged over means around p, divided by their
likelihood at p. If p is the true mean, M(p) is a nonnegative martingale that starts at 1, so it ever reaches 1 / alpha
with probability at most alpha (Ville's inequality). For rewards of 0 or 1 the average is the beta-binomial mixture of
Howard, Ramdas, McAuliffe and Sekhon (2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences"): means
are Beta with mean p, and their spread is that of `SPREAD` in log-odds. For other rewards it is the normal mixture with
the estimated variance, which is asymptotic (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024).

A product of such martingales, one per arm, is a martingale again when each next arm is chosen by what was seen before
(Kaufmann and Koolen 2021, "Mixture martingales revisited"). So the lowest M(p) M(q) over all means with p <= q - margin
is evidence against "the first arm is behind the second by the margin or more": if that is true, it ever reaches
1 / alpha with probability at most alpha. This bounds all margins at once, so the margin may depend on the rows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from ..compiled import Bools, Floats

SPREAD = 0.15
"""How far means around p reach, in log-odds: evidence comes most quickly for lifts of 20 to 40 %."""
NUMBERS_SPREAD = 0.05
"""The same where the reward is a number, in its standard deviations."""
FEWEST_ROWS = 30
"""An arm with fewer rows is no evidence where the reward is a number: its variance is not known well enough."""
GRID, ZOOMS = 33, 3


class Sums(NamedTuple):
    """What arms have earned: number of rows, sum of rewards, sum of squared rewards; each (arms,).

    Args:
        rows: Number of rows of each arm.
        total: Sum of their rewards.
        squares: Sum of their squared rewards.
    """

    rows: Floats
    total: Floats
    squares: Floats

    @property
    def means(self) -> Floats:
        """Mean rewards; NaN without rows."""
        return np.where(self.rows > 0, self.total / np.maximum(self.rows, 1), np.nan)

    def of(self, arm: int) -> "Sums":
        """One arm, as arrays of one."""
        return Sums(*(each[arm : arm + 1] for each in self))


def sums_of(arms: NDArray[np.int64], rewards: NDArray[np.float64] | NDArray[np.int64], count: int) -> Sums:
    """Sums of every arm from rows.

    >>> sums_of(np.array([0, 1, 1]), np.array([1, 0, 1]), 3).total.tolist()
    [1.0, 1.0, 0.0]
    """
    earned = np.asarray(rewards, dtype=np.float64)
    columns = (np.ones(len(arms)), earned, earned * earned)
    return Sums(*(np.bincount(arms, column, minlength=count).astype(np.float64) for column in columns))


def chance_evidence(rows: Floats, ones: Floats, claimed: Floats) -> Floats:
    """log M(p) of an arm with rewards of 0 or 1; the claimed mean p is strictly between 0 and 1.

    >>> float(chance_evidence(np.array(0.0), np.array(0.0), np.array(0.3)))
    0.0
    """
    strength = 1 / (SPREAD**2 * claimed * (1 - claimed))
    a, b, zeros = strength * claimed, strength * (1 - claimed), rows - ones
    averaged = betaln(a + ones, b + zeros) - betaln(a, b)
    found: Floats = averaged - xlogy(ones, claimed) - xlog1py(zeros, -claimed)
    return found


def evidence_ahead(first: Sums, second: Sums, margin: float | Floats = 0.0, *, binary: bool = True) -> Floats:
    """Nats of evidence against "the mean of `first` is below that of `second` by the margin or more"; at least 0.

    Args:
        first: Arms; broadcast against `second`.
        second: Arms that they are compared with.
        margin: How far behind is close enough, a number or one per pair; 0 asks whether `first` is strictly ahead, and
            a negative one whether it is ahead by more than that.
        binary: Whether rewards are 0 or 1.

    >>> half, tenth = (Sums(np.array([1000.0]), *(np.array([ones]),) * 2) for ones in (500.0, 100.0))
    >>> bool(evidence_ahead(half, tenth)[0] > 50), float(evidence_ahead(tenth, half)[0])
    (True, 0.0)
    """
    first, second = (Sums(*parts) for parts in zip(*map(np.broadcast_arrays, first, second), strict=True))
    by = np.broadcast_to(np.asarray(margin, dtype=np.float64), first.rows.shape)
    known = (first.rows > 0) & (second.rows > 0) & (first.means > second.means - by)
    found = np.zeros(known.shape)
    if known.any():
        one, other = (Sums(*(each[known] for each in sums)) for sums in (first, second))
        found[known] = _chances(one, other, by[known]) if binary else _numbers(one, other, by[known])
    return np.maximum(found, 0.0)


def _chances(first: Sums, second: Sums, margin: Floats) -> Floats:
    """The lowest evidence on the edge p = q - margin; both terms grow away from the arms' own means."""
    edge, rows = 1e-9, np.arange(len(first.rows))
    least, most = edge + np.maximum(-margin, 0.0), 1 - np.maximum(margin, 0.0)
    low = np.clip(second.means - margin, least, most - 2 * edge)
    high = np.clip(first.means, low, most - edge)
    best = np.full(len(low), np.inf)
    for _ in range(ZOOMS):
        claimed = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, GRID)
        total = chance_evidence(first.rows[:, None], first.total[:, None], np.maximum(claimed, edge))
        total = total + chance_evidence(
            second.rows[:, None], second.total[:, None], np.clip(claimed + margin[:, None], edge, 1 - edge)
        )
        place = np.argmin(total, axis=1)
        best = np.minimum(best, total[rows, place])
        low, high = claimed[rows, np.maximum(place - 1, 0)], claimed[rows, np.minimum(place + 1, GRID - 1)]
    return best


def _numbers(first: Sums, second: Sums, margin: Floats) -> Floats:
    """The same for numbers: quadratic, so the lowest point has a closed form."""
    weights, paid = [], np.zeros(len(first.rows))
    for sums in (first, second):
        seen = sums.rows * NUMBERS_SPREAD**2
        variance = (sums.squares - sums.rows * sums.means**2) / np.maximum(sums.rows - 1, 1)
        sure = (sums.rows >= FEWEST_ROWS) & (variance > 0)
        weights.append(np.where(sure, sums.rows * seen / (1 + seen) / np.where(sure, variance, 1.0), 0.0))
        paid += 0.5 * np.log1p(seen)
    apart = first.means - second.means + margin
    both = weights[0] + weights[1]
    joint = np.where(both > 0, weights[0] * weights[1] / np.where(both > 0, both, 1.0), 0.0)
    return 0.5 * joint * apart**2 - paid


def needed(arms: int, confidence: float) -> float:
    """Nats at which a claim about one arm against all others is made: the best arm is in arms - 1 pairs.

    >>> round(needed(2, 0.95), 3)
    2.996
    """
    return math.log(max(arms - 1, 1) / (1 - confidence))


class Leading(NamedTuple):
    """How far own rows prove that one arm leads.

    Args:
        arm: The arm that most speaks for.
        evidence: Nats that it is the best, or within the margin if that is proven first.
        is_best: Whether it is proven to be the best.
        behind: Arms that are proven to be behind another one.
    """

    arm: int
    evidence: float
    is_best: bool
    behind: tuple[int, ...]


def leading(
    sums: Sums,
    allowed: Bools,
    recommended: int,
    margin: float,
    enough: float,
    *,
    binary: bool = True,
    cost: Floats | None = None,
) -> Leading:
    """The arm that own rows speak for most, and the arms that they exclude.

    Every claim is about a pair of arms, and a wrong one is about a pair with the best arm: with `enough` from `needed`,
    the chance that any claim is ever wrong is at most what `needed` was asked for.

    Args:
        sums: What the arms have earned.
        allowed: (arms,): arms in play.
        recommended: The arm that the policy recommends; it is among those that are looked at.
        margin: How far from the best is close enough.
        enough: Nats that a claim needs.
        binary: Whether rewards are 0 or 1.
        cost: (arms,): what each arm costs, in units of the reward; arms are then compared by what is left.

    >>> found = leading(Sums(*np.array([[900.0, 900, 900], [90, 80, 300], [90, 80, 300]])), np.ones(3, bool), 2, 0, 3.7)
    >>> found.arm, found.is_best, found.behind
    (2, True, (0, 1))
    """
    arms = np.flatnonzero(allowed)
    if len(arms) == 1:
        return Leading(int(arms[0]), math.inf, True, ())
    others, taken = Sums(*(each[arms] for each in sums)), np.zeros(len(allowed)) if cost is None else cost
    best, behind = Leading(recommended, 0.0, False, ()), set[int]()
    for arm in dict.fromkeys([recommended, *(int(arms[place]) for place in _ahead(others, taken[arms]))]):
        rest, cheaper = arms != arm, taken[arms] - taken[arm]
        ahead = evidence_ahead(sums.of(arm), others, cheaper, binary=binary)
        behind.update(arms[rest & (ahead >= enough)].tolist())
        if ahead[rest].min() >= enough:
            return Leading(arm, float(ahead[rest].min()), True, tuple(sorted(behind)))
        close = float(evidence_ahead(sums.of(arm), others, margin + cheaper, binary=binary)[rest].min())
        if close > best.evidence:
            best = Leading(arm, close, False, ())
    return best._replace(behind=tuple(sorted(behind)))


def _ahead(arms: Sums, cost: Floats) -> tuple[int, int]:
    """The arm with the highest mean less cost, and the one that is still high two standard errors below it."""
    rows = np.maximum(arms.rows, 1)
    means = np.where(arms.rows > 0, arms.means, -np.inf) - cost
    return int(np.argmax(means)), int(np.argmax(means - 2 * np.sqrt((arms.squares / rows + 1e-12) / rows)))
