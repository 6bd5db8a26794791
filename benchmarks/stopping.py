"""`python -m benchmarks.stopping [false] [speed]`: how often advice stops wrongly, and how soon it stops.

`false`: studies that are looked at after every 100 decisions, with arms that are alike (A/A) or differ (A/B).
A study counts as wrong if at any look any arm is claimed to be the best, or within 5 % of the best mean, and is not, or
if the best arm is dropped: every arm is put to the rule, not only the one that advice would name, so the rate is an
upper bound of that of advice. `speed`: decisions until a stop (best arm, or within 5 %), of top-two Thompson Sampling
relative to uniform play, in worlds of the practice family.
"""

import argparse
import json
from functools import partial
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.compiled import Floats, Ints
from causal_bandits.independence.anytime import Sums, evidence_ahead, leading, needed
from causal_bandits.policies import POLICIES
from causal_bandits.simulation import play
from causal_bandits.worlds import practice_world

EVERY, CONFIDENCE, CLOSE = 100, 0.95, 0.05
LONGEST = 100_000
POLICIES_OF_FALSE = ("uniform", "safe", "best-arm")


def funnel(rates: list[float]) -> Any:
    """A world with a mediator that says nothing, and these rates."""
    base = cb.DiscreteSCM(
        {"seen": 2, "Y": 2},
        {"seen": cb.Mechanism([], [0.7, 0.3]), "Y": cb.Mechanism([], [0.5, 0.5])},
        {"lever": {level: {} for level in range(len(rates))}},
    )
    return cb.StructurelessWorld(base, rates)


def played(name: str, world: Any, horizon: int, seed: int) -> tuple[Ints, Floats]:
    """Arms and rewards of a study."""
    rng = np.random.default_rng([seed, 1])
    if name == "uniform":
        arms = rng.integers(len(world.means), size=horizon)
        return arms, (rng.random(horizon) < world.means[arms]).astype(np.float64)
    policy: Any = POLICIES[name]
    run = play(policy(world.problem, seed=seed), world, horizon, rng)
    return run.arms, np.asarray(run.rewards, dtype=np.float64)


def at_looks(arms: Ints, rewards: Floats, count: int) -> Sums:
    """Sums of every arm (columns) at every look (rows)."""
    chosen = arms[:, None] == np.arange(count)
    rows, total = (np.cumsum(each, axis=0)[EVERY - 1 :: EVERY] for each in (chosen, chosen * rewards[:, None]))
    return Sums(rows.astype(np.float64), total, total)


def is_wrong(sums: Sums, means: Floats) -> bool:
    """Whether any look has a claim that is wrong: all of them are about a pair with the best arm."""
    enough, best = needed(len(means), CONFIDENCE), int(np.argmax(means))
    leader = Sums(*(each[:, [best]] for each in sums))
    rest = np.arange(len(means)) != best
    others = Sums(*(each[:, rest] for each in sums))
    margin = CLOSE * means[best]
    ahead, close = (evidence_ahead(others, leader, each) >= enough for each in (0.0, margin))
    wrong = bool(ahead.any()) or bool(close[:, means[rest] < means[best] - margin].any())
    ties = means[rest] == means[best]  # the best of equals is no more the best than they are
    return wrong or bool((evidence_ahead(leader, others)[:, ties] >= enough).any())


