"""Deciding: which arm the next decision plays, with which probability, and which arms may be played at all.

A decision first draws one number u. Arms with a least share take the first part of the unit interval, each as long as
its share. In the rest the policy chooses, among the arms that are open then: an arm with a greatest share is open for a
part of that rest that is as long as what its share leaves it. So whatever the policy would do, arm a is played with a
probability between its least and its greatest share, and with exactly its share where the two are the same.

Parts are laid end to end around the interval, so that some arm is open everywhere (the greatest shares add up to 1 or
more). An arm that may not be played leaves its share to the others; where these may take no more, in proportion.

The policy chooses within the rules of the study. All functions are of a state, which they do not change.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Bools, Floats, Ints
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Level
from ...core.seeds import stream
from ...errors import OptionError, StudyFinishedError, brief
from .decisions import moment
from .settings import has_shares, shares_of
from .state import StudyState

MOST_PARTS = 64
"""Open sets that probabilities are added up over; of more, this many are taken."""


class Portions(NamedTuple):
    """What shares come to among the arms that may be played."""

    floor: Floats
    """(arms,): the part of the unit interval that an arm has for itself."""
    room: Floats
    """(arms,): for how much of the rest it is open."""

    @property
    def reserved(self) -> float:
        """What arms have for themselves, together."""
        return min(float(self.floor.sum()), 1.0)

    def own(self, u: Floats) -> Ints:
        """The arm whose own part a number is in; -1 where the policy chooses."""
        ends = np.cumsum(self.floor)
        found = np.searchsorted(ends, u, side="right")
        last = int(np.flatnonzero(self.floor)[-1]) if self.floor.any() else -1
        full = self.reserved >= 1 - 1e-12
        return np.where((u < ends[-1]) | full, np.minimum(found, last), -1).astype(np.int64)

    def open_at(self, u: float) -> Bools:
        """The arms among which the policy chooses, for a number beyond all own parts."""
        at = (u - self.reserved) / max(1 - self.reserved, 1e-300)
        return self._open(min(max(at, 0.0), np.nextafter(1.0, 0.0)))

    def _open(self, at: float) -> Bools:
        always, some = self.room >= 1, (self.room > 0) & (self.room < 1)
        ends = np.cumsum(np.where(some, self.room, 0.0))
        starts = np.concatenate([[0.0], ends[:-1]])
        hit = some & (np.floor(ends - at - 1e-15) > np.floor(starts - at - 1e-15))
        found: Bools = always | hit
        if not found.any():  # parts that add up to 1 but for the last bits
            found[int(self.room.argmax())] = True
        return found

    def parts(self) -> list[tuple[float, Bools]]:
        """The sets of arms that are open together, with their part of the rest."""
        some = self.room[(self.room > 0) & (self.room < 1)]
        cuts = np.unique(np.concatenate([[0.0, 1.0], np.mod(np.cumsum(some), 1.0)]))
        if len(cuts) > MOST_PARTS + 1:
            cuts = np.linspace(0.0, 1.0, MOST_PARTS + 1)
        middles, widths = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
        return [(float(w), self._open(float(m))) for m, w in zip(middles, widths, strict=True) if w > 1e-12]


def portions(low: Floats, high: Floats, playable: Bools) -> Portions:
    """The parts of the arms that may be played.

    >>> found = portions(np.array([0.1, 0.0, 0.0]), np.array([0.1, 1.0, 0.45]), np.array([True, True, True]))
    >>> found.floor.tolist(), found.room.round(3).tolist()
    ([0.1, 0.0, 0.0], [0.0, 1.0, 0.5])
    """
    floor = np.where(playable, low, 0.0)
    if floor.sum() > 1:
        floor = floor / floor.sum()
    left = 1 - floor.sum()
    if left <= 1e-12:
        return Portions(floor, np.where(playable, 1.0, 0.0))
    room = np.where(playable, np.clip((high - floor) / left, 0.0, 1.0), 0.0)
    room[room > 1 - 1e-12] = 1.0
    total = room.sum()
    if total < 1 - 1e-9:
        room = room / total if total > 0 else playable / playable.sum()
    return Portions(floor, room)


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
    if not state.guards.rails:
        return ""
    found = state.guards.broken(state.policy)[:, number]
    return ", ".join(str(rail) for rail, broken in zip(state.guards.rails, found, strict=True) if broken)


def _random(state: StudyState, number: int) -> np.random.Generator:
    """The random numbers of a decision."""
    return np.random.default_rng(stream(state.settings.seed, number))


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
    mask: Bools | None = None
    if among is not None:
        mask = np.zeros(len(state.problem.arms), dtype=np.bool_)
        mask[list(among)] = True
    if not state.guards.rails:
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
    return portions(*shares_of(state.settings.rules, state.problem), playable)


def awaited(state: StudyState, count: int) -> int:
    """Decisions without an outcome once `count` more are made, but for those whose mediators count already."""
    return count + len(state.decisions.open) - len(state.late.numbers)


def choose(state: StudyState, count: int, among: list[int] | None, rng: np.random.Generator | None = None) -> list[int]:
    """The next arms, by number; with the random numbers of the next decision, or others."""
    final = winner(state, among)
    if final is not None:
        return [final] * count
    rng, mask = _random(state, len(state.decisions) + 1) if rng is None else rng, open_arms(state, among)
    policy = state.policy
    more: dict[str, Any] = {"cost": state.cost, "awaited": awaited(state, count)}
    if not has_shares(state.settings.rules):
        arms: list[int] = policy.choose(count, rng, among=mask, **more).tolist()
        return arms
    parts = portions_of(state, among)
    u = rng.random(count)
    chosen = parts.own(u)
    free, together = np.flatnonzero(chosen < 0), parts.parts()
    if len(together) == 1 and len(free):
        chosen[free] = policy.choose(len(free), rng, among=together[0][1], **more)
    else:
        for index in free:
            chosen[index] = policy.choose(1, rng, among=parts.open_at(float(u[index])), **more)[0]
    return [int(arm) for arm in chosen]


def compared(
    state: StudyState, before: int, count: int, among: list[int] | None, rng: np.random.Generator | None = None
) -> Floats | int | None:
    """What the decision after `before` others of its batch of `count` compared, less costs.

    An arm's number where it got its own share; None if the policy does not say or the study is finished.
    """
    if state.finished is not None:
        return None
    rng, mask = _random(state, len(state.decisions) + 1) if rng is None else rng, open_arms(state, among)
    more: dict[str, Any] = {"cost": state.cost, "awaited": awaited(state, count)}
    if has_shares(state.settings.rules):
        parts = portions_of(state, among)
        u = rng.random(count)
        own = parts.own(u)
        if own[before] >= 0:
            return int(own[before])
        for index in np.flatnonzero(own[:before] < 0):
            state.policy.choose(1, rng, among=parts.open_at(float(u[index])), **more)
        mask = parts.open_at(float(u[before]))
    elif before:
        state.policy.choose(before, rng, among=mask, **more)
    if state.policy.exact_shares:
        return state.policy.shares(among=mask, **more)
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
    if not has_shares(state.settings.rules):
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
    wanted = state.control_share
    control = next((each for each in state.controls if among is None or each in among), None)
    if wanted is None or control is None:
        return None
    parts = portions_of(state, among)
    return control if parts.floor[control] == wanted and parts.room[control] == 0 else None


DRAWS = 2000
STREAM = 1
"""Random numbers for looking back are others than those of the decisions."""


def propensities(then: StudyState, number: int, among: list[int] | None, batch: int = 1, draws: int = DRAWS) -> Floats:
    """For each arm, the probability that the policy chooses it.

    `then` is the state just before the decision, which was one of a `batch`. The default policy knows its probabilities
    exactly. For others they are counted over many draws with fixed random numbers: a draw is the policy's own choice,
    so this is its probability up to the error of the draws, sqrt(p (1 - p) / draws). Shares that the study deals out
    itself, as that of the control, are exact.
    """
    rng = np.random.default_rng(stream(then.settings.seed, number, STREAM))
    return frequencies(then, draws, rng, among, batch)
