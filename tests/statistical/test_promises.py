"""What the plain rules promise, measured; see test_comparators for the others."""

import math
from functools import cache, partial

import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import DiscreteSCM, simulate
from causal_bandits.research.comparators import EpsilonGreedy
from causal_bandits.research.simulation import told
from causal_bandits.research.worlds import Mechanism
from tests.statistical.regrets import mean, regret

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
