"""Deciding: which arm the next decision plays, with which probability, and which arms may be played at all.

The policy chooses within the rules of the study. Where arms have a least or a greatest share, an arm is drawn from the
policy's probabilities, limited so that every arm keeps its share: an arm has its least share, and what is left is dealt
out in the policy's proportions, until an arm has its greatest share. An arm whose two shares are the same has exactly
that share, whatever the policy would do.

All functions are of a state, which they do not change.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.policies.arms import arm_numbers
from ...core.problem import Arm, Level
from ...core.seeds import stream
from ...errors import OptionError, StudyFinishedError, brief
from .decisions import moment
from .settings import has_shares, shares_of
from .state import StudyState

SHARE_DRAWS = 200
"""Choices that the probabilities of a policy are counted over, where it does not know them and arms have shares."""


def limited(wanted: Floats, low: Floats, high: Floats, playable: Bools) -> Floats:
    """The policy's probabilities within the shares of the arms that may be played.

    An arm that may not be played leaves its share to the others; where these may take no more, in proportion.

    >>> limited(np.array([0.2, 0.0, 0.8]), np.array([0.1, 0.1, 0.0]), np.array([0.1, 1.0, 0.5]), np.ones(3, dtype=bool))
    array([0.1, 0.4, 0.5])
    """
    low = np.where(playable, low, 0.0)
    found: Floats
    if low.sum() >= 1:
        found = low / low.sum()
        return found
    left, room = 1 - float(low.sum()), np.where(playable, high - low, 0.0)
    if room.sum() <= left:
        room = room if room.any() else playable.astype(np.float64)
        found = low + left * room / room.sum()
        return found
    more, full = np.zeros(len(low)), ~playable
    while True:
        part = np.where(full, 0.0, wanted + 1e-9)  # arms that the policy would not play take what the others may not
        more = np.where(full, room, (left - room[full].sum()) * part / part.sum())
        over = ~full & (more > room + 1e-12)
        if not over.any():
            found = low + more
            return found
        full |= over


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


def open_arms(state: StudyState, among: Iterable[int] | None) -> Bools:
    """The arms that a decision may choose from: of those asked about, those in play that break no guardrail.

    The control is in play whatever it breaks.
    """
    found: Bools = state.policy.allowed.copy()
    if among is not None:
        found &= np.isin(np.arange(len(found)), list(among))
    if state.guards.rails:
        kept: Bools = np.logical_not(state.guards.broken(state.policy).any(axis=0))
        kept[state.controls] = True
        found &= kept
    return found


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
    if open_arms(state, among).any():
        return
    if not state.controls and (among is None or state.problem.segments):
        raise OptionError(NOTHING_LEFT)
    if among is None:
        raise OptionError("every arm but the control breaks a guardrail, and the control is not in play; allow it")
    raise OptionError(
        "none of the given arms can be played; they are retired, forbidden or break a guardrail, or the list is empty"
    )


def awaited(state: StudyState, count: int) -> int:
    """Decisions without an outcome once `count` more are made, but for those whose mediators count already."""
    return count + len(state.decisions.open) - len(state.pending)


def choose(state: StudyState, count: int, among: list[int] | None, rng: np.random.Generator | None = None) -> list[int]:
    """The next arms, by number; with the random numbers of the next decision, or others."""
    final = winner(state, among)
    if final is not None:
        return [final] * count
    rng = _random(state, len(state.decisions) + 1) if rng is None else rng
    if has_shares(state.settings.rules):
        state.policy.ready()
        chances = frequencies(state, SHARE_DRAWS, rng, among, count)
        return [int(arm) for arm in rng.choice(len(chances), count, p=chances)]
    awaiting, cost = awaited(state, count), state.cost
    arms: list[int] = state.policy.choose(
        count, rng, among=open_arms(state, among), cost=cost, awaited=awaiting
    ).tolist()
    return arms


def compared(
    state: StudyState, before: int, count: int, among: list[int] | None, rng: np.random.Generator | None = None
) -> Floats | None:
    """What the decision after `before` others of its batch of `count` compared, less costs.

    None if the policy does not say or the study is finished.
    """
    if state.finished is not None:
        return None
    rng, mask = _random(state, len(state.decisions) + 1) if rng is None else rng, open_arms(state, among)
    if draws_by_probability(state):
        return frequencies(state, SHARE_DRAWS, rng, among, count)
    if before:
        state.policy.choose(before, rng, among=mask, cost=state.cost, awaited=awaited(state, count))
    found, cost = state.policy.indices(rng, among=mask), state.cost
    return found if found is None or cost is None else found - cost


def draws_by_probability(state: StudyState) -> bool:
    """Whether an arm is drawn from probabilities, and not the one with the highest value is played."""
    return state.policy.exact_shares or has_shares(state.settings.rules)


def frequencies(
    state: StudyState, draws: int, rng: np.random.Generator, among: Iterable[int] | None, batch: int = 1
) -> Floats:
    """How often each arm is chosen in a batch of decisions, over many draws, within the shares that arms have."""
    final = winner(state, among)
    if final is not None:
        sure = np.zeros(len(state.problem.arms))
        sure[final] = 1.0
        return sure
    mask, waiting = open_arms(state, among), awaited(state, batch)
    found = state.policy.frequencies(draws, rng, among=mask, cost=state.cost, awaited=waiting)
    if not has_shares(state.settings.rules):
        return found
    return limited(found, *shares_of(state.settings.rules, state.problem), mask)


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
