"""The desk: the studies that a process has open, over one shared store.

A study is open twice: for acting (ask, tell, arms) and for looking, so that a page that takes long to make does not
hold up decisions. Any number of threads may come to the desk.
"""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import CausalBanditsError, StorageError, UnknownStudyError
from ..problem import Problem
from ..studies import Staleness, Store, Study, StudyInfo

T = TypeVar("T")

MOST_OPEN = 200
"""Studies that are kept open, in each of both ways; the one that was not used for longest is closed for a new one."""


class Shelf:
    """Open studies by name, the last used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._studies: OrderedDict[str, Study] = OrderedDict()

    def find(self, name: str) -> Study | None:
        """An open study."""
        with self._lock:
            found = self._studies.get(name)
            if found is not None:
                self._studies.move_to_end(name)
            return found

    def put(self, name: str, study: Study) -> Study:
        """Keep a study open, unless somebody was faster; gives the one that is kept."""
        with self._lock:
            kept = self._studies.setdefault(name, study)
            while len(self._studies) > MOST_OPEN:
                self._studies.popitem(last=False)
            return kept

    def forget(self, name: str) -> None:
        """Close a study."""
        with self._lock:
            self._studies.pop(name, None)

    def clear(self) -> None:
        """Close all."""
        with self._lock:
            self._studies.clear()

    def all(self) -> list[tuple[str, Study]]:
        """All open studies."""
        with self._lock:
            return [*self._studies.items()]

    def __len__(self) -> int:
        return len(self._studies)


class Desk:
    """All that the routes do with studies goes through here."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._store: Store | None = Store(storage, create=True)
        self.place = self._store.place
        """The storage as it may be shown."""
        self.acting, self.looking = Shelf(), Shelf()

    @property
    def store(self) -> Store:
        """The open store; opened again after it went away, and then not made anew."""
        with self._lock:
            if self._store is None:
                self._store = Store(self._storage, create=False)
            return self._store

    def close(self) -> None:
        """Let go of the storage; the next request opens it again."""
        with self._lock:
            store, self._store = self._store, None
        self.acting.clear()
        self.looking.clear()
        if store is not None:
            store.close()

    def finish(self) -> None:
        """The server stops: let served studies count what is left, and let go of the storage."""
        for _, study in self.acting.all():
            if study.is_served:
                study.close()
        self.close()

    def act(self, name: str, work: Callable[[Study], T]) -> T:
        """Do something with a study."""
        return self._with(self.acting, name, work)

    def look(self, name: str, work: Callable[[Study], T]) -> T:
        """Look at a study, beside whoever acts."""
        return self._with(self.looking, name, work)

    def _with(self, shelf: Shelf, name: str, work: Callable[[Study], T]) -> T:
        kept = shelf.find(name)
        try:
            if kept is not None:
                try:
                    return work(kept)
                except UnknownStudyError:  # deleted meanwhile; there may be another of that name
                    shelf.forget(name)
            return work(shelf.put(name, Study.load(name, storage=self.store)))
        except StorageError:
            shelf.forget(name)  # the next request loads it again; the other studies stay open
            self._close_if_outdated()
            raise

    def _close_if_outdated(self) -> None:
        """Close everything if the storage must be opened again, as after its file was replaced."""
        with self._lock:
            store = self._store
        if store is not None and store.needs_reopening:
            self.close()

    def stale(self) -> dict[str, Staleness]:
        """How stale the served studies are that this process decides for."""
        found = {}
        for name, study in self.acting.all():
            if study.is_served:
                with contextlib.suppress(CausalBanditsError):
                    found[name] = study.staleness()
        return found

    def on_store(self, work: Callable[[Store], T]) -> T:
        """Do something with the storage itself."""
        try:
            return work(self.store)
        except StorageError:
            self._close_if_outdated()
            raise

    def check_answers(self) -> None:
        """Raise unless the storage answers one small query."""
        self.on_store(lambda store: store.check_answers())

    def list(self) -> Sequence[StudyInfo]:
        """All studies, the oldest first."""
        return self.on_store(lambda store: Study.list(storage=store))

    def create(self, name: str, problem: Problem, options: dict[str, Any]) -> Study:
        """A study, new or the same again."""
        return self.on_store(lambda store: Study.create(name, problem, storage=store, **options))

    def delete(self, name: str) -> None:
        """Delete a study."""
        self.on_store(lambda store: Study.delete(name, storage=store))
        self.acting.forget(name)
        self.looking.forget(name)