def false_stops(runs: int, first: int) -> None:
    """The share of studies in which anything wrong was ever claimed."""
    cases = {
        "A/A, 2 arms, 30 %": ([0.3] * 2, 5_000),
        "A/B, 30 % and 33 %": ([0.3, 0.33], 5_000),
        "A/A, 6 arms, 10 %": ([0.1] * 6, 5_000),
        "5 arms of 10 %, one of 12 %": ([0.1] * 5 + [0.12], 5_000),
        "A/A, 2 arms, 2 %": ([0.02] * 2, 10_000),
        "A/B, 2 % and 2.6 %": ([0.02, 0.026], 10_000),
    }
    for title, (rates, horizon) in cases.items():
        for name in POLICIES_OF_FALSE:
            world, stops, wrong = funnel(rates), 0, 0
            for number in range(first, first + runs):
                sums = at_looks(*played(name, world, horizon, number), len(rates))
                wrong += is_wrong(sums, world.means)
                stops += is_stop(Sums(*(each[-1] for each in sums)))
            rate = wrong / runs
            line = {
                "case": title,
                "policy": name,
                "studies": runs,
                "decisions": horizon,
                "wrong": rate,
                "se": round(float(np.sqrt(max(rate, 1 / runs) * (1 - rate) / runs)), 4),
                "stopped_at_the_end": stops / runs,
            }
            print(json.dumps(line), flush=True)


def is_stop(sums: Sums) -> bool:
    """Whether the rule stops with these sums."""
    arms = len(sums.rows)
    allowed, enough = np.ones(arms, dtype=np.bool_), needed(arms, CONFIDENCE)
    best = int(np.argmax(sums.total / np.maximum(sums.rows, 1)))
    margin = CLOSE * float(sums.total[best] / max(sums.rows[best], 1))
    return leading(sums, allowed, best, margin, enough).evidence >= enough


def decisions_to_stop(name: str, world: Any, seed: int) -> int:
    """Decisions until a look says stop."""
    rng, arms = np.random.default_rng([seed, 2]), len(world.means)
    policy: Any = None if name == "uniform" else POLICIES[name](world.problem, seed=seed)
    sums, done = Sums(*np.zeros((3, arms))), 0
    while done < LONGEST:
        if policy is None:
            chosen = rng.integers(arms, size=EVERY)
            rewards = (rng.random(EVERY) < world.means[chosen]).astype(np.float64)
        else:
            run = play(policy, world, EVERY, rng)
            chosen, rewards = run.arms, np.asarray(run.rewards, dtype=np.float64)
        new = [np.bincount(chosen, each, minlength=arms) for each in (np.ones(EVERY), rewards, rewards)]
        sums, done = Sums(*(was + more for was, more in zip(sums, new, strict=True))), done + EVERY
        if is_stop(sums):
            break
    return done


def speed(runs: int, first: int) -> None:
    """Decisions until a stop, as a ratio to uniform play in the same worlds."""
    for arms in (3, 6, 12):
        for kind in ("mediated", "direct", "none"):
            make = partial(practice_world, kind, rate=0.3, arms=arms)
            worlds = [make(seed=number) for number in range(first, first + runs)]
            spent = {
                name: np.array([decisions_to_stop(name, world, seed) for seed, world in enumerate(worlds, first)])
                for name in ("uniform", "best-arm")
            }
            uniform = spent["uniform"]
            ratio = spent["best-arm"].mean() / uniform.mean()
            error = (spent["best-arm"] - ratio * uniform).std(ddof=1) / uniform.mean() / np.sqrt(runs)
            line = {
                "kind": kind,
                "arms": arms,
                "runs": runs,
                "best-arm": round(float(spent["best-arm"].mean())),
                "uniform": round(float(uniform.mean())),
                "to_uniform": round(float(ratio), 3),
                "se": round(float(error), 3),
                "median_ratio": round(float(np.median(spent["best-arm"] / uniform)), 3),
                "unfinished": [int((each >= LONGEST).sum()) for each in spent.values()],
            }
            print(json.dumps(line), flush=True)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["false", "speed"], default=["false", "speed"])
    parser.add_argument("--runs", type=int, default=None, help="studies per line: 1000 for false, 40 for speed")
    parser.add_argument("--first", type=int, default=17_000, help="number of the first seed")
    given = parser.parse_args()
    if "false" in given.what:
        false_stops(given.runs or 1000, given.first)
    if "speed" in given.what:
        speed(given.runs or 40, given.first)


if __name__ == "__main__":
    main()
