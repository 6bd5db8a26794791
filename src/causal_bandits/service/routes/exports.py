"""All decisions as a file. It is written to the disk first, so that a slow client keeps no large answer in memory."""

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...data.table_files import neutral
from ...studies import Study
from ..gate import RefusedError
from ..responses import StudyName, errors_of, look_as

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["exports"], responses=errors_of(404))

PARQUET = "application/vnd.apache.parquet"
PIECE = 262_144


@router.get(
    "/export.csv",
    response_class=Response,
    responses={200: {"description": "CSV", "content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def export_csv(
    request: Request,
    name: StudyName,
    safe: Annotated[bool, Query(description="Quote cells that a spreadsheet would run as formulas.")] = True,
) -> Response:
    """All decisions as CSV, one row each."""

    def write(study: Study, file: IO[bytes]) -> None:
        frame = study.to_frame()
        (neutral(frame) if safe else frame).write_csv(file)

    return await _export(request, name, "decisions.csv", "text/csv", write)


@router.get(
    "/export.parquet",
    response_class=Response,
    responses={200: {"description": "Parquet", "content": {PARQUET: {"schema": {"type": "string"}}}}},
)
async def export_parquet(request: Request, name: StudyName) -> Response:
    """All decisions as Parquet, one row each."""

    return await _export(
        request, name, "decisions.parquet", PARQUET, lambda study, file: study.to_frame().write_parquet(file)
    )


class FileResponse(StreamingResponse):
    """A file that is gone when it was sent."""

    def __init__(self, file: IO[bytes], done: Callable[[], None], **options: Any) -> None:
        super().__init__(_pieces(file), **options)
        self._file, self._done = file, done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()
            self._done()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


async def _export(
    request: Request, name: str, called: str, media: str, write: Callable[[Study, IO[bytes]], object]
) -> Response:
    slots = request.app.state.exports_sent

    def work(study: Study) -> Response:
        if not slots.acquire(blocking=False):
            raise RefusedError(503, "this server sends too many exports at once; try again later", {"Retry-After": "5"})
        file = tempfile.TemporaryFile()  # noqa: SIM115 (the response closes it)
        try:
            write(study, file)
            headers = {
                "Content-Disposition": f'attachment; filename="{called}"',
                "Content-Length": str(file.seek(0, os.SEEK_END)),
            }
            file.seek(0)
        except BaseException:
            file.close()
            slots.release()
            raise
        return FileResponse(file, slots.release, headers=headers, media_type=media)

    return await to_thread.run_sync(lambda: look_as(request, name, work), limiter=request.app.state.exports)
