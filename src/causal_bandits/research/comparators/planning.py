"""Plans that change at certain rows: pulls that come before the rule, and what to do once they are made."""

from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.compiled import Bools
from ...core.data import Rows
from ...core.policies.base import Policy
from ...errors import OptionError

NEVER = 2**62


class Planned(Protocol):
    """A state that holds a plan, among what it counts."""

    @property
    def counts(self) -> Any:
        """What was counted, and what is planned: `allowed`, `quota`, `planned` (see `counts.Counts`)."""


S = TypeVar("S", bound=Planned)


class PlanningPolicy(Policy[Any]):
    """A learner that may plan pulls and continue from what they showed, as a fold over its rows."""

    plays_all_arms: ClassVar[bool] = False
    """Whether its plan cannot do without some of the arms."""
    without_comparing = "arms were not compared: this pull was planned, or drawn at random"

    # What a subclass says

    def _first_state(self) -> Any:
        """The state to begin with, and what is planned first."""
        raise NotImplementedError

    def _plan(self, state: Any) -> Any:
        """The state to continue with, once the planned pulls are made."""
        return state

    def _learn(self, rows: Rows, part: slice) -> None:
        """Count some of the rows in the state."""
        raise NotImplementedError

    # What it plans with

    def _explore(self, state: S, pulls: ArrayLike) -> S:
        """Plan pulls of each arm; `_plan` is asked again when they are made."""
        counts = state.counts
        counts.quota[:] = pulls
        counts.planned[0] = counts.quota.sum()
        self._plan_at = self._counted + int(counts.planned[0])
        return state

    def _settle(self, state: S, allowed: ArrayLike) -> S:
        """Choose among some arms from now on."""
        self._plan_at = NEVER
        state.counts.allowed[:] = allowed
        return state

    # The fold

    def _empty(self) -> Any:
        self._counted, self._plan_at = 0, NEVER
        return self._first_state()

    def _count(self, rows: Rows) -> None:
        done = 0
        while done < len(rows.arms):
            part = slice(done, min(len(rows.arms), done + self._plan_at - self._counted))
            self._learn(rows, part)
            done = part.stop
            self._advance(part.stop - part.start)

    def remember(self, rows: Rows) -> None:
        """Store rows that a rollout has already counted in the state, and plan on."""
        super().remember(rows)
        self._advance(len(rows.arms))

    def _advance(self, count: int) -> None:
        self._counted += count
        while self._counted >= self._plan_at:
            left = int(self._state.counts.planned[0])
            if left:  # other arms were told in between
                self._plan_at = self._counted + left
            else:
                self._state = self._plan(self._state)

    @property
    def rounds_to_refresh(self) -> int:
        """How many rows may come before the plan changes."""
        return min(super().rounds_to_refresh, self._plan_at - self._counted)

    @property
    def rolls_out(self) -> bool:
        """Its state is a copy while some arms are left out, and a rollout would learn in vain."""
        return bool(self.allowed.all())

    def _fit(self, *, pending: bool) -> Any:
        """All arms have a posterior, also those that are no longer played."""
        counts = self._state.counts
        return self._state._replace(counts=counts._replace(allowed=np.ones_like(counts.allowed)))

    def _recommendable(self, asked: Bools) -> Bools:
        """Those that it still plays."""
        return self._among(self._state, asked).counts.allowed  # type: ignore[no-any-return]

    def _among(self, state: Any, allowed: NDArray[np.bool_]) -> Any:
        if allowed.all():
            return state
        plans = type(self)._plan is not PlanningPolicy._plan
        if self.plays_all_arms or (plans and self.problem.segments):
            raise OptionError(f"{self.name} follows a plan over all arms and cannot be restricted to some; use another")
        counts = state.counts
        both, quota = counts.allowed & allowed, np.where(allowed, counts.quota, 0)
        planned = np.array([quota.sum()])  # planned pulls of other arms wait until these are allowed again
        left = counts._replace(allowed=both if both.any() else allowed.copy(), quota=quota, planned=planned)
        return state._replace(counts=left)
