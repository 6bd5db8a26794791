"""How often intervals of off-policy evaluation cover: `python -m benchmarks.evaluation [--default-runs 100]`.

Every run draws new means of the arms. Arms are played evenly, by Thompson Sampling in batches of 50 (all runs at
once), or by the default policy (`--default-runs`, some seconds each). Evaluated are an even mix of all arms, of half of
them and of three, and the first arm; and policies that were chosen by looking at the decisions: the arms with the most
and the fewest of them, an even mix of the two with the most, and the policy that chose the last one. For each it prints
how often the 95% interval of `direct` covers, how often the doubly robust estimate is not refused and covers where it
is not, and the mean error of `direct` relative to the truth.
"""

import argparse
import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from causal_bandits import Problem, SafePolicy
from causal_bandits.core.compiled import Floats, Ints
from causal_bandits.core.problem import RewardKind
from causal_bandits.product.studies.evaluation import Record, TooFewError, direct_mean, doubly_robust_mean, pooled_means

BATCH, DRAWS, FLOOR = 50, 500, 2e-4
SPEND = 0.8
"""Standard deviation of the logarithm of what a buyer spends; e^(SPEND^2 / 2) on average."""
LEVERS = {12: {"a": 3, "b": 4}, 27: {"a": 3, "b": 3, "c": 3}}


class Case(NamedTuple):
    """Arms whose means are drawn from a range, or whose chances to buy are."""

    kind: RewardKind
    arms: int
    low: float
    high: float
    rounds: int

    def rewards(self, rng: np.random.Generator, means: Floats) -> Floats:
        """One reward for each mean."""
        if self.kind == "binary":
            return (rng.random(means.shape) < means).astype(np.float64)
        if self.kind == "count":
            return rng.poisson(means).astype(np.float64)
        if self.kind == "revenue":
            spend = rng.lognormal(0.0, SPEND, means.shape)
            bought = rng.random(means.shape) < means / np.exp(SPEND**2 / 2)
            return np.where(bought, spend, 0.0)
        return means + rng.normal(size=means.shape)


CASES = (
    Case("binary", 12, 0.01, 0.02, 1000),
    Case("binary", 12, 0.01, 0.02, 4000),
    Case("binary", 27, 0.01, 0.02, 1000),
    Case("binary", 27, 0.01, 0.02, 4000),
    Case("binary", 4, 0.2, 0.5, 300),
    Case("binary", 4, 0.2, 0.5, 1000),
    Case("count", 12, 0.05, 0.1, 2000),
    Case("revenue", 12, 0.05, 0.1, 4000),
    Case("real", 12, 0.0, 0.3, 1000),
)


def play(case: Case, runs: int, seed: int, *, even: bool) -> Iterator[tuple[Floats, Record]]:
    """Records of many runs, of even play or of Thompson Sampling with a Gaussian posterior and exact propensities."""
    rng, arms, rounds = np.random.default_rng([seed, case.arms, case.rounds]), case.arms, case.rounds
    means = rng.uniform(case.low, case.high, (runs, arms))
    sums, rows = np.zeros((2, runs, arms))
    chosen: Ints = np.empty((runs, rounds), dtype=np.int64)
    rewards = np.empty((runs, rounds))
    chances, before = np.empty((2, runs, rounds, arms), dtype=np.float32)
    run = np.arange(runs)
    prior = (case.low + case.high) / 2
    variance = {"binary": prior * (1 - prior), "count": prior, "revenue": prior * np.exp(1.5 * SPEND**2), "real": 1.0}
    for start in range(0, rounds, BATCH):
        part = slice(start, start + BATCH)
        noise = variance[case.kind] / (rows + 10)
        center = (sums + 10 * prior) / (rows + 10)
        drawn = center[:, None] + np.sqrt(noise)[:, None] * rng.normal(size=(runs, DRAWS, arms))
        shares = (drawn.argmax(axis=2)[:, :, None] == np.arange(arms)).mean(axis=1)
        shares = np.full_like(shares, 1 / arms) if even else (1 - arms * FLOOR) * shares + FLOOR
        chances[:, part], before[:, part] = shares[:, None], pooled_means(sums, rows)[:, None]
        uniform = rng.random((runs, BATCH, 1))
        chosen[:, part] = np.minimum((uniform > shares.cumsum(axis=1)[:, None]).sum(axis=2), arms - 1)
        rewards[:, part] = case.rewards(rng, means[run[:, None], chosen[:, part]])
        for place in range(start, start + BATCH):
            sums[run, chosen[:, place]] += rewards[:, place]
            rows[run, chosen[:, place]] += 1
    for one in range(runs):
        yield means[one], Record(chosen[one], rewards[one], chances[one].astype(float), before[one].astype(float))


