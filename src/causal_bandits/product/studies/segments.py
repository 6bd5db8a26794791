"""Segments in a study: among which arms an ask chose, and arms that come and go in all segments at once."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.problem import Level, Problem
from ...errors import OptionError, brief
from .levels import arm_key


def asked_among(problem: Problem, body: Mapping[str, Any]) -> list[int] | None:
    """The arms that an ask chose from, by its event: those of its segment, and of its list; None for all."""
    among, segment = body.get("among"), body.get("segment")
    if segment is None and not problem.segments:
        return among
    inside = problem.arms_in(segment)
    assert inside is not None
    return [arm for arm in (np.flatnonzero(inside).tolist() if among is None else among) if inside[arm]]


def check_segment(problem: Problem, body: Mapping[str, Any]) -> None:
    """A ValueError where the arms of an event are not among those of its segment."""
    among = asked_among(problem, body)
    if problem.segments and not set(body["arms"]) <= set(among or ()):
        raise ValueError(f"arms {body['arms']!r} of the segment {body.get('segment')!r}")


def check_left(problem: Problem, gone: Collection[int]) -> None:
    """Validate that every segment keeps an arm."""
    left = np.ones(len(problem.arms), dtype=np.bool_)
    left[list(gone)] = False
    for number, segment in enumerate(problem.segment_settings):
        if not np.any(left & (problem.arm_segments == number)):
            raise OptionError(f"no arm would be left in the segment {brief(segment)}; keep one there")


def arms_in_segments(problem: Problem, settings: Mapping[str, Level], *, new_levels: bool) -> list[dict[str, Level]]:
    """The arms that a mapping stands for in all its segments, checked; levers it does not name are idle."""
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
    for place, settings in enumerate(new):
        alike = there.get(arm_key({name: settings[name] for name in names}), [])
        if alike and all(number in forbidden for number in alike):
            found.append(len(problem.arms) + place)
    return found
