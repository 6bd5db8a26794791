"""A worker: one process's part in a served study. It decides from the state in memory, appends, and may aggregate.

The state in memory is the study's as of some event, its version. A thread looks several times a second whether a newer
version was published and, where this worker is the aggregator, publishes one.
"""

import atexit
import contextlib
import logging
import secrets
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...errors import CausalBanditsError
from ...problem import Arm, Level, Problem, Segment
from ..rows import OutcomeTable
from ..segments import asked_among
from ..session import Session
from ..settings import checked_key
from ..state import StudyState
from ..storage import AppendLog, forking
from .aggregator import Aggregator
from .batches import Batches
from .calls import Ask, Asked, Checks, Close, Outcome, Tell
from .deriving import random_of
from .staleness import Staleness, staleness_of
from .storing import Storing

LOOK_SECONDS = 0.1
"""How often a worker looks for a newer snapshot."""
TROUBLED_SECONDS = 1.0
"""How long it waits when the storage cannot be used."""

log = logging.getLogger("causal_bandits.studies")
_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class Worker:
    """Asks and tells of a served study, from any number of threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._log = AppendLog(session.store, session.row.id)
        self._aggregator = Aggregator(session, self._log)
        self._publishing = threading.RLock()
        self._batches = Batches(Storing(self._log))
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        forking.join(self)
        _workers.add(self)
        weakref.finalize(self, self._stop.set)
        weakref.finalize(self, self._aggregator.seat.leave)

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._session.row.name

    # Calls

    def ask(
        self, count: int, *, segment: Segment | None, key: str | None, arms: Iterable[Arm | Mapping[str, Level]] | None
    ) -> tuple[Asked, Problem]:
        """Decide, and return when the decisions are stored."""
        name = secrets.token_urlsafe(12) if key is None else checked_key(key)
        self._begin()

        def decide(state: StudyState) -> tuple[int, list[int], dict[str, Any]]:
            about: dict[str, Any] = {"among": state.subset(arms), "segment": state.problem.segment(segment)}
            among = asked_among(state.problem, about)
            state.check_open(among)
            chosen = state.choose(count, among, random_of(state.settings.seed, name, state.seq))
            about["reserved"] = state.reserved_for(among) if state.rules.control_share is not None else None
            return state.seq, chosen, {what: given for what, given in about.items() if given is not None}

        decided = self._session.at_hand(decide)
        call = Ask(name, self._session.now(), decided, own_key=key is None)
        asked: Asked = forking.inside(lambda: self._batches.submit(call))
        problem = self._session.at_hand(lambda state: state.problem)
        if max(asked.arms) >= len(problem.arms):  # decided by a worker that knows of new arms
            problem = self._session.read_counted(lambda state: state.problem)
        return asked, problem

    def tell(self, decision: object, metrics: Mapping[str, Any] | None, reward: object, *, final: bool) -> int:
        """Append an outcome; returns 1 if it added something."""
        checks = self._session.at_hand(_checks)
        problem = checks.problem
        named = {*(metrics if isinstance(metrics, Mapping) else ()), *([] if reward is None else [problem.target])}
        whole = not checks.metrics.kinds and named == {*problem.observed_names, problem.target}
        outcome = Outcome(decision, lambda _: metrics, reward, whole)
        return self._told(checks, [outcome], final=final)

    def tell_many(self, frame: Any, *, final: bool) -> int:
        """Append the outcomes of a table, all or none; returns how many added something."""
        checks = self._session.at_hand(_checks)
        table = OutcomeTable(checks.problem, checks.metrics.kinds, frame, final=final)

        def said(cells: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
            return table.said(cells, lambda: known)

        outcomes = [
            Outcome(given, partial(said, cells), name=f"row {row}") for row, (given, cells) in enumerate(table, 1)
        ]
        return self._told(checks, outcomes, final=final) if outcomes else 0

    def _told(self, checks: Checks, outcomes: Sequence[Outcome], *, final: bool) -> int:
        self._begin()
        call = Tell(checks, outcomes, self._session.now(), final=final)
        added: int = forking.inside(lambda: self._batches.submit(call))
        return added

    def close_decisions(self, numbers: Sequence[object], how: str) -> list[int]:
        """Append that decisions get no outcome; returns those that were open."""
        self._begin()
        problem, needed = self._session.at_hand(lambda state: (state.problem, state.policy.needed))
        call = Close(problem, needed, numbers, how, self._session.now())
        closed: list[int] = forking.inside(lambda: self._batches.submit(call))
        return closed

    # Snapshots

    def publish(self) -> int:
        """Count all that is appended, now and here; returns how many rows that were."""
        with self._publishing:
            counted = self._aggregator.count()
        self._session.read_counted(lambda _: None)
        return counted

    def look(self) -> None:
        """Take a newer snapshot if there is one, and publish the next one if that is due and ours to do."""
        ends = self._log.ends()
        version, counted = self._session.at_hand(lambda state: (state.seq, state.appended))
        if ends.seq != version:
            counted = self._session.read_counted(lambda state: state.appended)
        with self._publishing:
            if self._aggregator.is_due(ends, counted):
                self.publish()
                overdue = self._aggregator.overdue()
                if overdue:
                    self.close_decisions(overdue, "expired")

    def staleness(self) -> Staleness:
        """How far the newest snapshot is behind."""
        return staleness_of(self._session, self._log)

    def uses_key(self, transaction: Any, key: str) -> bool:
        """Whether an ask has used a key."""
        return self._log.has_key(transaction, key)

    # The thread

    def _begin(self) -> None:
        """See to it that the thread runs."""
        if self._thread is None or not self._thread.is_alive():
            with self._publishing:
                if self._stop.is_set():
                    self._stop = threading.Event()
                    weakref.finalize(self, self._stop.set)
                if self._thread is None or not self._thread.is_alive():
                    arguments = (weakref.ref(self), self._stop)
                    self._thread = threading.Thread(target=_run, args=arguments, name="causal-bandits-snapshots")
                    self._thread.daemon = True
                    self._thread.start()

    def close(self) -> None:
        """Stop the thread; where nobody else is to count, count what is left."""
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is None:
            return
        thread.join(TROUBLED_SECONDS)
        with contextlib.suppress(CausalBanditsError):
            if self._aggregator.seat.take():
                self.publish()
        self._aggregator.seat.leave()

    def start_afresh(self) -> None:
        """In a child process: no thread of the parent is here, and its seat is not ours."""
        self._publishing = threading.RLock()
        self._batches = Batches(Storing(self._log))
        self._stop, self._thread = threading.Event(), None
        self._aggregator.seat.start_afresh()


def _checks(state: StudyState) -> Checks:
    return Checks(state.problem, state.policy.needed, state.metrics, state.policy.history.value)


def _run(worker: "weakref.ref[Worker]", stop: threading.Event) -> None:
    said, pause = "", LOOK_SECONDS
    while not stop.wait(pause):
        found = worker()
        if found is None:
            return
        try:
            found.look()
            said, pause = "", LOOK_SECONDS
        except Exception as error:  # counting must go on when the trouble is over, whatever it was
            known = isinstance(error, CausalBanditsError)
            if str(error) != said:
                about = (found.name, error)
                log.error("study %r cannot be counted now, trying again: %s", *about, exc_info=not known)
            said, pause = str(error), TROUBLED_SECONDS
        del found


@atexit.register
def _close_all() -> None:
    for worker in list(_workers):
        worker.close()
