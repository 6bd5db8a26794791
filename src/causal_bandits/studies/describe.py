"""A study in plain values: for `show`, for JSON, for the report."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import ObservationError, OptionError
from ..policies.advice import CONFIDENCE
from ..policies.overview import (
    ArmRow,
    arm_rows,
    effect_rows,
    evidence_over_time,
    recommendation_row,
    set_rows,
)
from ..policies.recommendation import Ranking
from ..problem import Segment
from ..reporting.described import DecisionCourse, PendingRewards, StudyDescription
from ..serialization import to_json
from .decisions import STATUS, moment
from .drift import watched_sets
from .health import health_of
from .late import mediators_known
from .session import Session
from .state import StudyState

PERIODS = 24


def describe(session: Session, *, history: bool = False) -> StudyDescription:
    """All there is to say; with `history` also how it came about."""
    return session.read(lambda state: _described(session, state, history))


def _described(session: Session, state: StudyState, history: bool) -> StudyDescription:
    settings = session.settings
    arms = _arms(state)
    sets = set_rows(watched_sets(state, rejected=True))
    about: StudyDescription = {
        "name": session.row.name,
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
        "alarms": [found for found in sets if found["alarm"]],
        "recommendation": None,
        "advice": None,
        "effects": effect_rows(state.effects(0.95)) if state.policy.can_compare else [],
        "health": to_json(health_of(state)),
        "broken": [str(each) for each in state.guards.status(state.policy).broken],
    }
    _add_answers(about, state)
    if history:
        about["evidence_over_time"] = evidence_over_time(state.policy, sets)
        about["decisions_over_time"] = _over_time(state)
    return about


def _statuses(state: StudyState) -> dict[str, int]:
    rows = state.decisions.column("row")
    counted = Counter(STATUS.get(int(row), "told") if row < 0 else "told" for row in rows)
    return {"all": len(rows), **{name: counted.get(name, 0) for name in ("told", "open", "abandoned", "expired")}}


def _arms(state: StudyState) -> list[ArmRow]:
    found = arm_rows(state.policy, found=state.estimates(0.95))
    for row in found:
        number = state.problem.index(row["settings"])
        row["decisions"] = int(np.count_nonzero(state.decisions.column("arm") == number))
    return found


def _pending(state: StudyState, arms: list[ArmRow]) -> PendingRewards:
    waiting = [part for part in state.parts.values() if mediators_known(state.problem, part)]
    return {
        "rows": len(waiting),
        "known": sum(state.problem.target in part for part in waiting),
        "window": state.late.window,
        "used": state.late.counts_early and state.policy.uses_pending,
        "worth": round(sum(row["pending_worth"] for row in arms), 1),
    }


def _add_answers(about: StudyDescription, state: StudyState) -> None:
    """What to deploy and whether to stop, for each segment where there are some, and how probable each arm is best."""
    segments = state.problem.segment_settings if state.problem.segments else [None]
    found = [(segment, _ranking(state, segment)) for segment in segments]
    best = [None if ranking is None else recommendation_row(ranking.best) for _, ranking in found]
    advised = [
        to_json(state.advise(None if ranking is None else ranking.best, segment, CONFIDENCE))
        for segment, ranking in found
    ]
    _add_chances(about["arms"], state, [ranking for _, ranking in found if ranking is not None])
    if not state.problem.segments:
        about["recommendation"], about["advice"] = best[0], advised[0]
        return
    about["segments"] = list(state.problem.segments)
    about["recommendations"] = [row for row in best if row is not None]
    about["advices"] = advised


def _add_chances(arms: list[ArmRow], state: StudyState, rankings: Sequence[Ranking]) -> None:
    """The probability of each arm to be the best one, as `recommend` counts it."""
    known = [ranking.probability_best for ranking in rankings]
    for row in arms:
        number = state.problem.index(row["settings"])
        chances = [float(chance[number]) for chance in known if not np.isnan(chance[number])]
        row["probability_best"] = chances[0] if chances else None


def _ranking(state: StudyState, segment: Segment | None) -> Ranking | None:
    try:
        return state.ranking(segment)
    except (ObservationError, OptionError):  # too few rows, or every arm breaks a guardrail
        return None


def _over_time(state: StudyState) -> DecisionCourse:
    """How often each arm was chosen in each stretch of decisions, and what they earned."""
    arms, rows = state.decisions.column("arm"), state.decisions.column("row")
    rewards = state.policy.history.packed["rewards"]
    edges = np.unique(np.linspace(0, len(arms), min(PERIODS, max(len(arms), 1)) + 1).astype(int))
    stretches = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    shares, earned = [], []
    for start, end in stretches:
        counts = np.bincount(arms[start:end], minlength=len(state.problem.arms))
        shares.append((counts / max(end - start, 1)).tolist())
        told = rows[start:end][rows[start:end] >= 0]
        earned.append(float(rewards[told].mean()) if len(told) else None)
    return {
        "until": [end for _, end in stretches],
        "arms": list(map(str, state.problem.arms)),
        "shares": shares,
        "mean_reward": earned,
    }
