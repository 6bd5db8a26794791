"""What every real-valued world can do."""

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...core.data import Rows
from ...core.problem import Arm, Level, Problem
from ...core.seeds import check_generator
from ...errors import WorldError, whole_number
from .drawing import fill
from .segment_draws import DrawsSegments


class ContinuousWorld(DrawsSegments):
    """A bandit that knows itself, with real-valued variables: its problem, the exact mean of every arm, how to draw.

    Args:
        problem: What is played in it.
        sampler: Draws the observed variables and the reward of an arm.
        means: Exact mean reward of every arm.
    """

    numbers: ClassVar[type] = float
    """What its sampler draws: real values."""

    def __init__(self, problem: Problem, sampler: Any, means: NDArray[np.float64]) -> None:
        for variable in problem.observed:
            if variable.bins is not None:
                raise WorldError(f"{variable.name!r} is cut into bins; declare it as float or with its levels")
        self.problem, self.sampler, self.means = problem, sampler, means

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.outline})"

    def pull(self, arm: Arm | Mapping[str, Level], rng: np.random.Generator) -> dict[str, Level]:
        """Pull an arm once: every observed variable and the reward, by name."""
        values = self._draw(self.problem.index(arm), 1, rng)[0].tolist()
        seen: dict[str, Level] = {
            variable.name: value if variable.is_real else variable.levels[int(value)]
            for variable, value in zip(self.problem.observed, values, strict=False)
        }
        return {**seen, self.problem.target: self._reward(values[-1])}

    def _reward(self, value: float) -> Level:
        """A reward as it is told."""
        told: Level = self.problem.reward.told(value)
        return int(value) if self.problem.reward.kind in ("binary", "count") else told

    def sample(self, arm: Arm | Mapping[str, Level], count: int, rng: np.random.Generator) -> Rows:
        """Pull an arm many times; coded rows."""
        count = whole_number("count", count, 0, 100_000_000)
        number = self.problem.index(arm)
        values = self._draw(number, count, rng)
        return self.rows(np.full(count, number), values, values[:, -1])

    def room(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Arrays for what this many pulls will show: the observed variables with the reward last, and the rewards."""
        return np.empty((count, len(self.problem.observed) + 1)), np.empty(count)

    def rows(self, arms: NDArray[np.int64], values: NDArray[np.float64], rewards: NDArray[np.float64]) -> Rows:
        """Coded rows from what was drawn."""
        is_real = np.array([variable.is_real for variable in self.problem.observed], dtype=np.bool_)
        seen = values[:, :-1]
        codes = np.where(is_real, 0.0, seen).astype(np.int64)
        coded = rewards.copy() if self.problem.reward_is_real else rewards.astype(np.int64)
        return Rows(arms, codes, coded, seen[:, is_real])

    def _draw(self, number: int, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        check_generator(rng)
        values, _ = self.room(count)
        fill(self.sampler, number, rng, values)
        return values

    def limits(self, separating: object = None) -> NoReturn:
        """Refused: the bounds are for rewards of 0 or 1 and mediators with levels."""
        raise WorldError(
            "limits are worked out for rewards of 0 or 1 and mediators with levels; "
            f"{type(self).__name__} has others, and no closed form is known for them"
        )
