"""`python -m benchmarks.refresh`: how often to look for sets: regret and time of Safe TS by the schedule of discovery.

Discovery is due when the rows have grown by 25 % (the default), by 5 %, or in every round. Regret is relative to
Thompson Sampling in the same worlds with the same random numbers, T = 2000, 64 worlds x 4 runs.
"""

import math
import time
from collections.abc import Callable

import numpy as np

import causal_bandits as cb
from causal_bandits.experiments.summary import paired_ratio
from causal_bandits.experiments.worlds import class_world, structureless_world
from causal_bandits.simulation.one_run import World

WORLDS, RUNS, HORIZON = 64, 4, 2000
KINDS: dict[str, Callable[[int, np.random.SeedSequence], World]] = {
    "sets exist": class_world,
    "no set separates": structureless_world,
}


class EveryFivePercent(cb.policies.WeighedThompsonSampling):
    """Discovery when the rows have grown by 5 %."""

    def _refresh_after(self, prior: int) -> int:
        return prior + max(self.rows - prior + 1, math.ceil((self.rows - prior) * 1.05))


class EveryRound(cb.policies.WeighedThompsonSampling):
    """Discovery in every round."""

    def _refresh_after(self, prior: int) -> int:
        return self.rows + 1


POLICIES: dict[str, Callable[..., cb.ThompsonSampling | cb.policies.WeighedThompsonSampling]] = {
    "ts": cb.ThompsonSampling,
    "25 %": cb.policies.WeighedThompsonSampling,
    "5 %": EveryFivePercent,
    "every round": EveryRound,
}


def main() -> None:
    """Measure and print."""
    for kind, make_world in KINDS.items():
        regret = {name: np.empty((WORLDS, RUNS, 1)) for name in POLICIES}
        seconds = dict.fromkeys(POLICIES, 0.0)
        for number, run in np.ndindex(WORLDS, RUNS):
            of_world, of_draws, of_policy = np.random.SeedSequence(9, spawn_key=(number, run)).spawn(3)
            world = make_world(number, of_world)
            for name, make in POLICIES.items():
                policy = make(world.problem, seed=np.random.default_rng(of_policy))
                start = time.perf_counter()
                played = cb.simulation.play(policy, world, HORIZON, np.random.default_rng(of_draws))
                seconds[name] += time.perf_counter() - start
                regret[name][number, run] = played.regret(world.means)[-1]
        for name, values in regret.items():
            ratio, se = paired_ratio(values, regret["ts"], np.full(WORLDS, 1 / WORLDS))
            times = seconds[name] / seconds["25 %"]
            print(f"{kind:18s} {name:12s} {ratio[0]:.3f} ± {se[0]:.3f}  time relative to 25 %: {times:.2f}", flush=True)


if __name__ == "__main__":
    main()
