"""Alarms of a study as people and receivers see them."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from .health import CODES, NOTICES
from .session import Session
from .storage import Message, StoredAlarm, alarm_queue


class Alarm(NamedTuple):
    """An alarm of a study, since it was raised."""

    code: str
    level: str
    title: str
    says: str
    raised: datetime
    cleared: datetime | None


def alarms_of(session: Session) -> list[Alarm]:
    """The alarms of a study that were stored, the newest first."""
    return [alarm_of(each) for each in alarm_queue.stored_alarms(session.store, session.row.id)]


def alarm_of(stored: StoredAlarm) -> Alarm:
    """A stored alarm for people."""
    level = "notice" if stored.code in NOTICES else "alarm"
    cleared = None if stored.cleared is None else _moment(stored.cleared)
    return Alarm(stored.code, level, CODES[stored.code], stored.says, _moment(stored.raised), cleared)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def message_json(message: Message) -> dict[str, Any]:
    """What is posted of a message; `id` is the same in every attempt."""
    alarm = alarm_of(message.alarm)
    return {
        "id": f"{message.study}-{alarm.code}-{message.alarm.raised:.3f}",
        "study": message.name,
        "code": alarm.code,
        "level": alarm.level,
        "title": alarm.title,
        "says": alarm.says,
        "about": [*message.alarm.about],
        "raised": alarm.raised.isoformat(timespec="seconds"),
        "cleared": None if alarm.cleared is None else alarm.cleared.isoformat(timespec="seconds"),
        "first_raised": _moment(message.first).isoformat(timespec="seconds"),
        "times": message.times,
        "attempt": message.attempts,
    }
