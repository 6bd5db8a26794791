"""Studies by name, their arms, and their events."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ....core.markup import in_path
from ....core.problem import Arm, Problem
from ....errors import OptionError, UnknownArmError, brief
from ....reporting.described import StudyDescription
from ...studies import Annotation, AuditRow, Change, Final, Staleness, Study, StudyInfo, StudySettings, parse_pattern
from ..bodies import ArmState, NewAnnotation, NewArm, NewLevel, NewStudy
from ..gate import name_in
from ..responses import Arms, StudyName, answer, answers, check_parameters, errors_of, look, registry_of
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
        raise OptionError(f"name={body.name!r} cannot be part of an address; use another name")
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


@router.get("/{name}", **answers(StudyDescription, 404))
def describe(
    request: Request,
    name: StudyName,
    history: Annotated[bool, Query(description="Also how it came about.")] = False,
) -> Response:
    """A study: decisions by status, arms, sets, alarms, the recommended arm."""
    return look(request, name, lambda study: study.describe(history=history))


@router.get("/{name}/settings", **answers(StudySettings, 404))
def settings(request: Request, name: StudyName) -> Response:
    """The settings of a study: its problem with the current arms, its policy, its seed."""
    return look(request, name, lambda study: study.settings)


@router.get("/{name}/staleness", **answers(Staleness, 404))
def staleness(request: Request, name: StudyName) -> Response:
    """How far the current snapshot is behind what was acknowledged; no ETag, since no event changes it."""
    return answer(registry_of(request).look(name, lambda study: study.staleness()))


@router.post("/{name}/publish", **answers(Staleness, 404))
def publish(request: Request, name: StudyName) -> Response:
    """High-throughput mode: count all rows that wait, now; otherwise that happens a moment later."""
    return answer(registry_of(request).act(name, lambda study: study.publish()))


@router.post("/{name}/finish", **answers(Final, 404, 409))
def finish(request: Request, name: StudyName) -> Response:
    """End a study: close open decisions, and freeze the answer and the report."""
    return answer(registry_of(request).act(name, lambda study: study.finish()))


@router.get("/{name}/finish", **answers(Final | None, 404))
def finished(request: Request, name: StudyName) -> Response:
    """How a study was finished; null while it runs."""
    return look(request, name, lambda study: study.finished)


@router.get("/{name}/report", **answers(StudyDescription, 404))
def report(request: Request, name: StudyName) -> Response:
    """What a report shows; of a finished study as it was then."""
    return look(request, name, lambda study: study.report_values())


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
        "level, and levers that are not named are idle.",
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
        raise UnknownArmError(f"{brief(text)} is not an arm; a level is a text, a number, true, false, or null for any")
    return {name: ... if level is None else level for name, level in found.items()}


@router.put("/{name}/arms/{arm}/state", **answers(Arms, 404, 409))
def change(request: Request, name: StudyName, arm: Named, body: ArmState) -> Response:
    """Allow, forbid or retire an arm, or all that match; returns those that changed."""

    def work(study: Study) -> Sequence[Arm]:
        doing = {"allowed": study.allow, "forbidden": study.forbid, "retired": study.retire}
        return doing[body.state](pattern_in(study.problem, arm))

    return answer({"arms": registry_of(request).act(name, work)})


@router.post("/{name}/arms", **answers(Arms, 404, 409))
def add_arm(request: Request, name: StudyName, body: NewArm) -> Response:
    """Add an arm; an existing arm is unchanged."""
    made = registry_of(request).act(name, lambda study: study.add_arm(body.arm, new_levels=body.new_levels))
    return answer({"arms": [made]})


@router.post("/{name}/levels", **answers(Arms, 404, 409))
def add_level(request: Request, name: StudyName, body: NewLevel) -> Response:
    """Add a level of a lever, with every setting of the other levers; returns the new arms."""
    return answer({"arms": registry_of(request).act(name, lambda study: study.add_level(body.lever, body.level))})


# Events


class EventStream(StreamingResponse):
    """A stream of events that ends with its connection."""

    def __init__(self, stream: AsyncGenerator[str, None]) -> None:
        super().__init__(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and close it however that ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._stream.aclose()


STREAM = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}


@router.get(
    "/{name}/events",
    response_class=StreamingResponse,
    responses={
        **errors_of(404),
        200: {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
    },
)
async def events(
    request: Request,
    name: StudyName,
    after: Annotated[int | None, Query(ge=0, description="Begin after this event; by default with the next.")] = None,
    last: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The last event that was seen, instead of `after`.")
    ] = None,
) -> Response:
    """Stream the changes of a study, in order; the id of an event is its number in the study. An event has its kind and
    the decisions it concerns.
    """
    watch: Watch = request.app.state.watch
    begin = int(last) if last is not None and last.isascii() and last.isdigit() and len(last) < 16 else after
    return EventStream(await watch.stream(name, begin))


@router.get("/{name}/changes", **answers(list[Change], 404))
def changes(
    request: Request,
    name: StudyName,
    after: Annotated[int, Query(ge=0, description="Begin after this event.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Events so far, without waiting for more."""
    return look(request, name, lambda study: study.changes(after, limit=limit))


@router.get("/{name}/audit", **answers(list[AuditRow], 404))
def audit(request: Request, name: StudyName, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Response:
    """Changes that people made, newest first: arms, imports, annotations."""
    return look(request, name, lambda study: study.audit(limit=limit))


@router.get("/{name}/annotations", **answers(list[Annotation], 404))
def annotations(request: Request, name: StudyName) -> Response:
    """Notes on dates, oldest first."""
    return look(request, name, lambda study: study.annotations())


@router.post("/{name}/annotations", **answers(Annotation | None, 404))
def annotate(request: Request, name: StudyName, body: NewAnnotation) -> Response:
    """Add a note at a time; another text for the same time replaces it, and null removes it."""
    return answer(registry_of(request).act(name, lambda study: study.annotate(body.text, body.at)))
