"""Rows that count for several arms: a row with X = x tells of do(X = x), if nothing confounds the two."""

from typing import Any, NamedTuple, TypeVar

from ...core.compiled import Bools, Ints, by_reference, compiled
from ...core.policies.protocol import learn
from .counts import count


@by_reference
class Credit(NamedTuple):
    """Whose rows are credited to which other arms."""

    settings: Ints
    """(arms, variables): the levels that an arm sets, -1 where none."""
    donors: Bools
    """(arms,): whose rows are credited to the arms whose levels they happen to have."""


@compiled
def _agrees(settings: Ints, arm: int, codes: Ints) -> bool:
    """Whether a row has the levels that an arm sets."""
    for variable in range(settings.shape[1]):
        if settings[arm, variable] >= 0 and settings[arm, variable] != codes[variable]:
            return False
    return True


@compiled
def count_and_credit(state: Any, arm: int, codes: Ints, reward: int) -> None:
    """Count one row for its arm, and its reward for the others it serves."""
    count(state.counts, arm, codes, reward)
    if state.credit.donors[arm]:
        for other in range(len(state.credit.settings)):
            if other != arm and _agrees(state.credit.settings, other, codes):
                state.counts.rewards[other, reward] += 1


S = TypeVar("S", bound=type)


def credited(state: S) -> S:
    """A state with `credit` as well: its rows count for the arms they serve."""
    learn.of(state)(count_and_credit)
    return state
