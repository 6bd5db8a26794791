"""Arms that come and go."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from ...errors import UnknownArmError, brief
from ...problem import Arm, Problem
from ...studies import Study, parse_pattern
from ..answers import Arms
from ..bodies import ArmState, NewArm, NewLevel
from ..gate import name_in
from ..responses import StudyName, answer, answers, errors_of, registry_of

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["arms"], responses=errors_of(404))

Named = Annotated[
    str,
    Path(
        alias="arm",
        description="An arm: banner=red,discount=10% or a JSON object lever -> level; `...`, in JSON null, is any "
        "level, and levers that are not named are idle.",
        examples=["banner=red,discount=..."],
    ),
    AfterValidator(name_in),
]


def pattern_in(problem: Problem, text: str) -> dict[str, Any]:
    """The arms that a part of an address names."""
    if not text.lstrip().startswith("{"):
        return parse_pattern(problem, text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UnknownArmError(f"{brief(text)} is not an arm; expected a JSON object lever -> level") from None
    if not all(level is None or isinstance(level, bool | int | float | str) for level in found.values()):
        raise UnknownArmError(f"{brief(text)} is not an arm; a level is a text, a number, true, false, or null for any")
    return {name: ... if level is None else level for name, level in found.items()}


@router.put("/arms/{arm}/state", **answers(Arms, 404))
def change(request: Request, name: StudyName, arm: Named, body: ArmState) -> Response:
    """Allow, forbid or retire an arm, or all that match; answers with those that changed."""

    def work(study: Study) -> Sequence[Arm]:
        doing = {"allowed": study.allow, "forbidden": study.forbid, "retired": study.retire}
        return doing[body.state](pattern_in(study.problem, arm))

    return answer({"arms": registry_of(request).act(name, work)})


@router.post("/arms", **answers(Arms, 404))
def add_arm(request: Request, name: StudyName, body: NewArm) -> Response:
    """One more arm; one that is there already stays as it is."""
    made = registry_of(request).act(name, lambda study: study.add_arm(body.arm, new_levels=body.new_levels))
    return answer({"arms": [made]})


@router.post("/levels", **answers(Arms, 404))
def add_level(request: Request, name: StudyName, body: NewLevel) -> Response:
    """A new level of a lever, with every setting of the other levers; answers with the new arms."""
    return answer({"arms": registry_of(request).act(name, lambda study: study.add_level(body.lever, body.level))})
