"""A session: a study's state in this process, kept level with the events that any process adds."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import CausalBanditsError, SaveFileError, StorageError
from .events import Event, Kind
from .settings import Settings, read_settings
from .state import StudyState
from .storage import Store, StudyRow, Transaction, damaged

SNAPSHOT_EVENTS = 1000
SNAPSHOT_SHARE = 0.1
"""A snapshot is due after so many events, and after this share of all: what is written for them stays in proportion
to the events, and loading replays a tenth of them at most."""

DAMAGE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading stored text that says something else than it should may end in."""


class Draft:
    """What one call is about to store: the state already counts it, the store does not have it yet."""

    def __init__(self, transaction: Transaction, state: StudyState, now: float) -> None:
        self.transaction = transaction
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.touched = False

    def add(self, kind: Kind, body: dict[str, Any]) -> Event:
        """One more event."""
        event = Event(self.state.seq + 1, kind, self.now, body)
        self.touched = True
        self.state.apply(event)
        self.events.append(event)
        return event


def settings_of(store: Store, row: StudyRow) -> Settings:
    """What a stored study is."""
    try:
        return read_settings(row.settings)
    except DAMAGE as error:
        raise damaged(store.place, f"the description of study {row.name!r}") from error


class Session:
    """One study in one process; any number of threads may use it."""

    def __init__(self, store: Store, row: StudyRow) -> None:
        self.store = store
        self.row = row
        self.settings = settings_of(store, row)
        self.clock = time.time
        self._lock = threading.RLock()
        self._state: StudyState | None = None
        self._snapshot = 0

    @contextlib.contextmanager
    def writing(self) -> Iterator[Draft]:
        """Look at the newest state and add events to it, while nobody else can."""
        with self._lock:
            draft: Draft | None = None
            try:
                with self.store.writing(self.row.id) as transaction:
                    draft = Draft(transaction, self._level(transaction), self.clock())
                    yield draft
                    if draft.events:
                        transaction.add(draft.events)
            except BaseException:
                if draft is not None and draft.touched:
                    self._state = None  # it counts what was not stored
                raise
            self._keep_snapshot()

    @contextlib.contextmanager
    def reading(self) -> Iterator[StudyState]:
        """Look at the newest state; it must not be changed."""
        with self._lock:
            yield self.store.reading(self.row.id, self._level)

    def _level(self, transaction: Transaction) -> StudyState:
        """Count what other processes have added since."""
        if self._state is None:
            self._state, self._snapshot = self.restored(transaction)
        state, self._state = self._state, None
        self._state = self._replayed(state, transaction.newer(state.seq))
        return state

    def _replayed(self, state: StudyState, events: Sequence[Event]) -> StudyState:
        for event in events:
            try:
                state.apply(event)
            except DAMAGE as error:
                raise damaged(self.store.place, f"event {event.seq} of study {self.row.name!r}") from error
        return state

    def restored(self, transaction: Transaction, until: int | None = None) -> tuple[StudyState, int]:
        """The state from the newest snapshot (not after `until`), and the snapshot's event."""
        found = transaction.snapshot(until)
        if found is not None:
            with contextlib.suppress(SaveFileError):  # the events have it all
                return StudyState.restore(self.settings, found[1]), found[0]
        try:
            return StudyState(self.settings), 0
        except CausalBanditsError:
            raise
        except DAMAGE as error:
            raise damaged(self.store.place, f"the description of study {self.row.name!r}") from error

    def at(self, seq: int) -> StudyState:
        """The state just before an event, apart from the one that is kept level."""

        def work(transaction: Transaction) -> StudyState:
            state, _ = self.restored(transaction, seq - 1)
            return self._replayed(state, transaction.events(state.seq, seq - 1))

        return self.store.reading(self.row.id, work)

    def event(self, seq: int) -> Event:
        """One event by its number."""
        return self.store.reading(self.row.id, lambda transaction: transaction.events(seq - 1, seq))[0]

    def _keep_snapshot(self) -> None:
        state = self._state
        if state is None or state.seq - self._snapshot < max(SNAPSHOT_EVENTS, SNAPSHOT_SHARE * state.seq):
            return
        # What was asked for is already stored; a snapshot that cannot be written is tried again later.
        with contextlib.suppress(StorageError), self.store.writing(self.row.id) as transaction:
            transaction.put_snapshot(state.seq, state.snapshot())
        self._snapshot = state.seq
