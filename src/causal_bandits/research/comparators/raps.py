"""RAPS + UCB (Konobeev, Etesami and Kiyavash 2023): find the parents of the reward by intervening, then play UCB."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ...core.compiled import Bools, Floats
from ...core.discovery.tiers import TARGETS, Tier
from ...core.policies.base import Variant
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import ProblemError, whole_number
from .base import ALL, CountingPolicy, checked_number
from .counts import Counts, own_rows
from .settings import settings_of
from .ucb import UCB1State

Setting = tuple[int, ...]


class RapsUCB(CountingPolicy):
    """Random ancestors, parents first: intervene on a random candidate X and see what moves.

    X is an ancestor of Y if some mean moves by more than gap / 2 from that without it; its descendants are the
    variables that move by more than eps / 2. After an ancestor the candidates are its descendants, otherwise X and its
    descendants are dropped. When none is left the last ancestor is a parent; it is then held at each of its values
    while the search starts again on the rest. When a search finds no ancestor, UCB1 plays the values of the parents.

    Every question takes `budget` rows of an arm: B of the paper unless told, max(32 ln(8 n K (K+1)^n / delta) / gap^2,
    8 ln(8 n^2 K^2 (K+1)^n / delta) / eps^2), which is thousands; a small number is a heuristic, and says so in `hints`.

    Deviation: an arm's rows are kept from one question to the next; where no parent is found, UCB1 plays all arms.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        gap: Smallest change of the mean reward to detect; an ancestor moves it by more than gap / 2.
        eps: Smallest change of another variable's distribution to detect, in the same way.
        delta: Probability of an error that the paper's budget allows.
        budget: Rows of an arm per question; the paper's B by default.
        shuffle: Seed of the random order of candidates; drawn from `seed` by default.
        seed: Seed or Generator of its draws.
    """

    name = "raps-ucb"
    tier = Tier.OBSERVED
    hints = f"{TARGETS}, the smallest effects eps and gap"
    variants: ClassVar[Mapping[str, Variant]] = {"raps-ucb-100": Variant({"budget": 100})}
    _through = ALL

    def __init__(
        self,
        problem: Problem,
        *,
        gap: float = 0.2,
        eps: float = 0.2,
        delta: float = 0.05,
        budget: int | None = None,
        shuffle: int | None = None,
        seed: Seed = None,
    ) -> None:
        settings = settings_of(problem, self.name)
        self._levers = np.flatnonzero((settings >= 0).any(axis=0)).tolist()
        self._sizes = [variable.size for variable in problem.observed]
        self._arm_of = {tuple(row): number for number, row in enumerate(settings.tolist())}
        if len(self._arm_of) != math.prod(self._sizes[place] + 1 for place in self._levers):
            raise ProblemError(
                f"{self.name} holds parents while it sets others, and needs every combination of its levers as an arm; "
                "this problem lacks some, so use a policy that only sees rewards"
            )
        self.gap, self.eps = checked_number("gap", gap, below=1), checked_number("eps", eps, below=1)
        delta = checked_number("delta", delta, below=1)
        n, k = len(self._levers), max(self._sizes[place] for place in self._levers)
        paper = raps_budget(n, k, self.gap, self.eps, delta)
        self.budget = paper if budget is None else whole_number("budget", budget, 1)
        if self.budget < paper:
            self.hints += f"; {self.budget} rows per question is a heuristic (the paper's: {paper})"
        rng = generator(seed)
        order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        self._orders = np.random.default_rng(order).permuted(np.tile(self._levers, (n + 1, 1)), axis=1).tolist()
        self._options = {"gap": self.gap, "eps": self.eps, "delta": delta, "budget": self.budget, "shuffle": order}
        super().__init__(problem, seed=rng)

    # The search, as a fold over rows

    def _start(self, counts: Counts) -> UCB1State:
        self.parents: list[int] = []
        self._begin()
        return self._ask_for(UCB1State(counts), self._baselines())

    def _begin(self) -> None:
        """A new search on all but the parents found."""
        self._candidates = [x for x in self._orders[len(self.parents)] if x not in self.parents]
        self._ancestor: int | None = None
        self._tested: int | None = None

    def _plan(self, state: UCB1State) -> UCB1State:
        if self._tested is not None:
            self._judge(state.counts, self._tested)
        while not self._candidates:
            if self._ancestor is None:
                return self._settle(state, self._playable(len(state.counts.allowed)))
            self.parents.append(self._ancestor)
            self._begin()
        self._tested = self._candidates[0]
        held = self._baselines()
        return self._ask_for(state, held + [self._with(each, x) for each in held for x in self._values(self._tested)])

    def _judge(self, counts: Counts, x: int) -> None:
        moved, descendants = 0.0, set()
        for held in self._baselines():
            before = self._means(counts, held)
            for value in self._values(x):
                after = self._means(counts, self._with(held, value))
                moved = max(moved, abs(after[0] - before[0]))
                shifts = {place: np.abs(after[1][place] - before[1][place]).max() for place in self._levers}
                descendants |= {place for place, shift in shifts.items() if shift > self.eps / 2 and place != x}
        if moved > self.gap / 2:
            self._ancestor = x
            self._candidates = [place for place in self._candidates if place in descendants]
        else:
            self._candidates = [place for place in self._candidates if place not in {x, *descendants}]

    # Arms by what they set

    def _baselines(self) -> list[Setting]:
        """The found parents at each of their joint values, all else left alone."""
        held: list[Setting] = [(-1,) * len(self._sizes)]
        for parent in self.parents:
            held = [self._with(each, value) for each in held for value in self._values(parent)]
        return held

    def _values(self, place: int) -> list[tuple[int, int]]:
        return [(place, level) for level in range(self._sizes[place])]

    @staticmethod
    def _with(held: Setting, value: tuple[int, int]) -> Setting:
        return (*held[: value[0]], value[1], *held[value[0] + 1 :])

    def _ask_for(self, state: UCB1State, wanted: list[Setting]) -> UCB1State:
        pulls = np.zeros(len(state.counts.allowed), dtype=np.int64)
        pulls[[self._arm_of[each] for each in wanted]] = self.budget
        return self._explore(state, np.maximum(pulls - own_rows(state.counts), 0) * (pulls > 0))

    def _means(self, counts: Counts, setting: Setting) -> tuple[float, list[Floats]]:
        """The mean reward of an arm, and the distribution of each variable under it."""
        seen = counts.seen[self._arm_of[setting]]
        joint = seen.sum(axis=1).reshape(self._sizes)
        total = joint.sum()
        axes = range(len(self._sizes))
        spread = [joint.sum(axis=tuple(other for other in axes if other != axis)) / total for axis in axes]
        return float(seen[:, 1].sum() / total), spread

    def _playable(self, arms: int) -> Bools:
        allowed = np.zeros(arms, dtype=np.bool_)
        played = [self._arm_of[each] for each in self._baselines()]
        allowed[played if self.parents else slice(None)] = True
        return allowed

    def found(self) -> list[str]:
        """The parents found so far, by name."""
        return [self.problem.observed_names[place] for place in self.parents]


def raps_budget(n: int, k: int, gap: float, eps: float, delta: float) -> int:
    """B, the rows that answer a question for all of n variables with k levels with probability 1 - delta."""
    outer = n * math.log(k + 1)
    mean = 32 * (math.log(8 * n * k / delta) + outer) / gap**2
    spread = 8 * (math.log(8 * n**2 * k**2 / delta) + outer) / eps**2
    return max(math.ceil(mean), math.ceil(spread))
