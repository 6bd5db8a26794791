"""A session: a study's state in this process, kept level with the events that any process adds."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from ...errors import (
    CausalBanditsError,
    ConflictError,
    SaveFileError,
    StorageError,
    StudyFinishedError,
    UnreadableStudyError,
)
from .applying import apply, close_windows, replay
from .decisions import KINDS, Event, Kind, checked_time, moment
from .settings import Settings, StudyInfo, checked_key, is_newer, read_settings
from .state import StudyState, pack, restore
from .storage import fork_safety
from .storage.store import Store, StudyRow
from .storage.transaction import START, Head, Transaction, corrupt, newer

T = TypeVar("T")

CHUNK = 5000
"""Events that are read at once, where all are."""
SNAPSHOT_EVENTS = 1000
SNAPSHOT_ROWS = 20_000
SNAPSHOT_SHARE = 0.1
ROWS_PER_EVENT = 100
"""A snapshot is due after this many events or imported rows, and this share of all: what is written for them stays
in proportion, and loading replays a tenth of them at most. Its size grows with the rows; so must the events in between.
"""

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError, ArithmeticError)
"""Exceptions that reading malformed stored text may raise."""


FROZEN = ("arms", "imported", "corrected", "excluded", "included")
"""Events that would change the answer of a finished study."""


class Draft:
    """Events that one call is about to store: already counted in the state, not yet in the store."""

    def __init__(self, transaction: Transaction, state: StudyState, now: float) -> None:
        self.transaction = transaction
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.touched = False

    def add(self, kind: Kind, body: dict[str, Any]) -> Event:
        """One more event."""
        if self.state.finished is not None and kind in FROZEN:
            raise StudyFinishedError("the study is finished, and its answer cannot change")
        event = Event(self.state.seq + 1, kind, self.now, body)
        self.touched = True
        apply(self.state, event)
        self.events.append(event)
        return event

    def close_windows(self) -> None:
        """Record which decisions have a reward window that has closed by now."""
        until = self.state.closes(self.now)
        if until is not None:
            self.add("closed", {"until": until})

    def expire(self, after: float) -> Sequence[int]:
        """Record which open decisions are too old."""
        late = self.state.overdue(self.now, after)
        if late:
            self.add("expired", {"ids": late})
        return late


def key_used(key: str) -> ConflictError:
    """The error for a key of another call."""
    return ConflictError(f"key {key!r} was used for another call; use a new key")


def settings_of(store: Store, row: StudyRow) -> Settings:
    """What a stored study is."""
    if is_newer(row.settings):
        raise newer(store.address, f"study {row.name!r}")
    try:
        return read_settings(row.settings)
    except MALFORMED as error:
        raise corrupt(store.address, f"the description of study {row.name!r}") from error


def listed(store: Store, name: str) -> StudyInfo:
    """A study for a list, also one that cannot be read."""
    try:
        row = store.find(name)
        settings = settings_of(store, row)
    except UnreadableStudyError as error:
        return StudyInfo(name, None, None, None, str(error))
    about = settings.policy, settings.problem["target"]
    return StudyInfo(name, moment(row.created), *about, title=settings.rules.get("title"))


class Session:
    """One study in one process; any number of threads may use it.

    `write` and `read` take a function: what it does happens as a whole. While it runs the state is not kept, and only
    put back when all is well, so that an interrupt at any moment leaves nothing half counted behind.
    """

    def __init__(self, store: Store, row: StudyRow) -> None:
        self.store = store
        self.row = row
        self.settings = settings_of(store, row)
        self.clock = time.time
        self._lock = threading.RLock()
        self._state: StudyState | None = None
        self._head = START
        self._current: StudyState | None = None
        self._current_head = START
        """A copy of the state at an event, with the windows that have closed since then."""
        self._kept = (0, 0)
        """Events and rows in the newest snapshot, that this session knows of."""
        self._keys_are_checked = False
        fork_safety.register(self)

    def start_afresh(self) -> None:
        """In a child process: another thread may have held the lock, or have been counting."""
        self._lock = threading.RLock()
        self._state = self._current = None

    def write(self, work: Callable[[Draft], T]) -> T:
        """Look at the newest state and add events to it, while nobody else can."""
        with self._lock:
            result, state, head = self.store.write(self.row.id, partial(self._drafted, work))
            self._head, self._state = head, state
            self._keep_snapshot(state, head)
            return result

    def _drafted(self, work: Callable[[Draft], T], transaction: Transaction) -> tuple[T, StudyState, Head]:
        state, head = self._level(transaction)
        draft = Draft(transaction, state, self.now())
        try:
            result = work(draft)
        except CausalBanditsError:
            if not draft.touched:
                self._head, self._state = head, state
            raise
        if draft.events:
            head = transaction.add(head, draft.events)
            if self.settings.mode is not None:
                transaction.notify()
        return result, state, head

    def head(self) -> Head:
        """The newest event; one small query."""
        return self.store.read(self.row.id, lambda transaction: transaction.head())

    def now(self) -> float:
        """What the study's clock reads, checked."""
        return checked_time(self.clock())

    def read(self, work: Callable[[StudyState], T]) -> T:
        """Look at the study as it is now; its state must not be changed.

        Reward windows that have closed since the newest event count, though no event says so before the next write.
        """
        return fork_safety.inside(partial(self._read, work, self.settings.reward_window is not None))

    def read_counted(self, work: Callable[[StudyState], T]) -> T:
        """Look at the state of the newest event; it must not be changed."""
        return fork_safety.inside(partial(self._read, work, False))

    def _read(self, work: Callable[[StudyState], T], as_of_now: bool) -> T:
        with self._lock:
            state, head = self.store.read(self.row.id, self._level)
            try:
                result = work(self._as_of_now(state, head) if as_of_now else state)
            except CausalBanditsError:
                self._head, self._state = head, state
                raise
            self._head, self._state = head, state
            return result

    def _as_of_now(self, state: StudyState, head: Head) -> StudyState:
        """The state with the windows that have closed by now, which is a copy if there are any."""
        now = self.now()
        current = self._current if self._current is not None and self._current_head == head else state
        until = current.closes(now)
        if until is not None:
            if current is state:
                current = restore(self.settings, pack(state))
            close_windows(current, until, now)
        self._current, self._current_head = (None if current is state else current), head
        return current

    def at_hand(self, work: Callable[[StudyState], T]) -> T:
        """Look at the state that is in memory, however old; the store is only read if there is none yet."""
        with self._lock:
            if self._state is None:
                self.read(lambda _: None)
            assert self._state is not None
            return work(self._state)

    def _level(self, transaction: Transaction) -> tuple[StudyState, Head]:
        """Take the state, updated with what other processes have added; the session has none until it is put back."""
        state, head = self._state, self._head
        if state is None:
            transaction.check(head)
            state, head = self.restored(transaction)
            self._kept = state.seq, state.policy.rows
        news = transaction.newer(head)
        self._state = None
        return state, self._replayed(state, head, news)

    def _replayed(self, state: StudyState, head: Head, events: Sequence[Event]) -> Head:
        unknown = next((event.seq for event in events if event.kind not in KINDS), None)
        if unknown is not None:
            raise newer(self.store.address, f"event {unknown} of study {self.row.name!r}")
        try:
            replay(state, events)
        except MALFORMED as error:
            raise corrupt(self.store.address, f"event {state.seq + 1} of study {self.row.name!r}") from error
        return Head(events[-1].seq, events[-1].digest) if events else head

    def restored(self, transaction: Transaction, until: int | None = None) -> tuple[StudyState, Head]:
        """The state from the newest snapshot (not after `until`), and the event it stands for."""
        found = transaction.snapshot(until)
        if found is not None:
            with contextlib.suppress(SaveFileError):  # the events have it all
                return restore(self.settings, found[1]), found[0]
        try:
            return StudyState(self.settings), START
        except CausalBanditsError:
            raise
        except MALFORMED as error:
            raise corrupt(self.store.address, f"the description of study {self.row.name!r}") from error

    def at(self, seq: int) -> StudyState:
        """The state just before an event, apart from the one that is kept level."""

        def work(transaction: Transaction) -> StudyState:
            state, head = self.restored(transaction, seq - 1)
            self._replayed(state, head, transaction.events(head.seq, seq - 1))
            return state

        return self.store.read(self.row.id, work)

    def check(self) -> None:
        """Read every key and every event from the start and count them; raises for the first that cannot be read."""

        def work(transaction: Transaction) -> None:
            transaction.check_keys()
            self._replayed(StudyState(self.settings), START, transaction.newer(START))

        self.store.read(self.row.id, work)

    def events(self, after: int, until: int) -> list[Event]:
        """Some events, by their numbers."""
        return self.store.read(self.row.id, lambda transaction: transaction.events(after, until))

    def all_events(self) -> Iterator[Event]:
        """Every event in order, read in parts."""
        after = 0
        while found := self.events(after, after + CHUNK):
            yield from found
            after = found[-1].seq

    def event_of(self, draft: Draft, key: str | None, kind: Kind) -> Event | None:
        """The event that was stored with a key; all keys are looked at once, since a lost one would not be missed."""
        if key is None:
            return None
        checked_key(key)
        if not self._keys_are_checked:
            draft.transaction.check_keys()
            self._keys_are_checked = True
        seq = draft.transaction.key(key)
        if seq is None:
            return None
        event = draft.transaction.events(seq - 1, seq)[0]
        if event.kind != kind:
            raise key_used(key)
        return event

    def _keep_snapshot(self, state: StudyState, head: Head) -> None:
        """Store a snapshot where one is due."""
        events, rows = state.seq, state.policy.rows
        new_events, new_rows = events - self._kept[0], rows - self._kept[1]
        many = max(SNAPSHOT_EVENTS, SNAPSHOT_SHARE * events, rows / ROWS_PER_EVENT)
        if new_events >= many or new_rows >= max(SNAPSHOT_ROWS, SNAPSHOT_SHARE * rows):
            # What was asked for is already stored; a snapshot that cannot be written is tried again later.
            with contextlib.suppress(StorageError):
                content = pack(state)
                self.store.write(self.row.id, lambda transaction: transaction.put_snapshot(head, content))
            self._kept = events, rows
