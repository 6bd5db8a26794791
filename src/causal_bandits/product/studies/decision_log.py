"""Where decisions and outcomes are stored: one interface, and its transactional implementation.

`tests/studies/test_contract.py` is its contract; every implementation must pass it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.problem import Arm, Level, Problem, Segment
from ...core.seeds import stream
from ...core.validation import duration_words
from ...errors import ConflictError, UnknownDecisionError
from .applying import apply
from .arm_patterns import asked_among
from .deciding import check_open, choose, subset
from .decisions import Decision, Event
from .outcomes import (
    Keyed,
    Outcome,
    OutcomeRules,
    Reporter,
    closed,
    corrected,
    named_outcomes,
    reports,
    told,
)
from .session import Draft, Session
from .settings import checked_key
from .state import StudyState
from .storage.append_log import mark_of
from .storage.transaction import Transaction

NEVER = "never"


def keeps(state: StudyState, first: int, made: float, now: float) -> bool:
    """Whether a key still has the decisions from `first` on, which were made at a time.

    A finished study gives everyone its winner.
    """
    sticky = state.settings.rules.get("sticky")
    if state.finished is not None and first <= state.finished.decisions:
        return False
    return sticky != NEVER and (not isinstance(sticky, float | int) or now - made < sticky)


def decision_of(sticky: float | str | None, key: str, newest: Sequence[int], earlier: int) -> int:
    """The decision of a key: the only one of its newest ask, and where a key never keeps one, of all its asks."""
    if not newest:
        raise UnknownDecisionError(f"key {key!r} is not known; no decision was made for it")
    count = len(newest) + (earlier if sticky == NEVER else 0)
    if count > 1:
        raise ConflictError(f"key {key!r} has {count} decisions, the last is {newest[-1]}; name the decision instead")
    return newest[0]


def sticky_words(sticky: float | str | None) -> str:
    """How long a key keeps its decision, in words."""
    if sticky is None:
        return "keeps this decision forever"
    if sticky == NEVER:
        return "gets a new decision each time"
    return f"keeps this decision for {duration_words(float(sticky))}"


def occurrence(key: str, number: int) -> str:
    """The name of an ask in the append log: the key, or for the second and later ones of a key another name."""
    return key if number == 0 else f"{key}\0{number}"


Outcomes = Callable[[OutcomeRules], Iterable[Outcome]]
"""Makes outcomes when the study is known: a table needs the names of its variables."""


class Asked(NamedTuple):
    """What an ask answered: its first decision, the time, the arms by number, and the problem that has them."""

    first: int
    time: float
    arms: Sequence[int]
    problem: Problem


class Staleness(NamedTuple):
    """How far a study's snapshot is behind the acknowledged rows; a transactional study is never behind."""

    version: int
    """The newest event that is counted; decisions are made from it."""
    rows: int
    """Decisions and outcomes that were acknowledged since and are not counted yet."""
    seconds: float
    """How long the oldest of them has waited."""

    def __str__(self) -> str:
        if not self.rows:
            return f"snapshot {self.version} has everything"
        return f"snapshot {self.version} is {self.rows:,} rows and {self.seconds:.1f} s behind"


