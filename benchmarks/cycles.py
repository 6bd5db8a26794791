"""What ASD gains by allowing for cycles: `python -m benchmarks.cycles`.

Data sets with equally many rows of all 27 arms, from the families of worlds with cycles. For ASD that rules cycles out
and ASD that allows them: the shares of separating and of other sets that are accepted, the share of data sets in which
the best graph has the true strongly connected components, and how often both accept the same sets.
"""

import argparse

import numpy as np

from causal_bandits import History, discover
from causal_bandits.discovery import ASD
from causal_bandits.environments import DiscreteSCM
from causal_bandits.experiments.families import CYCLIC
from causal_bandits.experiments.measures import true_sets
from causal_bandits.graphs import MixedGraph

ROWS = (40, 640)


def parts(graph: MixedGraph) -> set[tuple[str, ...]]:
    """The components with several variables."""
    return {part for part in graph.subgraph(list("ABCY")).strongly_connected_components() if len(part) > 1}


def look(world: DiscreteSCM, rows: int, rng: np.random.Generator) -> list[float]:
    """Per discovery: true sets accepted, others accepted, components right; then whether both accept the same."""
    history = History(world.problem)
    for arm in world.problem.arms:
        history.extend(world.sample(arm, rows, rng))
    found, accepted = [], []
    for acyclic in (True, False):
        graphs = discover(history, ASD(acyclic=acyclic), best=1)
        taken = np.array([each.accepted for each in graphs.sets])
        true = true_sets(world, [each.variables for each in graphs.sets])
        accepted.append(taken)
        found += [taken[true].mean() if true.any() else np.nan, taken[~true].mean()]
        found.append(float(parts(graphs.graph) == parts(world.graph)))
    return [*found, float(np.array_equal(accepted[0], accepted[1]))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = ["true sets", "others", "components"]
    print(f"family, rows an arm: acyclic ({', '.join(names)}), cyclic (the same), same sets accepted")
    for name, family in CYCLIC.items():
        for rows in ROWS:
            found = []
            for number in range(options.worlds):
                of_world, of_rows = np.random.SeedSequence((options.seed, number)).spawn(2)
                world = family.make(0, number, of_world)
                assert isinstance(world, DiscreteSCM)
                found.append(look(world, rows, np.random.default_rng(of_rows)))
            values = np.array(found)
            errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            shown = [f"{m:.3f} ± {e:.3f}" for m, e in zip(values.mean(axis=0), errors, strict=True)]
            print(f"{name}, {rows}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
