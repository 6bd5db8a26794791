"""Which decisions to exclude or to include again, named one by one or by what they have in common."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from ...core.problem import Arm, Level, Segment
from ...errors import ConflictError, OptionError, UnknownDecisionError, brief
from .audit import read_time
from .decisions import Decision, moment
from .high_throughput.deriving import asks_in
from .levels import matching
from .session import Draft
from .settings import checked_key
from .state import StudyState

CHUNK = 5000
MOST_REASON = 1000
"""Characters of a reason."""

Chosen = int | Decision | Iterable[int | Decision]


class DecisionFilter(NamedTuple):
    """What decisions have in common; all that is given must hold.

    Args:
        since: Decisions made at or after this time; a datetime, or a text such as 2026-11-18 or
            2026-11-18T09:30:00+00:00.
        until: Decisions made before this time.
        arm: The arm; `...` stands for any level, and a lever that is not named is idle.
        segment: The segment.
        key_prefix: How their keys begin.
    """

    since: datetime | str | None = None
    until: datetime | str | None = None
    arm: Arm | Mapping[str, Level | EllipsisType] | None = None
    segment: Segment | None = None
    key_prefix: str | None = None

    def plain(self, state: StudyState) -> dict[str, Any]:
        """The conditions that are given, checked, in the values of JSON."""
        found: dict[str, Any] = {}
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                found[name] = moment(read_time(getattr(self, name), name)).isoformat()
        if self.arm is not None:
            matching(state.problem, self.arm)
            found["arm"] = {name: "..." if level is ... else level for name, level in self.arm.items()}
        if self.segment is not None:
            found["segment"] = dict(state.problem.segment(self.segment) or {})
        if self.key_prefix is not None:
            found["key_prefix"] = checked_key(self.key_prefix)
        return found


def matched(draft: Draft, wanted: DecisionFilter) -> list[int]:
    """The decisions that a filter matches."""
    state = draft.state
    decisions, problem = state.decisions, state.problem
    asked, arms = decisions.column("asked"), decisions.column("arm")
    mask = np.ones(len(decisions), dtype=np.bool_)
    if wanted.since is not None:
        mask &= asked >= read_time(wanted.since, "since")
    if wanted.until is not None:
        mask &= asked < read_time(wanted.until, "until")
    if wanted.arm is not None:
        mask &= np.isin(arms, matching(problem, wanted.arm))
    if wanted.segment is not None:
        inside = problem.arms_in(wanted.segment)
        mask &= np.ones(len(arms), dtype=np.bool_) if inside is None else inside[arms]
    if wanted.key_prefix is not None:
        named = np.array(sorted(_keyed(draft, wanted.key_prefix)), dtype=np.int64)
        mask &= np.isin(np.arange(1, len(mask) + 1), named)
    return (np.flatnonzero(mask) + 1).tolist()


def _keyed(draft: Draft, prefix: str) -> set[int]:
    """The decisions whose key begins with a text."""
    found: set[int] = set()
    after = 0
    while events := draft.transaction.events(after, after + CHUNK):
        for event in events:
            for ask in asks_in(event):
                if ask.given is not None and ask.given.startswith(prefix):
                    found |= {*range(ask.first, ask.first + len(ask.arms))}
        after = events[-1].seq
    return found


def checked_reason(reason: object) -> str:
    """Validate why something is excluded or corrected."""
    if not isinstance(reason, str) or len(reason) > MOST_REASON:
        raise OptionError(f"reason={brief(reason)}; expected a string of at most {MOST_REASON:,} characters")
    return reason


def _chosen(draft: Draft, decisions: Chosen | None, wanted: DecisionFilter, *, excluded: bool) -> list[int]:
    """The decisions that a caller means, which are excluded, or are not."""
    state, conditions = draft.state, wanted.plain(draft.state)
    if (decisions is None) == (not conditions):
        raise OptionError("name decisions or a filter (since, until, arm, segment, key_prefix), and not both")
    if decisions is None:
        found = matched(draft, wanted)
        left = [number for number in found if state.is_excluded(number) == excluded]
        if not left:
            if not found:
                raise UnknownDecisionError(f"no decision matches {brief(conditions)}")
            which, already = ("no decision", "") if excluded else ("every decision", " already")
            raise UnknownDecisionError(f"{which} that matches {brief(conditions)} is excluded{already}")
        return left
    given = [decisions] if isinstance(decisions, int | Decision) else decisions
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise OptionError(f"decisions={brief(decisions)}; expected a decision or a list of decisions")
    numbers = sorted({state.decisions.check(each) for each in given})
    if not numbers:
        raise OptionError("decisions is an empty list; name at least one decision")
    for number in numbers:
        if state.is_excluded(number) != excluded:
            raise ConflictError(_contradiction(state, number))
    return numbers


def _contradiction(state: StudyState, number: int) -> str:
    if not state.is_excluded(number):
        return f"decision {number} is not excluded"
    why = state.exclusions[int(state.decisions.column("excluded")[number - 1]) - 1].reason
    return f"decision {number} is excluded already ({brief(why)})"


def exclude_decisions(draft: Draft, decisions: Chosen | None, wanted: DecisionFilter, reason: object) -> Sequence[int]:
    """Add the event that excludes decisions; gives their numbers."""
    why = checked_reason(reason)
    if not why.strip():
        raise OptionError(f"reason={brief(reason)}; say why these decisions are excluded")
    numbers = _chosen(draft, decisions, wanted, excluded=False)
    draft.add("excluded", {"ids": numbers, "reason": why, "filter": wanted.plain(draft.state)})
    return numbers


def would_exclude(draft: Draft, wanted: DecisionFilter) -> Sequence[int]:
    """The decisions that a filter would exclude; nothing changes."""
    return _chosen(draft, None, wanted, excluded=False)


def include_decisions(draft: Draft, decisions: Chosen | None, wanted: DecisionFilter) -> Sequence[int]:
    """Add the event that includes decisions again; gives their numbers."""
    numbers = _chosen(draft, decisions, wanted, excluded=True)
    draft.add("included", {"ids": numbers})
    return numbers