def play_default(case: Case, runs: int, seed: int) -> Iterator[tuple[Floats, Record]]:
    """Records of the default policy, which knows its propensities."""
    problem = Problem("y", {}, LEVERS[case.arms])
    for run in range(runs):
        rng = np.random.default_rng([seed, run, case.arms])
        means = rng.uniform(case.low, case.high, case.arms)
        policy = SafePolicy(problem, seed=run)
        arms: Ints = np.empty(case.rounds, dtype=np.int64)
        rewards, (chances, before) = np.empty(case.rounds), np.empty((2, case.rounds, case.arms))
        sums, rows = np.zeros((2, case.arms))
        for place in range(case.rounds):
            chances[place], before[place] = policy.shares(), pooled_means(sums, rows)
            arms[place] = rng.choice(case.arms, p=chances[place] / chances[place].sum())
            rewards[place] = case.rewards(rng, means[[arms[place]]])[0]
            policy.tell(problem.arms[arms[place]], {"y": int(rewards[place])})
            sums[arms[place]] += rewards[place]
            rows[arms[place]] += 1
        yield means, Record(arms, rewards, chances, before)


def targets(record: Record) -> dict[str, Floats]:
    """The policies to evaluate."""
    arms = record.propensities.shape[1]
    rows = np.bincount(record.arms, minlength=arms)

    def mix(some: int) -> Floats:
        return np.where(np.arange(arms) < some, 1 / some, 0.0)

    least = np.where(rows > 0, rows, rows.max() + 1).argmin()
    found = {"even mix": mix(arms), "half of the arms": mix(arms // 2), "three arms": mix(3), "first arm": mix(1)}
    now, most = np.where(rows > 0, record.propensities[-1], 0.0), np.argsort(rows)[-2:]
    return {
        **found,
        "most played": np.eye(arms)[rows.argmax()],
        "least played": np.eye(arms)[least],
        "two most played": np.eye(arms)[most].mean(axis=0),
        "as it is now": now / now.sum(),
    }


class Answer(NamedTuple):
    """What was found of one policy in one run; NaN where the doubly robust estimate is refused."""

    direct: float
    robust: float
    error: float


def answers(case: Case, means: Floats, record: Record) -> dict[str, Answer]:
    """Coverage of each policy that plays arms with decisions."""
    found, rows = {}, np.bincount(record.arms, minlength=case.arms)
    for name, target in targets(record).items():
        if np.any(rows[target > 0] == 0):
            continue
        truth = float(target @ means)
        direct = direct_mean(record, target, 0.95, case.kind)
        robust = None
        with contextlib.suppress(TooFewError):
            robust = doubly_robust_mean(record, target, 0.95, case.kind)
        found[name] = Answer(
            direct.low <= truth <= direct.high,
            np.nan if robust is None else robust.low <= truth <= robust.high,
            direct.mean / truth - 1,
        )
    return found


def share(hits: Floats) -> str:
    """A coverage with its standard error."""
    hits = hits[~np.isnan(hits)]
    if len(hits) < 20:
        return f"– ({len(hits)} runs)"
    rate = float(hits.mean())
    return f"{rate:.3f} ± {np.sqrt(max(rate * (1 - rate), 1 / len(hits)) / len(hits)):.3f}"


def show(title: str, case: Case, played: Iterator[tuple[Floats, Record]]) -> None:
    """Print the rows of one case."""
    found: dict[str, list[Answer]] = {}
    for means, record in played:
        for name, answer in answers(case, means, record).items():
            found.setdefault(name, []).append(answer)
    for name, each in found.items():
        hits = np.array(each)
        used = float(np.mean(~np.isnan(hits[:, 1])))
        about = f"{case.kind}, {case.arms} arms, {case.low:g} to {case.high:g}, {case.rounds} | {title} | {name}"
        print(
            f"| {about} | {share(hits[:, 0])} | {used:.0%} | {share(hits[:, 1])} "
            f"| {hits[:, 2].mean():+.1%} ± {hits[:, 2].std() / np.sqrt(len(hits)):.1%} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--default-runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args()
    print("| rewards, arms, means, decisions | played | evaluated | direct | not refused | robust | error |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        for title in ("evenly", "thompson") if not options.default_runs else ():
            show(title, case, play(case, options.runs, options.seed, even=title == "evenly"))
        if options.default_runs and case.arms in LEVERS and case.kind == "binary":
            show("default", case, play_default(case, options.default_runs, options.seed))


if __name__ == "__main__":
    main()
