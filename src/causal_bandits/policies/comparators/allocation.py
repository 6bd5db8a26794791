"""How often to pull each arm so that every arm's mean can be estimated from all rows.

The value of an allocation eta over arms is max_a sum_z p_a(z)^2 / Q_eta(z), Q_eta = sum_a eta_a p_a
(Lattimore, Lattimore and Reid 2016, eq. 5; Yabe et al. 2018 minimise the same shape over (node, parents) pairs).
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize

from ...compiled import Floats


def allocation_value(p: Floats, eta: Floats) -> float:
    """max_a sum_z p_a(z)^2 / Q_eta(z), where cells that no arm reaches add nothing."""
    return float(_values(p, eta).max())


def _values(p: Floats, eta: Floats) -> Floats:
    mixture = eta @ p
    values: Floats = np.divide(p**2, mixture, out=np.where(p > 0, np.inf, 0.0), where=mixture > 0).sum(axis=1)
    return values


def best_allocation(p: Floats) -> tuple[Floats, float]:
    """The allocation with the smallest value, and that value.

    Arms with the same p share one place in the search, and the share is split evenly among them.

    >>> eta, value = best_allocation(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> eta.round(6).tolist(), round(value, 6)
    ([0.5, 0.5], 2.0)
    """
    eta, value = _solve(p.tobytes(), p.shape)
    return eta.copy(), value


@lru_cache(maxsize=256)
def _solve(data: bytes, shape: tuple[int, int]) -> tuple[Floats, float]:
    p = np.frombuffer(data).reshape(shape)
    distinct, which = np.unique(p.round(12), axis=0, return_inverse=True)
    which = which.reshape(-1)
    distinct = distinct[:, distinct.any(axis=0)]
    arms = len(distinct)
    uniform = np.full(arms, 1 / arms)
    found = _minimise(distinct, uniform)
    eta = found if allocation_value(distinct, found) < allocation_value(distinct, uniform) else uniform
    spread = (eta / np.bincount(which))[which]
    return spread, allocation_value(p, spread)


def _minimise(p: Floats, start: Floats) -> Floats:
    """Sequential quadratic programming on (eta, bound): the bound is minimised, every arm's value stays below it."""
    arms, floor = len(p), 1e-9

    def slack(x: Floats) -> Floats:
        room: Floats = x[-1] - (p**2 / (x[:-1] @ p + floor)).sum(axis=1)
        return room

    def slopes(x: Floats) -> Floats:
        share = p**2 / (x[:-1] @ p + floor) ** 2
        return np.column_stack([share @ p.T, np.ones(arms)])

    one = np.append(np.ones(arms), 0.0)
    last = np.append(np.zeros(arms), 1.0)
    result = minimize(
        lambda x: x[-1],
        np.append(start, allocation_value(p, start)),
        jac=lambda x: last,
        method="SLSQP",
        bounds=[(0, 1)] * arms + [(1, None)],
        constraints=[
            {"type": "eq", "fun": lambda x: x[:-1].sum() - 1, "jac": lambda x: one},
            {"type": "ineq", "fun": slack, "jac": slopes},
        ],
        options={"maxiter": 300, "ftol": 1e-10},
    )
    eta: Floats = np.clip(result.x[:-1], 0, None)
    eta /= eta.sum()
    return eta
