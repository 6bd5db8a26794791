"""Study: a persisted causal bandit. Ask for an arm, tell what came of it, from any number of processes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from ..doors import duration
from ..errors import ConflictError, DecisionClosedError, flag, whole_number
from ..policies.base import MOST_AT_ONCE
from ..problem import Problem, Segment
from .by_name import StudiesByName
from .decisions import Decision, moment
from .events import Event
from .rows import close_windows, imported_bodies, tell_rows
from .segments import asked_among
from .session import Draft
from .settings import checked_key
from .view import Settable


class Study(StudiesByName):
    """A causal bandit whose every decision is stored: it survives restarts, crashes and many processes at once.

    What it answers is a function of its settings and the stored events alone: the same calls in the same order give
    the same decisions, on every storage.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/studies.db"
    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> study = Study.create("shop", problem, storage=storage, seed=1)
    >>> decision = study.ask()
    >>> study.tell(decision.id, {"clicked": 1}, reward=0)
    >>> Study.load("shop", storage=storage).to_frame().select("id", "status", "purchase").rows()
    [(1, 'told', 0)]
    >>> folder.cleanup()
    """

    # Acting

    @overload
    def ask(
        self,
        n: None = None,
        *,
        segment: Segment | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self, n: int, *, segment: Segment | None = None, key: str | None = None, arms: Iterable[Settable] | None = None
    ) -> Sequence[Decision]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        segment: Segment | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision | Sequence[Decision]:
        """The next decision, or `n` of them from the same state; stored before it is returned.

        Repeating a `key` returns the same decisions, to any caller. `arms` limits this one ask to some arms. Where the
        problem has segments, `segment` says which one it is for.
        """
        count = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        if self._worker is not None:
            asked, problem = self._worker.ask(count, segment=segment, key=key, arms=arms)
            made = self._made(problem, asked.arms, asked.first, asked.time)
            return made[0] if n is None else made

        def work(draft: Draft) -> tuple[Event, Problem]:
            wanted = {"among": draft.state.subset(arms), "segment": draft.state.problem.segment(segment)}
            event = self._repeated(draft, key, "asked") or self._asked(draft, count, wanted, key)
            if len(event.body["arms"]) != count or any(event.body.get(name) != wanted[name] for name in wanted):
                raise ConflictError(f"key {key!r} was used for a different ask; use a new key for a new decision")
            return event, draft.state.problem

        event, problem = self._session.write(work)
        made = self._made(problem, event.body["arms"], event.body["first"], event.time)
        return made[0] if n is None else made

    def _made(self, problem: Problem, arms: Sequence[int], first: int, time: float) -> list[Decision]:
        return [
            Decision(number, problem.arms[arm].lever_arm, moment(time), self, problem.arms[arm].segment)
            for number, arm in enumerate(arms, first)
        ]

    def _asked(self, draft: Draft, count: int, wanted: Mapping[str, Any], key: str | None) -> Event:
        among = asked_among(draft.state.problem, wanted)
        draft.state.check_open(among)
        close_windows(draft)
        self._expire(draft, self._session.settings.expire_after)
        draft.state.check_open(among)  # rows that count now may show that an arm breaks a guardrail
        draft.touched = True  # discovery may be due
        body = {"first": len(draft.state.decisions) + 1, "arms": draft.state.choose(count, among)}
        event = draft.add("asked", {**body, **{name: given for name, given in wanted.items() if given is not None}})
        if key is not None:
            draft.transaction.put_key(key, event.seq)
        return event

    def _repeated(self, draft: Draft, key: str | None, kind: str) -> Event | None:
        """The event that a key stands for."""
        if key is None:
            return None
        event = self._session.event_of(draft, checked_key(key))
        if self._worker is not None and self._worker.uses_key(draft.transaction, key):
            raise ConflictError(f"key {key!r} was used for another call; use a new key")
        if event is not None and event.kind != kind:
            raise ConflictError(f"key {key!r} was used for another call; use a new key")
        return event

    # Telling

    def tell(
        self,
        decision: int | Decision,
        metrics: Mapping[str, Any] | None = None,
        reward: Any = None,
        *,
        final: bool = False,
    ) -> None:
        """Record the outcome of a decision: all at once or in parts, late, in any order.

        Once every observed variable is known the row counts for P(S | arm). With its reward it counts for E[Y | S], for
        the sets whose variables are known; the others count when they come. None marks a variable as missing; `final`
        marks all that are still unknown, and lets the reward count before its window has closed. Repeating a call
        changes nothing; contradicting a recorded value raises a `ConflictError`.
        """
        final = flag("final", final)
        if self._worker is not None:
            self._worker.tell(decision, metrics, reward, final=final)
            return

        def work(draft: Draft) -> None:
            number = draft.state.decisions.check(decision)
            close_windows(draft)
            body = draft.state.outcome(number, metrics, reward, final=final)
            if body:
                draft.add("told", body)

        self._session.write(work)

    def tell_many(self, frame: Any, *, final: bool = False) -> int:
        """Record outcomes from a table with a column `id` and a column per variable: all its rows, or none.

        An empty cell is not known yet. If its row has a reward, the row is complete, and the variable is missing
        unless it was recorded before. In a list of dicts a variable that a row does not name is not known yet, and
        None marks it as missing. Returns the number of rows that added something.
        """
        if self._worker is not None:
            return self._worker.tell_many(frame, final=flag("final", final))
        return self._session.write(lambda draft: tell_rows(draft, frame, final=final))

    def abandon(self, decision: int | Decision) -> None:
        """Close a decision that will never get its outcome; partial outcomes are not counted."""
        if self._worker is not None:
            self._worker.close_decisions([decision], "abandoned")
            return

        def work(draft: Draft) -> None:
            number = draft.state.decisions.check(decision)
            close_windows(draft)
            status = draft.state.decisions.status(number)
            if status == "told":
                raise DecisionClosedError(f"decision {number} already has its outcome and cannot be abandoned")
            if status == "open":
                draft.add("abandoned", {"ids": [number]})

        self._session.write(work)

    def expire(self, older_than: float | str) -> Sequence[int]:
        """Close the open decisions that are older than a number of seconds, or "7d" or "12h"; returns their ids."""
        seconds = duration("older_than", older_than, zero=True)
        if self._worker is not None:
            self._worker.publish()
            now = self._session.clock()
            late = self._session.read_counted(lambda state: state.overdue(now, seconds))
            return self._worker.close_decisions(late, "expired")

        def work(draft: Draft) -> Sequence[int]:
            close_windows(draft)
            return self._expire(draft, seconds)

        return self._session.write(work)

    def _expire(self, draft: Draft, after: float | None) -> Sequence[int]:
        late = draft.state.overdue(draft.now, after)
        if late:
            draft.add("expired", {"ids": late})
        return late

    def import_rows(self, frame: Any, *, arm: Settable | None = None, key: str | None = None) -> int:
        """Import the rows of a logged table as prior data; returns the number of new rows.

        The table has a column per lever, or all rows are from `arm` (`arm={}`: observational rows). Cells of observed
        variables may be empty. Repeating a `key` with the same rows changes nothing and returns 0; with other rows it
        raises a `ConflictError`.
        """

        def work(draft: Draft) -> int:
            bodies = imported_bodies(draft.state, frame, arm)
            done = self._repeated(draft, key, "imported")
            if done is not None:
                stored = draft.transaction.events(done.seq - 1, done.seq - 1 + len(bodies))
                if [event.body for event in stored] != bodies:
                    raise ConflictError(
                        f"key {key!r} was used to import {done.body['of']} other rows; use a new key for new rows"
                    )
                return 0
            for place, body in enumerate(bodies):
                event = draft.add("imported", body)
                if place == 0 and key is not None:
                    draft.transaction.put_key(key, event.seq)
            return int(bodies[0]["of"])

        return self._session.write(work)
