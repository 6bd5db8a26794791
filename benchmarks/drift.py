"""`python -m benchmarks.drift`: how often the drift check alarms while nothing changes, and how soon it finds a change.

False alarms: studies of three equal arms with two mediators, played by the default policy and evenly, looked at after
every row. Delays: one arm; after this many rows its mean reward takes a step. Sets: P(Y | S) moves by 0.2.
"""

import argparse
import math
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.core.independence.drift import find_drift
from causal_bandits.product.studies.drift import streams_of
from causal_bandits.product.studies.guardrails import error_shares

KINDS = ("0/1, 1%", "0/1, 5%", "0/1, 30%", "counts", "revenue", "Pareto", "gamma", "levels")
REWARDS: dict[str, Any] = {
    "counts": "count",
    "revenue": "revenue",
    "Pareto": "revenue",
    "gamma": "revenue",
    "levels": {"levels": ["0", "1", "2", "3"], "values": [0, 1, 2, 3]},
}
ROWS, BATCH = 3000, 50
STEPS, BEFORE = (1.1, 0.9, 1.25, 0.75, 1.5, 0.5), (1000, 5000, 25000)
CELLS = (1, 2, 4, 8)


def drawn(kind: str, rng: np.random.Generator, rows: int, level: float = 1.0) -> Floats:
    """Rewards whose mean is `level` times the usual one; of revenue the share of buyers (3%) changes."""
    if kind.startswith("0/1"):
        return (rng.random(rows) < float(kind[5:-1]) / 100 * level).astype(np.float64)
    if kind == "counts":
        return rng.poisson(2 * level, rows).astype(np.float64)
    if kind == "levels":
        return rng.binomial(3, 0.4 * level, rows).astype(np.float64)
    spent = {"revenue": rng.lognormal(3, 1, rows), "Pareto": 20 * (1 + rng.pareto(1.8, rows))}
    return np.where(rng.random(rows) < 0.03 * level, spent.get(kind, rng.gamma(2.0, 20.0, rows)), 0.0)


def study(kind: str, seed: int, *, adaptive: bool) -> bool:
    """Whether a study in which nothing changes has an alarm."""
    problem = cb.Problem("Y", {"A": 2, "B": 3}, {"I": ["none", "a", "b"]}, reward=REWARDS.get(kind, bool))
    rng, policy = np.random.default_rng((seed, 1)), cb.preset("safe", problem, seed=seed)
    batch = BATCH if adaptive else ROWS
    for _ in range(ROWS // batch):
        arms = policy.ask(batch) if adaptive else [problem.arms[each] for each in rng.integers(3, size=batch)]
        rewards = drawn(kind, rng, batch)
        table = {
            "I": [arm["I"] for arm in arms],
            "A": (rng.random(batch) < 0.3).astype(int),
            "B": rng.integers(3, size=batch),
            "Y": [str(int(each)) for each in rewards] if kind == "levels" else rewards,
        }
        policy.tell_many(table)
    rows = policy.history.rows
    return any(
        find_drift(rows.arms, values, (0.5 if place == 0 else 0.25) * error_shares(3, 3), seed=(seed, place)).alarm
        for place, values in enumerate(streams_of(problem, rows).values())
    )


def delays(kind: str, before: int, step: float, runs: int) -> list[float]:
    """Rows from the step to the alarm, or infinity where there is none in as many rows again."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng((run, before, int(100 * step)))
        values = np.concatenate([drawn(kind, rng, before), drawn(kind, rng, before, step)])
        drift = find_drift(np.zeros(2 * before, dtype=np.int64), values, 0.5 * error_shares(1, 1), seed=(run,))
        found.append(drift.row - before if drift.alarm else math.inf)
    return found


def set_alarms(cells: int, before: int, runs: int) -> list[bool]:
    """Whether P(Y | S) that moves by 0.2 in every cell is found within 1,000 rows, with four sets watched."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng((run, cells, before))
        chance, cell = rng.uniform(0.1, 0.7, cells), rng.integers(cells, size=before + 1000)
        moved = 0.2 * (np.arange(before + 1000) >= before)
        rewards = (rng.random(before + 1000) < chance[cell] + moved).astype(np.float64)
        found.append(find_drift(cell, rewards, np.full(cells, 1 / (4 * cells)), seed=(run,)).alarm)
    return found


def shown(cases: list[bool]) -> str:
    """A share with its standard error."""
    share = float(np.mean(cases))
    return f"{100 * share:.1f} ± {100 * math.sqrt(max(share * (1 - share), 0) / len(cases)):.1f}%"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--runs", type=int, default=100)
    chosen = parser.parse_args()
    for kind in KINDS:
        for adaptive in (False, True):
            alarms = [study(kind, seed, adaptive=adaptive) for seed in range(chosen.studies)]
            print(f"{kind}, {'default policy' if adaptive else 'even play'}: alarms {shown(alarms)}", flush=True)
    for kind in ("0/1, 5%", "0/1, 30%", "counts", "revenue"):
        for before in BEFORE:
            for step in STEPS:
                found = delays(kind, before, step, chosen.runs)
                middle = float(np.median(found))
                print(
                    f"{kind}, step x {step} after {before:,} rows: found {shown([d < math.inf for d in found])}, "
                    f"median delay {f'{middle:,.0f}' if middle < math.inf else '-'}",
                    flush=True,
                )
    for cells in CELLS:
        for before in (1000, 3000):
            print(f"sets, {cells} joint values, {before} rows before: {shown(set_alarms(cells, before, chosen.runs))}")


if __name__ == "__main__":
    main()
