"""How little regret is possible: asymptotic lower bounds of a discrete world, and what its mediators are worth.

With gaps D_a, p_a(s) = P(S = s | a), m(s) = E[Y | S = s] and the best mean mu*, a policy that learns in every world it
may be in has regret of at least C ln T in the long run, where C depends on what it knows:

    nothing             C_0 = sum_a D_a / kl(mu_a, mu*)                              Lai and Robbins (1985)
    S separates         C_S = sum_a D_a / K_a, K_a = max_v E ln(1 - v (m(S) - mu*)), where a best arm reaches every cell
                        (Honda and Takemura 2010, for the reward m(S)); else the program of Graves and Lai (1997)
    ... and P(S | a)    C_P = 0 where a best arm reaches every cell; else the same program with P(S | a) held

docs/explanation/limits.md has the derivations. Cells that no arm reaches are left out of all three.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.compiled import Bools, Floats, Ints

GAP = 1e-10
"""Arms whose means differ by less are equally good, and cells that are less probable are not reached."""
HALVINGS = 45
MOST_CUTS = 200
REFINED = 4
GRID = np.concatenate(
    [np.geomspace(1e-6, 0.01, 12), np.linspace(0.01, 0.99, 99)[1:-1], 1 - np.geomspace(0.01, 1e-9, 24)]
)
"""Of the way from E[Y | s] to 1, where alternatives are looked for first."""
LARGEST = 1 - 1e-12
"""Of a mean in an alternative world: at 1 its divergence may be infinite."""


class Limits(NamedTuple):
    """Constants C of a world's lower bounds C ln T, and the share of the reward's variance behind its mediators."""

    c0: float
    """Without mediators."""
    cs: float
    """Where it is known that `separating` separates."""
    cp: float
    """Where P(S | arm) of that set is known as well."""
    eta2: float
    """Var(E[Y | S]) / Var(Y) under the best arm: to second order, cs / c0."""
    separating: tuple[str, ...]
    """The set S."""
    separates: bool
    """Whether it does. If not, the bound is c0, and the other numbers say what the set would be worth if it did."""


def limits_of(chances: Floats, means: Floats, separating: Sequence[str], tolerance: float = 1e-4) -> Limits:
    """The limits of a world from P(S = s | arm), (arms, cells), and E[Y | S = s, arm], of the same shape.

    Where E[Y | s] differs between arms it is averaged over them, weighted by P(s | arm).

    >>> both = np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([[0.1, 0.6], [0.1, 0.6]])
    >>> found = limits_of(*both, ["A"])
    >>> round(found.c0, 2), round(found.cs, 2), found.cp, round(found.eta2, 2)
    (5.97, 1.36, 0.0, 0.25)
    """
    reached = chances > GAP
    weights = np.where(reached, chances, 0.0)
    kept = weights.sum(axis=0) > 0
    m = np.where(reached, means * weights, 0.0).sum(axis=0)[kept] / weights.sum(axis=0)[kept]
    apart = np.where(reached[:, kept], np.abs(means[:, kept] - m), 0.0).max()
    own = np.where(reached, weights * means, 0.0).sum(axis=1)
    p = weights[:, kept]
    best = int((p @ m).argmax())
    variance = float((p @ m)[best] * (1 - (p @ m)[best]))
    explained = float(p[best] @ m**2 - (p[best] @ m) ** 2)
    return Limits(
        c0=lai_robbins(own),
        cs=separated_limit(p, m, tolerance),
        cp=separated_limit(p, m, tolerance, known=True),
        eta2=explained / variance if variance > 0 else 0.0,
        separating=tuple(separating),
        separates=bool(apart <= 1e-9),
    )


def divergence(p: Floats, q: Floats) -> Floats:
    """kl(p, q) of Bernoulli variables."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(p > 0, p * np.log(p / q), 0.0)
        zeros = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(ones + zeros)


def lai_robbins(means: Floats) -> float:
    """C_0 of arms with these means."""
    gaps = means.max() - means
    worse = gaps > GAP
    return float((gaps[worse] / divergence(means[worse], means.max())).sum())


