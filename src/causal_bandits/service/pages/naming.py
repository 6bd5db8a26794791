"""Arms in the words of a practitioner."""

from collections.abc import Mapping
from typing import Any

from ...markup import printable
from ...problem import Level, Problem
from ...reporting.inline_svg import shortened

LONGEST = 90
"""Letters of a name on a page; its middle is left out where it has more."""
IDLE = "no lever moved"


def short(name: object, most: int = LONGEST) -> str:
    """A name to show: nothing in it is obeyed.

    >>> short("a" * 100, 9), short("two\\nlines")
    ('aaaa…aaaa', 'two\\\\nlines')
    """
    text = printable(str(name))
    if len(text) > 2 * most:  # its middle is left out anyway
        text = text[:most] + text[-most:]
    return shortened(text, most)


class ArmNames:
    """Names of the arms of a problem.

    >>> problem = Problem("Y", {}, {"banner": ["none", "red"], "text": ["short", "long"]})
    >>> names = ArmNames(problem)
    >>> [names.of(arm) for arm in problem.arms]
    ['no lever moved', 'text=long', 'banner=red', 'banner=red, text=long']
    """

    def __init__(self, problem: Problem) -> None:
        self._idle = problem.idle_settings
        self._segments = frozenset(problem.segments)
        self.all = [self.of(arm) for arm in problem.arms]
        """By number."""

    def of(self, settings: Mapping[str, Level]) -> str:
        """The levers that are not idle; a study may name any arm as its control."""
        moved = [
            f"{name}={level}"
            for name, level in settings.items()
            if name not in self._segments and level != self._idle.get(name)
        ]
        return short(", ".join(moved) or IDLE)

    def segment_of(self, settings: Mapping[str, Any]) -> str:
        """The segment of an arm; empty where there is none."""
        return short(", ".join(f"{name}={level}" for name, level in settings.items() if name in self._segments))
