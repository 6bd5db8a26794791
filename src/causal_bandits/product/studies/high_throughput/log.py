"""The decision log of high-throughput mode: decide from the state in memory, append in batches, count later.

The state in memory is the study's as of some event, its version. The aggregator of the process brings it up to date
when a newer version is published.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import secrets
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import takewhile
from typing import Any, NamedTuple

from ....core.problem import Arm, Level, Segment
from ....errors import CausalBanditsError, ConflictError, StorageError
from ..arm_patterns import asked_among
from ..deciding import check_open, choose, subset
from ..decision_log import NEVER, Asked, DecisionLog, Outcomes, Staleness, decision_of, keeps, occurrence, random_of
from ..decisions import number_of
from ..outcomes import (
    OnRecord,
    Outcome,
    OutcomeRules,
    Reporter,
    closed,
    named_outcomes,
    recorded,
    reports,
)
from ..session import MALFORMED, Draft, Session, key_used
from ..settings import checked_key
from ..state import StudyState
from ..storage import fork_safety
from ..storage.append_log import AppendLog, Known, Row, ends_of, mark_of
from ..storage.transaction import Transaction, corrupt, dump
from .aggregator import aggregator_for
from .batches import Batches, Call, StoreCalls

log = logging.getLogger("causal_bandits.studies")

CHUNK = 5000
"""Rows in one event, at most."""
_open: weakref.WeakSet[HighThroughputLog] = weakref.WeakSet()


def as_event(row: Row) -> list[Any]:
    """A row of the log as `applying` counts it: the kind, the time and the body of an event."""
    body = json.loads(row.body)
    return [row.kind, row.time, {"first": row.decision, **body} if row.kind == "asked" else body]


class UncountableError(Exception):
    """Rows of the log cannot be counted together; `rows` is how many they are."""

    def __init__(self, rows: int, reason: str) -> None:
        super().__init__(reason)
        self.rows = rows


class HighThroughputLog(DecisionLog):
    """Asks and tells of one study, from any number of threads."""

    def __init__(self, session: Session) -> None:
        store, study = session.store, session.row.id
        super().__init__(session)
        self._rows = AppendLog(store.connections, study, store.address)
        self._sticky = session.settings.rules.get("sticky")
        self._counting = Session(store, session.row)
        """Its own state is what rows are counted in, so that decisions need not wait."""
        self._counting.clock = session.now
        self._aggregator = aggregator_for(store.connections)
        self.start_afresh()
        fork_safety.register(self)
        _open.add(self)

    def start_afresh(self) -> None:
        """In a child process no batch of the parent is on its way, and no other thread is counting."""
        self._one_at_a_time = threading.RLock()
        self._batches = Batches(StoreCalls(self._rows, self.session.settings.rules.get("publish_rows")))

    def _submit(self, call: Call) -> Any:
        """Store a call, together with those that other threads make meanwhile."""
        self._aggregator.watch(self)
        return fork_safety.inside(lambda: self._batches.submit(call))

    def ask(
        self, count: int, *, segment: Segment | None, key: str | None, arms: Iterable[Arm | Mapping[str, Level]] | None
    ) -> Asked:
        """Decide from the version in memory; the random numbers come from the seed, the key and the version."""
        name = f"\0{secrets.token_urlsafe(12)}" if key is None else self._name_of(checked_key(key))

        def decide(state: StudyState) -> dict[str, Any]:
            about: dict[str, Any] = {"among": subset(state, arms), "segment": state.problem.segment(segment)}
            among = asked_among(state.problem, about)
            check_open(state, among)
            chosen = choose(state, count, among, random_of(state.settings.seed, name, state.seq))
            given = {what: value for what, value in about.items() if value is not None}
            return {"arms": chosen, "version": state.seq, **given}

        while True:
            decided, now = self.session.at_hand(decide), self.session.now()
            first, time, chosen, was_there = self._submit(_ask_call(name, now, decided, own_key=key is None))
            if key is None or self._sticky != NEVER or not was_there:
                break
            name = self._name_of(key)  # another worker was faster
        problem = self.session.at_hand(lambda state: state.problem)
        if max(chosen) >= len(problem.arms):  # decided by a worker that knows of new arms
            problem = self.session.read_counted(lambda state: state.problem)
        return Asked(first, time, chosen, problem)

    def _asks(self, key: str) -> list[Row]:
        """The asks with a key, the first one first."""
        rows: list[Row] = []
        size = 1 if self._sticky is None else 16
        while True:
            names = [occurrence(key, number) for number in range(len(rows), len(rows) + size)]
            known = self._rows.known(names, [])
            found = [*takewhile(lambda row: row is not None, (known.asks.get(mark_of(name)) for name in names))]
            rows += [row for row in found if row is not None]
            if len(found) < size:
                return rows
            size = 2 * size

    def _name_of(self, key: str) -> str:
        """The name of the next ask with a key: that of its newest one, as long as the key keeps it."""
        finished = self.session.at_hand(lambda state: state.finished)
        if self._sticky is None and finished is None:
            return key
        rows, now = self._asks(key), self.session.now()
        newest = rows[-1] if rows else None
        if newest is None:
            return key
        kept = self.session.at_hand(lambda state: keeps(state, newest.decision, newest.time, now))
        return occurrence(key, len(rows) - kept)

    def find(self, key: str) -> int:
        """The decision of a key, by the log."""
        rows = self._asks(checked_key(key))
        counts = [len(json.loads(row.body)["arms"]) for row in rows]
        newest = range(rows[-1].decision, rows[-1].decision + counts[-1]) if rows else ()
        return decision_of(self._sticky, key, newest, sum(counts[:-1]))

    def report(self, outcomes: Outcomes, reporter: Reporter, *, may_be_first: bool = False) -> Sequence[int]:
        """Append the events."""
        rules = self.session.at_hand(lambda state: state.outcome_rules)
        named = [*named_outcomes(outcomes(rules), self.find)]
        if not named:
            return []
        call = _report_call(rules, named, reporter, self.session.now(), may_be_first=may_be_first)
        decisions: Sequence[int] = self._submit(call)
        return decisions

    def expire(self, seconds: float) -> Sequence[int]:
        """Append that decisions get no outcome; all that is stored is counted before."""
        self._count()
        now = self.session.now()
        return self._expire(self.session.read_counted(lambda state: state.overdue(now, seconds)))

    def _expire(self, numbers: Iterable[int]) -> Sequence[int]:
        outcomes = [Outcome(number, lambda _: None) for number in numbers]
        return self.report(lambda _: outcomes, partial(closed, how="expired"))

    # Snapshots

    def publish(self) -> int:
        """Count all that is appended, now and here, and close the decisions that have been open for too long."""
        counted, now, after = self._count(), self.session.now(), self.session.settings.rules.get("expire_after")
        overdue = self._counting.at_hand(lambda state: state.overdue(now, after))
        if overdue:
            self._expire(overdue)
            counted += self._count()
        return counted

    def _count(self) -> int:
        """Count all that is appended, and take it into memory; returns how many rows that was.

        A row that cannot be counted is set aside: fewer rows are tried until it is alone.
        """
        total, most = 0, CHUNK
        with self._one_at_a_time:
            while True:
                try:
                    now = self._counting.write(partial(self._count_some, most=most))
                except UncountableError as error:
                    if error.rows > 1:
                        most = error.rows // 2
                        continue
                    now = self._counting.write(partial(self._set_aside, reason=str(error)))
                total += now
                if now < most:
                    break
                most = min(2 * most, CHUNK)
        self.session.read_counted(lambda _: None)
        return total

    def _count_some(self, draft: Draft, *, most: int) -> int:
        state = draft.state
        rows = self._rows.after(draft.transaction, state.appended, most)
        if not rows:
            return 0
        try:
            draft.add("counted", {"until": rows[-1].position, "rows": [as_event(row) for row in rows]})
        except StorageError:
            raise
        except (*MALFORMED, CausalBanditsError) as error:
            raise UncountableError(len(rows), f"{type(error).__name__}: {error}") from error
        self._rows.set_counted(draft.transaction, state.appended)
        return len(rows)

    def _set_aside(self, draft: Draft, *, reason: str) -> int:
        """Continue after the next row; decisions that it made get no outcome."""
        row = self._rows.after(draft.transaction, draft.state.appended, 1)[0]
        try:
            arms = json.loads(row.body)["arms"] if row.kind == "asked" else []
            body = {"position": row.position, "decision": row.decision, "arms": [*arms], "reason": reason}
            draft.add("counted", {"until": row.position, "rows": [["aside", draft.now, body]]})
        except MALFORMED as error:
            what = f"row {row.position} of the append log of study {self.session.row.name!r}"
            raise corrupt(self.session.store.address, what) from error
        self._rows.set_counted(draft.transaction, row.position)
        log.error(
            "study %r: row %d of its log (decision %d) cannot be counted and is set aside: %s",
            *(self.session.row.name, row.position, row.decision, reason),
        )
        return 1

    def refresh(self, version: int | None) -> None:
        """Take a newer version into memory, unless this is the one."""
        if version is None or self.session.at_hand(lambda state: state.seq) != version:
            self.session.read_counted(lambda _: None)

    def staleness(self) -> Staleness:
        """How far the newest snapshot is behind."""
        seq, counted = self.session.read_counted(lambda state: (state.seq, state.appended))
        study = self.session.row.id
        ends = ends_of(self.session.store.connections, [study]).get(study)
        behind = 0 if ends is None else max(ends.position - counted, 0)
        if not behind:
            return Staleness(seq, 0, 0.0)
        oldest = self.session.store.read(study, lambda transaction: self._rows.after(transaction, counted, 1))
        return Staleness(seq, behind, max(self.session.clock() - oldest[0].time, 0.0) if oldest else 0.0)

    def check_key(self, transaction: Transaction, key: str) -> None:
        """Reject the key of an ask."""
        if self._rows.has_key(transaction, key):
            raise key_used(key)

    def close(self) -> None:
        """Stop watching, and count what is left."""
        with contextlib.suppress(CausalBanditsError):
            if self._aggregator.leave(self):
                self.publish()
                self._aggregator.leave(self)  # again, since closing overdue decisions appends rows, which are watched


@atexit.register
def _close_all() -> None:
    for each in list(_open):
        each.close()


# What each call appends, given what the log has already


class Made(NamedTuple):
    """The result of an ask: its first decision, the time, the arms, and whether its key had them already."""

    first: int
    time: float
    arms: list[int]
    was_there: bool = False


def _ask_call(key: str, time: float, decided: dict[str, Any], *, own_key: bool) -> Call:
    """An ask that was decided; a key that is stored already gives what was decided then."""
    mark, arms = mark_of(key), decided["arms"]

    def rows(known: Known | None) -> tuple[list[Row], Made]:
        if known is not None and key in known.other:
            raise key_used(key)
        there = None if known is None else known.asks.get(mark)
        if there is None:
            return [Row(0, "asked", 1, 0, mark, time, dump({**decided, "key": key}))], Made(1, time, arms)
        before = json.loads(there.body)
        stored = before["arms"]
        if len(stored) != len(arms) or any(before.get(name) != decided.get(name) for name in ("among", "segment")):
            raise ConflictError(f"key {key!r} was used for a different ask; use a new key for a new decision")
        return [], Made(there.decision, there.time, stored, was_there=True)

    return Call(rows, keys=(key,), asks=len(arms), is_new=lambda _: own_key)


def _report_call(
    rules: OutcomeRules, outcomes: Sequence[Outcome], reporter: Reporter, time: float, *, may_be_first: bool
) -> Call:
    """Events about decisions: all are stored, or none; the result is the decisions that they are about."""
    decisions = [number for number in (number_of(each.decision) for each in outcomes) if 0 < number < 2**62]

    def is_new(made: int) -> bool:
        """Whether it is the complete outcome of one decision that exists, of which nothing is likely on record."""
        if not may_be_first or len(outcomes) != 1 or len(decisions) != 1 or rules.metrics:
            return False
        if not rules.frozen < decisions[0] <= made:  # of one before the end only what is on record may be repeated
            return False
        said = outcomes[0].values({}) if outcomes[0].row is None else None
        names = {*(said if isinstance(said, Mapping) else ())}
        if outcomes[0].reward is not None:
            names.add(rules.problem.target)
        return names == rules.names

    def rows(known: Known | None) -> tuple[list[Row], Sequence[int]]:
        found: dict[int, tuple[int, OnRecord]] = {}

        def on_record(number: int) -> OnRecord:
            if number not in found:
                before = [] if known is None else known.reported.get(number, [])
                events = ((row.kind, json.loads(row.body)) for row in before)
                said = reduce(lambda record, event: recorded(rules, record, *event), events, OnRecord({}))
                found[number] = len(before), said
            return found[number][1]

        made, new = max(decisions, default=0) if known is None else known.decisions, list[Row]()
        for kind, number, body in reports(rules, reporter, outcomes, made, on_record):
            parts, before = found[number]
            new.append(Row(0, kind, number, parts + 1, None, time, dump(body)))
            found[number] = parts + 1, recorded(rules, before, kind, body)
        return new, [row.decision for row in new]

    return Call(rows, decisions=decisions, is_new=is_new)
