"""C-UCB and C-TS (Lu, Meisami, Tewari and Yan 2020): rewards by value of the parents, P(parents | arm) given."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.protocol import choose, indices
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_budget, checked_chances, checked_horizon, plain_chances, set_names
from .counts import Counts, any_of, counted
from .indices import cell_bound
from .through_cells import draw_cells, first_highest, through_chances, values_of_arms


class ToldSetPolicy(CountingPolicy):
    """A learner that is given a separating set and P(Z | arm): the options of those that judge arms through it.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        seed: Seed or Generator of its draws.
    """

    tier = Tier.PARENTS
    needs: ClassVar[tuple[str, ...]] = ("separating", "chances", "horizon")
    hints = "a separating set Z, P(Z | a), the horizon"

    def __init__(self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, seed: Seed = None) -> None:
        self._through = set_names(separating)
        self.chances = checked_chances(problem, self._through, chances)
        self._options = {"separating": list(self._through), "chances": plain_chances(chances), **self._options}
        super().__init__(problem, seed=seed)


class CommittingPolicy(ToldSetPolicy):
    """One that explores for a budget of rounds, half the horizon unless told, and then commits to an arm.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        horizon: Number of rounds that will be played.
        budget: Number of rounds of exploration; half of `horizon` by default.
        seed: Seed or Generator of its draws.
    """

    simple_regret = True

    def __init__(
        self,
        problem: Problem,
        *,
        separating: Sequence[str],
        chances: ArrayLike,
        horizon: int,
        budget: int | None = None,
        seed: Seed = None,
    ) -> None:
        horizon = checked_horizon(horizon)
        self.budget = checked_budget(horizon, budget)
        self._options = {"horizon": horizon, "budget": self.budget}
        super().__init__(problem, separating=separating, chances=chances, seed=seed)


@through_chances
@counted
@by_reference
class CUCBState(NamedTuple):
    """Counts, P(Z | arm), and the horizon."""

    counts: Counts
    chances: Floats
    horizon: float


@compiled
def bounds_of_cells(pooled: Ints, cells: int, constant: float, horizon: float) -> Floats:
    """m_z + sqrt(c ln T / n_z) of every cell."""
    values = np.empty(cells)
    for cell in range(cells):
        values[cell] = cell_bound(pooled[cell, 0], pooled[cell, 1], constant, horizon)
    return values


@compiled
def c_ucb_cells(state: CUCBState) -> Floats:
    """u_z: ln(1 / delta) = 2 ln T, so sqrt(2 ln(1 / delta) / n) is sqrt(4 ln T / n)."""
    return bounds_of_cells(state.counts.pooled, state.chances.shape[1], 4.0, state.horizon)


@choose.of(CUCBState)
@compiled
def choose_by_c_ucb(state: CUCBState, rng: np.random.Generator) -> int:
    """The highest bound through cells."""
    if state.counts.planned[0] > 0:
        return any_of(state.counts.quota, rng)
    return first_highest(state.counts, state.chances, c_ucb_cells(state))


@indices.of(CUCBState)
@compiled
def c_ucb_indices(state: CUCBState, rng: np.random.Generator) -> Floats:
    """The bounds through cells."""
    return values_of_arms(state.counts, state.chances, c_ucb_cells(state))


class CUCB(ToldSetPolicy):
    """The arm with the highest sum_z p(z | a) u_z, u_z = m_z + sqrt(2 ln(1 / delta) / max(1, n_z)), delta = 1 / T^2.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        horizon: Number of rounds that will be played.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = CUCB(problem, separating=["A"], chances=[[0.9, 0.1], [0.2, 0.8]], horizon=100, seed=0)
    >>> policy.tell_many({"I": ["none"] * 9, "A": [0, 1, 0, 1, 0, 1, 0, 1, 1], "Y": [0, 1, 0, 1, 0, 1, 0, 1, 1]})
    >>> policy.ask()  # A = 1 pays, and `on` makes it likely, though `on` was never pulled
    do(I=on)
    """

    name = "c-ucb"

    def __init__(
        self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, horizon: int, seed: Seed = None
    ) -> None:
        self.horizon = checked_horizon(horizon)
        self._options = {"horizon": self.horizon}
        super().__init__(problem, separating=separating, chances=chances, seed=seed)

    def _start(self, counts: Counts) -> CUCBState:
        return CUCBState(counts, self.chances, float(self.horizon))


@through_chances
@counted
@by_reference
class CTSState(NamedTuple):
    """Counts and P(Z | arm)."""

    counts: Counts
    chances: Floats


@choose.of(CTSState)
@compiled
def choose_by_c_ts(state: CTSState, rng: np.random.Generator) -> int:
    """The highest mean through drawn cells."""
    if state.counts.planned[0] > 0:
        return any_of(state.counts.quota, rng)
    return first_highest(state.counts, state.chances, draw_cells(state.counts.pooled, state.chances.shape[1], rng))


@indices.of(CTSState)
@compiled
def c_ts_indices(state: CTSState, rng: np.random.Generator) -> Floats:
    """The means through drawn cells."""
    cells = draw_cells(state.counts.pooled, state.chances.shape[1], rng)
    return values_of_arms(state.counts, state.chances, cells)


class CTS(ToldSetPolicy):
    """The arm with the highest sum_z p(z | a) theta_z, theta_z drawn from Beta(1 + ones, 1 + zeros).

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        seed: Seed or Generator of its draws.
    """

    name = "c-ts"
    needs = ("separating", "chances")
    hints = "a separating set Z, P(Z | a)"
    compares = "its draw from the posterior"

    def _start(self, counts: Counts) -> CTSState:
        return CTSState(counts, self.chances)
