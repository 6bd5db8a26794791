"""The pages and their files; pages are rendered here and work without JavaScript but for live updates."""

import mimetypes
import time
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from ....core.markup import in_path
from ....core.secrecy import without_secrets
from ....errors import CausalBanditsError
from ....reporting.axes import PLAIN, duration
from ....reporting.sheets import listed
from ....reporting.study_page import answers, best_arms, evidence_figure, less_costs, notes_of, unit_of
from ...studies import DecisionRow, Study
from ...studies.history import STATUSES, decision_row, select_decisions
from ...studies.state import StudyState
from ..pages import figures, views
from ..pages.views import LEVER, STATIC, Given, View, Views, choices, pattern_of, render
from ..responses import Id, StudyName, registry_of, unless_known

router = APIRouter(include_in_schema=False)

MOST_ARMS = 12
"""That are drawn unless all are asked for."""
MOST_STEPS = 200
"""Of the funnel, in each table."""
AT_ONCE = 50
"""Decisions on a page."""
LIST_SECONDS = 0.25
"""How long the list of studies may look at studies that have changed; of others it says what was seen last."""

TABS = {
    "study.html": "Overview",
    "sets.html": "Sets",
    "funnel.html": "Funnel",
    "decisions.html": "Decisions",
    "decision.html": "Decisions",
    "health.html": "Health",
    "manage.html": "Manage",
}

COMPARED_ARMS = 6
"""Of each of two studies side by side."""

Arms = Annotated[str, Query(max_length=10)]
Chosen = Annotated[str, Query(max_length=1000)]


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """One page of this server."""
    common = {
        "root_path": request.scope["root_path"],
        "signed_in": bool(request.app.state.settings.tokens),
        "may_change": may_change(request),
    }
    return HTMLResponse(render(template, **common, **values), status)


def may_change(request: Request) -> bool:
    """Whether the sender has the scope admin; others see no forms, and the gate refuses what they send."""
    return bool(request.scope.get("state", {}).get("held") == "admin")


def views_of(request: Request) -> Views:
    """What pages have seen of studies."""
    found: Views = request.app.state.views
    return found


def study_page(request: Request, name: str, template: str, work: Callable[[Study, View], dict[str, Any]]) -> Response:
    """One page of a study; 304 if nothing has happened since it was last asked for."""

    def looked(study: Study) -> Response:
        view = views_of(request).of(study)

        def make() -> Response:
            return page(request, template, **common(request, view, template), **work(study, view))

        return unless_known(request, view.mark + "r" * (not may_change(request)), make) if view.is_newest else make()

    return registry_of(request).look(name, looked)


def common(request: Request, view: View, template: str) -> dict[str, Any]:
    """What all pages of a study show."""
    return {
        "about": view.about,
        "view": view,
        "problem": view.problem,
        "here": address_of(request, view.about["name"]),
        "tab": TABS[template],
    }


def address_of(request: Request, name: str) -> str:
    """Where the pages of a study begin."""
    return f"{request.scope['root_path']}/studies/{in_path(name)}"


@router.get("/")
def studies(request: Request) -> Response:
    """All studies."""
    return page(request, "studies.html", lines=_listed(request), address=registry_of(request).address)


def _listed(request: Request) -> list[dict[str, Any]]:
    """The newest first; those that there is no time to read are shown as they were last seen."""
    registry, seen = registry_of(request), views_of(request)
    until = time.monotonic() + LIST_SECONDS
    lines = []
    for row in reversed(registry.list()):
        view: View | None = None
        error = row.error
        if row.created is not None and time.monotonic() >= until:
            kept = seen.kept((row.name, row.created))
            view = None if kept is None else kept.view
        elif error is None:
            try:
                view = registry.look(row.name, seen.of)
            except CausalBanditsError as refused:  # corrupt, or deleted meanwhile: the others are listed all the same
                error = without_secrets(str(refused))
        first = answers(view.about)[0] if view is not None else None
        lines.append({"row": row, "created": row.created, "view": view, "answer": first, "error": error})
    return lines


@router.get("/studies/{name}")
def study(request: Request, name: StudyName, arms: Arms = "") -> Response:
    """One study: the answer, how certain it is, and what to do."""

    def work(_: Study, view: View) -> dict[str, Any]:
        rows = view.about["arms"]
        unit = unit_of(view.about["reward"])
        return {
            "answers": answers(view.about),
            "arms": figures.ArmsTable(view, rows if arms == "all" else best_arms(rows, MOST_ARMS)),
            "best": figures.best_by_segment(view),
            "traffic": figures.traffic(view),
            "rewards": figures.rewards(view),
            "less": less_costs(view.about),
            "unit": unit,
            "effects_unit": unit.changes(row["effect"]["absolute"] for row in view.about.get("effects", [])),
        }

    return study_page(request, name, "study.html", work)


@router.get("/compare")
def compare(request: Request, left: Chosen = "", right: Chosen = "") -> Response:
    """Two studies side by side."""
    names = [row for row in registry_of(request).list() if row.error is None]
    newest = [row.name for row in reversed(names)]
    chosen = {"left": left or (newest[0] if newest else ""), "right": right or (newest[1] if len(newest) > 1 else "")}
    sides = [_side(request, name) for name in chosen.values() if name]
    return page(request, "compare.html", names=names, chosen=chosen, sides=sides)


