"""UCB+ with an unknown number of parents (Shahverdikondori et al. 2026): fewer actions for longer, in phases."""

import math

import numpy as np

from ...errors import whole_number
from ...problem import Problem
from ...seeds import Seed, generator
from ..tiers import TARGETS, Tier
from . import rules
from .base import TallyPolicy, checked_horizon, checked_number
from .settings import settings_of
from .tally import LEADING, MIXTURES, Tally, find_leader


class UnknownUCBPlus(TallyPolicy):
    """UCB in phases over random actions that set exactly m variables, and one mixture per earlier phase.

    Phase i lasts T_i = 2^(r + i) ceil(v n / m) rounds with q_i = 2^(r - i + 1) random actions, r = ceil(log2 sqrt(T)),
    n variables of v levels. A mixture pulls what its phase pulled, as often, so what was found is not lost when the
    next phase draws other actions. After i_f = ceil(log2 sqrt(T m / (v n))) phases the last one goes on.

    The index is the mean + sqrt(c ln T / rows); the action that leads after a row is the one that is asked for, and the
    next row counts for it if it is a mixture. Rows count for the arm they pulled alone. Ties: the first in order.

    Deviation: actions are drawn afresh in every phase, as in the analysis; the authors' experiments take those with the
    best means so far.
    """

    name = "ucb-plus-unknown"
    plays_all_arms = True
    tier = Tier.OBSERVED
    needs = ("horizon",)
    hints = f"{TARGETS}, the horizon"
    rule = rules.MIXING
    most_mixtures = 40

    def __init__(
        self, problem: Problem, *, horizon: int, constant: float = 2.0, shuffle: int | None = None, seed: Seed = None
    ) -> None:
        settings = settings_of(problem, self.name)
        self.horizon, constant = checked_horizon(horizon), checked_number("constant", constant)
        sizes = (settings >= 0).sum(axis=1)
        self._actions = np.flatnonzero(sizes == sizes.max())
        n, v = int((settings >= 0).any(axis=0).sum()), max(variable.size for variable in problem.observed)
        self._phases = phases(self.horizon, n, int(sizes.max()), v)
        rng = generator(seed)
        self._order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        options = {"horizon": self.horizon, "constant": constant, "shuffle": self._order}
        super().__init__(problem, seed=rng, numbers=(self.horizon, constant), options=options)

    def _start(self, tally: Tally) -> Tally:
        self.phase = 0
        return self._begin(tally)

    def _begin(self, tally: Tally) -> Tally:
        """Draw the actions of the next phase."""
        rounds, count = self._phases[self.phase]
        self._before = tally.seen.sum(axis=(1, 2))
        drawn = np.random.default_rng([self._order, self.phase]).permutation(self._actions)[:count]
        tally.allowed[:] = np.isin(np.arange(len(tally.allowed)), drawn)
        self.phase += 1
        if self.phase < len(self._phases):
            self._plan_at = self._counted + rounds
        else:
            self._settle(tally, tally.allowed)
        find_leader(tally)
        return tally

    def _plan(self, tally: Tally) -> Tally:
        pulled = tally.seen.sum(axis=(1, 2)) - self._before
        tally.mixtures[tally.flags[MIXTURES]] = pulled / pulled.sum()
        tally.flags[MIXTURES] += 1
        return self._begin(tally)

    @property
    def leader(self) -> int:
        """The action that is asked for next: an arm by number, or the number of arms plus that of a mixture."""
        return int(self._state.flags[LEADING])


def phases(horizon: int, n: int, m: int, v: int) -> list[tuple[int, int]]:
    """T_i and q_i for every phase."""
    r = math.ceil(math.log2(math.sqrt(horizon)))
    last = max(1, math.ceil(math.log2(math.sqrt(horizon * m / (v * n)))))
    return [(2 ** (r + i) * math.ceil(v * n / m), max(1, 2 ** (r - i + 1))) for i in range(1, last + 1)]
