"""How high a mean may be that is believed to be a mixture of Betas: the tail of a Beta, and the mixture's quantile."""

import math

from ...core.compiled import Floats, compiled

TERMS, CLOSE, TINY = 300, 1e-13, 1e-300
"""Of the continued fraction: the most terms, the change that ends it, and what stands for a denominator of 0."""
HALVINGS = 40
NEGLIGIBLE = 1e-12
"""Parts with less weight are left out: the chances looked for are far larger."""


@compiled
def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b) (DLMF 8.17.22), evaluated forwards; quick for x < (a + 1) / (a + b + 2)."""
    upper, lower = 1.0, 1.0 - (a + b) * x / (a + 1)
    lower = 1.0 / (lower if abs(lower) > TINY else TINY)
    found = lower
    for m in range(1, TERMS):
        for odd in range(2):
            if odd:
                step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            else:
                step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            lower, upper = 1.0 + step * lower, 1.0 + step / upper
            lower = 1.0 / (lower if abs(lower) > TINY else TINY)
            upper = upper if abs(upper) > TINY else TINY
            change = lower * upper
            found *= change
        if abs(change - 1.0) < CLOSE:
            break
    return found


@compiled
def beta_tail(x: float, a: float, b: float) -> float:
    """P(B > x) of a Beta(a, b).

    >>> round(beta_tail(0.25, 1.0, 1.0), 9), round(beta_tail(0.5, 2.0, 1.0), 9)
    (0.75, 0.75)
    """
    if x <= 0 or x >= 1:
        return 1.0 if x <= 0 else 0.0
    log = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    if x < (a + 1) / (a + b + 2):
        return 1.0 - math.exp(log) * _fraction(x, a, b) / a
    return math.exp(log) * _fraction(1.0 - x, b, a) / b


@compiled
def upper_quantile(chance: float, weights: Floats, ones: Floats, zeros: Floats) -> float:
    """The x that a mixture of Beta(ones, zeros) exceeds with a chance, by halving [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        x = (low + high) / 2
        above = 0.0
        for place in range(len(weights)):
            if weights[place] > NEGLIGIBLE:
                above += weights[place] * beta_tail(x, ones[place], zeros[place])
        if above > chance:
            low = x
        else:
            high = x
    return (low + high) / 2
