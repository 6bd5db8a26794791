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
