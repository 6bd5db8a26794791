"""Problem descriptions in JSON: the keys they may have, and what each means."""

from collections.abc import Mapping
from typing import Any

from ..errors import ProblemError, brief, listing
from .rewards import MEANT, WORDS
from .variables import Levels, bins

REAL = "real"
"""How a description in JSON says `float`; the word float is understood too."""
BINARY = "binary"

NEEDED = ("target", "observed", "interventions")
KEYS = (*NEEDED, "segments", "arms", "idle", "targets", "reward", "cap")
CUTS = ("cuts", "quantiles", "after")


def read_description(data: object) -> dict[str, Any]:
    """The arguments of `Problem`; whatever is not understood is refused by name."""
    if not isinstance(data, Mapping):
        raise ProblemError(f"the description is {brief(data)}; expected an object with {listing(NEEDED)}")
    for key in NEEDED:
        if key not in data:
            raise ProblemError(f"the description has no {key!r}; expected target, observed, interventions")
    _check_keys("the description", data, KEYS)
    observed = data["observed"]
    if isinstance(observed, Mapping):
        observed = {name: _levels(name, given) for name, given in observed.items()}
    return {**data, "observed": observed, "reward": _reward(data.get("reward", BINARY))}


def check_mapping(role: str, given: object, what: str) -> None:
    """Validate an argument of `Problem` that is a mapping of something."""
    if not isinstance(given, Mapping):
        raise ProblemError(f"{role} is {brief(given)}; expected a mapping {what}")


def _check_keys(what: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise ProblemError(f"{what} has {brief(key)}, which is not known; expected some of {listing(known)}")


def _reward(given: object) -> object:
    if isinstance(given, Mapping) or (isinstance(given, str) and given in WORDS):
        return given
    hint = MEANT.get(given) if isinstance(given, str) else None
    raise ProblemError(
        f"the reward is {brief(given)}; "
        + (hint or "expected 'binary' (0 or 1), 'real' (also 'float'), 'count', 'revenue' or levels with values")
    )


def _levels(name: str, given: Any) -> Levels:
    if isinstance(given, str):
        if given in (REAL, "float"):
            return float
        raise ProblemError(
            f"levels of {name!r} are {brief(given)}; give their number, a list of their names, or 'real'"
        )
    if isinstance(given, Mapping):
        _check_keys(f"the observed variable {name!r}", given, CUTS)
        return bins(given.get("cuts"), quantiles=given.get("quantiles"), after=given.get("after", 100))
    return given  # type: ignore[no-any-return]
