"""The facade that every policy shares: ask, tell, and what is known of the arms.

A policy holds four parts: the `history` (rows with their reward, and rows that wait for one), the model (a state of
counts and what was learned from them), the explorer (what the compiled rule `choose` does with that state) and the
`schedule` (when the model is refitted). `protocol` has the compiled operations on states. Everything that is said about
arms is a function of the `Posterior` that `posterior()` gives.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ...errors import ObservationError, OptionError, brief, flag, listing, share, whole_number
from ..compiled import Bools, Floats, Ints
from ..data import History, Rows
from ..discovery import Discovery, Findings, SeparatingSets, Tier, discovery_from_dict
from ..files import file_path
from ..markup import printable
from ..problem import Arm, Level, Problem, Segment, check_problem
from ..seeds import Seed, generator
from ..validation import validated
from .advice import CONFIDENCE, TOLERANCE, Advice, Advices, advise
from .arms import allowed_arms, arm_numbers, arms_left
from .estimates import Estimates, estimates_of
from .lifts import Effects, effects_of_levels, with_lifts
from .posterior import Posterior, snapshot
from .protocol import choose_many, choose_net_many, compared, expect_many, forget_many, learn_many, record_rewards
from .recommendation import Ranking, Recommendation, Recommendations, checked_margin, rank, segment_masks
from .registry import POLICIES
from .saving import load, pack, write
from .schedule import GROWTH, Schedule

State = TypeVar("State")
T = TypeVar("T")
Settable = Arm | Mapping[str, Level]

MOST_AT_ONCE = 1_000_000
"""Arms of one ask."""


class Variant(NamedTuple):
    """A policy under another name in comparisons: with options that are fixed, or given more.

    Args:
        options: Options that are fixed.
        needs: What it is given of a world; by default what its class needs.
    """

    options: Mapping[str, Any] = {}
    needs: tuple[str, ...] | None = None
    """What it is given of a world; None: what its class needs."""


@dataclass(frozen=True, repr=False)
class Pending:
    """A row without its reward; pass it to `tell` with the reward, or to `drop`.

    Args:
        number: Number of the row, from 0 in each policy; unchanged by saving and loading.
        arm: The arm that was played.
    """

    number: int
    arm: Arm

    def __repr__(self) -> str:
        return printable(f"Pending({self.number}, {self.arm})")


class Policy(ABC, Generic[State]):
    """Base class of all policies; `discovery` finds the sets through which arms share, if they share.

    A subclass defines its state, how rows are counted in it, and the posterior. Rules are compiled functions of the
    state. Every policy takes these two; a subclass describes the others.

    Args:
        problem: What is played.
        seed: Seed or Generator of its draws.
    """

    name: str
    layout: Any
    discovery: Any = None
    tier: Tier
    """What it is given, as the tier in which it is fairly compared."""
    hints: str = "nothing"
    """What it is given besides the problem, in words for a table."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The options that hold this knowledge; `simulation.told` fills them from a world."""
    assumes: ClassVar[tuple[str, ...]] = ()
    """What it assumes without an option; `simulation.told` checks that the world satisfies it."""
    variants: ClassVar[Mapping[str, Variant]] = {}
    """Other names under which it is compared, with options that are fixed or more that it is given."""
    simple_regret: ClassVar[bool] = False
    """Made to find the best arm at the end, not to earn on the way: explores, then commits."""
    design_effect: float = 1.0
    """By how much dependent rows widen the variance of a mean (see `analyze` with a unit)."""
    fewest_rows = 0
    """An arm with fewer rows is not recommended."""
    numbers: type | None = int
    """What its compiled rules learn from: level numbers, or real values; a rollout needs a world that draws such.

    None for a class that takes either, as the reward says.
    """
    growth: ClassVar[float] = GROWTH
    """The model is refitted when the rounds have grown by this share."""
    plays_highest: ClassVar[bool] = False
    """It plays the arm with the highest of `indices`, which are in units of the reward, so costs can be subtracted."""
    exact_shares: ClassVar[bool] = False
    """Whether `shares` gives the exact probability of every arm."""
    uses_pending: bool = False
    """Whether a row counts before its reward is known; otherwise the whole row counts when the reward comes."""
    rolls_out_late: ClassVar[bool] = False
    """Whether a rollout may count late rewards: nothing happens between two rows of the same round."""

    compares: ClassVar[str] = "its draw from the posterior"
    """What `indices` holds of an arm, in words."""
    without_comparing: ClassVar[str] = "arms were not compared yet: the policy tries all of them first"
    """Why `indices` may hold nothing, in words."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Its constructor checks what it is given; naming a class registers it."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = validated(cls.__init__)  # type: ignore[method-assign]
        if "name" in vars(cls):
            POLICIES.register(cls)

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Check the problem before any constructor reads it."""
        if arguments or options:  # neither where a policy is copied
            check_problem(arguments[0] if arguments else options.get("problem"))
        return super().__new__(cls)

    def __init__(self, problem: Problem, seed: Seed) -> None:
        self.problem = problem
        self.layout = self._make_layout(problem)
        self.history = History(problem)
        self.rng = generator(seed)
        self.findings: Findings | None = None
        self.schedule = Schedule(growth=self.growth)
        self.allowed: NDArray[np.bool_] = np.ones(len(problem.arms), dtype=np.bool_)
        """Which arms may be asked for and recommended; `restrict` changes it."""
        self._kept: tuple[Any, dict[Any, Any]] = (None, {})
        self._state = self._empty()
        self._among(self._state, problem.arm_segments == 0)  # a policy that cannot play segments says so now

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes its own posterior."""
        return {**vars(self), "_kept": (None, {})}

    def __repr__(self) -> str:
        used = "" if self.findings is None else f", {len(self.findings.used)} separating sets"
        return f"{type(self).__name__}({self.problem.outline}, {len(self.history):,} rows{used})"

    def _discover_by(self, discovery: Discovery, problem: Problem) -> None:
        """Find sets by a discovery, whose knowledge is then the policy's."""
        self.discovery, self.tier, self.hints = discovery, discovery.tier, discovery.hints(problem)

    # The model: what a subclass says

    @abstractmethod
    def _make_layout(self, problem: Problem) -> Any:
        """The sets that are looked at, of a problem that was checked."""

    @abstractmethod
    def _empty(self) -> State:
        """A state that has seen nothing and shares nothing."""

    @abstractmethod
    def _posterior(self, state: Any) -> Posterior:
        """The posterior of all arms' means, from what `_fit` gave; it is a copy that does not change."""

    def _seen(self, rows: Rows) -> NDArray[Any]:
        """What its compiled rules see of rows."""
        return rows.codes

    def _count(self, rows: Rows) -> None:
        """Count rows in the state."""
        learn_many(self._state, rows.arms, self._seen(rows), rows.rewards)

    def make_room(self) -> None:
        """Reserve memory in the state for pending rows, which a rollout may count."""

    def _expect(self, rows: Rows) -> None:
        """Count rows whose rewards are pending."""
        if self.uses_pending and self.history.pending.made:
            self.make_room()
            expect_many(self._state, rows.arms, self._seen(rows))

    def _complete(self, rows: Rows) -> None:
        """Count the rewards of rows that were pending."""
        if self.uses_pending:
            record_rewards(self._state, rows.arms, self._seen(rows), rows.rewards)
        else:
            self._count(rows)

    def _forget(self, rows: Rows) -> None:
        """Take back pending rows that will get no reward."""
        if self.uses_pending:
            forget_many(self._state, rows.arms, self._seen(rows))

    def _fill(self, before: Rows, after: Rows) -> None:
        """Count values that came after their row was counted; the history has them already."""
        self._recount()

    def _recount(self) -> None:
        """Make the state again from all rows."""
        self._state = self._empty()
        self._count(self.history.rows)
        self._expect(self.history.pending.all)
        if self.findings is not None:
            self._state = self._share(self.findings)

    def _refresh(self) -> None:
        """Refit the model: find the sets to share through from now on."""
        self.findings = self._discover()
        if self.findings is not None:
            self._state = self._share(self.findings)

    def _discover(self) -> Findings | None:
        """Separating sets from the statistics; None for a policy that shares nothing."""
        if self.discovery is None:
            return None
        found: Findings = self.discovery.discover(self.layout, self._statistics(), self.rows)
        return replace(found, seen=self._rows_seen()) if self.history.has_missing else found

    def _statistics(self) -> Any:
        """What the discovery reads."""
        return self._state

    def _rows_seen(self) -> NDArray[np.int64]:
        """For each set how many rows have a value for all its variables."""
        return np.full(len(self.layout.names), self.rows)

    def _share(self, findings: Findings) -> State:
        """The state with the sets that were found."""
        return self._state

    def _latest(self) -> State:
        """The state that the next `ask` would choose with; nothing changes."""
        if not self.schedule.is_due(self.progress):
            return self._state
        findings = self._found()
        return self._state if findings is None else self._once("latest", lambda: self._share(findings))

    def _fit(self, *, pending: bool) -> Any:
        """The state that the posterior is read from, with or without the rows whose reward is pending."""
        return self._latest()

    def _among(self, state: State, allowed: Bools) -> State:
        """The state that chooses among some arms only."""
        if "allowed" in getattr(state, "_fields", ()):
            return state._replace(allowed=allowed)  # type: ignore[attr-defined, no-any-return]
        if not allowed.all():
            raise OptionError(f"policy {self.name!r} cannot be restricted to a subset of arms; use another policy")
        return state

    def _indices(self, state: State, rng: np.random.Generator) -> Floats | None:
        """What `choose` compares with the same random numbers: NaN for arms not compared; None if not one per arm."""
        return compared(state, rng)

    def _is_expensive(self) -> bool:
        """Whether a refit takes so long that a row or two more are not worth it."""
        return False

    def _sums(self) -> dict[str, NDArray[Any]]:
        """Arrays of the state that cannot be recounted to the last bit; they go into the save file."""
        return {}

    def _check_sums(self) -> None:
        """Raise a ValueError where sums that were read back contradict each other."""

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {}

    @classmethod
    def from_options(cls, problem: Problem, options: dict[str, Any]) -> Self:
        """Create a new policy from `options`."""
        found = {"discovery": discovery_from_dict(options["discovery"])} if "discovery" in options else {}
        return cls(problem, **{**options, **found})

    @property
    def needed(self) -> tuple[str, ...]:
        """The observed variables without which it cannot count a row."""
        return self.problem.observed_names

    # Asking

    @overload
    def ask(self, n: None = None, *, segment: Segment | None = None) -> Arm: ...
    @overload
    def ask(self, n: int, *, segment: Segment | None = None) -> list[Arm]: ...
    def ask(self, n: int | None = None, *, segment: Segment | None = None) -> Arm | list[Arm]:
        """Choose the next arm, or `n` arms for a batch; if the problem has segments, pass one."""
        count = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        among = self.problem.arms_in(segment)
        arms = [self.problem.arms[arm] for arm in self.choose(count, self.rng, among=among)]
        return arms[0] if n is None else arms

    def choose(
        self,
        count: int,
        rng: np.random.Generator,
        *,
        among: Bools | None = None,
        cost: Floats | None = None,
        awaited: int | None = None,
    ) -> Ints:
        """Arms by number, like `ask`, with the caller's random numbers and among some of the allowed arms only.

        With `cost`, (arms,) in units of the reward, arms are compared by what is left after it. `awaited` is how many
        decisions have no outcome yet, these included; unless given, `count`.
        """
        left = arms_left(self.problem, self.allowed, among)  # before the model is refitted
        return _chosen(self.ready(left), rng, count, cost, awaited or count)

    def ready(self, among: Bools | None = None) -> State:
        """The state that chooses the next arm, refitted if that is due; `among` replaces the allowed arms."""
        if self.schedule.is_due(self.progress):
            self._refresh()
            self.schedule.ran(self.progress, expensive=self._is_expensive())
        return self._among(self._state, self.allowed if among is None else among)

    def refit_later(self) -> None:
        """Put off a refit that is due until `catch_up`, since a later one may replace it: for replays."""
        self.ready()

    def catch_up(self) -> None:
        """Make the refit that was put off; everything is then as if it had been made when it was due."""

    def frequencies(
        self,
        draws: int,
        rng: np.random.Generator,
        *,
        among: Bools | None = None,
        cost: Floats | None = None,
        awaited: int = 1,
    ) -> Floats:
        """How often each arm is chosen in many draws from the state as it is, or exactly if known.

        `awaited` is as for `choose`. It changes nothing.
        """
        if self.exact_shares:
            return self.shares(among=among, cost=cost, awaited=awaited)
        chosen = _chosen(self._among(self._latest(), self._asked(among)), rng, draws, cost, awaited)
        return np.bincount(chosen, minlength=len(self.problem.arms)) / draws

    def shares(self, *, among: Bools | None = None, cost: Floats | None = None, awaited: int = 1) -> Floats:
        """(arms,): the exact probability that each arm is chosen next, if `exact_shares` is true."""
        raise NotImplementedError

    def indices(self, rng: np.random.Generator, *, among: Bools | None = None) -> Floats | None:
        """What the next `choose` with the same random numbers compares: NaN for arms not compared, None if unknown."""
        return self._indices(self.ready(self._asked(among)), rng)

    def _asked(self, among: Bools | None) -> Bools:
        """The allowed arms among some; all that are allowed for None."""
        return self.allowed if among is None else self.allowed & among

    def restrict(self, arms: Iterable[Settable] | None) -> None:
        """Choose and recommend only these arms from now on (None: all); rows of the others still count."""
        self.allowed = allowed_arms(self.problem, arms)

    @property
    def takes_costs(self) -> bool:
        """Whether `choose` can compare arms by what is left after costs."""
        if self.exact_shares:
            return True
        state = self._among(self._latest(), self.allowed)
        return self.plays_highest and self._indices(state, np.random.default_rng(0)) is not None

    @property
    def rolls_out(self) -> bool:
        """Whether `ready` gives the state that learns, so that a rollout may play on with it."""
        return True

    def reserve(self, count: int) -> None:
        """Reserve memory for rows that a rollout will count."""

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before the model is refitted."""
        return self.schedule.left(self.progress)

    # Telling

    @property
    def rows(self) -> int:
        """The number of rows with a reward."""
        return len(self.history)

    @property
    def progress(self) -> int:
        """What says when a refit is due: rows, and where pending rows count, rewards that came late besides."""
        return self.rows + self.history.pending.made if self.uses_pending else self.rows

    def tell(
        self,
        arm: Settable | Pending,
        observation: Mapping[str, Any] | None = None,
        *,
        reward: Any = None,
        missing: bool = False,
    ) -> Pending | None:
        """Count one row: the arm, every observed variable, and the reward, in the observation or as `reward=`.

        Without a reward the row is pending: pass the returned row to `tell` again with its reward.
        With `missing`, an observed variable may be None, NaN or absent; the row then counts for the sets without it.
        """
        if isinstance(arm, Pending):
            if observation is not None:
                raise ObservationError(f"{arm} has its observation already; pass its reward alone, as reward=...")
            self.complete([self._number(arm)], [self.history.value(self.problem.target, reward)])
            return None
        seen = {} if observation is None else observation
        target = self.problem.target
        if isinstance(seen, Mapping) and reward is not None:
            if target in seen:
                raise ObservationError(f"the reward {target!r} is both in the observation and given as reward=")
            seen = {**seen, target: reward}
        if not isinstance(seen, Mapping) or target in seen:
            self.learn(self.history.encode(arm, seen, missing=missing))
            return None
        rows = self.history.encode_pending(arm, seen, missing=flag("missing", missing))
        return Pending(int(self.expect(rows)[0]), self.problem.arms[int(rows.arms[0])])

    def tell_many(self, frame: Any, *, arm: Settable | None = None, missing: bool = False) -> None:
        """Count the rows of a table: all of them, or none if one is invalid.

        The table has a column for each lever, or `arm` says which arm all rows are from
        (`arm={}` for observational rows).
        """
        self.learn(self.history.encode_many(frame, arm, missing=missing))

    def drop(self, row: Pending) -> None:
        """Close a pending row that will never get its reward; it no longer counts."""
        self.forget([self._number(row)])

    def pending(self) -> list[Pending]:
        """The rows that wait for their reward, oldest first."""
        arms, waiting = self.problem.arms, self.history.pending
        both = zip(waiting.numbers.tolist(), waiting.all.arms.tolist(), strict=True)
        return [Pending(number, arms[arm]) for number, arm in both]

    def _number(self, row: Pending) -> int:
        """Validate a pending row."""
        if not isinstance(row, Pending):
            raise OptionError(f"{brief(row)} is not a pending row; expected what tell() gave without a reward")
        if type(row.number) is not int or not self.history.pending.has(row.number):
            raise ObservationError(
                f"{row} does not wait for a reward; it has one already, was closed, or belongs to another policy"
            )
        return row.number

    def learn(self, rows: Rows, batches: Iterable[tuple[int, int]] | None = None) -> None:
        """Count rows that `history.encode` or `encode_many` coded; `batches` as in `History.extend`."""
        self._check(rows)
        if self.history.extend(rows, batches):  # all rows have new level numbers
            self._recount()
        else:
            self._count(rows)

    def expect(self, rows: Rows) -> Ints:
        """Count coded rows whose rewards are pending; gives their numbers."""
        self._check(rows)
        numbers = self.history.pending.add(rows)
        self._expect(rows)
        return numbers

    def complete(self, numbers: Iterable[int], rewards: Iterable[Any]) -> None:
        """Count the rewards of pending rows; they were checked before."""
        rows, recoded = self.history.complete(numbers, rewards)
        if recoded:
            self._recount()
        else:
            self._complete(rows)

    def forget(self, numbers: Iterable[int]) -> None:
        """Take back pending rows."""
        self._forget(self.history.pending.take(np.array(list(numbers), dtype=np.int64)))

    def fill(self, row: int, after: Rows) -> None:
        """Count values that were missing in a row of the history; `after` is that row with them."""
        before = self.history.since(row, row + 1)
        if self.history.fill(row, after):
            self._recount()
        else:
            self._fill(before, after)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state; they came one after the other."""
        self.history.extend(rows, ())

    def _check(self, rows: Rows) -> None:
        """Reject rows that this policy cannot count."""
        places = [index for index, name in enumerate(self.problem.observed_names) if name in self.needed]
        if np.any(rows.codes[:, places] < 0):
            raise ObservationError(
                f"a value is missing; policy {self.name!r} needs a value of each of {listing(self.needed)} in every row"
            )

    # Reading: never changes which arms come next

    def posterior(self) -> Posterior:
        """The posterior of all arms' means; estimates and probabilities are computed from it."""
        ends = {"binary": (0.0, 1.0), "count": (0.0, math.inf), "revenue": (0.0, math.inf)}
        between = ends.get(self.problem.reward.kind, (-math.inf, math.inf))
        return self._once("posterior", lambda: self._posterior(self._fitted()).widened(self.design_effect, *between))

    def _fitted(self, *, pending: bool = True) -> Any:
        """What `_fit` gives, copied, so that rows that come later do not change it."""
        return self._once(("fit", pending), lambda: snapshot(self._fit(pending=pending)))

    def _found(self) -> Findings | None:
        """What a discovery finds in the rows of now."""
        return self._once("findings", self._discover)

    def _once(self, name: Any, work: Callable[[], T]) -> T:
        """The result of some work on the rows, kept until the rows change."""
        waiting = self.history.pending
        at = (len(self.history), self.history.filled, waiting.made, len(waiting))
        if self._kept[0] != at:
            self._kept = (at, {})
        kept = self._kept[1]
        if name not in kept:
            kept[name] = work()
        found: T = kept[name]
        return found

    def estimates(
        self,
        *,
        level: float = 0.95,
        segment: Segment | None = None,
        control: Settable | None = None,
        cost: Floats | None = None,
    ) -> Estimates:
        """Estimate every arm, or those of a segment: mean, interval, lift, set, and the estimate from own rows.

        The lift (see `Lift`) is over the `control` arm in the arm's own segment; by default that is the arm with every
        lever at its control level. With `cost`, (arms,), in units of the reward, lifts are net of costs.
        """
        level, wanted = share("level", level), None if segment is None else self.problem.segment(segment)
        posterior = self.posterior()
        without = posterior
        if len(self.history.pending) and self.uses_pending:
            without = self._once("without pending", lambda: self._posterior(self._fitted(pending=False)))
        found = estimates_of(self.history, posterior, without, level, self.allowed, self.design_effect)
        compare = posterior if self.can_compare else None
        controls = self.problem.idle_arms if control is None else arm_numbers(self.problem, control)
        return with_lifts(found, compare, controls, level, cost).of(wanted)

    @property
    def can_compare(self) -> bool:
        """Whether any arm has enough rows for a posterior."""
        return bool(np.any(np.bincount(self.history.packed["arms"], minlength=1) >= self.fewest_rows))

    def effects(self, *, level: float = 0.95, control: Settable | None = None, cost: Floats | None = None) -> Effects:
        """Estimate what each level of a lever does, averaged over all settings of the other levers.

        Args:
            level: Confidence level of intervals.
            control: The arm whose levels the others are compared with; the control levels by default.
            cost: Cost of each arm, (arms,), in units of the reward; means are then net of costs.
        """
        base = (
            self.problem.idle_settings if control is None else self.problem.arms[arm_numbers(self.problem, control)[0]]
        )
        if not self.can_compare:
            raise OptionError("too few rows to compare levels; tell some outcomes first")
        return effects_of_levels(self.problem, self.posterior(), base, share("level", level), cost)

    def recommend(
        self,
        *,
        segment: Segment | None = None,
        margin: float | None = None,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> Recommendation | Any:
        """Recommend the arm with the highest posterior mean, with the probability that no other is better.

        Args:
            segment: The segment to recommend for; by default, `Recommendations` for all if the problem has segments.
            margin: Difference from the best arm that is close enough, in units of the reward. By default 5% of the
                recommended arm's mean.
            among: Mask of the allowed arms to compare, (arms,); all by default.
            cost: Cost of each arm, (arms,), in units of the reward; means are then net of costs.
        """
        found = [each.best for each in self.ranking(segment, margin, among, cost)]
        return Recommendations(found) if self.problem.segments and segment is None else found[0]

    def ranking(
        self,
        segment: Segment | None = None,
        margin: float | None = None,
        among: Bools | None = None,
        cost: Floats | None = None,
    ) -> list[Ranking]:
        """`recommend` with the probability of every arm to be the best, for the segment or for each of them."""
        masks = segment_masks(self.problem, segment, self._asked(among))
        checked_margin(margin, 0.0)
        return [
            rank(self.posterior(), self.problem, self.highest_mean(mask, cost), mask, margin, cost) for mask in masks
        ]

    def highest_mean(self, among: Bools | None = None, cost: Floats | None = None) -> int:
        """The number of the arm to recommend: the highest posterior mean less cost of those that can be."""
        if not self.rows:
            raise ObservationError("no data yet, so nothing is recommended; tell the outcomes of some decisions first")
        asked, posterior = self.allowed if among is None else among, self.posterior()
        can = asked & (posterior.own_rows >= self.fewest_rows)
        if not can.any():
            here = self.problem.arms[int(asked.argmax())].segment
            where = f" in the segment {brief(here)}" if self.problem.segments else ""
            raise ObservationError(f"no arm has two rows yet{where}; recommend() needs some")
        return int(np.argmax(np.where(can, posterior.means - (0.0 if cost is None else cost), -np.inf)))

    def advice(
        self,
        *,
        segment: Segment | None = None,
        margin: float | None = None,
        confidence: float = CONFIDENCE,
        tolerance: float = TOLERANCE,
        among: Bools | None = None,
        cost: Floats | None = None,
        **about: Any,
    ) -> Advice | Any:
        """Advise whether to stop, continue or drop arms; valid at every look (docs/how-to/stopping.md).

        Args:
            segment: The segment to advise about; by default, `Advices` for all if the problem has segments.
            margin: Difference from the best arm that is close enough, in units of the reward; 5% of its mean by
                default.
            confidence: Probability that no stop or drop is ever wrong, over all looks together.
            tolerance: Expected loss that is good enough, as a share of the control's mean.
            among: Mask of the allowed arms to compare, (arms,); all by default.
            cost: Cost of each arm, (arms,), in units of the reward; arms are compared net of costs.
            about: Further arguments of `policies.advice.advise`, which a study knows.
        """
        margin = None if margin is None else checked_margin(margin, 0.0)
        confidence, tolerance = share("confidence", confidence), share("tolerance", tolerance)
        options: dict[str, Any] = {"margin": margin, "confidence": confidence, "tolerance": tolerance, **about}
        if self.problem.segments and segment is None:
            every = self.problem.segment_settings
            return Advices([self.advice(segment=each, among=among, cost=cost, **options) for each in every])
        wanted = self.problem.segment(segment)
        try:
            best = self.recommend(segment=wanted, margin=margin, among=among, cost=cost)
        except ObservationError:  # no arm has enough rows
            best = None
        return self._advise(best, wanted, among, cost=cost, **options)

    def _advise(
        self, best: Recommendation | None, segment: Segment | None, among: Bools | None, **options: Any
    ) -> Advice:
        """`advice` for one segment, given what is recommended; `options` are arguments of `advise`."""
        asked, inside = self._asked(among), self.problem.arms_in(segment)
        options.setdefault(
            "control", next((arm for arm in self.problem.idle_arms if inside is None or inside[arm]), None)
        )
        among = asked if inside is None else asked & inside
        return advise(best, None if best is None else self.posterior(), self.history, among, segment=segment, **options)

    def separating_sets(self, *, rejected: bool = False) -> SeparatingSets:
        """The sets in use with their evidence; with `rejected`, all candidate sets."""
        rejected = flag("rejected", rejected)
        fresh = self.findings is not None and not self.schedule.is_due(self.progress)
        findings = self.findings if fresh else self._found()
        found = [] if findings is None else findings.sets
        return SeparatingSets(each for each in found if each.accepted or rejected)

    # Saving and loading

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything to one plain file; a loaded policy chooses exactly the same arms."""
        write(file_path(path), pack(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a policy from a file that `save` wrote."""
        found: Self = load(file_path(path), cls)
        return found


def _chosen(state: Any, rng: np.random.Generator, count: int, cost: Floats | None, awaited: int) -> Ints:
    """Arms, by number."""
    fields = getattr(state, "_fields", ())
    if "awaited" in fields:
        state = state._replace(awaited=float(awaited))
    if cost is not None and "cost" in fields:
        state, cost = state._replace(cost=cost), None
    return choose_many(state, rng, count) if cost is None else choose_net_many(state, rng, count, cost)
