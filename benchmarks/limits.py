"""`python -m benchmarks.limits balancing|long|tails`: what docs/explanation/limits.md says about three comparisons.

`balancing` plays regret balancing, and policies that believe a false claim, in structureless worlds where a set is
claimed to separate that does not. `long` plays one world for a million rounds, where it is known which constants of
the lower bounds apply. `tails` shows what `causal-bandits reproduce tails --out FOLDER` has played so far.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import causal_bandits as cb
from causal_bandits.research.experiments.families import FAMILIES
from causal_bandits.research.simulation import play, told
from causal_bandits.research.simulation.many_runs import tail_exponent

POWERS = (3, 4, 5, 6)
BELIEVERS = ("ts", "regret-balancing", "causal-ts-known", "ossb")


def shown(values: list[float] | np.ndarray) -> str:
    """The mean with its standard error."""
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


def balancing(worlds: int, runs: int, seed: int) -> None:
    """Regret relative to Thompson sampling, over all worlds and in the worst one."""
    family = FAMILIES["structureless"]
    regrets: dict[str, list[np.ndarray]] = {name: [] for name in BELIEVERS}
    for number in range(worlds):
        world = family.maker(2000)(number, np.random.SeedSequence([seed, number]))
        for name in BELIEVERS:
            policy = told(name, world, horizon=2000, separating=family.claimed)
            regrets[name].append(cb.simulate(policy, world, 2000, runs=runs, seed=seed).regret[:, -1])
    plain = np.array(regrets["ts"]).mean(axis=1)
    for name in BELIEVERS[1:]:
        means = np.array(regrets[name]).mean(axis=1)
        ratio = means.mean() / plain.mean()
        error = np.std(means - ratio * plain, ddof=1) / np.sqrt(worlds) / plain.mean()
        print(
            f"{name}: {ratio:.2f} ± {error:.2f} of Thompson sampling; single worlds {np.sort(means / plain).round(2)}"
        )


def played(policy: Any, world: cb.DiscreteSCM, rounds: int, seed: int) -> np.ndarray:
    """Regret of one run after every power of ten."""
    regret = play(policy, world, rounds, np.random.default_rng(seed)).regret(world.means)
    return np.array([regret[10**power - 1] for power in POWERS])


def long(runs: int, seed: int) -> None:
    """Regret over C ln T, and per ln t in the last decade of rounds."""
    chances, means = [0.3, 0.5, 0.4], [0.1, 0.6]
    world = cb.DiscreteSCM(
        {"Z": 2, "Y": 2},
        {
            "Z": cb.worlds.Mechanism([], [1 - chances[0], chances[0]]),
            "Y": cb.worlds.Mechanism(["Z"], lambda z: [1 - means[z], means[z]]),
        },
        {"lever": {level: {"Z": cb.worlds.Mechanism([], [1 - p, p])} for level, p in enumerate(chances)}},
    )
    limits = world.limits(["Z"])
    print(f"C_0 {limits.c0:.2f}, C_S {limits.cs:.2f}")
    rounds = 10**6
    for name, constant in (("causal-ts-known", limits.cs), ("ts", limits.c0)):
        policy = told(name, world, horizon=rounds)
        seeds = range(1000 * seed, 1000 * seed + runs)
        regret = np.array([played(policy(world.problem, seed=each), world, rounds, each) for each in seeds])
        for place, power in enumerate(POWERS):
            print(f"{name}, T = 10^{power}: {shown(regret[:, place] / (constant * np.log(10**power)))} of C ln T")
        last = (regret[:, -1] - regret[:, -2]) / (constant * np.log(10))
        print(f"{name}, last decade: {shown(last)} of C per ln t")


def tails(folder: Path) -> None:
    """Of every policy and world, at 1,000, 10,000 and 100,000 rounds of the same runs."""
    parts = [pl.read_parquet(path) for path in sorted((folder / "tails" / "chunks").glob("*.parquet"))]
    for (name, t), rows in pl.concat(parts).group_by("series", "t", maintain_order=True):
        regret = rows["regret"].to_numpy()
        exponent, error = tail_exponent(regret)
        quantiles = " ".join(f"{value:.1f}" for value in np.quantile(regret, [0.5, 0.95, 0.99, 0.999]))
        print(
            f"{name}, T = {t:,}, {len(regret):,} runs: mean {shown(regret)}; median, 95%, 99%, 99.9%: {quantiles}; ",
            end="",
        )
        print(f"exponent {exponent:.1f} ± {error:.1f}")


def main() -> None:
    """Play or show one of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("balancing", "long", "tails"))
    parser.add_argument("--out", type=Path, default=Path("results"), help="the folder of `reproduce tails`")
    parser.add_argument("--worlds", type=int, default=24)
    parser.add_argument("--runs", type=int, default=0, help="runs per world; 8 for balancing, 60 for long by default")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    if options.what == "balancing":
        balancing(options.worlds, options.runs or 8, options.seed)
    elif options.what == "tails":
        tails(options.out)
    else:
        long(options.runs or 60, options.seed)


if __name__ == "__main__":
    main()
