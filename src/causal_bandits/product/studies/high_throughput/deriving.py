"""Deriving decisions again: an ask follows from the state that decided it and its random numbers.

In high-throughput mode they come from the study's seed, its key and the version it was made from.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....core.seeds import stream
from ..applying import apply
from ..arm_patterns import asked_among
from ..deciding import choose
from ..decision_log import given_key
from ..decisions import Event
from ..session import Session
from ..state import StudyState
from ..storage import mark_of

STREAM = 2
"""Random numbers of this mode are others than those of transactional decisions, and than those for looking back."""


def random_of(seed: int, key: str, version: int) -> np.random.Generator:
    """The random numbers of an ask."""
    return np.random.default_rng(stream(seed, int.from_bytes(mark_of(key), "big"), version, STREAM))


class AskMade(NamedTuple):
    """An ask as its event has it; in a transactional study the version is the event before it."""

    first: int
    version: int
    arms: list[int]
    about: Mapping[str, Any]
    """Among which arms, in which segment."""
    mark: int
    """Its own number: that of its event, or of its first decision where the event counts many asks."""
    key: str | None
    """Its name in the append log; None in a transactional study."""
    given: str | None
    """The key that a caller gave."""

    def random(self, seed: int) -> np.random.Generator | None:
        """Fresh random numbers of a high-throughput ask; None for those that the state itself has."""
        return None if self.key is None else random_of(seed, self.key, self.version)

    def chosen(self, then: StudyState) -> list[int]:
        """The arms that the state of its version chooses."""
        among = asked_among(then.problem, self.about)
        return choose(then, len(self.arms), among, self.random(then.settings.seed))


def asks_in(event: Event) -> Iterator[AskMade]:
    """The asks that an event makes or counts."""
    body = event.body
    if event.kind == "asked":
        yield AskMade(body["first"], event.seq - 1, body["arms"], body, event.seq, None, body.get("key"))
    if event.kind == "counted":
        first = body["first"]
        for _, version, key, arms, *extra in body["asked"]:
            yield AskMade(first, version, arms, extra[0] if extra else {}, first, key, given_key(key))
            first += len(arms)


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
