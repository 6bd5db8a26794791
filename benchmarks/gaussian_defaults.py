"""`python -m benchmarks.gaussian_defaults [KINDS ...]`: the safe real-valued policies, the paper's, and the plain ones.

A line gives the regret at T = 1000 and 5000 relative to the plain policy and to the paper's causal one, paired, with
standard errors, and the share of the runs that still lose more than a hundredth of the largest gap per round in the
last quarter.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from tests.reference.linear_worlds import DAGS, beside, direct

import causal_bandits as cb
from causal_bandits.core.policies import RealPolicy
from causal_bandits.research.experiments.curves import paired_ratio
from causal_bandits.research.worlds import ContinuousWorld

POLICIES: dict[str, dict[str, Callable[..., RealPolicy]]] = {
    "ts": {
        "gaussian-ts": cb.policies.GaussianThompsonSampling,
        "causal-gaussian-ts": cb.policies.CausalGaussianThompsonSampling,
        "causal-gaussian-ts-safe": cb.policies.SafeGaussianThompson,
    },
    "ucb": {
        "ucb-normal": cb.UCBNormal,
        "causal-ucb-normal": cb.CausalUCBNormal,
    },
}
HORIZONS = (1000, 5000)
FIRST = 100
"""The first world: those before it, and seed 8, were used to choose among variants."""


class Kind(NamedTuple):
    """Worlds by number, how many, and how often each is played."""

    world: Callable[[int], ContinuousWorld]
    worlds: int
    runs: int


def separating(number: int) -> ContinuousWorld:
    """Shifts of every variable but the reward: its parents separate."""
    return cb.worlds.random_linear_world(list(DAGS.values())[number % len(DAGS)], seed=number)


def besides(number: int) -> ContinuousWorld:
    """The same graphs; each lever also shifts the reward itself."""
    return beside(list(DAGS.values())[number % len(DAGS)], number)


def sachs(scale: Literal["log", "raw"], _: int) -> ContinuousWorld:
    """Rows of Sachs et al. (2005), 8 arms."""
    return cb.LoggedWorld(*cb.datasets.sachs(scale))


KINDS = {
    "separating": Kind(separating, 25, 4),
    "besides": Kind(besides, 25, 4),
    "directly": Kind(direct, 25, 4),
    "sachs-log": Kind(partial(sachs, "log"), 1, 100),
    "sachs-raw": Kind(partial(sachs, "raw"), 1, 100),
}


def regrets(kind: Kind, policies: dict[str, Callable[..., RealPolicy]]) -> dict[str, np.ndarray]:
    """Per policy (worlds, runs, horizons and the loss per round in the last quarter, in units of the largest gap)."""
    found = {name: np.empty((kind.worlds, kind.runs, len(HORIZONS) + 1)) for name in policies}
    last = HORIZONS[-1]
    for number in range(kind.worlds):
        world = kind.world(FIRST + number)
        for run in range(kind.runs):
            of_draws, of_policy = np.random.SeedSequence(9, spawn_key=(number, run)).spawn(2)
            for name, make in policies.items():
                policy = make(world.problem, seed=np.random.default_rng(of_policy))
                lost = cb.simulation.play(policy, world, last, np.random.default_rng(of_draws)).regret(world.means)
                late = (lost[-1] - lost[3 * last // 4]) / (last / 4) / np.ptp(world.means)
                found[name][number, run] = *(lost[horizon - 1] for horizon in HORIZONS), late
    return found


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or KINDS:
        kind = KINDS[name]
        weights = np.full(kind.worlds, 1 / kind.worlds)
        for policies in POLICIES.values():
            found = regrets(kind, policies)
            plain, causal, _ = found.values()
            for policy, values in found.items():
                shown = f"{name:12s} {policy:25s}"
                for base, of in ((plain, "plain"), (causal, "causal")):
                    ratio, se = paired_ratio(values[:, :, :-1], base[:, :, :-1], weights)
                    shown += f" of {of} " + "  ".join(f"{r:6.3f} ± {e:.3f}" for r, e in zip(ratio, se, strict=True))
                print(f"{shown}  linear {float((values[:, :, -1] > 0.01).mean()):.3f}", flush=True)


if __name__ == "__main__":
    main()
