"""Policies over counts: discrete variables and a reward of 0 or 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import (
    NONE_PENDING,
    CountTables,
    Rows,
    Screen,
    ScreenedLayout,
    TableLayout,
    layout_for,
    recount_pending,
    with_pending,
)
from ..discovery import Findings
from ..estimators import make_pools, no_pools
from ..problem import Problem
from ..seeds import Seed
from .base import Policy
from .estimates import Estimates, estimate_arms
from .protocol import learn_many
from .rules import ThompsonState


class DiscretePolicy(Policy[ThompsonState]):
    """A Thompson sampler over counts.

    Args:
        problem: What is played; its reward is 0 or 1.
        seed: Seed or Generator of its draws.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        samples: Number of draws per posterior variance; 0 takes the closed form.
        screens: Keep tables only of the sets that a discovery accepts.
    """

    layout: TableLayout
    plays_highest = True
    uses_pending = True
    rolls_out_late = True

    def __init__(
        self, problem: Problem, *, seed: Seed, max_size: int | None, samples: int, screens: bool = False
    ) -> None:
        self._max_size, self._screens, self._samples = max_size, screens, samples
        super().__init__(problem, seed)

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts for the sets whose variables it has."""
        return ()

    def _make_layout(self, problem: Problem) -> TableLayout:
        return layout_for(problem, self._max_size, screens=self._screens)

    def _empty(self) -> ThompsonState:
        arms = len(self.problem.arms)
        anything = np.ones(arms, dtype=np.bool_)
        self._screen = Screen(self.layout, self.history) if isinstance(self.layout, ScreenedLayout) else None
        tables = self.layout.empty() if self._screen is None else self._screen.kept
        return ThompsonState(tables, no_pools(arms), self._samples, anything)

    def _count(self, rows: Rows) -> None:
        learn_many(self._state, rows.arms, rows.codes, rows.rewards)
        if self._screen is not None:
            self._screen.count()

    def _fill(self, before: Rows, after: Rows) -> None:
        if self.layout.max_size:
            self._recount()

    def make_room(self) -> None:
        """Make room in the tables for pending rows."""
        if not len(self._state.tables.pending):
            self._state = self._state._replace(tables=with_pending(self._state.tables))

    def _complete(self, rows: Rows) -> None:
        super()._complete(rows)
        if self._screen is not None:
            self._screen.count()

    def _tables(self, used: NDArray[np.int64]) -> CountTables:
        """Tables of all sets, or at least of those that are used."""
        if self._screen is None:
            return self._state.tables
        tables = self._screen.tables(used)
        late = self.waiting.made or len(self._state.tables.pending)  # a rollout has room before a row waits
        return recount_pending(tables, self.waiting.all) if late else tables

    def _share(self, findings: Findings) -> ThompsonState:
        tables = self._tables(findings.used)
        return self._state._replace(tables=tables, pools=make_pools(findings, tables))

    def _reading_without_pending(self) -> ThompsonState:
        fresh = self.schedule.is_due(self.progress)
        findings = self._discover() if fresh else self.findings
        if findings is None:
            return self._view()
        tables = self._tables(findings.used)._replace(pending=NONE_PENDING)
        return self._state._replace(tables=tables, pools=make_pools(findings, tables))

    def _statistics(self) -> CountTables | Screen:
        return self._state.tables if self._screen is None else self._screen

    def _among(self, state: ThompsonState, allowed: NDArray[np.bool_]) -> ThompsonState:
        return state._replace(allowed=allowed)

    def _is_expensive(self) -> bool:
        return self._screen is not None

    def _rows_seen(self) -> NDArray[np.int64]:
        if self._screen is not None:
            return self._screen.rows_seen()
        tables = self._state.tables
        return np.array([tables.table(place).sum() for place in range(len(tables.cells))], dtype=np.int64)

    def _indices(self, state: ThompsonState, rng: np.random.Generator) -> NDArray[np.float64] | None:
        return None if state.samples else super()._indices(state, rng)

    def _estimate(self, state: ThompsonState, level: float) -> Estimates:
        return estimate_arms(state, self.layout, level)

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Running sums differ in the last bits from sums made afresh, and a tie may depend on them."""
        pools = self._state.pools
        return {"linear": pools.linear, "square": pools.square, "variance": pools.variance}
