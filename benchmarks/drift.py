"""`python -m benchmarks.drift`: how often the drift alarm finds P(Y | S) moved by 0.2 within 500 rounds.

S has 1 to 16 joint values, unevenly frequent, and four sets are watched. Before the move come 500 to 3000 rounds. The
move is up in every cell, or up in some and down in others. 200 runs each, so a share has a standard error of 3.5 points
at most.
"""

import numpy as np

from causal_bandits.independence.drift import drift_of_counts

RUNS, ROUNDS, MOVE, WATCHED = 200, 500, 0.2, 4
CELLS, BEFORE = (1, 2, 4, 8, 16), (500, 1000, 2000, 3000)


def found(cells: int, before: int, *, mixed: bool) -> float:
    """The share of the runs with an alarm."""
    alarms = 0
    for run in range(RUNS):
        rng = np.random.default_rng((run, cells, before))
        chance = rng.uniform(0.2, 0.8, cells) if mixed else rng.uniform(0.1, 0.7, cells)
        move = MOVE * (rng.choice([-1, 1], cells) if mixed else np.ones(cells))
        cell = rng.choice(cells, before + ROUNDS, p=rng.dirichlet(np.full(cells, 2.0)))
        moved = np.arange(before + ROUNDS) >= before
        rewards = (rng.random(before + ROUNDS) < chance[cell] + move[cell] * moved).astype(np.int64)
        alarms += drift_of_counts(cell, rewards, watched=WATCHED, seed=run).alarm
    return alarms / RUNS


def main() -> None:
    """Measure and print."""
    for mixed in (False, True):
        print("moved up and down:" if mixed else "moved up:", "rounds before", *BEFORE)
        for cells in CELLS:
            shares = "  ".join(f"{found(cells, before, mixed=mixed):.2f}" for before in BEFORE)
            print(f"  {cells:2d} cells  {shares}", flush=True)


if __name__ == "__main__":
    main()
