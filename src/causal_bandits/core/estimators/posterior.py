"""The posterior of Algorithm 1: p ~ Dirichlet(own counts + 1), mu(s) ~ Beta(pooled counts + 1), index = p . mu.

Its mean and variance have a closed form, so nothing is sampled to compare sets. With a_s the Dirichlet parameters,
A their sum, m_s and v_s the mean and variance of the Betas,

    E[p . mu] = F / A,   V[p . mu] = (Q - F^2 / A) / (A (A + 1)),
    F = sum a_s m_s,     Q = sum a_s^2 v_s + a_s (m_s^2 + v_s),

and a new row changes one term of F and Q per arm: that is all `learn_through_sets` does. A row whose reward is pending
changes a_s alone, and m_s and v_s when the reward comes.

Deviation: the paper estimates the variance from 200 samples; this is what that estimate converges to.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Floats, Ints, by_reference, compiled
from ..data import CountTables, cell_of
from ..discovery import Findings
from ..problem import Problem


@by_reference
class Pools(NamedTuple):
    """The accepted sets, the rewards each lets arms share, and the posterior moments of every arm through every set."""

    sets: Ints
    """(accepted sets,): which table."""
    groups: Ints
    """(accepted sets, arms): arms with equal numbers share."""
    starts: Ints
    """(accepted sets,): where the set's pooled counts begin."""
    counts: NDArray[np.int32]
    """Flat: set, group, cell, reward."""
    linear: Floats
    """(accepted sets, arms): F."""
    square: Floats
    """(accepted sets, arms): Q."""
    variance: Floats
    """(accepted sets, arms)."""
    totals: Floats
    """(accepted sets, arms): A; the arm's rows that have a value for the set, plus the prior."""
    share_starts: Ints
    """(accepted sets,): where the counts of p begin."""
    shares: NDArray[np.int32]
    """Flat: set, arm, cell; the arm's own rows, pending ones among them."""


@compiled
def beta_moments(zeros: int, ones: int) -> tuple[float, float]:
    """Mean and variance of Beta(ones + 1, zeros + 1)."""
    total = zeros + ones + 2
    mean = (ones + 1) / total
    return mean, mean * (1 - mean) / (total + 1)


@compiled
def _square_term(a: float, mean: float, variance: float) -> float:
    return a * a * variance + a * (mean * mean + variance)


@compiled
def _variance(linear: float, square: float, total: float) -> float:
    return (square - linear * linear / total) / (total * (total + 1))


