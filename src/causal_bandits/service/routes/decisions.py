"""Ask and tell."""

import json
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Query
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ...errors import ConflictError, OptionError, UnknownVariableError, brief, listing
from ...studies import Study
from .. import answers
from ..answering import Id, StudyName, answer, desk_of, errors_of, look, measures_of
from ..bodies import Ask, Expiry, Outcome, Rows, Table, Value
from ..deciding import asked, in_utf8, read, told
from ..plain import plain
from ..problems import KeyReusedError, sentence

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["decisions"], responses=errors_of(404))
T = TypeVar("T", bound=BaseModel)

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="Repeating a key repeats the answer; nothing is done twice."),
    AfterValidator(in_utf8),
]
_ROWS: TypeAdapter[list[dict[str, Value]]] = TypeAdapter(list[dict[str, Value]])
ROWS_EXAMPLE = [{"id": 1, "clicked": 1, "cart": "some", "purchase": 0}, {"id": 2, "clicked": 0}]
OWN = ("id", "status", "asked", "done")


def documented(kind: type[BaseModel]) -> dict[str, Any]:
    """What the OpenAPI document says of a body that a route reads by itself."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.post("/decisions", response_model=answers.Decisions, status_code=201, openapi_extra=documented(Ask))
async def ask(request: Request, name: StudyName, key: Key = None) -> Response:
    """Make decisions; each is stored before it is answered. The same key again gives the same decisions."""
    content = await request.body()
    desk, measures = desk_of(request), measures_of(request)
    found = await run_in_threadpool(lambda: asked(desk, measures, name, read(Ask, content), key))
    return found.response()


@router.patch(
    "/decisions/{id}",
    response_model=answers.Recorded,
    responses=errors_of(404, 409),
    openapi_extra=documented(Outcome),
)
async def tell(request: Request, name: StudyName, number: Id) -> Response:
    """Record the outcome of a decision, whole or in part; the same again changes nothing."""
    content = await request.body()
    desk, measures = desk_of(request), measures_of(request)
    found = await run_in_threadpool(lambda: told(desk, measures, name, number, read(Outcome, content)))
    return found.response()


@router.post("/decisions/{id}/abandon", response_model=answers.Recorded, responses=errors_of(404, 409))
def abandon(request: Request, name: StudyName, number: Id) -> Response:
    """Close a decision that will never get an outcome."""
    desk_of(request).act(name, lambda study: study.abandon(number))
    return answer({"id": number})


@router.post("/expire", response_model=answers.Expired)
def expire(request: Request, name: StudyName, body: Expiry) -> Response:
    """Close the open decisions that are older than this."""
    return answer({"expired": [*desk_of(request).act(name, lambda study: study.expire(body.older_than))]})


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


@router.post("/outcomes", response_model=answers.Told, responses=errors_of(404, 409, 413), openapi_extra=BATCH)
async def tell_many(request: Request, name: StudyName, final: Annotated[bool, Query()] = False) -> Response:
    """Record many outcomes, all or none: rows with an id as a JSON array or as NDJSON, or a table by its columns.

    In a row null marks a variable as missing; in a column it is not known yet, unless the row has its reward.
    """
    content = await request.body()
    ndjson = "ndjson" in request.headers.get("content-type", "")

    def work() -> int:
        rows = table_in(content, ndjson=ndjson)
        return desk_of(request).act(name, lambda study: _tell_rows(study, rows, final))

    told = await run_in_threadpool(work)
    measures_of(request).count("outcomes", told)
    return answer({"told": told})


def _tell_rows(study: Study, rows: Any, final: bool) -> int:
    given = {name for row in rows for name in row} if isinstance(rows, list) else set(rows)
    problem = study.problem
    known = {*OWN, *problem.intervention_names, *problem.observed_names, problem.target}
    odd = sorted(given - known)
    if odd:
        wanted = listing(["id", *problem.observed_names, problem.target])
        raise UnknownVariableError(f"{brief(odd[0])} is not a variable of this study; expected id and some of {wanted}")
    return study.tell_many(rows, final=final)


def table_in(content: bytes, *, ndjson: bool) -> list[dict[str, Any]] | dict[str, list[Any]]:
    """Rows or columns from a body."""
    found = lines_in(content) if ndjson else json_in(content)
    if isinstance(found, dict):
        return checked(Table, found).columns
    try:
        return _ROWS.validate_python(found)
    except ValidationError as error:
        raise OptionError(f"row {_place(error)}: {_sentence(error)}") from None


def lines_in(content: bytes) -> list[Any]:
    """The values of NDJSON."""
    lines = content.split(b"\n")
    return [json_in(line, f"line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def json_in(content: bytes, what: str = "the body") -> Any:
    """The value of a text."""
    try:
        return json.loads(content)
    except RecursionError:
        raise OptionError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise OptionError(f"{what} is not JSON ({' '.join(str(error).split())[:160]})") from None


def checked(kind: type[T], value: Any) -> T:
    """A body of a kind, or one sentence."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise OptionError(_sentence(error)) from None


def _sentence(error: ValidationError) -> str:
    first: dict[str, Any] = dict(error.errors(include_url=False)[0])
    return sentence({**first, "loc": ("body", *first["loc"])})


def _place(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]["loc"]
    return str(first[0] + 1) if first and isinstance(first[0], int) else "?"


IMPORT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Rows"}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


@router.post("/imports", response_model=answers.Imported, responses=errors_of(404, 413), openapi_extra=IMPORT)
async def import_rows(request: Request, name: StudyName, key: Key = None) -> Response:
    """Import logged rows as prior data: rows or columns as JSON, or rows as NDJSON; all or none."""
    content = await request.body()
    ndjson = "ndjson" in request.headers.get("content-type", "")

    def work() -> int:
        body = checked(Rows, {"rows": lines_in(content)} if ndjson else json_in(content))
        if (body.rows is None) == (body.columns is None):
            raise OptionError("an import has rows or columns; send one of them")
        frame: Any = body.columns if body.rows is None else body.rows
        return desk_of(request).act(name, lambda study: study.import_rows(frame, arm=body.arm, key=key))

    try:
        return answer({"imported": await run_in_threadpool(work)})
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None


@router.get("/decisions", response_model=answers.Page)
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


@router.get("/decisions/{id}", response_model=answers.OneDecision)
def decision(request: Request, name: StudyName, number: Id) -> Response:
    """One decision with its outcome so far."""
    return look(request, name, lambda study: study.decision(number))


@router.get("/decisions/{id}/explanation", response_model=answers.Explanation)
def explanation(request: Request, name: StudyName, number: Id) -> Response:
    """Why a decision was what it was: which set, own and borrowed rows, what was compared."""
    return look(request, name, lambda study: study.explain(number))


@router.get("/decisions/{id}/propensity", response_model=answers.Propensity)
def propensity(request: Request, name: StudyName, number: Id) -> Response:
    """The probability with which the arm of a decision was chosen."""
    return look(request, name, lambda study: plain({"id": number, "propensity": study.propensity(number)}))
