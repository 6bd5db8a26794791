"""The state of a study: a function of its settings and its events, in their order, and of nothing else.

Any process that has applied the same events has the same state to the bit, and chooses the same arm next: the random
numbers of a decision come from the study's seed and the decision's number.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConflictError, DecisionClosedError, ObservationError, OptionError, brief
from ..policies import POLICIES, Policy
from ..policies.allowing import arm_numbers
from ..policies.saving import Saved, from_bytes, to_bytes
from ..problem import Arm, Level, Problem
from ..seeds import stream
from .decisions import ABANDONED, EXPIRED, LATEST, Decisions
from .events import Event
from .late import LateRewards, mediators_known
from .levels import with_arms
from .segments import check_segment
from .settings import Settings


class StudyState:
    """What the events say so far."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.policy: Policy[Any] = settings.make_policy()
        self.decisions = Decisions()
        self.parts: dict[int, dict[str, Any]] = {}
        """What was told of open decisions."""
        self.late = LateRewards(settings)
        self.retired: set[int] = set()
        self.forbidden: set[int] = set()
        self.seq = 0

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        return self.policy.problem

    def status(self, number: int) -> str | None:
        """Why an arm is not in play: retired or forbidden; None where it is."""
        return "retired" if number in self.retired else "forbidden" if number in self.forbidden else None

    # Choosing

    def random(self, number: int) -> np.random.Generator:
        """The random numbers of a decision."""
        return np.random.default_rng(stream(self.settings.seed, number))

    def choose(self, count: int, among: list[int] | None) -> list[int]:
        """The next arms, by number."""
        rng = self.random(len(self.decisions) + 1)
        chosen: list[int] = self.policy.choose(count, rng, among=self.mask(among)).tolist()
        return chosen

    def mask(self, among: Iterable[int] | None) -> NDArray[np.bool_] | None:
        """Arms by number as a mask; None for all."""
        if among is None:
            return None
        chosen = np.zeros(len(self.problem.arms), dtype=np.bool_)
        chosen[list(among)] = True
        return chosen

    def subset(self, arms: Iterable[Arm | Mapping[str, Level]] | None) -> list[int] | None:
        """The arms that one ask may choose from, checked."""
        if arms is None:
            return None
        if isinstance(arms, Mapping | str) or not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) == 0:
            raise OptionError(f"arms={brief(arms)}; expected a list of arms")
        return sorted({number for arm in arms for number in arm_numbers(self.problem, arm)})

    # Telling

    def outcome(
        self, number: int, metrics: Mapping[str, Any] | None, reward: object | None, *, final: bool
    ) -> dict[str, Any] | None:
        """The body of the event that records an outcome, checked; None when it adds nothing."""
        news = self.news(number, metrics, reward, final=final)
        if final and self.late.window is not None and number in self.decisions.open:
            return {"id": number, "seen": news, "final": True}
        return {"id": number, "seen": news} if news else None

    def news(
        self, number: int, metrics: Mapping[str, Any] | None, reward: object | None, *, final: bool
    ) -> dict[str, Any]:
        """What an outcome adds to what is known, checked; empty when it adds nothing."""
        if metrics is not None and not isinstance(metrics, Mapping):
            raise ObservationError(f"metrics {brief(metrics)} is not a mapping variable -> value")
        said = dict(metrics or {})
        target = self.problem.target
        if reward is not None:
            if target in said and said[target] != reward:
                raise ObservationError(
                    f"the reward {target!r} is {said[target]!r} among the metrics, but {reward!r} as the reward"
                )
            said[target] = reward
        if not said and not final:
            raise ObservationError(f"decision {number} got no values; pass metrics or a reward, or final=True")
        value = self.policy.history.value
        seen = {name: value(name, given) for name, given in said.items()}
        status = self.decisions.status(number)
        if status in ("abandoned", "expired"):
            raise DecisionClosedError(f"decision {number} is {status}; it takes no more outcomes")
        known = self.known(number)
        self.late.check(number, known, seen, target, final=final)
        for name, given in seen.items():
            if name in known and known[name] != given:
                raise ConflictError(
                    f"decision {number}: {name!r} was told to be {_spoken(known[name])}, now {_spoken(given)}; "
                    "recorded values cannot be changed"
                )
        if final:
            if target not in known and target not in seen:
                raise ObservationError(
                    f"decision {number} has no reward {target!r} yet; record the reward before final=True, or with it"
                )
            seen = dict.fromkeys(self.problem.observed_names) | known | seen
        return {name: given for name, given in seen.items() if name not in known}

    def known(self, number: int) -> dict[str, Any]:
        """What was told of a decision so far."""
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

    # Events

    def apply(self, event: Event) -> None:
        """Count one event; they come in order, and each must fit what is known."""
        if event.seq != self.seq + 1:
            raise ValueError(f"event {event.seq} after event {self.seq}")
        if not 0 <= event.time < LATEST:
            raise ValueError(f"time {event.time!r}")
        self.decisions.pass_time(event.time)
        _APPLY[event.kind](self, event)
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
        self._check_open(number)
        part = {**self.parts.pop(number, {}), **event.body["seen"]}
        if number <= self.late.closed and mediators_known(self.problem, part):
            part.setdefault(self.problem.target, 0)
        whole = len(part) > len(self.problem.observed)
        if whole and self.late.is_due(number, final=event.body.get("final", False)):
            self._count(number, part, event.time)
            return
        self.parts[number] = part
        self.late.expect(self.policy, self.problem, number, int(self.decisions.column("arm")[number - 1]), part)

    def _count(self, number: int, part: dict[str, Any], time: float) -> None:
        """The row of a decision is whole, and counts."""
        row = self.policy.rows
        if number in self.late.numbers:
            self.policy.complete([self.late.numbers.pop(number)], [part[self.problem.target]])
        else:
            arm = self.problem.arms[self.decisions.column("arm")[number - 1]]
            self.policy.learn(self.policy.history.encode(arm, part, missing=True))
        self.decisions.close(number, row, time)

    def _closed(self, event: Event) -> None:
        """Reward windows have closed: what came counts, and what did not come is 0."""
        before, until = self.late.closed, event.body["until"]
        if type(until) is not int or not before < until <= len(self.decisions):
            raise ValueError(f"windows closed up to decision {until!r}")
        self.late.closed = until
        for number in range(before + 1, until + 1):
            if number in self.parts and mediators_known(self.problem, self.parts[number]):
                self._count(number, {self.problem.target: 0, **self.parts.pop(number)}, event.time)

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
        self.policy.learn(old.history.rows)
        if self.late.numbers:
            self.late.move(old, self.policy)

    def _imported(self, event: Event) -> None:
        body = event.body
        self._check_arms(body["arms"])
        levers = {
            name: [self.problem.arms[arm][name] for arm in body["arms"]] for name in self.problem.intervention_names
        }
        self.policy.learn(self.policy.history.encode_many({**levers, **body["seen"]}, missing=True))

    # Snapshots

    def snapshot(self) -> bytes:
        """Everything as plain arrays."""
        saved = self.policy.pack()
        parts = [[number, part] for number, part in self.parts.items()]
        study: dict[str, Any] = {
            "seq": self.seq,
            "parts": parts,
            "retired": sorted(self.retired),
            "forbidden": sorted(self.forbidden),
        }
        if self.late.counts_early:
            study["late"] = self.late.packed()
        text = np.frombuffer(json.dumps(study).encode(), dtype=np.uint8)
        return to_bytes(Saved(saved.header, {**saved.arrays, **self.decisions.arrays(), "study": text}))

    @classmethod
    def restore(cls, settings: Settings, content: bytes) -> "StudyState":
        """Read back what `snapshot` gave."""
        saved = from_bytes(content)
        state = cls.__new__(cls)
        with saved.checked():
            state.settings = settings
            state.policy = POLICIES[settings.policy].restore(saved)
            state.decisions = Decisions.of(saved.arrays)
            study = json.loads(saved.arrays["study"].tobytes())
            state.parts = dict(study["parts"])
            state.retired, state.forbidden = set(study["retired"]), set(study["forbidden"])
            state.seq = study["seq"]
            state.late = LateRewards(settings)
            if "late" in study:
                state.late.fill(study["late"], state.policy)
        return state


def _spoken(value: object) -> str:
    return "missing" if value is None else repr(value)


_APPLY: dict[str, Callable[[StudyState, Event], None]] = {
    "created": StudyState._created,
    "asked": StudyState._asked,
    "told": StudyState._told,
    "abandoned": StudyState._abandoned,
    "expired": StudyState._abandoned,
    "arms": StudyState._arms,
    "imported": StudyState._imported,
    "closed": StudyState._closed,
}
