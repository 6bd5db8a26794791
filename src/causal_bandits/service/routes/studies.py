"""Studies by name."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ...errors import OptionError
from ...problem import Problem
from ...reporting.described import StudyDescription
from ...studies import Staleness, StudyInfo, StudySettings
from ..bodies import NewStudy
from ..gate import in_path
from ..responses import StudyName, answer, answers, errors_of, look, registry_of

router = APIRouter(prefix="/api/v1/studies", tags=["studies"], responses=errors_of())

CREATED = answers(StudySettings, 409, status=201)
CREATED["responses"][200] = CREATED["responses"][201]
UNREACHABLE = (".", "..")
"""Names that browsers and proxies take out of an address."""


@router.post("", **CREATED)
def create(request: Request, body: NewStudy) -> Response:
    """Create a study; the same again is answered with 200, another one under its name with 409."""
    if body.name.strip() in UNREACHABLE:
        raise OptionError(f"name={body.name!r} cannot be part of an address; use another name")
    options = body.model_dump(exclude={"name", "problem"}, exclude_none=True)
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
    """Everything about a study: decisions by status, arms, sets, alarms, the recommended arm."""
    return look(request, name, lambda study: study.describe(history=history))


@router.get("/{name}/settings", **answers(StudySettings, 404))
def settings(request: Request, name: StudyName) -> Response:
    """What a study is: its problem with the arms of today, its policy, its seed."""
    return look(request, name, lambda study: study.settings)


@router.get("/{name}/staleness", **answers(Staleness, 404))
def staleness(request: Request, name: StudyName) -> Response:
    """How far the snapshot that decides is behind what was acknowledged; no ETag, since no event changes it."""
    return answer(registry_of(request).look(name, lambda study: study.staleness()))


@router.post("/{name}/publish", **answers(Staleness, 404))
def publish(request: Request, name: StudyName) -> Response:
    """Count what a served study has appended so far, now; its aggregator does so a moment later without this."""
    return answer(registry_of(request).act(name, lambda study: study.publish()))


@router.delete("/{name}", status_code=204, response_model=None, responses=errors_of(404))
def delete(request: Request, name: StudyName) -> Response:
    """Delete a study and all its decisions permanently."""
    registry_of(request).delete(name)
    return Response(status_code=204)
