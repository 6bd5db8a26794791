"""Annotations of dates, and what people changed in a study: both are events, so nothing of it is ever lost."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from ...core.markup import counted
from ...core.problem import Problem, setting_words
from ...errors import OptionError, brief, whole_number
from .decisions import moment
from .events import Event, Kind
from .session import Draft, Session
from .state import StudyState

MOST_TEXT = 500
MOST_AT_ONCE = 10_000
NAMED_ARMS = 3


class Annotation(NamedTuple):
    """What happened at a time: a release, a sale, an outage."""

    time: datetime
    text: str


class AuditRow(NamedTuple):
    """Something that people changed in a study."""

    sequence: int
    kind: Kind
    time: datetime
    says: str


def annotate(draft: Draft, text: object, at: object) -> Annotation | None:
    """Annotate a time, now by default; None as the text takes the annotation of that time away."""
    if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > MOST_TEXT):
        raise OptionError(f"text={brief(text)}; expected a non-empty string of at most {MOST_TEXT} characters, or None")
    time = draft.now if at is None else read_time(at)
    known = draft.state.annotations.get(time)
    if text is None and known is None:
        raise OptionError(f"nothing is annotated at {moment(time).isoformat()}; see annotations()")
    if text != known:
        draft.add("annotated", {"at": time, "text": text})
    return None if text is None else Annotation(moment(time), text)


def annotations_of(state: StudyState) -> list[Annotation]:
    """All annotations, the oldest first."""
    return [Annotation(moment(time), text) for time, text in sorted(state.annotations.items())]


def read_time(at: object, name: str = "at") -> float:
    """Seconds since 1970 of a date, a time or their text in ISO 8601; UTC unless it says otherwise.

    >>> read_time("2026-11-18"), read_time("2026-11-18T01:00+01:00")
    (1794960000.0, 1794960000.0)
    """
    try:
        if isinstance(at, date) and not isinstance(at, datetime):
            at = at.isoformat()
        found = datetime.fromisoformat(at) if isinstance(at, str) else at
        if isinstance(found, datetime):
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    raise OptionError(f"{name}={brief(at)}; expected a date such as 2026-11-18, or a time such as 2026-11-18T14:30")


# The audit trail


def audit(session: Session, limit: int) -> list[AuditRow]:
    """What people changed, the newest first."""
    most = whole_number("limit", limit, 1, MOST_AT_ONCE)
    kinds: list[Kind] = [*SAYS]
    events = session.store.read(session.row.id, lambda transaction: transaction.newest_of(kinds, most))
    problem = session.read_counted(lambda state: state.problem)
    return [AuditRow(each.seq, each.kind, moment(each.time), SAYS[each.kind](each, problem)) for each in events]


def _arms_words(event: Event, problem: Problem) -> str:
    said = []
    for how in ("retired", "forbidden", "allowed"):
        numbers = event.body.get(how, ())
        if numbers:
            said.append(f"{how} {_named([problem.arms[number].label for number in numbers])}")
    added = [event.body["added"]] if "added" in event.body else event.body.get("added_arms", [])
    if added:
        said.append(f"added {_named([_settings(each, problem) for each in added])}")
    return "; ".join(said)


def _settings(arm: Mapping[str, Any], problem: Problem) -> str:
    return ", ".join(setting_words(name, level, problem.names) for name, level in arm.items())


def _named(names: list[str]) -> str:
    """Arms in words: their number, and the first of them."""
    more = len(names) - NAMED_ARMS
    listed = "; ".join(names[:NAMED_ARMS]) + (f"; and {more:,} more" if more > 0 else "")
    return f"{len(names):,} {'arm' if len(names) == 1 else 'arms'}: {listed}"


def _imported_words(event: Event, _: Problem) -> str:
    return f"imported {counted(len(event.body['arms']), 'row')}"


def _annotated_words(event: Event, _: Problem) -> str:
    when, text = f"{moment(event.body['at']):%Y-%m-%d %H:%M} UTC", event.body["text"]
    return f"removed the annotation of {when}" if text is None else f"annotated {when}: {text}"


def _corrected_words(event: Event, _: Problem) -> str:
    values = ", ".join(f"{name}={value}" for name, value in event.body["values"].items())
    return f"corrected decision {event.body['id']:,} to {values}{_because(event)}"


def _excluded_words(event: Event, _: Problem) -> str:
    return f"{event.kind} {counted(len(event.body['ids']), 'decision')}{_because(event)}"


def _because(event: Event) -> str:
    return f": {event.body['reason']}" if event.body.get("reason") else ""


SAYS: dict[Kind, Callable[[Event, Problem], str]] = {
    "created": lambda _event, _problem: "created the study",
    "arms": _arms_words,
    "imported": _imported_words,
    "annotated": _annotated_words,
    "corrected": _corrected_words,
    "excluded": _excluded_words,
    "included": _excluded_words,
    "finished": lambda _event, _problem: "finished the study",
}
"""The kinds of events that are somebody's decision about the study, in words."""
