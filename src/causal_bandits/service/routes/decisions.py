"""Ask and tell."""

import json
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Query
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from ...errors import ConflictError, OptionError, UnknownVariableError, brief, listing
from ...studies import Decision, DecisionRow, Explanation, Study
from ..answers import DecisionPage, Expired, Imported, Propensity, Recorded, Told
from ..bodies import Ask, Expiry, Outcome, Rows
from ..problems import KeyReusedError
from ..responses import Id, StudyName, answer, answers, errors_of, look, measures_of, registry_of
from ..tables import checked_columns, checked_rows, json_in, rows_in_lines, table_in

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["decisions"], responses=errors_of(404))


def in_utf8(text: str | None) -> str | None:
    """A header, which comes byte by byte."""
    return None if text is None else text.encode("latin-1").decode("utf-8", "replace")


Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="Repeating a key repeats the answer; nothing is done twice."),
    AfterValidator(in_utf8),
]
ROWS_EXAMPLE = [{"id": 1, "clicked": 1, "cart": "some", "purchase": 0}, {"id": 2, "clicked": 0}]
OWN = ("id", "status", "asked", "done")


@router.post("/decisions", **answers(list[Decision], 404, status=201))
def ask(request: Request, name: StudyName, body: Ask, key: Key = None) -> Response:
    """Make decisions; each is stored before it is answered. The same key again gives the same decisions."""
    try:
        found = registry_of(request).act(
            name, lambda study: study.ask(body.count, segment=body.segment, key=key, arms=body.arms)
        )
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None
    measures_of(request).count("decisions", len(found))
    return answer(found, 201)


@router.patch("/decisions/{id}", **answers(Recorded, 404, 409))
def tell(request: Request, name: StudyName, number: Id, body: Outcome) -> Response:
    """Record the outcome of a decision, whole or in part; the same again changes nothing."""
    registry_of(request).act(name, lambda study: study.tell(number, body.metrics, body.reward, final=body.final))
    measures_of(request).count("outcomes")
    return answer({"id": number})


@router.post("/decisions/{id}/abandon", **answers(Recorded, 404, 409))
def abandon(request: Request, name: StudyName, number: Id) -> Response:
    """Close a decision that will never get an outcome."""
    registry_of(request).act(name, lambda study: study.abandon(number))
    return answer({"id": number})


@router.post("/expire", **answers(Expired, 404))
def expire(request: Request, name: StudyName, body: Expiry) -> Response:
    """Close the open decisions that are older than this."""
    return answer({"expired": registry_of(request).act(name, lambda study: study.expire(body.older_than))})


BATCH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {"type": "array", "items": {"type": "object", "required": ["id"]}},
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


@router.post("/outcomes", **answers(Told, 404, 409, 413), openapi_extra=BATCH)
async def tell_many(request: Request, name: StudyName, final: Annotated[bool, Query()] = False) -> Response:
    """Record many outcomes, all or none: rows with an id as a JSON array or as NDJSON, or a table by its columns.

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
    wanted = ["id", *problem.observed_names, problem.target, *study.metrics]
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


@router.post("/imports", **answers(Imported, 404, 413), openapi_extra=IMPORT)
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
    after: Annotated[int, Query(ge=0, description="Begin after this decision.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Decisions with their outcomes so far, the oldest first, page by page."""

    def work(study: Study) -> dict[str, Any]:
        found = study.decisions(after, limit=limit + 1)
        more = len(found) > limit
        return {"decisions": found[:limit], "next": found[limit - 1]["id"] if more else None}

    return look(request, name, work)


@router.get("/decisions/{id}", **answers(DecisionRow, 404))
def decision(request: Request, name: StudyName, number: Id) -> Response:
    """One decision with its outcome so far."""
    return look(request, name, lambda study: study.decision(number))


@router.get("/decisions/{id}/explanation", **answers(Explanation, 404))
def explanation(request: Request, name: StudyName, number: Id) -> Response:
    """Why a decision was what it was: which set, own and borrowed rows, what was compared."""
    return look(request, name, lambda study: study.explain(number))


@router.get("/decisions/{id}/propensity", **answers(Propensity, 404))
def propensity(request: Request, name: StudyName, number: Id) -> Response:
    """The probability with which the arm of a decision was chosen."""
    return look(request, name, lambda study: {"id": number, "propensity": study.propensity(number)})
