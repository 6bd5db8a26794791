"""`python -m benchmarks.scale`: what a round, a discovery and the state of SafeThompsonSampling cost as problems grow.

Every lever has three levels; lever n moves variable n, and the reward follows the first three variables. A policy is
told rows of random arms and then plays. `discovery round` is the dearest of the rounds in which a discovery was due.
"""

import statistics
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import causal_bandits as cb
from causal_bandits.compiled import Ints
from causal_bandits.data import Rows, ScreenedLayout

SIZES = ((4, 3), (8, 5), (16, 5), (30, 5), (8, 7), (30, 7), (8, 8), (16, 8), (30, 8))
"""Observed variables, and levers with three levels each."""
ROWS = 20_000
ROUNDS = 30


class Cost(NamedTuple):
    """What one size of problem costs."""

    policy: cb.SafeThompsonSampling
    rounds: list[float]
    """Seconds of each round without a discovery."""
    discoveries: list[float]
    """Seconds of each round with one."""

    @property
    def state_bytes(self) -> int:
        """Tables and pools in use."""
        state = self.policy.ready()
        return sum(array.nbytes for array in (*state.tables, *state.pools))


def problem_of(observed: int, levers: int) -> cb.Problem:
    """Binary variables and levers with three levels."""
    return cb.Problem("Y", {f"X{n}": 2 for n in range(observed)}, {f"I{n}": 3 for n in range(levers)})


def drawn(problem: cb.Problem, arms: Ints, rng: np.random.Generator) -> Rows:
    """Rows of some arms."""
    codes = rng.integers(2, size=(len(arms), len(problem.observed)))
    moved = min(len(problem.interventions), len(problem.observed))
    levels = problem.arm_codes[arms, :moved]
    codes[:, :moved] = rng.random(levels.shape) < 0.2 + 0.3 * levels
    rewards = rng.random(len(arms)) < 0.1 + 0.8 * codes[:, :3].mean(axis=1)
    return Rows(arms, codes, rewards.astype(np.int64), np.empty((len(arms), 0)))


def measured(observed: int, levers: int, rows: int = ROWS) -> Cost:
    """Rows told at once, then rounds by ask and tell until there were enough of both kinds."""
    problem = problem_of(observed, levers)
    rng = np.random.default_rng(0)
    policy = cb.SafeThompsonSampling(problem, seed=0)
    policy.learn(drawn(problem, rng.integers(len(problem.arms), size=rows), rng))
    rounds: list[float] = []
    discoveries: list[float] = []
    while len(rounds) < ROUNDS or len(discoveries) < 3:
        due = policy.rounds_to_refresh == 0
        start = time.perf_counter()
        arm = policy.ask()
        asked = time.perf_counter() - start
        seen = drawn(problem, np.array([problem.index(arm)]), rng)
        values = dict(zip(problem.observed_names, seen.codes[0].tolist(), strict=True))
        start = time.perf_counter()
        policy.tell(arm, {**values, "Y": int(seen.rewards[0])})
        (discoveries if due else rounds).append(asked + time.perf_counter() - start)
    return Cost(policy, rounds, discoveries)


def largest_factorial() -> dict[str, float]:
    """3^8 arms: a round, and the dearest round with a discovery, in milliseconds."""
    measured(8, 8, 100)  # compiles
    cost = measured(8, 8)
    return {
        "factorial_6561_round_ms": statistics.median(cost.rounds) * 1e3,
        "factorial_6561_discovery_round_ms": max(cost.discoveries) * 1e3,
    }


def line(observed: int, levers: int) -> list[str]:
    """One line of the table."""
    cost = measured(observed, levers)
    layout, pools = cost.policy.layout, cost.policy.ready().pools
    return [
        f"{observed}",
        f"{len(layout.problem.arms):,}",
        f"{layout.max_size}",
        f"{layout.count:,}",
        f"{len(pools.places):,}",
        f"{statistics.median(cost.rounds) * 1e3:.2f}",
        f"{statistics.median(cost.discoveries) * 1e3:.1f}",
        f"{max(cost.discoveries) * 1e3:.1f}",
        ("margins" if isinstance(layout, ScreenedLayout) else "tables") + f" {layout.nbytes / 2**20:.1f}",
        f"{cost.state_bytes / 2**20:.1f}",
    ]


def main() -> None:
    """Measure and print."""
    columns = ("observed", "arms", "max_size", "sets", "used", "round, ms", "discovery round, ms", "dearest, ms")
    table = Table(*columns, "all sets, MB", "in use, MB")
    for size in (SIZES[0], SIZES[-1]):
        measured(*size, rows=100)  # compiles
    for observed, levers in SIZES:
        table.add_row(*line(observed, levers))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
