"""`python -m benchmarks.scale [real]`: what a round, a discovery and the state of a safe policy cost as problems grow.

SafePolicy over binary variables, or with `real` SafeGaussianThompson over real ones. Every lever has three
levels; lever n moves variable n, and the reward follows the first three variables. A policy is told rows of random arms
and then plays. `discovery round` is the median of the rounds in which a discovery was due.
"""

import statistics
import sys
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import causal_bandits as cb
from causal_bandits.core.compiled import Ints
from causal_bandits.core.data import Rows
from causal_bandits.core.policies.real_rules import RealState

SIZES = ((4, 3), (8, 5), (16, 5), (30, 5), (8, 7), (30, 7), (8, 8), (16, 8), (30, 8))
"""Observed variables, and levers with three levels each."""
REAL_SIZES = ((4, 3), (8, 5), (30, 5), (8, 7), (8, 8))
ROWS = 20_000
ROUNDS = 30


class Cost(NamedTuple):
    """What one size of problem costs."""

    policy: cb.SafePolicy | cb.policies.SafeGaussianThompson
    rounds: list[float]
    """Seconds of each round without a discovery."""
    discoveries: list[float]
    """Seconds of each round with one."""

    @property
    def state_bytes(self) -> int:
        """Tables or moments, and what was learned from them."""
        state = self.policy.ready()
        if isinstance(state, RealState):
            return sum(array.nbytes for array in (*state.rewarded, *state.seen, *state.pools))
        arrays = (state.counts.tables.sums, *state.sums)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def sets_in_use(self) -> int:
        """How many sets are looked at."""
        state = self.policy.ready()
        return len(state.pools.groups) if isinstance(state, RealState) else len(state.counts.tables.cells)


def problem_of(observed: int, levers: int, *, real: bool) -> cb.Problem:
    """Binary or real variables, and levers with three levels."""
    variables = {f"X{n}": float if real else 2 for n in range(observed)}
    return cb.Problem("Y", variables, {f"I{n}": 3 for n in range(levers)}, reward=float if real else bool)


def drawn(problem: cb.Problem, arms: Ints, rng: np.random.Generator) -> Rows:
    """Rows of some arms."""
    observed = len(problem.observed)
    moved = min(len(problem.interventions), observed)
    levels = problem.arm_codes[arms, :moved]
    if problem.reward_is_real:
        values = rng.normal(size=(len(arms), observed))
        values[:, :moved] += levels
        rewards = values[:, :3].sum(axis=1) + rng.normal(size=len(arms))
        return Rows(arms, np.zeros(values.shape, dtype=np.int64), rewards, values)
    codes = rng.integers(2, size=(len(arms), observed))
    codes[:, :moved] = rng.random(levels.shape) < 0.2 + 0.3 * levels
    ones = rng.random(len(arms)) < 0.1 + 0.8 * codes[:, :3].mean(axis=1)
    return Rows(arms, codes, ones.astype(np.int64), np.empty((len(arms), 0)))


def measured(observed: int, levers: int, *, rows: int = ROWS, real: bool = False) -> Cost:
    """Rows told at once, then rounds by ask and tell until there were enough of both kinds."""
    problem = problem_of(observed, levers, real=real)
    rng = np.random.default_rng(0)
    policy = (cb.policies.SafeGaussianThompson if real else cb.SafePolicy)(problem, seed=0)
    arms = rng.integers(len(problem.arms), size=rows)
    if real:
        arms[: 2 * len(problem.arms)] = np.arange(2 * len(problem.arms))[:rows] % len(problem.arms)  # each is judged
    policy.learn(drawn(problem, arms, rng))
    cost = Cost(policy, [], [])
    while len(cost.rounds) < ROUNDS or len(cost.discoveries) < (1 if real else 3):
        due = policy.rounds_to_refresh == 0
        start = time.perf_counter()
        arm = policy.ask()
        asked = time.perf_counter() - start
        seen = drawn(problem, np.array([problem.index(arm)]), rng)
        values = dict(zip(problem.observed_names, (seen.raw if real else seen.codes)[0].tolist(), strict=True))
        start = time.perf_counter()
        policy.tell(arm, {**values, "Y": seen.rewards[0].item()})
        (cost.discoveries if due else cost.rounds).append(asked + time.perf_counter() - start)
    return cost


def largest_factorial() -> dict[str, float]:
    """3^8 arms: a round, and the slowest round with a discovery, in milliseconds."""
    measured(8, 8, rows=100)  # compiles
    cost = measured(8, 8)
    return {
        "factorial_6561_round_ms": statistics.median(cost.rounds) * 1e3,
        "factorial_6561_discovery_round_ms": max(cost.discoveries) * 1e3,
    }


def line(cost: Cost) -> list[str]:
    """One line of the table."""
    layout = cost.policy.layout
    kind = "moments" if layout.problem.reward_is_real else "tables"
    return [
        f"{len(layout.problem.observed)}",
        f"{len(layout.problem.arms):,}",
        f"{layout.max_size}",
        f"{layout.count:,}",
        f"{cost.sets_in_use:,}",
        f"{statistics.median(cost.rounds) * 1e3:.2f}",
        f"{statistics.median(cost.discoveries) * 1e3:.1f}",
        f"{max(cost.discoveries) * 1e3:.1f}",
        f"{kind} {layout.nbytes / 2**20:.1f}",
        f"{cost.state_bytes / 2**20:.1f}",
    ]


def main() -> None:
    """Measure and print."""
    real = "real" in sys.argv[1:]
    columns = ("observed", "arms", "max_size", "sets", "used", "round, ms", "discovery round, ms", "slowest, ms")
    table = Table(*columns, "all sets, MB", "in use, MB")
    sizes = REAL_SIZES if real else SIZES
    for size in (SIZES[0], sizes[2] if real else SIZES[-1]):
        measured(*size, rows=100, real=real)  # compiles
    for size in sizes:
        table.add_row(*line(measured(*size, real=real)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
