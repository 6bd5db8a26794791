"""`python -m benchmarks.linear_worlds`: Causal UCB-Normal against UCB-Normal in linear Gaussian worlds."""

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.reference.linear_worlds import DAGS, UNSHARED

import causal_bandits as cb
from causal_bandits.environments import ContinuousWorld

RUNS = 20
HORIZON = 5000


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


def main() -> None:
    """Measure and print; about a minute."""
    table = Table("world", "arms", "UCB-Normal", "Causal UCB-Normal", "ratio")
    for number, (name, graph) in enumerate(DAGS.items()):
        table.add_row(f"{name}: a set separates", *row(cb.worlds.random_linear_world(graph, seed=number)))
    for kind, worlds in UNSHARED.items():
        for number, world in enumerate(worlds):
            table.add_row(f"no set separates: interventions act on Y {kind}, {number + 1}", *row(world))
    Console(width=110).print(table, f"regret after {HORIZON} rounds, {RUNS} runs, ± standard error")


if __name__ == "__main__":
    main()
