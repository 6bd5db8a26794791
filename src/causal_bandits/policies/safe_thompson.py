"""Thompson Sampling that shares by degrees, through every set and through levers: the default, beyond the paper."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..data import NONE_PENDING, Rows, TableLayout
from ..discovery import Degrees, Findings
from ..discovery.tiers import Tier
from ..errors import OptionError, brief, flag
from ..estimators.averaging import set_shares, set_weights
from ..estimators.degrees import Graded
from ..estimators.graded import graded, refresh, with_room
from ..estimators.graded_draws import index_errors, played_chances, stated_chances
from ..estimators.graded_rows import (
    expect_graded,
    fill_graded,
    forget_graded,
    learn_graded,
    learn_graded_rows,
    settle_graded,
)
from ..estimators.main_effects import copy_of, highest
from ..estimators.stating import nearly_separates, stated
from ..estimators.top_two import choose_of_top_two
from ..problem import Problem
from ..seeds import Seed
from .by_levers import LeverPolicy
from .main_effects import count_own, effects_learnt, lever_sizes
from .posterior import Posterior, Source, beta_limits, beta_sizes, sampler_of
from .protocol import choose, expect, forget, indices, learn, prepare, sample_means, settle

LEARNT = ("indices", "chosen", "separates", "means", "roots", "deviations", "heard", "moments", "sums", "parts", "used")
"""The arrays of a state that are learnt, beside those of the levers."""
LATE = ("late", "ahead")
"""The same, where rows were ever pending."""
AVERAGED = ("shifts",)
"""The same, where sets are averaged over."""
MOST, EXPENSIVE = 2**17, 2**15
"""Sets times arms: no more are looked at unless `max_size` is given; with more, a refresh waits for 1 % more rows."""

ALIKE = 0.8
"""P(levers do the same in all segments) beforehand."""
MOST_EFFECTS = 2**18
"""Sets times squared numbers of effects: with more, segments are levers like the others."""
MANY = 100
"""Rows that are quicker to count table by table."""
SEGMENTED = 4 / 3
"""A factor of the variance that is stated of an arm in a segment where segments are played as if they were alike."""


@by_reference
class GradedState(NamedTuple):
    """Counts of every set, and what the last refresh made of them."""

    graded: Graded
    allowed: Bools
    second: float = 0.0
    """The share of rounds for the challenger of the arm that is drawn as the best; 0: arms are played to earn."""
    wider: float = 1.0
    """As in `stated`."""


@choose.of(GradedState)
@compiled
def choose_by_degrees(state: GradedState, rng: np.random.Generator) -> int:
    """The arm with the highest draw; of the top two, where an answer is wanted and not earnings."""
    if state.second > 0:
        return choose_of_top_two(state.graded.own.own, state.allowed, state.second, rng)
    return highest(played_chances(state.graded, state.allowed, rng))


@indices.of(GradedState)
@compiled
def drawn_by_degrees(state: GradedState, rng: np.random.Generator) -> Floats:
    """What `choose` compares."""
    return played_chances(state.graded, state.allowed, rng)


@prepare.of(GradedState)
@compiled
def prepare_by_degrees(state: GradedState, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """What is stated of every arm, how far E[Y | S] may be wrong, and what each set's word counts."""
    return stated(state.graded, state.wider), index_errors(state.graded), set_weights(state.graded)


