"""Studies of every kind behind one face: in a storage, or on a server whose inside tests may look at."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import causal_bandits as cb
from causal_bandits.service import RemoteStudy
from causal_bandits.studies import StudyInfo
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
    address = study._client.server.place
    acting: cb.Study = _inside[address].app_at(address).state.registry.act(study.name, lambda found: found)
    return acting


def reopened(study: Any) -> Any:
    """The same study, as after a restart of whoever holds it."""
    if not isinstance(study, RemoteStudy):
        url = study._session.store.url.render_as_string(hide_password=False)
        return cb.Study.load(study.name, storage=url)
    address = study._client.server.place
    _inside[address].app_at(address).state.registry.close()
    return RemoteStudy(study._client, study._calls.settings)
