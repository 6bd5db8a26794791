"""Is a mean beyond a limit? Evidence that may be looked at after every row.

Let m be a mean, and the null m <= limit. With values x_1, x_2, ... scaled to 0..1 (and the limit with them), every p
above the limit gives a process

    E_t(p) = prod_i (p / limit)^x_i ((1 - p) / (1 - limit))^(1 - x_i),

whose expectation never grows while m <= limit: the factor is convex in x, so its mean is largest for x of 0 or 1, and
then it is m p / limit + (1 - m)(1 - p) / (1 - limit) <= 1. The same is so of the average of E_t(p) over values of p
fixed beforehand, and by Ville's inequality the chance that it *ever* reaches 1 / rate is at most the rate, however
often one looks and whatever decides when the next value comes. If m is beyond the limit, E grows without bound. Nothing
here needs large numbers.

Values without bounds have no such process; they are taken as normal with the variance seen so far, from `FEWEST` values
on. That holds approximately, and for large numbers.
"""

import math

import numpy as np

from ..compiled import Floats

SHIFTS = np.geomspace(0.1, 4.0, 16)
"""Values of p above the limit, in log-odds from it."""
EFFECTS = np.geomspace(0.05, 2.0, 16)
"""The same for values without bounds, in standard deviations."""
FEWEST = 20


def log_evidence(
    n: Floats, total: Floats, squares: Floats, *, limit: float, above: bool, ends: tuple[float, float]
) -> Floats:
    """The logarithm of E for means of `n` values with these sums, that lie between `ends`.

    With `above` the evidence is that a mean is above the limit, otherwise that it is below.
    """
    low, high = ends
    if not (math.isfinite(low) and math.isfinite(high)):
        return _normal_evidence(n, total, squares, limit, above)
    inside, limit = (total - n * low) / (high - low), (limit - low) / (high - low)
    if not above:
        inside, limit = n - inside, 1 - limit
    if limit <= 0:
        return np.where(inside > 0, np.inf, 0.0)
    p = 1 / (1 + (1 - limit) / limit * np.exp(-SHIFTS))
    each = np.outer(inside, np.log(p / limit)) + np.outer(n - inside, np.log((1 - p) / (1 - limit)))
    return _log_mean(each)


def _normal_evidence(n: Floats, total: Floats, squares: Floats, limit: float, above: bool) -> Floats:
    rows = np.maximum(n, 1)
    spread = np.sqrt(np.maximum(squares - total**2 / rows, 0.0) / np.maximum(n - 1, 1))
    beyond = (total - n * limit) * (1 if above else -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(spread > 0, beyond / spread, np.where(beyond > 0, np.inf, 0.0))
    each = np.outer(scaled, EFFECTS) - np.outer(n, EFFECTS**2 / 2)
    return np.where(n >= FEWEST, _log_mean(each), 0.0)


def _log_mean(each: Floats) -> Floats:
    """The logarithm of the mean of exponentials, row by row."""
    most = each.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        found: Floats = most[:, 0] + np.log(np.exp(each - most).mean(axis=1))
    return np.where(np.isinf(most[:, 0]), most[:, 0], found)