@sample_means.of(GradedState)
@compiled
def sample_by_degrees(state: GradedState, seen: tuple[Floats, Floats, Floats], rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance, from what is stated of it."""
    return stated_chances(state.graded, state.allowed, seen[0], seen[1], seen[2], rng)


@learn.of(GradedState)
@compiled
def learn_by_degrees(state: GradedState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    learn_graded(state.graded, arm, codes, reward)


@expect.of(GradedState)
@compiled
def expect_by_degrees(state: GradedState, arm: int, codes: Ints) -> None:
    """Count a row for P(S | arm) while its reward is pending."""
    expect_graded(state.graded, arm, codes)


@settle.of(GradedState)
@compiled
def settle_by_degrees(state: GradedState, arm: int, codes: Ints, reward: int) -> None:
    """Count the reward of a pending row."""
    settle_graded(state.graded, arm, codes, reward)


@forget.of(GradedState)
@compiled
def forget_by_degrees(state: GradedState, arm: int, codes: Ints) -> None:
    """Take a pending row back."""
    forget_graded(state.graded, arm, codes)


class SafeThompsonSampling(LeverPolicy[GradedState]):
    """Causal Thompson Sampling for those who do not know whether any set separates: the one to start with.

    Nothing is accepted or rejected. For every set S an arm's chance is the mean of its index E[Y | S], which all arms
    learn together, and a difference whose size is learnt from all arms: where differences are small, much is shared;
    where they are large, little. Both are sums of lever effects and a deviation of the arm's own. Each arm goes by the
    average over the sets that may separate, or by its own rows, and never against its own rows. See docs/beyond.md.

    Args:
        problem: What is played; its reward is 0 or 1.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        alike: Where the problem has segments, the probability beforehand that levers do the same in all of them, for
            playing; with 0 segments are levers like the others, and the policy is exactly that of the problem in which
            they are. What is stated takes segments for levers in any case, and is a little wider if it is above 0.
        average: Average over sets when playing; without, each arm is played by the word of one set alone, and studies
            from before there was this option go on like that. What is stated does not depend on it.
        seed: Seed or Generator of its draws.

    >>> problem = Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
    >>> policy = SafeThompsonSampling(problem, seed=0)
    >>> policy.tell(policy.ask(), {"clicked": 1, "purchase": 0})
    >>> policy.separating_sets()  # one row is no evidence for anything
    []
    """

    name = "safe-ts"
    tier = Tier.OBSERVED
    layout: TableLayout
    uses_pending = True

    def __init__(
        self,
        problem: Problem,
        *,
        max_size: int | None = None,
        alike: float = ALIKE,
        average: bool = True,
        seed: Seed = None,
    ) -> None:
        if not 0 <= alike < 1:
            raise OptionError(f"alike={brief(alike)}; expected a probability below 1, or 0 for none")
        self._max_size = max_size
        self.alike = float(alike)
        self.average = flag("average", average)
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> TableLayout:
        layout = TableLayout.of(problem, self._max_size)
        while self._max_size is None and layout.max_size > 1 and layout.count * len(problem.arms) > MOST:
            layout = TableLayout.of(problem, layout.max_size - 1)
        return layout

    def _effects(self) -> tuple[Ints, Ints, float]:
        """Codes of arms, levels of levers, and P(alike); if above 0 the arm but for its segment is a further lever."""
        problem, sizes = self.problem, lever_sizes(self.problem)
        groups = problem.arm_groups([lever.name for lever in problem.levers])
        effects = 2 + int(sizes.sum()) + int(groups.max())
        if not problem.segments or self.alike == 0 or self.layout.count * effects**2 > MOST_EFFECTS:
            return problem.arm_codes, sizes, 0.0
        return np.column_stack([problem.arm_codes, groups]), np.append(sizes, groups.max() + 1), self.alike

    def _empty(self) -> GradedState:
        made = graded(self.layout.empty(), *self._effects(), average=self.average)
        wider = SEGMENTED if self.problem.segments and self.alike > 0 else 1.0
        return GradedState(made, np.ones(len(self.problem.arms), dtype=np.bool_), wider=wider)

    def _count(self, rows: Rows) -> None:
        if len(rows.arms) < MANY:
            super()._count(rows)
        else:
            learn_graded_rows(self._state.graded, rows.arms, rows.codes, rows.rewards)

    def _fill(self, before: Rows, after: Rows) -> None:
        fill_graded(self._state.graded, after.arms[0], before.codes[0], after.codes[0], after.rewards[0])

    def make_room(self) -> None:
        """Make room in the tables for pending rows."""
        if not len(self._state.graded.ahead):
            self._state = self._state._replace(graded=with_room(self._state.graded))

    def _learn_anew(self, state: GradedState) -> None:
        refresh(state.graded)

    def _pristine(self, state: GradedState) -> GradedState:
        # What is stated takes segments for levers: if effects differ by segment, that covers them, and alike does not.
        fresh = graded(state.graded.tables, self.problem.arm_codes, lever_sizes(self.problem))
        count_own(fresh.own, state.graded.own)
        return state._replace(graded=fresh)

    def _copy(self, state: GradedState) -> GradedState:
        was = state.graded
        learnt = {name: getattr(was, name).copy() for name in (*LEARNT, *LATE, *AVERAGED)}
        return state._replace(graded=was._replace(own=copy_of(was.own), **learnt))

    def _learnt(self, state: GradedState) -> dict[str, NDArray[Any]]:
        late, averaged = LATE if self.history.pending.made else (), AVERAGED if self.average else ()
        learnt = {f"graded_{name}": getattr(state.graded, name) for name in (*LEARNT, *late, *averaged)}
        return {**effects_learnt(state.graded.own), **learnt}

    def _fit(self, *, pending: bool) -> GradedState:
        found = self._state.graded
        tables = found.tables if pending else found.tables._replace(pending=NONE_PENDING)
        return self._settled(self._state._replace(graded=found._replace(tables=tables)))

    def _check_sums(self) -> None:
        found, sets = self._state.graded, self.layout.count
        if not np.all((found.chosen >= 0) & (found.chosen < sets)):
            raise ValueError("its arms go by sets that it does not have")

    def _is_expensive(self) -> bool:
        return self.layout.count * len(self.problem.arms) > EXPENSIVE

    def _rows_seen(self) -> NDArray[np.int64]:
        tables = self._state.graded.tables
        return np.array([tables.table(place).sum() for place in range(len(tables.cells))], dtype=np.int64)

    def _discover(self) -> Findings:
        state = self._fitted().graded
        weights = set_shares(state).mean(axis=1)
        separated = np.repeat(weights[:, None] > 0, len(self.problem.interventions), axis=1)
        seen = self._rows_seen() if self.history.has_missing else None
        sizes = np.array([len(names) for names in self.layout.names])
        grounds = Degrees(nearly_separates(state.separates, sizes), weights)
        return Findings(self.layout, self.rows, separated, grounds, seen)

    def _posterior(self, state: GradedState) -> Posterior:
        found, shares = state.graded, set_shares(state.graded)
        means, variances = stated(found, state.wider).T
        sizes, sources = beta_sizes(means, variances).tolist(), []
        for number, place in enumerate(shares.argmax(axis=0).tolist()):
            through = self.layout.names[place] if place else None
            used, share = int(found.tables.table(place)[number].sum()), float(shares[place, number]) if place else 1.0
            sources.append(Source(int(found.own.own[number, 0]), sizes[number], through, used, share))
        return Posterior(self.rows, means, sources, sampler_of(state, len(means)), beta_limits(means, variances))

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        kept = {"alike": self.alike} if self.problem.segments else {}
        return {"max_size": self.layout.max_size, **kept, **({"average": True} if self.average else {})}

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """A fresh policy from what `options` gave; what was kept without `alike` or `average` goes on as it was."""
        return cls(problem, **{**cls._before(problem), **options})

    @classmethod
    def _before(cls, problem: Problem) -> dict[str, Any]:
        """What options were before they were kept."""
        return {"average": False, **({"alike": 0.0} if problem.segments else {})}
