"""`python -m benchmarks.lifts [FAMILY ...]`: do intervals of lifts over the control and of lever effects cover?

Per family, policy and number of rounds: how often the 95 % interval of an arm's lift over the control holds the truth
(all arms alike), the same for the effects of levels averaged over the other levers, and how stated probabilities of
being better than the control compare with what is so. Standard errors are over runs.
"""

import argparse
from typing import Any

import numpy as np

from causal_bandits.experiments.families import FAMILIES
from causal_bandits.policies import POLICIES
from causal_bandits.simulation import play

DEFAULT = ("practice-mediated", "practice-direct", "practice-none", "hillstrom", "structureless")
CHECKS = (300, 1000, 5000)


def effects_in_truth(problem: Any, means: Any) -> dict[tuple[str, str], float]:
    """The mean difference of each level from the idle one over the settings of the other levers that have both."""
    idle, found = problem.idle_settings, {}
    place = {tuple(dict(arm).items()): number for number, arm in enumerate(problem.arms)}
    for lever in problem.interventions:
        for level in lever.levels:
            apart = []
            for arm, number in place.items():
                other = tuple((name, idle[name] if name == lever.name else value) for name, value in arm)
                if dict(arm)[lever.name] == level and other in place and level != idle[lever.name]:
                    apart.append(means[number] - means[place[other]])
            if apart:
                found[lever.name, str(level)] = float(np.mean(apart))
    return found


def look(policy: Any, means: Any) -> tuple[float, float, float, float, float]:
    """Coverage of lifts and of effects, mean width of lifts over the mean reward, and probabilities against what is."""
    control = policy.problem.index(policy.problem.idle_settings)
    rows = [(n, row.lift) for n, row in enumerate(policy.estimates(control={})) if row.lift is not None]
    true = np.array([means[number] - means[control] for number, _ in rows])
    low, high = (np.array([getattr(lift, end) for _, lift in rows]) for end in ("low", "high"))
    stated = np.array([lift.probability_better for _, lift in rows])
    truth = effects_in_truth(policy.problem, means)
    effects = [(each.effect.low, each.effect.high, truth[each.lever, str(each.level)]) for each in policy.effects()]
    hit = np.mean([low - 1e-9 <= true <= high + 1e-9 for low, high, true in effects])
    lifts = float(np.mean((true >= low - 1e-9) & (true <= high + 1e-9)))
    return lifts, float(hit), float((high - low).mean() / means.mean()), float(stated.mean()), float((true > 0).mean())


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=DEFAULT)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--policy", default="safe")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(f"{chosen.policy}: lifts covered, effects covered, width over mean, P(better) stated, is better")
    for name in chosen.families:
        found = np.empty((chosen.runs, len(CHECKS), 5))
        for run in range(chosen.runs):
            of_world, of_draws, of_policy = np.random.SeedSequence(chosen.seed, spawn_key=(run,)).spawn(3)
            world = FAMILIES[name].make(CHECKS[-1], run % FAMILIES[name].worlds, of_world)
            policy = POLICIES[chosen.policy](world.problem, seed=np.random.default_rng(of_policy))
            draws, done = np.random.default_rng(of_draws), 0
            for place, check in enumerate(CHECKS):
                play(policy, world, check - done, draws)
                found[run, place], done = look(policy, world.means), check
        error = found.std(axis=0, ddof=1) / np.sqrt(chosen.runs)
        for place, check in enumerate(CHECKS):
            cells = "  ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(found[:, place].mean(0), error[place], strict=True))
            print(f"{name:20} {check:6}  {cells}", flush=True)


if __name__ == "__main__":
    main()
