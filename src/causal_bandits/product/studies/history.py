"""What happened to a study, to read: decisions as rows and as a table, changes, notes, alarms, what is waiting."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ...core.files import output_folder, replacing
from ...core.markup import counted
from ...core.problem import Level, Problem, Segment, setting_words
from ...errors import OptionError, brief, listing, whole_number
from ...libraries import pl
from .arm_patterns import matching
from .decisions import STATUS, Event, Kind, microseconds, moment
from .session import Draft, Session
from .state import StudyState

MOST_TEXT = 500
MOST_AT_ONCE = 10_000
"""Changes or decisions in one answer."""
NAMED_ARMS = 3
AUDITED: tuple[Kind, ...] = (
    *("created", "arms", "imported", "annotated", "corrected", "excluded", "included", "finished"),
)
"""The kinds of events that are somebody's decision about the study."""


class Annotation(NamedTuple):
    """A note on a time: a release, a sale, an outage."""

    time: datetime
    text: str


class AuditRow(NamedTuple):
    """A change that somebody made to a study."""

    sequence: int
    kind: Kind
    time: datetime
    says: str


def annotate(draft: Draft, text: object, at: object) -> Annotation | None:
    """Annotate a time, now by default; None as the text removes the annotation of that time."""
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
    events = session.store.read(session.row.id, lambda transaction: transaction.newest_of(AUDITED, most))
    problem = session.read_counted(lambda state: state.problem)
    return [AuditRow(each.seq, each.kind, moment(each.time), _said(each, problem)) for each in events]


def _arms_words(event: Event, problem: Problem) -> str:
    said = []
    for how in ("retired", "forbidden", "allowed"):
        numbers = event.body.get(how, ())
        if numbers:
            said.append(f"{how} {_named([problem.arms[number].label for number in numbers])}")
    added = event.body.get("added", [])
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


def _annotated_words(event: Event) -> str:
    when, text = f"{moment(event.body['at']):%Y-%m-%d %H:%M} UTC", event.body["text"]
    return f"removed the annotation of {when}" if text is None else f"annotated {when}: {text}"


def _said(event: Event, problem: Problem) -> str:
    """What somebody did, in words."""
    body = event.body
    if event.kind == "arms":
        return _arms_words(event, problem)
    if event.kind == "annotated":
        return _annotated_words(event)
    if event.kind == "imported":
        return f"imported {counted(len(body['arms']), 'row')}"
    if event.kind in ("created", "finished"):
        return f"{event.kind} the study"
    why = f": {body['reason']}" if body.get("reason") else ""
    if event.kind == "corrected":
        values = ", ".join(f"{name}={value}" for name, value in body["values"].items())
        return f"corrected decision {body['id']:,} to {values}{why}"
    return f"{event.kind} {counted(len(body['ids']), 'decision')}{why}"


def decisions_frame(state: StudyState) -> pl.DataFrame:
    """One row per decision: id, status, why it is excluded, times, levers, observed variables, reward.

    A cell is empty if nothing was reported.
    """
    decisions, problem = state.decisions, state.problem
    arms, numbers = decisions.column("arm"), range(1, len(decisions) + 1)
    reasons = [None, *(each.reason for each in state.exclusions)]
    columns: dict[str, Any] = {
        "id": np.array(numbers, dtype=np.int64),
        "status": pl.Series([decisions.status(number) for number in numbers], dtype=pl.String),
        "excluded": pl.Series([reasons[which] for which in decisions.column("excluded").tolist()], dtype=pl.String),
        "asked": _times(decisions.column("asked")),
        "done": _times(decisions.column("done")),
    }
    for index, lever in enumerate(problem.interventions):
        named = any(isinstance(level, str) for level in lever.levels)
        levels = [str(level) if named else level for level in lever.levels]
        codes = problem.arm_codes[arms, index] if len(arms) else []
        columns[lever.name] = pl.Series([levels[code] for code in codes], strict=False)
    frame = pl.DataFrame(columns).with_columns(pl.col("id").cast(pl.Int64))
    reported = frame.join(_reported_frame(state), on="id", how="left", maintain_order="left")
    further = {name: pl.Series(decisions.metric(name)).fill_nan(None) for name in state.metrics}
    return reported.with_columns(**further)


def _reported_frame(state: StudyState) -> pl.DataFrame:
    """What was reported of decisions, whole or in part, with their ids."""
    rows = state.decisions.column("row")
    reported = np.flatnonzero(rows >= 0)
    names = (*state.problem.observed_names, state.problem.target)
    at: list[int] = rows[reported].tolist()
    seen: pl.DataFrame = state.policy.history.to_frame()[at].select(names)
    seen = seen.with_columns(pl.Series("id", reported + 1, dtype=pl.Int64))
    others = {**state.parts, **{number: part for number, (_, part) in state.excluded_rows.items()}}
    if not others:
        return seen
    parts: dict[str, Any] = {name: [part.get(name) for part in others.values()] for name in names}
    return pl.concat([seen, pl.DataFrame({**parts, "id": list(others)}, schema=seen.schema, strict=False)])


def _times(seconds: Any) -> pl.Series:
    micro = pl.Series(microseconds(seconds), dtype=pl.Float64).fill_nan(None)
    return micro.cast(pl.Int64).cast(pl.Datetime("us", "UTC"))


