"""What every discrete world can do."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..compiled import Ints
from ..data import Rows
from ..errors import whole_number
from ..problem import Arm, Level, Problem
from ..seeds import check_generator
from .sampler import Sampler, draw_many
from .segment_draws import DrawsSegments


class DiscreteWorld(DrawsSegments):
    """A bandit that knows itself: its problem, the exact mean of every arm, and how to draw.

    Args:
        problem: What is played in it.
        sampler: Draws the observed variables and the reward of an arm.
        means: Exact mean reward of every arm.
    """

    numbers: ClassVar[type] = int
    """What its sampler draws: level numbers."""

    def __init__(self, problem: Problem, sampler: Sampler, means: NDArray[np.float64]) -> None:
        self.problem = problem
        self.sampler = sampler
        self.means = means

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.outline})"

    def pull(self, arm: Arm | Mapping[str, Level], rng: np.random.Generator) -> dict[str, Level]:
        """Pull an arm once: every observed variable and the reward, by name."""
        rows = self.sample(arm, 1, rng)
        seen = {
            variable.name: variable.levels[code]
            for variable, code in zip(self.problem.observed, rows.codes[0], strict=True)
        }
        return {**seen, self.problem.target: int(rows.rewards[0])}

    def sample(self, arm: Arm | Mapping[str, Level], count: int, rng: np.random.Generator) -> Rows:
        """Pull an arm many times; coded rows."""
        check_generator(rng)
        count = whole_number("count", count, 0, 100_000_000)
        number = self.problem.index(arm)
        codes, rewards = self.room(count)
        draw_many(self.sampler, number, rng, codes, rewards)
        return self.rows(np.full(count, number), codes, rewards)

    def room(self, count: int) -> tuple[Ints, Ints]:
        """Arrays for what so many pulls will show: the observed variables, and the rewards."""
        return np.empty((count, len(self.problem.observed)), dtype=np.int64), np.empty(count, dtype=np.int64)

    def rows(self, arms: Ints, codes: Ints, rewards: Ints) -> Rows:
        """Coded rows from what was drawn."""
        return Rows(arms, codes, rewards, np.empty((len(arms), 0)))
