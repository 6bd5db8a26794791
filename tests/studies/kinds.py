"""Studies of every kind behind one face: in a storage, or on a server whose inside tests may look at."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import causal_bandits as cb
from causal_bandits.product.service import RemoteStudy
from causal_bandits.product.studies import StudyInfo
from tests.service.servers import Applications


class Studies(Protocol):
    """The studies of one storage or server by name."""

    def create(self, name: str, problem: cb.Problem, **options: Any) -> cb.Study: ...
    def load(self, name: str) -> cb.Study: ...
    def list(self) -> Sequence[StudyInfo]: ...
    def delete(self, name: str) -> None: ...


NewStudies = Callable[[], Studies]


class Stored:
    """Studies in a storage."""

    def __init__(self, storage: str) -> None:
        self.storage = storage

    def create(self, name: str, problem: cb.Problem, **options: Any) -> cb.Study:
        return cb.Study.create(name, problem, storage=self.storage, **options)

    def load(self, name: str) -> cb.Study:
        return cb.Study.load(name, storage=self.storage)

    def list(self) -> Sequence[StudyInfo]:
        return cb.Study.list(storage=self.storage)

    def delete(self, name: str) -> None:
        cb.Study.delete(name, storage=self.storage)


class HighThroughput(Stored):
    """Studies in high-throughput mode that count what waits before they are looked at."""

    def create(self, name: str, problem: cb.Problem, **options: Any) -> cb.Study:
        return counting(super().create(name, problem, mode="high-throughput", **options))

    def load(self, name: str) -> cb.Study:
        return counting(super().load(name))


def counting(study: cb.Study) -> cb.Study:
    """The same study; every read and write of events counts what waits first, as `publish` does."""
    session, log = study._session, study._log
    busy = threading.local()  # the aggregator's thread reads, too

    def first(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if not getattr(busy, "here", False):
                busy.here = True
                try:
                    log.publish()
                finally:
                    busy.here = False
            return work(*arguments)

        return call

    session.read = first(session.read)  # type: ignore[method-assign]
    session.read_counted = first(session.read_counted)  # type: ignore[method-assign]
    session.at = first(session.at)  # type: ignore[method-assign]
    _opened.append(study)
    return study


_opened: list[cb.Study] = []


def close_all() -> None:
    """Close studies in high-throughput mode, before their server ends."""
    while _opened:
        _opened.pop().close()


_inside: dict[str, Applications] = {}


class Served(cb.Client):
    """Studies on a real server in this process."""

    def __init__(self, apps: Applications, storage: str) -> None:
        address = apps.serve(storage)
        super().__init__(address)
        _inside[address] = apps


def inner(study: Any) -> cb.Study:
    """The study itself: on a server the one that it acts with."""
    if not isinstance(study, RemoteStudy):
        found: cb.Study = study
        return found
    address = study._client.address
    acting: cb.Study = _inside[address].app_at(address).state.registry.act(study.name, lambda found: found)
    return acting


def reopened(study: Any) -> Any:
    """The same study, as after a restart of whoever holds it."""
    if not isinstance(study, RemoteStudy):
        url = study._session.store.url.render_as_string(hide_password=False)
        again = cb.Study.load(study.name, storage=url)
        return again if again.mode == "transactional" else counting(again)
    address = study._client.address
    _inside[address].app_at(address).state.registry.close()
    return RemoteStudy(study._client, study._about)
