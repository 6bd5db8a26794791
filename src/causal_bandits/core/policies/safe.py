"""The default policy: every set of mediators and the levers share information, for every kind of reward."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..data import (
    NONE_PENDING,
    CellLayout,
    CellTables,
    Rows,
    count_filled_reward,
    count_late,
    count_reward,
    with_late,
)
from ..discovery import Findings
from ..discovery.tiers import Tier
from ..estimators.linear_algebra import copy_to
from ..estimators.model import (
    DEVIATIONS,
    EFFECTS,
    MOST_CELLS,
    TAU,
    Fit,
    Levers,
    agreement,
    draw_means,
    empty_fit,
    levers_of,
    refit,
)
from ..estimators.reward_shapes import RewardStats, add_to_stats, row_variance, slope_at, stats_arrays, stats_for
from ..estimators.top_two import choose_of_top_two
from ..problem import Problem
from ..seeds import Seed
from .base import Policy
from .explorer import draw_arm, mixed, play_shares, reweigh
from .posterior import Posterior, Source, snapshot
from .protocol import choose, expect, forget, learn, record_reward

DRAWS, FEWEST_DRAWS = 512, 64
"""Draws that are played by; fewer with more than 512 arms."""
MOST_WORK = 2**27
"""Multiplications of a refit: where all sets would take more, smaller ones are looked at."""
EXPENSIVE = 2**22
"""With more, a refit waits for 1% more rows."""
SHARES_PER = 50
"""Shares are computed again at one more row in this many."""
SMALL = 0.05
"""A set separates, in words, where differences are below this share of the mean reward."""
ACCEPTED = 0.75
"""Sets that separate with this probability are listed as separating sets."""
MOST_GROUPS = 64
"""With more arms per segment, arms have no effect that is the same in all segments."""


@by_reference
class Counts(NamedTuple):
    """What was seen."""

    tables: CellTables
    stats: RewardStats
    """Moments of all rewards (see `reward_shapes`)."""


@by_reference
class RunningSums(NamedTuple):
    """What a row changes between two fits."""

    draws: Floats
    """(draws, arms): joint draws of all means, made by the last fit."""
    weights: Floats
    """(draws,): their weights after the rewards that came since."""
    shares: Floats
    """(2, arms): what `play_shares` gave, were all arms allowed and none cost anything."""


class FittedState(NamedTuple):
    """Counts, and what was learned from them."""

    counts: Counts
    levers: Levers
    fit: Fit

    @classmethod
    def of(cls, counts: Counts, levers: Levers) -> "FittedState":
        """The model fitted to counts; their `stats` receive the dispersion of rewards."""
        fit = empty_fit(len(counts.tables.cells), counts.tables.arms)
        refit(counts.tables, counts.stats, levers, fit)
        return cls(counts, levers, fit)

    def draw(self, rng: np.random.Generator, draws: Floats) -> None:
        """Fill (draws, arms) with joint draws from the fitted posterior."""
        draw_means(self.counts.tables, self.counts.stats, self.levers, self.fit, rng, draws)


@by_reference
class SafeState(NamedTuple):
    """The state of the default policy."""

    counts: Counts
    levers: Levers
    sums: RunningSums
    allowed: Bools
    cost: Floats
    """(arms,): what each arm costs."""
    awaited: float = 1.0
    """Decisions without an outcome, the next one included; without rows whose mediators count already."""
    second: float = 0.0
    """The share of rounds for the challenger of the best arm; 0: arms are played to earn."""


@compiled
def shares_of(state: SafeState) -> Floats:
    """(arms,): the probability of every arm to be played next.

    An arm that was never played counts as a decision whose reward is awaited, if it is as likely to be the best as the
    average arm; one that is less likely counts as less.
    """
    arms, shares = len(state.allowed), state.sums.shares
    if not state.allowed.all() or state.cost.any():
        shares = play_shares(state.sums.draws, state.sums.weights, state.allowed, state.cost)
    never = state.allowed & (state.counts.tables.sums[:arms, 0] == 0)
    likely = np.minimum(state.allowed.sum() * shares[1], 1.0)
    waiting = state.awaited + state.counts.tables.pending[:arms].sum() + (never * likely).sum()
    return mixed(shares, state.counts.stats.rows[0], waiting)


@compiled
def update_shares(state: SafeState) -> None:
    """Compute the shares of all arms from the draws as they are weighted now."""
    arms = len(state.cost)
    found = play_shares(state.sums.draws, state.sums.weights, np.ones(arms, dtype=np.bool_), np.zeros(arms))
    copy_to(state.sums.shares, found)


@choose.of(SafeState)
@compiled
def choose_safely(state: SafeState, rng: np.random.Generator) -> int:
    """An arm, drawn by its share; of the top two, where an answer is wanted and not earnings."""
    if state.second > 0:
        own = np.empty((len(state.allowed), 2))
        for arm in range(len(own)):
            rows, mean, _ = state.counts.tables.sums[arm]
            own[arm, 0], own[arm, 1] = rows, rows * mean
        return choose_of_top_two(own, state.allowed, state.second, rng)
    return draw_arm(shares_of(state), rng)


@compiled
def weigh_reward(state: SafeState, arm: int, reward: float) -> None:
    """Reweigh the draws by a reward, and compute shares again if that is due."""
    add_to_stats(state.counts.stats, reward)
    reweigh(state.sums.draws, state.sums.weights, state.counts.stats, arm, reward)
    rows = int(state.counts.stats.rows[0])
    if rows % max(1, rows // SHARES_PER) == 0:
        update_shares(state)


@learn.of(SafeState)
@compiled
def learn_row(state: SafeState, arm: int, seen: Any, reward: float) -> None:
    """Count one row."""
    count_reward(state.counts.tables, arm, seen, reward)
    weigh_reward(state, arm, reward)


@record_reward.of(SafeState)
@compiled
def record_late_reward(state: SafeState, arm: int, seen: Any, reward: float) -> None:
    """Count the reward of a pending row."""
    count_late(state.counts.tables, arm, seen, -1)
    learn_row(state, arm, seen, reward)


@expect.of(SafeState)
@compiled
def expect_row(state: SafeState, arm: int, seen: Any) -> None:
    """Count a row for P(S | arm) while its reward is pending."""
    count_late(state.counts.tables, arm, seen, 1)


@forget.of(SafeState)
@compiled
def forget_row(state: SafeState, arm: int, seen: Any) -> None:
    """Take a pending row back."""
    count_late(state.counts.tables, arm, seen, -1)


@compiled
def play_by(state: Any) -> None:
    """Play by new draws until the next fit."""
    count = len(state.sums.weights)
    copy_to(state.sums.weights, np.full(count, 1 / count))
    update_shares(state)


@compiled
def count_rows(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count many rows before a fit: the draws are about to be replaced, and need no weights."""
    for row in range(len(arms)):
        count_reward(state.counts.tables, arms[row], seen[row], rewards[row])
        add_to_stats(state.counts.stats, rewards[row])


