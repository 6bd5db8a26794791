"""The facade every policy shares: ask, tell, recommend, estimates, separating sets.

When discovery runs is in `schedule`, saving and loading in `keeping`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools
from ..data import History, Rows, WaitingRows
from ..discovery import GROWTH, Findings, SeparatingSets, Tier
from ..doors import door
from ..errors import OptionError, flag, share, whole_number
from ..problem import Arm, Level, Problem, Segment, check_problem
from ..seeds import Seed, generator
from .allowing import arm_numbers
from .beside import with_own_rows, with_pending_rows
from .estimates import Estimates
from .naming import Variant, register
from .protocol import choose_many, compared, expect_many, forget_many, settle_many
from .recommending import Recommending
from .schedule import Schedule

State = TypeVar("State")

MOST_AT_ONCE = 1_000_000
"""Arms of one ask."""


class Policy(Recommending, Generic[State]):
    """A learner over sufficient statistics; `discovery` finds the sets it shares through, if it shares at all.

    A subclass holds a state and says how it is made, fed, and asked. Rules are compiled functions of the state.
    """

    discovery: Any = None
    tier: Tier
    """What it is told, as the tier in which it is fairly compared."""
    hints: str = "nothing"
    """What it is given besides the problem, in words for a table."""
    needs: ClassVar[tuple[str, ...]] = ()
    """The options that hold this knowledge; `simulation.told` fills them from a world."""
    assumes: ClassVar[tuple[str, ...]] = ()
    """What it takes for granted without an option; `simulation.told` asks the world whether it is so."""
    variants: ClassVar[Mapping[str, Variant]] = {}
    """Other names under which it is compared, with options that are fixed or more that it is told."""
    simple_regret: ClassVar[bool] = False
    """Made to find the best arm at the end, not to earn on the way: explores, then commits."""
    fewest_rows = 0
    """An arm with fewer rows of its own is not recommended."""
    numbers: ClassVar[type] = int
    """What its compiled rules learn from: level numbers, or real values; a rollout needs a world that draws such."""
    growth: ClassVar[float] = GROWTH
    """What is learnt between two rounds is learnt anew when the rounds have grown by this share."""

    compares: ClassVar[str] = "its draw from the posterior"
    """What `indices` holds of an arm, in words."""
    without_comparing: ClassVar[str] = "arms were not compared yet: the policy tries all of them first"
    """Why `indices` may hold nothing, in words."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Its constructor checks what it is given; naming a class registers it."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = door(cls.__init__)  # type: ignore[method-assign]
        if "name" in vars(cls):
            register(cls)

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Check the problem before any constructor reads it."""
        if arguments or options:  # neither where a policy is copied
            check_problem(arguments[0] if arguments else options.get("problem"))
        return super().__new__(cls)

    def __init__(self, problem: Problem, seed: Seed) -> None:
        self.problem = problem
        self.layout = self._make_layout(problem)
        self.history = History(problem)
        self.waiting = WaitingRows(problem)
        self.rng = generator(seed)
        self.findings: Findings | None = None
        self.schedule = Schedule(growth=self.growth)
        self.allowed: NDArray[np.bool_] = np.ones(len(problem.arms), dtype=np.bool_)
        """Which arms may be asked for and recommended; `restrict` changes it."""
        self._state = self._empty()
        self._among(self._state, problem.arm_segments == 0)  # a policy that cannot play segments says so now

    # What a subclass says

    @abstractmethod
    def _make_layout(self, problem: Problem) -> Any:
        """The sets that are looked at, of a problem that was checked."""

    @abstractmethod
    def _empty(self) -> State:
        """A state that has seen nothing and shares nothing."""

    @abstractmethod
    def _share(self, findings: Findings) -> State:
        """The state with the sets that were found."""

    @abstractmethod
    def _statistics(self) -> Any:
        """What the discovery reads."""

    def _choose(self, state: State, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Arms, by number."""
        return choose_many(state, rng, count)

    @abstractmethod
    def _estimate(self, state: State, level: float) -> Estimates:
        """What the state says of every arm."""

    def _among(self, state: State, allowed: NDArray[np.bool_]) -> State:
        """The state that chooses among some arms only."""
        if not allowed.all():
            raise OptionError(f"policy {self.name!r} cannot be restricted to a subset of arms; use another policy")
        return state

    def _indices(self, state: State, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """What `_choose` compares with the same random numbers: NaN for arms not compared; None if not one per arm."""
        return compared(state, rng)

    def _seen(self, rows: Rows) -> NDArray[Any]:
        """What its compiled rules see of rows."""
        return rows.codes

    def _expect(self, rows: Rows) -> None:
        if self.uses_pending and self.waiting.made:
            self.make_room()
            expect_many(self._state, rows.arms, self._seen(rows))

    def _complete(self, rows: Rows) -> None:
        if self.uses_pending:
            settle_many(self._state, rows.arms, self._seen(rows), rows.rewards)
        else:
            self._count(rows)

    def _forget(self, rows: Rows) -> None:
        if self.uses_pending:
            forget_many(self._state, rows.arms, self._seen(rows))

    def _rows_seen(self) -> NDArray[np.int64]:
        """For each set how many rows have a value for all its variables."""
        return np.full(len(self.layout.names), self.rows)

    # Acting

    @overload
    def ask(self, n: None = None, *, segment: Segment | None = None) -> Arm: ...
    @overload
    def ask(self, n: int, *, segment: Segment | None = None) -> list[Arm]: ...
    def ask(self, n: int | None = None, *, segment: Segment | None = None) -> Arm | list[Arm]:
        """The next arm to pull, or `n` of them for a batch; where the problem has segments, in which one."""
        count = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        among = self.problem.arms_in(segment)
        arms = [self.problem.arms[arm] for arm in self.choose(count, self.rng, among=among)]
        return arms[0] if n is None else arms

    def ready(self, among: Bools | None = None) -> State:
        """The state that chooses the next arm, after discovery if it is due; `among` stands for the allowed arms."""
        if self.schedule.is_due(self.progress):
            self._refresh()
            self.schedule.ran(self.progress, expensive=self._is_expensive())
        return self._among(self._state, self.allowed if among is None else among)

    def _refresh(self) -> None:
        """Find the sets to share through from now on."""
        self.findings = self._discover()
        if self.findings is not None:
            self._state = self._share(self.findings)

    @property
    def rolls_out(self) -> bool:
        """Whether `ready` gives the state that learns, so that a rollout may play on with it."""
        return True

    def reserve(self, count: int) -> None:
        """Make room for rows that a rollout will count."""

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before discovery runs again."""
        return self.schedule.left(self.progress)

    def _discover(self) -> Findings | None:
        """Separating sets from the statistics; None for a policy that shares nothing."""
        if self.discovery is None:
            return None
        found: Findings = self.discovery.discover(self.layout, self._statistics(), self.rows)
        return replace(found, seen=self._rows_seen()) if self.history.has_missing else found

    def _recount(self) -> None:
        self._state = self._empty()
        self._count(self.history.rows)
        self._expect(self.waiting.all)
        if self.findings is not None:
            self._state = self._share(self.findings)

    # Reading: never changes which arms come next

    def _view(self) -> State:
        """The state with the sets that the next `ask` would use."""
        findings = self._discover() if self.schedule.is_due(self.progress) else None
        state = self._state if findings is None else self._share(findings)
        return self._among(state, self.allowed)

    def _reading(self) -> State:
        """The state that estimates are read from."""
        return self._view()

    def _reading_without_pending(self) -> State:
        """The same, had only the rows with a reward been told."""
        return self._reading()

    def estimates(
        self,
        *,
        level: float = 0.95,
        segment: Segment | None = None,
        control: Arm | Mapping[str, Level] | None = None,
    ) -> Estimates:
        """Per arm, all or those of a segment: mean, interval, the set it goes through, what its own rows say alone.

        With a `control` arm also the lift of every arm over it (see `Lift`), in its own segment.
        """
        level, wanted = share("level", level), None if segment is None else self.problem.segment(segment)
        found = with_own_rows(self._estimate(self._reading(), level), self.history, level, self.allowed)
        if len(self.waiting):
            without = self._estimate(self._reading_without_pending(), level) if self.uses_pending else found
            found = with_pending_rows(found, without, self.waiting.all.arms)
        if control is not None:
            found = self.with_lifts(found, arm_numbers(self.problem, control), level=level)
        return found.of(wanted)

    def separating_sets(self, *, rejected: bool = False) -> SeparatingSets:
        """The sets in use with their evidence; with `rejected` all sets that were looked at."""
        rejected = flag("rejected", rejected)
        fresh = self.findings is not None and not self.schedule.is_due(self.progress)
        findings = self.findings if fresh else self._discover()
        found = [] if findings is None else findings.sets
        return SeparatingSets(each for each in found if each.accepted or rejected)
