"""Worlds whose rewards are amounts, counts or values: a discrete world says what happened, a law what it is worth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats, by_reference, compiled
from ...core.graphs import MixedGraph
from ...core.problem import Level, Levels, Problem
from ...errors import WorldError, brief, listing
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism
from .sampler import Sampler, draw, draw_levels, scratch, values_of_nodes
from .world import ContinuousWorld, GraphWorld

FIXED, LOG_NORMAL, POISSON, NEGATIVE_BINOMIAL = range(4)


class Law(NamedTuple):
    """The distribution of a reward, from one of the functions below."""

    kind: int
    mean: float
    shape: float = 0.0


def fixed(value: float) -> Law:
    """Always the same value.

    Args:
        value: The reward.
    """
    return Law(FIXED, float(value))


def log_normal(mean: float, sigma: float = 1.0) -> Law:
    """A log-normal amount.

    Args:
        mean: Its mean.
        sigma: Standard deviation of its logarithm.
    """
    if not (mean > 0 and sigma >= 0):
        raise WorldError(f"log_normal(mean={mean!r}, sigma={sigma!r}); expected a mean above 0 and sigma of at least 0")
    return Law(LOG_NORMAL, float(mean), float(sigma))


def poisson(mean: float) -> Law:
    """A Poisson count.

    Args:
        mean: Its mean.
    """
    if not 0 <= mean <= 1e9:
        raise WorldError(f"poisson({mean!r}); expected a mean between 0 and 1e9")
    return Law(POISSON, float(mean))


def negative_binomial(mean: float, shape: float) -> Law:
    """A Poisson count whose mean is Gamma distributed: variance mean + mean^2 / shape.

    Args:
        mean: Its mean.
        shape: Shape of the Gamma distribution; the smaller, the more counts vary.
    """
    if not (0 <= mean <= 1e9 and shape > 0):
        raise WorldError(f"negative_binomial({mean!r}, {shape!r}); expected a mean between 0 and 1e9, a shape above 0")
    return Law(NEGATIVE_BINOMIAL, float(mean), float(shape))


@by_reference
class RewardSampler(NamedTuple):
    """A discrete world, and the law of the reward for every level of its last node."""

    levels: Sampler
    laws: Floats
    """(levels of the outcome, 3): kind, mean, shape."""


class Room(NamedTuple):
    """Scratch of `draw_reward`."""

    values: Any
    codes: Any


@scratch.of(RewardSampler)
@compiled
def room_for_levels(sampler: RewardSampler) -> Room:
    """Buffer for the value of every node, and for the codes of the observed ones."""
    return Room(values_of_nodes(sampler.levels), np.empty(len(sampler.levels.observed), dtype=np.int64))


@compiled
def draw_law(law: Floats, rng: np.random.Generator) -> float:
    """One reward."""
    mean, shape = law[1], law[2]
    if law[0] == LOG_NORMAL:
        return float(mean * math.exp(shape * rng.standard_normal() - 0.5 * shape * shape))
    if law[0] == POISSON:
        return float(rng.poisson(mean))
    if law[0] == NEGATIVE_BINOMIAL:
        return float(rng.poisson(mean / shape * rng.standard_gamma(shape)))
    return float(mean)


@draw.of(RewardSampler)
@compiled
def draw_reward(sampler: RewardSampler, arm: int, rng: np.random.Generator, room: Room, values: Floats) -> float:
    """Pull an arm: fills `values` with level numbers of the observed variables and, last, the reward."""
    outcome = draw_levels(sampler.levels, arm, rng, room.values, room.codes)
    for place in range(len(room.codes)):
        values[place] = room.codes[place]
    values[-1] = draw_law(sampler.laws[outcome], rng)
    return float(values[-1])


UNSEEN = "(unseen)"


class RewardSCM(GraphWorld, ContinuousWorld):
    """A discrete SCM in which the level of the target determines the distribution of the reward.

    Args:
        variables: Name -> number of levels or their names; the target may have any number of them.
        mechanisms: Name -> `Mechanism`, one per variable.
        interventions: Lever -> value -> effect, as in `DiscreteSCM`.
        rewards: For every level of the target a number, or a law such as ``log_normal(30)`` or ``poisson(2.5)``.
        reward: The kind of reward: "count", "revenue", `float`, or levels with values.
        target: Name of the reward.
        noise: Exogenous variables that several mechanisms may share: name -> probabilities.
        arms: Arms that can be pulled; all combinations by default.

    >>> world = RewardSCM({"visit": 2, "spend": ["nothing", "something"]},
    ...     {"visit": Mechanism([], [0.9, 0.1]), "spend": Mechanism(["visit"], [[1, 0], [0.8, 0.2]])},
    ...     {"email": {"none": {}, "sent": {"visit": Mechanism([], [0.8, 0.2])}}},
    ...     {"nothing": 0, "something": log_normal(50.0)}, reward="revenue", target="spend")
    >>> world.means.round(3).tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        variables: Mapping[str, Levels],
        mechanisms: Mapping[str, Mechanism],
        interventions: Mapping[str, Mapping[Level, Effect]],
        rewards: Mapping[Level, float | Law],
        *,
        reward: Any,
        target: str = "Y",
        noise: Mapping[str, Sequence[float]] | None = None,
        arms: Iterable[Mapping[str, Level]] | None = None,
    ) -> None:
        coin = {UNSEEN: Mechanism([], [1.0, 0.0])}
        self.base = DiscreteSCM(
            {**variables, UNSEEN: 2}, {**mechanisms, **coin}, interventions, target=UNSEEN, noise=noise, arms=arms
        )
        if target not in self.base.variables:
            raise WorldError(f"target {brief(target)} is not among the variables {listing(variables)}")
        outcome = self.base.variables[target]
        missing = [level for level in outcome.levels if level not in rewards]
        if missing:
            raise WorldError(f"rewards has no law for {listing(missing)}; give one per level of {brief(target)}")
        laws = [law if isinstance(law := rewards[level], Law) else fixed(law) for level in outcome.levels]
        was = self.base.problem
        problem = Problem(
            target,
            {name: variable.levels for name, variable in self.base.variables.items() if name not in (target, UNSEEN)},
            {lever.name: list(lever.levels) for lever in was.interventions},
            arms=[dict(arm) for arm in was.arms],
            targets=dict(was.targets),
            reward=reward,
        )
        nodes = list(self.base.noise) + list(self.base.variables)
        levels = self.base.sampler._replace(
            observed=np.array([nodes.index(name) for name in problem.observed_names], dtype=np.int64),
            target=nodes.index(target),
        )
        table = np.array([[law.kind, law.mean, law.shape] for law in laws])
        chances = np.array([self.base.distribution(arm, [target]) for arm in was.arms])
        super().__init__(problem, RewardSampler(levels, table), chances @ table[:, 1])

    @property
    def graph(self) -> MixedGraph:
        """The graph of the discrete world."""
        return self.base.graph.subgraph([*self.problem.observed_names, self.problem.target])
