"""Changes that people make: arms that come and go, decisions that are excluded or included again, imported rows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import EllipsisType
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.data import MISSING
from ...core.problem import Arm, Level, Problem, Segment
from ...errors import ConflictError, ObservationError, OptionError, UnknownDecisionError, brief
from .arm_patterns import arm_key, arms_of, check_left, combinations, forbidden_too, matching, with_arms
from .decision_log import DecisionLog, asks_in
from .decisions import Decision, moment
from .history import read_time, select_decisions
from .session import Draft, Session
from .settings import checked_key
from .state import StudyState

Change = Literal["retired", "forbidden", "allowed"]


def change_arms(draft: Draft, how: Change, numbers: Sequence[int]) -> Sequence[Arm]:
    """Retire, forbid or allow arms (idempotent); returns those that changed."""
    changed = changed_arms(draft.state, how, numbers)
    if changed:
        draft.add("arms", {how: [draft.state.problem.index(arm) for arm in changed]})
    return changed


def changed_arms(state: StudyState, how: Change, numbers: Sequence[int]) -> Sequence[Arm]:
    """The arms that would change; an error where they may not."""
    arms = state.problem.arms
    changed = [number for number in numbers if _changes(how, number, state.retired, state.forbidden)]
    if how == "allowed" and state.retired.issuperset(numbers):
        raise OptionError(f"{_named(arms, numbers)} retired permanently; add another arm instead")
    if how != "allowed" and not set(range(len(arms))) - state.retired - state.forbidden - set(numbers):
        last = "the last one" if len(numbers) == 1 else "the last ones"
        raise OptionError(f"{_named(arms, numbers)} {last} in play and cannot be removed")
    if how != "allowed" and state.problem.segments:
        check_left(state.problem, {*state.retired, *state.forbidden, *numbers})
    return [arms[number] for number in changed]


def _changes(how: Change, number: int, retired: set[int], forbidden: set[int]) -> bool:
    if number in retired:
        return False
    return {"retired": True, "forbidden": number not in forbidden, "allowed": number in forbidden}[how]


def _named(arms: Sequence[Arm], numbers: Sequence[int]) -> str:
    """The arms of a sentence, with the verb."""
    if len(numbers) == 1:
        return f"arm {arms[numbers[0]].label} is"
    return f"the {len(numbers)} arms {'; '.join(arms[number].label for number in numbers[:3])}, ... are"


def add_arm(draft: Draft, settings: Mapping[str, Level], *, new_levels: bool) -> Arm:
    """Add an arm, or return the existing one; with segments, in all of them that it does not rule out."""
    problem = draft.state.problem
    wanted = arms_of(problem, settings, new_levels=new_levels)
    numbers = {arm_key(arm): number for number, arm in enumerate(problem.arms)}
    there = [numbers.get(arm_key(arm)) for arm in wanted]
    gone = next((number for number in there if number in draft.state.retired), None)
    if gone is not None:
        raise OptionError(
            f"arm {problem.arms[gone].label} already exists and is retired permanently; "
            "give another arm, for example with a new value of a lever"
        )
    new = [arm for arm, number in zip(wanted, there, strict=True) if number is None]
    if new:
        problem = _grow(draft, new)
    return problem.arms[problem.index(wanted[0])].lever_arm


def _grow(draft: Draft, new: Sequence[Mapping[str, Level]], **more: Any) -> Problem:
    """Add the event that adds arms; gives the problem that has them."""
    problem = with_arms(draft.state.problem, new)
    draft.state.settings.make_policy(problem)  # rejects what is too large, before anything is stored
    draft.add("arms", {"added": new, **more})
    return problem


def add_level(draft: Draft, lever: str, level: Level) -> Sequence[Arm]:
    """Add a level of a lever or segment with all its combinations; returns the arms that are new."""
    state = draft.state
    variable = state.problem.intervention(lever)
    level = level.item() if isinstance(level, np.generic) else level
    if isinstance(level, bool | str | int | float) and variable.has(level):
        level = variable.levels[variable.code(level)]
    elif isinstance(level, str) and not level.strip():
        raise OptionError(f"level={brief(level)}; expected the name of a new level of {variable.name!r}")
    new = combinations(state.problem, variable.name, level, state.retired)
    if not new:
        return []
    is_segment = variable.name in state.problem.segments
    forbidden = forbidden_too(state.problem, new, state.forbidden) if is_segment else []
    return _grow(draft, new, **({"forbidden": forbidden} if forbidden else {})).arms[-len(new) :]


CHUNK = 5000
MOST_REASON = 1000
"""Characters of a reason."""

Chosen = int | Decision | Iterable[int | Decision]


class DecisionFilter(NamedTuple):
    """A filter for decisions (see `Study.exclude`); all conditions must hold."""

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


def _keyed(draft: Draft, prefix: str) -> set[int]:
    """The decisions whose key begins with a text."""
    found: set[int] = set()
    after = 0
    while events := draft.transaction.events(after, after + CHUNK):
        for event in events:
            for ask in asks_in(event):
                if ask.key is not None and ask.key.startswith(prefix):
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
        since, until, arm, segment, prefix = wanted
        found = select_decisions(state, since=since, until=until, arm=arm, segment=segment)
        if prefix is not None:
            named = _keyed(draft, prefix)
            found = [number for number in found if number in named]
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
    why = state.why_excluded(number)
    return (
        f"decision {number} is not excluded" if why is None else f"decision {number} is excluded already ({brief(why)})"
    )


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


IMPORT_CHUNK = 20_000
"""Rows in one event; a key compares imports event by event, so it stays as it is."""


def import_rows(
    session: Session,
    log: DecisionLog,
    draft: Draft,
    frame: Any,
    arm: Arm | Mapping[str, Level] | None,
    key: str | None,
) -> int:
    """Import a table as prior data, all of it; returns the number of rows that are new."""
    bodies = imported_bodies(draft.state, frame, arm)
    done = session.event_of(draft, key, "imported")
    if key is not None:
        log.check_key(draft.transaction, key)
    if done is not None:
        stored = draft.transaction.events(done.seq - 1, done.seq - 1 + len(bodies))
        if [event.body for event in stored] != bodies:
            raise ConflictError(
                f"key {key!r} was used to import {done.body['of']} other rows; use a new key for new rows"
            )
        return 0
    for index, body in enumerate(bodies):
        event = draft.add("imported", body)
        if index == 0 and key is not None:
            draft.transaction.put_key(key, event.seq)
    return int(bodies[0]["of"])


def imported_bodies(state: StudyState, frame: Any, arm: Arm | Mapping[str, Level] | None) -> list[dict[str, Any]]:
    """The bodies of the events that import a table, checked and in chunks."""
    rows = state.policy.history.encode_many(frame, arm, missing=True)
    problem = state.problem
    if not len(rows.arms):
        raise ObservationError("the table has no rows; there is nothing to import")
    numbers = [index for index, variable in enumerate(problem.observed) if variable.is_number]
    seen: dict[str, list[Any]] = {}
    for index, variable in enumerate(problem.observed):
        codes = rows.codes[:, index]
        if variable.is_number:
            values = rows.raw[:, numbers.index(index)]
            seen[variable.name] = [None if np.isnan(value) else value for value in values.tolist()]
        else:
            seen[variable.name] = [None if code == MISSING else variable.levels[code] for code in codes.tolist()]
    seen[problem.target] = [problem.reward.told(reward) for reward in rows.rewards.tolist()]
    bodies = []
    for start in range(0, len(rows.arms), IMPORT_CHUNK):
        part = slice(start, start + IMPORT_CHUNK)
        columns = {name: values[part] for name, values in seen.items()}
        bodies.append({"of": len(rows.arms), "arms": rows.arms[part].tolist(), "seen": columns})
    return bodies
