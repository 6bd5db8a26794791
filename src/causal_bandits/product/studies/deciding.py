"""Deciding: how a study chooses, from its settings, its events and the random numbers of the decision alone.

The policy chooses within the rules of the study. All functions are of a state, which they do not change.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Bools, Floats
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Level
from ...core.seeds import stream
from ...errors import OptionError, StudyFinishedError, brief
from .decisions import moment
from .shares import Portions, portions
from .state import StudyState

NOTHING_LEFT = "every arm breaks a guardrail and the study has no control to fall back on; name one in control="


def status(state: StudyState, number: int) -> str | None:
    """Why an arm is not in play: retired, forbidden, or the guardrails it breaks; None if it is."""
    if number in state.retired or number in state.forbidden:
        return "retired" if number in state.retired else "forbidden"
    broken = breaks(state, number)
    if not broken:
        return None
    return f"breaks {broken}; still played, as the control" if number in state.controls else f"breaks {broken}"


def breaks(state: StudyState, number: int) -> str:
    """The guardrails that an arm breaks."""
    if not state.rules.guardrails:
        return ""
    found = state.guards.broken(state.policy)[:, number]
    return ", ".join(str(rail) for rail, broken in zip(state.rules.guardrails, found, strict=True) if broken)


def _random(state: StudyState, number: int) -> np.random.Generator:
    """The random numbers of a decision."""
    return np.random.default_rng(stream(state.settings.seed, number))


def _mask(state: StudyState, among: Iterable[int] | None) -> NDArray[np.bool_] | None:
    """Arms by number as a mask; None for all."""
    if among is None:
        return None
    chosen = np.zeros(len(state.problem.arms), dtype=np.bool_)
    chosen[list(among)] = True
    return chosen


def subset(state: StudyState, arms: Iterable[Arm | Mapping[str, Level]] | None) -> list[int] | None:
    """The arms that one ask may choose from, checked."""
    if arms is None:
        return None
    if isinstance(arms, Mapping | str) or not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) == 0:
        raise OptionError(f"arms={brief(arms)}; expected a list of arms")
    return sorted({number for arm in arms for number in arm_numbers(state.problem, arm)})


def open_arms(state: StudyState, among: Iterable[int] | None) -> NDArray[np.bool_] | None:
    """The arms that a decision may choose from: those asked about, without those that break a guardrail.

    None: all that the policy may choose. The control is left in.
    """
    mask = _mask(state, among)
    if not state.rules.guardrails:
        return mask
    kept: Bools = np.logical_not(state.guards.broken(state.policy).any(axis=0))
    kept[state.controls] = True
    return mask if kept.all() else kept if mask is None else kept & mask


def winner(state: StudyState, among: Iterable[int] | None) -> int | None:
    """The arm that a finished study plays, of those asked about; None before it is finished."""
    if state.finished is None:
        return None
    found = [arm for arm in state.finished.winners if among is None or arm in among]
    if state.settings.rules.get("after_finish") == "error":
        when = moment(state.finished.time).isoformat(timespec="seconds")
        raise StudyFinishedError(f"the study was finished at {when} and makes no more decisions")
    if not found:
        best = "; ".join(state.problem.arms[arm].label for arm in state.finished.winners)
        raise StudyFinishedError(f"the study is finished, and its winner {best} is not among the given arms")
    return found[0]


def check_open(state: StudyState, among: Iterable[int] | None) -> None:
    """Validate that a decision has an arm to choose."""
    if winner(state, among) is not None:
        return
    mask = open_arms(state, among)
    if mask is None or (mask & state.policy.allowed).any():
        return
    if not state.controls and (among is None or state.problem.segments):
        raise OptionError(NOTHING_LEFT)
    if among is None:
        raise OptionError("every arm but the control breaks a guardrail, and the control is not in play; allow it")
    raise OptionError(
        "none of the given arms can be played; they are retired, forbidden or break a guardrail, or the list is empty"
    )


def portions_of(state: StudyState, among: Iterable[int] | None) -> Portions:
    """What the shares of the arms come to for a decision."""
    mask = open_arms(state, among)
    playable = state.policy.allowed if mask is None else state.policy.allowed & mask
    return portions(*state.rules.shares(state.problem), playable)


def awaited(state: StudyState, count: int) -> int:
    """Decisions without an outcome once `count` more are made, but for those whose mediators count already."""
    return count + len(state.decisions.open) - len(state.late.numbers)


def choose(state: StudyState, count: int, among: list[int] | None, rng: np.random.Generator | None = None) -> list[int]:
    """The next arms, by number; with the random numbers of the next decision, or others."""
    final = winner(state, among)
    if final is not None:
        return [final] * count
    rng, mask = _random(state, state.decided + 1) if rng is None else rng, open_arms(state, among)
    if not state.rules.shares_out:
        return _policy_choice(state, count, rng, mask, count)
    parts = portions_of(state, among)
    u = rng.random(count)
    chosen = parts.own(u)
    free, together = np.flatnonzero(chosen < 0), parts.parts()
    if len(together) == 1 and len(free):
        chosen[free] = _policy_choice(state, len(free), rng, together[0][1], count)
    else:
        for place in free:
            chosen[place] = _policy_choice(state, 1, rng, parts.open_at(float(u[place])), count)[0]
    return [int(arm) for arm in chosen]


def _policy_choice(
    state: StudyState, count: int, rng: np.random.Generator, mask: Bools | None, batch: int
) -> list[int]:
    waiting = awaited(state, batch)
    found: list[int] = state.policy.choose(count, rng, among=mask, cost=state.cost, awaited=waiting).tolist()
    return found


def compared(
    state: StudyState, before: int, count: int, among: list[int] | None, rng: np.random.Generator | None = None
) -> Floats | int | None:
    """What the decision after `before` others of its batch of `count` compared, less costs.

    An arm's number where it got its own share; None if the policy does not say or the study is finished.
    """
    if state.finished is not None:
        return None
    rng, mask = _random(state, state.decided + 1) if rng is None else rng, open_arms(state, among)
    if state.rules.shares_out:
        parts = portions_of(state, among)
        u = rng.random(count)
        own = parts.own(u)
        if own[before] >= 0:
            return int(own[before])
        for place in np.flatnonzero(own[:before] < 0):
            _policy_choice(state, 1, rng, parts.open_at(float(u[place])), count)
        mask = parts.open_at(float(u[before]))
    elif before:
        _policy_choice(state, before, rng, mask, count)
    if state.policy.exact_shares:
        return state.policy.shares(among=mask, cost=state.cost, awaited=awaited(state, count))
    found, cost = state.policy.indices(rng, among=mask), state.cost
    return found if found is None or cost is None else found - cost


def frequencies(
    state: StudyState, draws: int, rng: np.random.Generator, among: Iterable[int] | None, batch: int = 1
) -> Floats:
    """How often each arm is chosen in a batch of decisions, over many draws; shares that arms have are exact."""
    final = winner(state, among)
    if final is not None:
        sure = np.zeros(len(state.problem.arms))
        sure[final] = 1.0
        return sure
    cost, waiting = state.cost, awaited(state, batch)
    if not state.rules.shares_out:
        return state.policy.frequencies(draws, rng, among=open_arms(state, among), cost=cost, awaited=waiting)
    parts = portions_of(state, among)
    found = parts.floor.copy()
    left = 1 - parts.reserved
    for weight, mask in parts.parts() if left > 1e-12 else []:
        part = max(1, round(draws * weight))
        chances = state.policy.frequencies(part, rng, among=mask, cost=cost, awaited=waiting)
        found += left * weight * chances
    return found


def reserved_for(state: StudyState, among: list[int] | None) -> int | None:
    """The control by its number, where it has exactly its share of such decisions."""
    wanted = state.rules.control_share
    control = next((each for each in state.controls if among is None or each in among), None)
    if wanted is None or control is None:
        return None
    parts = portions_of(state, among)
    return control if parts.floor[control] == wanted and parts.room[control] == 0 else None
