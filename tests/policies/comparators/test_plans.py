"""Policies with phases: what they pull, what they estimate, what they keep, from rows one can follow by hand."""

import math
from typing import Any

import numpy as np

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.research.comparators import (
    HACUCB,
    LattimoreParallel,
    SuccessiveElimination,
    UCBPlus,
)
from causal_bandits.research.comparators.perfect_interventions import enough_actions
from causal_bandits.research.simulation import told
from causal_bandits.research.worlds import Mechanism, bilodeau_world, paper_world, parallel_world
from tests.policies.comparators.plans import rounds, rows_of
from tests.reference import comparators as slow


def test_successive_elimination_by_hand() -> None:
    """Two arms of three pay; with K = 3 and delta = .1, 2 sqrt(ln(120 n^2) / n) first falls below 1 at n = 51."""
    reach = [2 * math.sqrt(math.log(4 * 3 * n * n / 0.1) / n) for n in range(1, 80)]
    first = next(n for n, each in enumerate(reach, start=1) if each <= 1)
    assert first == 51
    world = DiscreteSCM({"A": 2, "Y": 2}, {"A": Mechanism([], [0.5, 0.5]), "Y": Mechanism([], [0, 1])}, _switch())
    policy = SuccessiveElimination(world.problem, seed=0)
    arms = rounds(policy, world, 3 * first + 40)
    for n in range(first):
        assert sorted(arms[3 * n : 3 * n + 3]) == [0, 1, 2]
    assert sorted(set(arms[3 * first :])) == [0, 2]
    assert abs(arms[3 * first :].count(0) - 20) <= 1  # the two that are left continue in turn


def _switch() -> dict[str, Any]:
    zero = Mechanism([], [1, 0])
    return {"I": {"a": {}, "b": {"Y": zero}, "c": {"A": 1}}}


def test_hac_ucb_explores_as_often_as_the_paper_says() -> None:
    """T = 2000, K = 20: told round(2.236 + 1) = 3 pulls per arm; estimating ceil(8.94) = 9, then ceil(2.24) = 3."""
    world = bilodeau_world("benign", horizon=2000)
    known = told("hac-ucb-told", world, horizon=2000)(world.problem, seed=0)
    assert isinstance(known, HACUCB)
    arms = rounds(known, world, 100)
    assert np.bincount(arms[:60]).tolist() == [3] * 20
    assert np.bincount(arms[60:], minlength=20).max() > 3
    estimating = told("hac-ucb", world, horizon=2000)(world.problem, seed=0)
    assert isinstance(estimating, HACUCB)
    arms = rounds(estimating, world, 179)
    assert np.bincount(arms).max() == 9
    assert estimating._state.chances.shape == (20, 0)
    rounds(estimating, world, 1, seed=2)
    first = estimating._state.chances.copy()
    seen = np.zeros((20, 2))
    for arm, (z,), _ in rows_of(estimating):
        seen[arm, z] += 1
    np.testing.assert_allclose(first, seen / 9)
    rounds(estimating, world, 60, seed=3)
    assert np.bincount([row[0] for row in rows_of(estimating)]).tolist() == [12] * 20
    np.testing.assert_array_equal(estimating._state.chances, first)


def test_lattimore_parallel_by_hand() -> None:
    """100 rounds: 50 of do(), then 50 over the arms that were seen least, then the best of all."""
    world = parallel_world(3, rare=1, chance=0.05)
    policy = LattimoreParallel(world.problem, graph=world.graph, horizon=200, budget=100, seed=0)
    assert set(rounds(policy, world, 50)) == {0}
    observed = rows_of(policy)
    share = [np.mean([codes[(arm - 1) // 2] == (arm - 1) % 2 for _, codes, _ in observed]) for arm in range(1, 7)]
    q = [min(share[place], share[place + 1]) for place in (0, 2, 4)]
    m = next(tau for tau in range(2, 7) if sum(each < 1 / tau for each in q) <= tau)
    rare = [arm for arm in range(1, 7) if share[arm - 1] <= 1 / m]
    pulls = round(50 / len(rare))
    arms = rounds(policy, world, pulls * len(rare), seed=2)
    assert np.bincount(arms, minlength=7).tolist() == [pulls if arm in rare else 0 for arm in range(7)]
    means = [np.mean([r for _, _, r in observed])]
    for arm in range(1, 7):
        if arm in rare:
            means.append(np.mean(slow.own(rows_of(policy), arm)))
        else:
            means.append(np.mean([r for _, codes, r in observed if codes[(arm - 1) // 2] == (arm - 1) % 2]))
    assert set(rounds(policy, world, 20, seed=3)) == {int(np.argmax(means))}


def test_ucb_plus_sizes() -> None:
    """ceil(v^k C(n, k) / C(m, k) ln sqrt(T)), at most all; all when m < k."""
    assert enough_actions(1000, 8, 3, 1, 3, 2000) == math.ceil(3 * 8 / 3 * math.log(math.sqrt(2000))) == 31
    assert enough_actions(10, 8, 3, 1, 3, 2000) == 10
    assert enough_actions(1000, 8, 3, 4, 3, 2000) == 1000
    world = paper_world(MixedGraph([*"ABCDEFGHY"[:5], "Y"], [("A", "Y")]), seed=0)
    policy = UCBPlus(world.problem, parents=1, horizon=100, seed=1)
    assert np.count_nonzero(policy._playable) == math.ceil(2 * 5 / 5 * math.log(10)) == 5
    assert set(rounds(policy, world, 300)) == set(np.flatnonzero(policy._playable).tolist())
