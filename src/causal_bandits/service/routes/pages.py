"""The pages, rendered here; they work without JavaScript but for live updates."""

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...errors import CausalBanditsError
from ...reporting.axes import PLAIN
from ...reporting.charts import strip_axis
from ...secrecy import without_secrets
from ...studies import Study
from ..gate import in_path
from ..pages import figures, funnels, moments, sentences, sets
from ..pages.views import View, Views
from ..rendering import render
from ..responses import Id, StudyName, look_as, registry_of

router = APIRouter(include_in_schema=False)

MOST_ARMS = 12
"""That are drawn unless all are asked for."""
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
}

Arms = Annotated[str, Query(max_length=10)]


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """One page of this server."""
    tokens = bool(request.app.state.settings.tokens)
    return HTMLResponse(render(template, root_path=request.scope["root_path"], signed_in=tokens, **values), status)


def views_of(request: Request) -> Views:
    """What pages have seen of studies."""
    views: Views = request.app.state.views
    return views


def study_page(request: Request, name: str, template: str, work: Callable[[Study, View], dict[str, Any]]) -> Response:
    """One page of a study; 304 if nothing has happened since it was last asked for."""

    def looked(study: Study) -> Response:
        view = views_of(request).of(study)
        return page(request, template, **_common(request, view, template), **work(study, view))

    return look_as(request, name, looked)


def _common(request: Request, view: View, template: str) -> dict[str, Any]:
    """What all pages of a study show."""
    here = f"{request.scope['root_path']}/studies/{in_path(view.about['name'])}"
    return {"about": view.about, "view": view, "here": here, "tab": TABS[template]}


def _waits(study: Study) -> dict[str, Any]:
    return {"waits": study.waiting(), "duration": moments.duration}


@router.get("/")
def studies(request: Request) -> Response:
    """All studies."""
    return page(request, "studies.html", lines=_listed(request), place=registry_of(request).place)


def _listed(request: Request) -> list[dict[str, Any]]:
    """The newest first, each with what is known as far as there is time to look."""
    registry, views = registry_of(request), views_of(request)
    until = time.monotonic() + LIST_SECONDS
    lines = []
    for row in reversed(registry.list()):
        view: View | None = None
        error = row.error
        if row.created is not None and time.monotonic() >= until:
            kept = views.kept((row.name, row.created))
            view = None if kept is None else kept.view
        elif error is None:
            try:
                view = registry.look(row.name, views.of)
            except CausalBanditsError as refused:  # damaged, or deleted meanwhile: the others are listed all the same
                error = without_secrets(str(refused))
        answer = sentences.answers(view) if view is not None else []
        lines.append(
            {
                "row": row,
                "created": row.created,
                "view": view,
                "answer": answer[0] if answer else None,
                "error": error,
            }
        )
    return lines


@router.get("/studies/{name}")
def study(request: Request, name: StudyName, arms: Arms = "") -> Response:
    """One study: what is known, how sure, what to do."""

    def work(_: Study, view: View) -> dict[str, Any]:
        rows = view.about["arms"]
        drawn = rows if arms == "all" else rows[:MOST_ARMS]
        axis = figures.arms_axis(drawn, sentences.unit_of(view.problem))
        segments = range(len(view.problem.segment_settings))
        wanted = sorted({int(view.problem.arm_segments[arm]) for arm in view.coloured})
        return {
            "answers": sentences.answers(view),
            "axis": strip_axis(axis),
            "lines": figures.arm_lines(view, drawn, axis),
            "best": [
                (view.problem.segment_settings[place], figures.best(view, place))
                for place in segments
                if place in wanted
            ],
            "traffic": figures.traffic(view),
            "rewards": figures.rewards(view),
            "newest": figures.newest(view),
            "control": figures.control_row(view),
            "less": sentences.less_costs(view),
            "unit": sentences.unit_of(view.problem),
        }

    return study_page(request, name, "study.html", work)


@router.get("/studies/{name}/sets")
def study_sets(request: Request, name: StudyName) -> Response:
    """The separating sets: evidence over time, drift."""

    def work(_: Study, view: View) -> dict[str, Any]:
        evidence, note = sets.evidence(view)
        averaged = sets.are_averaged(view)
        return {"lines": sets.set_lines(view), "evidence": evidence, "note": note, "averaged": averaged}

    return study_page(request, name, "sets.html", work)


@router.get("/studies/{name}/funnel")
def study_funnel(request: Request, name: StudyName) -> Response:
    """Lever, mediator, reward: the effect on every step."""

    def work(study: Study, view: View) -> dict[str, Any]:
        found, unit = study.funnel(), sentences.unit_of(view.problem)
        return {
            "drawn": funnels.drawing(found, view.problem),
            "steps": (
                ("Levers to mediators", funnels.lines(found.to_mediators, PLAIN)),
                (f"Mediators to {view.about['target']}", funnels.lines(found.mediators_to_reward, unit)),
                (
                    f"Levers to {view.about['target']}{sentences.less_costs(view)}",
                    funnels.lines(found.levers_to_reward, unit),
                ),
            ),
        }

    return study_page(request, name, "funnel.html", work)


@router.get("/studies/{name}/decisions")
def study_decisions(request: Request, name: StudyName, before: Annotated[int | None, Query(ge=1)] = None) -> Response:
    """Decisions, the newest first."""

    def work(study: Study, view: View) -> dict[str, Any]:
        made = view.about["decisions"]["all"]
        last = made if before is None else min(before - 1, made)
        rows = study.decisions(max(last - AT_ONCE, 0), limit=max(min(AT_ONCE, last), 1)) if last > 0 else []
        return {
            "rows": [(row, view.names.of(row["arm"]), view.names.segment_of(row["arm"])) for row in reversed(rows)],
            "older": last - AT_ONCE + 1 if last > AT_ONCE else None,
            "newer": None if last >= made else min(last + AT_ONCE + 1, made + 1),
            "spell": moments.spell,
            "values": moments.values,
        }

    return study_page(request, name, "decisions.html", work)


@router.get("/studies/{name}/decisions/{id}")
def decision(request: Request, name: StudyName, number: Id, arms: Arms = "") -> Response:
    """Why a decision was what it was."""

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
            "row": study.decision(number),
            "compared": moments.compared(view, found, most),
            "spell": moments.spell,
            "values": moments.values,
            "unit": sentences.unit_of(view.problem),
        }

    return study_page(request, name, "decision.html", work)


@router.get("/studies/{name}/health")
def health(request: Request, name: StudyName) -> Response:
    """Open, late, missing and pending outcomes; ages change with the clock, so this page has no ETag."""

    def looked(study: Study) -> Response:
        view = views_of(request).of(study)
        return page(request, "health.html", **_common(request, view, "health.html"), **_waits(study))

    return registry_of(request).look(name, looked)
