"""Arms that come and go: which changes are allowed, and the events they make."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...core.problem import Arm, Level, Problem
from ...errors import OptionError, brief
from .levels import arm_key, combinations, with_arms
from .segments import arms_in_segments, check_left, forbidden_too
from .session import Draft
from .state import StudyState

Change = Literal["retired", "forbidden", "allowed"]


def change_arms(draft: Draft, how: Change, numbers: Sequence[int]) -> Sequence[Arm]:
    """Retire, forbid or allow arms (idempotent); returns those that changed."""
    changed = changed_arms(draft.state, how, numbers)
    if changed:
        draft.add("arms", {how: [draft.state.problem.index(arm) for arm in changed]})
    return changed


def changed_arms(state: StudyState, how: Change, numbers: Sequence[int]) -> Sequence[Arm]:
    """The arms that would change; an error where they may not."""
    arms = state.problem.arms
    changed = [number for number in numbers if _changes(how, number, state.retired, state.forbidden)]
    if how == "allowed" and state.retired.issuperset(numbers):
        raise OptionError(f"{_named(arms, numbers)} retired permanently; add another arm instead")
    if how != "allowed" and not set(range(len(arms))) - state.retired - state.forbidden - set(numbers):
        last = "the last one" if len(numbers) == 1 else "the last ones"
        raise OptionError(f"{_named(arms, numbers)} {last} in play and cannot be removed")
    if how != "allowed" and state.problem.segments:
        check_left(state.problem, {*state.retired, *state.forbidden, *numbers})
    return [arms[number] for number in changed]


def _changes(how: Change, number: int, retired: set[int], forbidden: set[int]) -> bool:
    if number in retired:
        return False
    return {"retired": True, "forbidden": number not in forbidden, "allowed": number in forbidden}[how]


def _named(arms: Sequence[Arm], numbers: Sequence[int]) -> str:
    """The arms of a sentence, with the verb."""
    if len(numbers) == 1:
        return f"arm {arms[numbers[0]].label} is"
    return f"the {len(numbers)} arms {'; '.join(arms[number].label for number in numbers[:3])}, ... are"


def add_arm(draft: Draft, settings: Mapping[str, Level], *, new_levels: bool) -> Arm:
    """Add an arm, or return the existing one; with segments, in all of them that it does not rule out."""
    state = draft.state
    if state.problem.segments and isinstance(settings, Mapping):
        return _add_in_segments(draft, settings, new_levels=new_levels)
    there = _arm_there(state.problem, settings)
    if there is not None:
        if there in state.retired:
            raise OptionError(
                f"arm {state.problem.arms[there].label} already exists and is retired permanently; "
                "give another arm, for example with a new value of a lever"
            )
        return state.problem.arms[there]
    problem = state.problem.with_arm(settings, new_levels=new_levels)
    state.settings.make_policy(problem)  # rejects what is too large, before anything is stored
    draft.add("arms", {"added": dict(settings)})
    return problem.arms[-1]


def _add_in_segments(draft: Draft, settings: Mapping[str, Level], *, new_levels: bool) -> Arm:
    problem = draft.state.problem
    wanted = arms_in_segments(problem, settings, new_levels=new_levels)
    numbers = {arm_key(arm): number for number, arm in enumerate(problem.arms)}
    gone = [arm for arm in wanted if numbers.get(arm_key(arm)) in draft.state.retired]
    if gone:
        raise OptionError(f"arm {brief(gone[0])} already exists and is retired permanently; give another arm")
    new = [arm for arm in wanted if arm_key(arm) not in numbers]
    if new:
        problem = with_arms(problem, new)
        draft.state.settings.make_policy(problem)  # rejects what is too large, before anything is stored
        draft.add("arms", {"added_arms": new})
    return problem.arms[{arm_key(arm): number for number, arm in enumerate(problem.arms)}[arm_key(wanted[0])]].lever_arm


def add_level(draft: Draft, lever: str, level: Level) -> Sequence[Arm]:
    """Add a level of a lever or segment with all its combinations; returns the arms that are new."""
    state = draft.state
    variable = state.problem.intervention(lever)
    level = level.item() if isinstance(level, np.generic) else level
    if isinstance(level, bool | str | int | float) and variable.has(level):
        level = variable.levels[variable.code(level)]
    elif isinstance(level, str) and not level.strip():
        raise OptionError(f"level={brief(level)}; expected the name of a new level of {variable.name!r}")
    new = combinations(state.problem, variable.name, level, state.retired)
    if not new:
        return []
    problem = with_arms(state.problem, new)
    state.settings.make_policy(problem)  # rejects what is too large, before anything is stored
    body: dict[str, Any] = {"added_arms": new}
    forbidden = forbidden_too(state.problem, new, state.forbidden) if variable.name in problem.segments else []
    draft.add("arms", {**body, "forbidden": forbidden} if forbidden else body)
    return problem.arms[-len(new) :]


def _arm_there(problem: Problem, settings: object) -> int | None:
    """The number of the arm that has these settings, as values or as their text."""
    if not isinstance(settings, Mapping):
        return None
    levers = {problem.intervention(name): level for name, level in settings.items()}
    if not all(lever.has(level) for lever, level in levers.items()):
        return None
    wanted = {**problem.idle_settings, **{lever.name: level for lever, level in levers.items()}}
    same = (n for n, arm in enumerate(problem.arms) if all(str(arm[name]) == str(wanted[name]) for name in wanted))
    return next(same, None)
