"""Results of a study; reading never changes which arms come next."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from ....core.discovery import SeparatingSets
from ....core.estimators.explained import ExplainedVariance
from ....core.policies import Advice, Effects, Estimates, Recommendation
from ....core.policies.advice import Advices
from ....core.policies.arms import arm_numbers
from ....core.policies.posterior import MOST_DRAWS
from ....core.policies.recommendation import Recommendations
from ....errors import OptionError, brief
from ...studies import Alarm, Evaluation, Funnel, Guardrails, Health, Study, Waiting
from ..responses import (
    Drifts,
    PosteriorDraws,
    SetDrift,
    StudyName,
    answer,
    answers,
    check_parameters,
    errors_of,
    look,
    registry_of,
)
from .studies import pattern_in

router = APIRouter(
    prefix="/api/v1/studies/{name}",
    tags=["results"],
    responses=errors_of(404),
    dependencies=[Depends(check_parameters)],
)

Level = Annotated[float, Query(description="Level of the intervals.", gt=0, lt=1)]
Margin = Annotated[float | None, Query(description="What is close to the best, in units of the reward.")]
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


@router.get("/recommendation", **answers(Recommendation | Recommendations, 404))
def recommendation(request: Request, name: StudyName, segment: Segment = None, margin: Margin = None) -> Response:
    """The arm to deploy, with the probability that none is better; for every segment unless one is named."""
    return look(request, name, lambda study: study.recommend(segment=segment_in(segment), margin=margin))


@router.get("/estimates", **answers(Estimates, 404))
def estimates(request: Request, name: StudyName, level: Level = 0.95, segment: Segment = None) -> Response:
    """Estimates of each arm."""
    return look(request, name, lambda study: study.estimates(level=level, segment=segment_in(segment)))


@router.get("/advice", **answers(Advice | Advices, 404))
def advice(
    request: Request,
    name: StudyName,
    segment: Segment = None,
    margin: Margin = None,
    confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95,
    tolerance: Annotated[float, Query(gt=0, lt=1, description="Good enough, as a share of the control's mean.")] = 0.01,
) -> Response:
    """Stop, continue or drop arms; valid at every look. For every segment unless one is named."""
    return look(
        request,
        name,
        lambda study: study.advice(
            segment=segment_in(segment), margin=margin, confidence=confidence, tolerance=tolerance
        ),
    )


@router.get("/explained-variance", **answers(ExplainedVariance, 404))
def explained_variance(request: Request, name: StudyName, level: Level = 0.95) -> Response:
    """How much of the reward's variance the mediators explain."""
    return look(request, name, lambda study: study.explained_variance(level=level))


@router.get("/effects", **answers(Effects, 404))
def effects(request: Request, name: StudyName, level: Level = 0.95) -> Response:
    """The effect of each level compared with the control's."""
    return look(request, name, lambda study: study.effects(level=level))


@router.get("/guardrails", **answers(Guardrails, 404))
def guardrails(request: Request, name: StudyName) -> Response:
    """The evidence for each arm and guardrail."""
    return look(request, name, lambda study: study.guardrails())


@router.get("/health", **answers(Health, 404))
def health(request: Request, name: StudyName) -> Response:
    """Checks of the study itself: lost outcomes, drift, traffic, news; no ETag, since a silence has no event."""
    return answer(registry_of(request).look(name, lambda study: study.health()))


@router.get("/alarms", **answers(list[Alarm], 404))
def alarms(request: Request, name: StudyName) -> Response:
    """Alarms and notices that were raised, the newest first; no ETag, since they are found by the server itself."""
    return answer(registry_of(request).look(name, lambda study: study.alarms()))


@router.get("/funnel", **answers(Funnel, 404))
def funnel(request: Request, name: StudyName) -> Response:
    """What levers do to mediators, mediators to the reward, and levers to the reward."""
    return look(request, name, lambda study: study.funnel())


@router.get("/waiting", **answers(Waiting, 404))
def waiting(request: Request, name: StudyName) -> Response:
    """Open decisions by age, and how long outcomes take; no ETag, since ages change with the clock."""
    return answer(registry_of(request).look(name, lambda study: study.waiting()))


@router.get("/posterior", **answers(PosteriorDraws, 404))
def posterior(
    request: Request, name: StudyName, n: Annotated[int, Query(ge=1, le=MOST_DRAWS, description="Draws.")] = 1000
) -> Response:
    """The posterior of all arms' means: their means, the rows behind them, and joint draws."""

    def work(study: Study) -> PosteriorDraws:
        found = study.posterior()
        rows, means = found.rows, found.means.tolist()
        return {"rows": rows, "means": means, "sources": [*found.sources], "draws": found.draws[:n].tolist()}

    return look(request, name, work)


@router.get("/missing", **answers(dict[str, int], 404))
def missing(request: Request, name: StudyName) -> Response:
    """For each observed variable, the number of counted rows without a value."""
    return look(request, name, lambda study: study.missing())


@router.get("/sets", **answers(SeparatingSets, 404))
def sets(
    request: Request, name: StudyName, rejected: Annotated[bool, Query(description="Also rejected sets.")] = False
) -> Response:
    """The separating sets with their evidence."""
    return look(request, name, lambda study: study.separating_sets(rejected=rejected))


@router.get("/drift", **answers(Drifts, 404))
def drift(request: Request, name: StudyName) -> Response:
    """Whether the sets in use still hold on recent rows."""

    def work(study: Study) -> Drifts:
        watched = [(found.variables, found.drift) for found in study.separating_sets() if found.drift is not None]
        rows: list[SetDrift] = [
            {"variables": [*names], "alarm": seen.alarm, "evidence": seen.evidence, "row": seen.row}
            for names, seen in watched
        ]
        return {"alarms": sum(row["alarm"] for row in rows), "sets": rows}

    return look(request, name, work)


@router.get("/evaluation", **answers(Evaluation, 404))
def evaluation(
    request: Request,
    name: StudyName,
    arm: Annotated[
        list[str],
        Query(
            description="Arm to evaluate: banner=red or a JSON object lever -> level; repeat it to mix arms.",
            examples=["banner=red"],
        ),
    ],
    share: Annotated[list[float], Query(description="The share of each arm; equal by default.")] = [],  # noqa: B006
    method: Annotated[
        str | None, Query(description="doubly-robust or direct; chosen automatically by default.")
    ] = None,
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
