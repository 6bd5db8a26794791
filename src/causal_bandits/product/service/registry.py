"""The registry of open studies of a process, over one shared store.

A study is open twice: for acting (ask, tell, arms) and for looking, so that a page that takes long to render does not
delay decisions. Any number of threads may use the registry.
"""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from ...core.problem import Problem
from ...errors import CausalBanditsError, StorageError, UnknownStudyError
from ..studies import HIGH_THROUGHPUT, Staleness, Store, Study, StudyInfo

T = TypeVar("T")

MOST_OPEN = 200
"""Studies that stay open, in each of both ways; the least recently used one is closed for a new one."""


class StudyRegistry:
    """All that the routes do with studies goes through here."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._store: Store | None = Store(storage, create=True)
        self.address = self._store.address
        """The storage as it may be shown."""
        self.acting: OrderedDict[str, Study] = OrderedDict()
        self.looking: OrderedDict[str, Study] = OrderedDict()
        """Open studies by name, the last used last."""
        self.act, self.look = partial(self._run, self.acting), partial(self._run, self.looking)

    def _run(self, studies: OrderedDict[str, Study], name: str, work: Callable[[Study], T]) -> T:
        """Do something with a study, which is opened unless it is open."""
        try:
            with self._lock:
                study = studies.get(name)
                if study is not None:
                    studies.move_to_end(name)
            if study is not None:
                try:
                    return work(study)
                except UnknownStudyError:  # deleted meanwhile; there may be another of that name
                    studies.pop(name, None)
            loaded = Study.load(name, storage=self.store)
            with self._lock:
                study = studies.setdefault(name, loaded)  # another thread may have been faster
                while len(studies) > MOST_OPEN:
                    studies.popitem(last=False)
            return work(study)
        except StorageError:
            studies.pop(name, None)  # the next request loads it again; the other studies stay open
            self._close_if_outdated()
            raise

    @property
    def store(self) -> Store:
        """The open store; opened again after it was closed, and then not created."""
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
        """The server stops: let studies in high-throughput mode count what is left, and let go of the storage."""
        for study in [*self.acting.values()]:
            if study.mode == HIGH_THROUGHPUT:
                study.close()
        self.close()

    def _close_if_outdated(self) -> None:
        """Close everything if the storage must be opened again, as after its file was replaced."""
        with self._lock:
            store = self._store
        if store is not None and store.needs_reopening:
            self.close()

    def stale(self) -> dict[str, Staleness]:
        """How stale the studies in high-throughput mode are that this process decides for."""
        found = {}
        for name, study in [*self.acting.items()]:
            if study.mode == HIGH_THROUGHPUT:
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
        self.acting.pop(name, None)
        self.looking.pop(name, None)
