"""Calls in high-throughput mode: what each appends, given what the log has already."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ....errors import ConflictError, DecisionClosedError
from ..decisions import checked_number, number_of
from ..outcomes import OnRecord, Outcome, OutcomeRules, corrected_values, has_outcome, new_outcomes
from ..session import key_used
from ..storage import Known, Row, mark_of
from ..storage.transaction import dump


class Call(ABC):
    """One call: all its rows are stored, or none."""

    keys: Sequence[str] = ()
    decisions: Sequence[int] = ()
    """What must not be used by another call of the same batch, and is looked up in the log."""
    asks = 0
    """How many decisions it makes."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.leads = False
        self.result: Any = None
        self.error: Exception | None = None

    def must_look(self, made: int) -> bool:
        """Whether the log must be looked at first, when this many decisions are known to be made."""
        return True

    @abstractmethod
    def rows(self, known: Known | None, after: int) -> list[Row]:
        """The rows to append; its decisions come after this many others of the batch. None: expect nothing stored."""

    def stored(self, decisions: int) -> None:
        """The rows are stored; this many decisions were made before this batch. An ask has its result now."""
        return


class Decided(NamedTuple):
    """What a state chose: its version, the arms by number, and among which arms, in which segment."""

    version: int
    arms: list[int]
    about: dict[str, Any]


class Ask(Call):
    """An ask that was decided; a key that is stored already gives what was decided then.

    The result is the first decision, the time and the arms.
    """

    def __init__(self, key: str, time: float, decided: Decided, *, own_key: bool) -> None:
        super().__init__()
        self.keys, self.asks = (key,), len(decided.arms)
        self._key, self._time, self._decided = key, time, decided
        self._is_new = own_key
        self._after = 0
        self.was_there = False
        """Whether the key had its decision already."""

    def must_look(self, made: int) -> bool:
        """A key of the caller may be there already."""
        return not self._is_new

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """One row, or none if the key is known."""
        mark = mark_of(self._key)
        if known is not None and self._key in known.other:
            raise key_used(self._key)
        there = None if known is None else known.asks.get(mark)
        if there is not None:
            self.result, self.was_there = self._again(there), True
            return []
        self._after = after
        version, arms, about = self._decided
        body = [version, self._key, arms, *([about] if about else [])]
        return [Row(0, "asked", after + 1, 0, mark, self._time, dump(body))]

    def _again(self, there: Row) -> tuple[int, float, list[int]]:
        _, _, arms, *extra = json.loads(there.body)
        about = extra[0] if extra else {}
        same = all(about.get(name) == self._decided.about.get(name) for name in ("among", "segment"))
        if len(arms) != len(self._decided.arms) or not same:
            raise ConflictError(f"key {self._key!r} was used for a different ask; use a new key for a new decision")
        return there.decision, there.time, arms

    def stored(self, decisions: int) -> None:
        """Its decisions have their numbers now."""
        self.result = decisions + self._after + 1, self._time, self._decided.arms


def _numbers(given: Iterable[object]) -> list[int]:
    """The decisions that may exist, of those that a caller names."""
    return [number for number in map(number_of, given) if 0 < number < 2**62]


def _on_record(known: Known | None, number: int) -> tuple[int, OnRecord]:
    """How many rows of the log are about a decision, and what they say."""
    rows = [] if known is None else known.told.get(number, [])
    values: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    earlier: dict[str, list[Any]] = {}
    closed = None
    for row in rows:
        body = json.loads(row.body)
        values |= body.get("seen", {})
        metrics |= body.get("metrics", {})
        closed = body.get("closed", closed)
        for name, value in body.get("corrected", {}).items():
            kept = metrics if name in metrics else values
            earlier.setdefault(name, []).append(kept[name])
            kept[name] = value
    return len(rows), OnRecord(values, metrics, closed, earlier=earlier)


class Tell(Call):
    """Outcomes of decisions: all are stored, or none; the result is how many added something."""

    def __init__(self, rules: OutcomeRules, outcomes: Sequence[Outcome], time: float, *, final: bool) -> None:
        super().__init__()
        self._rules, self._outcomes, self._time, self._final = rules, outcomes, time, final
        self.decisions = _numbers(each.decision for each in outcomes)

    def must_look(self, made: int) -> bool:
        """Unless it is the complete outcome of one decision that exists, of which nothing is likely to be on record."""
        if len(self._outcomes) != 1 or len(self.decisions) != 1 or self._rules.metrics.kinds:
            return True
        if self.decisions[0] <= self._rules.frozen:  # only what is on record may be repeated
            return True
        outcome = self._outcomes[0]
        said = outcome.values({}) if outcome.row is None else None
        names = {*(said if isinstance(said, Mapping) else ())}
        if outcome.reward is not None:
            names.add(self._rules.problem.target)
        return names != self._rules.names or self.decisions[0] > made

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """A row for each outcome that adds something."""
        made = max(self.decisions, default=0) if known is None else known.decisions
        found: dict[int, tuple[int, OnRecord]] = {}

        def on_record(number: int) -> OnRecord:
            if number not in found:
                found[number] = _on_record(known, number)
            return found[number][1]

        rows = []
        for number, news in new_outcomes(self._rules, self._outcomes, made, on_record, final=self._final):
            parts, before = found[number]
            rows.append(Row(0, "told", number, parts + 1, None, self._time, dump(news)))
            values, metrics = {**before.values, **news["seen"]}, {**before.metrics, **news.get("metrics", {})}
            found[number] = parts + 1, OnRecord(values, metrics, earlier=before.earlier)
        self.result = len(rows)
        return rows


class Correct(Call):
    """Replace recorded values of a decision; the result is whether that changed something."""

    def __init__(
        self, rules: OutcomeRules, decision: object, values: Any, reward: Any, reason: str, time: float
    ) -> None:
        super().__init__()
        self._rules, self._decision, self._values, self._reward = rules, decision, values, reward
        self._reason, self._time = reason, time
        self.decisions = _numbers([decision])

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """A row, if something changes."""
        assert known is not None
        number = checked_number(self._decision, known.decisions)
        parts, before = _on_record(known, number)
        news = corrected_values(self._rules, number, self._values, self._reward, before)
        body = dump({"corrected": news, "reason": self._reason})
        self.result = bool(news)
        return [Row(0, "told", number, parts + 1, None, self._time, body)] if news else []


class Close(Call):
    """Close decisions that have no outcome; the result is which were closed."""

    def __init__(self, rules: OutcomeRules, numbers: Sequence[object], how: str, time: float) -> None:
        super().__init__()
        self._rules, self._numbers, self._how, self._time = rules, numbers, how, time
        self.decisions = _numbers(numbers)

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """A row for each decision that is open."""
        assert known is not None
        closed = []
        for given in self._numbers:
            number = checked_number(given, known.decisions)
            parts, before = _on_record(known, number)
            if has_outcome(self._rules.problem, self._rules.needed, before.values):
                if self._how == "abandoned":
                    raise DecisionClosedError(f"decision {number} already has its outcome and cannot be abandoned")
            elif before.closed is None:
                closed.append(Row(0, "told", number, parts + 1, None, self._time, dump({"closed": self._how})))
        self.result = [row.decision for row in closed]
        return closed
