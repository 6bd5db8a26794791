"""Policies with the knowledge they need, taken from a world. Only this package sees both.

A policy says what it needs (`needs`, `assumes` and `variants` of its class); here every need is read from the world, or
rejected in words.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.discovery import KnownSets
from ...core.graphs import MixedGraph
from ...core.policies import POLICIES, Policy
from ...errors import CausalBanditsError, OptionError, WorldError, brief, listing, whole_number
from ..comparators.base import set_names
from ..worlds import DiscreteSCM, DiscreteWorld, RewardSCM, StructurelessWorld
from ..worlds.world import MOST_CELLS
from .one_run import World, check_world

Factory = Callable[..., Policy[Any]]
"""Called as factory(problem, seed=seed)."""

WORDS = {
    "separating": "a separating set",
    "chances": "P(Z | a) of a separating set Z",
    "cell_means": "E[Y | S] of a separating set S",
    "past_means": "the mean outcomes of past arms",
    "noise": "the noise of the outcomes of past arms",
    "graph": "the causal graph",
    "parents": "the number of parents of the reward",
    "unconfounded": "that it has no hidden common causes and no cycles",
}


class Entry(NamedTuple):
    """A policy as a table shows it: the class, what it needs from a world, and options that are fixed."""

    policy: type[Policy[Any]]
    needs: tuple[str, ...]
    options: Mapping[str, Any]


def entries() -> dict[str, Entry]:
    """Everything that can be compared: the registry, and variants that are given more or look in another way."""
    found = {name: Entry(policy, policy.needs, {}) for name, policy in POLICIES.items()}
    for policy in POLICIES.values():
        for name, variant in vars(policy).get("variants", {}).items():
            needs = policy.needs if variant.needs is None else variant.needs
            found[name] = Entry(policy, needs, variant.options)
    return found


class Known:
    """What a world can provide, by the names of policies' options; None where it cannot."""

    def __init__(self, world: World, horizon: int, separating: str | Iterable[str] | None) -> None:
        check_world(world)
        self.world, self.horizon = world, whole_number("horizon", horizon, 2)
        self.claimed = None if separating is None else set_names(separating)
        self.base = world.base if isinstance(world, StructurelessWorld) else world
        """Where mediators come from: their probabilities are its own."""

    @cached_property
    def separating(self) -> tuple[str, ...] | None:
        """The set that is claimed to separate, or one that does."""
        if self.claimed is None and self.base is self.world and isinstance(self.base, DiscreteWorld | RewardSCM):
            return self.base.separating_set()
        return self.claimed

    @property
    def discovery(self) -> KnownSets | None:
        """The separating set for a policy that shares through given sets."""
        return None if self.separating is None else KnownSets([self.separating])

    @cached_property
    def chances(self) -> Any:
        """P(S | arm)."""
        if self.separating is None or not isinstance(self.base, DiscreteWorld):
            return None
        return np.array([self.base.distribution(arm, self.separating) for arm in self.base.problem.arms])

    @cached_property
    def cell_means(self) -> Any:
        """E[Y | S], averaged over arms where S does not separate; 0 if no arm reaches a cell."""
        world, names = self.world, self.separating
        if names is None or not isinstance(world, DiscreteWorld):
            return None
        both = sum(world.distribution(arm, [*names, world.problem.target]) for arm in world.problem.arms)
        total = np.asarray(both).sum(axis=-1)
        ones = np.asarray(both)[..., 1]
        return np.clip(np.divide(ones, total, out=np.zeros(total.shape), where=total > 0), 0.0, 1.0)

    @property
    def graph(self) -> MixedGraph | None:
        """The causal graph."""
        return self.world.graph if isinstance(self.world, DiscreteSCM) else None

    @property
    def parents(self) -> int | None:
        """The number of parents of the reward."""
        return None if self.graph is None else len(self.graph.parents(self.world.problem.target))

    @property
    def unconfounded(self) -> bool | None:
        """True where there are no hidden common causes and no cycles."""
        if self.graph is None or self.graph.bidirected or not self.graph.is_acyclic:
            return None
        return True if len(self.graph.nodes) == len(self.world.problem.observed) + 1 else None

    @cached_property
    def outcomes(self) -> tuple[Floats, Floats] | None:
        """Means by arm, and covariance within arms, of the outcomes of `comparators.ImpatientBandit`."""
        world = self.world
        if not isinstance(world, DiscreteWorld) or world.problem.segments:
            return None
        sizes = [*(variable.size for variable in world.problem.observed), 2]
        if math.prod(sizes) > MOST_CELLS:
            return None
        cells = np.indices(sizes).reshape(len(sizes), -1)
        outcomes = np.array([cells[place] >= level for place, size in enumerate(sizes) for level in range(1, size)])
        chances = np.array([world.distribution(arm).ravel() for arm in world.problem.arms])
        means, both = chances @ outcomes.T, outcomes * chances.mean(axis=0) @ outcomes.T
        return means, both - means.T @ means / len(means)

    @property
    def past_means(self) -> Floats | None:
        """(arms, outcomes): the mean of every outcome of a row, for arms like those of the world: its own."""
        return None if self.outcomes is None else self.outcomes[0]

    @property
    def noise(self) -> Floats | None:
        """(outcomes, outcomes): the covariance of the outcomes of a row, averaged over arms."""
        return None if self.outcomes is None else self.outcomes[1]


