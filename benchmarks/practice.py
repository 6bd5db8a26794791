"""`python -m benchmarks.practice [FAMILY ...]`: regret, coverage and calibration of policies, world by world.

Per family and policy: the regret relative to Thompson Sampling (paired, each world's regret divided by its control
rate where worlds have one, so that 0.5% counts as much as 30%), and, from what the policy itself states at some
rounds, how often its 95% intervals hold the truth, the mean loss that it expects of the arm it recommends beside the
true one, and how its stated probabilities compare with the truth. "q99" is the 99% quantile of regret relative to that
of Thompson sampling, "stuck" the share of runs beyond three times that (of the policy, and of Thompson sampling).

`--constant TYPICAL=0.09` plays with another value of a constant of `core/estimators/model.py`, such as
the median of the prior of effects; code is compiled again for it.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.core.estimators import model
from causal_bandits.core.policies import POLICIES
from causal_bandits.research.experiments.families import FAMILIES, SIZES
from causal_bandits.research.simulation import play
from causal_bandits.research.simulation.one_run import World
from causal_bandits.research.worlds import StructurelessWorld

KINDS = ("mediated", "noise", "direct", "intent", "intent-direct", "none")
HORIZONS = {"soft9": 20_000, "dags4": 2000, "dags5": 2000, "dags6": 2000, "structureless": 2000}
RUNS = {"hillstrom": 60, "loans": 60, "soft9": 2, "dags4": 2, "dags5": 1, "dags6": 1, "structureless": 2}
DEFAULT = [*(f"practice-{kind}" for kind in KINDS), "hillstrom", "soft9", "dags4", "structureless"]
CHECKS = (300, 1000, 10_000)
SMALL = 0.05


class Job(NamedTuple):
    """One world, one run, all policies."""

    family: str
    world: int
    run: int
    seed: int
    horizon: int
    policies: tuple[str, ...]


class Told(NamedTuple):
    """What a policy stated at some round, and the truth."""

    rows: int
    covered: float
    """Share of the arms whose interval holds the mean."""
    width: float
    """Mean width of the intervals, relative to the mean chance."""
    best: tuple[float, bool] | None
    """Stated probability that the recommended arm is the best; whether it is. None where several arms are."""
    close: tuple[float, bool]
    loss: tuple[float, float]
    sets: list[tuple[float, bool]]
    """Stated probability that a set separates but for small differences; whether it does."""


def separating(world: World) -> dict[tuple[str, ...], bool]:
    """Which sets separate, but for small differences: by the truth, with as many rows of each arm.

    What arms' means through the set differ by from their means is below 5% of the mean (root mean square over arms).
    """
    problem, names = world.problem, world.problem.observed_names
    if len(problem.arms) > 100:
        return {}
    if isinstance(world, StructurelessWorld) and isinstance(world.base, cb.DiscreteSCM):
        others = np.array([world.base.distribution(arm, names) for arm in problem.arms])
        chances = world.means.reshape(-1, *(1 for _ in names))
        joint = np.stack([others * (1 - chances), others * chances], axis=-1)
    elif isinstance(world, cb.DiscreteSCM):
        joint = np.array([world.distribution(arm, [*names, problem.target]) for arm in problem.arms])
    else:
        return {}
    found = {}
    for mask in range(1, 2 ** len(names)):
        chosen = [place for place in range(len(names)) if mask >> place & 1]
        away = tuple(1 + place for place in range(len(names)) if place not in chosen)
        table = joint.sum(axis=away).reshape(len(problem.arms), -1, 2)
        pooled = table.sum(axis=0)
        chance = pooled[:, 1] / np.maximum(pooled.sum(axis=1), 1e-300)
        differences = world.means - table.sum(axis=2) @ chance
        small = np.sqrt(np.mean(differences**2)) < SMALL * world.means.mean()
        found[tuple(names[place] for place in chosen)] = bool(small)
    return found


def look(policy: Any, world: World, true_sets: dict[tuple[str, ...], bool]) -> Told:
    """What a policy states."""
    estimates, best = policy.estimates(), policy.recommend()
    low, high = np.array([each.low for each in estimates]), np.array([each.high for each in estimates])
    hit = (world.means >= low - 1e-9) & (world.means <= high + 1e-9)
    lost = float(world.means.max() - world.means[world.problem.index(best.arm)])
    unique = int((world.means >= world.means.max() - 1e-9).sum()) == 1
    sets = [
        (found.evidence.probability, true_sets[found.variables])
        for found in policy.separating_sets(rejected=True)
        if found.evidence.probability is not None and found.variables in true_sets
    ]
    return Told(
        policy.rows,
        float(hit.mean()),
        float((high - low).mean() / world.means.mean()),
        (best.probability_best, lost <= 1e-12) if unique else None,
        (best.probability_close, lost <= best.margin),
        (best.expected_loss, lost),
        sets,
    )


def played(job: Job) -> tuple[Job, float, dict[str, list[float]], dict[str, list[Told]]]:
    """Regret at the checks and at the end, and what was stated there; the scale of the world's rewards."""
    of_world, of_draws, of_policy = np.random.SeedSequence(job.seed, spawn_key=(job.world, job.run)).spawn(3)
    family = FAMILIES[job.family]
    world = family.maker(job.horizon)(job.world, of_world)
    true_sets = separating(world)
    checks = sorted({check for check in CHECKS if check < job.horizon} | {job.horizon})
    regrets: dict[str, list[float]] = {}
    told: dict[str, list[Told]] = {}
    for name in job.policies:
        policy = POLICIES[name](world.problem, seed=np.random.default_rng(of_policy))
        draws, done = np.random.default_rng(of_draws), 0
        lost: list[float] = []
        told[name] = []
        for check in checks:
            arms = play(policy, world, check - done, draws).arms
            lost.append(float((world.means.max() - world.means[arms]).sum()) + (lost[-1] if lost else 0.0))
            told[name].append(look(policy, world, true_sets))
            done = check
        regrets[name] = lost
    scale = SIZES[job.world % len(SIZES)][0] if job.family.startswith("practice") else 1.0
    return job, scale, regrets, told


