"""Arms estimated through the cells of a set: C-UCB, C-TS, HAC-UCB, and an oracle that is given E[Y | S]."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Bools, Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.estimators import beta_moments
from ...core.policies.base import Variant
from ...core.policies.protocol import choose, indices, learn, sample_means
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError, whole_number
from .base import CountingPolicy, checked_chances, numbers_told, set_names
from .baselines import cell_bound, scaled_ucb_index
from .counts import (
    TIE,
    Counts,
    arm_index,
    choose_highest,
    count,
    counted,
    indices_of_arms,
    mean_and_rows,
    moments,
    moments_by_rewards,
    sample_by_indices,
    sample_by_rewards,
)

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
def through_cells_of_arms(counts: Counts, chances: Floats, values: Floats) -> Floats:
    """sum_z p(z | a) value_z of every allowed arm; NaN for the others."""
    found = np.full(len(counts.allowed), np.nan)
    for arm in range(len(found)):
        if counts.allowed[arm]:
            found[arm] = through_cells(chances, arm, values)
    return found


@counted
@by_reference
class CellState(NamedTuple):
    """Counts, P(Z | arm), and how cells are judged."""

    counts: Counts
    chances: Floats
    """(arms, cells); no cells until it is estimated."""
    constant: float
    """c of the bounds m_z + sqrt(c ln T / n_z); 0: E[Y | z] is drawn."""
    horizon: float
    tested: bool
    """Whether the set is tested after every row."""
    fallen: Bools
    """(1,): whether it has failed, so that the set is ignored."""


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
def shares(state: CellState) -> bool:
    """Whether arms are estimated through the set."""
    return bool(state.chances.shape[1] > 0 and not state.fallen[0])


@compiled
def values_of_cells(state: CellState, rng: np.random.Generator) -> Floats:
    """The bound of every cell, or a draw."""
    pooled, cells = state.counts.pooled, state.chances.shape[1]
    if state.constant == 0:
        return draw_cells(pooled, cells, rng)
    values = np.empty(cells)
    for cell in range(cells):
        values[cell] = cell_bound(pooled[cell, 0], pooled[cell, 1], state.constant, state.horizon)
    return values


@learn.of(CellState)
@compiled
def count_and_test(state: CellState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row; test the set after every one, once the planned pulls are made."""
    count(state.counts, arm, codes, reward)
    if state.tested and state.counts.planned[0] == 0 and shares(state):
        state.fallen[0] = doubts_the_set(state.counts.rewards, state.counts.pooled, state.chances, state.horizon)


@arm_index.of(CellState)
@compiled
def bound_of_arm(state: CellState, arm: int, rng: np.random.Generator) -> float:
    """U_a, from own rows; an arm comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return scaled_ucb_index(m, n, 1.0, state.horizon) if n else math.inf


@indices.of(CellState)
@compiled
def indices_through_cells(state: CellState, rng: np.random.Generator) -> Floats:
    """The values through cells, or U_a once the set is ignored; none while pulls are planned."""
    if shares(state) and state.counts.planned[0] == 0:
        return through_cells_of_arms(state.counts, state.chances, values_of_cells(state, rng))
    return indices_of_arms(state, rng)


@choose.of(CellState)
@compiled
def choose_through_cells(state: CellState, rng: np.random.Generator) -> int:
    """Planned pulls, then the highest value through cells, or the highest U_a once the set is ignored.

    Arms with the same p(z | a) are the same arm: the first of them stands for all, and no tie is drawn.
    """
    if state.fallen[0] or state.counts.planned[0] > 0:
        return choose_highest(state, rng)
    values = indices_through_cells(state, rng)
    best, most = -1, -np.inf
    for arm in range(len(values)):
        if values[arm] > most + TIE:
            best, most = arm, values[arm]
    return best


@sample_means.of(CellState)
@compiled
def sample_through_cells(state: CellState, prepared: int, rng: np.random.Generator) -> Floats:
    """The mean of every allowed arm in a draw of every cell, or of every arm once the set is ignored."""
    values = draw_cells(state.counts.pooled, state.chances.shape[1], rng)
    if not shares(state):
        return sample_by_rewards(state, prepared, rng)  # after as many random numbers as before the failure
    return through_cells_of_arms(state.counts, state.chances, values)


@moments.of(CellState)
@compiled
def moments_through_cells(state: CellState, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of sum_z p(z | a) theta_z, or of the arm's own mean once the set is ignored."""
    if not shares(state):
        return moments_by_rewards(state, arm)
    mean, variance = 0.0, 0.0
    for cell in range(state.chances.shape[1]):
        p = state.chances[arm, cell]
        of_cell, spread = beta_moments(state.counts.pooled[cell, 0], state.counts.pooled[cell, 1])
        mean += p * of_cell
        variance += p * p * spread
    return mean, variance


# C-UCB and C-TS (Lu, Meisami, Tewari and Yan 2020): rewards by value of the parents, P(parents | arm) given


class ToldSetPolicy(CountingPolicy):
    """A learner that is given a separating set and P(Z | arm)."""

    tier = Tier.PARENTS
    needs: ClassVar[tuple[str, ...]] = ("separating", "chances")
    hints = "a separating set Z, P(Z | a)"

    def __init__(self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, seed: Seed = None) -> None:
        self.separating = set_names(separating)
        self.chances = checked_chances(problem, self.separating, chances)
        super().__init__(problem, seed=seed)

    def _shares(self, state: Any) -> bool:
        return True


