"""The comparators the long way: every number is made again from the list of rows, with plain Python and numpy.

A row is (arm, codes, reward). Each function answers with the value of every arm; the learner must ask for one with the
highest.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Floats = NDArray[np.float64]
Row = tuple[int, tuple[int, ...], int]


def own(rows: Sequence[Row], arm: int) -> list[int]:
    return [reward for pulled, _, reward in rows if pulled == arm]


def by_arm(rows: Sequence[Row], arms: int, index: Callable[[float, int, int], float]) -> Floats:
    """An index of the mean, the number of rewards and the number of rows; infinite where there are none."""
    values = []
    for arm in range(arms):
        rewards = own(rows, arm)
        values.append(index(float(np.mean(rewards)), len(rewards), len(rows)) if rewards else math.inf)
    return np.array(values)


def ucb1(m: float, n: int, t: int) -> float:
    return m + math.sqrt(2 * math.log(t) / n)


def ucb_v(m: float, n: int, t: int) -> float:
    return m + math.sqrt(2 * m * (1 - m) * math.log(t) / n) + 3 * math.log(t) / n


def ucb_tuned(m: float, n: int, t: int) -> float:
    v = m - m * m + math.sqrt(2 * math.log(t) / n)
    return m + math.sqrt(math.log(t) / n * min(0.25, v))


def small_ucb(horizon: int, constant: float) -> Callable[[float, int, int], float]:
    return lambda m, n, t: m + math.sqrt(constant * math.log(horizon) / n)


def kl(p: float, q: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def kl_bound(m: float, level: float) -> float:
    """By bracketing: kl(m, .) rises from 0 at m to infinity at 1."""
    if m == 1 or kl(m, 1 - 1e-16) <= level:
        return 1.0
    return float(brentq(lambda q: kl(m, q) - level, m, 1 - 1e-16, xtol=1e-15, rtol=1e-14)) if level > 0 else m


def kl_ucb(m: float, n: int, t: int) -> float:
    level = math.log(t) + (3 * math.log(math.log(t)) if t >= 3 else 0)
    return kl_bound(m, level / n)


def cell(codes: tuple[int, ...], places: Sequence[int], sizes: Sequence[int]) -> int:
    number = 0
    for place in places:
        number = number * sizes[place] + codes[place]
    return number


def cell_rewards(rows: Sequence[Row], places: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    cells: list[list[int]] = [[] for _ in range(int(np.prod([sizes[p] for p in places], dtype=int)))]
    for _, codes, reward in rows:
        cells[cell(codes, places, sizes)].append(reward)
    return cells


def c_ucb(rows: Sequence[Row], p: Floats, places: Sequence[int], sizes: Sequence[int], horizon: int) -> Floats:
    """Lu et al. 2020: sum_z p(z | a) (m_z + sqrt(2 ln(1 / delta) / max(1, n_z))), delta = 1 / T^2."""
    delta = 1 / horizon**2
    bounds = [
        (float(np.mean(seen)) if seen else 0.0) + math.sqrt(2 * math.log(1 / delta) / max(1, len(seen)))
        for seen in cell_rewards(rows, places, sizes)
    ]
    values: Floats = p @ np.array(bounds)
    return values


def hac_bounds(
    rows: Sequence[Row], p: Floats, places: Sequence[int], sizes: Sequence[int], horizon: int
) -> tuple[Floats, Floats, bool]:
    """Bilodeau et al. 2022: U, V, and whether every arm passes both tests."""

    def width(n: int) -> float:
        return math.sqrt(math.log(horizon**2) / (2 * max(1, n)))

    cells = cell_rewards(rows, places, sizes)
    w_z = np.array([width(len(seen)) for seen in cells])
    m_z = np.array([float(np.mean(seen)) if seen else 0.0 for seen in cells])
    rewards = [own(rows, arm) for arm in range(len(p))]
    w_a = np.array([width(len(each)) for each in rewards])
    u = np.array([float(np.mean(each)) if each else 0.0 for each in rewards]) + w_a
    v = p @ (m_z + w_z)
    return u, v, bool(np.all(u - v <= 2 * w_a) and np.all(v - u <= 2 * (p @ w_z)))


def sharing_rewards(rows: Sequence[Row], settings: NDArray[np.int64], donors: set[int]) -> list[list[int]]:
    """Rewards per arm, with rows of the donors counted for every arm whose levels they have."""
    found: list[list[int]] = [[] for _ in settings]
    for pulled, codes, reward in rows:
        for arm, levels in enumerate(settings):
            agrees = all(level in (-1, code) for level, code in zip(levels, codes, strict=True))
            if arm == pulled or (pulled in donors and agrees):
                found[arm].append(reward)
    return found


def clipped_means(rows: Sequence[Row], p: Floats, eta: Floats, m: float, cells: Sequence[int]) -> Floats:
    """Lattimore et al. 2016, Algorithm 2, row by row."""
    n, arms = len(rows), len(p)
    bound = math.sqrt(m * n / math.log(2 * n * arms))
    means = np.zeros(arms)
    for (_, _, reward), z in zip(rows, cells, strict=True):
        for arm in range(arms):
            ratio = p[arm, z] / sum(eta[a] * p[a, z] for a in range(arms))
            means[arm] += reward * ratio * (ratio <= bound) / n
    return means


def sen_means(rows: Sequence[tuple[int, int, int]], p: Floats, eps: float) -> Floats:
    """Sen et al. 2017: clipped importance sampling between all pairs of arms; rows are (arm, cell, reward)."""
    arms, q = len(p), p.tolist()  # plain numbers raise where numpy's would warn
    divergence = np.empty((arms, arms))
    for k in range(arms):
        for j in range(arms):
            reached = [z for z in range(p.shape[1]) if q[k][z] > 0]
            try:
                divergence[k, j] = 1 + math.log(sum(q[k][z] * math.exp(q[k][z] / q[j][z] - 1) for z in reached))
            except (OverflowError, ZeroDivisionError):  # beyond floats, and beyond use
                divergence[k, j] = np.inf
    means = np.empty(arms)
    for k in range(arms):
        total, weight = 0.0, 0.0
        for j, z, reward in rows:
            weight += 1 / divergence[k, j]
            ratio = p[k, z] / p[j, z]
            if ratio <= 2 * math.log(2 / eps) * divergence[k, j]:
                total += reward * ratio / divergence[k, j]
        means[k] = total / weight if weight > 0 else -np.inf
    return means
