"""Fixed-confidence best-arm identification with normal rewards: when to stop, and what to track until then.

The threshold is that of Kaufmann and Koolen (2021, "Mixture martingales revisited", normal rewards): with probability
1 - delta sum_z N_z (m_z - mu_z)^2 / (2 v) stays below 2 sum_z ln(4 + ln N_z) + k C(ln(1 / delta) / k) at all times, for
k means of rewards that deviate no more than a normal with variance v.
"""

import math
from functools import lru_cache

import numpy as np

from ...core.compiled import Floats, Ints
from ...libraries import special

VARIANCE = 0.25
"""Rewards in [0, 1] deviate no more than a normal with this variance (Hoeffding's lemma)."""
STEPS = 60
"""Of the search for what to track."""


@lru_cache(maxsize=1)
def _penalties() -> tuple[Floats, Floats]:
    """lambda, and g(lambda) = 2 lambda (1 - ln(4 lambda)) + ln special.zeta(2 lambda) - ln(1 - lambda) / 2."""
    scale = 1 - np.geomspace(1e-6, 0.4999, 4000)
    return scale, 2 * scale * (1 - np.log(4 * scale)) + np.log(special.zeta(2 * scale)) - 0.5 * np.log(1 - scale)


def evidence_cost(x: float) -> float:
    """C(x) = min over lambda of (g(lambda) + x) / lambda, which is about x + ln x for large x.

    >>> round(evidence_cost(10.0), 1), evidence_cost(0.1) > 0
    (12.0, True)
    """
    scale, penalty = _penalties()
    return float(((penalty + x) / scale).min())


def enough_evidence(rows: Ints, delta: float) -> float:
    """2 sum_z ln(4 + ln N_z) + k C(ln(1 / delta) / k) over the k cells that have rows."""
    seen = rows[rows > 0]
    cells = max(len(seen), 1)
    return 2 * float(np.log(4 + np.log(seen)).sum()) + cells * evidence_cost(math.log(1 / delta) / cells)


def evidence_of_gap(gap: float, weights: Floats, rows: Ints) -> float:
    """gap^2 / (2 v sum_z weight_z^2 / N_z): how far the rows are from a world in which the gap is 0."""
    used = np.abs(weights) > 0
    if not used.any() or (rows[used] == 0).any():
        return 0.0
    return float(gap**2 / (2 * VARIANCE * (weights[used] ** 2 / rows[used]).sum()))


def hardest_gap(weights: Floats, shares: Floats) -> float:
    """max_a sum_z weight_az^2 / share_z: what the best shares make small."""
    return float(_values(weights, shares).max())


def _values(weights: Floats, shares: Floats) -> Floats:
    squares = weights**2
    found: Floats = np.divide(
        squares, shares, out=np.where(squares > 0, np.inf, 0.0), where=(shares > 0) | (squares == 0)
    ).sum(axis=1)
    return found


def best_shares(weights: Floats, p: Floats) -> Floats:
    """Pulls eta that make max_a sum_z weight_az^2 / Q(z) small, Q = eta @ p: the least value to within a few percent.

    Exponentiated gradients, in which every a counts by how near it is to the maximum; the best point met is returned.

    >>> best_shares(np.array([[1.0, 1.0]]), np.eye(2)).round(2).tolist()
    [0.5, 0.5]
    """
    eta = best = np.full(len(p), 1 / len(p))
    least = np.inf
    for step in range(1, STEPS + 1):
        mixture = eta @ p
        ratio = np.divide(weights, mixture, out=np.zeros(weights.shape), where=mixture > 0)
        values = (weights * ratio).sum(axis=1)
        highest = values.max()
        if highest < least:
            best, least = eta, highest
        if highest <= 0:
            break
        near = np.exp(40 * (values / highest - 1))
        slope = ((near / near.sum()) @ ratio**2) @ p.T
        eta = eta * np.exp(2 / math.sqrt(step) * (slope / slope.max() - 1))
        eta = eta / eta.sum()
    return best


def pulls_towards(goal: Floats, seen: Floats, p: Floats, pulls: int) -> Ints:
    """Pulls that bring the cells' rows towards the goal's shares: each time the arm that points there most.

    The goal is a mixture of the arms' p, so the distance to it stays bounded while the rows grow.
    """
    planned = np.zeros(len(p), dtype=np.int64)
    rows = seen.astype(np.float64).copy()
    for _ in range(pulls):
        arm = int((p @ ((rows.sum() + 1) * goal - rows)).argmax())
        planned[arm] += 1
        rows += p[arm]
    return planned