class CUCB(ToldSetPolicy):
    """The arm with the highest sum_z p(z | a) u_z, u_z = m_z + sqrt(2 ln(1 / delta) / max(1, n_z)), delta = 1 / T^2.

    Args:
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
        horizon: Number of rounds that will be played.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = CUCB(problem, separating=["A"], chances=[[0.9, 0.1], [0.2, 0.8]], horizon=100, seed=0)
    >>> policy.tell_many({"I": ["none"] * 9, "A": [0, 1, 0, 1, 0, 1, 0, 1, 1], "Y": [0, 1, 0, 1, 0, 1, 0, 1, 1]})
    >>> policy.ask()  # A = 1 pays, and `on` makes it likely, though `on` was never pulled
    do(I=on)
    """

    name = "c-ucb"
    needs = ("separating", "chances", "horizon")
    hints = "a separating set Z, P(Z | a), the horizon"

    def __init__(
        self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, horizon: int, seed: Seed = None
    ) -> None:
        self.horizon = whole_number("horizon", horizon, 2)
        super().__init__(problem, separating=separating, chances=chances, seed=seed)

    def _start(self, counts: Counts) -> CellState:
        """ln(1 / delta) = 2 ln T, so sqrt(2 ln(1 / delta) / n) is sqrt(4 ln T / n)."""
        return CellState(counts, self.chances, 4.0, float(self.horizon), False, np.zeros(1, dtype=np.bool_))


class CTS(ToldSetPolicy):
    """The arm with the highest sum_z p(z | a) theta_z, theta_z drawn from Beta(1 + ones, 1 + zeros).

    Args:
        separating: Names of the variables of a set Z that separates the levers from the reward.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
    """

    name = "c-ts"
    compares = "its draw from the posterior"

    def _start(self, counts: Counts) -> CellState:
        return CellState(counts, self.chances, 0.0, 1.0, False, np.zeros(1, dtype=np.bool_))


class HACUCB(CountingPolicy):
    """C-UCB with a safety test (Bilodeau, Wang and Roy 2022): it shares through a set while the data allow it.

    U_a and V_a are bounds of an arm from its own rows and through Z.

    With `chances` given: each arm round(sqrt(T) / K + 1) times; then, while for every arm
    U_a - V_a <= 2 w_a and V_a - U_a <= sum_z p(z | a) 2 w_z, the highest V_a; from the first failure on the highest
    U_a. w = sqrt(ln(1 / delta) / (2 n)), delta = 1 / T^2.

    Without (their Algorithm 1): each arm ceil(4 sqrt(T) / K) times, P(Z | a) is estimated once from these rows,
    ceil(sqrt(T) / K) times more, then the same. Deviation: the paper starts from a guess of P(Z | a) and keeps it where
    the estimate does not contradict it; here there is no guess, so the estimate is always taken, and the test has no
    slack for its error.

    Args:
        separating: Names of the variables of the set Z to try.
        horizon: Number of rounds that will be played.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`; estimated by default.

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
        self.separating, self.horizon = set_names(separating), whole_number("horizon", horizon, 2)
        self.chances = None if chances is None else checked_chances(problem, self.separating, chances)
        if chances is not None:
            self.tier, self.hints = Tier.PARENTS, "a set Z to try, P(Z | a), the horizon"
        super().__init__(problem, seed=seed)

    @property
    def fallen(self) -> bool:
        """Whether the test has failed, so that plain UCB is played."""
        return bool(self._state.fallen[0])

    def _shares(self, state: CellState) -> bool:
        return bool(shares(state))

    def _start(self, counts: Counts) -> CellState:
        share = math.sqrt(self.horizon) / len(counts.allowed)
        self._first = math.ceil(4 * share) if self.chances is None else round(share + 1)
        chances = np.empty((len(counts.allowed), 0)) if self.chances is None else self.chances
        state = CellState(counts, chances, 1.0, float(self.horizon), True, np.zeros(1, dtype=np.bool_))
        return self._explore_up_to(state, self._first)

    def _plan(self, state: CellState) -> CellState:
        if state.chances.shape[1]:
            return self._settle(state, state.counts.allowed)
        rows = state.counts.seen.sum(axis=2)
        more = math.ceil(math.sqrt(self.horizon) / len(rows))
        estimated = state._replace(chances=rows / rows.sum(axis=1, keepdims=True))
        return self._explore_up_to(estimated, self._first + more)


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


sample_means.of(ToldMeansState)(sample_by_indices)


class ToldMeans(CountingPolicy):
    """Thompson sampling that is given S and E[Y | S]: P(S | arm) is drawn from its posterior.

    The prior is Dirichlet(1 / cells), one row in all (Perks 1947): an arm may always lead to one cell alone. With
    Dirichlet(1) and eight cells an arm without rows would hardly ever be drawn above a good one.

    It is an oracle: what other policies lose beyond it they lose because they have to learn what separates and what
    it is worth.

    Args:
        separating: Names of the variables of a set S that separates the levers from the reward.
        cell_means: E[Y | S]: an axis per variable of `separating`, in that order, or flat.
    """

    name = "told-means"
    tier = Tier.PARENTS
    needs = ("separating", "cell_means")
    hints = "a separating set S, E[Y | S]"
    compares = "its draw from the posterior"

    def __init__(
        self, problem: Problem, *, separating: Sequence[str], cell_means: ArrayLike, seed: Seed = None
    ) -> None:
        self.separating = set_names(separating)
        self.cell_means = means = numbers_told("cell_means", cell_means)
        super().__init__(problem, seed=seed)
        if means.size != self._cells or not np.all((means >= 0) & (means <= 1)):
            raise OptionError(
                f"cell_means has shape {means.shape}; expected {self._cells} numbers between 0 and 1, "
                f"E[Y | S] of every value of {list(self.separating)}"
            )

    def _start(self, counts: Counts) -> ToldMeansState:
        return ToldMeansState(counts, np.ascontiguousarray(self.cell_means).ravel())
