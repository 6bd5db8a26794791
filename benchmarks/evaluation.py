"""How often intervals of off-policy evaluation cover, after Thompson Sampling: `python -m benchmarks.evaluation`.

All runs of a case are played at once. Propensities are shares of 200 choices, smoothed as studies smooth them. The
coverage is printed for each arm and, over all arms, by how many decisions played the arm, with standard errors.
"""

import argparse
import itertools

import numpy as np

from causal_bandits.compiled import Floats, Ints
from causal_bandits.studies.evaluation import LEAST_MATCHED, Record, direct_mean, weighted_mean

CASES = (
    ((0.4, 0.6), 150),
    ((0.4, 0.6), 600),
    ((0.2, 0.3, 0.4, 0.5), 300),
    ((0.2, 0.3, 0.4, 0.5), 1000),
    ((0.3, 0.4, 0.5, 0.6), 1000),
    ((0.2, 0.3, 0.4, 0.5), 4000),
)
DRAWS = 200
BINS = (0, 10, 20, LEAST_MATCHED, 80, 10**6)


def play(means: tuple[float, ...], rounds: int, runs: int, seed: int) -> list[Record]:
    """Records of many runs of Thompson Sampling with uniform priors."""
    rng, arms = np.random.default_rng(seed), len(means)
    won, lost = np.zeros((2, runs, arms))
    chosen: Ints = np.empty((runs, rounds), dtype=np.int64)
    rewards, chances, before = np.empty((runs, rounds)), np.empty((runs, rounds, arms)), np.empty((runs, rounds, arms))
    run = np.arange(runs)
    for t in range(rounds):
        draws = rng.beta(won[:, None] + 1, lost[:, None] + 1, size=(runs, DRAWS + 1, arms)).argmax(axis=2)
        shares = (draws[:, :DRAWS, None] == np.arange(arms)).sum(axis=1)
        chances[:, t] = (shares + 0.5) / (DRAWS + 0.5 * arms)
        rows, overall = won + lost, won.sum(axis=1) / max(t, 1)
        before[:, t] = np.where(rows > 0, won / np.maximum(rows, 1), overall[:, None])
        chosen[:, t] = draws[:, DRAWS]
        rewards[:, t] = rng.random(runs) < np.array(means)[chosen[:, t]]
        won[run, chosen[:, t]] += rewards[:, t]
        lost[run, chosen[:, t]] += 1 - rewards[:, t]
    return [Record(*each) for each in zip(chosen, rewards, chances, before, strict=True)]


def covered(records: list[Record], means: tuple[float, ...], method: str) -> Floats:
    """(runs, arms): whether the interval of playing one arm holds its mean."""
    found = np.zeros((len(records), len(means)))
    for number, record in enumerate(records):
        for arm, mean in enumerate(means):
            target = np.eye(len(means))[arm]
            how = (
                weighted_mean(record, target, 0.95)
                if method == "weighted"
                else direct_mean(record, target, 0.95, real=False)
            )
            found[number, arm] = how.low <= mean <= how.high
    return found


def shares(hits: Floats) -> str:
    """A coverage with its standard error."""
    share = float(hits.mean())
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / hits.size):.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for means, rounds in CASES:
        records = play(means, rounds, options.runs, options.seed)
        rows = np.array([np.bincount(record.arms, minlength=len(means)) for record in records])
        print(f"means {means}, {rounds} rounds, {options.runs} runs")
        for method in ("direct", "weighted"):
            hits = covered(records, means, method)
            print(f"  {method}: " + ", ".join(shares(hits[:, arm]) for arm in range(len(means))))
            for low, high in itertools.pairwise(BINS):
                inside = (rows >= low) & (rows < high)
                if inside.sum() >= 20:
                    print(f"    {low} to {high - 1} decisions of the arm: {shares(hits[inside])}")


if __name__ == "__main__":
    main()
