"""Answers about arms: what a study recommends, advises and estimates, of the arms in play and after costs."""

from typing import Any

from ...core.compiled import Bools
from ...core.policies import Advice, Effects, Estimates, Recommendation
from ...core.policies.advice import Advices
from ...core.policies.recommendation import Ranking
from ...core.problem import Segment
from ...errors import OptionError
from .deciding import NOTHING_LEFT, open_arms, status
from .state import StudyState


def recommend(
    state: StudyState, *, segment: Segment | None = None, margin: float | None = None
) -> Recommendation | Any:
    """The arm to deploy: of those in play that break no guardrail, by what is left after costs."""
    mask = _deployable(state)
    return state.policy.recommend(segment=segment, margin=margin, among=mask, cost=state.cost)


def ranking(state: StudyState, segment: Segment | None) -> Ranking:
    """`recommend` with the probability of every arm to be the best."""
    return state.policy.ranking(segment, None, _deployable(state), state.cost)[0]


def advice(
    state: StudyState, *, segment: Segment | None, margin: float | None, confidence: float, tolerance: float
) -> Advice | Any:
    """Stop, continue or drop arms, of those in play that break no guardrail, by what is left after costs."""
    if state.problem.segments and segment is None:
        options: dict[str, Any] = {"margin": margin, "confidence": confidence, "tolerance": tolerance}
        return Advices([advice(state, segment=each, **options) for each in state.problem.segment_settings])
    mask, wanted = _deployable(state), state.problem.segment(segment) or None
    return state.policy.advice(
        segment=wanted,
        margin=margin,
        confidence=confidence,
        tolerance=tolerance,
        among=mask,
        cost=state.cost,
        **_about(state, wanted),
    )


def _about(state: StudyState, segment: Segment | None) -> dict[str, Any]:
    """What advice needs to know of a study."""
    inside = state.problem.arms_in(segment) if state.problem.segments else None
    control = next((each for each in state.controls if inside is None or inside[each]), None)
    return {
        "first_arms": len(state.settings.problem["arms"]),
        "per_day": state.per_day,
        "held": state.held,
        **({} if control is None else {"control": control}),
    }


def _deployable(state: StudyState) -> Bools | None:
    """The arms that can be recommended; None: all that the policy may choose."""
    mask = open_arms(state, None)
    if mask is not None and not (mask & state.policy.allowed).any():
        raise OptionError(NOTHING_LEFT)
    return mask


def advise(state: StudyState, best: Recommendation | None, segment: Segment | None, confidence: float) -> Advice:
    """`advice`, given what is recommended."""
    wanted, mask = state.problem.segment(segment) or None, open_arms(state, None)
    return state.policy._advise(best, wanted, mask, confidence=confidence, cost=state.cost, **_about(state, wanted))


def estimates(state: StudyState, level: float, segment: Segment | None = None) -> Estimates:
    """What is known of every arm, with its status, its cost and its lift over the control."""
    wanted = None if segment is None else state.problem.segment(segment)
    control = state.problem.arms[state.controls[0]].lever_arm if state.controls else None
    found = state.policy.estimates(level=level, control=control, cost=state.cost)
    return found.with_status(lambda number: status(state, number)).of(wanted)


def effects(state: StudyState, level: float) -> Effects:
    """What each level of each lever does in place of the control's."""
    base = state.problem.arms[state.controls[0]] if state.controls else None
    return state.policy.effects(level=level, control=base, cost=state.cost)
