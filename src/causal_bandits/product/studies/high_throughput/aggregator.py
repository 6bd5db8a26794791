"""The aggregator: counts what was appended, in order, and so publishes the next snapshot.

Each process has one aggregator for all its studies in a database: one thread with one connection, on which PostgreSQL
notifies it of rows that wait and of new events. Of the processes that have a study open, the one that holds the
study's leader lock counts; when that process or its connection ends, another takes the lock. Nothing depends on there
being one at a time: counting takes the study's write lock and begins where the last event ended. So a process also
counts when the leader does not. Now and then each process looks at all its studies in one query, should a notification
have been lost.
"""

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from ....errors import CausalBanditsError
from ..decision_log import DecisionLog
from ..storage import fork_safety
from ..storage.append_log import GROWTH, LISTEN, MOST_ROWS, STOP_LEADING, TRY_LEAD, Ends, ends_of
from ..storage.connections import Connections, database_errors

log = logging.getLogger("causal_bandits.studies")

PUBLISH_SECONDS = 1.0
"""Rows are counted when the oldest of them has waited for this long, where the study does not say."""
SWEEP_SECONDS = 5.0
"""How often a process looks at all its studies without being notified."""
WAIT_SECONDS = 0.25
"""How long the thread waits for notifications at once; a study that is closed waits for it."""
STUCK_SECONDS = 5.0
"""Rows that wait for longer than this, and than five times what was asked for, are counted by whoever sees it."""
RETRY_SECONDS = 1.0
"""Pause after an error."""


class _Watch:
    """One study of this process: who uses it, and since when rows wait."""

    def __init__(self, first: DecisionLog) -> None:
        rules = first.session.settings.rules
        self.study, self.name = first.session.row.id, first.session.row.name
        self.logs = weakref.WeakSet([first])
        self.publish_rows: int | None = rules.get("publish_rows")
        self.publish_seconds: float = rules.get("publish_seconds", PUBLISH_SECONDS)
        self.waits_since: float | None = None
        self.counted = -1
        self.look_at = 0.0
        """When to look at it next, unless notified; infinity if nothing waits."""
        self.error = ""

    def is_due(self, ends: Ends, now: float) -> bool:
        """Whether enough rows wait, or for long enough."""
        waiting = ends.position - ends.counted
        if waiting <= 0 or ends.counted != self.counted or self.waits_since is None:
            self.counted, self.waits_since = ends.counted, now if waiting > 0 else None
        if self.waits_since is None:
            self.look_at = float("inf")
            return False
        self.look_at = self.waits_since + self.publish_seconds
        enough = self.publish_rows or min(MOST_ROWS, max(1, int(GROWTH * ends.counted)))
        return waiting >= enough or now >= self.look_at

    def is_stuck(self, now: float) -> bool:
        """Whether the leader should have counted long ago; looked at again then."""
        assert self.waits_since is not None
        self.look_at = self.waits_since + max(STUCK_SECONDS, 5 * self.publish_seconds)
        return now >= self.look_at


