"""Following a study from outside: how far it is, what changed since, and its decisions page by page."""

import math
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from ..errors import whole_number
from ..problem import Level
from .decisions import moment
from .events import Event, Kind
from .session import Session
from .state import StudyState

MOST_AT_ONCE = 10_000
"""Changes or decisions in one answer."""


class Newest(NamedTuple):
    """The newest event of a study: its number, and the start of a digest of everything up to it."""

    sequence: int
    mark: str


class Change(NamedTuple):
    """An event of a study in brief: which decisions it concerns, not what it says of them."""

    sequence: int
    kind: Kind
    time: datetime
    decisions: tuple[int, ...]
    """Ids of the decisions that were asked for, told, abandoned or have expired."""


class DecisionRow(TypedDict):
    """A decision and what became of it."""

    id: int
    status: str
    asked: datetime
    done: datetime | None
    arm: dict[str, Level]
    outcome: dict[str, Any]
    """What was told of it so far."""


def newest(session: Session) -> Newest:
    """The newest event; one small query."""
    head = session.store.read(session.row.id, lambda transaction: transaction.head())
    return Newest(head.seq, head.digest.hex()[:8])


def closed_windows(session: Session) -> int:
    """Up to which decision reward windows have closed by now; 0 in a study without windows."""
    return 0 if session.settings.reward_window is None else session.read(lambda state: state.late.closed)


def changes(session: Session, after: int, limit: int) -> list[Change]:
    """The events after a number in brief, the oldest first."""
    after, limit = whole_number("after", after, 0), whole_number("limit", limit, 1, MOST_AT_ONCE)
    if after >= newest(session).sequence:
        return []
    return [
        Change(event.seq, event.kind, moment(event.time), _concerned(event))
        for event in session.events(after, after + limit)
    ]


def _concerned(event: Event) -> tuple[int, ...]:
    body = event.body
    if event.kind == "counted":
        made = sum(len(arms) for _, _, _, arms, *_ in body["asked"])
        return tuple(sorted({*range(body["first"], body["first"] + made), *(number for number, *_ in body["told"])}))
    if event.kind == "asked":
        return tuple(range(body["first"], body["first"] + len(body["arms"])))
    return (body["id"],) if event.kind == "told" else tuple(body.get("ids", ()))


def decision_rows(state: StudyState, after: int, limit: int) -> list[DecisionRow]:
    """The decisions after a number, the oldest first."""
    after, limit = whole_number("after", after, 0), whole_number("limit", limit, 1, MOST_AT_ONCE)
    return [decision_row(state, number) for number in range(after + 1, min(after + limit, len(state.decisions)) + 1)]


def decision_row(state: StudyState, number: int) -> DecisionRow:
    """One decision by its number."""
    decisions, place = state.decisions, number - 1
    done = float(decisions.column("done")[place])
    return {
        "id": number,
        "status": decisions.status(number),
        "asked": moment(float(decisions.column("asked")[place])),
        "done": None if math.isnan(done) else moment(done),
        "arm": dict(state.problem.arms[decisions.column("arm")[place]]),
        "outcome": dict(state.known(number)),
    }
