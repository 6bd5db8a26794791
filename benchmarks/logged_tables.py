"""`python -m benchmarks.logged_tables [ROWS ...] [--seed 11]`: what a randomized log says, shared and by plain means.

Worlds of every kind of the practice family and the paper's DAGs; every row's arm is drawn at random. Per size and kind:
how often the recommended arm is not the best one and what it loses (relative to the best arm's mean), for plain means
and for the default policy without and with three columns of noise (`--bare`: without alone), and how often 95%
intervals hold the truth, ± standard error over logs: Jeffreys' of an arm's own rows, and those of the default. `--runs`
times as many logs make the latter smaller.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

import causal_bandits as cb
from causal_bandits.core.data import Rows
from causal_bandits.core.estimators import jeffreys_interval
from causal_bandits.research.experiments.families import FAMILIES
from causal_bandits.research.worlds import DiscreteWorld

from .practice import KINDS

SIZES = (200, 1000, 5000, 20_000)
FAMILY_NAMES = (*(f"practice-{kind}" for kind in KINDS if kind != "noise"), "hillstrom", "soft9", "dags4")
RUNS = {"hillstrom": 60, "soft9": 2}


class Job(NamedTuple):
    """One log."""

    family: str
    number: int
    run: int
    size: int
    seed: int
    bare: bool


class Judged(NamedTuple):
    """One log by one method."""

    wrong: bool
    loss: float
    covered: float


def logged(world: DiscreteWorld, rows: int, rng: np.random.Generator) -> Rows:
    """A log in which every arm is as probable."""
    counts = rng.multinomial(rows, np.full(len(world.means), 1 / len(world.means)))
    parts = [world.sample(arm, int(n), rng) for arm, n in zip(world.problem.arms, counts, strict=True) if n]
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in Rows._fields))


def with_noise(problem: cb.Problem, rows: Rows, rng: np.random.Generator) -> tuple[cb.Problem, Rows]:
    """The same log with three columns of coin flips."""
    observed = {variable.name: variable.levels for variable in problem.observed}
    levers = {lever.name: lever.levels for lever in problem.interventions}
    names = {f"noise {place}": 2 for place in range(3)}
    more = rng.integers(2, size=(len(rows.arms), 3))
    wider = cb.Problem(problem.target, {**observed, **names}, levers, arms=[dict(arm) for arm in problem.arms])
    return wider, rows._replace(codes=np.concatenate([rows.codes, more], axis=1))


def plain(world: DiscreteWorld, rows: Rows) -> Judged:
    """Means of each arm's own rows; Jeffreys' intervals."""
    arms = len(world.means)
    n, ones = np.bincount(rows.arms, minlength=arms), np.bincount(rows.arms, rows.rewards, minlength=arms)
    best = int(np.where(n > 0, ones / np.maximum(n, 1), -1).argmax())
    ends = [jeffreys_interval(int(a), int(b), 0.95) for a, b in zip(n, ones, strict=True)]
    hit = [low <= mean <= high for (low, high), mean in zip(ends, world.means, strict=True)]
    return _judged(world, best, float(np.mean(hit)))


def shared(world: DiscreteWorld, problem: cb.Problem, rows: Rows) -> Judged:
    """The default policy."""
    policy = cb.preset("safe", problem, seed=0)
    policy.learn(rows)
    hit = [row.low <= mean <= row.high for row, mean in zip(policy.estimates(), world.means, strict=True)]
    return _judged(world, problem.index(policy.recommend().arm), float(np.mean(hit)))


def _judged(world: DiscreteWorld, best: int, covered: float) -> Judged:
    lost = float(world.means.max() - world.means[best])
    return Judged(lost > 1e-12, lost / float(world.means.max()), covered)


def one(job: Job) -> tuple[Judged, ...]:
    """Plain means, the default, the default with noise."""
    of_world, of_rows = np.random.SeedSequence(job.seed, spawn_key=(job.number, job.run, job.size)).spawn(2)
    world = FAMILIES[job.family].maker(job.size)(job.number, of_world)
    assert isinstance(world, DiscreteWorld)
    rng = np.random.default_rng(of_rows)
    rows = logged(world, job.size, rng)
    found = plain(world, rows), shared(world, world.problem, rows)
    return found if job.bare else (*found, shared(world, *with_noise(world.problem, rows, rng)))


def jobs_of(family: str, size: int, arguments: argparse.Namespace) -> list[Job]:
    """All logs of a size."""
    usual = RUNS.get(family, 3 if family.startswith("practice") else 1)
    runs, worlds = range(max(1, round(usual * arguments.runs))), range(FAMILIES[family].worlds)
    return [Job(family, number, run, size, arguments.seed, arguments.bare) for run in runs for number in worlds]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", type=int, default=SIZES)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--runs", type=float, default=1.0, help="times the usual number of logs")
    parser.add_argument("--bare", action="store_true", help="without columns of noise")
    parser.add_argument("--families", nargs="+", default=FAMILY_NAMES)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for family in arguments.families:
            for size in arguments.rows:
                found = np.array(list(pool.map(one, jobs_of(family, size, arguments))), dtype=np.float64)
                means, errors = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
                parts = [
                    f"{name} wrong {m[0]:.3f} ± {e[0]:.3f} loss {m[1]:.4f} ± {e[1]:.4f} covered {m[2]:.3f} ± {e[2]:.3f}"
                    for name, m, e in zip(("plain", "safe", "noise"), means, errors, strict=False)
                ]
                print(f"{family:22s} {size:6d} x {len(found):3d} {' | '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
