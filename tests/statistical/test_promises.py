"""What the plain rules and the searches promise, measured; see test_comparators for the others."""

import math
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import DiscreteSCM, MixedGraph, simulate
from causal_bandits.research.comparators import EpsilonGreedy, LuTree
from causal_bandits.research.comparators.maiti import effect_means
from causal_bandits.research.simulation import play, told
from causal_bandits.research.worlds import Mechanism, perfect
from tests.policies.comparators.plans import copies
from tests.statistical.regrets import mean, regret, simple_regret

Floats = NDArray[np.float64]
HORIZON = 4000


def coins(*means: float) -> DiscreteSCM:
    """An arm per mean, and nothing to share."""
    levels = len(means)
    return DiscreteSCM(
        {"A": levels, "Y": 2},
        {"A": Mechanism([], [1.0, *[0.0] * (levels - 1)]), "Y": Mechanism(["A"], [[1 - m, m] for m in means])},
        {"I": {"first": {}, **{level: {"A": level} for level in range(1, levels)}}},
    )


THREE, RARE = coins(0.3, 0.3, 0.8), coins(0.02, 0.02, 0.12)


@cache
def halves(name: str) -> Floats:
    """(runs, 2): regret in the first and in the second half, on three arms with gap .5."""
    factory = told(name, THREE, horizon=HORIZON)
    found = simulate(factory, THREE, HORIZON, runs=80, seed=11, checkpoints=[HORIZON // 2, HORIZON]).regret
    return np.column_stack([found[:, 0], found[:, 1] - found[:, 0]])


LOGARITHMIC = ["ucb1", "ucb-v", "ucb-tuned", "kl-ucb", "ts", "epsilon-greedy"]


@pytest.mark.parametrize("name", [*LOGARITHMIC, pytest.param("successive-elimination", marks=pytest.mark.slow)])
def test_regret_is_logarithmic(name: str) -> None:
    """Null: linear regret, so the second half costs what the first did; measured, half of it is not reached.

    80 runs; first / 2 - second is at least 5 of its standard errors above 0, so a pass under the null is rarer than
    1e-6; measured it is 10 and more, so a false alarm is rarer than 1e-6 too. Seed 11.
    """
    gained, error = mean(halves(name)[:, 0] / 2 - halves(name)[:, 1])
    assert gained > 5 * error


def test_ucb1_stays_below_its_bound() -> None:
    """Auer et al. 2002, Theorem 1: expected regret at most 8 sum ln n / gap + (1 + pi^2 / 3) sum of gaps.

    Null: the mean is below 8 * 2 ln(4000) / .5 + 4.29 = 269.7; not above it by 4 standard errors, false alarms 3e-5.
    """
    total, error = mean(halves("ucb1").sum(axis=1))
    bound = 8 * 2 * math.log(HORIZON) / 0.5 + (1 + math.pi**2 / 3) * 2 * 0.5
    assert bound == pytest.approx(269.7, abs=0.05)
    assert total < bound + 4 * error


def test_ucb_tuned_beats_ucb1() -> None:
    """Auer et al. 2002, sec. 4: no theorem, but less regret than UCB1 in practice.

    Null: no less than half of UCB1's. 80 paired runs, 5 standard errors: a pass under the null is rarer than 1e-6.
    """
    saved, error = mean(halves("ucb1").sum(axis=1) / 2 - halves("ucb-tuned").sum(axis=1))
    assert saved > 5 * error


def test_ucb_v_gains_where_variances_are_small() -> None:
    """Audibert et al. 2009: pulls of an arm grow with its variance, here .02 and .11 where UCB1 must allow for 1/4.

    Null: no less than half of UCB1's regret at T = 20000. 20 runs, 5 standard errors: a pass under the null is rarer
    than 1e-6. Seed 11.
    """
    plain, ours = (
        simulate(told(name, RARE, horizon=20_000), RARE, 20_000, runs=20, seed=11, checkpoints=[20_000]).regret[:, 0]
        for name in ("ucb1", "ucb-v")
    )
    saved, error = mean(plain / 2 - ours)
    assert saved > 5 * error


def test_epsilon_greedy_errs_as_often_as_its_theorem_says() -> None:
    """Auer et al. 2002, Theorem 3: with rate c / d^2, c > 5 and d the smallest gap, a worse arm is played in round n
    with probability c / (d^2 n) + o(1 / n).

    Three arms with gap .5, c = 6: rate 24. Null: 48 (ln 4000 - ln 2000) = 33.27 pulls of the two worse arms in the
    second half, and less than 1 more from the o(1 / n). 100 runs, standard error .54: within 4 of them below and above,
    false alarms 6e-5. Seed 11.
    """
    factory = partial(EpsilonGreedy, rate=24.0)
    found = simulate(factory, THREE, HORIZON, runs=100, seed=11, checkpoints=[HORIZON // 2, HORIZON]).regret
    pulls, error = mean((found[:, 1] - found[:, 0]) / 0.5)
    wanted = 48 * math.log(2)
    assert -4 * error < pulls - wanted < 1 + 4 * error


MEASURED = [pytest.param(name, marks=pytest.mark.slow) for name in ("causal-ts", "safe", "causal-ts-asd")]
"""The same is measured over all classes in `test_regret`; ASD takes its time."""


@pytest.mark.parametrize("name", [pytest.param("graph-posterior", marks=pytest.mark.slow), *MEASURED])
def test_finding_sets_or_graphs_saves_regret(name: str) -> None:
    """De Kroon et al., and what goes beyond them. Null: no less regret than Thompson Sampling on a DAG, 27 arms.

    40 paired runs, 4 standard errors: a pass under the null is rarer than 1e-4; measured it is 8 and more, so a false
    alarm is as rare. Seed 11.
    """
    saved, error = mean(regret("ts", "dag", 40).sum(axis=1) - regret(name, "dag", 40).sum(axis=1))
    assert saved > 4 * error


TREE = [(f"X{child // 2}", f"X{child}") for child in range(2, 16)]
"""A binary tree of 15 variables."""


def tree_world(parent: str) -> DiscreteSCM:
    return copies(MixedGraph([*(f"X{i}" for i in range(1, 16)), "Y"], [*TREE, (parent, "Y")]), singles=True)


def played(policy: LuTree) -> set[str]:
    """The levers of the arms that it still plays."""
    return {
        next(iter(policy.problem.arms[arm].active)) for arm in np.flatnonzero(policy._state.counts.allowed).tolist()
    }


@pytest.mark.slow
def test_lu_finds_the_parent_within_its_rounds() -> None:
    """Lu et al. 2021, Lemma 1: with B rows per question the parent is found with probability at least 1 - delta, within
    K B (2 + d) log2 n rounds (d = 3 neighbors at most, n = 15), besides the B rows of do().

    Null: probability .95. 20 runs over all depths; at least 15 are right with probability above 1 - 4e-4, and the bound
    is far from tight. The weakest ancestor moves the mean by .5 * .9^4 = .33, so gap = eps = .3 is true. Seeds 0 to 19.
    """
    right = 0
    for seed in range(20):
        parent = f"X{1 + seed % 15}"
        world = tree_world(parent)
        policy = told("lu-tree", world, horizon=HORIZON)(world.problem, gap=0.3, eps=0.3, delta=0.05, seed=seed)
        assert isinstance(policy, LuTree)
        rounds = policy.budget + math.floor(2 * policy.budget * (2 + 3) * math.log2(15))
        play(policy, world, rounds, np.random.default_rng([3, seed]))
        right += played(policy) == {f"I_{parent}"}
    assert right >= 15


def test_lu_stops_paying_and_ucb1_does_not() -> None:
    """Lu et al. 2021, Theorem 1: only the search pays for the number of variables, and its cost does not grow with T.

    31 arms, T = 50000, 200 rows per question (fewer than the paper's). Null: no better than UCB1. A comparison errs
    beyond 3 standard errors, six questions, so a run errs with probability below .03; 8 of 10 runs must have less
    regret than the mean of UCB1 less 5 standard errors (3 errors of 10: false alarms below 3e-3), and cost less in the
    second half than UCB1. Seed 3.
    """
    world, horizon = tree_world("X13"), 50_000
    ours, plain = (
        simulate(partial(told(name, world, horizon=horizon), **more), world, horizon, runs=10, seed=3, checkpoints=ends)
        for name, more, ends in (
            ("lu-tree", {"gap": 0.3, "eps": 0.3, "budget": 200}, [horizon // 2, horizon]),
            ("ucb1", {}, [horizon // 2, horizon]),
        )
    )
    total, error = mean(plain.regret[:, 1])
    second, spread = mean(plain.regret[:, 1] - plain.regret[:, 0])
    better = ours.regret[:, 1] < total - 5 * error
    flat = ours.regret[:, 1] - ours.regret[:, 0] < second - 5 * spread
    assert np.count_nonzero(better & flat) >= 8


def test_observed_effects_are_right_under_hidden_causes() -> None:
    """Maiti et al. 2022: E[Y | do(x)] from do() alone, where E[Y | x] is something else.

    Null: the mean over 400 tables of 500 rows is the truth up to the bias of ratios, below 1 / 500. Two values at 4
    standard errors: false alarms 1.3e-4. E[Y | x] is off by more than 10 standard errors. Seed 9.
    """
    rng = np.random.default_rng(9)
    world = DiscreteSCM(
        {"X": 2, "Z": 2, "Y": 2},
        {
            "X": Mechanism(["U"], [[0.8, 0.2], [0.2, 0.8]]),
            "Z": Mechanism(["X"], [[0.7, 0.3], [0.3, 0.7]]),
            "Y": Mechanism(["Z", "U"], lambda z, u: [0.9 - 0.3 * z - 0.5 * u, 0.1 + 0.3 * z + 0.5 * u]),
        },
        {"I_X": perfect("X")},
        noise={"U": [0.5, 0.5]},
    )
    graph = world.graph
    exact = world.distribution({}, graph.nodes)
    truth = np.array([world.distribution({"I_X": level}, ["Y"])[1] for level in (0, 1)])
    tables = rng.multinomial(500, exact.ravel(), size=400).reshape(400, 2, 2, 2)
    found = np.array([effect_means(table, graph, "X") for table in tables])
    naive = tables.sum(axis=2)[:, :, 1] / tables.sum(axis=(2, 3))
    error = found.std(axis=0, ddof=1) / 20
    assert np.all(np.abs(found.mean(axis=0) - truth) < 1 / 500 + 4 * error)
    assert np.any(np.abs(naive.mean(axis=0) - truth) > 10 * naive.std(axis=0, ddof=1) / 20)


def confounded_bandit() -> DiscreteSCM:
    """W -> B, B2, Y and B -> Y (a back-door), V -> B2 -> Y and V <-> Y (a front door), eight more that do nothing."""
    extra = [f"N{number}" for number in range(8)]

    def y(w: int, b: int, b2: int, u: int) -> list[float]:
        one = 0.1 + 0.2 * w + 0.4 * b + 0.1 * b2 + 0.1 * u
        return [1 - one, one]

    mechanisms: dict[str, Any] = {
        "W": Mechanism([], [0.5, 0.5]),
        "V": Mechanism(["U"], [[0.6, 0.4], [0.4, 0.6]]),
        "B": Mechanism(["W"], [[0.4, 0.6], [0.6, 0.4]]),
        "B2": Mechanism(["W", "V"], lambda w, v: [0.7 - 0.2 * (w + v), 0.3 + 0.2 * (w + v)]),
        "Y": Mechanism(["W", "B", "B2", "U"], y),
        **{name: Mechanism([], [0.5, 0.5]) for name in extra},
    }
    names = ["W", "V", "B", "B2", *extra]
    return DiscreteSCM(
        dict.fromkeys([*names, "Y"], 2),
        mechanisms,
        {f"I_{name}": perfect(name) for name in names},
        noise={"U": [0.5, 0.5]},
        arms=[{}, *({f"I_{name}": level} for name in names for level in (0, 1))],
    )


@pytest.mark.slow
def test_maiti_finds_a_good_arm_with_fewer_rounds() -> None:
    """Maiti et al. 2022, Theorem 3.1: simple regret sqrt(m / T) up to logarithms where a plain policy has sqrt(K / T).

    25 arms, 200 rounds. Null: no better than UCB1's recommendation. 240 runs each; the difference is at least 4 of its
    standard errors: a pass under the null is rarer than 1e-4; measured it is 7, so a false alarm is rarer than 2e-3.
    Seed 7.
    """
    world = confounded_bandit()
    plain, ours = (simple_regret(name, world, 200, 240) for name in ("ucb1", "maiti-observing"))
    error = np.sqrt((plain.var(ddof=1) + ours.var(ddof=1)) / 240)
    assert plain.mean() - ours.mean() > 4 * error
