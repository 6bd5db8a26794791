"""Drift: has the distribution of a stream of values changed? A test that may be looked at after every row.

*p-values.* While the values of a stream are exchangeable, the smoothed rank of each among those so far,

    p_n = (#{i <= n: x_i > x_n} + u_n #{i <= n: x_i = x_n}) / n,    u_n uniform,

is uniform and independent of p_1, ..., p_(n-1), whatever the distribution of the values: 0 or 1, counts, revenue with
many zeros, numbers (conformal p-values; Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005).

*Bets.* A bet says that p falls below a split c more or less often than with probability c, with an odds ratio of 1.1,
4/3 or 2. It begins at one of a few row numbers in each octave; the stakes of all bets and all beginnings add up to one.
The total capital is then a martingale that starts at 1, and by Ville's inequality it reaches 1 / rate *ever* with a
probability of at most the rate (a conformal test martingale; Vovk, *Testing randomness online*, Statistical Science
2021).

*Several streams.* The rate is divided among the streams in advance, and capital is counted for each stream alone. The
values of one arm are exchangeable whatever decides when the arm is played, and the bound covers the whole sequence of
them, however much of it is seen. Capital pooled over arms has no such bound under adaptive play: a policy plays an arm
again if its values were high so far, and the next ranks in that arm are then low.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled

RATE = 0.01
"""Probability of a false alarm, over all rows of all streams that share it."""
FIRST = 16
"""Rows of a stream before the first bet."""
LOOKS = 32
"""Row numbers in each octave (16 to 32, 32 to 64, ...) after which the capital is counted."""
STARTS = 8
"""Row numbers in each octave at which bets begin."""
TAILS = tuple(2.0**-power for power in range(1, 8))
RATIOS = (1.1, 4 / 3, 2.0)


class Drift(NamedTuple):
    """What was found: `evidence` is the natural logarithm of the highest capital over what an alarm needs."""

    evidence: float
    row: int
    """Which row (counted from 1) showed it: the first above the limit, or the one that came nearest."""

    @property
    def alarm(self) -> bool:
        """Whether the distribution of some stream has changed."""
        return self.evidence > 0

    @property
    def p_value(self) -> float:
        """An upper bound on the probability of so much evidence, ever, if nothing changes."""
        return min(1.0, RATE * math.exp(-self.evidence))


@compiled
def _at_most(tree: Ints, place: int) -> int:
    """How many scores up to a place were counted in a binary indexed tree."""
    found = 0
    while place > 0:
        found += tree[place]
        place -= place & -place
    return found


@compiled
def smoothed_ranks(values: Floats, noise: Floats) -> Floats:
    """Conformal p-values of the values of one stream: small where a value is high."""
    p = np.empty(len(values))
    levels = np.unique(values)
    places = np.searchsorted(levels, values) + 1
    tree = np.zeros(len(levels) + 1, dtype=np.int64)
    for row in range(len(values)):
        below, upto = _at_most(tree, places[row] - 1), _at_most(tree, places[row])
        p[row] = (row - upto + noise[row] * (upto - below + 1.0)) / (row + 1.0)
        place = places[row]
        while place < len(tree):
            tree[place] += 1
            place += place & -place
    return p


def _bets() -> tuple[Floats, Ints, Floats, Floats]:
    """Splits, and of each bet: its split, the logarithm of what it pays for a p below the split and for one above."""
    splits = sorted({*TAILS, *(1 - tail for tail in TAILS)})
    which, below, above = [], [], []
    for number, split in enumerate(splits):
        for ratio in (*RATIOS, *(1 / each for each in RATIOS)):
            moved = split * ratio / (1 - split + split * ratio)
            which.append(number)
            below.append(math.log(moved / split))
            above.append(math.log((1 - moved) / (1 - split)))
    return np.array(splits), np.array(which), np.array(below), np.array(above)


SPLITS, SPLIT_OF, BELOW, ABOVE = _bets()


def look_rows(rows: int) -> Ints:
    """The numbers of rows after which the capital of a stream is counted."""
    octaves = max(math.ceil(math.log2(max(rows, 1) / FIRST)) + 1, 0)
    numbers = (FIRST * 2.0 ** (np.arange(octaves * LOOKS) / LOOKS)).astype(np.int64)
    return numbers[numbers <= rows]


def stakes(looks: int) -> Floats:
    """The part of the capital that is staked at each look: 1 / (k (k + 1)) in octave k, in equal parts."""
    number = np.arange(looks)
    octave = number // LOOKS + 1.0
    each = 1 / (STARTS * octave * (octave + 1))
    return np.where(number % (LOOKS // STARTS) == 0, each, 0.0)


def log_capital(p: Floats) -> tuple[Ints, Floats]:
    """Row numbers, and the logarithm of the capital after each of them."""
    rows = look_rows(len(p))
    if not len(rows):
        return rows, np.empty(0)
    below = np.stack([np.cumsum(p < split)[rows - 1] for split in SPLITS], axis=1)[:, SPLIT_OF]
    paid = below * BELOW + (rows[:, None] - below) * ABOVE  # by a stake of 1 from the first row on
    staked = stakes(len(rows))
    with np.errstate(divide="ignore"):
        begun = np.logaddexp.accumulate(np.log(staked)[:, None] - paid, axis=0)
    bets = np.logaddexp.reduce(paid + begun, axis=1) - math.log(len(SPLIT_OF))
    return rows, np.logaddexp(bets, np.log1p(-np.cumsum(staked)))


def find_drift(streams: Ints, values: Floats, shares: Floats, *, seed: tuple[int, ...]) -> Drift:
    """Whether some stream has changed.

    Args:
        streams: The stream of each row.
        values: The value of each row; NaN if it has none.
        shares: (streams,): The part of `RATE` that each stream may use; they add up to at most 1.
        seed: What breaks ties; the numbers that follow from it must be used for nothing else.
    """
    noise = np.random.default_rng((0x647269667420, *seed)).random(len(values))
    known = np.flatnonzero(~np.isnan(values))
    found = Drift(-math.inf, 0)
    for stream in np.flatnonzero(np.bincount(streams[known], minlength=len(shares)) >= FIRST):
        rows = known[streams[known] == stream]
        looks, capital = log_capital(smoothed_ranks(values[rows].astype(np.float64), noise[rows]))
        evidence = capital + math.log(RATE * shares[stream])
        above = np.flatnonzero(evidence > 0)
        at = int(above[0]) if len(above) else int(evidence.argmax())
        row = int(rows[looks[at] - 1]) + 1
        highest = float(evidence.max())
        if highest > found.evidence:
            found = Drift(highest, row)
    return found