def ratio(values: Floats, base: Floats) -> tuple[float, float]:
    """Of two means over worlds, with the standard error of the delta method."""
    found = values.mean() / base.mean()
    return float(found), float(np.std(values - found * base, ddof=1) / np.sqrt(len(values)) / base.mean())


class Tail(NamedTuple):
    """How bad the worst runs are, relative to Thompson sampling in the same world."""

    q99: float
    """The 99% quantile of regret over that of Thompson sampling; the highest of all worlds with enough runs."""
    stuck: float
    """Share of runs with more than three times that quantile of Thompson sampling."""
    stuck_ts: float


def tail(values: Floats, base: Floats, worlds: Floats) -> Tail:
    """World by world where each has at least 100 runs, otherwise over all runs."""
    groups = [worlds == world for world in np.unique(worlds)]
    if min(group.sum() for group in groups) < 100:
        groups = [np.ones(len(values), dtype=np.bool_)]
    highest = [np.quantile(base[group], 0.99) for group in groups]
    ratios = [np.quantile(values[group], 0.99) / top for group, top in zip(groups, highest, strict=True)]
    stuck = [
        float(np.mean(np.concatenate([of[group] > 3 * top for group, top in zip(groups, highest, strict=True)])))
        for of in (values, base)
    ]
    return Tail(float(max(ratios)), *stuck)


class Stated(NamedTuple):
    """A stated probability, whether it came true, and how much the case counts."""

    probability: float
    true: bool
    weight: float
    run: int
    """Cases of one run are not independent of each other, nor are worlds of the same number: kinds share constants."""


def calibration(cases: list[Stated], least: int = 100) -> str:
    """Per bin of the stated probability: what was stated, what came true ± standard error over runs, how many cases."""
    stated, true, weight, run = np.array(cases).T
    bins = np.minimum((stated * 10).astype(int), 9)
    shown = []
    for place in range(10):
        here = bins == place
        if here.sum() >= least:
            share = weight[here] / weight[here].sum()
            means = [float(share @ values[here]) for values in (stated, true)]
            apart = np.bincount(run[here].astype(int), share * (true[here] - means[1]))
            shown.append(f"{means[0]:.2f}:{means[1]:.2f} ± {np.sqrt(apart @ apart):.2f} ({here.sum()})")
    return "  ".join(shown)


