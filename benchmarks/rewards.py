"""`python -m benchmarks.rewards [FAMILY ...]`: regret, coverage and arms left alone where rewards are not 0 or 1.

Every world is played once by every policy, from the same seeds; worlds are numbered from `--first`. A line gives the
regret relative to playing uniformly (paired: sum over worlds, standard error by the delta method), the fewest plays
that any arm got in any run, in how many runs an arm got fewer than 5 plays, and how often stated 95% intervals hold
the true mean at the end, with its standard error over runs. `gaussian-ts-20` is Gaussian Thompson Sampling after 20
forced plays of every arm; a name that ends in `-before` is a Gaussian policy as it was before an arm's variance started
from rows of all arms.
`python -m benchmarks.rewards aa` counts p < .05 on A/A tables of 3% log-normal revenue, by the residual test of the
paper.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats, Ints
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.simulation import play

World = cb.worlds.ContinuousWorld
FORCED = 20


class Family(NamedTuple):
    """Worlds by number, and the horizons that they are played for."""

    world: Callable[[int], World]
    horizons: tuple[int, ...]


FAMILIES: dict[str, Family] = {
    "revenue": Family(lambda number: cb.worlds.revenue_world(seed=number), (3000, 10_000)),
    "revenue-direct": Family(lambda number: cb.worlds.revenue_world(direct=True, seed=number), (3000, 10_000)),
    "hillstrom-spend": Family(lambda number: cb.worlds.hillstrom_spend_world(), (10_000,)),
    "count": Family(lambda number: cb.worlds.count_world(seed=number), (3000, 10_000)),
    "count-direct": Family(lambda number: cb.worlds.count_world(direct=True, seed=number), (3000, 10_000)),
    "count-dispersed": Family(lambda number: cb.worlds.count_world(dispersed=True, seed=number), (3000, 10_000)),
    "levels": Family(lambda number: cb.worlds.ordered_world(seed=number), (3000, 10_000)),
    "levels-direct": Family(lambda number: cb.worlds.ordered_world(direct=True, seed=number), (3000, 10_000)),
}
NAMES = ("safe", "reward-ts", "gaussian-ts-20", "gaussian-ts", "gaussian-ts-before")
BEFORE = "-before"


class Outcome(NamedTuple):
    """One run."""

    regret: float
    uniform: float
    fewest: int
    covered: float


def run(name: str, world: World, horizon: int, seed: int) -> Outcome:
    """Play a world with a policy, forced plays first if its name says so."""
    arms, rng = len(world.problem.arms), np.random.default_rng([seed, 1])
    made: Any = POLICIES[name.removesuffix(f"-{FORCED}").removesuffix(BEFORE)]
    options = {"prior_rows": 0} if name.endswith(BEFORE) else {}
    policy, forced = made(world.problem, seed=seed, **options), FORCED if name.endswith(f"-{FORCED}") else 0
    gaps: Floats = world.means.max() - world.means
    for arm in world.problem.arms if forced else ():
        policy.learn(world.sample(arm, forced, rng))
    played = play(policy, world, horizon - forced * arms, rng)
    counts: Ints = np.bincount(played.arms, minlength=arms) + forced
    stated = [(each.low, each.high) for each in policy.estimates()]
    covered = np.mean([low <= mean <= high for (low, high), mean in zip(stated, world.means, strict=True)])
    return Outcome(float(gaps @ counts), float(horizon * gaps.mean()), int(counts.min()), float(covered))


def ratio(top: Floats, bottom: Floats) -> tuple[float, float]:
    """Ratio of two means of paired numbers, and its standard error."""
    found = top.mean() / bottom.mean()
    return float(found), float((top - found * bottom).std(ddof=1) / bottom.mean() / np.sqrt(len(top)))


def report(family: str, names: tuple[str, ...], runs: int, first: int, shortest: bool) -> list[dict[str, Any]]:
    """Play all runs of a family and print a line per policy and horizon."""
    lines = []
    world, horizons = FAMILIES[family]
    for horizon in horizons[:1] if shortest else horizons:
        regrets: dict[str, Floats] = {}
        for name in names:
            found = [run(name, world(number), horizon, number) for number in range(first, first + runs)]
            regrets[name] = np.array([each.regret for each in found])
            uniform = np.array([each.uniform for each in found])
            share, error = ratio(regrets[name], uniform)
            line = {
                "family": family,
                "policy": name,
                "horizon": horizon,
                "runs": runs,
                "regret": round(float(regrets[name].mean()), 1),
                "to_uniform": round(share, 3),
                "se": round(error, 3),
                "fewest": min(each.fewest for each in found),
                "below_5": sum(each.fewest < 5 for each in found),
                "covered": round(float(np.mean([each.covered for each in found])), 4),
                "covered_se": round(float(np.std([each.covered for each in found], ddof=1) / np.sqrt(runs)), 4),
            }
            if name != names[0]:
                ahead = regrets[name] - regrets[names[0]]
                line["first_better_by_se"] = round(float(ahead.mean() / (ahead.std(ddof=1) / np.sqrt(runs))), 1)
            print(json.dumps(line), flush=True)
            lines.append(line)
    return lines


def same_everywhere(tables: int, rows: int, seed: int) -> None:
    """A/A tables: four arms that change nothing, 3% of customers spend a log-normal amount (sigma 1)."""
    problem = cb.Problem("spend", {"visit": 2}, {"banner": 4}, reward="revenue")
    found: dict[str, list[bool]] = {}
    for number in range(tables):
        rng = np.random.default_rng([seed, number])
        buys = rng.random(rows) < 0.03
        spend = np.where(buys, np.exp(3 + rng.normal(size=rows)), 0.0)
        visit = (buys | (rng.random(rows) < 0.2)).astype(int)
        banner = rng.integers(0, 4, rows)
        policy = cb.CausalUCBNormal(problem, discovery=cb.ResidualTesting(), seed=0)
        policy.tell_many({"banner": banner, "visit": visit, "spend": spend})
        for each in policy.separating_sets(rejected=True):
            p_value = each.evidence.tests[("banner",)].p_value
            found.setdefault(f"residual given {{{', '.join(each.variables)}}}", []).append(p_value < 0.05)
    for name, low in found.items():
        print(json.dumps({"test": name, "tables": len(low), "rows": rows, "below_05": round(float(np.mean(low)), 3)}))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--policies", default=",".join(NAMES))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--shortest", action="store_true", help="The first horizon of each family only.")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = []
    if given.families == ["aa"]:
        same_everywhere(given.runs, 5000, given.first)
        return
    for family in given.families:
        lines += report(family, tuple(given.policies.split(",")), given.runs, given.first, given.shortest)
    if given.out:
        given.out.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
