"""A study in plain values: for `show`, for JSON, for the report."""

from collections.abc import Sequence

import numpy as np

from ...core.policies.advice import CONFIDENCE
from ...core.policies.overview import (
    ArmRow,
    arm_rows,
    effect_rows,
    evidence_over_time,
    recommendation_row,
    set_rows,
)
from ...core.policies.recommendation import Ranking
from ...core.problem import Segment
from ...core.serialization import to_json
from ...errors import ObservationError, OptionError
from ...reporting.described import DecisionCourse, ExclusionRow, PendingRewards, StudyDescription
from .answers import advise, effects, estimates, final_advice, frozen_answers, ranking
from .audit import annotations_of
from .decisions import STATUS, moment
from .drift import watched_sets
from .health import health_of
from .late import mediators_known
from .session import Session
from .state import StudyState

PERIODS = 24


def describe(session: Session, *, history: bool = False) -> StudyDescription:
    """All there is to say; with `history` also how it came about."""
    return session.read(lambda state: described(session, state, history=history))


def described(session: Session, state: StudyState, *, history: bool) -> StudyDescription:
    """The same for a state."""
    settings = session.settings
    arms = _arms(state)
    watched = watched_sets(state, rejected=True)
    sets = set_rows(watched)
    about: StudyDescription = {
        "name": session.row.name,
        "title": settings.title or session.row.name,
        "description": settings.rules.get("description", ""),
        "names": dict(state.problem.names),
        "descriptions": dict(state.problem.descriptions),
        "created": moment(session.row.created).isoformat(timespec="seconds"),
        "policy": settings.policy,
        "options": settings.options,
        "seed": settings.seed,
        "target": state.problem.target,
        "interventions": [lever.name for lever in state.problem.levers],
        "observed": list(state.problem.observed_names),
        "decisions": _statuses(state),
        "rows": state.policy.rows,
        "missing": {name: count for name, count in state.policy.history.missing.items() if count},
        "arms": arms,
        "pending": _pending(state, arms),
        "sets": sets,
        "recommendation": None,
        "advice": None,
        "effects": effect_rows(effects(state, 0.95)) if state.policy.rows and state.policy.can_compare else [],
        "health": to_json(health_of(state, sets=watched)),
        "annotations": to_json(annotations_of(state)),
        "exclusions": exclusion_rows(state),
        "corrected": len(state.corrections),
    }
    _add_answers(about, state)
    if state.finished is not None:
        add_final_answers(about, state)
    if history:
        add_history(about, state)
    return about


def add_history(about: StudyDescription, state: StudyState) -> None:
    """How it came about: a replay of all rows."""
    course = evidence_over_time(state.policy, about["sets"])
    course["times"] = times_of_rows(state, course["rows"])
    about["evidence_over_time"] = course
    about["decisions_over_time"] = _over_time(state)


def times_of_rows(state: StudyState, rows: Sequence[int]) -> list[str]:
    """When this many rows had been counted. Imported rows have the time of the row before them."""
    row, done = state.decisions.column("row"), state.decisions.column("done")
    times = np.full(max(state.policy.rows, 1), np.nan)
    times[row[row >= 0]] = done[row >= 0]
    known = np.flatnonzero(~np.isnan(times))
    if not len(known):
        return []
    times[: known[0]] = times[known[0]]
    times = np.fmax.accumulate(times)
    return [moment(float(times[min(max(count, 1), len(times)) - 1])).isoformat() for count in rows]


def exclusion_rows(state: StudyState) -> list[ExclusionRow]:
    """What is excluded, and why; exclusions of which nothing is left are not listed."""
    counts = np.bincount(state.decisions.column("excluded"), minlength=len(state.exclusions) + 1)[1:]
    return [
        {
            "time": moment(each.time).isoformat(timespec="seconds"),
            "reason": each.reason,
            "filter": each.filter,
            "decisions": int(count),
        }
        for each, count in zip(state.exclusions, counts, strict=True)
        if count
    ]


def _statuses(state: StudyState) -> dict[str, int]:
    """Decisions by status; those that are excluded are in none of the others."""
    included = state.decisions.included
    rows = state.decisions.column("row")[included]
    closed: dict[str, int] = {
        STATUS.get(int(code), "told"): int(np.count_nonzero(rows == code)) for code in np.unique(rows[rows < 0])
    }
    counted = {**closed, "told": closed.get("told", 0) + int(np.count_nonzero(rows >= 0))}
    names = ("told", "open", "abandoned", "expired")
    found = {name: counted.get(name, 0) for name in names}
    return {"all": len(included), **found, "excluded": len(included) - len(rows)}


