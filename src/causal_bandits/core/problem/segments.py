"""Segments: variables known before the decision. They are stored with the levers, but are not chosen."""

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, ProblemError, UnknownArmError, UnknownVariableError, brief, listing
from .arms import Arm
from .variables import Level, Variable

Segment = Mapping[str, Level]
"""One level of every segment."""


class Segmented:
    """The segments of a problem."""

    interventions: tuple[Variable, ...]
    segments: tuple[str, ...]
    arms: tuple[Arm, ...]

    @property
    def levers(self) -> tuple[Variable, ...]:
        """The levers: `interventions` without the segments."""
        return tuple(variable for variable in self.interventions if variable.name not in self.segments)

    @cached_property
    def segment_settings(self) -> tuple[dict[str, Level], ...]:
        """Every combination of segment levels; a single empty one if there are no segments."""
        found = [variable for variable in self.interventions if variable.name in self.segments]
        chosen = itertools.product(*(variable.levels for variable in found))
        return tuple({v.name: level for v, level in zip(found, levels, strict=True)} for levels in chosen)

    @cached_property
    def arm_segments(self) -> NDArray[np.int64]:
        """For each arm the number of its segment, as in `segment_settings`."""
        if not self.segments:
            return np.zeros(len(self.arms), dtype=np.int64)
        places = {tuple(segment.values()): place for place, segment in enumerate(self.segment_settings)}
        return np.array([places[tuple(arm.segment.values())] for arm in self.arms], dtype=np.int64)

    def segment(self, given: object) -> dict[str, Level] | None:
        """A segment as the problem spells it, checked; None if the problem has none and none is given.

        >>> from causal_bandits import Problem
        >>> problem = Problem("Y", {}, {"banner": ["none", "red"]}, segments={"device": ["mobile", "desktop"]})
        >>> problem.segment({"device": "mobile"})
        {'device': 'mobile'}
        """
        if not self.segments:
            if given is not None:
                raise OptionError(f"segment={brief(given)}, but the problem has no segments; leave it out")
            return None
        if given is None:
            raise OptionError(
                f"the problem has segments; pass segment={{...}} with a value of {listing(self.segments)}"
            )
        if not isinstance(given, Mapping):
            raise OptionError(f"segment={brief(given)}; expected a mapping with a value of {listing(self.segments)}")
        for name in given:
            if name not in self.segments:
                raise UnknownVariableError(f"{brief(name)} is not a segment; expected {listing(self.segments)}")
        found: dict[str, Level] = {}
        for variable in self.interventions[len(self.levers) :]:
            if variable.name not in given:
                raise OptionError(
                    f"segment={brief(dict(given))} has no {variable.name!r}; expected a value of "
                    f"{listing(self.segments)}"
                )
            found[variable.name] = variable.levels[variable.code(given[variable.name])]
        return found

    def arms_in(self, segment: object) -> NDArray[np.bool_] | None:
        """(arms,): which arms belong to a segment, which is checked; None if the problem has no segments."""
        found = self.segment(segment)
        return None if found is None else self.arm_segments == self.segment_settings.index(found)

    def in_segments(self, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """A mapping of an arm, once for every segment that it matches; a segment that it does not name is any."""
        named = {name: settings[name] for name in self.segments if name in settings}
        for variable in self.interventions:
            if variable.name in named and named[variable.name] is not ...:
                named[variable.name] = variable.levels[variable.code(named[variable.name])]
        for segment in self.segment_settings:
            if all(level is ... or segment[name] == level for name, level in named.items()):
                yield {**settings, **segment}


def check_arms_of_segments(problem: Segmented) -> None:
    """Validate that there is an arm for every segment, and something to choose in one of them."""
    counts = np.bincount(problem.arm_segments, minlength=len(problem.segment_settings))
    if not counts.all():
        without = problem.segment_settings[int(counts.argmin())]
        raise ProblemError(f"no arm is listed for the segment {brief(without)}; every segment needs one")
    if counts.max() < 2:
        raise ProblemError("there is one arm in every segment; a bandit needs at least 2")


def check_segments_named(problem: Segmented, settings: Mapping[str, Level]) -> None:
    """Validate that the mapping of one arm names every segment."""
    missing = [name for name in problem.segments if name not in settings]
    if missing:
        raise UnknownArmError(f"the arm {brief(dict(settings))} has no value of the segment {listing(missing)}; add it")
