"""`python -m benchmarks.acceptance`: which sets each discovery accepts while its own policy plays, against the truth.

A unit is a set S; it is true when the graph separates all levers from Y given S, and accepted when the
discovery says so. Where no set separates (Fig. 2(c)) every accepted one is a false positive.
"""

from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import causal_bandits as cb
from causal_bandits.core.discovery import Discovery
from causal_bandits.research.worlds import DiscreteWorld

ROUNDS = (100, 500, 2000)
RUNS = 4
DISCOVERIES: dict[str, Discovery] = {
    "direct testing": cb.DirectTesting(),
    "direct testing, marginal": cb.DirectTesting(reading="marginal"),
    "ASD-JCI123kt": cb.ASD(),
}


def accepted(discovery: Discovery, world: DiscreteWorld, seed: int) -> np.ndarray:
    """(rounds, sets): which sets are accepted for all levers."""
    policy = cb.CausalThompsonSampling(world.problem, discovery=discovery, seed=seed)
    rng = np.random.default_rng([seed, 1])
    found, done = [], 0
    for rounds in ROUNDS:
        cb.simulation.play(policy, world, rounds - done, rng)
        done = rounds
        findings = discovery.discover(policy.layout, policy.ready().tables, done)
        found.append(findings.separated.all(axis=1))
    return np.array(found)


def truth(scm: cb.DiscreteSCM) -> np.ndarray:
    """(sets,): which sets separate."""
    graph = scm.graph.with_context(dict(scm.problem.targets))
    levers = scm.problem.intervention_names
    true = {frozenset(each) for each in cb.separating_sets(graph, levers, "Y")}
    layout = cb.CausalThompsonSampling(scm.problem).layout
    return np.array([frozenset(names) in true for names in layout.names])


def rate(flags: list[np.ndarray], which: list[np.ndarray]) -> list[str]:
    """Mean over worlds of the share accepted among the chosen sets, with its standard error."""
    shares = np.array(
        [found[:, chosen].mean(axis=1) for found, chosen in zip(flags, which, strict=True) if chosen.any()]
    )
    errors = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(shares.mean(axis=0), errors, strict=True)]


def main() -> None:
    """Measure and print; a minute or two."""
    classes = cb.graphs.dag_classes(["A", "B", "C", "Y"], "Y")
    seeds = [(number, run) for number in range(len(classes)) for run in range(RUNS)]
    worlds = [
        cb.worlds.paper_world(classes[number].graph, seed=np.random.default_rng([number, run])) for number, run in seeds
    ]
    bare = [cb.StructurelessWorld(world, seed=np.random.default_rng([9, place])) for place, world in enumerate(worlds)]
    true = [truth(world) for world in worlds]
    table = Table("discovery", "what", *(f"t = {rounds}" for rounds in ROUNDS))
    for name, discovery in DISCOVERIES.items():
        play = partial(accepted, discovery)
        on_graphs = [play(world, place) for place, world in enumerate(worlds)]
        on_nothing = [play(world, place) for place, world in enumerate(bare)]
        table.add_row(name, "sensitivity, 64 classes", *rate(on_graphs, true))
        table.add_row("", "false positive rate, 64 classes", *rate(on_graphs, [~each for each in true]))
        table.add_row(
            "", "false positive rate, no set separates", *rate(on_nothing, [np.ones(8, dtype=bool)] * len(bare))
        )
    Console(width=110).print(table, f"{len(worlds)} worlds: {len(classes)} classes x {RUNS} runs; ± standard error")


if __name__ == "__main__":
    main()
