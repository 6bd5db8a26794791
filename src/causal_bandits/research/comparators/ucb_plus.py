"""UCB+ with a known number of parents (Shahverdikondori et al. 2026): few random actions, and rows that serve many."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.compiled import by_reference
from ...core.discovery.tiers import TARGETS, Tier
from ...core.policies.base import Variant
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import OptionError, whole_number
from .base import CountingPolicy, checked_horizon, checked_number
from .counts import Counts, arm_index, counted
from .credit import Credit, credited
from .settings import settings_of
from .ucb import scaled_ucb_of_arm

NO_LEVEL = 2**31
"""A level that no row has."""


@credited
@counted
@by_reference
class CreditedUCBState(NamedTuple):
    """Counts, whom rows serve, and the options of the bound."""

    counts: Counts
    credit: Credit
    horizon: float
    constant: float


arm_index.of(CreditedUCBState)(scaled_ucb_of_arm)


class UCBPlus(CountingPolicy):
    """UCB over random actions that set exactly m variables; a row counts for every action whose values it has.

    The index is the mean + sqrt(c ln T / rows), with c = `constant`.

    With k parents of the reward among n variables of v levels and m >= k, an action agrees with the best setting of
    the parents with chance v^-k C(m, k) / C(n, k), so min(all, ceil(v^k C(n, k) / C(m, k) ln sqrt(T))) random actions
    hold a best one with probability 1 - 1 / sqrt(T); with m < k all are kept. m is the most variables that an arm
    sets; arms that set fewer are never played. Counting rows for other actions is biased where variables are
    confounded. Theory has c = 2; the authors' own experiments take c below 0.1.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        parents: Number of parents of the reward among the variables that levers set.
        horizon: Number of rounds that will be played.
        constant: The constant c of the bound.
        shuffle: Seed of the random choice of actions; drawn from `seed` by default.
        seed: Seed or Generator of its draws.
    """

    name = "ucb-plus"
    tier = Tier.OBSERVED
    needs = ("parents", "horizon")
    hints = f"{TARGETS}, the number of parents k, the horizon"
    variants: ClassVar[Mapping[str, Variant]] = {"ucb-plus-small": Variant({"constant": 0.1})}

    def __init__(
        self,
        problem: Problem,
        *,
        parents: int,
        horizon: int,
        constant: float = 2.0,
        shuffle: int | None = None,
        seed: Seed = None,
    ) -> None:
        settings = settings_of(problem, self.name)
        horizon, k = checked_horizon(horizon), whole_number("parents", parents, 0)
        sizes = (settings >= 0).sum(axis=1)
        m, n = int(sizes.max()), int((settings >= 0).any(axis=0).sum())
        if k > n:
            raise OptionError(f"parents={parents}; the levers set {n} variables, so the reward has at most {n} to set")
        actions = np.flatnonzero(sizes == m)
        levels = max(variable.size for variable in problem.observed)
        rng = generator(seed)
        order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        kept = np.random.default_rng(order).permutation(actions)[
            : enough_actions(len(actions), n, m, k, levels, horizon)
        ]
        self._playable = np.isin(np.arange(len(settings)), kept)
        settings[~self._playable] = NO_LEVEL
        self._sets, self.horizon, self.constant = settings, horizon, checked_number("constant", constant)
        self._options = {"parents": k, "horizon": horizon, "constant": self.constant, "shuffle": order}
        super().__init__(problem, seed=rng)

    def _start(self, counts: Counts) -> CreditedUCBState:
        credit = Credit(self._sets, np.ones(len(counts.allowed), dtype=np.bool_))
        return self._settle(CreditedUCBState(counts, credit, float(self.horizon), self.constant), self._playable)


def enough_actions(actions: int, n: int, m: int, k: int, levels: int, horizon: int) -> int:
    """How many random actions hold a best one with probability 1 - 1 / sqrt(T)."""
    if m < k:
        return actions
    wanted: float = levels**k * math.comb(n, k) / math.comb(m, k) * math.log(math.sqrt(horizon))
    return min(actions, max(1, math.ceil(wanted)))
