"""`python -m benchmarks.lifts [FAMILY ...]`: do intervals of lifts over the control and of lever effects cover?

Per family, policy and number of rounds: how often the 95% interval of an arm's lift over the control holds the truth
(all arms alike), the same for the effects of levels averaged over the other levers, and how stated probabilities of
being better than the control compare with the truth. Standard errors are over runs.
"""

import argparse
from typing import Any

import numpy as np
from scipy.special import expit, logit

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.experiments.families import FAMILIES
from causal_bandits.research.simulation import play

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


MEDIATORS = ("none", "moved", "unmoved", "noise", "errors")
"""A plain A/B/n test without a mediator; with one that arms move and that separates; one that predicts the reward and
that no arm moves; one that has nothing to do with anything; and the second with 15% of its values recorded wrongly."""


def logged_test(kind: str, arms: int, per_arm: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A policy that was told a randomized test of a single lever, and the true means.

    The control's rate is 5%; log-odds of the other arms are normal with a standard deviation of 0.2.
    """
    moved = rng.normal(0, 0.2, arms) * (np.arange(arms) > 0)
    rows = arms * per_arm
    arm = rng.integers(arms, size=rows)
    through = kind in ("moved", "errors")
    reach = expit(-1.0 + moved) if through else np.full(arms, 0.27)
    mediator = rng.random(rows) < reach[arm]
    worth = np.array([0.0105, 0.157]) if kind != "noise" else np.array([0.05, 0.05])
    chance = worth[None, :] if through else expit(logit(worth)[None, :] + moved[:, None])
    chance = np.broadcast_to(chance, (arms, 2))
    means = (1 - reach) * chance[:, 0] + reach * chance[:, 1]
    reward = rng.random(rows) < chance[arm, mediator.astype(int)]
    if kind == "errors":
        mediator ^= rng.random(rows) < 0.15
    problem = cb.Problem("Y", {} if kind == "none" else {"M": 2}, {"a": list(range(arms))})
    policy = POLICIES["safe"](problem, seed=0)
    policy.tell_many({"a": arm, "Y": reward.astype(int)} | ({} if kind == "none" else {"M": mediator.astype(int)}))
    return policy, means


def show_tests(runs: int, seed: int) -> None:
    """Print coverage of lifts in plain tests."""
    print("plain tests, 1,000 and 5,000 rows per arm: 95% intervals of lifts over the control that cover")
    for kind in MEDIATORS:
        for arms in (2, 5, 12, 30):
            shown = []
            for size in (1000, 5000):
                hits = []
                for run in range(runs):
                    rng = np.random.default_rng([seed, MEDIATORS.index(kind), arms, size, run])
                    policy, means = logged_test(kind, arms, size, rng)
                    lifts = [row.lift for row in policy.estimates(control={})]
                    true = means - means[0]
                    inside = [x.low <= t <= x.high for x, t in zip(lifts, true, strict=True) if x is not None]
                    hits.append(np.mean(inside))
                shown.append(f"{np.mean(hits):.3f} ± {np.std(hits, ddof=1) / np.sqrt(runs):.3f}")
            print(f"  {kind:8s} {arms:3d} arms  {'  '.join(shown)}", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=DEFAULT)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--policy", default="safe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", action="store_true", help="plain A/B tests instead, with and without a mediator")
    chosen = parser.parse_args()
    if chosen.tests:
        show_tests(chosen.runs, chosen.seed)
        return
    print(f"{chosen.policy}: lifts covered, effects covered, width over mean, P(better) stated, is better")
    for name in chosen.families:
        found = np.empty((chosen.runs, len(CHECKS), 5))
        for run in range(chosen.runs):
            of_world, of_draws, of_policy = np.random.SeedSequence(chosen.seed, spawn_key=(run,)).spawn(3)
            world = FAMILIES[name].maker(CHECKS[-1])(run % FAMILIES[name].worlds, of_world)
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
