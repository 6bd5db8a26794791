"""Policies with the knowledge they need, taken from a world. Only this package sees both.

A policy says what it needs (`needs`, `assumes` and `variants` of its class); here every need is read from the world, or
rejected in words.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.discovery import KnownSets
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


class _Field(Mapping[str, Entry]):
    """A view of the registry: a policy that is named later is in it too."""

    def _entries(self) -> dict[str, Entry]:
        found = {name: Entry(policy, policy.needs, {}) for name, policy in POLICIES.items()}
        for policy in POLICIES.values():
            for name, variant in vars(policy).get("variants", {}).items():
                needs = policy.needs if variant.needs is None else variant.needs
                found[name] = Entry(policy, needs, variant.options)
        return found

    def __getitem__(self, name: str) -> Entry:
        return self._entries()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())


FIELD: Mapping[str, Entry] = _Field()
"""Everything that can be compared: the registry, and variants that are given more or look in another way."""


class Known(NamedTuple):
    """What a world can provide; None if it cannot."""

    separating: tuple[str, ...] | None
    chances: Any
    graph: Any
    parents: int | None
    horizon: int
    unconfounded: bool | None = None
    cell_means: Any = None
    world: World | None = None

    @property
    def past_means(self) -> Floats | None:
        """(arms, outcomes): the mean of every outcome of a row, for arms like those of the world: its own."""
        moments = _moments_of_outcomes(self.world)
        return None if moments is None else moments[0]

    @property
    def noise(self) -> Floats | None:
        """(outcomes, outcomes): the covariance of the outcomes of a row, averaged over arms."""
        moments = _moments_of_outcomes(self.world)
        return None if moments is None else moments[1]

    @property
    def discovery(self) -> KnownSets | None:
        """The separating set for a policy that shares through given sets."""
        return None if self.separating is None else KnownSets([self.separating])


def told(name: str, world: World, *, horizon: int, separating: str | Iterable[str] | None = None) -> Factory:
    """A factory of a policy with the knowledge that it needs, taken from the world.

    Args:
        name: Name of a policy or variant in `FIELD`.
        world: World that the knowledge is taken from.
        horizon: Number of rounds that will be played.
        separating: Set to claim as separating, true or not; by default one that separates in this world, if any.

    >>> from causal_bandits import simulate
    >>> from causal_bandits.research.worlds import example_world
    >>> world = example_world("S3")
    >>> simulate(told("c-ucb", world, horizon=100), world, 100, runs=2).regret.shape
    (2, 100)
    """
    check_world(world)
    if not isinstance(name, str) or name not in FIELD:
        raise OptionError(f"policy {brief(name)} is unknown; expected one of {listing(FIELD, 40)}")
    knowledge = _known(world, whole_number("horizon", horizon, 2), separating)._replace(world=world)
    try:
        return _make(name, knowledge)
    except WorldError as error:
        plain = [other for other, entry in FIELD.items() if not entry.options]  # no variants, which may be slow to make
        raise WorldError(
            f"{error}; these policies do not need it: {', '.join(_apply(world, knowledge, plain)[0])}"
        ) from None


def field(
    world: World, *, horizon: int, separating: str | Iterable[str] | None = None, among: Iterable[str] | None = None
) -> tuple[dict[str, Factory], dict[str, str]]:
    """The policies that apply to a world, with the knowledge they need, and why each of the others does not.

    Args:
        world: World that the knowledge is taken from.
        horizon: Number of rounds that will be played.
        separating: Set to claim as separating, true or not; by default one that separates in this world, if any.
        among: Names to choose from; all of `FIELD` by default.
    """
    wanted = set(FIELD if among is None else among)
    knowledge = _known(world, whole_number("horizon", horizon, 2), separating)._replace(world=world)
    return _apply(world, knowledge, [name for name in FIELD if name in wanted])


def _apply(world: World, knowledge: Known, names: list[str]) -> tuple[dict[str, Factory], dict[str, str]]:
    applies: dict[str, Factory] = {}
    refused: dict[str, str] = {}
    real = world.problem.reward_is_real
    for name in names:
        numbers = FIELD[name].policy.numbers
        if numbers is not None and (numbers is float) != real:
            continue
        try:
            applies[name] = _make(name, knowledge)
            applies[name](world.problem, seed=0)
        except CausalBanditsError as error:
            applies.pop(name, None)
            refused[name] = str(error)
    return applies, refused


def _make(name: str, knowledge: Known) -> Factory:
    """The factory of an entry; a WorldError that says which knowledge is missing."""
    entry = FIELD[name]
    wanted = (*entry.needs, *entry.policy.assumes)
    missing = [need for need in wanted if getattr(knowledge, need) is None]
    if missing:
        words = " and ".join(dict.fromkeys(WORDS.get(need, WORDS["separating"]) for need in missing))
        raise WorldError(f"the world does not provide {words}, which {name!r} needs")
    return partial(entry.policy, **entry.options, **{need: getattr(knowledge, need) for need in entry.needs})


def _known(world: World, horizon: int, separating: str | Iterable[str] | None) -> Known:
    claimed = None if separating is None else set_names(separating)
    base = world.base if isinstance(world, StructurelessWorld) else world
    if isinstance(base, RewardSCM) and claimed is None:
        claimed = base.separating_set()
    if not isinstance(base, DiscreteWorld):
        return Known(claimed, None, None, None, horizon)
    if claimed is None and base is world:
        claimed = base.separating_set()
    chances, cell_means = None, None
    if claimed is not None:
        chances = np.array([base.distribution(arm, claimed) for arm in base.problem.arms])
        cell_means = _cell_means(world, claimed) if isinstance(world, DiscreteWorld) else None
    if not isinstance(base, DiscreteSCM) or base is not world:
        return Known(claimed, chances, None, None, horizon, cell_means=cell_means)
    graph = base.graph
    parents = len(graph.parents(base.problem.target))
    hidden = graph.bidirected or len(graph.nodes) > len(base.problem.observed) + 1
    plain = None if hidden or not graph.is_acyclic else True
    return Known(claimed, chances, graph, parents, horizon, plain, cell_means)


def _cell_means(world: DiscreteWorld, names: tuple[str, ...]) -> Any:
    """E[Y | S], averaged over arms where S does not separate; 0 if no arm reaches a cell."""
    joint = sum(world.distribution(arm, [*names, world.problem.target]) for arm in world.problem.arms)
    both = np.asarray(joint)
    total = both.sum(axis=-1)
    return np.clip(np.divide(both[..., 1], total, out=np.zeros(total.shape), where=total > 0), 0.0, 1.0)


def _moments_of_outcomes(world: World | None) -> tuple[Floats, Floats] | None:
    """Means by arm and covariance within arms of the outcomes of `comparators.ImpatientBandit`."""
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
