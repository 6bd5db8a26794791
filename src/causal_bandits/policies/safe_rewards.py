"""Thompson Sampling by degrees for counts, revenue, ordered levels and numbers."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ..compiled import Bools, Floats, by_reference, compiled
from ..data import CellLayout, Rows
from ..dispatch import entry
from ..estimators import beta_interval, gamma_interval
from ..estimators.cell_draws import believed_means, played_means, stated_means
from ..estimators.cell_rows import expect_cells, learn_cells, settle_cells
from ..estimators.cell_sharing import refresh_cells, shared_cells
from ..estimators.degrees import Graded
from ..estimators.main_effects import highest
from ..estimators.reward_shapes import ABOVE, numbers_for, row_variance
from .by_levers import LeverPolicy
from .main_effects import lever_sizes
from .posterior import Posterior, Source, sampler_of
from .protocol import choose, expect, forget, indices, learn, prepare, prepare_nothing, sample_means, settle

LEARNT = ("indices", "chosen", "separates", "means", "roots", "deviations", "heard", "moments", "sums", "parts", "used")
LATE = ("late", "ahead")
EXPENSIVE = 2**15

OWN = ("known", "mean", "root", "numbers")
"""The arrays of lever effects that are learnt."""
FREEDOM = 3.0
FEWEST_PLAYS, BY_THEN = 5, 100
"""Every arm is played so often by the time that there are so many rows per arm, whatever its first rewards were."""


@by_reference
class CellState(NamedTuple):
    """Rewards in the cells of every set, and what the last refresh made of them."""

    shared: Graded
    allowed: Bools


prepare.of(CellState)(prepare_nothing)


@compiled
def _left_alone(state: CellState) -> int:
    """An arm with too few plays by now, pending ones among them; -1 when there is none."""
    own, pending = state.shared.own.own, state.shared.tables.pending
    if own[:, 0].sum() >= BY_THEN * len(own):
        for arm in range(len(own)):
            if state.allowed[arm] and own[arm, 0] + (pending[arm] if len(pending) else 0) < FEWEST_PLAYS:
                return arm
    return -1


@choose.of(CellState)
@compiled
def choose_through_cells(state: CellState, rng: np.random.Generator) -> int:
    """The arm with the highest drawn mean, or one that was left alone."""
    left = _left_alone(state)
    return left if left >= 0 else highest(played_means(state.shared, state.allowed, rng))


@indices.of(CellState)
@compiled
def drawn_through_cells(state: CellState, rng: np.random.Generator) -> Floats:
    """What `choose` compares."""
    if _left_alone(state) >= 0:
        return np.full(len(state.allowed), np.nan)
    return played_means(state.shared, state.allowed, rng)


@sample_means.of(CellState)
@compiled
def sample_through_cells(state: CellState, seen: int, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean, as wide as what is stated of it."""
    return believed_means(state.shared, state.allowed, rng)


@learn.of(CellState)
@compiled
def learn_in_cells(state: CellState, arm: int, values: Floats, reward: float) -> None:
    """Count one row; `values` are level numbers."""
    learn_cells(state.shared, arm, values, reward)


@expect.of(CellState)
@compiled
def expect_in_cells(state: CellState, arm: int, values: Floats) -> None:
    """Count a row for P(S | arm) while its reward is pending."""
    expect_cells(state.shared, arm, values, 1)


@settle.of(CellState)
@compiled
def settle_in_cells(state: CellState, arm: int, values: Floats, reward: float) -> None:
    """Count the reward of a pending row."""
    settle_cells(state.shared, arm, values, reward)


@forget.of(CellState)
@compiled
def forget_in_cells(state: CellState, arm: int, values: Floats) -> None:
    """Take a pending row back."""
    expect_cells(state.shared, arm, values, -1)


@entry
def refresh_shared(state: Any) -> None:
    """Learn everything anew."""
    refresh_cells(state)


