"""Names of variables: each has one role."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from ...errors import ProblemError, UnknownVariableError, brief, listing
from .variables import Variable


class Named(Protocol):
    """The names of a problem."""

    @property
    def target(self) -> str:
        """The reward."""

    @property
    def observed_names(self) -> tuple[str, ...]:
        """The observed variables."""

    def intervention(self, name: str) -> Variable:
        """A lever or segment by name."""


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
    problem: Named, targets: Mapping[str, str | Iterable[str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each lever acts on, where it was given; checked."""
    variables = {*problem.observed_names, problem.target}
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
        known.append((problem.intervention(name).name, acted_on))
    return tuple(known)
