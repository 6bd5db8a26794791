"""Calls to a served study: what each appends, given what the log has already."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import CausalBanditsError, ConflictError, DecisionClosedError
from ...problem import Problem
from ..decisions import checked_number
from ..metrics import Metrics
from ..outcomes import added_by, has_outcome, said_of
from ..storage import Known, Row, mark_of


def dumped(value: object) -> str:
    """JSON, short and exact."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


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

    @abstractmethod
    def must_look(self, made: int) -> bool:
        """Whether the log must be looked at first, when so many decisions are known to be made."""

    @abstractmethod
    def rows(self, known: Known | None, after: int) -> list[Row]:
        """The rows to append; its own decisions come after so many others of the batch. None: expect nothing stored."""

    def stored(self, decisions: int) -> None:
        """The rows are stored; so many decisions were made before this batch. An ask has its result now."""
        return


class Asked(NamedTuple):
    """What an ask answered: its first decision, the time, the version it was made from, and the arms."""

    first: int
    time: float
    version: int
    arms: list[int]


class Ask(Call):
    """An ask that was decided; a key that is stored already gives what was decided then."""

    def __init__(self, key: str, time: float, decided: tuple[int, list[int], dict[str, Any]], *, own_key: bool) -> None:
        super().__init__()
        version, arms, about = decided
        self.keys, self.asks = (key,), len(arms)
        self._key, self._time, self._version, self._arms, self._about = key, time, version, arms, about
        self._is_new = own_key
        self._after = 0

    def must_look(self, made: int) -> bool:
        """A key of the caller may be there already."""
        return not self._is_new

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """One row, or none where the key is known."""
        mark = mark_of(self._key)
        if known is not None and self._key in known.other:
            raise ConflictError(f"key {self._key!r} was used for another call; use a new key")
        there = None if known is None else known.asks.get(mark)
        if there is not None:
            self.result = self._again(there)
            return []
        self._after = after
        body = [self._version, self._key, self._arms, *([self._about] if self._about else [])]
        return [Row(0, "asked", after + 1, 0, mark, self._time, dumped(body))]

    def _again(self, there: Row) -> Asked:
        version, _, arms, *extra = json.loads(there.body)
        about = extra[0] if extra else {}
        same = all(about.get(name) == self._about.get(name) for name in ("among", "segment"))
        if len(arms) != len(self._arms) or not same:
            raise ConflictError(f"key {self._key!r} was used for a different ask; use a new key for a new decision")
        return Asked(there.decision, there.time, version, arms)

    def stored(self, decisions: int) -> None:
        """Its decisions have their numbers now."""
        self.result = Asked(decisions + self._after + 1, self._time, self._version, self._arms)


class Told(NamedTuple):
    """What the log has of a decision."""

    parts: int
    seen: dict[str, Any]
    metrics: dict[str, float]
    closed: str | None


def told_of(known: Known | None, number: int) -> Told:
    """All that was told of a decision."""
    rows = [] if known is None else known.told.get(number, [])
    seen: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    closed = None
    for row in rows:
        body = json.loads(row.body)
        seen |= body.get("seen", {})
        metrics |= body.get("metrics", {})
        closed = body.get("closed", closed)
    return Told(len(rows), seen, metrics, closed)


class Outcome(NamedTuple):
    """One outcome to tell: `said` are the caller's words, given what is known; `name` begins its errors."""

    number: object
    said: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    reward: object = None
    whole: bool = False
    """Whether it says everything at once, so that nothing is likely to be known yet."""
    name: str = ""


class Checks(NamedTuple):
    """What outcomes are checked by."""

    problem: Problem
    needed: tuple[str, ...]
    metrics: Metrics
    value: Callable[[str, object], Any]


class Tell(Call):
    """Outcomes of decisions: all are stored, or none; the result is how many added something."""

    def __init__(self, checks: Checks, outcomes: Sequence[Outcome], time: float, *, final: bool) -> None:
        super().__init__()
        self._problem, self._needed, self._metrics, self._value = checks
        self._outcomes, self._time, self._final = outcomes, time, final
        numbers = [getattr(each.number, "id", each.number) for each in outcomes]
        self.decisions = [number for number in numbers if type(number) is int and 0 < number < 2**62]

    def must_look(self, made: int) -> bool:
        """Unless it is the whole outcome of one decision that exists."""
        one = len(self._outcomes) == 1 and self._outcomes[0].whole and len(self.decisions) == 1
        return not one or self.decisions[0] > made

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """A row for each outcome that adds something."""
        made = max(self.decisions, default=0) if known is None else known.decisions
        found: dict[int, Told] = {}
        rows = []
        for outcome in self._outcomes:
            try:
                number = checked_number(outcome.number, made)
                before = found[number] if number in found else told_of(known, number)
                news, further = self._news(number, before, outcome)
            except CausalBanditsError as error:
                raise (type(error)(f"{outcome.name}: {error}") if outcome.name else error) from None
            if not news and not further:
                continue
            body = {"seen": news, **({"metrics": further} if further else {})}
            rows.append(Row(0, "told", number, before.parts + 1, None, self._time, dumped(body)))
            found[number] = Told(before.parts + 1, {**before.seen, **news}, {**before.metrics, **further}, None)
        self.result = len(rows)
        return rows

    def _news(self, number: int, before: Told, outcome: Outcome) -> tuple[dict[str, Any], dict[str, float]]:
        """What an outcome adds: values, and further metrics; the checks of `StudyState.outcome`, in its order."""
        said, final = outcome.said(before.seen), self._final
        if outcome.name and not said and not final:  # a row of a table that says nothing
            return {}, {}
        further: dict[str, float] = {}
        only_metrics = False
        if self._metrics.kinds and isinstance(said, Mapping):
            left = dict(said)
            further = self._metrics.taken_from(number, left, before.metrics)
            only_metrics = len(left) < len(said) and not left and outcome.reward is None and not final
            said = left
        seen = {} if only_metrics else said_of(self._problem, self._value, number, said, outcome.reward, final=final)
        if before.closed is not None:
            raise DecisionClosedError(f"decision {number} is {before.closed}; it takes no more outcomes")
        return added_by(self._problem, self._needed, number, before.seen, seen, final=final), further


class Close(Call):
    """Close decisions that have no outcome; the result is which were closed."""

    def __init__(
        self, problem: Problem, needed: Sequence[str], numbers: Sequence[object], how: str, time: float
    ) -> None:
        super().__init__()
        self._problem, self._needed, self._numbers, self._how, self._time = problem, needed, numbers, how, time
        given = [getattr(number, "id", number) for number in numbers]
        self.decisions = [number for number in given if type(number) is int and 0 < number < 2**62]

    def must_look(self, made: int) -> bool:
        """Always: what has an outcome stays as it is."""
        return True

    def rows(self, known: Known | None, after: int) -> list[Row]:
        """A row for each decision that is open."""
        assert known is not None
        closed = []
        for given in self._numbers:
            number = checked_number(given, known.decisions)
            told = told_of(known, number)
            if has_outcome(self._problem, self._needed, told.seen):
                if self._how == "abandoned":
                    raise DecisionClosedError(f"decision {number} already has its outcome and cannot be abandoned")
            elif told.closed is None:
                closed.append(Row(0, "told", number, told.parts + 1, None, self._time, dumped({"closed": self._how})))
        self.result = [row.decision for row in closed]
        return closed
