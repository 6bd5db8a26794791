"""Calls in high-throughput mode: what each appends, given what the log has already."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....errors import ConflictError, DecisionClosedError
from ..decisions import checked_number, number_of
from ..outcomes import OnRecord, Outcome, OutcomeRules, corrected_values, has_outcome, new_outcomes
from ..session import key_used
from ..storage import Known, Row, mark_of
from ..storage.transaction import dump


@dataclass(eq=False)
class Call:
    """One call: all its rows are stored, or none. What it returns is in `result`, or in `error`."""

    rows: Callable[[Known | None], tuple[list[Row], Any]]
    """The rows to append and the result, given what the log has; None: expect nothing stored."""
    keys: Sequence[str] = ()
    decisions: Sequence[int] = ()
    """What must not be used by another call of the same batch, and is looked up in the log."""
    asks: int = 0
    """How many decisions it makes. The first of them is the result, as the number within the call."""
    is_new: Callable[[int], bool] = lambda _: False
    """Whether nothing in the log is likely to matter, when this many decisions are known to be made."""
    result: Any = None
    error: Exception | None = None
    event: threading.Event = field(default_factory=threading.Event)
    leads: bool = False


class Decided(NamedTuple):
    """What a state chose: its version, the arms by number, and among which arms, in which segment."""

    version: int
    arms: list[int]
    about: dict[str, Any]


class Made(NamedTuple):
    """The result of an ask: its first decision, the time, the arms, and whether its key had them already."""

    first: int
    time: float
    arms: list[int]
    was_there: bool = False


def ask(key: str, time: float, decided: Decided, *, own_key: bool) -> Call:
    """An ask that was decided; a key that is stored already gives what was decided then."""
    mark, (version, arms, about) = mark_of(key), decided

    def rows(known: Known | None) -> tuple[list[Row], Made]:
        if known is not None and key in known.other:
            raise key_used(key)
        there = None if known is None else known.asks.get(mark)
        if there is None:
            body = dump([version, key, arms, *([about] if about else [])])
            return [Row(0, "asked", 1, 0, mark, time, body)], Made(1, time, arms)
        _, _, stored, *extra = json.loads(there.body)
        before = extra[0] if extra else {}
        if len(stored) != len(arms) or any(before.get(name) != about.get(name) for name in ("among", "segment")):
            raise ConflictError(f"key {key!r} was used for a different ask; use a new key for a new decision")
        return [], Made(there.decision, there.time, stored, was_there=True)

    return Call(rows, keys=(key,), asks=len(arms), is_new=lambda _: own_key)


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


def tell(rules: OutcomeRules, outcomes: Sequence[Outcome], time: float, *, final: bool) -> Call:
    """Outcomes of decisions: all are stored, or none; the result is how many added something."""
    decisions = _numbers(each.decision for each in outcomes)

    def is_new(made: int) -> bool:
        """Whether it is the complete outcome of one decision that exists, of which nothing is likely on record."""
        if len(outcomes) != 1 or len(decisions) != 1 or rules.metrics:
            return False
        if not rules.frozen < decisions[0] <= made:  # of one before the end only what is on record may be repeated
            return False
        said = outcomes[0].values({}) if outcomes[0].row is None else None
        names = {*(said if isinstance(said, Mapping) else ())}
        if outcomes[0].reward is not None:
            names.add(rules.problem.target)
        return names == rules.names

    def rows(known: Known | None) -> tuple[list[Row], int]:
        made = max(decisions, default=0) if known is None else known.decisions
        found: dict[int, tuple[int, OnRecord]] = {}

        def on_record(number: int) -> OnRecord:
            if number not in found:
                found[number] = _on_record(known, number)
            return found[number][1]

        new = []
        for number, news in new_outcomes(rules, outcomes, made, on_record, final=final):
            parts, before = found[number]
            new.append(Row(0, "told", number, parts + 1, None, time, dump(news)))
            values, metrics = {**before.values, **news["seen"]}, {**before.metrics, **news.get("metrics", {})}
            found[number] = parts + 1, OnRecord(values, metrics, earlier=before.earlier)
        return new, len(new)

    return Call(rows, decisions=decisions, is_new=is_new)


def correct(rules: OutcomeRules, decision: object, values: Any, reward: Any, reason: str, time: float) -> Call:
    """Replace recorded values of a decision; the result is whether that changed something."""

    def rows(known: Known | None) -> tuple[list[Row], bool]:
        assert known is not None
        number = checked_number(decision, known.decisions)
        parts, before = _on_record(known, number)
        news = corrected_values(rules, number, values, reward, before)
        row = Row(0, "told", number, parts + 1, None, time, dump({"corrected": news, "reason": reason}))
        return ([row] if news else []), bool(news)

    return Call(rows, decisions=_numbers([decision]))


def close(rules: OutcomeRules, decisions: Sequence[object], how: str, time: float) -> Call:
    """Close decisions that have no outcome; the result is which were closed."""

    def rows(known: Known | None) -> tuple[list[Row], list[int]]:
        assert known is not None
        closed = []
        for given in decisions:
            number = checked_number(given, known.decisions)
            parts, before = _on_record(known, number)
            if has_outcome(rules.problem, rules.needed, before.values):
                if how == "abandoned":
                    raise DecisionClosedError(f"decision {number} already has its outcome and cannot be abandoned")
            elif before.closed is None:
                closed.append(Row(0, "told", number, parts + 1, None, time, dump({"closed": how})))
        return closed, [row.decision for row in closed]

    return Call(rows, decisions=_numbers(decisions))