def export_by_day(frame: pl.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write decisions as Parquet, one folder for each day (UTC) on which they were asked for; returns the files.

    DuckDB, Spark, Polars and BigQuery read `folder/day=2026-01-31/decisions.parquet` as one table with a column `day`
    (`asked_day`, where `day` is a variable of the study). Every file takes its name in one step. Exporting again
    replaces the files, since outcomes arrive late; other files in the folder are left alone. `frame` is what
    `study.to_frame()` gave, also that of a study on a server.
    """
    root, days, made = output_folder(folder), frame["asked"].dt.date(), []
    column = "asked_day" if "day" in frame.columns else "day"
    for day in days.unique().sort():
        target = output_folder(root / f"{column}={day}") / "decisions.parquet"
        with replacing(target) as path:
            frame.filter(days == day).write_parquet(path)
        made.append(target)
    return made


class Newest(NamedTuple):
    """The newest event of a study: its number, and the start of a digest of everything up to it."""

    sequence: int
    mark: str


class Change(NamedTuple):
    """An event of a study in brief: which decisions it concerns, without their values."""

    sequence: int
    kind: Kind
    time: datetime
    decisions: tuple[int, ...]
    """Ids of the decisions that were asked for, reported, corrected, closed, excluded or included."""


class DecisionRow(TypedDict):
    """A decision and what became of it."""

    id: int
    status: str
    asked: datetime
    done: datetime | None
    arm: dict[str, Level]
    outcome: dict[str, Any]
    """What was reported of it so far, as corrected."""
    excluded: str | None
    """Why it does not count."""
    corrections: list[dict[str, Any]]
    """Values that were replaced: time, reason, before and after."""


def newest(session: Session) -> Newest:
    """The newest event; one small query."""
    head = session.head()
    return Newest(head.seq, head.digest.hex()[:8])


def mark_of(session: Session) -> str:
    """What changes with every answer: the newest event, and up to which decision reward windows have closed by now."""
    found = newest(session)
    closed = 0 if session.settings.reward_window is None else session.read(lambda state: state.closed)
    return f"{found.sequence}-{found.mark}{f'.{closed}' if closed else ''}"


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
        rows = (event._replace(kind=kind, body=each) for kind, _, each in body["rows"])
        return tuple(sorted({number for row in rows for number in _concerned(row)}))
    if event.kind == "asked":
        return tuple(range(body["first"], body["first"] + len(body["arms"])))
    return (body["id"],) if event.kind in ("told", "corrected") else tuple(body.get("ids", ()))


def decision_rows(state: StudyState, after: int, limit: int) -> list[DecisionRow]:
    """The decisions after a number, the oldest first."""
    after, limit = whole_number("after", after, 0), whole_number("limit", limit, 1, MOST_AT_ONCE)
    return [decision_row(state, number) for number in range(after + 1, min(after + limit, len(state.decisions)) + 1)]


STATUSES = ("told", "open", "abandoned", "expired")


def select_decisions(
    state: StudyState,
    *,
    status: str | None = None,
    arm: object = None,
    segment: Segment | None = None,
    since: object = None,
    until: object = None,
) -> list[int]:
    """The numbers of decisions by status, pattern of arms, segment and time (`since` <= time < `until`)."""
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
    inside = None if segment is None else state.problem.arms_in(segment)
    if inside is not None:
        kept &= inside[arms]
    if since is not None:
        kept &= asked >= read_time(since, "since")
    if until is not None:
        kept &= asked < read_time(until, "until")
    found: list[int] = (np.flatnonzero(kept) + 1).tolist()
    return found


def decision_row(state: StudyState, number: int) -> DecisionRow:
    """One decision by its number."""
    decisions, index = state.decisions, number - 1
    done = float(decisions.column("done")[index])
    return {
        "id": number,
        "status": decisions.status(number),
        "asked": moment(float(decisions.column("asked")[index])),
        "done": None if math.isnan(done) else moment(done),
        "arm": dict(state.problem.arms[decisions.column("arm")[index]]),
        "outcome": {**state.known(number), **decisions.measured(number)},
        "excluded": state.why_excluded(number),
        "corrections": [
            {**each._asdict(), "time": moment(each.time).isoformat()} for each in state.corrections.get(number, ())
        ],
    }


AGES = (("under a minute", 60.0), ("under an hour", 3600.0), ("under a day", 86_400.0), ("a day or more", np.inf))


class Waiting(NamedTuple):
    """Open decisions by age, and how long complete outcomes took; times are in seconds, None if there are none."""

    open: int
    ages: tuple[tuple[str, int], ...]
    oldest: float | None
    median: float | None
    slow: float | None
    """Nine in ten outcomes took at most this long."""
    late: int
    """Open decisions that wait for longer than that."""
    partly: int
    """Open decisions of which something was reported."""
    told: dict[str, int]
    """In how many of these each variable is known."""
    expire_after: float | None
    reward_window: float | None


def waiting(state: StudyState, now: float) -> Waiting:
    """As it is at a time."""
    decisions = state.decisions
    since, done, rows = (decisions.column(name) for name in ("since", "done", "row"))
    took = np.maximum(done[rows >= 0] - since[rows >= 0], 0.0)
    median, slow = (float(value) for value in np.quantile(took, [0.5, 0.9])) if len(took) else (None, None)
    included = [number for number in decisions.open if not state.is_excluded(number)]
    parts = [*state.open_parts.values()]
    ages = np.maximum(now - since[[number - 1 for number in included]], 0.0)
    starts = [0.0, *(end for _, end in AGES)]
    counted = [
        (name, int(np.count_nonzero((ages >= start) & (ages < end))))
        for (name, end), start in zip(AGES, starts, strict=False)
    ]
    names = (*state.problem.observed_names, state.problem.target)
    return Waiting(
        len(ages),
        tuple(counted),
        float(ages.max()) if len(ages) else None,
        median,
        slow,
        0 if slow is None else int(np.count_nonzero(ages > slow)),
        len(parts),
        {name: sum(name in part for part in parts) for name in names} if parts else {},
        state.settings.rules.get("expire_after"),
        state.settings.reward_window,
    )
