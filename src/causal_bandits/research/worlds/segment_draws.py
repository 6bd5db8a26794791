"""Drawing the segment of a round, before anything is decided."""

from collections.abc import Sequence

import numpy as np

from ...core.compiled import Floats, compiled
from ...core.problem import Level, Problem
from ...errors import WorldError, brief


@compiled
def draw_segment_number(cumulative: Floats, rng: np.random.Generator) -> int:
    """The number of a segment; the last of the cumulative probabilities is 1."""
    chance = rng.random()
    number = 0
    while chance >= cumulative[number]:
        number += 1
    return number


class DrawsSegments:
    """A world whose segments come with probabilities; in one without segments there is a single, empty one."""

    problem: Problem
    segment_chances: Floats = np.ones(1)
    """The probability of each segment, in the order of `problem.segment_settings`."""

    def set_segment_chances(self, chances: Sequence[float] | Floats) -> None:
        """Say how probable each segment is."""
        try:
            found = np.asarray(chances, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        fits = found.shape == (len(self.problem.segment_settings),) and bool(np.all(found >= 0))
        if not fits or not np.isclose(found.sum(), 1):
            raise WorldError(f"the segments have the probabilities {brief(chances)}; expected one each, which sum to 1")
        self.segment_chances = found

    @property
    def cumulative_chances(self) -> Floats:
        """What `draw_segment_number` draws from."""
        found = np.cumsum(self.segment_chances)
        found[-1] = 1.0  # the last one takes what rounding leaves
        return found

    def draw_segment(self, rng: np.random.Generator) -> dict[str, Level]:
        """The segment of the next round."""
        return self.problem.segment_settings[draw_segment_number(self.cumulative_chances, rng)]
