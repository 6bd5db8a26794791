"""Comparing arms with a control, and levels of levers with each other, by joint draws from the posterior."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compiled import Floats
from ..errors import OptionError, share
from ..problem import Arm, Level
from .allowing import arm_numbers
from .choosing import Choosing
from .estimates import Estimates, enough_draws
from .lifts import Effects, JointDraws, as_wide_as_stated, effects_of_levels, lift_over
from .standing import drawn_means


class Comparing(Choosing):
    """What can say by how much arms differ."""

    fewest_rows = 0

    @abstractmethod
    def _reading(self) -> Any:
        """The state that estimates are read from."""

    @abstractmethod
    def _estimate(self, state: Any, level: float) -> Estimates:
        """What the state says of every arm."""

    def _to_draw(self, state: Any) -> Any:
        """The state that means are drawn from, or less of it where that serves more policies."""
        return state

    def draw_means(self, draws: int | None = None) -> Floats:
        """(draws, arms): joint draws of all means from the posterior; the same until rows come.

        Args:
            draws: How many; unless given, 4000, and with more than 250 arms fewer, but at least 200.
        """
        arms = len(self.problem.arms)
        return drawn_means(self._all_drawn(self._reading()), self.rows, enough_draws(draws, arms), arms)

    def _all_drawn(self, state: Any) -> Any:
        """The state that the means of all arms are drawn from, whichever are allowed."""
        return self._to_draw(self._among(state, np.ones(len(self.problem.arms), dtype=np.bool_)))

    def with_lifts(
        self,
        found: Estimates,
        controls: Sequence[int],
        *,
        level: float = 0.95,
        cost: Floats | None = None,
    ) -> Estimates:
        """Estimates with the lift of every arm over the control, one arm or one of each segment, by number.

        With `cost` lifts are of means less their costs.
        """
        level = share("level", level)
        draws = self._joint_draws(found, level, cost) if self.can_compare else None
        return lift_over(found, controls, draws, level, cost)

    def effects(
        self,
        *,
        level: float = 0.95,
        control: Arm | Mapping[str, Level] | None = None,
        cost: Floats | None = None,
    ) -> Effects:
        """What each level of each lever does, averaged over all settings of the other levers, with intervals.

        Args:
            level: Level of the intervals.
            control: Levels are compared with those of this arm; with the idle ones by default.
            cost: What each arm costs, (arms,) in units of the reward; means are then less that.
        """
        base = (
            self.problem.idle_settings if control is None else self.problem.arms[arm_numbers(self.problem, control)[0]]
        )
        if not self.can_compare:
            raise OptionError("too few rows to compare levels; tell some outcomes first")
        level = share("level", level)
        found = self._estimate(self._reading(), level)
        draws = self._joint_draws(found, level, cost)
        means = np.array([row.mean for row in found]) - (0.0 if cost is None else cost)
        rows = np.array([row.own_rows for row in found])
        return effects_of_levels(self.problem, base, draws, means, rows, level)

    def _joint_draws(self, found: Estimates, level: float, cost: Floats | None) -> JointDraws:
        """Draws of all means less costs, for probabilities; and widened to the intervals, for intervals."""
        drawn, taken = self.draw_means(), 0.0 if cost is None else cost
        return JointDraws(drawn - taken, as_wide_as_stated(drawn, found, level) - taken)

    @property
    def can_compare(self) -> bool:
        """Whether some arm has enough rows for a posterior."""
        return bool(np.any(np.bincount(self.history.packed["arms"], minlength=1) >= self.fewest_rows))
