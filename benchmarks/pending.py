"""Telling a row without its reward, beside telling a whole one; what rows take that wait."""

from collections.abc import Callable
from typing import Any

import numpy as np

import causal_bandits as cb
from causal_bandits.core.policies import Policy
from causal_bandits.research.worlds import practice_world

from .timing import Contestant, interleaved

TELLS, WAITING = 2000, 100_000


def _tells(make: Callable[..., Policy[Any]], how: str) -> Contestant:
    def prepare() -> Callable[[], int]:
        world = practice_world("mediated", rate=0.1, arms=6, seed=1)
        rng = np.random.default_rng(2)
        policy, target = make(world.problem, seed=0), world.problem.target
        cb.observe(policy, world, 3000, rng)
        policy.ask()
        rows = [(arm, world.pull(arm, rng)) for arm in (world.problem.arms[n % 6] for n in range(TELLS))]
        early = [(arm, {name: value for name, value in seen.items() if name != target}) for arm, seen in rows]
        if how == "reward":
            for arm, seen in early:
                policy.tell(arm, seen)
        pending = policy.pending()

        def work() -> int:
            if how == "whole":
                for arm, seen in rows:
                    policy.tell(arm, seen)
            elif how == "pending":
                for arm, seen in early:
                    policy.tell(arm, seen)
            else:
                for row, (_, seen) in zip(pending, rows, strict=True):
                    policy.tell(row, reward=seen[target])
            return TELLS

        return work

    return prepare


def pending_rows() -> dict[str, float]:
    """Time per tell of the default and of Algorithm 1, and bytes per row that waits (four observed variables)."""
    found: dict[str, float] = {}
    for key, make in (("safe", cb.SafePolicy), ("paper", cb.CausalThompsonSampling)):
        seconds = interleaved({how: _tells(make, how) for how in ("whole", "pending", "reward")})
        found |= {f"{key}_{how}_tell_us": each * 1e6 for how, each in seconds.items()}
        found[f"{key}_pending_tell_vs_whole_ratio"] = seconds["whole"] / seconds["pending"]
    world = practice_world("mediated", rate=0.1, arms=6, seed=1)
    policy = cb.SafePolicy(world.problem, seed=0)
    policy.expect(world.sample({}, WAITING, np.random.default_rng(0)))
    found["pending_row_bytes"] = policy.history.pending.nbytes / WAITING
    return found


if __name__ == "__main__":
    for name, value in pending_rows().items():
        print(f"{name} {value:.3g}")
