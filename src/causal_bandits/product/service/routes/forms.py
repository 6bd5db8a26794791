"""What the dashboard does: forms that change a study, each with a page that says what will happen before it does.

Forms are plain HTML and need no script. The gate lets them pass only from a page of this server, by its Origin, and
only with the scope admin. Every change is an event of the study, and a line of the log.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ....core.markup import counted, in_path
from ....core.policies import Recommendation
from ....core.problem import Problem
from ....core.secrecy import without_secrets
from ....errors import CausalBanditsError, OptionError, brief
from ....reporting.study_page import study_page as report_of
from ....reporting.text import short
from ...options import FLAG, Option, StudyOptions, options_of
from ...studies import Study, level_like
from ...studies.answers import recommend
from ...studies.arm_patterns import combinations, matching
from ...studies.decisions import moment
from ...studies.edits import Change, DecisionFilter, changed_arms, would_exclude
from ...studies.history import read_time
from ...studies.settings import checked_name, make_settings
from ...studies.state import StudyState
from ..gate import MOST_FIELDS
from ..pages import figures
from ..pages.views import Given, View, arm_name, choices, pattern_of
from ..responses import StudyName, look_as, registry_of
from .pages import common, page, views_of
from .studies import UNREACHABLE

router = APIRouter(include_in_schema=False)

MOST_CHANGES = 50


class Plan(NamedTuple):
    """What a form will do: in a sentence, with the arms that it concerns, and the work itself."""

    says: str
    concerned: Sequence[str]
    work: Callable[[Study], object]


class Action(NamedTuple):
    """A form: its title, the words on its button, and what it plans; `grave` cannot be undone."""

    title: str
    button: str
    plan: Callable[[Study, Given], Plan]
    grave: bool = False


# What forms plan


def _changing(how: Change, method: str, promise: str) -> Callable[[Study, Given], Plan]:
    def plan(study: Study, given: Given) -> Plan:
        pattern = pattern_of(study.problem, given)
        arms = study._session.read(lambda state: changed_arms(state, how, matching(state.problem, pattern)))
        if not arms:
            raise OptionError(f"no arm with these levels would change: all are already {how} or retired")
        count = f"{len(arms):,} {'arm' if len(arms) == 1 else 'arms'}"
        named = [arm_name(study.problem, arm) for arm in arms]
        return Plan(f"{count} {promise}", named, lambda acting: getattr(acting, method)(pattern))

    return plan


def _plan_level(study: Study, given: Given) -> Plan:
    lever, text = given.get("lever", ""), given.get("level", "").strip()
    if not text:
        raise OptionError("the new level is empty; give it a name")
    problem = study.problem
    level = level_like(problem.intervention(lever), text)
    new = study._session.read(lambda state: combinations(state.problem, lever, level, state.retired))
    if not new:
        raise OptionError(f"{lever} already has the level {brief(level)} with every setting of the other levers")
    says = f"{short(problem.name_of(lever), 60)} gets the level {short(text, 60)}, which makes {len(new):,} new arms."
    return Plan(says, [arm_name(problem, arm) for arm in new], lambda acting: acting.add_level(lever, level))


def _plan_annotation(_: Study, given: Given) -> Plan:
    text = given.get("text", "").strip() or None
    at = f"{given.get('date', '')}T{given.get('time') or '00:00'}"
    when = f"{moment(read_time(at)):%Y-%m-%d %H:%M} UTC"
    says = f"The annotation of {when} is removed." if text is None else f"{when} is annotated: {text}"
    return Plan(says, [], lambda study: study.annotate(text, at))


def _plan_exclusion(study: Study, given: Given) -> Plan:
    pattern = pattern_of(study.problem, given)
    conditions: dict[str, Any] = {
        "since": given.get("since") or None,
        "until": given.get("until") or None,
        "arm": None if all(level is ... for level in pattern.values()) else pattern,
        "key_prefix": given.get("key_prefix") or None,
    }
    reason = given.get("reason", "").strip()
    if not reason:
        raise OptionError("the reason is empty; say why these decisions are excluded")
    if not any(conditions.values()):
        raise OptionError("no decisions are selected; give a time, levels of levers, or a key prefix")
    wanted = DecisionFilter(**conditions)
    study.publish()
    found = study._session.write(lambda draft: would_exclude(draft, wanted))
    every = study._session.read(lambda state: len(state.decisions))
    says = (
        f"{counted(len(found), 'decision')} of {every:,} will not count in any result. Later outcomes are "
        f"recorded but do not count either. Reason: {reason}"
    )
    return Plan(says, [], lambda acting: acting.exclude(reason=reason, **conditions))


def _plan_finish(study: Study, _: Given) -> Plan:
    def planned(state: StudyState) -> tuple[int, list[str], bool]:
        answer = recommend(state)
        best = [answer] if isinstance(answer, Recommendation) else [*answer]
        return (
            len(state.decisions.open),
            [arm_name(state.problem, each.arm) for each in best],
            state.settings.rules.get("after_finish") == "error",
        )

    left, winners, refuses = study._session.read(planned)
    end = f"{counted(left, 'open decision')} will be closed and will not count. " if left else ""
    after = "no more decisions are made" if refuses else "every decision gets the winner"
    says = (
        f"The study ends now. {end}From then on {after}, outcomes are refused, and the answer and the report stay as "
        f"they are. This cannot be undone. The winner{'s are' if len(winners) > 1 else ' is'}:"
    )
    return Plan(says, winners, lambda acting: acting.finish())


ACTIONS: dict[str, Action] = {
    "retire": Action(
        "Retire arms",
        "Retire permanently",
        _changing("retired", "retire", "will never be chosen again; their rows still count. This cannot be undone:"),
        grave=True,
    ),
    "forbid": Action(
        "Forbid arms", "Forbid", _changing("forbidden", "forbid", "will not be chosen until allowed again:")
    ),
    "allow": Action("Allow arms", "Allow", _changing("allowed", "allow", "will be chosen again:")),
    "add-level": Action("Add a level", "Add the level", _plan_level),
    "annotate": Action("Annotate a date", "Annotate", _plan_annotation),
    "exclude": Action("Exclude decisions", "Exclude", _plan_exclusion),
    "finish": Action("Finish the study", "Finish permanently", _plan_finish, grave=True),
}


# The pages


async def form_in(request: Request) -> dict[str, str]:
    """The fields of a form; of a field that comes twice the last one counts."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise OptionError(f"the form has more than {MOST_FIELDS:,} fields; send fewer") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


