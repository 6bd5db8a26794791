"""Which arms a pattern or a segment names, and a problem with more arms: functions of the problem alone."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.problem import Level, Problem, Variable, parse_arm
from ...errors import OptionError, UnknownArmError, brief

ANY = "..."
"""How the command line spells `...`, any level."""


def matching(problem: Problem, pattern: object) -> list[int]:
    """The numbers of the arms that a pattern names: an arm, or a mapping lever -> level, or lever -> ... for any level.

    A lever that is not named is at its control level, as in every mapping for an arm; a segment is any.

    >>> problem = Problem("Y", {}, {"banner": ["none", "red"], "discount": ["none", "10%"]})
    >>> [problem.arms[number] for number in matching(problem, {"banner": "red", "discount": ...})]
    [do(banner=red), do(banner=red, discount=10%)]
    """
    if problem.segments and isinstance(pattern, Mapping):
        pattern = {**dict.fromkeys(problem.segments, ...), **pattern}
    if not isinstance(pattern, Mapping) or not any(level is ... for level in pattern.values()):
        return [problem.index(pattern)]  # type: ignore[arg-type]
    wanted: dict[str, object] = dict(problem.idle_settings)
    for name, level in pattern.items():
        lever = problem.intervention(name)
        wanted[lever.name] = ... if level is ... else lever.levels[lever.code(level)]
    found = [
        number
        for number, arm in enumerate(problem.arms)
        if all(level is ... or arm[name] == level for name, level in wanted.items())
    ]
    if not found:
        shown = ",".join(f"{name}={ANY if level is ... else level}" for name, level in pattern.items())
        raise UnknownArmError(
            f"no arm matches {brief(shown)}; levers that are not named are at their control levels, see problem.arms"
        )
    return found


def having(problem: Problem, lever: str, level: object) -> list[int]:
    """The numbers of the arms that set a lever to a level."""
    variable = problem.intervention(lever)
    chosen = variable.levels[variable.code(level)]
    found = [number for number, arm in enumerate(problem.arms) if arm[variable.name] == chosen]
    if not found:
        raise UnknownArmError(f"no arm has {variable.name}={chosen}")
    return found


def combinations(problem: Problem, lever: str, level: Level, gone: Collection[int]) -> list[dict[str, Level]]:
    """The arms that a level makes with every setting of the other levers that an arm still in play has."""
    variable = problem.intervention(lever)
    others = [dict(arm) | {variable.name: level} for number, arm in enumerate(problem.arms) if number not in gone]
    there = {arm_key(arm) for arm in problem.arms}
    made = {arm_key(arm): arm for arm in others}
    return [arm for key, arm in made.items() if key not in there]


def arm_key(arm: Mapping[str, Level]) -> tuple[tuple[str, str], ...]:
    """What two arms that are the same have in common; levels are known by their text."""
    return tuple((name, str(level)) for name, level in sorted(arm.items()))


def with_arms(problem: Problem, arms: Sequence[Mapping[str, Level]]) -> Problem:
    """The same problem with more arms after the others, whose levers may have values that no arm had before."""
    data = problem.to_dict()
    for name, level in itertools.chain.from_iterable(arm.items() for arm in arms):
        known = data["segments" if name in problem.segments else "interventions"][name]
        if level not in known and str(level) not in map(str, known):
            known.append(level)
    data["arms"].extend(dict(arm) for arm in arms)
    return Problem.from_dict(data)


def level_like(variable: Variable, text: str) -> Level:
    """A level from its text: one of those that are there, or a new one of the same kind.

    >>> level_like(Variable("price", (1, 2)), "3"), level_like(Variable("banner", ("none", "red")), "3")
    (3, '3')
    """
    if variable.has(text):
        return variable.levels[variable.code(text)]
    kinds = {type(level) for level in variable.levels}
    if kinds <= {int, float} and kinds:
        try:
            return int(text) if kinds == {int} else float(text)
        except ValueError:
            what = "a whole number" if kinds == {int} else "a number"
            raise OptionError(f"{brief(text)} is no level for {variable.name!r}; expected {what}") from None
    return text


def parse_pattern(problem: Problem, text: str) -> dict[str, Any]:
    """Arms from a text such as banner=red,discount=...; the dots are any level, unless a level has that name."""
    pairs = parse_arm(text).items()
    return {name: ... if level == ANY and not problem.intervention(name).has(ANY) else level for name, level in pairs}


def asked_among(problem: Problem, body: Mapping[str, Any]) -> list[int] | None:
    """The arms that an ask chose from, by its event: those of its segment, and of its list; None for all."""
    among, segment = body.get("among"), body.get("segment")
    if segment is None and not problem.segments:
        return among
    inside = problem.arms_in(segment)
    assert inside is not None
    return [arm for arm in (np.flatnonzero(inside).tolist() if among is None else among) if inside[arm]]


def check_left(problem: Problem, gone: Collection[int]) -> None:
    """Validate that every segment keeps an arm."""
    left = np.ones(len(problem.arms), dtype=np.bool_)
    left[list(gone)] = False
    for number, segment in enumerate(problem.segment_settings):
        if not np.any(left & (problem.arm_segments == number)):
            raise OptionError(f"no arm would be left in the segment {brief(segment)}; keep one there")


def arms_of(problem: Problem, settings: Mapping[str, Level], *, new_levels: bool) -> list[dict[str, Level]]:
    """The arm that a mapping names, checked, in all its segments; other levers have their control level."""
    if not isinstance(settings, Mapping):
        raise UnknownArmError(f"{brief(settings)} is not an arm; expected {{lever: level}}")
    named: dict[str, Level] = {}
    for name, level in settings.items():
        variable = problem.intervention(name)
        known = variable.has(level) or not new_levels or variable.name in problem.segments
        named[variable.name] = variable.levels[variable.code(level)] if known else level
    idle = {lever.name: problem.idle_settings[lever.name] for lever in problem.levers}
    return [{**idle, **each} for each in problem.in_segments(named)]


def forbidden_too(problem: Problem, new: Sequence[Mapping[str, Level]], forbidden: Collection[int]) -> list[int]:
    """The numbers of new arms, after the others, whose levers are forbidden in every segment there was."""
    found = []
    names = [lever.name for lever in problem.levers]
    there: dict[Any, list[int]] = {}
    for number, arm in enumerate(problem.arms):
        there.setdefault(arm_key({name: arm[name] for name in names}), []).append(number)
    for index, settings in enumerate(new):
        alike = there.get(arm_key({name: settings[name] for name in names}), [])
        if alike and all(number in forbidden for number in alike):
            found.append(len(problem.arms) + index)
    return found
