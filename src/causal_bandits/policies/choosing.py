"""Choosing with the caller's random numbers: among some arms, and by what is left after costs."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats
from ..problem import Arm, Level
from .allowing import allowed_arms, arms_left
from .protocol import choose_net_many
from .telling import Telling


class Choosing(Telling):
    """What chooses among its arms."""

    plays_highest: ClassVar[bool] = False
    """It plays the arm with the highest of `indices`, which are in units of the reward, so costs can be taken off."""

    @abstractmethod
    def ready(self, among: Bools | None = None) -> Any:
        """The state that chooses the next arm."""

    @abstractmethod
    def _view(self) -> Any:
        """The same, and nothing changes."""

    @abstractmethod
    def _among(self, state: Any, allowed: Bools) -> Any:
        """The state that chooses among some arms only."""

    @abstractmethod
    def _choose(self, state: Any, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Arms, by number."""

    @abstractmethod
    def _indices(self, state: Any, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """What `_choose` compares."""

    def choose(
        self, count: int, rng: np.random.Generator, *, among: Bools | None = None, cost: Floats | None = None
    ) -> NDArray[np.int64]:
        """Arms by number, like `ask`, with the caller's random numbers and among some of the allowed arms only.

        With `cost`, (arms,) in units of the reward, arms are compared by what is left after it.
        """
        left = arms_left(self.problem, self.allowed, among)  # before anything is learnt
        state = self.ready()
        return self._net(state if among is None else self._among(state, left), rng, count, cost)

    def frequencies(
        self, draws: int, rng: np.random.Generator, *, among: Bools | None = None, cost: Floats | None = None
    ) -> NDArray[np.float64]:
        """How often each arm is chosen in many draws from the state as it is; changes nothing."""
        chosen = self._net(self._some(self._view(), among), rng, draws, cost)
        return np.bincount(chosen, minlength=len(self.problem.arms)) / draws

    def indices(self, rng: np.random.Generator, *, among: Bools | None = None) -> NDArray[np.float64] | None:
        """What the next `choose` with the same random numbers compares: NaN for arms not compared, None if unknown."""
        return self._indices(self._some(self.ready(), among), rng)

    def restrict(self, arms: Iterable[Arm | Mapping[str, Level]] | None) -> None:
        """From now on ask for and recommend these arms only (None: all); the others still tell what they know."""
        self.allowed = allowed_arms(self.problem, arms)

    @property
    def takes_costs(self) -> bool:
        """Whether `choose` can go by what is left after costs."""
        return self.plays_highest and self._indices(self._view(), np.random.default_rng(0)) is not None

    def _some(self, state: Any, among: Bools | None) -> Any:
        return state if among is None else self._among(state, self.allowed & among)

    def _net(self, state: Any, rng: np.random.Generator, count: int, cost: Floats | None) -> NDArray[np.int64]:
        return self._choose(state, rng, count) if cost is None else choose_net_many(state, rng, count, cost)
