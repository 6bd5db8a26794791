"""Policies with phases: what they pull, what they estimate, what they keep, from rows one can follow by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.research.comparators import (
    HACUCB,
    LattimoreGeneral,
    LattimoreParallel,
    RapsUCB,
    SenPhases,
    SuccessiveElimination,
    UCBPlus,
    UnknownUCBPlus,
)
from causal_bandits.research.comparators.raps import raps_budget
from causal_bandits.research.comparators.sen import clipped_pool, pair_divergence, phase_allocation
from causal_bandits.research.comparators.ucb_plus import enough_actions
from causal_bandits.research.comparators.ucb_plus_unknown import phases
from causal_bandits.research.simulation import play, told
from causal_bandits.research.worlds import Mechanism, bilodeau_world, paper_world, parallel_world
from tests.contracts.kinds import PARENTS, WORLD
from tests.policies.comparators.plans import DETERMINED, copies, rounds, rows_of
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


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_lattimore_general_estimates(seed: int) -> None:
    """mu_a of Algorithm 2, row by row; the committed arm is its highest, and all arms are pulled from eta."""
    policy = LattimoreGeneral(WORLD.problem, **PARENTS, horizon=200, budget=90, seed=seed)
    arms = rounds(policy, WORLD, 89, seed)
    assert all(policy.allocation[arm] > 0 for arm in arms)
    p = np.asarray(PARENTS["chances"]).reshape(9, 4)
    cells = [2 * a + b for _, (a, b, _), _ in rows_of(policy)]
    slowly = slow.clipped_means(rows_of(policy), p, policy.allocation, policy.hardness, cells)
    np.testing.assert_allclose(policy.scores(), slowly, atol=1e-12)
    rounds(policy, WORLD, 1, seed + 1)
    best = int(policy.scores().argmax())
    assert set(rounds(policy, WORLD, 20)) == {best}
    assert policy.recommend().arm == WORLD.problem.arms[best]


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


def test_sen_divergence_by_hand() -> None:
    """M = 1 + ln E_k[exp(r - 1)]: 1 for the same arm; p = (1/2, 1/2) against (3/4, 1/4): r = 2/3 and 2."""
    p = np.array([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]])
    found = pair_divergence(p)
    np.testing.assert_allclose(np.diag(found), 1)
    assert found[0, 1] == pytest.approx(1 + math.log(0.5 * math.exp(-1 / 3) + 0.5 * math.exp(1)))
    assert found[0, 2] == np.inf
    assert found[2, 0] == pytest.approx(1 + math.log(math.exp(1)))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_sen_estimates(seed: int) -> None:
    """Against the sum over rows and pairs of arms, where some arms do not reach some cells."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 4, size=5)
    p[0], p[1] = [1, 0, 0, 0], [0, 0.5, 0.5, 0]
    rows, counts = [], np.zeros((5, 4, 2), dtype=np.int64)
    for _ in range(60):
        arm = int(rng.integers(5))
        z = int(rng.choice(4, p=p[arm]))
        rows.append((arm, z, int(rng.random() < 0.3 + 0.1 * z)))
        counts[rows[-1]] += 1
    for eps in (1.0, 0.25):
        np.testing.assert_allclose(clipped_pool(counts, p, pair_divergence(p), eps), slow.sen_means(rows, p, eps))


def test_sen_allocation_and_phases() -> None:
    """The linear program by hand: arms that serve only themselves get equal shares, and dropped ones nothing."""
    apart = pair_divergence(np.eye(3))
    np.testing.assert_allclose(phase_allocation(apart, np.array([True, True, True])), 1 / 3)
    np.testing.assert_allclose(phase_allocation(apart, np.array([True, False, True])), [0.5, 0, 0.5], atol=1e-12)
    policy = SenPhases(WORLD.problem, **PARENTS, horizon=600, budget=300, seed=0)
    assert policy.phases == math.ceil(math.log(2) * math.log(10 * math.sqrt(300))) == 4
    assert 144 <= policy._state.counts.quota.sum() <= 144 + 9  # 300 / (1 + 1/2 + 1/3 + 1/4), rounded up arm by arm
    rounds(policy, WORLD, 600)
    assert len(set(rounds(policy, WORLD, 30))) == 1


