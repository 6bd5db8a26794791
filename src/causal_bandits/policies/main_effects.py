"""Main-effects Thompson Sampling: rewards only, arms learn from each other through the levels of their levers."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..data import TableLayout
from ..discovery.tiers import Tier
from ..errors import OptionError, brief
from ..estimators.main_effects import (
    MainEffects,
    beta_moments,
    chances_by_effects,
    copy_of,
    learn_own,
    main_effects,
    own_chances,
    refresh_effects,
)
from ..problem import Problem
from ..seeds import Seed
from .by_levers import LeverPolicy, plays_highest_draw
from .posterior import Posterior, Source, beta_limits, beta_sizes, sampler_of
from .protocol import indices, learn, sample_means

Scale = Literal["linear", "logistic"]


@plays_highest_draw
@by_reference
class MainEffectsState(NamedTuple):
    """Counts of every arm, and the lever effects of the last refresh."""

    effects: MainEffects
    allowed: Bools


@indices.of(MainEffectsState)
@compiled
def drawn_by_effects(state: MainEffectsState, rng: np.random.Generator) -> Floats:
    """What `choose` compares."""
    return chances_by_effects(state.effects, state.allowed, rng)


@sample_means.of(MainEffectsState)
@compiled
def sample_by_effects(state: MainEffectsState, seen: int, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's chance."""
    return chances_by_effects(state.effects, state.allowed, rng)


@learn.of(MainEffectsState)
@compiled
def learn_by_effects(state: MainEffectsState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    learn_own(state.effects, arm, reward)


class MainEffectsThompson(LeverPolicy[MainEffectsState]):
    """Thompson Sampling with lever effects: chance of an arm = level + an effect of each lever + a deviation.

    How large effects and deviations are is learnt from all arms, so that arms share much where levers add up and little
    where every arm is a world of its own. Mediators are not looked at: the baseline that a growth team would use.

    Args:
        problem: What is played; its reward is 0 or 1.
        scale: Whether effects add up on the scale of chances (``"linear"``) or of log-odds (``"logistic"``).
        seed: Seed or Generator of its draws.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"], "discount": ["none", "10%"]})
    >>> policy = MainEffectsThompson(problem, seed=0)
    >>> for banner, purchase in [("none", 0), ("red", 1)] * 20:
    ...     policy.tell(problem.arm(banner=banner), {"clicked": 1, "purchase": purchase})
    >>> policy.estimates()[3].arm, policy.estimates()[3].mean > 0.5  # never played, but red is good
    (do(banner=red, discount=10%), True)
    """

    name = "main-effects-ts"
    tier = Tier.REWARDS
    layout: TableLayout

    def __init__(self, problem: Problem, *, scale: Scale = "linear", seed: Seed = None) -> None:
        if scale not in get_args(Scale):
            raise OptionError(f"scale={brief(scale)}; expected 'linear' or 'logistic'")
        self.scale: Scale = scale
        super().__init__(problem, seed)

    def _make_layout(self, problem: Problem) -> TableLayout:
        return TableLayout.of(problem, 0)

    def _empty(self) -> MainEffectsState:
        made = main_effects(self.problem.arm_codes, lever_sizes(self.problem), logistic=self.scale == "logistic")
        return MainEffectsState(made, np.ones(len(self.problem.arms), dtype=np.bool_))

    def _learn_anew(self, state: MainEffectsState) -> None:
        refresh_effects(state.effects)

    def _pristine(self, state: MainEffectsState) -> MainEffectsState:
        fresh = self._empty()
        count_own(fresh.effects, state.effects)
        return fresh

    def _copy(self, state: MainEffectsState) -> MainEffectsState:
        return state._replace(effects=copy_of(state.effects))

    def _learnt(self, state: MainEffectsState) -> dict[str, NDArray[Any]]:
        return effects_learnt(state.effects)

    def _posterior(self, state: MainEffectsState) -> Posterior:
        arms = len(self.problem.arms)
        means, variances = np.array([beta_moments(*own_chances(state.effects, arm)) for arm in range(arms)]).T
        own, sizes = state.effects.own[:, 0].astype(np.int64), beta_sizes(means, variances)
        sources = [Source(*each) for each in zip(own.tolist(), sizes.tolist(), strict=True)]
        return Posterior(self.rows, means, sources, sampler_of(state, arms), beta_limits(means, variances))

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {"scale": self.scale}


def lever_sizes(problem: Problem) -> Ints:
    """How many levels each lever has."""
    return np.array([lever.size for lever in problem.interventions], dtype=np.int64)


def count_own(fresh: MainEffects, state: MainEffects) -> None:
    """Copy the counts of a state into one that knows nothing."""
    fresh.own[:] = state.own
    fresh.numbers[:2] = state.numbers[:2]


def effects_learnt(effects: MainEffects) -> dict[str, NDArray[Any]]:
    """What was learnt of levers, by the names the arrays have in save files."""
    return {
        "lever_known": effects.known,
        "lever_mean": effects.mean,
        "lever_root": effects.root,
        "lever_numbers": effects.numbers,
    }
