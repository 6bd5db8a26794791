"""Algorithm 2's variance with few rows: closed form and bootstraps, against the truth and against each other.

`python -m benchmarks.regression_variance`: in three linear worlds, through every set, right or wrong, with equally many
rows of every arm. First the mean of each variance over many data sets, divided by the variance of the estimate among
them (1 is right; standard error sqrt(2 / data sets)); then closed form / 2,000 bootstraps on single data sets (standard
error of one ratio 3%). The smallest, the geometric mean and the largest over sets and arms.
"""

import argparse
import itertools
from typing import NamedTuple

import numpy as np

from causal_bandits import LinearGaussianSCM, MixedGraph
from causal_bandits.core.compiled import Floats
from causal_bandits.core.data import DesignLayout, Rows, add_rows
from causal_bandits.core.discovery import KnownSets
from causal_bandits.core.estimators.regression import bootstrap_variance, means_through, real_pools
from causal_bandits.research.worlds import random_linear_world, scale, shift

ROWS = (10, 20, 50, 100)
FEW, MANY, SINGLE = 50, 2000, 20
"""Bootstraps of each of many data sets and of each of a few; how many are few."""
WORLDS = {
    "chain": random_linear_world(MixedGraph(list("ABY"), [("A", "B"), ("B", "Y")]), seed=1),
    "confounded": random_linear_world(MixedGraph(list("ABY"), [("A", "B"), ("B", "Y")], [("A", "Y")]), seed=2),
    "loud": LinearGaussianSCM(
        {("A", "B"): 1.0, ("B", "Y"): -0.8, ("A", "Y"): 0.5},
        {"I_A": {0: {}, 1: {"A": shift(2.0)}, 2: {"A": scale(2.0)}}, "I_Y": {0: {}, 1: {"Y": scale(1.5)}}},
    ),
}


class Estimated(NamedTuple):
    """Of one data set, for every set and arm."""

    mean: Floats
    closed: Floats
    bootstrapped: Floats


def estimate(world: LinearGaussianSCM, rows: int, bootstraps: int, rng: np.random.Generator) -> Estimated:
    """Draw a data set, and estimate every arm through every set."""
    problem = world.problem
    names, levers = problem.observed_names, list(problem.intervention_names)
    told = {each: levers for size in range(len(names) + 1) for each in itertools.combinations(names, size)}
    layout = DesignLayout.of(problem)
    parts = [world.sample(arm, rows, rng) for arm in problem.arms]
    drawn = Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in Rows._fields))
    moments, values = layout.empty(), layout.design(drawn)
    add_rows(moments, drawn.arms, values)
    pools = real_pools(KnownSets(told).discover(layout, moments, len(drawn.arms)))
    mean, variance = means_through(moments, moments, pools, True)
    return Estimated(mean, variance, bootstrap_variance(moments, pools, drawn.arms, values, bootstraps, rng))


def ratios(world: LinearGaussianSCM, rows: int, data_sets: int, seed: int) -> list[Floats]:
    """Closed form / truth, bootstrap / truth, and closed form / many bootstraps of single data sets."""
    rng = np.random.default_rng(seed)
    many = [estimate(world, rows, FEW, rng) for _ in range(data_sets)]
    truth = np.array([each.mean for each in many]).var(axis=0, ddof=1)
    single = [estimate(world, rows, MANY, rng) for _ in range(SINGLE)]
    return [
        np.mean([each.closed for each in many], axis=0) / truth,
        np.mean([each.bootstrapped for each in many], axis=0) / truth,
        np.array([each.closed / each.bootstrapped for each in single]),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("world       rows  closed form / truth    bootstrap / truth     closed form / bootstraps, single")
    for (name, world), rows in itertools.product(WORLDS.items(), ROWS):
        shown = [
            f"{ratio.min():.2f} {np.exp(np.log(ratio).mean()):.2f} {ratio.max():.2f}"
            for ratio in ratios(world, rows, options.data_sets, options.seed)
        ]
        print(f"{name:<12}{rows:>4}  " + "        ".join(shown), flush=True)


if __name__ == "__main__":
    main()
