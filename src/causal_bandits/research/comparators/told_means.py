"""An oracle: a separating set S and E[Y | S] are told, so that P(S | arm) is all there is to learn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.compiled import Floats, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.protocol import sample_means
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import OptionError
from .base import CountingPolicy, numbers_told, set_names
from .counts import Counts, arm_index, counted, moments
from .through_cells import draw_chances


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
