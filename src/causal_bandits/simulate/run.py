"""One run: a policy plays a world for a number of rounds."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data import Rows
from ..environments import DiscreteWorld
from ..errors import OptionError, whole_number
from ..policies import DiscretePolicy
from ..problem import Arm, Level, Problem
from .rollout import rollout


class Policy(Protocol):
    """What a policy must do to be played."""

    problem: Problem

    def ask(self) -> Arm:
        """The next arm."""

    def tell(self, arm: Arm, observation: Mapping[str, Any]) -> None:
        """What came of it."""


class World(Protocol):
    """What a world must do to be played in."""

    problem: Problem
    means: NDArray[np.float64]

    def pull(self, arm: Arm, rng: np.random.Generator) -> dict[str, Level]:
        """Every observed variable and the reward."""


class Run(NamedTuple):
    """The arms pulled (by number) and the rewards seen."""

    arms: NDArray[np.int64]
    rewards: NDArray[np.int64]

    def regret(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cumulative pseudo-regret after each round: the sum of best mean - mean of the arm pulled."""
        return np.cumsum(means.max() - means[self.arms])

    def realised_regret(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cumulative best mean - reward, as the paper writes it with the sign turned."""
        return np.cumsum(means.max() - self.rewards)


def play(policy: Policy, world: World, horizon: int, rng: np.random.Generator, *, compiled: bool = True) -> Run:
    """Play `horizon` rounds; `rng` belongs to the world. Both ways of playing choose the same arms.

    >>> from causal_bandits import CausalThompsonSampling, example_world
    >>> world = example_world("S3")
    >>> run = play(CausalThompsonSampling(world.problem, seed=1), world, 500, np.random.default_rng(2))
    >>> bool(run.arms[-100:].mean() > 0.9)  # arm 1 is the better one
    True
    """
    horizon = whole_number("horizon", horizon, 0)
    if policy.problem != world.problem:
        raise OptionError("policy and world have different problems; make the policy with world.problem")
    if compiled and isinstance(policy, DiscretePolicy) and isinstance(world, DiscreteWorld) and _plain(policy, world):
        return _play_compiled(policy, world, horizon, rng)
    return _play_by_ask_and_tell(policy, world, horizon, rng)


def _plain(policy: DiscretePolicy, world: DiscreteWorld) -> bool:
    """Whether the compiled rules are all there is to it: a subclass may ask, tell or pull in its own way."""
    own = (type(policy).ask, type(policy).tell, type(world).pull)
    return own == (DiscretePolicy.ask, DiscretePolicy.tell, DiscreteWorld.pull)


def _play_by_ask_and_tell(policy: Policy, world: World, horizon: int, rng: np.random.Generator) -> Run:
    arms = np.empty(horizon, dtype=np.int64)
    rewards = np.empty(horizon, dtype=np.int64)
    for step in range(horizon):
        arm = policy.ask()
        seen = world.pull(arm, rng)
        policy.tell(arm, seen)
        arms[step] = world.problem.index(arm)
        rewards[step] = seen[world.problem.target]
    return Run(arms, rewards)


def _play_compiled(policy: DiscretePolicy, world: DiscreteWorld, horizon: int, rng: np.random.Generator) -> Run:
    """Compiled from one discovery to the next."""
    arms = np.empty(horizon, dtype=np.int64)
    codes = np.empty((horizon, len(world.problem.observed)), dtype=np.int64)
    rewards = np.empty(horizon, dtype=np.int64)
    done = 0
    while done < horizon:
        state = policy.ready()
        part = slice(done, min(horizon, done + policy.rounds_to_refresh))
        rollout(state, world.sampler, policy.rng, rng, arms[part], codes[part], rewards[part])
        policy.remember(Rows(arms[part], codes[part], rewards[part], np.empty((part.stop - part.start, 0))))
        done = part.stop
    return Run(arms, rewards)
