"""Policies over counts: discrete variables and a reward of 0 or 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import NONE_PENDING, CountTables, Rows, TableLayout, with_pending
from ..discovery import Findings
from ..discovery.tiers import Tier
from ..estimators import make_pools, no_pools, own_moments
from ..problem import Problem
from ..seeds import Seed
from .base import Policy
from .posterior import Posterior, Source, beta_sizes, sampler_of
from .rules import ThompsonState, best_sets


class DiscretePolicy(Policy[ThompsonState]):
    """A Thompson sampler over counts.

    Args:
        problem: The problem; its reward is 0 or 1.
        seed: Seed or Generator of its draws.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        samples: Number of draws per posterior variance; 0 takes the closed form.
    """

    layout: TableLayout
    plays_highest = True
    uses_pending = True
    rolls_out_late = True

    def __init__(self, problem: Problem, *, seed: Seed, max_size: int | None, samples: int) -> None:
        self._max_size, self._samples = max_size, samples
        super().__init__(problem, seed)

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts for the sets whose variables it has."""
        return ()

    def _make_layout(self, problem: Problem) -> TableLayout:
        return TableLayout.of(problem, self._max_size)

    def _empty(self) -> ThompsonState:
        arms = len(self.problem.arms)
        anything = np.ones(arms, dtype=np.bool_)
        return ThompsonState(self.layout.empty(), no_pools(arms), self._samples, anything)

    def _fill(self, before: Rows, after: Rows) -> None:
        if self.layout.max_size:
            self._recount()

    def make_room(self) -> None:
        """Reserve memory in the tables for pending rows."""
        if not len(self._state.tables.pending):
            self._state = self._state._replace(tables=with_pending(self._state.tables))

    def _share(self, findings: Findings) -> ThompsonState:
        return self._state._replace(pools=make_pools(findings, self._state.tables))

    def _fit(self, *, pending: bool) -> ThompsonState:
        findings = self._found() if self.schedule.is_due(self.progress) else self.findings
        if pending or findings is None:
            return self._latest()
        tables = self._state.tables._replace(pending=NONE_PENDING)
        return self._state._replace(tables=tables, pools=make_pools(findings, tables))

    def _statistics(self) -> CountTables:
        return self._state.tables

    def _rows_seen(self) -> NDArray[np.int64]:
        tables = self._state.tables
        return np.array([tables.table(each).sum() for each in range(len(tables.cells))], dtype=np.int64)

    def _indices(self, state: ThompsonState, rng: np.random.Generator) -> NDArray[np.float64] | None:
        return None if state.samples else super()._indices(state, rng)

    def _posterior(self, state: ThompsonState) -> Posterior:
        tables, pools, chosen = state.tables, state.pools, best_sets(state).tolist()
        means, variances = np.array([own_moments(tables, arm) for arm in range(len(chosen))]).T
        own = tables.table(0).sum(axis=(1, 2)).tolist()
        through: list[tuple[str, ...] | None] = [None] * len(chosen)
        used = list(own)
        for arm, index in enumerate(chosen):
            if index >= 0:
                table = pools.sets[index]
                means[arm] = pools.linear[index, arm] / pools.totals[index, arm]
                variances[arm] = pools.variance[index, arm]
                through[arm], used[arm] = self.layout.names[table], int(tables.table(table)[arm].sum())
        effective = (beta_sizes(means, variances) - 2).tolist()  # Beta(1 + ones, 1 + zeros) has size rows + 2
        sources = [Source(*each) for each in zip(own, effective, through, used, strict=True)]
        return Posterior(self.rows, means, sources, sampler_of(state, len(chosen)))

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Running sums differ in the last bits from sums made afresh, and a tie may depend on them."""
        pools = self._state.pools
        return {"linear": pools.linear, "square": pools.square, "variance": pools.variance}


class ThompsonSampling(DiscretePolicy):
    """Naive Thompson Sampling (Thompson 1933), the baseline of the paper.

    Each arm learns from its own rows: Beta(1 + ones, 1 + zeros), draw, take the highest.

    Args:
        problem: The problem; its reward is 0 or 1.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = ThompsonSampling(problem, seed=0)
    >>> policy.tell(problem.arm(I="on"), {"A": 1, "Y": 1})
    >>> policy.recommend().arm
    do(I=on)
    """

    name = "ts"
    tier = Tier.REWARDS

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, max_size=0, samples=0)