def _side(request: Request, name: str) -> dict[str, Any]:
    view = registry_of(request).look(name, views_of(request).of)
    return {
        "about": view.about,
        "problem": view.problem,
        "here": address_of(request, name),
        "answers": answers(view.about),
        "arms": figures.ArmsTable(view, best_arms(view.about["arms"], COMPARED_ARMS)),
        "alarms": sum(check["alarm"] for check in view.about.get("health", [])),
        "best": figures.best_by_segment(view),
    }


@router.get("/studies/{name}/sets")
def study_sets(request: Request, name: StudyName) -> Response:
    """The separating sets: evidence over time, drift."""

    def work(_: Study, view: View) -> dict[str, Any]:
        evidence = evidence_figure(view.about["evidence_over_time"], notes_of(view.about["annotations"]))
        averaged = any(found["evidence"]["probability"] is not None for found in view.about["sets"])
        return {"sets": listed(view.about["sets"]), "evidence": evidence, "averaged": averaged}

    return study_page(request, name, "sets.html", work)


@router.get("/studies/{name}/funnel")
def study_funnel(request: Request, name: StudyName) -> Response:
    """Lever, mediator, reward: the effect on every step."""

    def work(study: Study, view: View) -> dict[str, Any]:
        found, unit = study.funnel(), unit_of(view.about["reward"])
        target = view.about["target"]
        tables = (
            ("Levers to mediators", found.to_mediators, PLAIN),
            (f"Mediators to {target}", found.mediators_to_reward, unit),
            (f"Levers to {target}{less_costs(view.about)}", found.levers_to_reward, unit),
        )
        return {
            "drawn": figures.drawing(found, view.problem, unit),
            "tables": [
                (title, steps[:MOST_STEPS], figures.step_units(steps, of_steps)) for title, steps, of_steps in tables
            ],
            "target_of": figures.target_of,
            "verdict_of": figures.verdict_of,
        }

    return study_page(request, name, "funnel.html", work)


@router.get("/studies/{name}/decisions")
def study_decisions(request: Request, name: StudyName, before: Annotated[int | None, Query(ge=1)] = None) -> Response:
    """Decisions, newest first, optionally filtered."""
    given = {key: value for key, value in request.query_params.items() if value and key != "before"}

    def work(study: Study, view: View) -> dict[str, Any]:
        error = ""
        try:
            made, last, rows = study._session.read(lambda state: _chosen(state, given, before))
        except CausalBanditsError as refused:
            (made, last, rows), error = ([], 0, []), str(refused)
        query = urlencode(given)
        return {
            "rows": rows,
            "older": f"{query}&before={made[last - AT_ONCE]}" if last > AT_ONCE else None,
            "newer": f"{query}&before={made[last + AT_ONCE] if last + AT_ONCE < len(made) else made[-1] + 1}"
            if last < len(made)
            else None,
            "count": len(made),
            "given": given,
            "error": error,
            "statuses": STATUSES,
            "choices": choices(view.problem),
            "spell": figures.spell,
            "values": figures.values,
        }

    return study_page(request, name, "decisions.html", work)


def _chosen(state: StudyState, given: Given, before: int | None) -> tuple[list[int], int, list[DecisionRow]]:
    """The decisions that a filter leaves, the oldest first, and a page: where it ends, and its rows, newest first."""
    until = given.get("until")
    found = select_decisions(
        state,
        status=given.get("status"),
        arm=pattern_of(state.problem, given) if any(key.startswith(LEVER) for key in given) else None,
        since=given.get("since"),
        until=None if until is None else until if "T" in until else f"{until}T23:59:59.999999",
    )
    last = len(found) if before is None else int(np.searchsorted(found, before))
    return found, last, [decision_row(state, number) for number in reversed(found[max(last - AT_ONCE, 0) : last])]


@router.get("/studies/{name}/decisions/{id}")
def decision(request: Request, name: StudyName, number: Id, arms: Arms = "") -> Response:
    """A decision explained."""

    def work(study: Study, view: View) -> dict[str, Any]:
        found = view.explained.get(number)
        if found is None:
            found = study.explain(number)
            while len(view.explained) >= AT_ONCE:
                view.explained.pop(next(iter(view.explained)))
            view.explained[number] = found
        most = None if arms == "all" else MOST_ARMS
        return {
            "found": found,
            "through": found.estimate.through and [view.problem.name_of(name) for name in found.estimate.through],
            "row": study.decision(number),
            **figures.compared(found, most, unit_of(view.about["reward"])),
            "spell": figures.spell,
            "values": figures.values,
        }

    return study_page(request, name, "decision.html", work)


@router.get("/studies/{name}/health")
def health(request: Request, name: StudyName) -> Response:
    """Open, late, missing and pending outcomes; ages change with the clock, so this page has no ETag.

    Checks of a large study take seconds, so its page shows those of its view.
    """

    def looked(study: Study) -> Response:
        view = views_of(request).of(study)
        found = view.about["health"] if views.is_large(view) else study.health()
        shown = {"health": found, "alarms": study.alarms(), "waits": study.waiting(), "duration": duration}
        return page(request, "health.html", **{**common(request, view, "health.html"), **shown})

    return registry_of(request).look(name, looked)


FILES = StaticFiles(directory=STATIC)
for _type, _ending in (("text/javascript", ".js"), ("application/typescript", ".ts")):
    mimetypes.add_type(_type, _ending)  # where the system's table may say something else


@router.get("/static/{file}")
async def static(request: Request, file: str) -> Response:
    """A style sheet or a script."""
    return await FILES.get_response(file, request.scope)