def _arms(state: StudyState) -> list[ArmRow]:
    found = arm_rows(state.policy, found=estimates(state, 0.95))
    packed, count = state.policy.history.packed, len(state.problem.arms)
    included = state.decisions.included
    decisions = np.bincount(state.decisions.column("arm").astype(np.int64)[included], minlength=count)
    rewards = np.bincount(packed["arms"].astype(np.int64), packed["rewards"], minlength=count)
    for row in found:
        number = state.problem.index(row["settings"])
        row["decisions"], row["reward_total"] = int(decisions[number]), float(rewards[number])
    return found


def _pending(state: StudyState, arms: list[ArmRow]) -> PendingRewards:
    waiting = [
        part
        for number, part in state.parts.items()
        if mediators_known(state.problem, part) and not state.is_excluded(number)
    ]
    return {
        "rows": len(waiting),
        "known": sum(state.problem.target in part for part in waiting),
        "window": state.late.window,
        "used": state.policy.uses_pending,
        "worth": round(sum(row["pending_worth"] for row in arms), 1),
    }


def _add_answers(about: StudyDescription, state: StudyState) -> None:
    """What to deploy and whether to stop, for each segment where there are some, and how probable each arm is best."""
    segments = state.problem.segment_settings if state.problem.segments else [None]
    found = [(segment, _ranking(state, segment)) for segment in segments]
    best = [None if ranking is None else recommendation_row(ranking.best) for _, ranking in found]
    advised = [
        to_json(advise(state, None if ranking is None else ranking.best, segment, confidence=CONFIDENCE))
        for segment, ranking in found
    ]
    _add_chances(about["arms"], state, [ranking for _, ranking in found if ranking is not None])
    if not state.problem.segments:
        about["recommendation"], about["advice"] = best[0], advised[0]
        return
    about["segments"] = list(state.problem.segments)
    about["recommendations"] = [row for row in best if row is not None]
    about["advices"] = advised


def add_final_answers(about: StudyDescription, state: StudyState) -> None:
    """When a study was finished, with which winner."""
    assert state.finished is not None
    about["finished"] = moment(state.finished.time).isoformat(timespec="seconds")
    best = [recommendation_row(each) for each in frozen_answers(state)]
    if not state.problem.segments:
        about["recommendation"], about["advice"] = best[0], to_json(final_advice(state, None))
        return
    about["recommendations"] = best
    about["advices"] = [to_json(final_advice(state, each)) for each in state.problem.segment_settings]


def _add_chances(arms: list[ArmRow], state: StudyState, rankings: Sequence[Ranking]) -> None:
    """The probability of each arm to be the best one, as `recommend` counts it."""
    known = [ranking.probability_best for ranking in rankings]
    for row in arms:
        number = state.problem.index(row["settings"])
        chances = [float(chance[number]) for chance in known if not np.isnan(chance[number])]
        row["probability_best"] = chances[0] if chances else None


def _ranking(state: StudyState, segment: Segment | None) -> Ranking | None:
    try:
        return ranking(state, segment)
    except (ObservationError, OptionError):  # too few rows, or every arm breaks a guardrail
        return None


def _over_time(state: StudyState) -> DecisionCourse:
    """How often each arm was chosen in each stretch of decisions, and what they earned."""
    included = state.decisions.included
    arms, rows = state.decisions.column("arm")[included], state.decisions.column("row")[included]
    rewards = state.policy.history.packed["rewards"]
    edges = np.unique(np.linspace(0, len(arms), min(PERIODS, max(len(arms), 1)) + 1).astype(int))
    stretches = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    shares, earned = [], []
    for start, end in stretches:
        counts = np.bincount(arms[start:end], minlength=len(state.problem.arms))
        shares.append((counts / max(end - start, 1)).tolist())
        told = rows[start:end][rows[start:end] >= 0]
        earned.append(float(rewards[told].mean()) if len(told) else None)
    asked = state.decisions.column("asked")
    ends = [0, *(end - 1 for _, end in stretches)] if len(asked) else []
    return {
        "until": [end for _, end in stretches],
        "times": [moment(float(time)).isoformat() for time in np.maximum.accumulate(asked[ends])],
        "arms": [arm.label for arm in state.problem.arms],
        "shares": shares,
        "mean_reward": earned,
    }
