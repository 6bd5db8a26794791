"""Methods (policies with what they are given) and panels of worlds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...core.policies import Tier
from ..simulation.delays import Batched, Delay
from ..simulation.many_runs import PolicyFactory
from ..simulation.one_run import World

WorldMaker = Callable[[int, np.random.SeedSequence], World]
"""Makes a world from its number and a seed for its random parameters."""


@dataclass(frozen=True)
class Method:
    """A policy, and what it was given about the world."""

    key: str
    label: str
    knows: str
    policy: Callable[[World], PolicyFactory]
    tier: Tier | None = None
    """In which it is fairly compared; None: a policy that does not say."""
    baseline: str = ""
    """The key of the method that this one is compared with; by default the experiment's baseline."""
    slow: bool = False
    whole_rows: bool = False
    """With late rewards: report rows only when their reward is known."""
    batches: Batched | None = None
    """How it is given its rows, where rewards come at once: in batches; None: each one at once."""


def method_of(key: str, label: str, example: Any, policy: Callable[[World], PolicyFactory]) -> Method:
    """A method whose knowledge is read from an example of its policy; a user's class need not declare it."""
    shown = f"{label} (explore, then commit)" if getattr(example, "simple_regret", False) else label
    return Method(key, shown, getattr(example, "hints", "unknown"), policy, getattr(example, "tier", None))


def told_nothing(factory: PolicyFactory) -> Callable[[World], PolicyFactory]:
    """The same policy in every world."""
    return partial(_same, factory)


def _same(factory: PolicyFactory, _world: World) -> PolicyFactory:
    return factory


@dataclass(frozen=True)
class Panel:
    """Worlds that are averaged over, and how they are played in.

    Panels with the same stream play with the same random numbers, run by run, so that they can be compared in pairs.
    """

    suffix: str
    title: str
    worlds: int
    world: WorldMaker | tuple[World, ...]
    observational: int = 0
    """Rows of the idle arm given before the first round, without regret."""
    stream: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    """Methods that cannot be played here: what they must be given does not exist."""
    delay: Delay | None = None
    """After how many more rounds a reward is known; None: at once."""
    delay_share: float = 0.0
    """The same as a share of the horizon."""

    def waits(self, horizon: int) -> Delay | None:
        """The delay of a horizon."""
        return round(self.delay_share * horizon) if self.delay_share else self.delay

    def maker(self, number: int) -> WorldMaker:
        """What makes world `number`; of given worlds, that one alone is sent to where it is played."""
        return partial(_given, self.world[number]) if isinstance(self.world, tuple) else self.world


def _given(world: World, _number: int, _seed: np.random.SeedSequence) -> World:
    return world
