"""`python -m benchmarks.heavy_tails`: do 95% intervals of mean revenue cover where few customers spend most?

Three arms with the same mean, 3% of rows with a purchase, and amounts that are log-normal or Pareto. With a tail
exponent of 2 or less the variance is infinite.
"""

import argparse

import numpy as np

import causal_bandits as cb

BUYERS, LEAST = 0.03, 20.0
AMOUNTS: dict[str, float] = {"log-normal": 0.0, "Pareto 3": 3.0, "Pareto 2": 2.0, "Pareto 1.5": 1.5}
"""The exponent of the tail; 0: log-normal with sigma 0.8."""


def covered(exponent: float, per_arm: int, rng: np.random.Generator) -> list[tuple[bool, bool]]:
    """Per arm: whether its interval contains the mean, and whether it ends below it."""
    rows = 3 * per_arm
    buys, uniform = rng.random(rows) < BUYERS, rng.random(rows)
    if exponent > 0:
        amounts, mean = LEAST * (1 - uniform) ** (-1 / exponent), LEAST * exponent / (exponent - 1)
    else:
        amounts, mean = rng.lognormal(3.0, 0.8, rows), float(np.exp(3.0 + 0.8**2 / 2))
    visits = buys | (rng.random(rows) < 0.1)
    policy = cb.SafePolicy(cb.Problem("spend", {"visit": 2}, {"page": ["a", "b", "c"]}, reward="revenue"), seed=0)
    pages = np.array(["a", "b", "c"])[rng.integers(3, size=rows)]
    policy.tell_many({"page": pages, "visit": visits.astype(int), "spend": np.where(buys, amounts, 0.0)})
    true = BUYERS * mean
    return [(row.low <= true <= row.high, row.high < true) for row in policy.estimates()]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args()
    for kind, exponent in AMOUNTS.items():
        for per_arm in (500, 3000):
            hits = np.array(
                [
                    covered(exponent, per_arm, np.random.default_rng([chosen.seed, int(10 * exponent), per_arm, run]))
                    for run in range(chosen.runs)
                ]
            ).mean(axis=1)
            error = hits[:, 0].std(ddof=1) / np.sqrt(chosen.runs)
            print(f"{kind:10s} {per_arm:5d} rows per arm: covers {hits[:, 0].mean():.3f} ± {error:.3f}", end="")
            print(f", ends below the mean {hits[:, 1].mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
