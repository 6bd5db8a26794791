"""Policies over moments: real-valued observed variables and reward."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, brief, whole_number
from ..data import ArmMoments, DesignLayout, Rows, ViewMoments, view
from ..discovery import Discovery, Findings
from ..estimators.regression import RealPools, real_pools
from ..problem import Problem
from ..seeds import Seed
from .base import Policy
from .posterior import Posterior, Source, sampler_of
from .real_rules import RealOptions, RealState, beliefs, count_real_rows, prior_of, typical_reward

Index = Literal["auer", "printed"]
Variance = Literal["closed-form", "bootstrap"]

PRIOR_ROWS, MOST_PRIOR_ROWS = 3.0, 1e9
"""Default and limit of `prior_rows` in Thompson Sampling."""
EXPENSIVE = 2**15
"""Sets x arms from which on a discovery takes a good part of a second."""


def _patterns(rows: Rows) -> NDArray[np.int64]:
    """The variables that each row misses, as a bit mask."""
    found: NDArray[np.int64] = ((rows.codes < 0) << np.arange(rows.codes.shape[1])).sum(axis=1, dtype=np.int64)
    return found


class RealPolicy(Policy[RealState]):
    """A learner over per-arm means and cross-products.

    Args:
        problem: The problem; its reward is real-valued.
        discovery: How separating sets are found; by default that of the class, or none.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        index: In UCB-Normal, Auer's formula, or the one printed in Algorithm 2 of the paper.
        forced_plays: In UCB-Normal, play every arm at least 8 ln N times, as Auer does and the paper does not.
        seed: Seed or Generator of its draws.
        initial: Number of first rounds in which arms are chosen uniformly, as in the paper's experiment.
        variance: Variances of means through sets in closed form, or from bootstraps as in the paper. With few rows the
            two differ on the same data: by a factor of up to 1.7 with ten rows of every arm, of 1.2 with a hundred. On
            average they agree, and both are about 10% too small with ten rows
            (`python -m benchmarks.regression_variance`).
        bootstraps: Number of bootstrap samples for ``variance="bootstrap"``.
        prior_rows: How many rows with the variance of all rewards an arm's own variance starts from; by default 3 in
            Thompson Sampling, where with 0, the reference prior, an arm may never be played again, and 0 in UCB-Normal.
    """

    layout: DesignLayout
    numbers = float
    fewest_rows = 2
    plays_highest = True

    thompson: ClassVar[bool]
    """Draw from the posterior; otherwise take the upper confidence bound."""
    evidence: ClassVar[Discovery | None] = None
    """The default discovery; None: nothing is shared."""
    doubts: ClassVar[bool] = False
    """Weigh a set that may not separate by what its bias would cost, instead of by its variance alone."""

    def __init__(
        self,
        problem: Problem,
        *,
        discovery: Discovery | None = None,
        max_size: int | None = None,
        index: Index = "auer",
        forced_plays: bool = False,
        seed: Seed = None,
        initial: int = 50,
        variance: Variance = "closed-form",
        bootstraps: int = 50,
        prior_rows: float | None = None,
    ) -> None:
        samples = whole_number("bootstraps", bootstraps, 2, 1_000_000) if variance == "bootstrap" else 0
        first, prior = whole_number("initial", initial, 0), PRIOR_ROWS if self.thompson else 0.0
        if prior_rows is not None:
            prior = float(prior_rows)
        if not 0 <= prior < MOST_PRIOR_ROWS:
            raise OptionError(f"prior_rows={brief(prior_rows)}; expected a number of rows, at least 0")
        if self.thompson and (forced_plays or index != "auer"):
            raise OptionError("index and forced_plays are options of UCB-Normal; leave them out")
        self._options = RealOptions(self.thompson, index == "printed", bool(forced_plays), first, samples, prior)
        self._given: dict[str, Any] = {
            "initial": first,
            "variance": variance,
            "bootstraps": bootstraps,
            "prior_rows": prior,
        }
        self._given |= {"max_size": max_size, "index": index, "forced_plays": bool(forced_plays)}
        found_by = self.evidence if discovery is None else discovery
        if found_by is not None:
            self._discover_by(found_by, problem)
        self._max_size = 0 if self.discovery is None else max_size
        self.uses_pending = self.discovery is not None and not samples  # a bootstrap draws whole rows
        self._patterns = [0]
        """The patterns of missing variables seen so far, as bit masks."""
        super().__init__(problem, seed)
        found = self._discover()  # sets that cannot be are rejected here, not later
        if self.doubts and found is not None and found.probability is None:
            raise OptionError(
                f"{type(self).__name__} weighs sets by Bayes factors, which {type(discovery).__name__} does not give; "
                "use discovery=BayesFactors()"
            )

    def _make_layout(self, problem: Problem) -> DesignLayout:
        return DesignLayout.of(problem, self._max_size)

    def _empty(self) -> RealState:
        arms, layout = len(self.problem.arms), self.layout
        none = np.empty(0, dtype=np.int64)
        self._view_of_set, holds = layout.views_of(self._patterns)
        rewarded, seen = layout.empty_views(len(holds)), layout.empty_views(len(holds), with_reward=False)
        pools = RealPools(np.empty((0, 0), dtype=np.int64), none, np.empty((0, arms), dtype=np.int64), none)
        kept, allowed = np.empty((0, layout.width)), np.ones(arms, dtype=np.bool_)
        doubt = np.empty(0)
        return RealState(rewarded, seen, holds, pools, none, doubt, none, kept, self._options, allowed, layout.spans)

    def reserve(self, count: int) -> None:
        """Reserve memory for rows to come; only the bootstrap keeps them."""
        if not self._options.bootstraps:
            return
        rows = int(self._state.rewarded.counts[0].sum())
        if rows + count > len(self._state.kept_arms):
            capacity = max(rows + count, 2 * rows, 64)
            arms = np.empty(capacity, dtype=np.int64)
            values = np.empty((capacity, self.layout.width))
            arms[:rows], values[:rows] = self._state.kept_arms[:rows], self._state.kept_values[:rows]
            self._state = self._state._replace(kept_arms=arms, kept_values=values)

    @property
    def needed(self) -> tuple[str, ...]:
        """A bootstrap draws whole rows."""
        return self.problem.observed_names if self._options.bootstraps else ()

    def _recount(self) -> None:
        pending = _patterns(self.history.pending.all) if self.uses_pending else ()
        self._patterns = sorted({0, *_patterns(self.history.rows), *pending})
        super()._recount()

    def _count_rows(self, rows: Rows, *, rewarded: bool, change: int) -> None:
        """Count rewards, and with `change` what rows say without them.

        Where rows miss what none missed before, sets need other views, and all rows are counted again.
        """
        patterns = _patterns(rows)
        if not np.isin(patterns, self._patterns).all():
            self._recount()
            return
        self.reserve(len(rows.arms))
        numbers = np.searchsorted(self._patterns, patterns)
        count_real_rows(self._state, rows.arms, self.layout.design(rows), numbers, rewarded, change)

    def _count(self, rows: Rows) -> None:
        self._count_rows(rows, rewarded=True, change=1)

    def _expect(self, rows: Rows) -> None:
        if self.uses_pending:
            self._count_rows(rows, rewarded=False, change=1)

    def _complete(self, rows: Rows) -> None:
        self._count_rows(rows, rewarded=True, change=0 if self.uses_pending else 1)

    def _forget(self, rows: Rows) -> None:
        if self.uses_pending and np.any(rows.codes < 0):
            self._recount()  # maybe no other row missed this
        elif self.uses_pending:
            self._count_rows(rows, rewarded=False, change=-1)

    def _fit(self, *, pending: bool) -> RealState:
        state = self._latest()
        counts, means, scatter = state.rewarded
        return state if pending else state._replace(seen=ViewMoments(counts, means[..., :-1], scatter[..., :-1, :-1]))

    def _sums(self) -> dict[str, NDArray[Any]]:
        made = self.uses_pending and self.history.pending.made
        return {f"seen_{name}": array for name, array in self._state.seen._asdict().items()} if made else {}

    def _check_sums(self) -> None:
        waiting = np.bincount(self.history.pending.all.arms, minlength=len(self.problem.arms)) * self.uses_pending
        if not np.array_equal(self._state.seen.counts[0], self._state.rewarded.counts[0] + waiting):
            raise ValueError("its pending rows are not those of its sums")

    def _share(self, findings: Findings) -> RealState:
        used = findings.used
        probability = findings.probability if self.doubts else None
        doubt = np.zeros(len(used)) if probability is None else 1 - probability[used]
        return self._state._replace(pools=real_pools(findings), view_of=self._view_of_set[used], doubt=doubt)

    def _rows_seen(self) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self._state.rewarded.counts.sum(axis=1)
        return counts[self._view_of_set]

    def _discover(self) -> Findings | None:
        """Every set is tested on the rows that have a value for each of its variables."""
        found = super()._discover()
        views = self._state.rewarded
        if found is None or len(views.counts) == 1:
            return found
        parts = [
            self.discovery.discover(self.layout, view(views, index), self.rows) for index in range(len(views.counts))
        ]
        return found.merged(parts, self._view_of_set)

    def _is_expensive(self) -> bool:
        return self.layout.count * len(self.problem.arms) > EXPENSIVE

    def _statistics(self) -> ArmMoments:
        return view(self._state.rewarded, 0)

    def _posterior(self, state: RealState) -> Posterior:
        """Means through the chosen set, or of the arm's own rows where none is chosen; NaN without either."""
        now, moments = beliefs(state, np.random.default_rng(self.rows)), view(state.rewarded, 0)
        prior, before = prior_of(moments, self._options.prior_rows)
        own, chosen = moments.counts, now.chosen
        alone = (own < 2) & (chosen < 0)  # one row has a mean but no spread
        means = np.where(alone, np.where(own > 0, moments.means[:, -1], np.nan), now.means)
        single = np.full(len(own), typical_reward(moments)[1] ** 2)
        many = own >= 2
        single[many] = (moments.scatter[many, -1, -1] + prior * before) / (own[many] - 1 + prior)
        sources = []
        for arm, (index, rows) in enumerate(zip(chosen.tolist(), own.tolist(), strict=True)):
            variance = float(now.variances[arm])
            effective = float(rows) if alone[arm] or variance <= 0 else float(single[arm]) / variance
            used = int(state.rewarded.counts[state.view_of[index], arm]) if index >= 0 else rows
            through = self.layout.names[state.pools.sets[index]] if index >= 0 else None
            sources.append(Source(rows, effective, through, used))

        return Posterior(self.rows, means, sources, sampler_of(state, len(own)))

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return self._given if self.discovery is None else {**self._given, "discovery": self.discovery.to_dict()}
