"""Arms by number: those that a call names, those that may be chosen, and what their levers act on."""

from collections.abc import Iterable, Mapping

import numpy as np

from ...errors import OptionError, brief
from ..compiled import Bools
from ..problem import Arm, Level, Problem


class OfArm:
    """What an answer about one arm says of the arm."""

    arm: Arm

    @property
    def label(self) -> str:
        """The arm in words."""
        return self.arm.label

    @property
    def lever_label(self) -> str:
        """The arm in words, without its segment."""
        return self.arm.lever_arm.label

    @property
    def segment(self) -> dict[str, Level]:
        """The segment of the arm; empty if the problem has none."""
        return self.arm.segment


def allowed_arms(problem: Problem, arms: Iterable[Arm | Mapping[str, Level]] | None) -> Bools:
    """(arms,): those that are listed; None: all."""
    allowed = np.ones(len(problem.arms), dtype=np.bool_)
    if arms is not None and (
        isinstance(arms, str | Mapping) or not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) == 0
    ):
        raise OptionError(f"arms={brief(arms)}; expected a list of arms")
    if arms is not None:
        allowed[:] = False
        allowed[[number for arm in arms for number in arm_numbers(problem, arm)]] = True
    if not allowed.any():
        raise OptionError("restrict() got no arm; at least one must be left to choose")
    return allowed


def arm_numbers(problem: Problem, arm: Arm | Mapping[str, Level]) -> list[int]:
    """The number of an arm; with segments, its numbers in all segments that it does not rule out."""
    if not problem.segments or not isinstance(arm, Mapping):
        return [problem.index(arm)]
    return [problem.index(each) for each in problem.in_segments(arm)]


def fitting_arms(problem: Problem, arm: Arm | Mapping[str, Level]) -> list[Arm]:
    """An arm; with segments, one for each segment that it does not rule out."""
    return [problem.arms[number] for number in arm_numbers(problem, arm)]


def arms_left(problem: Problem, allowed: Bools, among: Bools | None) -> Bools:
    """The allowed arms among some; an error if there are none."""
    left = allowed if among is None else allowed & among
    if among is not None and problem.segments and not left.any():
        segment = problem.arms[int(np.flatnonzero(among)[0])].segment if among.any() else {}
        raise OptionError(f"no arm may be played in the segment {brief(segment)}; allow one there first")
    return left
