"""Keys: names of visitors that callers give to decisions, and how long a visitor keeps a decision."""

from collections.abc import Sequence

from ...core.validation import duration_words
from ...errors import ConflictError, UnknownDecisionError
from .state import StudyState

NEVER = "never"


def keeps(state: StudyState, first: int, made: float, now: float) -> bool:
    """Whether a key still has the decisions from `first` on, which were made at a time.

    A finished study gives everyone its winner.
    """
    sticky = state.settings.sticky
    if state.finished is not None and first <= state.finished.decisions:
        return False
    return sticky != NEVER and (not isinstance(sticky, float | int) or now - made < sticky)


def decision_of(sticky: float | str | None, key: str, newest: Sequence[int], earlier: int) -> int:
    """The decision of a key: the only one of its newest ask, and where a key never keeps one, of all its asks."""
    if not newest:
        raise UnknownDecisionError(f"key {key!r} is not known; no decision was made for it")
    count = len(newest) + (earlier if sticky == NEVER else 0)
    if count > 1:
        raise ConflictError(f"key {key!r} has {count} decisions, the last is {newest[-1]}; name the decision instead")
    return newest[0]


def sticky_words(sticky: float | str | None) -> str:
    """How long a key keeps its decision, in words."""
    if sticky is None:
        return "keeps this decision forever"
    if sticky == NEVER:
        return "gets a new decision each time"
    return f"keeps this decision for {duration_words(float(sticky))}"


def occurrence(key: str, number: int) -> str:
    """The name of an ask in the append log: the key, or for the second and later ones of a key another name."""
    return key if number == 0 else f"{key}\0{number}"


def given_key(name: str) -> str | None:
    """The key that a caller gave, from the name of an ask in the append log; None where none was given."""
    return name.partition("\0")[0] or None
