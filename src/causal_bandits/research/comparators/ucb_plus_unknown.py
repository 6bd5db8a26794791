"""UCB+ with an unknown number of parents (Shahverdikondori et al. 2026): fewer actions for longer, in phases."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.discovery.tiers import TARGETS, Tier
from ...core.policies.base import Variant
from ...core.policies.protocol import choose, indices, learn
from ...core.problem import Problem
from ...core.seeds import Seed, generator
from ...errors import whole_number
from .base import CountingPolicy, checked_horizon, checked_number
from .counts import Counts, arm_index, count, counted, indices_of_arms, own_rows
from .indices import scaled_ucb_index
from .sampling import sample
from .settings import settings_of
from .ucb import scaled_ucb_of_arm

MOST_MIXTURES = 40


@counted
@by_reference
class MixingState(NamedTuple):
    """Counts of arms and of mixtures of arms, and the action that leads: an arm, or after all arms a mixture."""

    counts: Counts
    horizon: float
    constant: float
    mixtures: Floats
    """(most mixtures, arms): actions that pull an arm with these probabilities."""
    mixed: Ints
    """(most mixtures, 2): zeros and ones of the rows that a mixture led to."""
    known: Ints
    """(1,): how many mixtures there are."""
    leading: Ints
    """(1,): the action that is asked for next."""


@compiled
def find_leader(state: MixingState) -> None:
    """The action with the highest m + sqrt(c ln T / n), arms first, then mixtures; the first of equals."""
    arms, leader, highest = len(state.counts.allowed), -1, -np.inf
    for action in range(arms + state.known[0]):
        if action < arms and not state.counts.allowed[action]:
            continue
        tried = state.counts.rewards[action] if action < arms else state.mixed[action - arms]
        n, ones = tried[0] + tried[1], tried[1]
        value = scaled_ucb_index(ones / n, n, state.constant, state.horizon) if n else np.inf
        if value > highest:
            leader, highest = action, value
    state.leading[0] = leader


@choose.of(MixingState)
@compiled
def choose_leader(state: MixingState, rng: np.random.Generator) -> int:
    """The arm that leads, or one that the leading mixture draws."""
    action, arms = state.leading[0], len(state.counts.allowed)
    return action if action < arms else sample(state.mixtures[action - arms], rng)


arm_index.of(MixingState)(scaled_ucb_of_arm)


@indices.of(MixingState)
@compiled
def mixing_indices(state: MixingState, rng: np.random.Generator) -> Floats:
    """The bounds of the arms, unless a mixture leads and draws among them."""
    if state.leading[0] >= len(state.counts.allowed):
        return np.full(len(state.counts.allowed), np.nan)
    return indices_of_arms(state, rng)


@learn.of(MixingState)
@compiled
def count_for_leader(state: MixingState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row for its arm, and for the mixture that led to it; then find who leads."""
    count(state.counts, arm, codes, reward)
    arms = len(state.counts.allowed)
    if state.leading[0] >= arms:
        state.mixed[state.leading[0] - arms, reward] += 1
    find_leader(state)


class UnknownUCBPlus(CountingPolicy):
    """UCB in phases over random actions that set exactly m variables, and one mixture per earlier phase.

    Phase i lasts T_i = 2^(r + i) ceil(v n / m) rounds with q_i = 2^(r - i + 1) random actions, r = ceil(log2 sqrt(T)),
    n variables of v levels. A mixture pulls what its phase pulled, as often, so what was found is not lost when the
    next phase draws other actions. After i_f = ceil(log2 sqrt(T m / (v n))) phases the last one continues.

    The index is the mean + sqrt(c ln T / rows); the action that leads after a row is the one that is asked for, and the
    next row counts for it if it is a mixture. Rows count for the arm they pulled alone. Ties: the first in order.

    Deviation: actions are drawn afresh in every phase, as in the analysis; the authors' experiments take those with the
    best means so far.

    Args:
        problem: What is played; `targets` must say which one variable each lever sets.
        horizon: Number of rounds that will be played.
        constant: The constant c of the bound.
        shuffle: Seed of the random choice of actions; drawn from `seed` by default.
        seed: Seed or Generator of its draws.
    """

    name = "ucb-plus-unknown"
    plays_all_arms = True
    tier = Tier.OBSERVED
    needs = ("horizon",)
    hints = f"{TARGETS}, the horizon"
    variants: ClassVar[Mapping[str, Variant]] = {"ucb-plus-unknown-small": Variant({"constant": 0.1})}

    def __init__(
        self, problem: Problem, *, horizon: int, constant: float = 2.0, shuffle: int | None = None, seed: Seed = None
    ) -> None:
        settings = settings_of(problem, self.name)
        self.horizon, self.constant = checked_horizon(horizon), checked_number("constant", constant)
        sizes = (settings >= 0).sum(axis=1)
        self._actions = np.flatnonzero(sizes == sizes.max())
        n, v = int((settings >= 0).any(axis=0).sum()), max(variable.size for variable in problem.observed)
        self._phases = phases(self.horizon, n, int(sizes.max()), v)
        rng = generator(seed)
        self._order = int(rng.integers(2**32)) if shuffle is None else whole_number("shuffle", shuffle, 0)
        self._options = {"horizon": self.horizon, "constant": self.constant, "shuffle": self._order}
        super().__init__(problem, seed=rng)

    def _start(self, counts: Counts) -> MixingState:
        self.phase = 0
        mixtures = np.zeros((MOST_MIXTURES, len(counts.allowed)))
        mixed, known, leading = (np.zeros(shape, dtype=np.int64) for shape in ((MOST_MIXTURES, 2), (1,), (1,)))
        return self._begin(MixingState(counts, float(self.horizon), self.constant, mixtures, mixed, known, leading))

    def _begin(self, state: MixingState) -> MixingState:
        """Draw the actions of the next phase."""
        rounds, count = self._phases[self.phase]
        allowed = state.counts.allowed
        self._before = own_rows(state.counts)
        drawn = np.random.default_rng([self._order, self.phase]).permutation(self._actions)[:count]
        allowed[:] = np.isin(np.arange(len(allowed)), drawn)
        self.phase += 1
        if self.phase < len(self._phases):
            self._plan_at = self._counted + rounds
        else:
            self._settle(state, allowed)
        find_leader(state)
        return state

    def _plan(self, state: MixingState) -> MixingState:
        pulled = own_rows(state.counts) - self._before
        state.mixtures[state.known[0]] = pulled / pulled.sum()
        state.known[0] += 1
        return self._begin(state)

    @property
    def leader(self) -> int:
        """The action that is asked for next: an arm by number, or the number of arms plus that of a mixture."""
        return int(self._state.leading[0])


def phases(horizon: int, n: int, m: int, v: int) -> list[tuple[int, int]]:
    """T_i and q_i for every phase."""
    r = math.ceil(math.log2(math.sqrt(horizon)))
    last = max(1, math.ceil(math.log2(math.sqrt(horizon * m / (v * n)))))
    return [(2 ** (r + i) * math.ceil(v * n / m), max(1, 2 ** (r - i + 1))) for i in range(1, last + 1)]