class Aggregator:
    """Counts for all studies in high-throughput mode that this process uses in one database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._watched: dict[int, _Watch] = {}
        self._begin()
        fork_safety.register(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._listening: Any = None
        self._leading: set[int] = set()
        """The studies whose leader lock this process holds."""

    def start_afresh(self) -> None:
        """In a child process: no thread of the parent is here, and its locks and connection are not ours."""
        if self._listening is not None:
            _inherited.append(self._listening)
        self._begin()

    def watch(self, one: DecisionLog) -> None:
        """See to it that the rows of a study are counted and its new versions are read."""
        thread = self._thread
        known = self._watched.get(one.session.row.id)
        if known is not None and one in known.logs and thread is not None and thread.is_alive():
            return
        with self._lock:
            known = self._watched.setdefault(one.session.row.id, _Watch(one))
            known.logs.add(one)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="causal-bandits-aggregator", daemon=True)
                self._thread.start()

    def leave(self, one: DecisionLog) -> bool:
        """A study is closed; whether nobody else in this process has it open."""
        study = one.session.row.id
        with self._lock:
            known = self._watched.get(study)
            if known is None or one not in known.logs:
                return False
            known.logs.discard(one)
            if known.logs:
                return False
            del self._watched[study]
            thread = self._thread
        if not self._watched and thread is not None:
            thread.join(STUCK_SECONDS)
        return True

    def leads(self, study: int) -> bool:
        """Whether this process holds the leader lock of a study."""
        return study in self._leading

    # The thread

    def _run(self) -> None:
        me, sweep_at, error = threading.current_thread(), 0.0, ""
        while self._thread is me:
            try:
                studies = self._wait(min([sweep_at, *(each.look_at for each in list(self._watched.values()))]))
                now = time.monotonic()
                if now >= sweep_at:
                    studies, sweep_at = set(self._watched), now + SWEEP_SECONDS
                studies |= {study for study, each in list(self._watched.items()) if each.look_at <= now}
                self._look(studies)
                error = ""
            except Exception as problem:  # counting must continue when the trouble is over, whatever it was
                if str(problem) != error:
                    expected = isinstance(problem, (CausalBanditsError, *database_errors()))
                    log.error("studies cannot be counted now, trying again: %s", problem, exc_info=not expected)
                error = str(problem)
                self._stop_listening()
                time.sleep(RETRY_SECONDS)
                sweep_at = 0.0
            with self._lock:
                # Without those that were dropped without being closed.
                self._watched = {study: each for study, each in self._watched.items() if each.logs}
                if not self._watched and self._thread is me:
                    self._thread = None
                    self._stop_listening()  # before another thread begins

    def _wait(self, until: float) -> set[int]:
        """Wait for notifications or for a time; gives the studies that were named."""
        raw = self._listen()
        seconds = min(max(until - time.monotonic(), 0.0), WAIT_SECONDS)
        named = {int(each.payload.split()[0]) for each in raw.notifies(timeout=seconds, stop_after=1)}
        for study in [study for study in self._leading if study not in self._watched]:
            raw.execute(STOP_LEADING, (str(study),))
            self._leading.discard(study)
        return {study for study in named if study in self._watched}

    def _listen(self) -> Any:
        """The connection for notifications and leader locks."""
        if self._listening is None:
            self._listening = found = self._connections.own()
            raw = found.dbapi_connection
            raw.execute(f"SET application_name = 'causal-bandits aggregator {os.getpid()}'")
            raw.execute(f'LISTEN "{raw.execute(LISTEN).fetchone()[0]}"')
        return self._listening.dbapi_connection

    def _stop_listening(self) -> None:
        found, self._listening = self._listening, None
        self._leading.clear()
        if found is not None:
            with contextlib.suppress(Exception):
                found.close()

    def _look(self, studies: Iterable[int]) -> None:
        """Read new versions of studies, and count their rows where that is due and ours to do."""
        known = {study: each for study in studies if (each := self._watched.get(study)) is not None}
        found = ends_of(self._connections, list(known)) if known else {}
        for study, each in known.items():
            if study not in found:  # deleted
                each.look_at = float("inf")
                continue
            try:
                self._look_at(each, found[study])
                each.error = ""
            except CausalBanditsError as problem:
                each.look_at = time.monotonic() + RETRY_SECONDS
                if str(problem) != each.error:
                    log.error("study %r cannot be counted now, trying again: %s", each.name, problem)
                each.error = str(problem)

    def _look_at(self, each: _Watch, ends: Ends) -> None:
        now = time.monotonic()
        logs = list(each.logs)
        for one in logs:
            one.refresh(ends.seq)
        if not logs or not each.is_due(ends, now):
            return
        if each.study not in self._leading:
            if self._listen().execute(TRY_LEAD, (str(each.study),)).fetchone()[0]:
                self._leading.add(each.study)
            elif not each.is_stuck(now):
                return
        logs[0].publish()
        each.waits_since, each.look_at = None, 0.0  # rows that came meanwhile wait from now on
        for one in logs[1:]:
            one.refresh(None)


_inherited: list[Any] = []
"""Connections of a parent process: neither used nor closed."""
_making = threading.Lock()


def aggregator_for(connections: Connections) -> Aggregator:
    """The aggregator of this process for a database."""
    with _making:
        if not isinstance(connections.aggregator, Aggregator):
            connections.aggregator = Aggregator(connections)
        return connections.aggregator
