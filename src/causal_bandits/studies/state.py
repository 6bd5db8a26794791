"""The state of a study: a function of its settings and its events, in their order, and of nothing else.

Processes on machines of one kind that have applied the same events have the same state to the bit, and choose the same
arm next: the random numbers of a decision come from the study's seed and the decision's number. On another kind of CPU
the last bits may differ.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..data import Rows
from ..errors import DecisionClosedError
from ..policies import Policy
from ..problem import Problem
from .counting import CountsAppended
from .decisions import ABANDONED, EXPIRED, LATEST, Decisions
from .events import Event
from .late import LateRewards, mediators_known, unreported_zeros
from .levels import with_arms
from .metrics import Metrics
from .outcomes import added_by, has_outcome, said_of
from .segments import asked_among, check_segment
from .settings import Settings


class StudyState(CountsAppended):
    """What the events say so far."""

    def __init__(self, settings: Settings) -> None:
        self.begin(settings)
        self.policy: Policy[Any] = settings.make_policy()
        self.decisions = Decisions()
        self.parts: dict[int, dict[str, Any]] = {}
        """What was told of open decisions."""
        self.incomplete: dict[int, dict[str, Any]] = {}
        """What was told of decisions whose row counts, but whose observed variables are not all known yet."""
        self.late = LateRewards(settings)
        self.metrics = Metrics(self.rules.metrics)
        self.retired: set[int] = set()
        self.forbidden: set[int] = set()
        self.seq = 0
        self.appended = 0
        self.aside: list[tuple[int, int, str]] = []

    @property
    def decided(self) -> int:
        """The number of decisions so far."""
        return len(self.decisions)

    @property
    def held(self) -> str:
        """Why no claim about arms can be made, in one sentence; empty where claims can be made."""
        rewards = np.asarray(self.policy.history.packed["rewards"], dtype=np.float64)
        return unreported_zeros(self.problem, self.decisions, rewards, self.late.window)

    @property
    def per_day(self) -> float:
        """Decisions per day so far; NaN before they span an hour."""
        asked = self.decisions.column("asked")
        span = float(asked[-1] - asked[0]) if len(asked) else 0.0
        return 86_400 * len(asked) / span if span >= 3600 else math.nan

    # Telling

    def outcome(
        self, number: int, metrics: Mapping[str, Any] | None, reward: object | None, *, final: bool
    ) -> dict[str, Any] | None:
        """The body of the event that records an outcome, checked; None when it adds nothing."""
        further: dict[str, float] = {}
        if self.metrics.kinds and isinstance(metrics, Mapping):
            said = dict(metrics)
            further = self.metrics.taken_from(number, said)
            taken, metrics = len(said) < len(metrics), said
            if taken and not said and reward is None and not final:
                self.check_takes(number)
                return {"id": number, "seen": {}, "metrics": further} if further else None
        body: dict[str, Any] = {"id": number, "seen": self.news(number, metrics, reward, final=final)}
        if further:
            body["metrics"] = further
        if final and self.late.window is not None and number in self.decisions.open:
            return {**body, "final": True}
        return body if body["seen"] or further else None

    def check_takes(self, number: int) -> None:
        """Refuse what is told of a decision that was closed without an outcome."""
        status = self.decisions.status(number)
        if status in ("abandoned", "expired"):
            raise DecisionClosedError(f"decision {number} is {status}; it takes no more outcomes")

    def news(
        self, number: int, metrics: Mapping[str, Any] | None, reward: object | None, *, final: bool
    ) -> dict[str, Any]:
        """What an outcome adds to what is known, checked; empty when it adds nothing."""
        seen = said_of(self.problem, self.policy.history.value, number, metrics, reward, final=final)
        self.check_takes(number)
        known = self.known(number)
        self.late.check(number, known, seen, self.problem.target, final=final)
        return added_by(self.problem, self.policy.needed, number, known, seen, final=final)

    def known(self, number: int) -> dict[str, Any]:
        """What was told of a decision so far."""
        if number in self.incomplete:
            return self.incomplete[number]
        if self.decisions.status(number) == "told":
            return self.policy.history.observation(int(self.decisions.column("row")[number - 1]))
        return self.parts.get(number, {})

    def overdue(self, now: float, after: float | None) -> list[int]:
        """Open decisions that were asked for too long ago."""
        if after is None:
            return []
        since = self.decisions.column("since")
        late = []
        for number in self.decisions.open:  # the oldest first
            if since[number - 1] > now - after:
                break
            if self.late.window is None or self.problem.target not in self.parts.get(number, ()):
                late.append(number)
        return late

    def close_windows(self, until: int, now: float) -> None:
        """Count reward windows that have closed by now, before an event says so."""
        self.apply(Event(self.seq + 1, "closed", now, {"until": until}))
        self.seq -= 1

    # Events

    def replay(self, events: Iterable[Event]) -> None:
        """Count events: the same as `apply` of each, but rows that come whole are learnt together.

        Nothing looks at the rows before discovery is due, a guardrail is checked or another kind of event comes.
        """
        whole: dict[int, tuple[float, dict[str, Any]]] = {}
        together = self.settings.consistency is None and self.late.window is None
        asks_look = bool(self.rules.guardrails) or self.rules.control_share is not None
        for event in events:
            if together and self._is_whole(event, whole):
                self._follow(event)
                whole[event.body["id"]] = (event.time, event.body["seen"])
                self.seq = event.seq
                continue
            due = self.policy.schedule.is_due(self.policy.progress + len(whole))
            if event.kind != "asked" or asks_look or due:
                self._learn(whole)
            self.apply(event)
        self._learn(whole)

    def _is_whole(self, event: Event, whole: Mapping[int, Any]) -> bool:
        """Whether an event says everything of a decision that is open and of which nothing was told before."""
        number = event.body.get("id")
        return (
            event.kind == "told"
            and self.policy.history.cuts_are_known
            and event.body.keys() == {"id", "seen"}
            and type(number) is int
            and number in self.decisions.open
            and number not in self.parts
            and number not in whole
            and event.body["seen"].keys() == {*self.problem.observed_names, self.problem.target}
        )

    def _follow(self, event: Event) -> None:
        if event.seq != self.seq + 1:
            raise ValueError(f"event {event.seq} after event {self.seq}")
        if not 0 <= event.time < LATEST:
            raise ValueError(f"time {event.time!r}")
        self.decisions.pass_time(event.time)

    def apply(self, event: Event) -> None:
        """Count one event; they come in order, and each must fit what is known."""
        self._follow(event)
        _APPLY[event.kind](self, event)
        if self.settings.consistency is not None:
            self.policy.ready()  # every version of a served study decides, so its discovery is done with it
        self.seq = event.seq

    def _created(self, event: Event) -> None:
        pass

    def _asked(self, event: Event) -> None:
        arms, among = event.body["arms"], event.body.get("among")
        if event.body["first"] != len(self.decisions) + 1 or not arms:
            raise ValueError(f"decision {event.body['first']} after {len(self.decisions)}")
        self._check_arms(arms)
        if among is not None:
            self._check_arms(among)
        check_segment(self.problem, event.body)
        self.count_reserved(arms, self.reserved_for(asked_among(self.problem, event.body)))
        self.policy.ready()  # the discovery that was due then
        self.decisions.add(arms, event.seq, event.time)

    def _check_arms(self, arms: list[int]) -> None:
        count = len(self.problem.arms)
        if not all(type(arm) is int and 0 <= arm < count for arm in arms):
            raise ValueError(f"arms {arms!r} of {count}")

    def _check_open(self, number: int) -> None:
        if type(number) is not int or number not in self.decisions.open:
            raise ValueError(f"decision {number!r} is not open")

    def _told(self, event: Event) -> None:
        number = event.body["id"]
        if "metrics" in event.body:
            self._measured(number, event.body["metrics"])
            if not event.body["seen"] and "final" not in event.body:
                return
        seen, arm = event.body["seen"], int(self.decisions.column("arm")[number - 1])
        if number in self.incomplete:
            self.guards.count_told(self.problem, arm, seen)
            self._fill(number, seen)
            return
        self._check_open(number)
        self.guards.count_told(self.problem, arm, seen)
        part = {**self.parts.pop(number, {}), **seen}
        if number <= self.late.closed:
            part.setdefault(self.problem.target, 0)
        if self._can_count(part) and self.late.is_due(number, final=event.body.get("final", False)):
            self._count(number, part, event.time)
            return
        self.parts[number] = part
        self.late.expect(self.policy, self.problem, number, arm, part)

    def _can_count(self, part: Mapping[str, Any]) -> bool:
        return has_outcome(self.problem, self.policy.needed, part)

    def _measured(self, number: int, values: dict[str, float]) -> None:
        """Further metrics of a decision, which may have its outcome already."""
        if not 1 <= number <= len(self.decisions) or not set(values) <= set(self.metrics.kinds):
            raise ValueError(f"metrics {values!r} of decision {number!r}")
        self.metrics.put(number, values)
        for name, value in values.items():
            self.guards.count_metric(self.problem, name, int(self.decisions.column("arm")[number - 1]), value)

    def _count(self, number: int, part: dict[str, Any], time: float) -> None:
        """Count the row of a decision; observed variables that are not known yet count when they come."""
        row = self.policy.rows
        if number in self.late.numbers:
            self.policy.complete([self.late.numbers.pop(number)], [part[self.problem.target]])
        else:
            self.policy.learn(self._encoded(number, part))
        self.decisions.close(number, row, time)
        if not mediators_known(self.problem, part):
            self.incomplete[number] = part

    def _encoded(self, number: int, part: dict[str, Any]) -> Rows:
        arm = self.problem.arms[self.decisions.column("arm")[number - 1]]
        return self.policy.history.encode(arm, part, missing=True)

    def _fill(self, number: int, seen: dict[str, Any]) -> None:
        """Count observed variables of a decision whose row counts already."""
        part = {**self.incomplete.pop(number), **seen}
        if any(value is not None for value in seen.values()):
            self.policy.fill(int(self.decisions.column("row")[number - 1]), self._encoded(number, part))
        if not mediators_known(self.problem, part):
            self.incomplete[number] = part

    def _closed(self, event: Event) -> None:
        """Reward windows have closed: what came counts, and what did not come is 0."""
        before, until = self.late.closed, event.body["until"]
        if type(until) is not int or not before < until <= len(self.decisions):
            raise ValueError(f"windows closed up to decision {until!r}")
        self.late.closed = until
        for number in range(before + 1, until + 1):
            part = {self.problem.target: 0, **self.parts.get(number, {})}
            if number in self.parts and self._can_count(part):
                del self.parts[number]
                self._count(number, part, event.time)

    def _abandoned(self, event: Event) -> None:
        for number in event.body["ids"]:
            self._check_open(number)
            self.parts.pop(number, None)
            self.late.forget(self.policy, number)
            self.decisions.close(number, ABANDONED if event.kind == "abandoned" else EXPIRED, event.time)

    def _arms(self, event: Event) -> None:
        if "added" in event.body:
            self._grow(self.problem.with_arm(event.body["added"], new_levels=True))
        if "added_arms" in event.body:
            self._grow(with_arms(self.problem, event.body["added_arms"]))
        for how in ("retired", "forbidden", "allowed"):
            self._check_arms(event.body.get(how, []))
        self.retired |= set(event.body.get("retired", ()))
        self.forbidden |= set(event.body.get("forbidden", ()))
        self.forbidden -= set(event.body.get("allowed", ()))
        gone = self.retired | self.forbidden
        self.policy.restrict([arm for number, arm in enumerate(self.problem.arms) if number not in gone])

    def _grow(self, problem: Problem) -> None:
        """A problem with more arms is another problem: all rows are counted anew, discovery runs at the next ask."""
        old = self.policy
        self.policy = self.settings.make_policy(problem)
        self.policy.learn(old.history.rows, old.history.batches)
        if self.late.numbers:
            self.late.move(old, self.policy)

    def _imported(self, event: Event) -> None:
        body = event.body
        self._check_arms(body["arms"])
        levers = {
            name: [self.problem.arms[arm][name] for arm in body["arms"]] for name in self.problem.intervention_names
        }
        rows = self.policy.rows
        self.policy.learn(self.policy.history.encode_many({**levers, **body["seen"]}, missing=True))
        self.guards.count_imported(self.policy, rows)


_APPLY: dict[str, Callable[[StudyState, Event], None]] = {
    "created": StudyState._created,
    "asked": StudyState._asked,
    "told": StudyState._told,
    "abandoned": StudyState._abandoned,
    "expired": StudyState._abandoned,
    "arms": StudyState._arms,
    "imported": StudyState._imported,
    "closed": StudyState._closed,
    "counted": CountsAppended.count_appended,
}