@compiled
def weigh_rewards(state: Any, arms: Ints, rewards: Any) -> None:
    """`weigh_reward` of many rows that are in the tables already."""
    for row in range(len(arms)):
        weigh_reward(state, arms[row], rewards[row])


@compiled
def fill_row(state: Any, arm: int, before: Any, after: Any, reward: float) -> None:
    """Count values that came after their row was counted."""
    count_filled_reward(state.counts.tables, arm, before, after, reward)


class PutOff(NamedTuple):
    """A refit that a replay put off, since a later one may replace it."""

    counts: Counts
    """What was seen when it was due."""
    since: list[Rows]
    """Rewards that came after that."""


class SafePolicy(Policy[SafeState]):
    """The default policy: shares through every set of mediators and through levers, to the extent that rows support it.

    For every set S of mediators, an arm's mean is the mean of E[Y | S] over its rows, which all arms learn together,
    plus a difference whose typical size is learned from all arms. If differences are small, arms share much; if they
    are large, little. The policy averages over sets and plays by information-directed sampling. See
    docs/explanation/model.md.

    Args:
        problem: The problem. Mediators are discrete; the reward is 0 or 1, a count, revenue, levels with values, or
            a number.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        seed: Seed or Generator of its draws.

    >>> problem = Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
    >>> policy = SafePolicy(problem, seed=0)
    >>> policy.tell(policy.ask(), {"clicked": 1, "purchase": 0})
    >>> policy.separating_sets()  # one row is no evidence for anything
    []
    """

    name = "safe"
    tier = Tier.OBSERVED
    layout: CellLayout
    numbers = None
    growth = 0.1
    uses_pending = True
    rolls_out_late = True
    exact_shares = True
    compares = "its probability to be played"

    def __init__(self, problem: Problem, *, max_size: int | None = None, seed: Seed = None) -> None:
        self._max_size = max_size
        self.numbers = float if problem.reward_is_real else int
        self._stream = np.zeros(1, dtype=np.int64)
        self._put_off: PutOff | None = None
        super().__init__(problem, seed)
        if seed is not None:
            self._stream[0] = self.rng.integers(2**62)

    def _make_layout(self, problem: Problem) -> CellLayout:
        layout = CellLayout.of(problem, self._max_size)
        while self._max_size is None and layout.max_size > 1 and self._work(layout) > MOST_WORK:
            layout = CellLayout.of(problem, layout.max_size - 1)
        self._expensive = self._work(layout) > EXPENSIVE
        return layout

    def _work(self, layout: CellLayout) -> int:
        """Multiplications of a refit, about."""
        cells = np.array([math.prod(self.problem.observed[each].size for each in set_) for set_ in layout.members])
        effects = self._levers()[1].sum()
        cells = cells[cells <= MOST_CELLS]
        solves = len(EFFECTS) * (cells + effects) ** 3 // 3
        arms = len(self.problem.arms)
        return int((solves + len(TAU) * arms * (np.minimum(cells, 8) + len(self.problem.interventions)) ** 2).sum())

    def _levers(self) -> tuple[Ints, Ints]:
        """The level of every lever in every arm, and how many levels each has.

        Where there are segments, what an arm does in all of them is one more lever.
        """
        problem = self.problem
        codes = problem.arm_codes
        sizes = np.array([lever.size for lever in problem.interventions], dtype=np.int64)
        if problem.segments:
            groups = problem.arm_groups([lever.name for lever in problem.levers])
            if groups.max() < MOST_GROUPS:
                return np.column_stack([codes, groups]), np.append(sizes, groups.max() + 1)
        return codes, sizes

    def _empty(self) -> SafeState:
        arms = len(self.problem.arms)
        tables, levers = self.layout.empty(), levers_of(*self._levers())
        draws = max(FEWEST_DRAWS, min(DRAWS, DRAWS**2 // arms))
        counts = Counts(tables, stats_for(self.problem.reward))
        sums = RunningSums(np.full((draws, arms), 0.5), np.full(draws, 1 / draws), np.full((2, arms), 1 / arms))
        return SafeState(counts, levers, sums, np.ones(arms, dtype=np.bool_), np.zeros(arms))

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts for the sets whose variables it has."""
        return ()

    def _seen(self, rows: Rows) -> NDArray[Any]:
        return rows.codes.astype(np.float64) if self.problem.reward_is_real else rows.codes

    def _count(self, rows: Rows) -> None:
        due = self.schedule.is_due(self.progress)
        if not due and self._put_off is None:
            super()._count(rows)
            return
        count_rows(self._state, rows.arms, self._seen(rows), rows.rewards)
        if not due and self._put_off is not None:
            self._put_off.since.append(rows)

    def _complete(self, rows: Rows) -> None:
        if self._put_off is None:
            super()._complete(rows)
            return
        self._forget(rows)
        count_rows(self._state, rows.arms, self._seen(rows), rows.rewards)
        self._put_off.since.append(rows)

    def _fill(self, before: Rows, after: Rows) -> None:
        fill_row(self._state, after.arms[0], self._seen(before)[0], self._seen(after)[0], after.rewards[0])

    def make_room(self) -> None:
        """Reserve memory in the tables for pending rows."""
        counts = self._state.counts
        if not len(counts.tables.pending):
            self._state = self._state._replace(counts=counts._replace(tables=with_late(counts.tables)))

    def _recount(self) -> None:
        self.catch_up()
        sums = self._state.sums
        self._state = self._empty()
        self._count(self.history.rows)
        self._expect(self.history.pending.all)
        self._state = self._state._replace(sums=sums)

    def _refresh(self) -> None:
        counts, levers = self._state.counts, self._state.levers
        self._draw(self._state, FittedState.of(counts, levers))

    def refit_later(self) -> None:
        """Keep what a refit needs that is due, in place of one that was put off before."""
        if self.schedule.is_due(self.progress):
            self._put_off = PutOff(snapshot(self._state.counts), [])
            self.schedule.ran(self.progress, expensive=self._is_expensive())

    def catch_up(self) -> None:
        """Make the refit that was put off, and weigh its draws by the rewards that came since."""
        if self._put_off is None:
            return
        (counts, since), self._put_off = self._put_off, None
        then = self._state._replace(counts=counts)
        self._draw(then, FittedState.of(counts, then.levers))
        for name in ("rate", "dispersion", "steady"):
            copy_to(getattr(self._state.counts.stats, name), getattr(counts.stats, name))
        for rows in since:
            weigh_rewards(then, rows.arms, rows.rewards)

    def ready(self, among: Bools | None = None) -> SafeState:
        """The state that chooses the next arm, refitted if that is due."""
        self.catch_up()
        return super().ready(among)

    def _draw(self, state: SafeState, fitted: FittedState) -> None:
        """Draw what is played by: the same draws for the same rows and seed, so that a study can be replayed.

        What the sets disagree about is not explored, so draws are shrunk toward their mean by `agreement`.
        """
        tables = state.counts.tables
        rows = tables.table(0)[:, 0, 0].astype(np.int64)
        pending = tables.pending[: len(rows)]
        rng = np.random.default_rng(
            [int(self._stream[0]), *rows.tolist(), *(pending.tolist() if pending.any() else [])]
        )
        draws = state.sums.draws
        fitted.draw(rng, draws)
        center = draws.mean(axis=0)
        copy_to(draws, center + agreement(fitted.fit) * (draws - center))
        play_by(state)

    def _latest(self) -> SafeState:
        self.catch_up()
        if not self.schedule.is_due(self.progress):
            return self._state
        return self._once("latest", self._refitted)

    def _refitted(self) -> SafeState:
        """The state that a refit would give; nothing changes."""
        state, fitted = snapshot(self._state), self._fitted()
        state = state._replace(counts=state.counts._replace(stats=fitted.counts.stats))
        self._draw(state, fitted)
        return state

    def _fit(self, *, pending: bool) -> FittedState:
        counts = self._state.counts
        tables = counts.tables if pending else counts.tables._replace(pending=NONE_PENDING)
        return FittedState.of(Counts(tables, snapshot(counts.stats)), self._state.levers)

    def _is_expensive(self) -> bool:
        return self._expensive

    def _posterior(self, state: FittedState) -> Posterior:
        arms = len(self.problem.arms)

        def sample(rng: np.random.Generator, n: int) -> Floats:
            draws = np.empty((n, arms))
            state.draw(rng, draws)
            return draws[rng.permutation(n)]

        def size(mean: float, variance: float) -> float:
            return row_variance(state.counts.stats, mean) / variance if variance > 0 else math.inf

        return Posterior.of_draws(self.rows, self._sources(state), sample, size)

    def _sources(self, state: FittedState) -> list[Source]:
        place = int(state.fit.weights.argmax())
        through, share = self._through(place), float(state.fit.weights[place])
        tables = state.counts.tables
        own, used = tables.table(0)[:, 0, 0], tables.table(place)[:, :, 0].sum(axis=1)
        return [
            Source(int(rows), math.nan, through, int(some), share if through else 1.0)
            for rows, some in zip(own, used, strict=True)
        ]

    def _through(self, place: int) -> tuple[str, ...] | None:
        """The variables of a table; "above zero" is written as such."""
        names = self.layout.names[place % self.layout.count]
        return (*names, f"{self.problem.target} > 0") if place >= self.layout.count else names or None

    def _weights(self, state: FittedState) -> Floats:
        """(sets,): weights in the average; a table with "above zero" counts with its set."""
        found: Floats = state.fit.weights.reshape(-1, self.layout.count).sum(axis=0)
        return found

    def _separates(self, state: FittedState) -> Floats:
        """(sets,): P(differences are below 5% of the mean reward)."""
        fit, stats = state.fit, state.counts.stats
        rate = float(fit.rate[0])
        relative = slope_at(stats, rate) / abs(rate) if rate != 0 else math.inf
        levers = state.levers.several
        scale = np.sqrt(levers * EFFECTS**2 + DEVIATIONS**2)
        chances = fit.difference_scales @ np.append(scale * relative < SMALL, True)
        # Where "above zero" is looked at too, the table with more weight represents the set.
        of_set, weights = chances.reshape(-1, self.layout.count), fit.weights.reshape(-1, self.layout.count)
        found: Floats = of_set[weights.argmax(axis=0), np.arange(self.layout.count)]
        return found

    def _rows_seen(self) -> NDArray[np.int64]:
        tables = self._state.counts.tables
        return np.array([tables.table(place)[..., 0].sum() for place in range(tables.plain)], dtype=np.int64)

    def _discover(self) -> Findings:
        state = self._fitted()
        chances, weights = self._separates(state), self._weights(state)
        chances[0] = 0.0  # the empty set is how arms share without mediators
        accepted = (chances >= ACCEPTED) & (state.counts.stats.above[0] > 0)
        separated = np.repeat(accepted[:, None], len(self.problem.interventions), axis=1)
        seen = self._rows_seen() if self.history.has_missing else None
        found = {"probability": chances, "weight": weights}
        return Findings(self.layout, self.rows, separated, "learnt", found, seen=seen)

    def shares(self, *, among: Bools | None = None, cost: Floats | None = None, awaited: int = 1) -> Floats:
        """(arms,): the exact probability of every arm to be played next; `awaited` as for `choose`. Changes nothing."""
        allowed = self.allowed if among is None else self.allowed & among
        state = self._latest()._replace(allowed=allowed, awaited=float(awaited))
        return shares_of(state if cost is None else state._replace(cost=cost))

    def _sums(self) -> dict[str, NDArray[Any]]:
        return {
            "stream": self._stream,
            "draws": self._state.sums.draws,
            "draw_weights": self._state.sums.weights,
            "shares": self._state.sums.shares,
            # Sums of rewards depend on the order in which rows were counted.
            "table_sums": self._state.counts.tables.sums,
            **stats_arrays(self._state.counts.stats),
        }

    def _indices(self, state: SafeState, rng: np.random.Generator) -> Floats | None:
        if state.second > 0:
            return None
        return np.where(state.allowed, shares_of(state), np.nan)

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {"max_size": self.layout.max_size}
