"""How often to pull each arm so that every arm's mean can be estimated from all rows.

The value of an allocation eta over arms is max_a sum_z p_a(z)^2 / Q_eta(z), Q_eta = sum_a eta_a p_a
(Lattimore, Lattimore and Reid 2016, m(eta) of sec. 4). Yabe et al. 2018 minimize the same shape over pairs of a node
and its parents (their gamma*).
"""

from functools import lru_cache

import numpy as np

from ...core.compiled import Floats

MOST_STEPS = 100


def allocation_value(p: Floats, eta: Floats) -> float:
    """max_a sum_z p_a(z)^2 / Q_eta(z), where cells that no arm reaches add nothing."""
    return float(_values(p, eta).max())


def _values(p: Floats, eta: Floats) -> Floats:
    mixture = eta @ p
    values: Floats = np.divide(p**2, mixture, out=np.where(p > 0, np.inf, 0.0), where=mixture > 0).sum(axis=1)
    return values


def best_allocation(p: Floats, tolerance: float = 1e-5) -> tuple[Floats, float]:
    """The allocation with the smallest value, and that value, at most `tolerance` (relative) above the least possible.

    Arms with the same p share one place in the search, and the share is split evenly among them.

    >>> eta, value = best_allocation(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> eta.round(3).tolist(), round(value, 3)
    ([0.5, 0.5], 2.0)
    """
    eta, value = _solve(p.tobytes(), p.shape, tolerance)
    return eta.copy(), value


@lru_cache(maxsize=256)
def _solve(data: bytes, shape: tuple[int, int], tolerance: float) -> tuple[Floats, float]:
    p = np.frombuffer(data).reshape(shape)
    distinct, which = np.unique(p.round(12), axis=0, return_inverse=True)
    which = which.reshape(-1)
    eta = _cutting_planes(distinct[:, distinct.any(axis=0)], tolerance)
    spread = (eta / np.bincount(which))[which]
    return spread, allocation_value(p, spread)


def _cutting_planes(p: Floats, tolerance: float) -> Floats:
    """Kelley's method: every arm's value is convex in eta, so its tangents bound it from below.

    A linear program over the tangents gives a bound on the least value, and with it a certificate for the best
    allocation met; the next tangents are taken halfway to the program's solution, which keeps the steps from jumping.
    """
    from scipy.optimize import linprog  # slow to import, and few policies need it

    arms = len(p)
    slopes, offsets = [], []
    best = here = np.full(arms, 1 / arms)
    least, bound = np.inf, 0.0
    goal, total = np.append(np.zeros(arms), 1.0), np.append(np.ones(arms), 0.0)[None, :]
    for _ in range(MOST_STEPS):
        ratio = p / (here @ p)  # every cell is reached: all arms keep a share
        values, gradient = (p * ratio).sum(axis=1), -(ratio**2) @ p.T
        slopes.append(np.column_stack([gradient, -np.ones(arms)]))
        offsets.append(gradient @ here - values)
        if values.max() < least:
            best, least = here, values.max()
        found = linprog(goal, np.vstack(slopes), np.concatenate(offsets), total, [1.0], bounds=[(0, None)] * (arms + 1))
        if found.x is None:  # the tangents have become too steep for the solver; the best so far is good
            break
        bound = max(bound, found.fun)
        if least - bound <= tolerance * least:
            break
        here = 0.5 * best + 0.5 * found.x[:-1]
    return best
