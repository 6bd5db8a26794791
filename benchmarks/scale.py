"""`python -m benchmarks.scale`: what a round, a discovery and the state of SafeThompsonSampling cost as problems grow.

Rows are drawn without structure, so the sets that are accepted are those that a false Bayes factor lets through and the
small ones early on; `discovery` is the dearest thing a round may do, and is due when the rows have grown by 25 %.
"""

import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import causal_bandits as cb

SIZES = ((4, 3), (8, 5), (16, 5), (30, 5), (8, 7), (8, 8), (30, 8))
"""Observed variables, and levers with three levels each."""
ROWS = 2000
ROUNDS = 30


def problem_of(observed: int, levers: int) -> cb.Problem:
    """Binary variables and levers with three levels."""
    return cb.Problem("Y", {f"X{n}": 2 for n in range(observed)}, {f"I{n}": 3 for n in range(levers)})


def measured(observed: int, levers: int) -> list[str]:
    """One line of the table."""
    problem = problem_of(observed, levers)
    rng = np.random.default_rng(0)
    policy = cb.SafeThompsonSampling(problem, seed=0)
    names = problem.observed_names
    table = {name: rng.integers(2, size=ROWS) for name in (*names, "Y")}
    chosen = rng.integers(len(problem.arms), size=ROWS)
    table |= {name: problem.arm_codes[chosen, place] for place, name in enumerate(problem.intervention_names)}
    policy.tell_many({name: values.tolist() for name, values in table.items()})
    policy.ask()
    rounds, discoveries = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        arm = policy.ask()
        policy.tell(arm, dict(zip((*names, "Y"), rng.integers(2, size=len(names) + 1).tolist(), strict=True)))
        rounds.append(time.perf_counter() - start)
    for _ in range(3):
        start = time.perf_counter()
        policy.discovery.discover(policy.layout, policy.ready().tables, policy.rows)
        discoveries.append(time.perf_counter() - start)
    state = policy.ready()
    size = sum(array.nbytes for array in (*state.tables, *state.pools)) / 2**20
    return [
        f"{observed}",
        f"{len(problem.arms):,}",
        f"{policy.layout.max_size}",
        f"{len(policy.layout.names):,}",
        f"{len(state.pools.places):,}",
        f"{statistics.median(rounds) * 1e3:.2f}",
        f"{min(discoveries) * 1e3:.1f}",
        f"{policy.layout.nbytes / 2**20:.1f}",
        f"{size:.1f}",
    ]


def main() -> None:
    """Measure and print."""
    columns = ("observed", "arms", "max_size", "sets", "accepted", "ask + tell, ms", "discovery, ms", "tables, MB")
    table = Table(*columns, "state, MB")
    measured(*SIZES[0])  # compiles
    for observed, levers in SIZES:
        table.add_row(*measured(observed, levers))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
