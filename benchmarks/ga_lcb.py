"""Does GA-LCB find the graph, and does it end on the best arm?

`python -m benchmarks.ga_lcb`: worlds of the families `linear4` and `layers`, one run each. Shares of runs in which an
arrow is missing, in which there is one too many, and in which the arms of the last 200 rounds are not all best; of the
last, how many have a missing arrow. Standard error of a share p: sqrt(p (1 - p) / runs).
"""

import argparse
import math
from typing import Any

import numpy as np

from causal_bandits.research.comparators import LinearCausalBandit
from causal_bandits.research.experiments import FAMILIES
from causal_bandits.research.simulation import play

LAST, TINY = 200, 1e-9


def run(family: str, number: int, pulls: int, horizon: int) -> tuple[bool, bool, bool]:
    """Whether an arrow is missing, one is too many, and a worse arm is played at the end."""
    world: Any = FAMILIES[family].make(horizon, number, np.random.SeedSequence(number))
    policy = LinearCausalBandit(world.problem, horizon=horizon, pulls=pulls, seed=number)
    arms = play(policy, world, horizon, np.random.default_rng(number)).arms[-LAST:]
    true, found = set(world.graph.directed), set(policy.graph().directed)
    return bool(true - found), bool(found - true), bool(np.any(world.means[arms] < world.means.max() - TINY))


def main() -> None:
    """Print a line for each family and number of pulls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=128)
    parser.add_argument("--horizon", type=int, default=5000)
    options = parser.parse_args()
    for family in ("linear4", "layers"):
        for pulls in (50, 500):
            made = np.array([run(family, number, pulls, options.horizon) for number in range(options.runs)])
            missing, extra, worse = made.mean(axis=0)
            because = int((made[:, 0] & made[:, 2]).sum())
            errors = [math.sqrt(share * (1 - share) / options.runs) for share in (missing, extra, worse)]
            print(
                f"{family}, {pulls} pulls: arrow missing {missing:.3f} ± {errors[0]:.3f}, too many {extra:.3f} ± "
                f"{errors[1]:.3f}, worse arm at the end {worse:.3f} ± {errors[2]:.3f} ({because} with one missing)"
            )


if __name__ == "__main__":
    main()
