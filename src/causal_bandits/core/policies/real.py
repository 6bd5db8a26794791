"""Policies over moments: real-valued observed variables and reward."""

from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, brief, whole_number
from ...libraries import special
from ..compiled import Floats, Ints
from ..data import ArmMoments, DesignLayout, Rows, view
from ..discovery import Findings, RealDiscovery, check_discovery, discovery_from_dict
from ..estimators.regression import RealPools, real_pools
from ..problem import Problem
from ..seeds import Seed
from ..validation import is_number
from .base import Policy
from .posterior import Posterior, Source, sampler_of
from .real_draws import prior_of, typical_reward
from .real_rows import expect_real, forget_real, record_real_rewards, with_late_rows
from .real_rules import RealOptions, RealState, beliefs

Index = Literal["auer", "printed"]
Variance = Literal["closed-form", "bootstrap"]
Choice = Literal["variance", "squared-error"]


PRIOR_ROWS, MOST_PRIOR_ROWS = 3.0, 1e9
"""Rows that an arm's variance starts from, by default, in Thompson Sampling."""
EXPENSIVE = 2**15
"""Sets x arms from which on a discovery takes a good part of a second."""


def checked_prior(prior_rows: object) -> float:
    """Validate `prior_rows`."""
    if not (is_number(prior_rows) and 0 <= float(prior_rows) < MOST_PRIOR_ROWS):  # type: ignore[arg-type]
        raise OptionError(f"prior_rows={brief(prior_rows)}; expected a number of rows, at least 0")
    return float(prior_rows)  # type: ignore[arg-type]


def doubts(choice: str) -> bool:
    """Whether a set that may not separate is weighed by what its bias would cost."""
    if choice not in get_args(Choice):
        raise OptionError(f"choice={choice!r}; expected 'variance' or 'squared-error'")
    return choice == "squared-error"


def check_weighed(discovery: object, found: Findings | None) -> None:
    """Reject a discovery that does not say how probable its sets are."""
    if found is not None and found.probability is None:
        raise OptionError(
            f"choice='squared-error' weighs sets by Bayes factors, which {type(discovery).__name__} does not "
            "give; use discovery=BayesFactors()"
        )


def _patterns(rows: Rows) -> list[int]:
    """The variables that each row misses, as a bit mask."""
    found: list[int] = ((rows.codes < 0) << np.arange(rows.codes.shape[1])).sum(axis=1).tolist()
    return found