def told(name: str, world: World, *, horizon: int, separating: str | Iterable[str] | None = None) -> Factory:
    """A factory of a policy with the knowledge that it needs, taken from the world.

    Args:
        name: Name of a policy or variant (`causal-bandits compare --list` has all).
        world: World that the knowledge is taken from.
        horizon: Number of rounds that will be played.
        separating: Set to claim as separating, true or not; by default one that separates in this world, if any.

    >>> from causal_bandits import simulate
    >>> from causal_bandits.research.worlds import example_world
    >>> world = example_world("S3")
    >>> simulate(told("c-ucb", world, horizon=100), world, 100, runs=2).regret.shape
    (2, 100)
    """
    knowledge = Known(world, horizon, separating)
    known = entries()
    if not isinstance(name, str) or name not in known:
        raise OptionError(f"policy {brief(name)} is unknown; expected one of {listing(known, 40)}")
    try:
        return _make(name, known[name], knowledge)
    except WorldError as error:
        plain = [other for other, entry in known.items() if not entry.options]  # no variants, which may be slow to make
        raise WorldError(f"{error}; these policies do not need it: {', '.join(_apply(knowledge, plain)[0])}") from None


def field(
    world: World, *, horizon: int, separating: str | Iterable[str] | None = None, among: Iterable[str] | None = None
) -> tuple[dict[str, Factory], dict[str, str]]:
    """The policies that apply to a world, with the knowledge they need, and why each of the others does not.

    Args:
        world: World that the knowledge is taken from.
        horizon: Number of rounds that will be played.
        separating: Set to claim as separating, true or not; by default one that separates in this world, if any.
        among: Names to choose from; all by default.
    """
    known = entries()
    wanted = set(known if among is None else among)
    return _apply(Known(world, horizon, separating), [name for name in known if name in wanted])


def _apply(knowledge: Known, names: list[str]) -> tuple[dict[str, Factory], dict[str, str]]:
    applies: dict[str, Factory] = {}
    refused: dict[str, str] = {}
    problem, known = knowledge.world.problem, entries()
    for name in names:
        numbers = known[name].policy.numbers
        if numbers is not None and (numbers is float) != problem.reward_is_real:
            continue
        try:
            applies[name] = _make(name, known[name], knowledge)
            applies[name](problem, seed=0)
        except CausalBanditsError as error:
            applies.pop(name, None)
            refused[name] = str(error)
    return applies, refused


def _make(name: str, entry: Entry, knowledge: Known) -> Factory:
    """The factory of an entry; a WorldError that says which knowledge is missing."""
    wanted = (*entry.needs, *entry.policy.assumes)
    missing = [need for need in wanted if getattr(knowledge, need) is None]
    if missing:
        words = " and ".join(dict.fromkeys(WORDS.get(need, WORDS["separating"]) for need in missing))
        raise WorldError(f"the world does not provide {words}, which {name!r} needs")
    return partial(entry.policy, **entry.options, **{need: getattr(knowledge, need) for need in entry.needs})