class DecisionLog(ABC):
    """Where decisions and outcomes of a study go: what is returned is stored, whatever happens afterwards."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @abstractmethod
    def ask(
        self, count: int, *, segment: Segment | None, key: str | None, arms: Iterable[Arm | Mapping[str, Level]] | None
    ) -> Asked:
        """Decide. Repeating a key returns the same decisions; using it for another call is a `ConflictError`."""

    @abstractmethod
    def report(self, outcomes: Outcomes, reporter: Reporter, *, may_be_first: bool = False) -> Sequence[int]:
        """Store the events that `reporter` makes of outcomes, all or none; the decisions that they are about.

        With `may_be_first` decisions have most probably nothing on record yet.
        """

    @abstractmethod
    def find(self, key: str) -> int:
        """The decision of a key."""

    @abstractmethod
    def expire(self, seconds: float) -> Sequence[int]:
        """Close the open decisions that are older than this; returns their ids."""

    def tell(self, outcomes: Outcomes, *, final: bool) -> int:
        """Record outcomes, all or none (see `outcomes`); returns how many added something."""
        return len(self.report(outcomes, partial(told, final=final), may_be_first=True))

    def correct(self, decision: int | Decision | Keyed, values: Any, reward: Any, reason: str) -> bool:
        """Replace recorded values of a decision; whether that changed something."""
        outcome = Outcome(decision, lambda _: values, reward)
        return bool(self.report(lambda _: (outcome,), partial(corrected, reason=reason)))

    def abandon(self, decision: int | Decision) -> None:
        """Close a decision without an outcome; repeating the call changes nothing."""
        outcome = Outcome(decision, lambda _: None)
        self.report(lambda _: (outcome,), partial(closed, how="abandoned"))

    # Where nothing waits to be counted

    def publish(self) -> int:
        """Count all that is stored; returns how many rows that were."""
        return 0

    def staleness(self) -> Staleness:
        """How far what is counted is behind what is stored."""
        return Staleness(self.session.head().seq, 0, 0.0)

    def refresh(self, version: int | None) -> None:  # noqa: B027
        """Take a newer version into memory, unless this is the one."""

    def check_key(self, transaction: Transaction, key: str) -> None:  # noqa: B027
        """Raise a `ConflictError` for a key of an ask that no event has yet."""

    def close(self) -> None:  # noqa: B027
        """Stop what runs in the background."""


class TransactionalLog(DecisionLog):
    """Every call is one transaction that adds events, so each decision knows all outcomes acknowledged before it."""

    def ask(
        self, count: int, *, segment: Segment | None, key: str | None, arms: Iterable[Arm | Mapping[str, Level]] | None
    ) -> Asked:
        """Decide from the newest state, in the transaction that stores the decision."""

        after = self.session.settings.rules.get("expire_after")

        def work(draft: Draft) -> Asked:
            state = draft.state
            wanted = {"among": subset(state, arms), "segment": state.problem.segment(segment)}
            event, earlier = self.session.event_of(draft, key, "asked"), 0
            if event is not None and not keeps(state, event.body["first"], event.time, draft.now):
                earlier, event = event.body.get("earlier", 0) + len(event.body["arms"]), None
            if event is None:
                among = asked_among(state.problem, wanted)
                check_open(state, among)
                draft.close_windows()
                if after is not None:
                    draft.expire(after)
                check_open(state, among)  # rows that count now may show that an arm breaks a guardrail
                draft.touched = True  # discovery may be due
                body = {"first": len(state.decisions) + 1, "arms": choose(state, count, among)}
                about = {**wanted, "key": key, "earlier": earlier or None}
                given = {name: value for name, value in about.items() if value is not None}
                event = draft.add("asked", {**body, **given})
                if key is not None:
                    draft.transaction.put_key(key, event.seq)
            if len(event.body["arms"]) != count or any(event.body.get(name) != wanted[name] for name in wanted):
                raise ConflictError(f"key {key!r} was used for a different ask; use a new key for a new decision")
            return Asked(event.body["first"], event.time, event.body["arms"], state.problem)

        return self.session.write(work)

    def report(self, outcomes: Outcomes, reporter: Reporter, *, may_be_first: bool = False) -> Sequence[int]:
        """Add the events."""

        def work(draft: Draft) -> Sequence[int]:
            state = draft.state
            rules = state.outcome_rules
            named = named_outcomes(outcomes(rules), partial(self._find, draft.transaction))
            draft.close_windows()
            decisions = []
            for kind, number, body in reports(rules, reporter, named, len(state.decisions), state.on_record):
                draft.add(kind, body)
                decisions.append(number)
            return decisions

        return self.session.write(work)

    def _find(self, transaction: Transaction, key: str) -> int:
        seq, sticky = transaction.key(checked_key(key)), self.session.settings.rules.get("sticky")
        found = [] if seq is None else transaction.events(seq - 1, seq)
        body: dict[str, Any] = {"first": 0, "arms": ()}
        if found and found[0].kind == "asked":
            body = found[0].body
        newest = range(body["first"], body["first"] + len(body["arms"]))
        return decision_of(sticky, key, newest, body.get("earlier", 0))

    def find(self, key: str) -> int:
        """The decision of a key, by the table of keys."""
        return self.session.store.read(self.session.row.id, lambda transaction: self._find(transaction, key))

    def expire(self, seconds: float) -> Sequence[int]:
        """Close the open decisions that are older than this."""

        def work(draft: Draft) -> Sequence[int]:
            draft.close_windows()
            return draft.expire(seconds)

        return self.session.write(work)


# Deriving decisions again: an ask follows from the state that decided it and its random numbers


STREAM = 2
"""Random numbers of this mode are others than those of transactional decisions, and than those for looking back."""


def random_of(seed: int, key: str, version: int) -> np.random.Generator:
    """The random numbers of an ask in high-throughput mode: from the study's seed, the key and the version."""
    return np.random.default_rng(stream(seed, int.from_bytes(mark_of(key), "big"), version, STREAM))


class AskMade(NamedTuple):
    """An ask as its event has it."""

    first: int
    version: int
    """The event before it in a transactional study; in high-throughput mode the one that the worker knew."""
    arms: list[int]
    about: Mapping[str, Any]
    """Its event: among which arms, in which segment, with which key."""

    @property
    def key(self) -> str | None:
        """The key that a caller gave; see `occurrence`."""
        return self.about.get("key", "").partition("\0")[0] or None

    def random(self, seed: int) -> np.random.Generator | None:
        """Fresh random numbers of a high-throughput ask; None for those that the state itself has."""
        return random_of(seed, self.about["key"], self.version) if "version" in self.about else None

    def chosen(self, then: StudyState) -> list[int]:
        """The arms that the state of its version chooses."""
        among = asked_among(then.problem, self.about)
        return choose(then, len(self.arms), among, self.random(then.settings.seed))


def asks_in(event: Event) -> Iterator[AskMade]:
    """The asks that an event makes or counts."""
    rows = [(event.kind, event.time, event.body)] if event.kind != "counted" else event.body["rows"]
    for kind, _, body in rows:
        if kind == "asked":
            yield AskMade(body["first"], body.get("version", event.seq - 1), body["arms"], body)


def asks_replayed(session: Session) -> Iterator[tuple[StudyState, AskMade]]:
    """Every ask with the state that decided it, from one replay of all events, in the order of their versions."""
    wanted: dict[int, list[AskMade]] = {}
    if session.settings.mode is not None:
        for event in session.all_events():
            for ask in asks_in(event):
                wanted.setdefault(ask.version, []).append(ask)
    then = StudyState(session.settings)
    for event in session.all_events():
        for ask in asks_in(event) if event.kind == "asked" else ():
            yield then, ask
        apply(then, event)
        for ask in wanted.pop(then.seq, []):
            yield then, ask
