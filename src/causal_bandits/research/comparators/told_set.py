"""Arms estimated through the cells of a given set: C-UCB and C-TS (Lu et al. 2020), and an oracle given E[Y | S]."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.estimators import beta_moments
from ...core.policies.protocol import choose, indices, sample_means
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError
from .base import CountingPolicy, checked_chances, checked_horizon, numbers_told, plain_chances, set_names
from .baselines import cell_bound
from .counts import TIE, Counts, any_of, arm_index, counted, moments

# Arms estimated through the cells of one set Z: E[Y | a] = sum_z p(z | a) E[Y | z], with p told or estimated


@compiled
def through_cells(chances: Floats, arm: int, values: Floats) -> float:
    """sum_z p(z | a) value_z."""
    total = 0.0
    for cell in range(len(values)):
        total += chances[arm, cell] * values[cell]
    return total


@compiled
def draw_cells(pooled: Ints, cells: int, rng: np.random.Generator) -> Floats:
    """theta_z from Beta(1 + ones, 1 + zeros) for each cell."""
    values = np.empty(cells)
    for cell in range(cells):
        values[cell] = rng.beta(1.0 + pooled[cell, 1], 1.0 + pooled[cell, 0])
    return values


@compiled
def draw_chances(seen: Ints, arm: int, prior: float, rng: np.random.Generator) -> Floats:
    """P(Z | arm) from Dirichlet(prior + the arm's rows in each cell)."""
    chances = np.empty(seen.shape[1])
    for cell in range(len(chances)):
        chances[cell] = rng.standard_gamma(prior + seen[arm, cell, 0] + seen[arm, cell, 1])
    return np.asarray(chances / max(chances.sum(), 1e-300))


@compiled
def first_highest(counts: Counts, chances: Floats, values: Floats) -> int:
    """The allowed arm with the highest value through cells.

    Arms with the same p(z | a) are the same arm: the first of them stands for all, and no tie is drawn.
    """
    best, highest = -1, -np.inf
    for arm in range(len(counts.allowed)):
        if counts.allowed[arm]:
            value = through_cells(chances, arm, values)
            if value > highest + TIE:
                best, highest = arm, value
    return best


@compiled
def values_of_arms(counts: Counts, chances: Floats, values: Floats) -> Floats:
    """What `first_highest` compares; NaN for arms that it does not, and while pulls are planned."""
    found = np.full(len(counts.allowed), np.nan)
    for arm in range(len(found)):
        if counts.allowed[arm] and counts.planned[0] == 0:
            found[arm] = through_cells(chances, arm, values)
    return found


@compiled
def sample_through_cells(state: Any, prepared: int, rng: np.random.Generator) -> Floats:
    """The mean of every allowed arm in a draw of every cell."""
    values = draw_cells(state.counts.pooled, state.chances.shape[1], rng)
    means = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(means)):
        if state.counts.allowed[arm]:
            means[arm] = through_cells(state.chances, arm, values)
    return means


@compiled
def moments_of_cells(counts: Counts, chances: Floats, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of sum_z p(z | a) theta_z."""
    mean, variance = 0.0, 0.0
    for cell in range(chances.shape[1]):
        p = chances[arm, cell]
        of_cell, spread = beta_moments(counts.pooled[cell, 0], counts.pooled[cell, 1])
        mean += p * of_cell
        variance += p * p * spread
    return mean, variance


@compiled
def moments_through_cells(state: Any, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm."""
    return moments_of_cells(state.counts, state.chances, arm)


S = TypeVar("S", bound=type)


def through_chances(state: S) -> S:
    """A state with `chances` as well: its posterior is that of the cells."""
    sample_means.of(state)(sample_through_cells)
    moments.of(state)(moments_through_cells)
    return state


# C-UCB and C-TS (Lu, Meisami, Tewari and Yan 2020): rewards by value of the parents, P(parents | arm) given


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


# An oracle: a separating set S and E[Y | S] are told, so that P(S | arm) is all there is to learn


@counted
@by_reference
class ToldMeansState(NamedTuple):
    """Counts, and E[Y | s] of every cell."""

    counts: Counts
    cell_means: Floats


@arm_index.of(ToldMeansState)
@compiled
def draw_through_means(state: ToldMeansState, arm: int, rng: np.random.Generator) -> float:
    """sum_s p(s) m(s), p drawn from Dirichlet(1 / cells + rows of the arm in each cell)."""
    prior = 1 / len(state.cell_means)
    return float((draw_chances(state.counts.seen, arm, prior, rng) * state.cell_means).sum())


@moments.of(ToldMeansState)
@compiled
def moments_through_means(state: ToldMeansState, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of sum_s p(s) m(s)."""
    total, mean, square = 0.0, 0.0, 0.0
    for cell in range(len(state.cell_means)):
        rows = 1 / len(state.cell_means) + state.counts.seen[arm, cell, 0] + state.counts.seen[arm, cell, 1]
        total += rows
        mean += rows * state.cell_means[cell]
        square += rows * state.cell_means[cell] ** 2
    mean /= total
    return mean, max(square / total - mean * mean, 1e-12) / (total + 1)


@sample_means.of(ToldMeansState)
@compiled
def sample_through_means(state: ToldMeansState, prepared: int, rng: np.random.Generator) -> Floats:
    """A draw of every allowed arm's mean."""
    means = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(means)):
        if state.counts.allowed[arm]:
            means[arm] = draw_through_means(state, arm, rng)
    return means


class ToldMeans(CountingPolicy):
    """Thompson sampling that is given S and E[Y | S]: P(S | arm) is drawn from its posterior.

    The prior is Dirichlet(1 / cells), one row in all (Perks 1947): an arm may always lead to one cell alone. With
    Dirichlet(1) and eight cells an arm without rows would hardly ever be drawn above a good one.

    It is an oracle: what other policies lose beyond it they lose because they have to learn what separates and what
    it is worth.

    Args:
        problem: What is played; its reward is 0 or 1.
        separating: Names of the variables of a set S that separates the levers from the reward.
        cell_means: E[Y | S]: an axis per variable of `separating`, in that order, or flat.
        seed: Seed or Generator of its draws.
    """

    name = "told-means"
    tier = Tier.PARENTS
    needs = ("separating", "cell_means")
    hints = "a separating set S, E[Y | S]"
    compares = "its draw from the posterior"

    def __init__(
        self, problem: Problem, *, separating: Sequence[str], cell_means: ArrayLike, seed: Seed = None
    ) -> None:
        self._through = set_names(separating)
        means = numbers_told("cell_means", cell_means)
        self._options = {"separating": list(self._through), "cell_means": means}
        super().__init__(problem, seed=seed)
        if means.size != self._cells or not np.all((means >= 0) & (means <= 1)):
            raise OptionError(
                f"cell_means has shape {means.shape}; expected {self._cells} numbers between 0 and 1, "
                f"E[Y | S] of every value of {list(self._through)}"
            )

    def _start(self, counts: Counts) -> ToldMeansState:
        return ToldMeansState(counts, np.ascontiguousarray(self._options["cell_means"], dtype=np.float64).ravel())
