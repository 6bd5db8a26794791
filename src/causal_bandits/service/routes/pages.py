"""The pages, rendered here; they work without JavaScript but for live updates."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...studies import Study
from ..answering import StudyName, desk_of, look_as
from ..rendering import render

router = APIRouter(include_in_schema=False)


def page(request: Request, template: str, **values: object) -> Response:
    """One page of this server."""
    return HTMLResponse(render(template, root_path=request.scope["root_path"], **values))


@router.get("/")
def studies(request: Request) -> Response:
    """All studies."""
    return page(request, "studies.html", studies=desk_of(request).list())


@router.get("/studies/{name}")
def study(request: Request, name: StudyName) -> Response:
    """One study."""

    def work(study: Study) -> Response:
        return page(request, "study.html", about=study.describe())

    return look_as(request, name, work)
