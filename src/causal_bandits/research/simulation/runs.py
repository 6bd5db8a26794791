"""Interfaces of policies and worlds in a simulation, and the result of a run."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.problem import Arm, Level, Problem


class Policy(Protocol):
    """What a policy must do to be played; if it has a `problem`, that must be the world's."""

    def ask(self) -> Arm:
        """The next arm."""

    def tell(self, arm: Arm, observation: Mapping[str, Any]) -> object:
        """Report the outcome; the return value is ignored."""


class World(Protocol):
    """What a world must do to be played in."""

    problem: Problem
    means: NDArray[np.float64]

    def pull(self, arm: Arm, rng: np.random.Generator) -> dict[str, Level]:
        """Every observed variable and the reward."""


class Run(NamedTuple):
    """The arms pulled (by number) and the rewards seen."""

    arms: NDArray[np.int64]
    rewards: NDArray[Any]

    def __repr__(self) -> str:
        mean = f", mean reward {self.rewards.mean():.3g}" if len(self.rewards) else ""
        return f"Run({len(self.arms):,} rounds{mean})"

    def regret(self, means: NDArray[np.float64], best: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Cumulative pseudo-regret after each round: the sum of best mean - mean of the arm pulled.

        `best` has for each arm the best mean in its segment, if there are segments.
        """
        return np.cumsum((means.max() if best is None else best[self.arms]) - means[self.arms])

    def realized_regret(
        self, means: NDArray[np.float64], best: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Cumulative best mean - reward, as the paper writes it with the sign turned."""
        return np.cumsum((means.max() if best is None else best[self.arms]) - self.rewards)
