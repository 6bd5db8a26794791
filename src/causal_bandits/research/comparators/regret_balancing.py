"""Regret balancing over Thompson sampling and its causal twin (Pacchiano, Dann and Gentile 2023: D3RB)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.protocol import choose, indices, learn
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_number, set_names
from .counts import Counts, count, counted, draw_by_rewards, highest
from .told_set import draw_cells, draw_chances

LEAST = 0.1
"""The regret coefficient d that every learner starts with."""
CONFIDENCE = 0.5
"""The constant c of the test; the width of Hoeffding's bound for rewards of 0 or 1 would be sqrt(1/2)."""


@counted
@by_reference
class BalancingState(NamedTuple):
    """Counts of all rows, and of each learner (plain, causal) its rounds, its rewards and its coefficient d."""

    counts: Counts
    rounds: Floats
    rewards: Floats
    coefficients: Floats
    delta: float


@compiled
def learner_of(state: BalancingState) -> int:
    """Whose turn it is: the learner with the lowest potential d sqrt(n), the plain one where they tie."""
    plain = state.coefficients[0] * math.sqrt(state.rounds[0])
    return int(state.coefficients[1] * math.sqrt(state.rounds[1]) < plain)


@compiled
def confidence_width(rounds: float, delta: float) -> float:
    """c sqrt(ln(2 ln n / delta) / n) for one of two learners."""
    return CONFIDENCE * math.sqrt(math.log(2 * max(math.log(rounds), 1.0) / delta) / rounds)


@compiled
def is_misspecified(rounds: Floats, rewards: Floats, coefficients: Floats, learner: int, delta: float) -> bool:
    """Whether a learner's mean reward, plus what its coefficient lets it lose, is below the other's lower bound."""
    other = 1 - learner
    if rounds[learner] == 0 or rounds[other] == 0:
        return False
    allowed = coefficients[learner] / math.sqrt(rounds[learner])
    upper = rewards[learner] / rounds[learner] + allowed + confidence_width(rounds[learner], delta)
    return bool(upper < rewards[other] / rounds[other] - confidence_width(rounds[other], delta))


@learn.of(BalancingState)
@compiled
def count_and_balance(state: BalancingState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row for the learner whose turn it was; double its coefficient where it loses too much."""
    learner = learner_of(state)
    count(state.counts, arm, codes, reward)
    state.rounds[learner] += 1
    state.rewards[learner] += reward
    if is_misspecified(state.rounds, state.rewards, state.coefficients, learner, state.delta):
        state.coefficients[learner] *= 2


@indices.of(BalancingState)
@compiled
def draw_of_learner(state: BalancingState, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean, by the learner whose turn it is."""
    drawn = np.full(len(state.counts.allowed), np.nan)
    causal = learner_of(state) == 1
    cells = draw_cells(state.counts.pooled, len(state.counts.pooled) if causal else 0, rng)
    for arm in range(len(drawn)):
        if state.counts.allowed[arm]:
            if causal:
                drawn[arm] = (draw_chances(state.counts.seen, arm, 1.0, rng) * cells).sum()
            else:
                drawn[arm] = draw_by_rewards(state.counts, arm, rng)
    return drawn


@choose.of(BalancingState)
@compiled
def choose_by_balancing(state: BalancingState, rng: np.random.Generator) -> int:
    """The highest draw."""
    return highest(draw_of_learner(state, rng), rng)


class RegretBalancing(CountingPolicy):
    """Two learners take turns so that their bounds on regret, d sqrt(n), stay equal.

    The plain learner is Thompson sampling; the causal one draws E[Y | Z] and P(Z | arm) as if Z separated. The
    coefficient d of a learner doubles when its mean reward is significantly below the other's, so it plays less.

    Deviation: both learners see all rows, which the paper leaves to the learners; turns follow from the counts. The
    potential is d sqrt(n) itself, while the paper also keeps it from more than doubling in one round.

    Args:
        separating: Names of the variables of the set Z to try; all observed variables by default.
        delta: Probability with which a confidence bound may fail.
    """

    name = "regret-balancing"
    tier = Tier.OBSERVED
    hints = "a set Z to try"
    needs = ("separating",)
    compares = "its draw from the posterior"

    def __init__(
        self, problem: Problem, *, separating: Sequence[str] | None = None, delta: float = 0.05, seed: Seed = None
    ) -> None:
        self.separating = problem.observed_names if separating is None else set_names(separating)
        self.delta = checked_number("delta", delta, below=1)
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> BalancingState:
        return BalancingState(counts, np.zeros(2), np.zeros(2), np.full(2, LEAST), self.delta)
