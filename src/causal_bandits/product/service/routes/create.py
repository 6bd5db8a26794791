"""A study from a form: what it will be is shown as JSON before it is created."""

import csv
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ....core.markup import in_path
from ....core.problem import Problem
from ....core.secrecy import without_secrets
from ....errors import CausalBanditsError, OptionError, brief
from ...options import FLAG, Option, StudyOptions, options_of
from ...studies.settings import checked_name, make_settings
from ..pages.views import Given
from ..responses import registry_of
from .manage import form_in
from .pages import page
from .studies import UNREACHABLE

router = APIRouter(include_in_schema=False)

FIRST = ("title", "description", "control", "control_share", "reward_window", "guardrails")
"""Options that the form shows at once; the others are folded away."""
REWARDS = {
    "binary": "0 or 1: a purchase, a click",
    "count": "a count: orders, visits",
    "revenue": "revenue: 0 or an amount",
    "real": "any number",
}


class Field(NamedTuple):
    """An option in the form."""

    name: str
    option: Option
    choices: list[str]
    value: str


def fields(given: Given) -> list[Field]:
    """Every option of a study, in the order of the form."""
    known = options_of(StudyOptions)
    names = [*(name for name in FIRST if name in known), *(name for name in known if name not in FIRST)]
    return [
        Field(name, known[name], [*known[name].kind.schema.get("enum", [])], given.get(f"option {name}", ""))
        for name in names
    ]


def body_of(given: Given) -> dict[str, Any]:
    """What `POST /api/v1/studies` would be sent for a form."""
    problem: dict[str, Any] = {
        "target": given.get("target", "").strip(),
        "observed": dict(_variables("mediators", given)),
        "interventions": dict(_variables("levers", given)),
        "reward": given.get("reward") or "binary",
    }
    segments = dict(_variables("segments", given))
    if segments:
        problem["segments"] = segments
    for role in ("names", "descriptions"):
        texts = dict(_lines(role, given))
        if texts:
            problem[role] = texts
    return {"name": given.get("name", "").strip(), "problem": problem, **_options(given)}


def _options(given: Given) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, option, _, text in fields(given):
        if not text.strip():
            continue
        if option.kind.many:
            found[name] = [line.strip() for line in text.splitlines() if line.strip()]
        elif option.kind is FLAG:
            found[name] = True
        else:
            found[name] = option.kind.from_text(name, text.strip())
    return found


def _lines(role: str, given: Given) -> list[tuple[str, str]]:
    """Lines of the form `name: something`."""
    found = []
    for line in given.get(role, "").splitlines():
        if line.strip():
            name, sign, rest = line.partition(":")
            if not sign or not name.strip() or not rest.strip():
                raise OptionError(f"{role}: {brief(line.strip())} is not of the form name: value")
            found.append((name.strip(), rest.strip()))
    return found


def _variables(role: str, given: Given) -> list[tuple[str, Any]]:
    """Variables from lines such as `headline: plain, social`, `clicked: 2` or `minutes: real`."""
    return [(name, levels_in(text)) for name, text in _lines(role, given)]


def levels_in(text: str) -> Any:
    """Levels from their text: their number, their names with commas between, or real.

    >>> levels_in("2"), levels_in("plain, social"), levels_in("5, 10"), levels_in("real")
    (2, ['plain', 'social'], [5, 10], 'real')
    """
    if text == "real":
        return text
    levels: list[Any] = [level.strip() for level in next(csv.reader([text], skipinitialspace=True), [])]
    for kind in (int, float):
        try:
            levels = [kind(level) for level in levels]
            break
        except ValueError:
            continue
    return levels[0] if len(levels) == 1 and isinstance(levels[0], int) else levels


def checked(body: Mapping[str, Any]) -> Problem:
    """Validate all of it, as creating the study would; nothing is stored."""
    if checked_name(body["name"]).strip() in UNREACHABLE:
        raise OptionError(f"name={body['name']!r} cannot be part of a URL; use another name")
    problem = Problem.from_dict(body["problem"])
    make_settings(problem, {name: value for name, value in body.items() if name not in ("name", "problem")})
    return problem


@router.get("/new")
def form(request: Request) -> Response:
    """The empty form."""
    return _page(request, {}, "", "")


@router.post("/new")
async def create(request: Request) -> Response:
    """Preview the study, or create it."""
    given = await form_in(request)
    return await run_in_threadpool(_create, request, given)


def _create(request: Request, given: dict[str, str]) -> Response:
    preview = ""
    try:
        body = body_of(given)
        preview = json.dumps(body, indent=2, ensure_ascii=False)
        problem = checked(body)
        if given.get("do") == "create":
            options = {name: value for name, value in body.items() if name not in ("name", "problem")}
            study = registry_of(request).create(body["name"], problem, options)
            if not study.is_new:
                raise OptionError(f"study {brief(body['name'])} already exists; use another name")
            return RedirectResponse(f"{request.scope['root_path']}/studies/{in_path(body['name'])}", 303)
    except CausalBanditsError as error:
        return _page(request, given, preview, without_secrets(str(error)))
    return _page(request, given, preview, "")


def _page(request: Request, given: Given, preview: str, error: str) -> Response:
    known = fields(given)
    return page(
        request,
        "new.html",
        status=422 if error else 200,
        given=given,
        rewards=REWARDS,
        shown=[each for each in known if each.name in FIRST],
        more=[each for each in known if each.name not in FIRST],
        preview=preview,
        error=error,
    )
