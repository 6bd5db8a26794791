"""Evidence about means that holds at every look: betting e-processes and confidence sequences.

Values lie in [0, 1]. For a claimed mean m and a number u > -1, the wealth of a gambler who bets on each value is

    W(m; u) = prod_i (1 + u x_i) / (1 + u m).

If each value has mean m given the past, every factor has mean 1, so W is a nonnegative martingale that starts at 1,
and by Ville's inequality (1939) it ever reaches 1 / alpha with probability at most alpha. No distribution is assumed,
nothing is asymptotic, and it does not matter how often you look, or what decides when the next value of an arm comes.
These are the bets of Waudby-Smith and Ramdas (2024, "Estimating means of bounded random variables by betting", JRSS B)
with the stake u / (1 + u m); for values of 0 or 1, W is the likelihood ratio of a mean whose odds are 1 + u times
those of m. A mixture of such martingales over values of u that are fixed in advance is a martingale, too.

- One mean. With u > 0 the wealth falls as m grows, so the mixture at a limit is evidence against every mean below it:
  `evidence_above`. With u < 0 it is evidence against every mean above it: `evidence_below`. The means that neither
  excludes form a confidence sequence: `interval`.
- Two means. A product of the wealths of two arms, each at its true mean, is a martingale however arms are chosen, for
  each pair of bets u > 0 on the first arm and v < 0 on the second, and so is the mixture over pairs (compare Turner, Ly
  and Gruenwald 2024, "Generic E-variables for exact sequential k-sample tests"). `evidence_ahead` is the lowest mixture
  over all pairs of means that contradict the claim. If the claim is false, the true pair is among them, so the evidence
  reaches 1 / alpha with probability at most alpha, for all claims about this ordered pair together: any margin, any
  ratio. The mixture is convex along the edge of the contradicting pairs, so its lowest point is found exactly.

All that is kept of an arm is its number of values, and for each bet the sum of log(1 + u x).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...libraries import special
from ..compiled import Floats

RATE_SHIFTS = np.array([0.0175, 0.035, 0.07, 0.095, 0.13, 0.178, 0.242, 0.33, 0.45, 1.0, 3.0])
"""How far apart the odds of two means may be, as logarithms, for values of 0 or 1."""
RATE_WEIGHTS = np.array([0.003, 0.007, 0.171, 0.115, 0.115, 0.115, 0.117, 0.129, 0.208, 0.015, 0.005])
"""Their weights: even from 0.07 to 0.45 with more at both ends, so that lifts of 10% to 40% need about equally many
rows, relative to a test of fixed size. A study that takes longer than most looks as if its lift were smaller than it
is, so these shifts begin below 10% and end below 40%."""
NUMBER_SHIFTS = np.array([0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])
NUMBER_WEIGHTS = np.array([0.03, 0.05, 0.1, 0.17, 0.2, 0.17, 0.13, 0.08, 0.05, 0.02])
"""The same for other values, whose spread is not known in advance."""
SPLITS = np.array([1 / 32, 1 / 8, 0.46, 0.54, 7 / 8, 31 / 32])
"""Which part of a shift is bet on the second arm: the share of the rows that the first arm gets, roughly."""
SPLIT_WEIGHTS = np.array([0.01, 0.02, 0.47, 0.47, 0.02, 0.01])
HALVINGS = 30
CAP_ROWS, CAP_QUANTILE = 1000, 0.999
"""A cap that is not declared is this quantile of the first values, this many; they are then no evidence."""


class Bets(NamedTuple):
    """A mixture of bets: log(1 + u) of each, or of each pair, and weights."""

    alone: Floats
    weights: Floats
    first: Floats
    second: Floats
    """(pairs,): the shifts of both arms, the second one downwards."""
    pair_weights: Floats


def _bets(shifts: Floats, weights: Floats) -> Bets:
    parts = shifts[:, None] * SPLITS
    return Bets(shifts, weights, parts[:, ::-1].ravel(), parts.ravel(), np.outer(weights, SPLIT_WEIGHTS).ravel())


RATES, NUMBERS = _bets(RATE_SHIFTS, RATE_WEIGHTS), _bets(NUMBER_SHIFTS, NUMBER_WEIGHTS)
ODDS = np.unique(np.concatenate([NUMBERS.alone, NUMBERS.second]))
UP, DOWN = np.expm1(ODDS), np.expm1(-ODDS)
"""Every shift, u > 0 and u < 0 that is bet on values other than 0 and 1."""


def _bets_on(binary: bool, *sums: "Sums") -> Bets:
    """The bets of a comparison; sums of other values than 0 and 1 are kept for the bets on numbers alone."""
    return RATES if binary and not any(each.up.shape[-1] for each in sums) else NUMBERS


class Sums(NamedTuple):
    """What is kept of the values of arms; any shape, the same for all fields.

    Args:
        rows: Number of values.
        total: Their sum.
        squares: Sum of their squares, for choosing what to look at; no claim depends on it.
        up: (..., bets): sum of log(1 + u x) for each u of `UP`; (..., 0) where values are 0 or 1, and it follows from
            their sum.
        down: (..., bets): the same for each u of `DOWN`.
    """

    rows: Floats
    total: Floats
    squares: Floats
    up: Floats
    down: Floats

    @property
    def means(self) -> Floats:
        """Mean values; NaN without any."""
        return np.where(self.rows > 0, self.total / np.maximum(self.rows, 1), np.nan)

    def of(self, which: Any) -> "Sums":
        """The arms that an index selects."""
        return Sums(*(each[which] for each in self))

    def logs(self, shifts: Floats, *, up: bool) -> Floats:
        """(..., bets): sum of log(1 + u x) for bets with log(1 + u) = +/- these shifts."""
        kept = self.up if up else self.down
        if not kept.shape[-1]:
            return self.total[..., None] * (shifts if up else -shifts)
        return kept[..., np.searchsorted(ODDS, shifts)]

    def times(self, factors: Floats) -> "Sums":
        """(factors, ...): the sums after this many times as many values like these."""
        return Sums(*(np.multiply.outer(factors, each) for each in self))


def running_sums(
    values: NDArray[np.float64] | NDArray[np.int64], arms: NDArray[np.int64], count: int, ends: ArrayLike
) -> Sums:
    """Sums of every arm after each number of rows in `ends`: fields of shape (ends, arms) and (ends, arms, bets).

    Args:
        values: Values from 0 to 1, in their order.
        arms: Number of the arm of each value.
        count: Number of arms.
        ends: Numbers of rows, ascending.

    >>> sums = running_sums(np.array([0, 1, 1]), np.array([0, 1, 1]), 2, [2, 3])
    >>> sums.rows.tolist(), sums.total.tolist()
    ([[1.0, 1.0], [1.0, 2.0]], [[0.0, 1.0], [0.0, 2.0]])
    """
    ends = np.asarray(ends, dtype=np.int64)
    last = int(ends[-1]) if len(ends) else 0
    arms, x = arms[:last], np.asarray(values[:last], dtype=np.float64)
    cell = np.searchsorted(ends, np.arange(last), side="right") * count + arms

    def summed(column: Floats | None, rows: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        added = np.bincount(cell[rows], column, minlength=len(ends) * count)
        return np.cumsum(added.reshape(len(ends), count), axis=0, dtype=np.float64)

    rows, total = summed(None), summed(x)
    if _is_binary(x):
        nothing = np.empty((*rows.shape, 0))
        return Sums(rows, total, total, nothing, nothing)
    some = x != 0
    bets = [np.stack([summed(np.log1p(u * x[some]), some) for u in each], axis=-1) for each in (UP, DOWN)]
    return Sums(rows, total, summed(x * x), *bets)


def sums_of(values: NDArray[np.float64] | NDArray[np.int64], arms: NDArray[np.int64], count: int) -> Sums:
    """Sums of every arm after all rows: fields of shape (arms,) and (arms, bets)."""
    return running_sums(values, arms, count, [len(values)]).of(0)


def _is_binary(x: Floats) -> bool:
    return bool(np.all((x == 0) | (x == 1)))


def learned_ends(values: Floats, low: float | None = None) -> tuple[float, float] | None:
    """Ends for values without natural ones: quantiles of the first `CAP_ROWS`, which must then not count as evidence.

    Later values are clipped to these ends, and claims are about the mean of the clipped values. The first values choose
    the ends, so they may not be bet on; given them, the ends are fixed and all later values are valid evidence.

    Args:
        values: All values in their order.
        low: The natural lower end, such as 0; a quantile by default.

    Returns:
        None with fewer values, or where the ends would coincide.

    >>> learned_ends(np.append(np.arange(1000.0), 1e9), 0.0)
    (0.0, 998.001)
    >>> learned_ends(np.arange(999.0)) is None
    True
    """
    if len(values) < CAP_ROWS:
        return None
    first = np.asarray(values[:CAP_ROWS], dtype=np.float64)
    below = float(np.quantile(first, 1 - CAP_QUANTILE)) if low is None else low
    above = float(np.quantile(first, CAP_QUANTILE))
    return (below, above) if above > below else None


def needed(share: float) -> float:
    """Nats of evidence at which a claim is made that may be wrong with this probability.

    >>> round(needed(0.05), 3)
    2.996
    """
    return -math.log(share)


# One mean


def evidence_above(sums: Sums, limit: ArrayLike, *, binary: bool = False) -> Floats:
    """Nats of evidence against "the mean is at most the limit"; may be negative.

    Args:
        sums: What is kept of the values; limits broadcast against its shape.
        limit: From 0 to 1.
        binary: Whether values are 0 or 1. It selects the bets; the evidence is valid either way.

    >>> sums = sums_of(np.array([1] * 30 + [0] * 70), np.zeros(100, dtype=np.int64), 1)
    >>> bool(evidence_above(sums, 0.1)[0] > 10), bool(evidence_above(sums, 0.3)[0] < 0)
    (True, True)
    """
    return _alone(sums, limit, up=True, binary=binary)


def evidence_below(sums: Sums, limit: ArrayLike, *, binary: bool = False) -> Floats:
    """Nats of evidence against "the mean is at least the limit"; may be negative."""
    return _alone(sums, limit, up=False, binary=binary)


def _alone(sums: Sums, limit: ArrayLike, *, up: bool, binary: bool) -> Floats:
    bets = _bets_on(binary, sums)
    u = np.expm1(bets.alone if up else -bets.alone)
    paid = sums.rows[..., None] * np.log1p(u * np.asarray(limit, dtype=np.float64)[..., None])
    found: Floats = special.logsumexp(sums.logs(bets.alone, up=up) - paid, axis=-1, b=bets.weights)
    return found


def interval(sums: Sums, alpha: float, *, binary: bool = False) -> tuple[Floats, Floats]:
    """Ends of a confidence sequence of each mean: all looks hold together with probability 1 - alpha.

    >>> low, high = interval(sums_of(np.array([1] * 30 + [0] * 70), np.zeros(100, dtype=np.int64), 1), 0.05)
    >>> bool(0.1 < low[0] < 0.25), bool(0.35 < high[0] < 0.5)
    (True, True)
    """
    enough, ends = needed(alpha / 2), []
    for evidence, rising in ((evidence_above, False), (evidence_below, True)):
        low, high = np.zeros(sums.rows.shape), np.ones(sums.rows.shape)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            beyond = evidence(sums, middle, binary=binary) >= enough
            up = ~beyond if rising else beyond
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        ends.append(high if rising else low)
    return ends[0], ends[1]


# Two means


def evidence_ahead(
    first: Sums, second: Sums, slope: ArrayLike = 1.0, offset: ArrayLike = 0.0, *, binary: bool = False
) -> Floats:
    """Nats of evidence against "the mean of `first` is at most slope * (mean of `second`) + offset"; at least 0.

    Args:
        first: Arms; the same shape as `second`.
        second: Arms that they are compared with.
        slope: Above 0. A last axis has several lines, of which the lowest counts; it broadcasts.
        offset: The same.
        binary: Whether values are 0 or 1. It selects the bets; the evidence is valid either way.

    >>> arms = np.repeat([0, 1], 1000)
    >>> sums = sums_of(np.tile([1] * 50 + [0] * 50, 20) * np.where(arms == 0, 1, np.arange(2000) % 5 == 0), arms, 2)
    >>> half, tenth = sums.of([0]), sums.of([1])
    >>> bool(evidence_ahead(half, tenth)[0] > 50), float(evidence_ahead(tenth, half)[0])
    (True, 0.0)
    """
    shape = first.rows.shape
    slope, offset = (np.asarray(each, dtype=np.float64) for each in (slope, offset))
    if max(slope.ndim, offset.ndim) <= len(shape):
        slope, offset = slope[..., None], offset[..., None]
    count = max(slope.shape[-1], offset.shape[-1])
    slope, offset = np.broadcast_to(slope, (*shape, count)), np.broadcast_to(offset, (*shape, count))
    edge = (slope * second.means[..., None] + offset).min(axis=-1)
    known = (first.rows > 0) & (second.rows > 0) & (first.means > edge)
    found = np.zeros(shape)
    if known.any():
        found[known] = _lowest(first.of(known), second.of(known), slope[known], offset[known], binary)
    return np.maximum(found, 0.0)


def _lowest(first: Sums, second: Sums, slope: Floats, offset: Floats, binary: bool) -> Floats:
    """The lowest mixture on the edge, by bisection on its slope; (pairs,)."""
    bets = _bets_on(binary, first, second)
    u, v = np.expm1(bets.first), np.expm1(-bets.second)
    base = first.logs(bets.first, up=True) + second.logs(bets.second, up=False) + np.log(bets.pair_weights)
    n, k = first.rows[:, None], second.rows[:, None]
    low, high = np.clip((-offset / slope).max(axis=1), 0.0, 1.0), np.ones(len(n))

    def at(q: Floats) -> tuple[Floats, Floats]:
        p = slope * q[:, None] + offset
        line = p.argmin(axis=1)[:, None]
        claimed, rise = np.take_along_axis(p, line, 1), np.take_along_axis(slope, line, 1)
        rise = np.where(claimed < 1, rise, 0.0)
        claimed = np.clip(claimed, 0.0, 1.0)
        wealth = base - n * np.log1p(u * claimed) - k * np.log1p(v * q[:, None])
        most = wealth.max(axis=1, keepdims=True)
        share = np.exp(wealth - most)
        growth = -n * u * rise / (1 + u * claimed) - k * v / (1 + v * q[:, None])
        return most[:, 0] + np.log(share.sum(axis=1)), (share * growth).sum(axis=1)

    best = at(high)[0]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value, grows = at(middle)
        best = np.minimum(best, value)
        low, high = np.where(grows < 0, middle, low), np.where(grows < 0, high, middle)
    found = np.minimum(best, at(low)[0])
    return np.where((slope + offset).min(axis=1) < 0, np.inf, found)
