"""Answers about arms: what a study recommends, advises and estimates, of the arms in play and after costs."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...core.markup import counted
from ...core.policies import Advice, Effects, Estimates, Recommendation
from ...core.policies.advice import CONFIDENCE, Advices
from ...core.policies.recommendation import Ranking, Recommendations, checked_margin, played_first
from ...core.problem import Segment
from ...core.serialization import from_json
from ...core.validation import duration_words
from ...errors import ObservationError, OptionError, share
from .deciding import NOTHING_LEFT, open_arms, status
from .state import StudyState

T = TypeVar("T")


def recommend(
    state: StudyState, *, segment: Segment | None = None, margin: float | None = None
) -> Recommendation | Any:
    """The arm to deploy: of those in play that have rows and break no guardrail, by what is left after costs.

    That of a finished study is what was frozen, unless another margin is asked about.
    """
    if state.finished is not None and margin is None:
        wanted = None if segment is None else state.problem.segment(segment) or {}
        found = [each for each in _frozen(state, Recommendation) if wanted is None or each.segment == wanted]
    else:
        found = [each.best for each in rankings(state, segment, margin)]
    return Recommendations(found) if state.problem.segments and segment is None else found[0]


def rankings(state: StudyState, segment: Segment | None, margin: float | None) -> list[Ranking]:
    """For the segment, or for each: `recommend` with the probability of every arm to be the best."""
    policy, cost = state.policy, state.cost
    if waits := open_windows(state):
        raise ObservationError(f"no row counts yet, so nothing is recommended; {waits}")
    mask = open_arms(state, None)
    if not mask.any():
        raise OptionError(NOTHING_LEFT)
    found = policy.ranking(segment, margin, mask, cost)
    return [played_first(each, policy.posterior(), state.problem, margin, cost) for each in found]


def open_windows(state: StudyState) -> str:
    """Why nothing counts yet although rewards were reported: their windows are open; otherwise empty."""
    window, target = state.window, state.problem.target
    if state.policy.rows or window is None:
        return ""
    known = sum(target in part for part in state.open_parts.values())
    closed = f"when {duration_words(window)} have passed since the decision"
    return f"{counted(known, 'reward')} {'counts' if known == 1 else 'count'} {closed}" if known else ""


def advice(
    state: StudyState, *, segment: Segment | None, margin: float | None, confidence: float, tolerance: float
) -> Advice | Any:
    """Stop, continue or drop arms, of those in play that break no guardrail, by what is left after costs."""
    if state.problem.segments and segment is None:
        options: dict[str, Any] = {"margin": margin, "confidence": confidence, "tolerance": tolerance}
        return Advices([advice(state, segment=each, **options) for each in state.problem.segment_settings])
    wanted = state.problem.segment(segment) or None
    margin = None if margin is None else checked_margin(margin, 0.0)
    options = {"confidence": share("confidence", confidence), "tolerance": share("tolerance", tolerance)}
    if state.finished is not None:
        return next(each for each in _frozen(state, Advice) if each.segment == (wanted or {}))
    try:
        best = rankings(state, wanted, margin)[0].best
    except ObservationError:  # no arm has enough rows
        best = None
    return advise(state, best, wanted, margin=margin, **options)


def _frozen(state: StudyState, kind: type[T]) -> list[T]:
    """The recommendation or the advice of a finished study: one, or one for each segment."""
    assert state.finished is not None
    report, name = state.finished.report, kind.__name__.lower()
    return [from_json(kind, each, state.problem) for each in report.get(f"{name}s") or [report[name]]]


def final_advice(state: StudyState, best: Recommendation, time: str) -> Advice:
    """What a study advises from its end on: its winner, with the numbers of then."""
    return replace(
        advise(state, best, best.segment or None, confidence=CONFIDENCE),
        action="finished",
        arm=best.arm,
        drop=(),
        held="",
        margin=best.margin,
        probability_best=best.probability_best,
        probability_close=best.probability_close,
        expected_loss=best.expected_loss,
        finished=time,
    )


def advise(state: StudyState, best: Recommendation | None, segment: Segment | None, **options: Any) -> Advice:
    """`advice`, given what is recommended; `options` are arguments of `advise`."""
    wanted, mask = state.problem.segment(segment) or None, open_arms(state, None)
    inside = state.problem.arms_in(wanted) if state.problem.segments else None
    control = next((each for each in state.controls if inside is None or inside[each]), None)
    found = state.policy._advise(
        best,
        wanted,
        mask,
        cost=state.cost,
        first_arms=len(state.settings.problem["arms"]),
        per_day=state.per_day,
        held=state.held,
        **({} if control is None else {"control": control}),
        **options,
    )
    waits = open_windows(state)
    return replace(found, held=f"{waits}.") if waits else found


def estimates(state: StudyState, level: float, segment: Segment | None = None) -> Estimates:
    """What is known of every arm, with its status, its cost and its lift over the control."""
    wanted = None if segment is None else state.problem.segment(segment)
    control = state.problem.arms[state.controls[0]].lever_arm if state.controls else None
    found = state.policy.estimates(level=level, control=control, cost=state.cost)
    if not state.policy.rows:
        found = found.before_any_row()
    decisions = np.bincount(state.decisions.column("arm")[state.decisions.included], minlength=len(found))

    def word(number: int) -> str | None:
        waits = "no outcome yet" if decisions[number] and not found[number].own_rows else None
        return status(state, number) or waits

    return found.with_status(word).of(wanted)


def effects(state: StudyState, level: float) -> Effects:
    """What each level of each lever does in place of the control's."""
    if not state.policy.rows:
        raise OptionError("no data yet, so levels cannot be compared; tell some outcomes first")
    base = state.problem.arms[state.controls[0]] if state.controls else None
    return state.policy.effects(level=level, control=base, cost=state.cost)
