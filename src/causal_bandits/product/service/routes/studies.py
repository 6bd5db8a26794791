"""Studies by name, their arms, and their events."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ....core.markup import in_path
from ....core.problem import Arm, Problem
from ....errors import OptionError, UnknownArmError, brief
from ...studies import Final, Study, StudyInfo, StudySettings, parse_pattern
from ..bodies import ArmState, NewArm, NewStudy
from ..gate import name_in
from ..responses import ClosingResponse, StudyName, answer, answers, check_parameters, errors_of, registry_of
from ..watching import Watch

router = APIRouter(
    prefix="/api/v1/studies", tags=["studies"], responses=errors_of(), dependencies=[Depends(check_parameters)]
)

CREATED = answers(StudySettings, 409, status=201)
CREATED["responses"][200] = CREATED["responses"][201]
UNREACHABLE = (".", "..")
"""Names that browsers and proxies take out of an address."""


@router.post("", **CREATED)
def create(request: Request, body: NewStudy) -> Response:
    """Create a study; repeating the request returns 200, other settings under the same name 409."""
    if body.name.strip() in UNREACHABLE:
        raise OptionError(f"name={body.name!r} cannot be part of a URL; use another name")
    options = body.model_dump(exclude={"name", "problem"}, exclude_none=True)
    if options.get("allow_private_webhook") and not request.app.state.settings.alarms.allow_private_webhooks:
        raise OptionError(
            "this server does not permit webhooks in private networks (--allow-private-webhooks); use a public address"
        )
    study = registry_of(request).create(body.name, Problem.from_dict(body.problem), options)
    where = f"{request.scope['root_path']}/api/v1/studies/{in_path(body.name)}"
    return answer(study.settings, 201 if study.is_new else 200, {"Location": where})


@router.get("", **answers(list[StudyInfo]))
def studies(request: Request) -> Response:
    """List all studies, the oldest first."""
    return answer(registry_of(request).list())


@router.post("/{name}/finish", **answers(Final, 404, 409))
def finish(request: Request, name: StudyName) -> Response:
    """End a study: close open decisions, and freeze the recommendation and the report."""
    return answer(registry_of(request).act(name, lambda study: study.finish()))


@router.delete("/{name}", status_code=204, response_model=None, responses=errors_of(404))
def delete(request: Request, name: StudyName) -> Response:
    """Delete a study and all its decisions permanently."""
    registry_of(request).delete(name)
    return Response(status_code=204)


# Changing arms


Named = Annotated[
    str,
    Path(
        alias="arm",
        description="An arm: banner=red,discount=10% or a JSON object lever -> level; `...`, in JSON null, is any "
        "level, and levers that are not named are at their control levels.",
        examples=["banner=red,discount=..."],
    ),
    AfterValidator(name_in),
]


def pattern_in(problem: Problem, text: str) -> dict[str, Any]:
    """The arms that a part of an address names."""
    if not text.lstrip().startswith("{"):
        return parse_pattern(problem, text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UnknownArmError(f"{brief(text)} is not an arm; expected a JSON object lever -> level") from None
    if not all(level is None or isinstance(level, bool | int | float | str) for level in found.values()):
        raise UnknownArmError(f"{brief(text)} is not an arm; a level is a string, a number, true, false, or null")
    return {name: ... if level is None else level for name, level in found.items()}


@router.put("/{name}/arms/{arm}/state", **answers(list[Arm], 404, 409, field="arms"))
def change(request: Request, name: StudyName, arm: Named, body: ArmState) -> Response:
    """Allow, forbid or retire an arm, or all that match; returns the arms that changed."""

    def work(study: Study) -> Sequence[Arm]:
        doing = {"allowed": study.allow, "forbidden": study.forbid, "retired": study.retire}
        return doing[body.state](pattern_in(study.problem, arm))

    return answer({"arms": registry_of(request).act(name, work)})


@router.post("/{name}/arms", **answers(list[Arm], 404, 409, field="arms"))
def add_arm(request: Request, name: StudyName, body: NewArm) -> Response:
    """Add an arm; an existing arm stays as it is."""
    made = registry_of(request).act(name, lambda study: study.add_arm(body.arm, new_levels=body.new_levels))
    return answer({"arms": [made]})


# Events


STREAM = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}


@router.get(
    "/{name}/events",
    response_class=StreamingResponse,
    responses={
        **errors_of(404),
        200: STREAM,
    },
)
async def events(
    request: Request,
    name: StudyName,
    after: Annotated[int | None, Query(ge=0, description="Start after this event; by default, at the next.")] = None,
    last: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The last event received, instead of `after`.")
    ] = None,
) -> Response:
    """Stream the changes of a study in order.

    The id of an event is its number in the study; its data are its kind and the decisions that it concerns.
    """
    watch: Watch = request.app.state.watch
    begin = int(last) if last is not None and last.isascii() and last.isdigit() and len(last) < 16 else after
    stream = await watch.stream(name, begin)
    headers = {"Cache-Control": "no-store"}
    return ClosingResponse(stream, stream.aclose, headers=headers, media_type="text/event-stream")
