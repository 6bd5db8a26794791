"""The formulas of the comparators, one compiled function each, under their papers' names.

m = mean of an arm's n rewards (0 or 1), t = rows so far, T = horizon.
"""

import math

from ...core.compiled import compiled


@compiled
def ucb1_index(m: float, n: int, t: int) -> float:
    """m + sqrt(2 ln t / n) (Auer, Cesa-Bianchi and Fischer 2002, Fig. 1)."""
    return m + math.sqrt(2 * math.log(t) / n)


@compiled
def ucb_v_index(m: float, n: int, t: int) -> float:
    """m + sqrt(2 v E / n) + 3 E / n, v = m (1 - m), E = ln t (Audibert, Munos, Szepesvari 2009: UCB-V, b = c = 1)."""
    exploration = math.log(t)
    return m + math.sqrt(2 * m * (1 - m) * exploration / n) + 3 * exploration / n


@compiled
def ucb_tuned_index(m: float, n: int, t: int) -> float:
    """m + sqrt((ln t / n) min(1/4, v + sqrt(2 ln t / n))) (Auer, Cesa-Bianchi and Fischer 2002, sec. 4)."""
    share = math.log(t) / n
    return m + math.sqrt(share * min(0.25, m * (1 - m) + math.sqrt(2 * share)))


@compiled
def scaled_ucb_index(m: float, n: int, constant: float, horizon: float) -> float:
    """m + sqrt(c ln T / n)."""
    return m + math.sqrt(constant * math.log(horizon) / n)


@compiled
def bernoulli_kl(p: float, q: float) -> float:
    """The divergence of Bernoulli(p) from Bernoulli(q)."""
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@compiled
def kl_upper_bound(m: float, level: float) -> float:
    """The largest q >= m with kl(m, q) <= level.

    Newton's method from the right of the root, where it falls monotonically since kl is convex in q. Two points lie
    there: Pinsker's m + sqrt(level / 2), and the q at which the part of zeros alone, plus m ln m, makes up the level.
    """
    if m >= 1:
        return 1.0
    inner = m * math.log(m) if m > 0 else 0.0
    q = min(m + math.sqrt(level / 2), 1 - (1 - m) * math.exp(-(level - inner) / (1 - m)))
    for _ in range(60):
        if q <= m or q >= 1:
            break
        step = (bernoulli_kl(m, q) - level) * q * (1 - q) / (q - m)
        q -= step
        if abs(step) <= 1e-14:
            break
    return min(max(q, m), 1.0)


@compiled
def kl_ucb_index(m: float, n: int, t: int) -> float:
    """max q with n kl(m, q) <= ln t + 3 ln ln t (Garivier and Cappe 2011: KL-UCB, c = 3)."""
    level = math.log(t)
    if level > 1:
        level += 3 * math.log(level)
    return kl_upper_bound(m, level / n)


@compiled
def cell_bound(zeros: int, ones: int, constant: float, horizon: float) -> float:
    """m_z + sqrt(c ln T / max(1, n_z)), m_z = 0 if nothing was seen."""
    n = zeros + ones
    return (ones / n if n else 0.0) + math.sqrt(constant * math.log(horizon) / max(1, n))
