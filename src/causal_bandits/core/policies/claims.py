"""What own rows prove about arms, at every look: which are not the best, which one is, or is close to it.

Every claim is about an ordered pair of arms, by the evidence of `independence.betting`, and is checked after fixed
numbers of rows (`checkpoints`). A claim that was proven at one of them stays proven: the rows up to there do not
change, so the same claim is found at every later look.

How the error is shared. With confidence 1 - alpha no claim is ever wrong, counting as wrong that an arm is dropped, or
another is called the best, although it is a best arm, alone or with others. Among the K arms that an experiment starts
with, an arm is proven not to be the best when one of the others is ahead of it with evidence (K - 1) R / a, where R is
the number of these arms not yet proven so, and a is `FIRST_SHARE` of alpha: Bonferroni over the K - 1 others, and
Holm's step-down over arms, which needs no assumption about ties. (Before the first wrong claim, all arms that are the
best among those in play are among the R, and each is claimed wrongly with probability at most a / R.) The j-th arm
added later gets the part 1 / (j (j + 1)) of the rest of alpha, for its 2 k comparisons with the k arms before it. So
adding arms changes no claim that was made. With segments each one has a part of a, by its number of arms at the start.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats, Ints
from ..data import History
from ..independence.betting import CAP_ROWS, Sums, evidence_ahead, learned_ends, needed, running_sums
from ..problem import Reward
from .recommendation import NEAR

FIRST_SHARE = 0.98
"""The part of the error that the arms of the start share."""
STEP, GROWTH, MANY_ARMS = 5, 0.01, 5000
"""Claims are checked every 5 rows, and later whenever the rows have grown by 1%; less often with hundreds of arms."""
WORTH_A_LOOK = 0.75
"""A pair is looked at where half its squared z-score is this part of the evidence that a claim needs."""
AT_ONCE, LOOKS_AT_ONCE = 20_000, 50
FACTORS = np.geomspace(1.0, 1000.0, 49)
"""Multiples of the rows so far that are tried for a forecast."""
HARDEST = 8
"""A forecast considers this many arms: those that are hardest to tell from the leader."""


class Scale(NamedTuple):
    """Between which ends rewards are counted for claims, and which rows count.

    Args:
        low: Lowest value; rewards below it count as this.
        high: Highest value, the cap; rewards above it count as this.
        first: The first row that is evidence.
        learned: Whether the cap was learned from the rows before that one.
    """

    low: float
    high: float
    first: int = 0
    learned: bool = False

    def values(self, rewards: Floats) -> Floats:
        """Rewards as values from 0 to 1."""
        return (np.clip(rewards, self.low, self.high) - self.low) / (self.high - self.low)


def scale_of(reward: Reward, rewards: NDArray[np.generic]) -> Scale | None:
    """The scale of a reward: its natural or declared ends, or those learned from the first rows; None if too few."""
    low, high = reward.ends
    if low is not None and high is not None:
        return Scale(low, high)
    ends = learned_ends(np.asarray(rewards[:CAP_ROWS], dtype=np.float64), low)
    return None if ends is None else Scale(*ends, CAP_ROWS, learned=True)


def checkpoints(rows: int, arms: int, first: int = 0, batches: list[tuple[int, int]] | None = None) -> Ints:
    """After how many rows claims about this many arms are checked: never within a batch, whose rows have no order.

    >>> checkpoints(23, 2).tolist(), checkpoints(23, 2, batches=[(8, 21)]).tolist()
    ([5, 10, 15, 20], [5, 21])
    """
    ends, at, growth = list[int](), first, min(max(GROWTH, arms / MANY_ARMS), 1.0)
    while (at := at + max(STEP, int(growth * at))) <= rows:
        ends.append(at)
    found = np.array(ends, dtype=np.int64)
    if batches:
        starts, stops = np.array(batches, dtype=np.int64).T
        batch = np.searchsorted(starts, found, side="left") - 1
        inside = (batch >= 0) & (found < stops[batch])
        found = np.unique(np.where(inside, stops[batch], found))
    return found


class Proven(NamedTuple):
    """What own rows prove of some arms.

    Args:
        behind: Arms that are proven not to be the best of those in play.
        arm: The arm that is proven to be the best, or within the margin of the best; None before.
        is_best: Whether it is proven to be the best.
        leader: The arm with the most evidence; None before there are rows.
        progress: Share of the evidence that a stop needs, which the leader has.
        more_rows: How many more rows a stop needs if they are like those so far; infinite if none would do.
        rows: After how many rows the stop was proven; None before.
    """

    behind: tuple[int, ...] = ()
    arm: int | None = None
    is_best: bool = False
    leader: int | None = None
    progress: float = 0.0
    more_rows: float = math.inf
    rows: int | None = None


class Comparison(NamedTuple):
    """Which arms are compared, and how.

    Args:
        members: Arms that have ever been compared with each other: all, or those of a segment.
        allowed: (arms,): arms in play.
        first_arms: Number of arms that the experiment started with; later ones were added.
        alpha: Probability with which a claim may be wrong, over all looks and all claims.
        margin: How far from the best is close enough, in units of the reward; None for 5% of the best mean.
        cost: (arms,): what each arm costs, in units of the reward.
    """

    members: Ints
    allowed: Bools
    first_arms: int
    alpha: float
    margin: float | None = None
    cost: Floats | None = None


def prove(history: History, scale: Scale, asked: Comparison, *, forecast: bool = True) -> Proven:
    """What the rows of a history prove.

    Args:
        history: The rows, in their order.
        scale: Ends of the rewards (see `scale_of`).
        asked: Which arms are compared, and how.
        forecast: Whether to work out `progress` and `more_rows`.
    """
    packed, binary = history.packed, history.problem.reward.kind == "binary"
    number = np.full(len(history.problem.arms), -1)
    number[asked.members] = np.arange(len(asked.members))
    ends = checkpoints(len(history), asked.first_arms, scale.first, history.batches)
    if not len(ends):
        return Proven()
    arms = number[packed["arms"]]
    inside = arms >= 0
    inside[: scale.first] = False
    values = scale.values(np.asarray(packed["rewards"][inside], dtype=np.float64))
    sums = running_sums(values, arms[inside], len(asked.members), np.cumsum(inside)[ends - 1])
    return _Race(sums, ends, scale, asked, binary).proven(forecast=forecast)


class _Race:
    """Arms compared at all checkpoints; arms are numbered as in `members`."""

    def __init__(self, sums: Sums, ends: Ints, scale: Scale, asked: Comparison, binary: bool) -> None:
        self.sums, self.ends, self.binary = sums, ends, binary
        self.members = asked.members
        self.playing = np.flatnonzero(asked.allowed[asked.members])
        self.initial = int((asked.members < asked.first_arms).sum())
        width, arms = scale.high - scale.low, len(asked.members)
        self.alpha, self.first_arms = asked.alpha, asked.first_arms
        taken = np.zeros(arms) if asked.cost is None else asked.cost[asked.members]
        self.cost = (taken - scale.low) / width
        """Costs such that a net mean is (value - cost) * width."""
        self.margin = None if asked.margin is None else asked.margin / width
        with np.errstate(divide="ignore", invalid="ignore"):
            self.net = sums.means - self.cost
            variance = sums.squares / sums.rows - sums.means**2
            self.error = np.sqrt(np.maximum(variance, 0.0) / sums.rows)

    def enough(self, first: Ints, second: Ints, left: int) -> Floats:
        """Nats at which `first` is claimed to be ahead of `second`, when `left` initial arms may be the best."""
        newest = np.maximum(first, second)
        part = FIRST_SHARE * self.alpha * max(self.initial, 1) / self.first_arms
        initial = needed(part) + math.log(max(self.initial - 1, 1) * max(left, 1))
        added = np.maximum(self.members[newest] - self.first_arms + 1, 1)
        later = needed((1 - FIRST_SHARE) * self.alpha) + np.log(added * (added + 1) * 2.0 * np.maximum(newest, 1))
        return np.where(newest < self.initial, initial, later)

    def leaders(self) -> Ints:
        """(looks, 2): the highest net mean in play, and the one that is still high two standard errors below."""
        net = np.where(np.isnan(self.net), -np.inf, self.net)[:, self.playing]
        sure = net - 2 * np.where(np.isnan(self.error), 0.0, self.error)[:, self.playing]
        found: Ints = self.playing[np.stack([net.argmax(axis=1), sure.argmax(axis=1)], axis=1)]
        return found

    def lines(self, first: Ints, second: Ints, *, close: bool) -> tuple[Floats, Floats]:
        """Slopes and offsets of "the net mean of `first` is at most that of `second`", less the margin if `close`."""
        ahead, behind = self.cost[first], self.cost[second]
        if not close or self.margin is not None:
            offset = ahead - behind - (self.margin or 0.0 if close else 0.0)
            return np.ones((*offset.shape, 1)), offset[..., None]
        slopes = np.broadcast_to([1 - NEAR, 1 + NEAR], (*ahead.shape, 2))
        return slopes, ahead[..., None] - slopes * behind[..., None]

    def evidence(self, looks: Ints, first: Ints, second: Ints, *, close: bool = False) -> Floats:
        """Nats for each (look, first, second), 0 where a look is not worth it."""
        slope, offset = self.lines(first, second, close=close)
        apart = self.sums.means[looks, first] - (slope * self.sums.means[looks, second][..., None] + offset).min(-1)
        error = np.hypot(self.error[looks, first], self.error[looks, second])
        low = WORTH_A_LOOK * self.enough(first, second, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.flatnonzero((apart > 0) & (first != second) & (0.5 * (apart / error) ** 2 >= low))
        found = np.zeros(len(looks))
        for start in range(0, len(worth), AT_ONCE):
            some = worth[start : start + AT_ONCE]
            one, other = (self.sums.of((looks[some], arms[some])) for arms in (first, second))
            found[some] = evidence_ahead(one, other, slope[some], offset[some], binary=self.binary)
        return found

    def proven(self, *, forecast: bool) -> Proven:
        """Go through the looks in their order."""
        if len(self.playing) == 1:
            alone = int(self.members[self.playing[0]])
            return Proven((), alone, True, alone, 1.0, 0.0, 0)
        leaders = self.leaders()
        behind, near, at = np.zeros(len(self.members), dtype=np.bool_), None, None
        for start in range(0, len(leaders), LOOKS_AT_ONCE):
            looks = np.arange(start, min(start + LOOKS_AT_ONCE, len(leaders)))
            ahead = self._against_all(looks, leaders[looks], behind)
            close = self._against_all(looks, leaders[looks], behind, close=True) if near is None else ahead
            for index, look in enumerate(looks.tolist()):
                self._drop(behind, leaders[look], ahead[index])
                if near is None:
                    near = self._near(behind, leaders[look], close[index])
                if at is None and (near is not None or (~behind[self.playing]).sum() == 1):
                    at = int(self.ends[look])
            if (~behind[self.playing]).sum() == 1:
                break
        rest = self.playing[~behind[self.playing]]
        dropped = tuple(self.members[self.playing[behind[self.playing]]].tolist())
        leader = int(self.members[leaders[-1, 1]])
        stop = rest[0] if len(rest) == 1 else near
        if stop is not None:
            return Proven(dropped, int(self.members[stop]), len(rest) == 1, leader, 1.0, 0.0, at)
        expected = self._forecast(leaders[-1], rest, self._left(behind)) if forecast else (math.nan, math.nan)
        return Proven(dropped, None, False, leader, *expected)

    def _against_all(self, looks: Ints, leaders: Ints, behind: Bools, *, close: bool = False) -> Floats:
        """(looks, 2, arms): evidence that each leader of a look is ahead of every arm not behind, or `close` to it."""
        shape = (*leaders.shape, len(self.members))
        every = (looks[:, None, None], leaders[..., None], np.arange(shape[-1]))
        look, first, second = (np.broadcast_to(each, shape) for each in every)
        new = ((leaders != leaders[:, :1]) | [True, False])[..., None] & ~behind
        found = np.zeros(shape)
        found[new] = self.evidence(look[new], first[new], second[new], close=close)
        return found

    def _left(self, behind: Bools) -> int:
        return int((~behind[: self.initial]).sum())

    def _drop(self, behind: Bools, leaders: Ints, ahead: Floats) -> None:
        """Mark the arms that are proven behind at one look; each one makes the next easier."""
        every = np.arange(len(behind))
        while True:
            surplus = ahead - self.enough(leaders[:, None], every, self._left(behind))
            surplus[:, behind] = -math.inf
            if surplus.max() < 0:
                return
            behind[np.unravel_index(np.argmax(surplus), surplus.shape)[1]] = True

    def _near(self, behind: Bools, leaders: Ints, close: Floats) -> int | None:
        """A leader that is proven at one look to be within the margin of all arms that may be the best."""
        rest = self.playing[~behind[self.playing]]
        for arm, evidence in zip(leaders.tolist(), close, strict=True):
            others = rest[rest != arm]
            if len(others) and (evidence[others] >= self.enough(np.array(arm), others, self._left(behind))).all():
                return int(arm)
        return None

    def _forecast(self, leaders: Ints, rest: Ints, left: int) -> tuple[float, float]:
        """Share of the evidence for a stop, and how many more rows it takes if they are like those so far."""
        found = [self._forecast_for(int(arm), rest[rest != arm], left) for arm in dict.fromkeys(leaders.tolist())]
        return max(progress for progress, _ in found), min(more for _, more in found)

    def _forecast_for(self, leader: int, others: Ints, left: int) -> tuple[float, float]:
        now, enough = self.sums.of(-1), self.enough(np.array(leader), others, left)

        def shares(index: Ints, factors: Floats) -> Floats:
            second = others[index]
            first = np.full(len(second), leader)
            slope, offset = self.lines(first, second, close=True)
            one, other = (now.of(arms).times(factors) for arms in (first, second))
            return evidence_ahead(one, other, slope[None], offset[None], binary=self.binary) / enough[index]

        today = shares(np.arange(len(others)), np.ones(1))[0]
        hardest = np.argsort(today, kind="stable")[:HARDEST]
        ahead = shares(hardest, FACTORS).min(axis=1)
        reached = int(np.argmax(ahead >= 1))
        if ahead[reached] < 1 or reached == 0:
            return float(min(today.min(), 1.0)), 0.0 if reached == 0 and ahead[0] >= 1 else math.inf
        part = (1 - ahead[reached - 1]) / (ahead[reached] - ahead[reached - 1])
        factor = FACTORS[reached - 1] + part * (FACTORS[reached] - FACTORS[reached - 1])
        return float(min(today.min(), 1.0)), float((factor - 1) * self.ends[-1])
