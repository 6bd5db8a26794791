"""Counting what served decisions and outcomes were appended: one event for many rows, applied at once.

The event's body has `after` and `until`, positions in the append log, `first`, the number of its first decision, and
the rows between the positions in their order:

    asked   [time, version, key, arms] or [..., {"among", "segment", "reserved"}]: an ask from the state at `version`
    told    [decision, time, values] or [..., further metrics]; in place of values "abandoned" or "expired"

A row that cannot be counted gets a separate event, with `aside`: its position, its decision, the arms that it chose
if it is an ask, and the reason. The decisions of such an ask are abandoned.

An ask is always appended before what is told of it, and learning does not depend on decisions without an outcome, so
all asks are counted before all outcomes.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from .deciding import Deciding
from .decisions import ABANDONED, LATEST, Decisions
from .events import Event
from .segments import asked_among


class CountsAppended(Deciding):
    """The part of a study's state that counts the rows of its append log."""

    decisions: Decisions
    parts: dict[int, dict[str, Any]]
    seq: int
    appended: int
    """The position in the append log up to which all is counted; 0 in a strict study."""

    aside: list[tuple[int, int, str]]
    """Rows of the append log that could not be counted: position, decision, reason."""

    @abstractmethod
    def _told(self, event: Event) -> None: ...

    @abstractmethod
    def _abandoned(self, event: Event) -> None: ...

    @abstractmethod
    def _check_open(self, number: int) -> None: ...

    @abstractmethod
    def _check_arms(self, arms: list[int]) -> None: ...

    def count_appended(self, event: Event) -> None:
        """Count one event's rows; each must fit what is known."""
        body = event.body
        rows = len(body["asked"]) + len(body["told"]) + ("aside" in body)
        fits = self.settings.consistency is not None and body["first"] == len(self.decisions) + 1
        if not fits or body["after"] != self.appended or body["until"] - body["after"] != rows:
            raise ValueError(f"rows {body['after']!r} to {body['until']!r} after {self.appended}")
        if body["asked"]:
            self._count_asked(event)
        self._count_outcomes(event)
        if "aside" in body:
            self._set_aside(event)
        self.appended = body["until"]

    def _set_aside(self, event: Event) -> None:
        position, decision, arms, reason = event.body["aside"]
        count, first = len(self.problem.arms), len(self.decisions) + 1
        if arms:
            known = [arm if type(arm) is int and 0 <= arm < count else 0 for arm in arms]
            self.decisions.add(known, event.seq, event.time)
            for number in range(first, first + len(arms)):
                self.decisions.close(number, ABANDONED, event.time)
        self.aside.append((int(position), int(decision), str(reason)))

    def _count_asked(self, event: Event) -> None:
        arms: list[int] = []
        times: list[float] = []
        for time, version, key, chosen, *extra in event.body["asked"]:
            about = extra[0] if extra else {}
            among = asked_among(self.problem, about)
            self._check_arms(chosen)
            if among is not None:
                self._check_arms(among)
            fits = chosen and isinstance(key, str) and 1 <= version < event.seq and 0 <= time < LATEST
            if not fits or (among is not None and not set(chosen) <= set(among)):
                raise ValueError(f"the ask with key {key!r} from version {version!r}")
            self.count_reserved(chosen, about.get("reserved"))
            arms += chosen
            times += [time] * len(chosen)
        since = np.minimum.accumulate(np.array(times)[::-1])[::-1]  # the clocks of workers may disagree
        self.decisions.pass_time(float(since[0]))
        self.decisions.add(arms, event.seq, since)
        self.decisions.column("asked")[-len(times) :] = times

    def _count_outcomes(self, event: Event) -> None:
        whole: dict[int, tuple[float, dict[str, Any]]] = {}
        for number, time, seen, *metrics in event.body["told"]:
            if isinstance(seen, str):
                self._learn(whole)
                if seen not in ("abandoned", "expired"):
                    raise ValueError(f"decision {number!r} was closed as {seen!r}")
                self._abandoned(Event(event.seq, seen, time, {"ids": [number]}))  # type: ignore[arg-type]
            elif not metrics and number not in self.parts and len(seen) == len(self.problem.observed) + 1:
                self._check_open(number)
                whole[number] = (time, seen)
            else:
                self._learn(whole)
                further = {"metrics": metrics[0]} if metrics else {}
                self._told(Event(event.seq, "told", time, {"id": number, "seen": seen, **further}))
        self._learn(whole)

    def _learn(self, whole: dict[int, tuple[float, dict[str, Any]]]) -> None:
        """Learn whole rows at once, in their order; empties the mapping."""
        if not whole:
            return
        row, history = self.policy.rows, self.policy.history
        arms = self.decisions.column("arm")[np.array(list(whole)) - 1].tolist()
        self.policy.learn(history.encode_known(arms, [seen for _, seen in whole.values()]))
        for place, (number, (time, seen)) in enumerate(whole.items()):
            self.guards.count_told(self.problem, arms[place], seen)
            self.decisions.close(number, row + place, time)
        whole.clear()
