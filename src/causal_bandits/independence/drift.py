"""Does what held still hold? A sequential test of exchangeability that may be looked at after every row.

Under the null the scores of a stream (rewards in a cell of S, or residuals of a regression on S) are exchangeable, so
that the rank of each among those before it, with ties broken at random, is uniform and independent of all earlier ranks
(conformal p-values, Vovk 2003), whatever the distribution of the scores. Bets against uniformity then multiply a
capital whose expectation stays one. A change may come at any time, so one unit is staked before every row
(Shiryaev and Roberts), and the total forgets over `MEMORY` rows:

    R_t = (1 - 1 / MEMORY) (R_{t-1} + 1) f_t(p_t).

Its expectation never exceeds MEMORY, and it grows by one per row at most; so over any MEMORY rows the chance that it
reaches the limit 2 MEMORY K / rate is at most rate / K, whatever the data (Doob): K sets are watched, and the chance
that one of them cries wolf is at most `rate`. Nothing here is asymptotic.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled

MEMORY = 5000
RATE = 0.01
BURN_IN = 40
"""Scores at the start of a stream that are used to place the bets and for nothing else."""
SHIFTS = (0.12, 0.22, -0.12, -0.22)
"""Common shifts of probability that are bet on."""
WEIGHTS = (0.17, 0.17, 0.17, 0.17, 0.32)
"""How a unit of capital is spread over those bets and, last, over the one that learns."""
LEARNING = 0.02
"""How fast the last bet learns: a row weighs so much."""


class Drift(NamedTuple):
    """What a set shows: `evidence` is the natural logarithm of the highest capital over its limit (above 0: alarm)."""

    evidence: float
    row: int
    """Which row (counted from 1) showed it: the first above the limit, or the one that came nearest."""

    @property
    def alarm(self) -> bool:
        """Whether the set no longer holds."""
        return self.evidence > 0


@compiled
def binary_ranks(streams: Ints, scores: Ints, noise: Floats, count: int) -> tuple[Floats, Floats]:
    """Conformal p-values of scores of 0 and 1 within their streams, and where to split them; NaN during the burn-in."""
    p, split = np.full(len(streams), np.nan), np.full(len(streams), np.nan)
    early = np.zeros((count, 2))
    seen = np.zeros((count, 2))
    for row in range(len(streams)):
        stream, score = streams[row], scores[row]
        if early[stream, 0] + early[stream, 1] < BURN_IN:
            early[stream, score] += 1
            continue
        split[row] = (early[stream, 1] + 0.5) / (BURN_IN + 1.0)
        seen[stream, score] += 1
        above = 0.0 if score == 1 else seen[stream, 1]
        p[row] = (above + noise[row] * seen[stream, score]) / (seen[stream, 0] + seen[stream, 1])
    return p, split


@compiled
def _at_most(tree: Ints, place: int) -> int:
    """How many scores up to a place were counted in a binary indexed tree."""
    found = 0
    while place > 0:
        found += tree[place]
        place -= place & -place
    return found


@compiled
def real_ranks(scores: Floats, noise: Floats) -> Floats:
    """Conformal p-values of real scores in one stream: small where a score is high."""
    p = np.empty(len(scores))
    values = np.unique(scores)
    places = np.searchsorted(values, scores) + 1
    tree = np.zeros(len(values) + 1, dtype=np.int64)
    for row in range(len(scores)):
        below, upto = _at_most(tree, places[row] - 1), _at_most(tree, places[row])
        p[row] = (row - upto + noise[row] * (upto - below + 1.0)) / (row + 1.0)
        place = places[row]
        while place < len(tree):
            tree[place] += 1
            place += place & -place
    return p


@compiled
def _bet(p: float, split: float, shift: float) -> float:
    """The density of p when the probability of what lies below the split has moved by `shift`; never all is staked."""
    moved = min(max(split + shift, split / 2), 1.0 - (1.0 - split) / 2)
    return moved / split if p < split else (1.0 - moved) / (1.0 - split)


@compiled
def capitals(p: Floats, split: Floats, unit: Ints, units: int, shifts: Floats, weights: Floats) -> Floats:
    """The capital after each row: bets that all units move by one of some `shifts`, and one that each moves on its own.

    The last bets on how each unit's p-values lay lately; it may, since they tell nothing of the next one.
    """
    total = np.zeros(len(weights))
    lately = np.zeros(units)
    found = np.zeros(len(p))
    keep = 1.0 - 1.0 / MEMORY
    for row in range(len(p)):
        if not np.isnan(p[row]):
            for kind in range(len(weights)):
                shift = shifts[kind] if kind < len(shifts) else lately[unit[row]]
                total[kind] = keep * (total[kind] + weights[kind]) * _bet(p[row], split[row], shift)
            side = (1.0 if p[row] < split[row] else 0.0) - split[row]
            lately[unit[row]] += LEARNING * (side - lately[unit[row]])
        found[row] = total.sum()
    return found


def judge(p: Floats, split: Floats, unit: Ints, units: int, *, watched: int) -> Drift:
    """The verdict on a set when `watched` sets are looked at, over the last `MEMORY` rows."""
    if not len(p):
        return Drift(-math.inf, 0)
    found = capitals(p, split, unit, units, np.array(SHIFTS), np.array(WEIGHTS))
    limit = 2 * MEMORY * watched / RATE
    with np.errstate(divide="ignore"):
        recent = np.log(found[-MEMORY:]) - math.log(limit)
    above = np.flatnonzero(recent > 0)
    at = int(above[0]) if len(above) else int(recent.argmax())
    return Drift(float(recent.max()), len(p) - len(recent) + at + 1)


@compiled
def recursive_residuals(design: Floats, rewards: Floats, groups: Ints, count: int) -> Floats:
    """Each reward minus its forecast from the rows of its group before it, over the standard deviation of that in units
    of the noise (Brown, Durbin and Evans 1975): independent N(0, sigma^2) under the null. NaN until it is determined.
    """
    width = design.shape[1] + 1
    inverse = np.zeros((count, width, width))
    slopes = np.zeros((count, width))
    seen = np.zeros(count)
    for group in range(count):
        for place in range(width):
            inverse[group, place, place] = 1e8  # so weak a prior that it is none after `width` rows
    found = np.full(len(rewards), np.nan)
    x = np.ones(width)
    for row in range(len(rewards)):
        group = groups[row]
        x[1:] = design[row]
        gain = inverse[group] @ x
        scale = 1.0 + x @ gain
        error = rewards[row] - x @ slopes[group]
        seen[group] += 1
        if seen[group] > 2 * width + 3:
            found[row] = error / math.sqrt(scale)
        slopes[group] += gain * (error / scale)
        inverse[group] -= np.outer(gain, gain) / scale
    return found


def drift_of_counts(streams: Ints, rewards: Ints, *, watched: int, seed: int = 0) -> Drift:
    """Drift of P(Y | S): `streams` numbers the cell of S (and the group of arms that shares) of each row."""
    if not len(streams):
        return Drift(-math.inf, 0)
    if not np.all((rewards == 0) | (rewards == 1)):
        raise ValueError("rewards must be 0 or 1; use drift_of_values for others")
    names, number = np.unique(streams, return_inverse=True)
    unit = number.astype(np.int64)
    noise = _noise(seed, len(streams))
    p, split = binary_ranks(unit, rewards.astype(np.int64), noise, len(names))
    return judge(p, split, unit, len(names), watched=watched)


def drift_of_values(streams: Ints, rewards: Floats, *, watched: int, seed: int = 0) -> Drift:
    """The same for rewards of any kind: each is ranked among the earlier ones of its stream."""
    if not len(streams):
        return Drift(-math.inf, 0)
    names, number = np.unique(streams, return_inverse=True)
    unit = number.astype(np.int64)
    noise = _noise(seed, len(streams))
    values = rewards.astype(np.float64)
    p = np.empty(len(streams))
    for rows in np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1]):
        p[rows] = real_ranks(values[rows], noise[rows])
    return judge(p, np.full(len(p), 0.5), unit, len(names), watched=watched)


def drift_of_regression(design: Floats, rewards: Floats, groups: Ints, *, watched: int, seed: int = 0) -> Drift:
    """Drift of E[Y | S] where Y is real: ranks of the recursive residuals of a regression on S in each group."""
    if not len(rewards):
        return Drift(-math.inf, 0)
    names, number = np.unique(groups, return_inverse=True)
    scaled = _standardised(design)
    residuals = recursive_residuals(scaled, rewards - rewards.mean(), number.astype(np.int64), len(names))
    noise = _noise(seed, len(rewards))
    p = np.full(len(rewards), np.nan)
    known = ~np.isnan(residuals)
    p[known] = real_ranks(residuals[known], noise[known])
    split = np.full(len(rewards), 0.5)
    return judge(p, split, np.zeros(len(rewards), dtype=np.int64), 1, watched=watched)


def _standardised(design: Floats) -> Floats:
    """Columns around zero with a spread of one: the weak prior then means the same for all of them."""
    if not design.shape[1]:
        return design
    spread = design.std(axis=0)
    scaled: Floats = (design - design.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _noise(seed: int, count: int) -> Floats:
    """What breaks ties: random numbers that nothing else uses."""
    return np.random.default_rng((0x647269667420, seed)).random(count)
