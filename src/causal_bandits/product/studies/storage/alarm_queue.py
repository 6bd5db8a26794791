"""The alarms of a storage, and the messages about them that no webhook has confirmed yet.

Any number of processes may check studies and deliver: a check and a message are claimed by changing a row that nobody
else has changed meanwhile. A message is deleted when it was confirmed and not before, so one whose process ended is
delivered later, perhaps twice. A second alarm with the code of one that still waits is put into the same message: the
queue has at most one row for each study, code and target.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from ..decisions import moment
from ..health import Alarm
from .schema import alarms, checks, heads, messages, studies
from .store import Store
from .transaction import Transaction

REPEAT = timedelta(days=1)
"""An alarm that is raised again this soon after it was cleared is the same alarm."""


class Message(NamedTuple):
    """An alarm that a target has not confirmed yet."""

    study: int
    name: str
    target: str
    alarm: Alarm
    first: float
    """When it was raised for the first time since the last confirmed message."""
    times: int
    attempts: int
    due: float


def claim_check(store: Store, study: int, now: float, every: float, idle: float) -> bool:
    """Whether a study is due for a check, and nobody else does it; without new events it is due less often."""

    def due(connection: sa.Connection) -> int | None:
        """The newest event, if the study is due."""
        head = connection.execute(sa.select(heads.c.seq).where(heads.c.study == study)).scalar()
        last = connection.execute(sa.select(checks).where(checks.c.study == study)).first()
        is_due = head is not None and (last is None or now - last.time >= (idle if head == last.seq else every))
        return head if is_due else None

    def claim(transaction: Transaction) -> bool:
        head = due(transaction.connection)
        if head is None:
            return False
        transaction.connection.execute(checks.delete().where(checks.c.study == study))
        transaction.connection.execute(checks.insert(), {"study": study, "seq": head, "time": now})
        return True

    return store.run(due) is not None and store.write(study, claim)


def record(
    store: Store, study: int, now: float, raised: Sequence[Any], targets: Sequence[str]
) -> tuple[list[Alarm], list[Alarm]]:
    """Store the checks that are raised, with a message to each target for every alarm that is new.

    Returns the alarms that people should hear of, and those that are over.
    """

    def work(connection: sa.Connection) -> tuple[list[Alarm], list[Alarm]]:
        before = {each.code: each for each in _alarms(connection, study)}
        new, cleared, time = list[Alarm](), list[Alarm](), moment(int(now))
        for each in raised:
            known = before.get(each.code)
            recent = known is not None and (known.cleared is None or (time - known.cleared) < REPEAT)
            fresh = known is None or not recent or not set(each.about) <= set(known.about)
            about = each.about if known is None or not recent else tuple(dict.fromkeys((*known.about, *each.about)))
            alarm = Alarm(each.code, each.says, about, time if fresh or known is None else known.raised)
            if alarm != known:
                _put(connection, study, alarm)
            if fresh:
                new.append(alarm)
                for target in targets:
                    _queue(connection, study, each.code, target, now)
        found = {each.code for each in raised}
        for known in before.values():
            if known.code not in found and known.cleared is None:
                cleared.append(known._replace(cleared=time))
                _put(connection, study, cleared[-1])
        return new, cleared

    return store.write(study, lambda transaction: work(transaction.connection))


def stored_alarms(store: Store, study: int) -> list[Alarm]:
    """All alarms of a study, the newest first; those that are over have the time when they were cleared."""
    return store.run(lambda connection: _alarms(connection, study))


def _alarms(connection: sa.Connection, study: int) -> list[Alarm]:
    query = sa.select(alarms).where(alarms.c.study == study).order_by(alarms.c.raised.desc(), alarms.c.code)
    return [_alarm(row) for row in connection.execute(query)]


def _alarm(row: Any) -> Alarm:
    cleared = None if row.cleared is None else moment(row.cleared)
    return Alarm(row.code, row.says, tuple(json.loads(row.about)), moment(row.raised), cleared)


def _put(connection: sa.Connection, study: int, alarm: Alarm) -> None:
    connection.execute(alarms.delete().where(alarms.c.study == study, alarms.c.code == alarm.code))
    cleared = None if alarm.cleared is None else alarm.cleared.timestamp()
    times = {"raised": alarm.raised.timestamp(), "cleared": cleared}
    values = {"study": study, "code": alarm.code, "says": alarm.says, "about": json.dumps(alarm.about), **times}
    connection.execute(alarms.insert(), values)


def _queue(connection: sa.Connection, study: int, code: str, target: str, now: float) -> None:
    same = sa.and_(messages.c.study == study, messages.c.code == code, messages.c.target == target)
    update = messages.update().where(same).values(times=messages.c.times + 1, due=now)
    if connection.execute(update).rowcount == 0:
        values = {"study": study, "code": code, "target": target, "first": now, "times": 1, "attempts": 0, "due": now}
        connection.execute(messages.insert(), values)


def due_messages(store: Store, now: float) -> list[Message]:
    """Messages that should be sent by now, those that wait the longest first."""
    query = (
        sa.select(messages, studies.c.name, alarms.c.says, alarms.c.about, alarms.c.raised, alarms.c.cleared)
        .join(studies, studies.c.id == messages.c.study)
        .join(alarms, sa.and_(alarms.c.study == messages.c.study, alarms.c.code == messages.c.code))
        .where(messages.c.due <= now)
        .order_by(messages.c.due, messages.c.study, messages.c.code)
    )

    return store.run(
        lambda connection: [
            Message(row.study, row.name, row.target, _alarm(row), row.first, row.times, row.attempts, row.due)
            for row in connection.execute(query)
        ]
    )


def waiting_messages(store: Store) -> int:
    """How many messages no target has confirmed yet."""
    query = sa.select(sa.func.count()).select_from(messages)
    return int(store.run(lambda connection: connection.execute(query).scalar_one()))


def _unchanged(message: Message, due: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        messages.c.study == message.study,
        messages.c.code == message.alarm.code,
        messages.c.target == message.target,
        messages.c.times == message.times,
        messages.c.due == due,
    )


def postpone(store: Store, message: Message, due: float) -> Message | None:
    """Claim a message until it is due again, as one more attempt; None if somebody else did, or it has changed."""
    update = messages.update().where(_unchanged(message, message.due)).values(due=due, attempts=message.attempts + 1)
    claimed = store.run(lambda connection: connection.execute(update).rowcount == 1, write=True)
    return message._replace(due=due, attempts=message.attempts + 1) if claimed else None


def confirm(store: Store, message: Message) -> None:
    """Delete a message that was delivered, unless there is more to say by now."""
    delete = messages.delete().where(_unchanged(message, message.due))
    store.run(lambda connection: connection.execute(delete).rowcount, write=True)
