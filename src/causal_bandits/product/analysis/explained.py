"""How much of the reward's variance the mediators explain: eta^2, which bounds what sharing can gain.

Where a set S separates, learning through it needs about eta^2 = Var(E[Y | S]) / Var(Y) of the rows that learning from
rewards alone needs (docs/explanation/limits.md).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.data import Rows

UNSURE = 0.05
"""A share that rounds to 0 is known only if its interval ends below this."""
MOST_CELLS = 2.0**62
"""Joint values that one integer can number."""


@dataclass(frozen=True)
class ExplainedVariance:
    """The share of the reward's variance that the mediators explain, with its interval."""

    share: float
    low: float
    high: float
    level: float
    rows: int
    cells: int
    """Joint values of the mediators that were seen."""

    @property
    def is_known(self) -> bool:
        """Whether rows say anything: mediators with several values, and rewards that differ."""
        return self.high - self.low < 1

    @property
    def says(self) -> str:
        """In one sentence.

        >>> ExplainedVariance(0.31, 0.28, 0.34, 0.95, 2000, 4).says[:74]
        'Your mediators explain 31% (28% to 34%) of the variance of the reward: if '
        """
        if not self.is_known:
            return "How much of the variance of the reward your mediators explain is not known yet."
        if self.share < 0.005 and self.high > UNSURE:
            return (
                "How much of the variance of the reward your mediators explain is not known yet: it may be up to "
                f"{self.high:.0%}."
            )
        if self.share < 0.005:
            return (
                f"Your mediators explain almost none of the variance of the reward (at most {self.high:.1%}): they say "
                "little about it."
            )
        return (
            f"Your mediators explain {self.share:.0%} ({self.low:.0%} to {self.high:.0%}) of the variance of the "
            f"reward: if they separate, sharing needs at best about {self.share:.0%} of the decisions."
        )


def explained_by_mediators(rows: Rows, level: float = 0.95) -> ExplainedVariance:
    """eta^2 from coded rows, of those in which every mediator was observed."""
    complete = (rows.codes >= 0).all(axis=1)
    return explained_variance(rows.codes[complete], rows.rewards[complete], level)


def explained_variance(codes: Ints, rewards: Floats, level: float = 0.95) -> ExplainedVariance:
    """eta^2 of rewards (rows,) by the joint value of mediators (rows, variables); 0 to 1 if nothing is known.

    The plain ratio of variances is too large by chance when there are many joint values; as in a regression, the
    residual variance is divided by rows less values (Kelley's epsilon^2). The interval is normal, with the standard
    error from the influence function of the plain ratio:

        A = E m(S)^2 - mu^2,  V = E Y^2 - mu^2:   (m^2 + 2 m (Y - m) - 2 mu Y - eta^2 (Y^2 - 2 mu Y)) / V, centered

    >>> codes = np.repeat([[0], [1]], 100, axis=0)
    >>> found = explained_variance(codes, np.repeat([0.0, 1.0, 0.0, 1.0], [80, 20, 20, 80]))
    >>> round(found.share, 2), found.low < 0.36 < found.high
    (0.36, True)
    """
    rows = len(rewards)
    values = rewards.astype(np.float64)
    cells = _cells(codes)
    sizes = np.bincount(cells, minlength=1)
    total = float(values.var()) if rows else 0.0
    if len(sizes) < 2 or rows - len(sizes) < 1 or total <= 0:
        return ExplainedVariance(0.0, 0.0, 1.0, level, rows, len(sizes))
    means = (np.bincount(cells, values) / sizes)[cells]
    plain = float(means.var()) / total
    share = max(0.0, 1 - (1 - plain) * (rows - 1) / (rows - len(sizes)))
    mu = float(values.mean())
    moves = means**2 + 2 * means * (values - means) - 2 * mu * values - plain * (values**2 - 2 * mu * values)
    width = NormalDist().inv_cdf(0.5 + level / 2) * float(moves.std()) / total / math.sqrt(rows)
    return ExplainedVariance(share, max(0.0, share - width), min(1.0, share + width), level, rows, len(sizes))


def _cells(codes: Ints) -> Ints:
    """A number for the joint value of each row; as one number rows are sorted many times as fast."""
    sizes = codes.max(axis=0, initial=0).astype(np.int64) + 1
    if len(sizes) and np.prod(sizes, dtype=np.float64) < MOST_CELLS:
        _, cells = np.unique(np.ravel_multi_index(tuple(codes.T), tuple(sizes)), return_inverse=True)
    else:
        _, cells = np.unique(codes, axis=0, return_inverse=True)
    found: Ints = cells.reshape(-1)
    return found
