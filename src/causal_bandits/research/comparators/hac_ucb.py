"""HAC-UCB (Bilodeau, Wang and Roy 2022): share through one set while the data allow it, else play UCB from then on."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.base import Variant
from ...core.policies.protocol import choose, indices, learn, sample_means
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_chances, checked_horizon, set_names
from .baselines import cell_bound, scaled_ucb_index
from .counts import (
    Counts,
    any_of,
    arm_index,
    choose_highest,
    count,
    counted,
    indices_of_arms,
    mean_and_rows,
    moments,
    moments_by_rewards,
    sample_by_rewards,
)
from .told_set import (
    bounds_of_cells,
    draw_cells,
    first_highest,
    moments_of_cells,
    sample_through_cells,
    through_cells,
    values_of_arms,
)


@counted
@by_reference
class HACState(NamedTuple):
    """Counts, P(Z | arm) once it is known, and whether the test has failed."""

    counts: Counts
    chances: Floats
    """(arms, cells); no cells until it is estimated."""
    horizon: float
    fallen: Bools
    """(1,): whether plain UCB is played."""


@compiled
def doubts_the_set(rewards: Ints, pooled: Ints, chances: Floats, horizon: float) -> bool:
    """HAC-UCB's test (Bilodeau, Wang and Roy 2022): do the two bounds of some arm contradict each other?

    delta = 1 / T^2, so w = sqrt(ln(1 / delta) / (2 n)) = sqrt(ln T / n); U_a = m_a + w_a, V_a = sum p (m_z + w_z).
    True as soon as U_a - V_a > 2 w_a or V_a - U_a > sum p 2 w_z.
    """
    logarithm = math.log(horizon)
    bounds, widths = np.empty(len(pooled)), np.empty(len(pooled))
    for cell in range(len(pooled)):
        bounds[cell] = cell_bound(pooled[cell, 0], pooled[cell, 1], 1.0, horizon)
        widths[cell] = math.sqrt(logarithm / max(1, pooled[cell, 0] + pooled[cell, 1]))
    for arm in range(len(rewards)):
        n = rewards[arm, 0] + rewards[arm, 1]
        own = math.sqrt(logarithm / max(1, n))
        u = (rewards[arm, 1] / n if n else 0.0) + own
        v = through_cells(chances, arm, bounds)
        if u - v > 2 * own or v - u > 2 * through_cells(chances, arm, widths):
            return True
    return False


@compiled
def shares(state: HACState) -> bool:
    """Whether arms are estimated through the set."""
    return bool(state.chances.shape[1] > 0 and not state.fallen[0])


@arm_index.of(HACState)
@compiled
def bound_of_arm(state: HACState, arm: int, rng: np.random.Generator) -> float:
    """U_a; an arm comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return scaled_ucb_index(m, n, 1.0, state.horizon) if n else math.inf


@compiled
def cells_of_hac(state: HACState) -> Floats:
    """ln(1 / delta) = 2 ln T, so sqrt(ln(1 / delta) / (2 n)) is sqrt(ln T / n)."""
    return bounds_of_cells(state.counts.pooled, state.chances.shape[1], 1.0, state.horizon)


@choose.of(HACState)
@compiled
def choose_by_hac(state: HACState, rng: np.random.Generator) -> int:
    """Planned pulls, then the highest V_a, or U_a from the first failure on."""
    if state.counts.planned[0] > 0:
        return any_of(state.counts.quota, rng)
    if state.fallen[0]:
        return choose_highest(state, rng)
    return first_highest(state.counts, state.chances, cells_of_hac(state))


@indices.of(HACState)
@compiled
def hac_indices(state: HACState, rng: np.random.Generator) -> Floats:
    """V_a, or U_a from the first failure on."""
    if shares(state):
        return values_of_arms(state.counts, state.chances, cells_of_hac(state))
    return indices_of_arms(state, rng)


