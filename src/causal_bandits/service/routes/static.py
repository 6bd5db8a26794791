"""Style sheets and scripts of the pages: read once, served from memory, and nothing else by any address."""

import hashlib
import mimetypes
from functools import cache
from typing import NamedTuple

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..rendering import STATIC
from ..responses import is_known

router = APIRouter(include_in_schema=False)


class File(NamedTuple):
    """A file of the pages."""

    content: bytes
    media_type: str
    tag: str


@cache
def files() -> dict[str, File]:
    """All of them, by name."""
    found = {}
    for path in sorted(STATIC.iterdir()):
        content = path.read_bytes()
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        found[path.name] = File(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found


@router.get("/static/{file}")
async def static(request: Request, file: str) -> Response:
    """One file."""
    found = files().get(file)
    if found is None:
        raise HTTPException(404)
    if is_known(request.headers.get("if-none-match"), found.tag):
        return Response(status_code=304, headers={"ETag": found.tag})
    return Response(found.content, headers={"ETag": found.tag}, media_type=found.media_type)
