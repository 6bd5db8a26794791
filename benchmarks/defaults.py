"""`python -m benchmarks.defaults [WORLDS ...]`: the safe policy and the paper's, over kinds of worlds and horizons.

A line gives the regret relative to Thompson Sampling, paired, with its standard error, and the share of the runs that
still lose more than 0.01 per round in the last quarter.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.research.experiments.curves import paired_ratio
from causal_bandits.research.experiments.families import class_world, random_world, structureless_world
from causal_bandits.research.simulation.one_run import World

POLICIES: dict[str, Callable[..., cb.CausalThompsonSampling | cb.SafePolicy | cb.ThompsonSampling]] = {
    "ts": cb.ThompsonSampling,
    "causal-ts-direct": cb.CausalThompsonSampling,
    "safe": cb.SafePolicy,
}


def confounded_world(number: int, seed: np.random.SeedSequence) -> World:
    """A class of 4-node DAGs with a hidden common cause of each pair of nodes in one of three cases."""
    graph = class_world(number, seed).graph
    rng = np.random.default_rng(seed.spawn(1)[0])
    pairs = [(a, b) for place, a in enumerate(graph.nodes) for b in graph.nodes[:place] if rng.random() < 1 / 3]
    return cb.worlds.paper_world(cb.MixedGraph(graph.nodes, graph.directed, pairs), seed=rng)


class Kind(NamedTuple):
    """Worlds, how many, and for how long."""

    world: Callable[[int, np.random.SeedSequence], World]
    worlds: int
    runs: int
    horizon: int


KINDS = {
    "nodes5": Kind(partial(random_world, 5), 100, 1, 2000),
    "nodes6": Kind(partial(random_world, 6), 40, 1, 2000),
    "nodes8": Kind(partial(random_world, 8), 6, 1, 2000),
    "confounded": Kind(confounded_world, 64, 4, 2000),
    "short": Kind(class_world, 64, 4, 500),
    "long": Kind(class_world, 64, 4, 20_000),
    "long-structureless": Kind(structureless_world, 64, 8, 20_000),
}


def measured(kind: Kind) -> dict[str, tuple[float, float, float, float]]:
    """Per policy: mean regret, ratio to Thompson Sampling, its standard error, share of runs with linear regret."""
    regret = {name: np.empty((kind.worlds, kind.runs, 2)) for name in POLICIES}
    for number in range(kind.worlds):
        for run in range(kind.runs):
            of_world, of_draws, of_policy = np.random.SeedSequence(10, spawn_key=(number, run)).spawn(3)
            world = kind.world(number, of_world)
            for name, make in POLICIES.items():
                policy = make(world.problem, seed=np.random.default_rng(of_policy))
                lost = cb.simulation.play(policy, world, kind.horizon, np.random.default_rng(of_draws)).regret(
                    world.means
                )
                regret[name][number, run] = lost[-1], (lost[-1] - lost[3 * kind.horizon // 4]) / (kind.horizon / 4)
    weights = np.full(kind.worlds, 1 / kind.worlds)
    found = {}
    for name, values in regret.items():
        ratio, se = paired_ratio(values[:, :, :1], regret["ts"][:, :, :1], weights)
        linear = float((values[:, :, 1] > 0.01).mean())
        found[name] = (float(values[:, :, 0].mean()), float(ratio[0]), float(se[0]), linear)
    return found


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or KINDS:
        kind = KINDS[name]
        for policy, (mean, ratio, se, linear) in measured(kind).items():
            about = f"{name:20s} T = {kind.horizon:6d} {kind.worlds:3d} worlds x {kind.runs} {policy:18s}"
            print(f"{about} {mean:8.1f} {ratio:6.3f} ± {se:.3f}  linear {linear:.3f}", flush=True)


if __name__ == "__main__":
    main()
