"""Ask and tell, and all decisions as a file."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Annotated, Any

from anyio import to_thread
from fastapi import Header, Query
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from ....core.data.table_files import neutral
from ....errors import ConflictError, OptionError, UnknownVariableError, brief, listing
from ...studies import Decision, DecisionRow, Study
from ...studies.decisions import OWN
from ..bodies import Ask, KeyedOutcome, Outcome, Rows, checked_columns, checked_rows, json_in, rows_in_lines, table_in
from ..gate import RefusedError
from ..problems import KeyReusedError
from ..responses import (
    ClosingResponse,
    DecisionPage,
    Id,
    StudyName,
    answer,
    answers,
    look,
    look_as,
    measures_of,
    registry_of,
    study_router,
)

router = study_router(tags=["decisions"])


def in_utf8(text: str | None) -> str | None:
    """A header, which comes byte by byte."""
    return None if text is None else text.encode("latin-1").decode("utf-8", "replace")


Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="Repeating a key returns the same response; nothing is done twice."),
    AfterValidator(in_utf8),
]
ROWS_EXAMPLE: list[dict[str, Any]] = [{"id": 1, "clicked": 1, "cart": "some", "purchase": 0}, {"id": 2, "clicked": 0}]


@router.post("/decisions", **answers(list[Decision], 404, 409, status=201))
def ask(request: Request, name: StudyName, body: Ask, key: Key = None) -> Response:
    """Make decisions, each stored before it is returned. Repeating a key returns the same decisions."""
    if body.key is not None and key is not None and body.key != key:
        raise OptionError(f"key={brief(body.key)} and the header Idempotency-Key, {brief(key)}, differ; send one")
    unit = key if body.key is None else body.key
    try:
        found = registry_of(request).act(
            name, lambda study: study.ask(body.count, segment=body.segment, key=unit, arms=body.arms)
        )
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None
    measures_of(request).count("decisions", len(found))
    return answer(found, 201)


@router.patch("/decisions/{id}", **answers(int, 404, 409, field="id"))
def tell(request: Request, name: StudyName, number: Id, body: Outcome) -> Response:
    """Record the outcome of a decision, whole or in part; repeating it changes nothing."""
    registry_of(request).act(
        name, lambda study: study.tell(number, body.mediators, reward=body.reward, final=body.final)
    )
    measures_of(request).count("outcomes")
    return answer({"id": number})


@router.patch("/decisions", **answers(int, 404, 409, field="id"))
def tell_key(request: Request, name: StudyName, body: KeyedOutcome) -> Response:
    """Record the outcome of a decision by its key, whole or in part; repeating it changes nothing."""

    def work(study: Study) -> int:
        study.tell(key=body.key, mediators=body.mediators, reward=body.reward, final=body.final)
        return study.decision(key=body.key)["id"]

    number = registry_of(request).act(name, work)
    measures_of(request).count("outcomes")
    return answer({"id": number})


@router.post("/decisions/{id}/abandon", **answers(int, 404, 409, field="id"))
def abandon(request: Request, name: StudyName, number: Id) -> Response:
    """Close a decision that will never get an outcome."""
    registry_of(request).act(name, lambda study: study.abandon(number))
    return answer({"id": number})


BATCH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {"type": "array", "items": {"type": "object"}},
                        {"$ref": "#/components/schemas/Table"},
                    ]
                },
                "example": ROWS_EXAMPLE,
            },
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": "\n".join(json.dumps(row) for row in ROWS_EXAMPLE),
            },
        },
    }
}


@router.post("/outcomes", **answers(int, 404, 409, field="told"), openapi_extra=BATCH)
async def tell_many(request: Request, name: StudyName, final: Annotated[bool, Query()] = False) -> Response:
    """Record many outcomes, all or none: rows with an id or a key as a JSON array or as NDJSON, or a table.

    In a row null marks a variable as missing; in a column it is not known yet, unless the row has its reward.
    """
    content = await request.body()
    ndjson, most = is_ndjson(request), request.app.state.settings.batch_rows

    def work() -> int:
        rows = table_in(content, most, ndjson=ndjson)
        return registry_of(request).act(name, lambda study: _tell_rows(study, rows, final))

    told = await to_thread.run_sync(work, limiter=request.app.state.batches)
    measures_of(request).count("outcomes", told)
    return answer({"told": told})


def is_ndjson(request: Request) -> bool:
    """Whether the body has one JSON value per line."""
    return "ndjson" in request.headers.get("content-type", "")


def _tell_rows(study: Study, rows: Any, final: bool) -> int:
    given = {name for row in rows for name in row} if isinstance(rows, list) else set(rows)
    problem = study.problem
    wanted = ["id", "key", *problem.observed_names, problem.target, *study.metrics]
    odd = sorted(given - {*OWN, *problem.intervention_names, *wanted})
    if odd:
        raise UnknownVariableError(
            f"{brief(odd[0])} is not a variable of this study; expected some of {listing(wanted)}"
        )
    return study.tell_many(rows, final=final)


IMPORT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Rows"}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


@router.post("/imports", **answers(int, 404, 409, field="imported"), openapi_extra=IMPORT)
async def import_rows(request: Request, name: StudyName, key: Key = None) -> Response:
    """Import logged rows as prior data: rows or columns as JSON, or rows as NDJSON; all or none."""
    content = await request.body()
    ndjson, most = is_ndjson(request), request.app.state.settings.batch_rows

    def work() -> int:
        frame, arm = (rows_in_lines(content, most), None) if ndjson else _frame_in(content, most)
        return registry_of(request).act(name, lambda study: study.import_rows(frame, arm=arm, key=key))

    try:
        return answer({"imported": await to_thread.run_sync(work, limiter=request.app.state.batches)})
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None


def _frame_in(content: bytes, most: int) -> tuple[Any, dict[str, Any] | None]:
    """Rows or columns, and the arm that they are from."""
    found = json_in(content)
    tables = {}
    if isinstance(found, dict):
        tables = {name: found.pop(name) for name in ("rows", "columns") if found.get(name) is not None}
    body = Rows.of(found)
    if len(tables) != 1:
        raise OptionError("an import has rows or columns; send one of them")
    if "rows" in tables:
        return checked_rows(tables["rows"], most), body.arm
    return checked_columns(tables["columns"], most), body.arm


@router.get("/decisions", **answers(DecisionPage, 404))
def decisions(
    request: Request,
    name: StudyName,
    after: Annotated[int, Query(ge=0, description="Start after this decision.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    key: Annotated[str | None, Query(description="Only the decision with this key.")] = None,
) -> Response:
    """Decisions with their outcomes so far, oldest first, in pages."""

    def work(study: Study) -> dict[str, Any]:
        if key is not None:
            return {"decisions": [study.decision(key=key)], "next": None}
        found = study.decisions(after, limit=limit + 1)
        more = len(found) > limit
        return {"decisions": found[:limit], "next": found[limit - 1]["id"] if more else None}

    return look(request, name, work)


@router.get("/decisions/{id}", **answers(DecisionRow, 404))
def decision(request: Request, name: StudyName, number: Id) -> Response:
    """One decision with its outcome so far."""
    return look(request, name, lambda study: study.decision(number))


# Exports: written to the disk first, so that a slow client keeps no large answer in memory


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


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


async def _export(
    request: Request, name: str, called: str, media: str, write: Callable[[Study, IO[bytes]], object]
) -> Response:
    slots = request.app.state.exports_sent

    def work(study: Study) -> Response:
        if not slots.acquire(blocking=False):
            raise RefusedError(503, "this server is sending too many exports; try again later", {"Retry-After": "5"})
        file = tempfile.TemporaryFile()  # noqa: SIM115 (the response closes it)

        async def done() -> None:
            file.close()
            slots.release()

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
        return ClosingResponse(_pieces(file), done, headers=headers, media_type=media)

    return await to_thread.run_sync(lambda: look_as(request, name, work), limiter=request.app.state.exports)
