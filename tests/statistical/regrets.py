"""Regret of comparators over many runs, worked out once for all tests that ask for it."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causal_bandits import MixedGraph, simulate
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.simulation import play, told
from causal_bandits.research.worlds import bilodeau_world, paper_world

Floats = NDArray[np.float64]


HORIZON = 4000


BENIGN, WORST = bilodeau_world("benign", horizon=HORIZON), bilodeau_world("worst", horizon=HORIZON)


DAG = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "C"), ("C", "Y"), ("A", "Y")]), seed=1)


@cache
def regret(name: str, case: str, runs: int = 20) -> Floats:
    """(runs, 2): regret in the first and in the second half."""
    world = {"benign": BENIGN, "worst": WORST, "dag": DAG}[case]
    claimed = ["Z"] if case == "worst" else None
    factory = told(name, world, horizon=HORIZON, separating=claimed)
    found = simulate(factory, world, HORIZON, runs=runs, seed=11, checkpoints=[HORIZON // 2, HORIZON]).regret
    return np.column_stack([found[:, 0], found[:, 1] - found[:, 0]])


def mean(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def simple_regret(name: str, world: Any, budget: int, runs: int) -> Floats:
    """Best mean - mean of the recommended arm, after the whole budget."""
    found = []
    factory = told(name, world, horizon=budget)
    for run in range(runs):
        more = {"budget": budget} if POLICIES[name].simple_regret else {}
        policy = factory(world.problem, seed=run, **more)
        play(policy, world, budget + 20, np.random.default_rng([7, run]))
        found.append(world.means.max() - world.means[world.problem.index(policy.recommend().arm)])
    return np.array(found)