def report(family: str, results: list[Any], policies: tuple[str, ...]) -> dict[str, Any]:
    """Print the lines of one family, and give them as numbers."""
    checks = [told.rows for told in results[0][3][policies[0]]]
    scale = np.array([result[1] for result in results])[:, None]
    base = np.array([result[2]["ts"] for result in results]) / scale
    kept: dict[str, Any] = {}
    for name in policies:
        values = np.array([result[2][name] for result in results]) / scale
        ratios = [ratio(values[:, place], base[:, place]) for place in range(len(checks))]
        covered = [float(np.mean([r[3][name][place].covered for r in results])) for place in range(len(checks))]
        width = [float(np.mean([r[3][name][place].width for r in results])) for place in range(len(checks))]
        worst = tail(values[:, -1], base[:, -1], np.array([result[0].world for result in results]))
        losses = np.mean([[told.loss for told in r[3][name]] for r in results], axis=0)
        shown = " | ".join(f"{t}: {r:.3f} ± {se:.3f}" for t, (r, se) in zip(checks, ratios, strict=True))
        print(
            f"{family:22s} {name:16s} {shown} | covered {' '.join(f'{c:.3f}' for c in covered)}"
            f" width {' '.join(f'{w:.2f}' for w in width)}"
            f" q99 {worst.q99:.2f} stuck {worst.stuck:.4f}:{worst.stuck_ts:.4f}"
            f" loss stated:so {' '.join(f'{one:.4f}:{other:.4f}' for one, other in losses)}",
            flush=True,
        )
        kept[name] = {"rows": checks, "ratio": ratios, "covered": covered, "width": width, "runs": len(results)}
        kept[name] |= worst._asdict()
    return kept


def probabilities(runs: list[list[Told]]) -> dict[str, list[Stated]]:
    """All probabilities that were stated in a family; every look counts the same, and so does every family."""
    told = [(look, run) for run, looks in enumerate(runs) for look in looks]
    each = 1 / len(told)
    return {
        "best": [Stated(*look.best, each, run) for look, run in told if look.best is not None],
        "close": [Stated(*look.close, each, run) for look, run in told],
        "separates": [Stated(*pair, each / len(look.sets), run) for look, run in told for pair in look.sets],
    }


def show_calibration(everything: dict[str, dict[str, list[list[Told]]]]) -> None:
    """Per policy: all families together, then those of practice and each of the others."""
    for name, by_family in everything.items():
        groups: dict[str, dict[str, list[Stated]]] = {}
        for family, runs in by_family.items():
            found = probabilities(runs)
            for group in ("all", family.partition("-")[0]):
                for kind, cases in found.items():
                    groups.setdefault(group, {}).setdefault(kind, []).extend(cases)
        for group, kinds in groups.items():
            for kind, cases in kinds.items():
                if cases:
                    print(f"{group:14s} {name:16s} {kind:10s} {calibration(cases)}")


def jobs_of(family: str, arguments: Any, policies: tuple[str, ...]) -> Iterator[Job]:
    """All worlds and runs of a family."""
    horizon = arguments.horizon or HORIZONS.get(family, 10_000)
    runs = max(1, round(RUNS.get(family, 2) * arguments.runs))
    for run in range(runs):
        for world in range(FAMILIES[family].worlds):
            yield Job(family, world, run, arguments.seed, horizon, policies)


def set_constants(given: list[str]) -> None:
    """Change constants of the default's model, given as NAME=VALUE, in this process."""
    for each in given:
        name, _, value = each.partition("=")
        if not isinstance(getattr(model, name, None), float):
            raise SystemExit(f"--constant {each}: {name!r} is not a number in core/estimators/model.py")
        try:
            setattr(model, name, float(value))
        except ValueError:
            raise SystemExit(f"--constant {each}: expected NAME=NUMBER, such as TYPICAL=0.09") from None


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", default=DEFAULT)
    parser.add_argument("--policies", default="ts,safe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=float, default=1.0, help="times the usual number of runs")
    parser.add_argument("--horizon", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None, help="a JSON file for the numbers")
    parser.add_argument("--constant", action="append", default=[], metavar="NAME=VALUE", help="of the default's model")
    arguments = parser.parse_args()
    set_constants(arguments.constant)
    if arguments.constant:  # compiled code has constants built in
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "-".join(sorted(arguments.constant)))
    policies = tuple(dict.fromkeys(["ts", *arguments.policies.split(",")]))
    kept: dict[str, Any] = {}
    everything: dict[str, dict[str, list[list[Told]]]] = {name: {} for name in policies}
    with ProcessPoolExecutor(arguments.jobs, initializer=set_constants, initargs=(arguments.constant,)) as pool:
        for family in arguments.families:
            results = list(pool.map(partial(played), list(jobs_of(family, arguments, policies)), chunksize=1))
            kept[family] = report(family, results, policies)
            for name in policies:
                everything[name][family] = [result[3][name] for result in results]
    show_calibration(everything)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