class CellPolicy(LeverPolicy[CellState]):
    """A learner over rewards in the cells of discrete mediators."""

    layout: CellLayout
    numbers = float

    def _levers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The level of every lever in every arm, and how many levels each has."""
        return self.problem.arm_codes, lever_sizes(self.problem)

    def _empty(self) -> CellState:
        made = shared_cells(self.layout.empty(), *self._levers(), numbers_for(self.problem.reward))
        return CellState(made, np.ones(len(self.problem.arms), dtype=np.bool_))

    def _seen(self, rows: Rows) -> NDArray[Any]:
        return rows.codes.astype(np.float64)

    def _learn_anew(self, state: CellState) -> None:
        refresh_shared(state.shared)

    def _pristine(self, state: CellState) -> CellState:
        fresh = shared_cells(state.shared.tables, *self._levers(), numbers_for(self.problem.reward))
        fresh.own.own[:] = state.shared.own.own
        fresh.own.numbers[: ABOVE + 1] = state.shared.own.numbers[: ABOVE + 1]
        return state._replace(shared=fresh)

    def _copy(self, state: CellState) -> CellState:
        was = state.shared
        own = was.own._replace(**{name: getattr(was.own, name).copy() for name in OWN})
        learnt = {name: getattr(was, name).copy() for name in (*LEARNT, *LATE)}
        return state._replace(shared=was._replace(own=own, **learnt))

    def _learnt(self, state: CellState) -> dict[str, NDArray[Any]]:
        kept = (*LEARNT, *LATE) if self.uses_pending and self.history.pending.made else LEARNT
        learnt = {f"cells_{name}": getattr(state.shared, name) for name in kept}
        # Values that came late are not counted in the order of their rows, and sums depend on the order.
        tables = {"cells_tables": state.shared.tables.sums} if self.history.filled else {}
        return {**{f"reward_{name}": getattr(state.shared.own, name) for name in OWN}, **learnt, **tables}

    def _check_sums(self) -> None:
        found = self._state.shared
        if not np.all((found.chosen >= 0) & (found.chosen < len(found.tables.cells))):
            raise ValueError("its arms go by sets that it does not have")

    def _is_expensive(self) -> bool:
        return len(self._state.shared.tables.cells) * len(self.problem.arms) > EXPENSIVE

    def _rows_seen(self) -> NDArray[np.int64]:
        tables = self._state.shared.tables
        return np.array([tables.table(place)[..., 0].sum() for place in range(tables.plain)], dtype=np.int64)

    def _posterior(self, state: CellState) -> Posterior:
        found, arms = state.shared, len(self.problem.arms)
        means, variances = np.array([stated_means(found, arm) for arm in range(arms)]).T
        own, sources = found.own.own[:, 0].astype(np.int64).tolist(), []
        for number, place in enumerate(found.chosen.tolist()):
            size = row_variance(found.own.numbers, means[number]) / variances[number]
            used = int(found.tables.table(place)[number, :, 0].sum())
            sources.append(Source(own[number], size, self._through(place), used))

        def limits(level: float) -> tuple[Floats, Floats]:
            each = zip(means.tolist(), variances.tolist(), own, strict=True)
            low, high = np.array([self._interval(*moments, level) for moments in each]).T
            return low, high

        return Posterior(self.rows, means, sources, sampler_of(state, arms), limits)

    def _through(self, place: int) -> tuple[str, ...] | None:
        """The variables of a table; "above zero" is written as such."""
        if place == 0:
            return None
        above = (f"{self.problem.target} > 0",) if place >= self.layout.count else ()
        return (*self.layout.names[place % self.layout.count], *above)

    def _interval(self, mean: float, variance: float, rows: int, level: float) -> tuple[float, float]:
        kind = self.problem.reward.kind
        if kind == "levels":
            low, high = min(self.problem.reward.values), max(self.problem.reward.values)
            found = beta_interval((mean - low) / (high - low), variance / (high - low) ** 2, level)
            return low + (high - low) * found.low, low + (high - low) * found.high
        if kind != "real":
            return gamma_interval(mean, variance, level)
        reach = float(stdtrit(FREEDOM + max(rows - 1, 0), (1 + level) / 2)) * float(np.sqrt(variance))
        return mean - reach, mean + reach
