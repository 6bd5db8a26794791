"""Looking at a study; nothing here changes which arms come next."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ...errors import OptionError, brief
from ...policies import Advice, Recommendation
from ...policies.arms import arm_numbers
from ...studies import Study
from .. import answers
from ..answering import StudyName, errors_of, look
from ..plain import plain
from .arms import pattern_in

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["looks"], responses=errors_of(404))

Level = Annotated[float, Query(description="Level of the intervals.", gt=0, lt=1)]
Segment = Annotated[str | None, Query(description="A segment as a JSON object, where the problem has segments.")]


def segment_in(text: str | None) -> dict[str, Any] | None:
    """The segment that a query names."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OptionError(f"segment={brief(text)}; expected a JSON object")
    return found


@router.get("/recommendation", response_model=answers.Recommendation | answers.Recommendations)
def recommendation(
    request: Request,
    name: StudyName,
    segment: Segment = None,
    margin: Annotated[float | None, Query(description="What is close to the best, in units of the reward.")] = None,
) -> Response:
    """The arm to deploy, and how sure it is that none is better; of every segment where none is named."""

    def said(found: Recommendation) -> dict[str, Any]:
        return {**plain(found), "stands_out": found.stands_out, "verdict": found.verdict}

    def work(study: Study) -> dict[str, Any]:
        found = study.recommend(segment=segment_in(segment), margin=margin)
        if isinstance(found, Recommendation):
            return said(found)
        return {"recommendations": [{"segment": plain(each.segment), **said(each)} for each in found]}

    return look(request, name, work)


@router.get("/estimates", response_model=answers.Estimates)
def estimates(request: Request, name: StudyName, level: Level = 0.95, segment: Segment = None) -> Response:
    """What is believed of each arm."""
    return look(
        request, name, lambda study: {"estimates": [*study.estimates(level=level, segment=segment_in(segment))]}
    )


@router.get("/advice", response_model=None)
def advice(
    request: Request,
    name: StudyName,
    segment: Segment = None,
    margin: Annotated[float | None, Query(description="What is close to the best, in units of the reward.")] = None,
    confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95,
) -> Response:
    """Stop, go on, or drop arms; valid however often one looks. `says` is the paragraph that it prints as.

    Of every segment where none is named.
    """

    def work(study: Study) -> dict[str, Any]:
        found = study.advice(segment=segment_in(segment), margin=margin, confidence=confidence)
        if isinstance(found, Advice):
            return {**plain(found), "says": str(found)}
        return {"advices": [{**plain(each), "says": str(each)} for each in found]}

    return look(request, name, work)


@router.get("/effects", response_model=None)
def effects(request: Request, name: StudyName, level: Level = 0.95) -> Response:
    """What each level of each lever does in place of the control's."""
    return look(request, name, lambda study: {"effects": [*study.effects(level=level)]})


@router.get("/guardrails", response_model=None)
def guardrails(request: Request, name: StudyName) -> Response:
    """What the rows say of each arm and guardrail."""
    return look(request, name, lambda study: {"guardrails": [*study.guardrails()]})


@router.get("/health", response_model=None)
def health(request: Request, name: StudyName) -> Response:
    """Checks of the study itself: missing outcomes, the share of the control, a level that moves."""
    return look(request, name, lambda study: {"checks": [*study.health()]})


@router.get("/sets", response_model=answers.Sets)
def sets(
    request: Request, name: StudyName, rejected: Annotated[bool, Query(description="Also rejected sets.")] = False
) -> Response:
    """The separating sets with their evidence."""
    return look(request, name, lambda study: {"sets": study.separating_sets(rejected=rejected)})


@router.get("/drift", response_model=answers.Drifts)
def drift(request: Request, name: StudyName) -> Response:
    """Whether the sets in use still hold on recent rows."""

    def work(study: Study) -> dict[str, Any]:
        watched = [(found.variables, found.drift) for found in study.separating_sets() if found.drift is not None]
        rows = [{"variables": names, "alarm": seen.alarm, **plain(seen)} for names, seen in watched]
        return {"alarms": sum(row["alarm"] for row in rows), "sets": rows}

    return look(request, name, work)


@router.get("/evaluation", response_model=answers.Evaluation)
def evaluation(
    request: Request,
    name: StudyName,
    arm: Annotated[
        list[str],
        Query(
            description="What to play: banner=red or a JSON object lever -> level; repeat it to mix arms.",
            examples=["banner=red"],
        ),
    ],
    share: Annotated[list[float], Query(description="The share of each arm; equal by default.")] = [],  # noqa: B006
    method: Annotated[str, Query(description="direct, or weighted by propensities.")] = "direct",
    level: Level = 0.95,
    draws: Annotated[int, Query(ge=1)] = 200,
) -> Response:
    """What an arm or a mix of arms would have earned on the recorded decisions."""

    def work(study: Study) -> Any:
        if share and len(share) != len(arm):
            raise OptionError(f"{len(arm)} arm but {len(share)} share; give a share for each arm, or none")
        mix: dict[Any, float] = {}
        for text, chance in zip(arm, share or [1 / len(arm)] * len(arm), strict=True):
            numbers = arm_numbers(study.problem, pattern_in(study.problem, text))
            found = study.problem.arms[numbers[0]]
            chosen = found if len(numbers) == 1 else found.lever_arm  # an arm without a segment is one for all of them
            mix[chosen] = mix.get(chosen, 0.0) + chance
        return study.evaluate(mix, method=method, level=level, draws=draws)  # type: ignore[arg-type]

    return look(request, name, work)
