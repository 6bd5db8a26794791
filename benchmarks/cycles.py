"""What ASD gains by allowing for cycles: `python -m benchmarks.cycles`.

Data sets with equally many rows of all 27 arms, from the families of worlds with cycles. For ASD that rules cycles out
and ASD that allows them: the shares of separating and of other sets that are accepted, the share of data sets in which
the best graph has the true strongly connected components, and how often both accept the same sets. Before that, exactly
and for every family: how wrong sharing through the best set is for the worst arm, with equally many rows of all arms.
"""

import argparse
import itertools

import numpy as np

from causal_bandits import History, discover
from causal_bandits.core.discovery import ASD
from causal_bandits.core.graphs import MixedGraph
from causal_bandits.research.experiments.families import CYCLIC, Family
from causal_bandits.research.experiments.methods import true_pairs
from causal_bandits.research.worlds import DiscreteSCM

ROWS = (40, 640)
NEAR = 48


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
        true = true_pairs(world, [each.variables for each in graphs.sets]).all(axis=1)
        accepted.append(taken)
        found += [taken[true].mean() if true.any() else np.nan, taken[~true].mean()]
        found.append(float(parts(graphs.graph) == parts(world.graph)))
    return [*found, float(np.array_equal(accepted[0], accepted[1]))]


def worst_error(world: DiscreteSCM, through: tuple[str, ...]) -> float:
    """The largest error over arms of E[Y | S] pooled over all arms, averaged over P(S | arm); 0 where S separates."""
    joint = np.array([world.distribution(arm, [*through, "Y"]).reshape(-1, 2) for arm in world.problem.arms])
    cells = joint.sum(axis=2)
    pooled = joint[:, :, 1].sum(axis=0) / np.maximum(cells.sum(axis=0), 1e-300)
    return float(np.abs(cells @ pooled - world.means).max())


def nearness(family: Family, worlds: int, seed: int) -> str:
    """The worst arm's error through the best set, beside the spread of the means."""
    errors, spreads = [], []
    for number in range(worlds):
        world = family.make(number, np.random.SeedSequence((seed, number)))
        assert isinstance(world, DiscreteSCM)
        sets = itertools.chain.from_iterable(itertools.combinations("ABC", size) for size in range(4))
        errors.append(min(worst_error(world, through) for through in sets))
        spreads.append(np.ptp(world.means))
    error = np.std(errors, ddof=1) / np.sqrt(worlds)
    return f"{np.mean(errors):.3f} ± {error:.3f}, at most {max(errors):.3f}; best - worst arm {np.mean(spreads):.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, family in CYCLIC.items():
        print(f"{name}: error of the worst arm through the best set {nearness(family, NEAR, options.seed)}", flush=True)
    names = ["true sets", "others", "components"]
    print(f"family, rows an arm: acyclic ({', '.join(names)}), cyclic (the same), same sets accepted")
    for name, family in CYCLIC.items():
        for rows in ROWS:
            found = []
            for number in range(options.worlds):
                of_world, of_rows = np.random.SeedSequence((options.seed, number)).spawn(2)
                world = family.make(number, of_world)
                assert isinstance(world, DiscreteSCM)
                found.append(look(world, rows, np.random.default_rng(of_rows)))
            values = np.array(found)
            errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            shown = [f"{m:.3f} ± {e:.3f}" for m, e in zip(values.mean(axis=0), errors, strict=True)]
            print(f"{name}, {rows}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
