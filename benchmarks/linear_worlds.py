"""`python -m benchmarks.linear_worlds`: Causal UCB-Normal against UCB-Normal in linear Gaussian worlds.

`python -m benchmarks.linear_worlds late`: the same worlds with rewards that come 300 rounds late. Sets are discovered;
rows whose reward is pending count for the arm's mean of S at once, or not before they are whole.
"""

import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.reference.linear_worlds import DAGS, UNSHARED

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.research.worlds import ContinuousWorld

RUNS = 20
HORIZON = 5000
LATE_RUNS, LATE_HORIZON, DELAY = 4, 1000, 300


def row(world: ContinuousWorld) -> list[str]:
    """Regret of both with standard errors, and their ratio; runs are paired by seed."""
    plain, causal = (
        cb.simulate(make, world, HORIZON, runs=RUNS, seed=4, jobs=2).regret[:, -1]
        for make in (cb.UCBNormal, cb.CausalUCBNormal)
    )
    ratio = causal.mean() / plain.mean()
    error = (causal - ratio * plain).std(ddof=1) / np.sqrt(RUNS) / plain.mean()
    cells = [f"{each.mean():.0f} ± {each.std(ddof=1) / np.sqrt(RUNS):.0f}" for each in (plain, causal)]
    return [str(len(world.problem.arms)), *cells, f"{ratio:.3f} ± {error:.3f}"]


def late(first: int) -> None:
    """Regret relative to Gaussian Thompson Sampling with the same delay, averaged over worlds."""
    table = Table("policy", "pending rows count", "whole rows only", "difference")
    worlds = [cb.worlds.random_linear_world(graph, seed=number) for number, graph in enumerate(DAGS.values())]

    def regrets(make: type, *, whole: bool) -> Floats:
        found = [
            cb.simulate(
                make,
                world,
                LATE_HORIZON,
                runs=LATE_RUNS,
                seed=first,
                delay=DELAY,
                whole_rows=whole,
            ).regret[:, -1]
            for world in worlds
        ]
        return np.array(found)

    plain = regrets(cb.policies.GaussianThompsonSampling, whole=True).mean(axis=1, keepdims=True)
    for make in (cb.policies.SafeGaussianThompson, cb.CausalUCBNormal):
        early, whole = (regrets(make, whole=each) / plain for each in (False, True))
        cells = [each.mean(axis=0) for each in (early, whole, whole - early)]
        table.add_row(
            make.__name__, *(f"{each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(each)):.3f}" for each in cells)
        )
    runs = f"{len(worlds)} worlds x {LATE_RUNS} runs, {LATE_HORIZON} rounds"
    Console(width=110).print(table, f"{runs}, rewards {DELAY} rounds late; ± standard error over runs")


def main() -> None:
    """Measure and print; about a minute."""
    if sys.argv[1:2] == ["late"]:
        late(int(sys.argv[2]) if len(sys.argv) > 2 else 4)
        return
    table = Table("world", "arms", "UCB-Normal", "Causal UCB-Normal", "ratio")
    for number, (name, graph) in enumerate(DAGS.items()):
        table.add_row(f"{name}: a set separates", *row(cb.worlds.random_linear_world(graph, seed=number)))
    for kind, worlds in UNSHARED.items():
        for number, world in enumerate(worlds):
            table.add_row(f"no set separates: interventions act on Y {kind}, {number + 1}", *row(world))
    Console(width=110).print(table, f"regret after {HORIZON} rounds, {RUNS} runs, ± standard error")


if __name__ == "__main__":
    main()
