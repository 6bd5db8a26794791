"""Arms that come and go: which changes are allowed, and the events they make."""

from collections.abc import Mapping

from ..errors import OptionError
from ..problem import Arm, Level, Problem
from .session import Draft


def change_arms(draft: Draft, how: str, arm: Arm | Mapping[str, Level]) -> None:
    """Retire, forbid or allow an arm (idempotent)."""
    state = draft.state
    number = state.problem.index(arm)
    if how == "allowed" and number in state.retired:
        raise OptionError(f"arm {state.problem.arms[number]} is retired permanently; add another arm instead")
    if how != "allowed" and not (set(range(len(state.problem.arms))) - state.retired - state.forbidden - {number}):
        raise OptionError(f"arm {state.problem.arms[number]} is the last one in play and cannot be removed")
    if (number in {"retired": state.retired}.get(how, state.forbidden)) == (how == "allowed"):
        draft.add("arms", {how: [number]})


def add_arm(draft: Draft, settings: Mapping[str, Level], *, new_levels: bool) -> Arm:
    """Add an arm, or return the existing one."""
    state = draft.state
    there = _arm_there(state.problem, settings)
    if there is not None:
        if there in state.retired:
            raise OptionError(
                f"arm {state.problem.arms[there]} already exists and is retired permanently; "
                "give another arm, for example with a new value of a lever"
            )
        return state.problem.arms[there]
    problem = state.problem.with_arm(settings, new_levels=new_levels)
    state.settings.make_policy(problem)  # refuses what is too large, before anything is stored
    draft.add("arms", {"added": dict(settings)})
    return problem.arms[-1]


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
