"""All decisions as a file."""

import io
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ...data.table_files import neutral
from ...studies import Study
from ..answering import StudyName, errors_of, look_as

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["exports"], responses=errors_of(404))

PARQUET = "application/vnd.apache.parquet"


@router.get(
    "/export.csv",
    response_class=Response,
    responses={200: {"description": "CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export_csv(
    request: Request,
    name: StudyName,
    safe: Annotated[bool, Query(description="Quote cells that a spreadsheet would run as formulas.")] = True,
) -> Response:
    """All decisions as CSV, one row each."""

    def work(study: Study) -> Response:
        frame = study.to_frame()
        text = (neutral(frame) if safe else frame).write_csv()
        return Response(text, headers=_saved_as("decisions.csv"), media_type="text/csv")

    return look_as(request, name, work)


@router.get(
    "/export.parquet",
    response_class=Response,
    responses={200: {"description": "Parquet", "content": {PARQUET: {"schema": {"type": "string"}}}}},
)
def export_parquet(request: Request, name: StudyName) -> Response:
    """All decisions as Parquet, one row each."""

    def work(study: Study) -> Response:
        content = io.BytesIO()
        study.to_frame().write_parquet(content)
        return Response(content.getvalue(), headers=_saved_as("decisions.parquet"), media_type=PARQUET)

    return look_as(request, name, work)


def _saved_as(file: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{file}"'}