class RealPolicy(Policy[RealState]):
    """A learner over per-arm means and cross-products.

    Args:
        problem: What is played; its reward is real-valued.
        discovery: How separating sets are found; by default that of the class, or none.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        index: Auer's formula, or the one printed in Algorithm 2 of the paper.
        forced_plays: Play every arm at least 8 ln N times, as Auer does.
        seed: Seed or Generator of its draws.
        initial: Number of first rounds in which arms are chosen uniformly.
        variance: Variances in closed form, or from bootstraps as in the paper.
        bootstraps: Number of bootstrap samples for ``variance="bootstrap"``.
        choice: Use the set with the lowest variance, or with the lowest expected squared error (needs `BayesFactors`).
    """

    layout: DesignLayout
    numbers = float
    fewest_rows = 2
    plays_highest = True

    _prior_rows: float = 0.0
    """How many rows with the variance of all rewards an arm's own variance starts from; Thompson policies set it."""
    thompson: ClassVar[bool]
    """Draw from the posterior; otherwise take the upper confidence bound."""
    evidence: ClassVar[RealDiscovery | None] = None
    """The default discovery; None: nothing is shared."""

    def __init__(
        self,
        problem: Problem,
        *,
        discovery: RealDiscovery | None = None,
        max_size: int | None = None,
        index: Index = "auer",
        forced_plays: bool = False,
        seed: Seed = None,
        initial: int = 50,
        variance: Variance = "closed-form",
        bootstraps: int = 50,
        choice: Choice = "variance",
    ) -> None:
        discovery = self.evidence if discovery is None else discovery
        for name, given, known in (("index", index, get_args(Index)), ("variance", variance, get_args(Variance))):
            if given not in known:
                raise OptionError(f"{name}={given!r}; expected one of {', '.join(known)}")
        self.doubts = doubts(choice)
        samples = whole_number("bootstraps", bootstraps, 2, 1_000_000) if variance == "bootstrap" else 0
        first = whole_number("initial", initial, 0)
        prior = self._prior_rows
        self._options = RealOptions(self.thompson, index == "printed", bool(forced_plays), first, samples, prior)
        self._told: dict[str, Any] = {"initial": first, **({"prior_rows": prior} if prior > 0 else {})}
        self._patterns: list[int] = []
        """The patterns of missing variables seen so far, as bit masks."""
        if not self.thompson:
            self._told |= {"index": index, "forced_plays": bool(forced_plays)}
        self.discovery = discovery
        if discovery is not None:
            self._told |= {"max_size": max_size, "variance": variance, "bootstraps": bootstraps, "choice": choice}
            check_discovery(discovery)
            self.tier, self.hints = discovery.tier, discovery.hints(problem)
        self._max_size = 0 if discovery is None else max_size
        self.uses_pending = discovery is not None and not samples  # a bootstrap draws whole rows
        super().__init__(problem, seed)
        found = self._discover()  # sets that cannot be are rejected here, not later
        if self.doubts:
            check_weighed(self.discovery, found)

    def _make_layout(self, problem: Problem) -> DesignLayout:
        return DesignLayout.of(problem, self._max_size)

    def _empty(self) -> RealState:
        arms, width = len(self.problem.arms), self.layout.width
        pools = RealPools(
            np.empty((0, 0), dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, arms), dtype=np.int64)
        )
        kept = np.empty(0, dtype=np.int64), np.empty((0, width))
        self._view_of_set, holds = self.layout.views_of(self._patterns)
        views = self.layout.empty_views(len(holds))
        allowed = np.ones(arms, dtype=np.bool_)
        used = np.empty(0, dtype=np.int64), np.empty(0)
        none, spans = self.layout.empty_views(0), self.layout.spans
        return RealState(self.layout.empty(), pools, *kept, self._options, allowed, views, *used, spans, holds, none)

    def reserve(self, count: int) -> None:
        """Reserve memory for rows to come; only the bootstrap keeps them."""
        if not self._options.bootstraps:
            return
        rows = int(self._state.moments.counts.sum())
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
        found = {*_patterns(self.history.rows), *(_patterns(self.history.pending.all) if self.uses_pending else ())}
        self._patterns = sorted(found - {0})
        super()._recount()

    def _has_views(self, rows: Rows) -> bool:
        """Whether rows miss what others missed; if not, sets need other views: they are made again, from all rows."""
        if set(_patterns(rows)) <= {0, *self._patterns}:
            return True
        self._recount()
        return False

    def _coded(self, rows: Rows) -> tuple[Ints, Floats, Ints]:
        """Arms, columns of the design, and the number of each row's pattern of missing variables."""
        number = {0: -1} | {pattern: place for place, pattern in enumerate(self._patterns)}
        places = np.array([number[pattern] for pattern in _patterns(rows)], dtype=np.int64)
        return rows.arms, self.layout.design(rows), places

    def _count(self, rows: Rows) -> None:
        if self._has_views(rows):
            self.reserve(len(rows.arms))
            coded = self._coded(rows)
            record_real_rewards(self._state, *coded)
            if len(self._state.late.counts):
                expect_real(self._state, *coded)

    def make_room(self) -> None:
        """Reserve memory in the moments for pending rows."""
        if self.uses_pending and not len(self._state.late.counts):
            self._state = self._state._replace(late=with_late_rows(self._state.moments, self._state.views))

    def _expect(self, rows: Rows) -> None:
        if self.uses_pending and self.history.pending.made and self._has_views(rows):
            self.make_room()
            expect_real(self._state, *self._coded(rows))

    def _complete(self, rows: Rows) -> None:
        if not self.uses_pending:
            self._count(rows)
        else:
            record_real_rewards(self._state, *self._coded(rows))

    def _forget(self, rows: Rows) -> None:
        if self.uses_pending and np.any(rows.codes < 0):
            self._recount()  # maybe no other row missed this
        elif self.uses_pending:
            forget_real(self._state, *self._coded(rows))

    def _fit(self, *, pending: bool) -> RealState:
        return self._latest() if pending else self._latest()._replace(late=self.layout.empty_views(0))

    def _sums(self) -> dict[str, NDArray[Any]]:
        made = self.uses_pending and self.history.pending.made
        return {f"late_{name}": array for name, array in self._state.late._asdict().items()} if made else {}

    def _check_sums(self) -> None:
        waiting = np.bincount(self.history.pending.all.arms, minlength=len(self.problem.arms))
        late = self._state.late.counts
        if len(late) and not np.array_equal(late[0], self._state.moments.counts + waiting):
            raise ValueError("its pending rows are not those of its sums")

    def _share(self, findings: Findings) -> RealState:
        used = findings.used
        probability = findings.probability if self.doubts else None
        doubt = np.zeros(len(used)) if probability is None else 1 - probability[used]
        return self._state._replace(pools=real_pools(findings), view_of=self._view_of_set[used], doubt=doubt)

    def _rows_seen(self) -> NDArray[np.int64]:
        counts = [*self._state.views.counts.sum(axis=1).tolist(), self.rows]  # view -1 is the last
        return np.array(counts, dtype=np.int64)[self._view_of_set]

    def _discover(self) -> Findings | None:
        """Every set is tested on the rows that have a value for each of its variables."""
        found = super()._discover()
        views = self._state.views
        if found is None or not len(views.counts) or self._reads_rows:
            return found
        parts = [
            self.discovery.discover(self.layout, view(views, place), self.rows) for place in range(len(views.counts))
        ]
        return found.merged(parts, self._view_of_set)

    def _is_expensive(self) -> bool:
        return self.layout.count * len(self.problem.arms) > EXPENSIVE

    def _statistics(self) -> ArmMoments | Rows:
        return self.history.rows if self._reads_rows else self._state.moments

    @property
    def _reads_rows(self) -> bool:
        """Whether the discovery reads rows, and itself leaves out those that miss a value."""
        return getattr(self.discovery, "reads_rows", False)

    def _posterior(self, state: RealState) -> Posterior:
        """Intervals: Student's t from an arm's own rows, normal through a set; none with fewer than two rows."""
        now = beliefs(state, np.random.default_rng(self.rows))
        prior, before = prior_of(state.moments, self._options.prior_rows)
        own, chosen = state.moments.counts, now.chosen
        alone = (own < 2) & (chosen < 0)  # one row has a mean but no spread
        means = np.where(alone, np.where(own > 0, state.moments.means[:, -1], np.nan), now.means)
        single = np.full(len(own), typical_reward(state.moments)[1] ** 2)
        many = own >= 2
        single[many] = (state.moments.scatter[many, -1, -1] + prior * before) / (own[many] - 1 + prior)
        sources = []
        for number, (index, rows) in enumerate(zip(chosen.tolist(), own.tolist(), strict=True)):
            variance, seen = float(now.variances[number]), -1 if index < 0 else int(state.view_of[index])
            effective = float(rows) if alone[number] or variance <= 0 else float(single[number]) / variance
            used = rows if seen < 0 else int(state.views.counts[seen, number])
            sources.append(Source(rows, effective, None if index < 0 else self._names(state, index), used))

        def limits(level: float) -> tuple[Floats, Floats]:
            tail = (1 + level) / 2
            quantile = np.where(chosen < 0, special.stdtrit(np.maximum(own - 1 + prior, 1), tail), special.ndtri(tail))
            reach = np.where(alone, np.inf, quantile * np.sqrt(np.where(alone, 0.0, now.variances)))
            middle = np.where(alone, 0.0, means)
            return middle - reach, middle + reach

        return Posterior(self.rows, means, sources, sampler_of(state, len(own)), limits)

    def _names(self, state: RealState, chosen: int) -> tuple[str, ...]:
        columns = state.pools.columns[chosen, : state.pools.widths[chosen]].tolist()
        return self.layout.names[[each.tolist() for each in self.layout.columns].index(columns)]

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return self._told if self.discovery is None else {**self._told, "discovery": self.discovery.to_dict()}

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave."""
        found = {"discovery": discovery_from_dict(options["discovery"])} if "discovery" in options else {}
        before = {"prior_rows": 0.0} if cls.thompson else {}  # 0 is not said
        return cls(problem, **{**before, **options, **found})
