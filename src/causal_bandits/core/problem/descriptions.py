"""Problem descriptions in JSON: the keys they may have, and what each means; checks of names and roles."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...errors import ProblemError, UnknownVariableError, brief, listing
from .variables import Levels, Variable, bins

REAL = "real"
"""How a description in JSON writes `float`; "float" is accepted too."""
BINARY = "binary"

NEEDED = ("target", "observed", "interventions")
KEYS = (*NEEDED, "segments", "arms", "idle", "targets", "reward", "cap", "names", "descriptions")
CUTS = ("cuts", "quantiles", "after")
MOST_NAME, MOST_DESCRIPTION = 200, 2000
"""Characters."""


def read_description(data: object) -> dict[str, Any]:
    """The arguments of `Problem`; unknown entries are rejected by name."""
    if not isinstance(data, Mapping):
        raise ProblemError(f"the description is {brief(data)}; expected an object with {listing(NEEDED)}")
    for key in NEEDED:
        if key not in data:
            raise ProblemError(f"the description has no {key!r}; expected target, observed, interventions")
    _check_keys("the description", data, KEYS)
    observed = data["observed"]
    if isinstance(observed, Mapping):
        observed = {name: _levels(name, given) for name, given in observed.items()}
    return {**data, "observed": observed, "reward": data.get("reward", BINARY)}


def check_mapping(role: str, given: object, what: str) -> None:
    """Validate an argument of `Problem` that is a mapping of something."""
    if not isinstance(given, Mapping):
        raise ProblemError(f"{role}={brief(given)}; expected {what}")


def read_texts(
    role: str, given: Mapping[str, str] | None, target: str, variables: Sequence[Variable], most: int
) -> dict[str, str]:
    """Display names or descriptions of variables and levels: "banner" or "banner=red" -> text, checked."""
    check_mapping(role, {} if given is None else given, '{"banner": text, "banner=red": text}')
    known = {target, *(each.name for each in variables)}
    levels = {f"{each.name}={level}" for each in variables for level in each.levels}
    for key, text in (given or {}).items():
        if key not in known and key not in levels:
            raise ProblemError(
                f"{role} has {brief(key)}; expected a variable ({listing(sorted(known))}), or a level as variable=level"
            )
        if not isinstance(text, str) or not text.strip() or len(text) > most:
            raise ProblemError(
                f"{role}: {brief(key)} is {brief(text)}; expected a string of at most {most:,} characters"
            )
    return dict(given or {})


def check_distinct(names: Mapping[str, str], variables: Sequence[Variable]) -> None:
    """Validate that display names of variables, and of the levels of each, are different."""
    groups = [{each.name: each.name for each in variables}]
    groups += [{f"{each.name}={level}": str(level) for level in each.levels} for each in variables]
    for group in groups:
        shown: dict[str, str] = {}
        for key, plain in group.items():
            name = names.get(key, plain)
            if name in shown:
                both = f"{brief(shown[name])} and {brief(key)}"
                raise ProblemError(f"names: {both} are both called {brief(name)}; give them different names")
            shown[name] = key


def _check_keys(what: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise ProblemError(f"{what} has {brief(key)}, which is not known; expected some of {listing(known)}")


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


def check_roles(target: object, observed: Iterable[str], levers: Iterable[str], segments: Iterable[str]) -> None:
    """Validate that every name has one role."""
    if not isinstance(target, str) or not target:
        raise ProblemError(f"target {brief(target)} is not a non-empty string; pass the name of the reward variable")
    seen, set_by_us, given = set(observed), set(levers), list(segments)
    if not set_by_us:
        raise ProblemError("a problem needs at least one lever")
    if target in set_by_us:
        raise ProblemError(f"target {target!r} is also a lever; the reward cannot be set")
    if target in seen:
        raise ProblemError(f"target {target!r} is also listed as observed; leave it out there")
    if seen & set_by_us:
        both = sorted(seen & set_by_us)
        raise ProblemError(f"{listing(both)} names both an observed variable and a lever; rename one")
    for name in given:
        if name in set_by_us:
            raise ProblemError(
                f"{brief(name)} is both a segment and a lever; name it once: as a lever if you set it, as "
                f"a segment if you do not"
            )
        if name == target:
            raise ProblemError(f"target {target!r} is also a segment; the reward comes after the decision")
        if name in seen:
            raise ProblemError(f"{brief(name)} is both a segment and observed; it is known before the decision, or not")


def known_targets(
    targets: Mapping[str, str | Iterable[str]], variables: set[str], lever: Callable[[str], Variable]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each lever acts on, where it was given; checked."""
    known = []
    for name, given in targets.items():
        if not isinstance(given, Iterable):
            raise ProblemError(f"targets of {name!r} are {brief(given)}; expected a variable or a list of them")
        acted_on = (given,) if isinstance(given, str) else tuple(given)
        for variable in acted_on:
            if variable not in variables:
                raise UnknownVariableError(
                    f"{name!r} cannot act on {brief(variable)}; expected some of {listing(sorted(variables))}"
                )
        known.append((lever(name).name, acted_on))
    return tuple(known)