@learn.of(HACState)
@compiled
def count_and_test(state: HACState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row; test the set after every one, once the planned pulls are made."""
    count(state.counts, arm, codes, reward)
    if state.counts.planned[0] == 0 and shares(state):
        state.fallen[0] = doubts_the_set(state.counts.rewards, state.counts.pooled, state.chances, state.horizon)


@sample_means.of(HACState)
@compiled
def sample_by_hac(state: HACState, prepared: int, rng: np.random.Generator) -> Floats:
    """The means in a draw of every cell, or of every arm from the first failure on."""
    if shares(state):
        return sample_through_cells(state, prepared, rng)
    draw_cells(state.counts.pooled, state.chances.shape[1], rng)  # as many random numbers as before the failure
    return sample_by_rewards(state, prepared, rng)


@moments.of(HACState)
@compiled
def moments_by_hac(state: HACState, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm, through the set while it is believed."""
    if shares(state):
        return moments_of_cells(state.counts, state.chances, arm)
    return moments_by_rewards(state, arm)


class HACUCB(CountingPolicy):
    """C-UCB with a safety test: U_a and V_a are bounds of an arm from its own rows and through Z.

    With `chances` told: each arm round(sqrt(T) / K + 1) times; then, while for every arm
    U_a - V_a <= 2 w_a and V_a - U_a <= sum_z p(z | a) 2 w_z, the highest V_a; from the first failure on the highest
    U_a. w = sqrt(ln(1 / delta) / (2 n)), delta = 1 / T^2.

    Without (their Algorithm 1): each arm ceil(4 sqrt(T) / K) times, P(Z | a) is estimated once from these rows,
    ceil(sqrt(T) / K) times more, then the same. Deviation: the paper starts from a guess of P(Z | a) and keeps it where
    the estimate does not contradict it; here there is no guess, so the estimate is always taken, and the test has no
    slack for its error.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of the set Z to try.
        horizon: Number of rounds that will be played.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`; estimated by default.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = HACUCB(problem, separating=["A"], horizon=100, seed=0)
    >>> policy.tier.label, HACUCB(problem, separating=["A"], chances=[[1, 0], [0, 1]], horizon=100).tier.label
    ('graph unknown, all variables observed', 'parents and P(Pa | a) given')
    """

    name = "hac-ucb"
    tier = Tier.OBSERVED
    needs = ("separating", "horizon")
    hints = "a set Z to try, the horizon"
    variants: ClassVar[Mapping[str, Variant]] = {"hac-ucb-told": Variant(needs=("separating", "horizon", "chances"))}

    def __init__(
        self,
        problem: Problem,
        *,
        separating: Sequence[str],
        horizon: int,
        chances: ArrayLike | None = None,
        seed: Seed = None,
    ) -> None:
        self._through, self.horizon = set_names(separating), checked_horizon(horizon)
        self._options: dict[str, Any] = {"separating": list(self._through), "horizon": self.horizon}
        self._told: Floats | None = None
        if chances is not None:
            self._told = checked_chances(problem, self._through, chances)
            self._options["chances"] = np.asarray(chances)
            self.tier, self.hints = Tier.PARENTS, "a set Z to try, P(Z | a), the horizon"
        super().__init__(problem, seed=seed)

    @property
    def fallen(self) -> bool:
        """Whether the test has failed, so that plain UCB is played."""
        return bool(self._state.fallen[0])

    def _shares(self, state: HACState) -> bool:
        return bool(shares(state))

    def _start(self, counts: Counts) -> HACState:
        share = math.sqrt(self.horizon) / len(counts.allowed)
        self._first = math.ceil(4 * share) if self._told is None else round(share + 1)
        chances = np.empty((len(counts.allowed), 0)) if self._told is None else self._told
        state = HACState(counts, chances, float(self.horizon), np.zeros(1, dtype=np.bool_))
        return self._explore_up_to(state, self._first)

    def _plan(self, state: HACState) -> HACState:
        if state.chances.shape[1]:
            return self._settle(state, state.counts.allowed)
        rows = state.counts.seen.sum(axis=2)
        more = math.ceil(math.sqrt(self.horizon) / len(rows))
        estimated = state._replace(chances=rows / rows.sum(axis=1, keepdims=True))
        return self._explore_up_to(estimated, self._first + more)
