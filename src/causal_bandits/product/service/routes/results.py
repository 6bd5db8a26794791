"""Results of a study; reading never changes which arms come next."""

import inspect
import json
from enum import Enum
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from ....core.policies.arms import arm_numbers
from ....core.policies.posterior import MOST_DRAWS
from ....errors import OptionError, brief
from ...studies import Evaluation, Study
from ..bodies import body_of
from ..operations import OPERATIONS, SPELLED, Operation
from ..responses import (
    Id,
    PosteriorDraws,
    StudyName,
    answer,
    answers,
    look,
    registry_of,
    study_router,
)
from .studies import pattern_in

router = study_router()


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


Level = Annotated[float, Query(description="Confidence level of intervals.", gt=0, lt=1)]
PARAMETERS: dict[str, Any] = {
    "decision": Id,
    "level": Level,
    "confidence": Annotated[float, Query(gt=0, lt=1)],
    "tolerance": Annotated[
        float, Query(gt=0, lt=1, description="Expected loss that is good enough, as a share of the control's mean.")
    ],
    "margin": Annotated[
        float | None, Query(description="Difference from the best arm that is close enough, in units of the reward.")
    ],
    "segment": Annotated[
        str | None,
        Query(description="A segment as a JSON object, where the problem has segments."),
        AfterValidator(segment_in),
    ],
    "rejected": Annotated[bool, Query(description="Include rejected sets.")],
    "history": Annotated[bool, Query(description="Include the history.")],
    "after": Annotated[int, Query(ge=0, description="Start after this event.")],
    "limit": Annotated[int, Query(ge=1, le=10_000)],
}
"""The arguments of methods that a query has."""


def add_route(name: str, operation: Operation) -> None:
    """Add the route of a method or property of `Study`."""
    of = getattr(Study, name)
    path, is_read = operation.path, operation.method == "GET"
    own = [] if isinstance(of, property) else [*inspect.signature(of).parameters.values()][1:]
    in_body = [] if is_read else [each for each in own if f"{{{each.name}}}" not in path]
    names = {SPELLED.get(each.name, each.name): each.name for each in in_body}

    def endpoint(request: Request, **given: Any) -> Response:
        study_name, body = given.pop("name"), given.pop("body", None)
        given |= {argument: getattr(body, field) for field, argument in names.items()}

        def work(study: Study) -> Any:
            found = getattr(study, name) if isinstance(of, property) else getattr(study, name)(**given)
            return found if operation.field is None else {operation.field: found}

        if is_read and operation.has_tag:
            return look(request, study_name, work)
        registry = registry_of(request)
        return answer((registry.look if is_read else registry.act)(study_name, work))

    parameters = [("request", Request, inspect.Parameter.empty), ("name", StudyName, inspect.Parameter.empty)]
    parameters += [(each.name, PARAMETERS[each.name], each.default) for each in own if each not in in_body]
    parameters += [("body", body_of(name, operation, in_body), inspect.Parameter.empty)] if in_body else []
    vars(endpoint)["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for each, annotation, default in parameters
        ]
    )
    endpoint.__name__, endpoint.__doc__ = name, of.__doc__
    about = answers(operation.answer, *((404,) if is_read else (404, 409)), field=operation.field)
    tags: list[str | Enum] = ["results" if is_read else "studies"]
    router.add_api_route(path.replace("{decision}", "{id}"), endpoint, methods=[operation.method], tags=tags, **about)


for _name, _operation in OPERATIONS.items():
    add_route(_name, _operation)


@router.get("/posterior", tags=["results"], **answers(PosteriorDraws, 404))
def posterior(
    request: Request, name: StudyName, n: Annotated[int, Query(ge=1, le=MOST_DRAWS, description="Draws.")] = 1000
) -> Response:
    """The posterior of all arms' means: their means, the rows behind them, and joint draws."""

    def work(study: Study) -> PosteriorDraws:
        found = study.posterior()
        rows, means = found.rows, found.means.tolist()
        return {"rows": rows, "means": means, "sources": [*found.sources], "draws": found.draws[:n].tolist()}

    return look(request, name, work)


@router.get("/evaluation", tags=["results"], **answers(Evaluation, 404))
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
        str, Query(description="direct (each arm's own decisions) or doubly-robust (by propensities).")
    ] = "direct",
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