@compiled
def own_moments(tables: CountTables, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm from its own rows: what naive Thompson Sampling knows."""
    return beta_moments(tables.counts[2 * arm], tables.counts[2 * arm + 1])


@compiled
def _fill(tables: CountTables, pools: Pools) -> None:
    """Pool the counts of each accepted set, then compute all moments afresh."""
    arms = pools.groups.shape[1]
    for index in range(len(pools.sets)):
        table = pools.sets[index]
        cells = tables.cells[table]
        for arm in range(arms):
            source = tables.starts[table] + arm * cells * 2
            sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
            share = pools.share_starts[index] + arm * cells
            for offset in range(cells * 2):
                pools.counts[sink + offset] += tables.counts[source + offset]
                pools.shares[share + offset // 2] += tables.counts[source + offset]
            if len(tables.pending):
                for cell in range(cells):
                    pools.shares[share + cell] += tables.pending[source // 2 + cell]
        for arm in range(arms):
            sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
            share = pools.share_starts[index] + arm * cells
            linear, square, total = 0.0, 0.0, 0.0
            for cell in range(cells):
                a = pools.shares[share + cell] + 1.0
                mean, variance = beta_moments(pools.counts[sink + 2 * cell], pools.counts[sink + 2 * cell + 1])
                linear += a * mean
                square += _square_term(a, mean, variance)
                total += a
            pools.linear[index, arm] = linear
            pools.square[index, arm] = square
            pools.totals[index, arm] = total
            pools.variance[index, arm] = _variance(linear, square, total)


@compiled
def _learn_through(pools: Pools, index: int, cells: int, arm: int, cell: int, reward: int, change: int) -> None:
    """Count one row in a set's pools: mu moves for the arms that share rewards, p for the arm itself.

    `reward` is -1 while it is pending: then p alone moves. `change` is how many rows p gains: 1; 0 if it has this row
    already; -1 to take a pending row back.
    """
    group = pools.groups[index, arm]
    at = pools.starts[index] + (group * cells + cell) * 2
    mean, variance = beta_moments(pools.counts[at], pools.counts[at + 1])
    if reward >= 0:
        pools.counts[at + reward] += 1
    new_mean, new_variance = beta_moments(pools.counts[at], pools.counts[at + 1])
    for other in range(pools.groups.shape[1]):
        if pools.groups[index, other] != group:
            continue
        a = pools.shares[pools.share_starts[index] + other * cells + cell] + 1.0
        new_a = a + change if other == arm else a
        pools.linear[index, other] += new_a * new_mean - a * mean
        pools.square[index, other] += _square_term(new_a, new_mean, new_variance) - _square_term(a, mean, variance)
        if other == arm:
            pools.totals[index, other] += change
        total = pools.totals[index, other]
        pools.variance[index, other] = _variance(pools.linear[index, other], pools.square[index, other], total)
    pools.shares[pools.share_starts[index] + arm * cells + cell] += change


@compiled
def learn_through_sets(tables: CountTables, pools: Pools, arm: int, codes: Ints, reward: int, change: int) -> None:
    """The same in every set for whose variables the row has values."""
    for index in range(len(pools.sets)):
        table = pools.sets[index]
        cell = cell_of(tables, table, codes)
        if cell >= 0:
            _learn_through(pools, index, tables.cells[table], arm, cell, reward, change)


@compiled
def _draw_beta(zeros: int, ones: int, rng: np.random.Generator) -> float:
    """One draw of Beta(ones + 1, zeros + 1); if nothing was seen that is uniform, and cheap."""
    if zeros + ones == 0:
        return rng.random()
    return float(rng.beta(ones + 1.0, zeros + 1.0))


@compiled
def draw_own(tables: CountTables, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean from its own rows."""
    return _draw_beta(tables.counts[2 * arm], tables.counts[2 * arm + 1], rng)


@compiled
def draw_shared(tables: CountTables, pools: Pools, index: int, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean through an accepted set: p . mu."""
    table = pools.sets[index]
    cells = tables.cells[table]
    share = pools.share_starts[index] + arm * cells
    sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
    if cells == 1:
        return _draw_beta(pools.counts[sink], pools.counts[sink + 1], rng)
    total, weighted = 0.0, 0.0
    for cell in range(cells):
        weight = rng.standard_gamma(pools.shares[share + cell] + 1.0)
        reward = _draw_beta(pools.counts[sink + 2 * cell], pools.counts[sink + 2 * cell + 1], rng)
        total += weight
        weighted += weight * reward
    return weighted / total


def no_pools(arms: int) -> Pools:
    """Nothing is shared: naive Thompson Sampling."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, arms), dtype=np.int64)
    return _empty_pools(none, none, nothing)


def _empty_pools(sets: Ints, cells: Ints, groups: Ints) -> Pools:
    """Pools that have counted nothing."""
    lengths = (groups.max(axis=1, initial=-1) + 1) * cells * 2
    share_lengths = groups.shape[1] * cells
    sums = np.empty(groups.shape), np.empty(groups.shape), np.empty(groups.shape), np.empty(groups.shape)
    return Pools(
        sets,
        groups,
        _starts(lengths),
        np.zeros(int(lengths.sum()), dtype=np.int32),
        *sums,
        _starts(share_lengths),
        np.zeros(int(share_lengths.sum()), dtype=np.int32),
    )


def _starts(lengths: Ints) -> Ints:
    starts: Ints = (np.cumsum(lengths) - lengths).astype(np.int64)
    return starts


def make_pools(findings: Findings, tables: CountTables) -> Pools:
    """Pool along the sets that separate at least one intervention variable; all of them have a table."""
    problem, found = findings.layout.problem, findings.used
    if not len(found):
        return no_pools(len(problem.arms))
    patterns, which = np.unique(findings.separated[found], axis=0, return_inverse=True)  # few, where sets are many
    groups = np.array([_groups(problem, tuple(pattern)) for pattern in patterns.tolist()])[which.reshape(-1)]
    pools = _empty_pools(found, tables.cells[found], groups)
    _fill(tables, pools)
    return pools


@lru_cache(maxsize=1024)
def _groups(problem: Problem, separated: tuple[bool, ...]) -> Ints:
    names = problem.intervention_names
    return problem.arm_groups([name for name, yes in zip(names, separated, strict=True) if not yes])
