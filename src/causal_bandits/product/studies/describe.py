"""A study in plain values, and its end: the answer and the report that stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ...core.markup import counted, printable
from ...core.policies import Advice, Recommendation
from ...core.policies.advice import CONFIDENCE
from ...core.policies.estimates import best_first
from ...core.policies.recommendation import Ranking, Recommendations
from ...core.problem import Segment
from ...core.serialization import to_json
from ...errors import ConflictError, ObservationError, OptionError
from ...reporting.courses import evidence_over_time
from ...reporting.described import DecisionCourse, ExclusionRow, PendingRewards, StudyArm, StudyDescription
from ..analysis.explained import explained_by_mediators
from .answers import advise, effects, estimates, final_advice, rankings, recommend
from .decisions import STATUS, moment
from .drift import watched_sets
from .health import health_of
from .history import STATUSES, annotations_of
from .outcomes import mediators_known
from .session import Draft, Session
from .state import StudyState, excluded_now

PERIODS = 24
FINAL = ("finished", "recommendation", "advice", "segments", "recommendations", "advices")
"""What stays as it was when a study was finished."""


def described(session: Session, state: StudyState, *, history: bool) -> StudyDescription:
    """Everything about a study; with `history`, also over time."""
    settings = session.settings
    segments: list[Segment | None] = [*state.problem.segment_settings] if state.problem.segments else [None]
    rankings = [_ranking(state, segment) for segment in segments]
    arms = _arms(state, [ranking for ranking in rankings if ranking is not None])
    watched = watched_sets(state, rejected=True)
    best = [None if ranking is None else ranking.best for ranking in rankings]
    advised: list[Advice] = []
    if state.finished is None:
        for each, segment in zip(best, segments, strict=True):
            advised.append(advise(state, each, segment, confidence=CONFIDENCE))
    checks = health_of(state, sets=watched, advised=None if None in best else advised)
    about: StudyDescription = {
        "name": session.row.name,
        "title": settings.rules.get("title", session.row.name),
        "description": settings.rules.get("description", ""),
        "names": dict(state.problem.names),
        "descriptions": dict(state.problem.descriptions),
        "created": moment(session.row.created).isoformat(timespec="seconds"),
        "policy": settings.policy,
        "options": settings.options,
        "seed": settings.seed,
        "target": state.problem.target,
        "reward": state.problem.reward.kind,
        "interventions": [lever.name for lever in state.problem.levers],
        "observed": list(state.problem.observed_names),
        "decisions": _statuses(state),
        "rows": state.policy.rows,
        "missing": {name: count for name, count in state.policy.history.missing.items() if count},
        "arms": to_json(arms),
        "pending": _pending(state, arms),
        "sets": to_json(watched),
        "recommendation": None,
        "advice": None,
        "effects": to_json(effects(state, 0.95).known) if state.policy.rows and state.policy.can_compare else [],
        "health": to_json(checks),
        "annotations": to_json(annotations_of(state)),
        "exclusions": [
            ExclusionRow(
                time=moment(each.time).isoformat(timespec="seconds"),
                reason=each.reason,
                filter=each.filter,
                decisions=count,
            )
            for each, count in excluded_now(state)
        ],
        "corrected": len(state.corrections),
    }
    if state.problem.observed and state.policy.rows:
        about["explained_variance"] = to_json(explained_by_mediators(state.policy.history.rows))
    if state.finished is not None:
        frozen = state.finished.report
        about.update({name: frozen[name] for name in FINAL if name in frozen})  # type: ignore[typeddict-item]
    else:
        _add_answers(about, state, best, advised)
    if history:
        add_history(about, state)
    return about


def add_history(about: StudyDescription, state: StudyState) -> None:
    """Add the history, from a replay of all rows."""
    course = evidence_over_time(state.policy)
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


def _statuses(state: StudyState) -> dict[str, int]:
    """Decisions by status; those that are excluded are in none of the others."""
    rows = state.decisions.column("row")[state.decisions.included]
    found = {name: int(np.isin(rows, [code for code, of in STATUS.items() if of == name]).sum()) for name in STATUSES}
    found["told"] += int(np.count_nonzero(rows >= 0))
    return {"all": len(state.decisions), **found, "excluded": len(state.decisions) - len(rows)}


def _arms(state: StudyState, rankings: Sequence[Ranking]) -> list[StudyArm]:
    """The estimates, the best first, and how probable it is that each arm is the best, as `recommend` counts it."""
    packed, count = state.policy.history.packed, len(state.problem.arms)
    included = state.decisions.included
    decisions = np.bincount(state.decisions.column("arm").astype(np.int64)[included], minlength=count).tolist()
    rewards = np.bincount(packed["arms"].astype(np.int64), packed["rewards"], minlength=count).tolist()
    chances: list[float | None] = [None] * count
    for each in rankings:
        for arm in np.flatnonzero(~np.isnan(each.probability_best)):
            chances[arm] = float(each.probability_best[arm])
    rows = zip(estimates(state, 0.95), decisions, rewards, chances, strict=True)
    return best_first(
        [
            StudyArm(**vars(row), decisions=number, reward_total=total, probability_best=chance)
            for row, number, total, chance in rows
        ]
    )


def _pending(state: StudyState, arms: Sequence[StudyArm]) -> PendingRewards:
    waiting = [part for part in state.open_parts.values() if mediators_known(state.problem, part)]
    return {
        "rows": len(waiting),
        "known": sum(state.problem.target in part for part in waiting),
        "window": state.window,
        "used": state.policy.uses_pending,
        "worth": round(sum(row.pending_effective for row in arms), 1),
    }


def _add_answers(
    about: StudyDescription, state: StudyState, best: Sequence[Recommendation | None], advised: Sequence[Advice]
) -> None:
    """What to deploy and whether to stop, for each segment where there are some."""
    if not state.problem.segments:
        about["recommendation"], about["advice"] = to_json(best[0]), to_json(advised[0])
        return
    about["segments"] = list(state.problem.segments)
    about["recommendations"] = to_json([each for each in best if each is not None])
    about["advices"] = to_json(advised)


def _ranking(state: StudyState, segment: Segment | None) -> Ranking | None:
    try:
        return rankings(state, segment, None)[0]
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
        reported = rows[start:end][rows[start:end] >= 0]
        earned.append(float(rewards[reported].mean()) if len(reported) else None)
    asked = state.decisions.column("asked")
    ends = [0, *(end - 1 for _, end in stretches)] if len(asked) else []
    return {
        "until": [end for _, end in stretches],
        "times": [moment(float(time)).isoformat() for time in np.maximum.accumulate(asked[ends])],
        "arms": [arm.label for arm in state.problem.arms],
        "shares": shares,
        "mean_reward": earned,
    }


@dataclass(frozen=True)
class Final:
    """The result of finishing a study.

    Args:
        time: When it was finished.
        decisions: The number of decisions until then.
        rows: The rows that the recommendation uses.
        left_out: Decisions that were still open or whose reward window was open; they do not count.
        answer: The recommendation, for each segment if there are any; `ask` returns it from then on.
    """

    time: datetime
    decisions: int
    rows: int
    left_out: int
    answer: Recommendation | Recommendations

    def __str__(self) -> str:
        were = "was" if self.left_out == 1 else "were"
        left = f"; {counted(self.left_out, 'open decision')} {were} left out" if self.left_out else ""
        best = [self.answer] if isinstance(self.answer, Recommendation) else [*self.answer]
        arms = "; ".join(each.arm.label for each in best)
        return printable(
            f"finished at {self.time.isoformat(timespec='seconds')} after {counted(self.decisions, 'decision')} and "
            f"{counted(self.rows, 'row')}{left}; the winner is {arms}"
        )


def finish(session: Session, draft: Draft) -> Final:
    """Close everything and add the event that has the answer and the report.

    A reward window that is still open would count a reward that may yet come as 0, and only counting those that came
    would favor them. So such decisions are closed without an outcome, as all others that are open.
    """
    state = draft.state
    if state.finished is not None:
        when = moment(state.finished.time).isoformat(timespec="seconds")
        raise ConflictError(f"study {session.row.name!r} was finished at {when}; a study is finished once")
    draft.close_windows()
    left_out = [*state.decisions.open]
    reported = sum(state.problem.target in part for part in state.parts.values())
    if not state.policy.rows and reported:
        raise ObservationError(
            f"no reward window has closed yet, so the {counted(reported, 'reward')} on record do not count; finish "
            "when some windows have closed"
        )
    if left_out:
        draft.add("expired", {"ids": left_out})
    draft.touched = True
    answer = recommend(state)
    best = [answer] if isinstance(answer, Recommendation) else [*answer]
    report = described(session, state, history=True)
    report["finished"] = moment(draft.now).isoformat(timespec="seconds")
    _add_answers(report, state, best, [final_advice(state, each, report["finished"]) for each in best])
    winners = [state.problem.index(each.arm) for each in best]
    draft.add("finished", {"left_out": len(left_out), "winners": winners, "report": to_json(report)})
    final = final_of(state)
    assert final is not None
    return final


def final_of(state: StudyState) -> Final | None:
    """How a study was finished; None before that."""
    found = state.finished
    if found is None:
        return None
    rows = int(found.report["rows"])
    return Final(moment(found.time), found.decisions, rows, found.left_out, recommend(state))