@router.get("/studies/{name}/manage")
def manage(request: Request, name: StudyName) -> Response:
    """The forms, downloads, and what was changed so far."""
    return look_as(request, name, lambda study: _manage_page(request, study, {}, ""))


def _manage_page(request: Request, study: Study, given: Given, error: str) -> Response:
    view = views_of(request).of(study)
    return page(
        request,
        "manage.html",
        status=422 if error else 200,
        **common(request, view, "manage.html"),
        **_forms(study, view),
        given=given,
        error=error,
    )


def _forms(study: Study, view: View) -> dict[str, Any]:
    return {
        "choices": choices(view.problem),
        "changes": study.audit(limit=MOST_CHANGES),
        "most_changes": MOST_CHANGES,
        "today": f"{datetime.now(UTC):%Y-%m-%d}",
        "annotations": [{**each, "time": datetime.fromisoformat(each["time"])} for each in view.about["annotations"]],
        "spell": figures.spell,
    }


@router.post("/studies/{name}/manage")
async def act(request: Request, name: StudyName) -> Response:
    """Say what a form will do; do it once that was confirmed."""
    given = await form_in(request)
    return await run_in_threadpool(_act, request, name, given)


def _act(request: Request, name: str, given: dict[str, str]) -> Response:
    registry = registry_of(request)
    back = f"{request.scope['root_path']}/studies/{in_path(name)}/manage"
    try:
        action = ACTIONS.get(given.get("do", ""))
        if action is None:
            raise OptionError(f"do={brief(given.get('do'))}; expected one of {', '.join(ACTIONS)}")
        plan = registry.look(name, lambda study: action.plan(study, given))
        if given.get("confirmed") != "yes":
            return page(request, "confirm.html", name=name, action=action, plan=plan, given=given, back=back)
        registry.act(name, plan.work)
    except CausalBanditsError as error:
        said = without_secrets(str(error))
        return registry.look(name, lambda study: _manage_page(request, study, given, said))
    return RedirectResponse(back, 303)


@router.get("/studies/{name}/report")
def report(request: Request, name: StudyName) -> Response:
    """The report of a study, to keep."""

    def work(study: Study) -> Response:
        text = report_of(study.report_values())
        headers = {"Content-Disposition": 'attachment; filename="report.html"'}
        return Response(text, headers=headers, media_type="text/html; charset=utf-8")

    return look_as(request, name, work)


# A study from a form: what it will be is shown as JSON before it is created


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
def new(request: Request) -> Response:
    """The empty form."""
    return _new_page(request, {}, "", "")


@router.post("/new")
async def create_study(request: Request) -> Response:
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
        return _new_page(request, given, preview, without_secrets(str(error)))
    return _new_page(request, given, preview, "")


def _new_page(request: Request, given: Given, preview: str, error: str) -> Response:
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