@pytest.mark.parametrize("shuffle", range(6))
def test_raps_finds_both_parents_in_any_order(shuffle: int) -> None:
    """Null: each of the at most 40 comparisons errs beyond gap / 2 = .1 with 300 rows (standard error of a difference
    at most .041 / effects at least .2). A wrong parent set has probability below 40 * 2 * Phi(-2.4); the seeds are
    fixed, so this is a test of the search: whatever the order, A and B are found and their values are played.
    """
    world = copies(DETERMINED)
    policy = RapsUCB(world.problem, gap=0.2, eps=0.2, budget=300, shuffle=shuffle, seed=0)
    rounds(policy, world, 12_000, seed=shuffle)
    assert sorted(policy.found()) == ["A", "B"]
    names = [set(world.problem.arms[arm].active) for arm in set(rounds(policy, world, 200, seed=9))]
    assert all(each == {"I_A", "I_B"} for each in names)


def test_raps_budget() -> None:
    """n = 3, K = 2, gap = eps = .2, delta = .05: 800 ln(8 * 6 * 27 / .05) = 8130.1."""
    assert raps_budget(3, 2, 0.2, 0.2, 0.05) == 8131
    assert RapsUCB(WORLD.problem, budget=100).hints.startswith(
        "intervention targets, the smallest effects eps and gap; 100"
    )
    assert "heuristic" not in RapsUCB(WORLD.problem).hints


def test_ucb_plus_sizes() -> None:
    """ceil(v^k C(n, k) / C(m, k) ln sqrt(T)), at most all; all when m < k."""
    assert enough_actions(1000, 8, 3, 1, 3, 2000) == math.ceil(3 * 8 / 3 * math.log(math.sqrt(2000))) == 31
    assert enough_actions(10, 8, 3, 1, 3, 2000) == 10
    assert enough_actions(1000, 8, 3, 4, 3, 2000) == 1000
    world = paper_world(MixedGraph([*"ABCDEFGHY"[:5], "Y"], [("A", "Y")]), seed=0)
    policy = UCBPlus(world.problem, parents=1, horizon=100, seed=1)
    assert np.count_nonzero(policy._playable) == math.ceil(2 * 5 / 5 * math.log(10)) == 5
    assert set(rounds(policy, world, 300)) == set(np.flatnonzero(policy._playable).tolist())


def test_ucb_plus_with_unknown_parents_round_by_round() -> None:
    """Played by hand beside it: the leader by its index, the rows of mixtures, phases of T_i rounds with q_i actions.

    T = 200, n = m = 3, v = 2: r = 4, T_1 = 2^5 * 2 = 64 and q_1 = 16, T_2 = 128 and q_2 = 8, then q_3 = 4, q_4 = 2.
    """
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "Y"), ("A", "B"), ("C", "B")]), seed=2)
    policy = UnknownUCBPlus(world.problem, horizon=200, constant=0.5, seed=0)
    assert phases(200, 3, 3, 2) == [(64, 16), (128, 8), (256, 4), (512, 2)]
    actions = [number for number, arm in enumerate(world.problem.arms) if len(arm.active) == 3]
    assert np.flatnonzero(policy._state.counts.allowed).tolist() == actions  # q_1 is more than there are
    rows: dict[int, list[int]] = {}
    mixtures: list[set[int]] = []
    ends, seen = {64, 192, 448}, set()
    rng = np.random.default_rng(5)
    for t in range(1, 500):
        offered = [*np.flatnonzero(policy._state.counts.allowed).tolist(), *range(27, 27 + len(mixtures))]
        assert set(offered[: len(offered) - len(mixtures)]) <= set(actions)
        index = [
            float(np.mean(rows[each])) + math.sqrt(0.5 * math.log(200) / len(rows[each]))
            if rows.get(each)
            else math.inf
            for each in offered
        ]
        leader = offered[int(np.argmax(index))]
        assert policy.leader == leader
        arm = int(world.problem.index(policy.ask()))
        assert arm == leader if leader < 27 else arm in mixtures[leader - 27]
        reward = int(play(policy, world, 1, rng).rewards[0])  # asks again: for a mixture, another draw
        pulled = int(policy.history.rows.arms[-1])
        assert pulled == leader if leader < 27 else pulled in mixtures[leader - 27]
        rows.setdefault(pulled, []).append(reward)
        if leader >= 27:
            rows.setdefault(leader, []).append(reward)
        seen.add(pulled)
        if t in ends:
            mixtures.append(seen)
            seen = set()
    assert len(mixtures) == 3
    assert np.count_nonzero(policy._state.counts.allowed) == 2
