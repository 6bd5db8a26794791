"""HAC-UCB (Bilodeau, Wang and Roy 2022): share through one set while the data allow it, else play UCB for ever."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy, checked_horizon, set_names
from .tally import FALLEN, Tally


class HACUCB(TallyPolicy):
    """C-UCB with a safety test: U_a and V_a are bounds of an arm from its own rows and through Z.

    With `chances` told: each arm round(sqrt(T) / K + 1) times; then, while for every arm
    U_a - V_a <= 2 w_a and V_a - U_a <= sum_z p(z | a) 2 w_z, the highest V_a; from the first failure on the highest
    U_a. w = sqrt(ln(1 / delta) / (2 n)), delta = 1 / T^2.

    Without (their Algorithm 1): each arm ceil(4 sqrt(T) / K) times, P(Z | a) is estimated once from these rows,
    ceil(sqrt(T) / K) times more, then the same. Deviation: the paper starts from a guess of P(Z | a) and keeps it where
    the estimate does not contradict it; here there is no guess, so the estimate is always taken, and the test has no
    slack for its error.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = HACUCB(problem, separating=["A"], horizon=100, seed=0)
    >>> policy.tier.label, HACUCB(problem, separating=["A"], chances=[[1, 0], [0, 1]], horizon=100).tier.label
    ('graph unknown, all variables observed', 'parents and P(Pa | a) told')
    """

    name = "hac-ucb"
    tier = Tier.OBSERVED
    needs = ("separating", "horizon")
    hints = "a set Z to try, the horizon"
    rule = rules.HAC

    def __init__(
        self,
        problem: Problem,
        *,
        separating: Sequence[str],
        horizon: int,
        chances: ArrayLike | None = None,
        seed: Seed = None,
    ) -> None:
        names, self.horizon = set_names(separating), checked_horizon(horizon)
        options: dict[str, Any] = {"separating": list(names), "horizon": self.horizon}
        if chances is not None:
            options["chances"] = np.asarray(chances)
            self.tier, self.hints = Tier.PARENTS, "a set Z to try, P(Z | a), the horizon"
        super().__init__(problem, seed=seed, numbers=(horizon,), through=names, chances=chances, options=options)

    @property
    def fallen(self) -> bool:
        """Whether the test has failed, so that plain UCB is played."""
        return bool(self._state.flags[FALLEN])

    def _start(self, tally: Tally) -> Tally:
        share = math.sqrt(self.horizon) / len(tally.allowed)
        self._first = round(share + 1) if "chances" in self._options else math.ceil(4 * share)
        return self._explore_up_to(tally, self._first)

    def _plan(self, tally: Tally) -> Tally:
        if tally.chances.shape[1]:
            return self._settle(tally, tally.allowed)
        rows = tally.seen.sum(axis=2)
        more = math.ceil(math.sqrt(self.horizon) / len(rows))
        tally = tally._replace(chances=rows / rows.sum(axis=1, keepdims=True))
        return self._explore_up_to(tally, self._first + more)
