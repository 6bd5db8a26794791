"""Following a study from outside: how far it is, what changed since, and its decisions page by page."""

import math
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ...core.problem import Level
from ...errors import OptionError, brief, listing, whole_number
from .audit import read_time
from .decisions import STATUS, moment
from .events import Event, Kind
from .levels import matching
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
    """Ids of the decisions that were asked for, told, corrected, closed, excluded or included."""


class DecisionRow(TypedDict):
    """A decision and what became of it."""

    id: int
    status: str
    asked: datetime
    done: datetime | None
    arm: dict[str, Level]
    outcome: dict[str, Any]
    """What was told of it so far, as corrected."""
    excluded: str | None
    """Why it does not count."""
    corrections: list[dict[str, Any]]
    """Values that were replaced: time, reason, before and after."""


def newest(session: Session) -> Newest:
    """The newest event; one small query."""
    head = session.head()
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
    return (body["id"],) if event.kind in ("told", "corrected") else tuple(body.get("ids", ()))


def decision_rows(state: StudyState, after: int, limit: int) -> list[DecisionRow]:
    """The decisions after a number, the oldest first."""
    after, limit = whole_number("after", after, 0), whole_number("limit", limit, 1, MOST_AT_ONCE)
    return [decision_row(state, number) for number in range(after + 1, min(after + limit, len(state.decisions)) + 1)]


STATUSES = ("told", "open", "abandoned", "expired")


def select_decisions(
    state: StudyState, *, status: str | None = None, arm: object = None, since: object = None, until: object = None
) -> list[int]:
    """The numbers of the decisions that have a status, an arm that matches a pattern, and were asked for in a time."""
    decisions = state.decisions
    asked, arms, rows = (decisions.column(name) for name in ("asked", "arm", "row"))
    kept = np.ones(len(decisions), dtype=np.bool_)
    if status is not None:
        if status not in STATUSES:
            raise OptionError(f"status={brief(status)}; expected one of {listing(STATUSES)}")
        codes = [code for code, name in STATUS.items() if name == status]
        kept &= rows >= 0 if status == "told" else np.isin(rows, codes)
    if arm is not None:
        kept &= np.isin(arms, matching(state.problem, arm))
    if since is not None:
        kept &= asked >= read_time(since)
    if until is not None:
        kept &= asked <= read_time(until)
    found: list[int] = (np.flatnonzero(kept) + 1).tolist()
    return found


def decision_row(state: StudyState, number: int) -> DecisionRow:
    """One decision by its number."""
    decisions, place = state.decisions, number - 1
    done, which = float(decisions.column("done")[place]), int(decisions.column("excluded")[place])
    return {
        "id": number,
        "status": decisions.status(number),
        "asked": moment(float(decisions.column("asked")[place])),
        "done": None if math.isnan(done) else moment(done),
        "arm": dict(state.problem.arms[decisions.column("arm")[place]]),
        "outcome": {**state.known(number), **state.metrics.of(number)},
        "excluded": None if not which else state.exclusions[which - 1].reason,
        "corrections": [
            {**each._asdict(), "time": moment(each.time).isoformat()} for each in state.corrections.get(number, ())
        ],
    }