def least_divergence(p: Floats, k: Floats, goal: float) -> Floats:
    """For each row k of cell means: the least KL(p, q) over q with E_q k >= goal; infinite if no k is above goal.

    Every row may have its own p, or all share one.

    By duality the maximum of E_p ln(1 - v (k - goal)) over 0 <= v <= 1 / (max k - goal), by bisection of its slope.
    """
    over = k - goal
    possible = over.max(axis=1) > 0
    low, high = np.zeros(len(k)), 1 / np.where(possible, over.max(axis=1), 1.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        rising = (p * over / (1 - middle[:, None] * over)).sum(axis=1) < 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    value = (p * np.log1p(-low[:, None] * over)).sum(axis=1)
    return np.where(possible, np.maximum(value, 0.0), np.inf)


def separated_limit(p: Floats, m: Floats, tolerance: float = 1e-4, *, known: bool = False) -> float:
    """C_S from P(s | arm) and E[Y | s], or C_P with `known`, to within a relative `tolerance`."""
    means = p @ m
    goal = float(means.max())
    optimal = means >= goal - GAP
    missed: Bools = np.asarray(~(p[optimal] > 0).any(axis=0))
    arms, copies = np.unique(p[~optimal].round(14), axis=0, return_counts=True)
    cost = copies * (goal - arms @ m)
    if not len(arms) or (known and not missed.any()):
        return 0.0
    if not missed.any():
        return float((cost / least_divergence(arms, np.broadcast_to(m, arms.shape), goal)).sum())
    return _cutting_planes(Program(arms, copies, cost, m, goal, missed, known), tolerance)


class Program(NamedTuple):
    """The program of Graves and Lai: pulls c of the worse arms, times ln T, that exclude every alternative.

        minimize  sum_a cost(a) c(a)    such that for each arm a, in every world in which it is at least as good as the
        best one, although the best one behaves as it does,   c(a) KL(p_a, q) + sum_s rows(s) kl(m(s), k(s)) >= 1

    q is the arm's P(S) there, k has E[Y | s], which equals m in the cells that a best arm reaches, and
    rows(s) = sum_b c(b) p_b(s).
    """

    p: Floats
    """(arms, cells): P(s | arm) of the worse arms; those that are alike stand here once."""
    copies: Ints
    """(arms,): how many are alike."""
    cost: Floats
    """(arms,): what a pull of each of them costs in all."""
    m: Floats
    goal: float
    """The best mean."""
    missed: Bools
    """(cells,): those that no best arm reaches."""
    known: bool
    """Whether P(S | arm) is known: q = p."""

    def cut(self, arm: int, pulls: Floats) -> Floats | None:
        """Information in a pull of each arm about the alternative for `arm` that is hardest to exclude by `pulls`."""
        shared = self.p * self.copies[:, None]
        rows = pulls @ shared
        found = (_means_differ if self.known else _both_differ)(self, self.p[arm], pulls[arm], rows)
        if found is None:
            return None
        own, cells = found
        price: Floats = shared @ cells
        price[arm] += own
        return price


def _both_differ(program: Program, p: Floats, pulls: float, rows: Floats) -> tuple[float, Floats] | None:
    """KL(p, q) and kl(m, k) of the alternative with the least `pulls` KL(p, q) + sum_s rows(s) kl(m(s), k(s)).

    Given the multiplier v of `least_divergence`, stationarity asks of every missed cell

        rows (k - m) / (k (1 - k)) = pulls p v / (1 - v (k - goal))

    so k in one of them gives v, and v gives k in the others, where it is a root of a quadratic. Each cell's curve is
    searched on a grid, which is refined around its best point. One more candidate has q = p.
    """
    m, goal, missed, share = program.m, program.goal, program.missed, pulls * p
    best = _means_differ(program, p, pulls, rows)
    least = np.inf if best is None else float(best[1] @ rows)
    for cell in np.flatnonzero(missed).tolist():
        x = GRID
        for _ in range(REFINED):
            own_mean = m[cell] + (1 - m[cell]) * x
            slope = rows[cell] * (own_mean - m[cell]) / (own_mean * (1 - own_mean))
            v = np.maximum(slope / np.maximum(share[cell] + slope * (own_mean - goal), 1e-300), 0.0)
            k = np.where(missed, _smaller_root(share, rows, m, goal, np.minimum(v, 1e12)[:, None]), m)
            k[:, cell] = own_mean
            own, cells = least_divergence(p, k, goal), np.where(missed, divergence(m, k), 0.0)
            total = pulls * own + cells @ rows
            at = int(np.argmin(total))
            if total[at] < least:
                best, least = (float(own[at]), cells[at]), total[at]
            x = np.linspace(x[max(at - 1, 0)], x[min(at + 1, len(x) - 1)], 17)
    return best


def _smaller_root(share: Floats, rows: Floats, m: Floats, goal: float, v: Floats) -> Floats:
    """(v, cells): the smallest k from m to 1 at which the two sides are equal."""
    a = v * (share - rows)
    b = rows * (1 + v * goal + v * m) - v * share
    c = -rows * m * (1 + v * goal)
    below = b + np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    return np.clip(np.where((rows > 0) & (below > 0), -2 * c / np.where(below > 0, below, 1.0), LARGEST), m, LARGEST)


def _means_differ(program: Program, p: Floats, _pulls: float, rows: Floats) -> tuple[float, Floats] | None:
    """The same with q = p, which is convex: the multiplier of p @ k >= goal is found by bisection."""
    m, missed = program.m, program.missed

    def means(multiplier: float) -> Floats:
        """rows (k - m) = multiplier p k (1 - k) in missed cells."""
        a = multiplier * p
        b = rows - a
        k = np.where(a > 0, (np.sqrt(b * b + 4 * a * rows * m) - b) / np.where(a > 0, 2 * a, 1.0), m)
        return np.where(missed, np.clip(k, m, LARGEST), m)

    low, high = 1e-12, 1e15
    if means(high) @ p < program.goal:
        return None  # no alternative, nothing to exclude
    for _ in range(3 * HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if means(middle) @ p < program.goal else (low, middle)
    return 0.0, np.where(missed, divergence(m, means(high)), 0.0)


def _cutting_planes(program: Program, tolerance: float) -> float:
    """Kelley's method: alternatives found so far make a linear program, whose solution shows which ones are missing.

    It bounds C from below. Pulls in which the weakest alternative has information x are enough once they are divided by
    x, which bounds C from above.
    """
    from scipy.optimize import linprog  # slow to import, and little needs it

    arms = len(program.p)
    cuts: list[Floats] = []
    here = best = np.ones(arms)
    least = np.inf
    for _ in range(MOST_CUTS):
        found = [cut for arm in range(arms) if (cut := program.cut(arm, here)) is not None]
        if not found:
            return 0.0
        cuts += found
        weakest = min(float(cut @ here) for cut in found)
        if weakest > 0 and program.cost @ here / weakest < least:
            best, least = here / weakest, float(program.cost @ here / weakest)
        solved = linprog(program.cost, -np.array(cuts), -np.ones(len(cuts)))
        if solved.x is None or least - solved.fun <= tolerance * least:
            break
        here = 0.5 * best + 0.5 * solved.x
    return least
