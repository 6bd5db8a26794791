"""`python -m benchmarks.balancing`: regret balancing in structureless worlds, as published and with other constants.

All runs of all worlds are played at once in NumPy, by the formulas of Pacchiano, Dann and Gentile (2306.02869): the
learner with the lowest potential plays, and its coefficient d doubles where its mean reward is significantly too low
(D3RB), or is estimated (ED2RB). The learners are Thompson sampling and its twin that believes a false set.
"""

import argparse
from typing import NamedTuple, cast

import numpy as np

from causal_bandits.core.compiled import Floats
from causal_bandits.research.experiments.families import structureless_world
from causal_bandits.research.simulation.bayes_oracle import law_of
from causal_bandits.research.worlds import DiscreteWorld

ROUNDS, DELTA = 2000, 0.05


class Variant(NamedTuple):
    """How learners are balanced."""

    clipped: bool = True
    """Whether a potential at most doubles in a round, as published."""
    own_rows: bool = False
    """Whether each learner sees its own rows alone."""
    confidence: float = 0.5
    least: float = 0.1
    variance: bool = False
    """Whether confidence bounds use the variance of rewards."""
    estimated: bool = False
    """Whether coefficients are estimated: ED2RB."""


VARIANTS: dict[str, Variant | None] = {
    "Thompson sampling": None,
    "ours": Variant(clipped=False),
    "published": Variant(),
    "own rows": Variant(own_rows=True),
    "half the width": Variant(confidence=0.25),
    "least coefficient 1": Variant(least=1.0),
    "variance of rewards": Variant(variance=True),
    "ED2RB": Variant(estimated=True),
}


def width(n: Floats, mean: Floats, how: Variant) -> Floats:
    """Of the confidence bound of one of two learners."""
    logs = np.log(2 * np.maximum(np.log(n), 1) / DELTA) / n
    plain: Floats = how.confidence * np.sqrt(logs)
    return np.minimum(plain, np.sqrt(2 * mean * (1 - mean) * logs) + logs / 3) if how.variance else plain


def played(laws: Floats, means: Floats, how: Variant | None, seed: int) -> Floats:
    """Regret of every run, from P(Z | arm) and the means: (runs, arms, cells) and (runs, arms)."""
    rng, (runs, _, cells) = np.random.default_rng(seed), laws.shape
    sums, which, shown = laws.cumsum(axis=2), np.arange(runs), how or Variant()
    seen = np.zeros((1 + shown.own_rows, *laws.shape, 2))
    n, rewards = np.zeros((runs, 2)), np.zeros((runs, 2))
    d, potential = np.full((runs, 2), shown.least), np.full((runs, 2), shown.least)
    regret = np.zeros(runs)
    for _ in range(ROUNDS):
        turn = np.zeros(runs, dtype=np.int64) if how is None else (potential[:, 1] < potential[:, 0]).astype(np.int64)
        own = seen[0].sum(axis=2)
        drawn = np.asarray(rng.beta(1 + own[..., 1], 1 + own[..., 0]))
        causal = np.flatnonzero(turn)
        if len(causal):
            rows = seen[-1][causal]
            pooled, chances = rows.sum(axis=1), np.asarray(rng.standard_gamma(1 + rows.sum(axis=3)))
            of_cells = np.asarray(rng.beta(1 + pooled[..., 1], 1 + pooled[..., 0]))
            drawn[causal] = np.einsum("rac,rc->ra", chances / chances.sum(axis=2, keepdims=True), of_cells)
        arm = drawn.argmax(axis=1)
        regret += means.max(axis=1) - means[which, arm]
        cell = np.minimum((np.asarray(rng.random(runs))[:, None] > sums[which, arm]).sum(axis=1), cells - 1)
        reward = (rng.random(runs) < means[which, arm]).astype(np.int64)
        seen[turn if shown.own_rows else 0, which, arm, cell, reward] += 1
        n[which, turn] += 1
        rewards[which, turn] += reward
        mine, others = n[which, turn], n[which, 1 - turn]
        mean, best = rewards[which, turn] / mine, rewards[which, 1 - turn] / np.maximum(others, 1)
        half = width(mine, mean, shown)
        floor = np.where(others > 0, best - width(np.maximum(others, 1), best, shown), -1.0)
        if shown.estimated:
            d[which, turn] = np.maximum(shown.least, np.sqrt(mine) * (np.maximum(floor, mean - half) - mean - half))
        else:
            d[which, turn] *= 1 + (mean + d[which, turn] / np.sqrt(mine) + half < floor)
        new, old = d[which, turn] * np.sqrt(mine), potential[which, turn]
        potential[which, turn] = np.clip(new, old, 2 * old) if shown.clipped else new
    return regret


def main() -> None:
    """Play all variants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=24)
    parser.add_argument("--runs", type=int, default=16, help="per world")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    seeds = (np.random.SeedSequence([given.seed, number]) for number in range(given.worlds))
    worlds = [structureless_world(number, seed) for number, seed in enumerate(seeds)]
    laws = np.array([law_of(cast(DiscreteWorld, world)).sum(axis=-1).reshape(len(world.means), -1) for world in worlds])
    means = np.array([world.means for world in worlds])
    plain = np.empty((given.worlds, given.runs))
    for seed, (name, how) in enumerate(VARIANTS.items()):
        regret = played(laws.repeat(given.runs, axis=0), means.repeat(given.runs, axis=0), how, seed)
        regret = np.asarray(regret.reshape(plain.shape))
        plain = regret if how is None else plain
        ratio = regret.mean(axis=1) / plain.mean(axis=1)
        error = np.hypot(regret.std(axis=1, ddof=1), ratio * plain.std(axis=1, ddof=1))
        error /= np.sqrt(given.runs) * plain.mean(axis=1)
        all_of = regret.mean() / plain.mean()
        moved = regret.mean(axis=1) - all_of * plain.mean(axis=1)
        se = moved.std(ddof=1) / np.sqrt(given.worlds) / plain.mean()
        worst = f"worst world {ratio.max():.2f} ± {error[ratio.argmax()]:.2f}"
        above = f"{(ratio > 1.5).sum()} worlds above 1.5, {(ratio - 2 * error > 1.5).sum()} of them by 2 errors"
        print(f"{name}: {regret.mean():.1f}, {all_of:.2f} ± {se:.2f}; {worst}; {above}", flush=True)


if __name__ == "__main__":
    main()
