"""What policies with learnt lever effects share: effects are learnt anew from all rows from time to time."""

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools
from ..data import Rows
from ..dispatch import generic
from ..estimators.main_effects import highest
from .base import Policy
from .protocol import choose, indices, prepare, prepare_nothing

SETTLED = 5
"""Noise and units depend on what is known already: what is read is learnt anew so many times from nothing."""


@generic
def choose_highest_draw(state: Any, rng: np.random.Generator) -> int:
    """The arm with the highest of the drawn chances that `indices` gives."""
    return highest(indices(state, rng))


K = TypeVar("K", bound=type)


def plays_highest_draw(state: K) -> K:
    """A state whose `indices` are draws: the highest one is played."""
    choose.of(state)(choose_highest_draw)
    prepare.of(state)(prepare_nothing)
    return state


class _Restricted(Protocol):
    """A state that says which arms may be chosen."""

    @property
    def allowed(self) -> Bools:
        """(arms,)."""

    def _replace(self, *, allowed: Bools) -> Self: ...


S = TypeVar("S", bound=_Restricted)


class LeverPolicy(Policy[S]):
    """A learner of lever effects. A subclass says what its state is and how it is learnt anew.

    What is stated depends on the rows alone, not on when they came; what is played was learnt at the last refresh.
    """

    growth: ClassVar[float] = 0.1
    plays_highest = True
    rolls_out_late = True

    @property
    def needed(self) -> tuple[str, ...]:
        """A row counts for the sets whose variables it has."""
        return ()

    @abstractmethod
    def _learn_anew(self, state: S) -> None:
        """Learn scales and effects from all that was counted, in place."""

    @abstractmethod
    def _pristine(self, state: S) -> S:
        """The counts of a state with nothing learnt from them yet."""

    @abstractmethod
    def _copy(self, state: S) -> S:
        """The same counts with a copy of what was learnt."""

    @abstractmethod
    def _learnt(self, state: S) -> dict[str, NDArray[Any]]:
        """What was learnt, by the names the arrays have in save files."""

    def _refresh(self) -> None:
        self._learn_anew(self._state)

    def _fill(self, before: Rows, after: Rows) -> None:
        """A policy that does not look at mediators has nothing to count."""

    def _recount(self) -> None:
        self._state = self._empty()
        self._count(self.history.rows)
        self._expect(self.history.pending.all)
        self._learn_anew(self._state)

    def _latest(self) -> S:
        if not self.schedule.is_due(self.progress):
            return self._state
        return self._once("latest", self._relearnt)

    def _relearnt(self) -> S:
        state = self._copy(self._state)
        self._learn_anew(state)
        return state

    def _fit(self, *, pending: bool) -> S:
        return self._settled(self._state)

    def _settled(self, state: S) -> S:
        """What the counts of a state say, learnt from nothing."""
        state = self._pristine(state)
        for _ in range(SETTLED):
            self._learn_anew(state)
        return state

    def _sums(self) -> dict[str, NDArray[Any]]:
        return self._learnt(self._state)
