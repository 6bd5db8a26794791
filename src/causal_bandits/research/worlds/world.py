"""What all worlds have: a problem, means, rows that are drawn, segments and separating sets."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.compiled import Floats, Ints, compiled
from ...core.data import Rows
from ...core.graphs import MixedGraph, separates, separating_sets
from ...core.graphs.separation import Criterion
from ...core.problem import Arm, Level, Problem
from ...core.seeds import Seed, check_generator, generator
from ...core.validation import are_names
from ...errors import OptionError, UnknownVariableError, WorldError, brief, listing, whole_number
from ..limits import Limits, limits_of
from .sampler import fill


@compiled
def draw_segment_number(cumulative: Floats, rng: np.random.Generator) -> int:
    """The number of a segment; the last of the cumulative probabilities is 1."""
    chance = rng.random()
    number = 0
    while chance >= cumulative[number]:
        number += 1
    return number


class SimulatedWorld:
    """A simulated bandit: its problem, the exact mean of every arm, and a sampler.

    Segments come with probabilities; in a world without segments there is a single, empty one.

    Args:
        problem: The problem of the bandit.
        sampler: Draws the observed variables and the reward of an arm.
        means: Exact mean reward of every arm.
    """

    numbers: ClassVar[type]
    """What its sampler draws: level numbers, or real values."""
    segment_chances: Floats = np.ones(1)
    """The probability of each segment, in the order of `problem.segment_settings`."""

    def __init__(self, problem: Problem, sampler: Any, means: NDArray[np.float64]) -> None:
        self.problem, self.sampler, self.means = problem, sampler, means

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.outline})"

    def room(self, count: int) -> tuple[Any, Any]:
        """Arrays for what this many pulls will show: the observed variables, and the rewards."""
        raise NotImplementedError

    def rows(self, arms: Ints, seen: Any, rewards: Any) -> Rows:
        """Coded rows from what was drawn."""
        raise NotImplementedError

    def sample(self, arm: Arm | Mapping[str, Level], count: int, rng: np.random.Generator) -> Rows:
        """Pull an arm many times; coded rows."""
        check_generator(rng)
        count = whole_number("count", count, 0, 100_000_000)
        number = self.problem.index(arm)
        seen, rewards = self.room(count)
        fill(self.sampler, number, rng, seen, rewards)
        return self.rows(np.full(count, number), seen, rewards)

    def pull(self, arm: Arm | Mapping[str, Level], rng: np.random.Generator) -> dict[str, Level]:
        """Pull an arm once: every observed variable and the reward, by name."""
        rows = self.sample(arm, 1, rng)
        values = iter(rows.raw[0].tolist())
        seen: dict[str, Level] = {
            variable.name: next(values) if variable.is_real else variable.levels[code]
            for variable, code in zip(self.problem.observed, rows.codes[0].tolist(), strict=True)
        }
        reward, kind = rows.rewards[0].item(), self.problem.reward
        return {**seen, self.problem.target: int(reward) if kind.kind in ("binary", "count") else kind.told(reward)}

    def set_segment_chances(self, chances: Sequence[float] | Floats) -> None:
        """Say how probable each segment is."""
        try:
            found = np.asarray(chances, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        fits = found.shape == (len(self.problem.segment_settings),) and bool(np.all(found >= 0))
        if not fits or not np.isclose(found.sum(), 1):
            raise WorldError(f"the segments have the probabilities {brief(chances)}; expected one each, which sum to 1")
        self.segment_chances = found

    @property
    def cumulative_chances(self) -> Floats:
        """What `draw_segment_number` draws from."""
        found = np.cumsum(self.segment_chances)
        found[-1] = 1.0  # the last one takes what rounding leaves
        return found

    def draw_segment(self, rng: np.random.Generator) -> dict[str, Level]:
        """The segment of the next round."""
        return self.problem.segment_settings[draw_segment_number(self.cumulative_chances, rng)]


class GraphWorld(ABC):
    """A world that has a graph, which says what separates."""

    problem: Problem
    criterion: ClassVar[Criterion] = "auto"

    @property
    @abstractmethod
    def graph(self) -> MixedGraph:
        """The graph of the observed variables and the reward, without the levers."""

    @property
    def graph_with_levers(self) -> MixedGraph:
        """The same graph with the levers."""
        return self.graph.with_context(dict(self.problem.targets))

    def separating_sets(self, *, max_size: int | None = None) -> list[tuple[str, ...]]:
        """Every set of observed variables that separates all levers from the reward, smallest first.

        By d-separation in the graph with the levers. Where it has a cycle, by sigma-separation, unless the world is
        linear: d-separation is valid there with cycles, too.
        """
        return separating_sets(
            self.graph_with_levers,
            self.problem.intervention_names,
            self.problem.target,
            within=self.problem.observed_names,
            max_size=max_size,
            criterion=self.criterion,
        )

    def separating_set(self) -> tuple[str, ...] | None:
        """The parents of the reward if they separate the levers from it, else the smallest set that does; or None."""
        target, levers = self.problem.target, self.problem.intervention_names
        parents = self.graph.parents(target)
        if separates(self.graph_with_levers, parents, levers, target, criterion=self.criterion):
            return parents
        sizes = range(len(self.problem.observed) + 1)
        return next((sets[0] for size in sizes if (sets := self.separating_sets(max_size=size))), None)


MOST_CELLS = 2**20
"""Joint values of a set, times arms, that limits are computed for."""


class DiscreteWorld(SimulatedWorld):
    """A simulated bandit with discrete variables and a reward of 0 or 1."""

    numbers = int
    draw: Callable[[np.random.Generator], "DiscreteWorld | Floats | None"] | None = None
    """Draws worlds like this one, or their laws, if known: the prior of a Bayes oracle."""

    def room(self, count: int) -> tuple[Ints, Ints]:
        """Arrays for what this many pulls will show: the observed variables, and the rewards."""
        return np.empty((count, len(self.problem.observed)), dtype=np.int64), np.empty(count, dtype=np.int64)

    def rows(self, arms: Ints, codes: Ints, rewards: Ints) -> Rows:
        """Coded rows from what was drawn."""
        return Rows(arms, codes, rewards, np.empty((len(arms), 0)))

    # The truth

    def distribution(self, arm: Arm | Mapping[str, Level], variables: Iterable[str] | None = None) -> Floats:
        """Exact P(variables | arm), one axis per variable in the order named; all variables by default."""
        sampler, number = self.sampler, self.problem.index(arm)
        nodes = dict(zip(self.problem.observed_names, sampler.observed.tolist(), strict=True))
        nodes[self.problem.target] = int(sampler.target)
        operands: list[Any] = []
        for node, mechanism in enumerate(sampler.mechanism[number].tolist()):
            parents = [place for place in sampler.parents[mechanism].tolist() if place >= 0]
            sizes = [int(sampler.sizes[sampler.mechanism[number, parent]]) for parent in (*parents, node)]
            start = int(sampler.starts[mechanism])
            flat = sampler.cumulative[start : start + int(np.prod(sizes))].reshape(sizes)
            operands += [np.diff(flat, axis=-1, prepend=0.0), [*parents, node]]
        names = list(nodes) if variables is None else list(variables)
        for name in names:
            if name not in nodes:
                raise UnknownVariableError(f"{brief(name)} is not a variable; expected one of {listing(nodes)}")
        found: Floats = np.einsum(*operands, [nodes[name] for name in names], optimize="greedy")
        return found

    def limits(self, separating: str | Iterable[str] | None = None) -> Limits:
        """Lower bounds C ln T on regret, without and with mediators, and the share of variance they explain.

        Args:
            separating: Names of the set S; by default one that separates the levers from the reward, or all observed
                variables if none does. A set that does not separate is treated as if it did, with E[Y | S] averaged
                over arms; `separates` is then false.

        >>> from causal_bandits.research.worlds import loan_world
        >>> found = loan_world().limits()
        >>> found.separating, found.separates, round(found.eta2, 3)
        (('applied',), False, 0.845)
        """
        if self.problem.segments:
            raise WorldError("limits are of a world without segments; ask for those of each segment's world")
        if separating is not None and not isinstance(separating, str) and not are_names(separating):
            raise OptionError(f"separating={brief(separating)}; expected a list of names")
        given = (separating,) if isinstance(separating, str) else separating
        names = self.separating_set() if given is None else tuple(given)
        names = self.problem.observed_names if names is None else names
        return limits_of(*self._through(names), names)

    def separating_set(self) -> tuple[str, ...] | None:
        """The smallest set of observed variables given which the reward does not depend on the arm, or None."""
        names = self.problem.observed_names
        for found in (found for size in range(len(names) + 1) for found in combinations(names, size)):
            chances, means = self._through(found)
            high = np.where(chances > 1e-12, means, 0.0).max(axis=0)
            if (np.where(chances > 1e-12, means, 1.0).min(axis=0) >= high - 1e-9).all():
                return found
        return None

    def _through(self, names: tuple[str, ...]) -> tuple[Floats, Floats]:
        """P(s | arm) and E[Y | s, arm], both (arms, cells)."""
        sizes = {variable.name: variable.size for variable in self.problem.observed}
        for name in names:
            if name not in sizes:
                raise UnknownVariableError(
                    f"{brief(name)} is not an observed variable; expected some of {listing(sizes)}"
                )
        cells = math.prod(sizes[name] for name in names)
        if cells * len(self.problem.arms) > MOST_CELLS:
            raise WorldError(
                f"{len(self.problem.arms)} arms times {cells:,} joint values of {listing(names)} are too many; "
                "name a smaller set, limits(separating=[...])"
            )
        joint = np.array([self.distribution(arm, [*names, self.problem.target]) for arm in self.problem.arms])
        joint = np.maximum(joint.reshape(len(self.problem.arms), -1, 2), 0.0)
        chances = joint.sum(axis=2)
        return chances, np.divide(joint[:, :, 1], chances, out=np.zeros_like(chances), where=chances > 0)


# The structureless world of Fig. 2(c): no set separates anything


def _numbers(means: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(means, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise WorldError(f"means is {brief(means)}; expected numbers between 0 and 1, one per arm") from None


class StructurelessWorld(DiscreteWorld):
    """A world without separating sets: observed variables of another world, and a Bernoulli reward per arm.

    Args:
        base: World that the observed variables come from.
        means: Mean reward per arm; uniform on (0, 1) by default.
        seed: Seed or Generator for those means.

    >>> from causal_bandits import MixedGraph
    >>> from causal_bandits.research.worlds import paper_world
    >>> base = paper_world(MixedGraph(["A", "Y"], directed=[("A", "Y")]), seed=0)
    >>> StructurelessWorld(base, means=[0.1, 0.5, 0.9]).means.tolist()
    [0.1, 0.5, 0.9]
    """

    def __init__(
        self,
        base: DiscreteWorld,
        means: ArrayLike | None = None,
        *,
        seed: Seed = None,
    ) -> None:
        if not isinstance(base, DiscreteWorld):
            raise WorldError(f"base is {brief(base)}; expected a discrete world, such as paper_world(...)")
        arms = len(base.problem.arms)
        chances = generator(seed).random(arms) if means is None else _numbers(means)
        if chances.shape != (arms,) or not np.all((chances >= 0) & (chances <= 1)):
            raise WorldError(f"means has shape {chances.shape}; expected {arms} numbers between 0 and 1, one per arm")
        old = base.sampler
        # A new node with one mechanism per arm, without parents: P(Y = 1) is the arm's mean.
        # The old reward stays, unseen: what it causes must keep its distribution.
        node = old.order.shape[1]
        tables = np.stack([1 - chances, np.ones(arms)], axis=1)
        numbers = len(old.sizes) + np.arange(arms)
        absent = np.full((arms, old.parents.shape[1]), -1)
        sampler = old._replace(
            order=np.column_stack([old.order, np.full(arms, node)]),
            mechanism=np.column_stack([old.mechanism, numbers]),
            parents=np.concatenate([old.parents, absent]),
            strides=np.concatenate([old.strides, np.zeros_like(absent)]),
            sizes=np.concatenate([old.sizes, np.full(arms, 2)]),
            starts=np.concatenate([old.starts, len(old.cumulative) + 2 * np.arange(arms)]),
            cumulative=np.concatenate([old.cumulative, tables.ravel()]),
            target=node,
        )
        super().__init__(base.problem, sampler, chances)
        self.base = base


class ContinuousWorld(SimulatedWorld):
    """A simulated bandit with real-valued variables."""

    numbers = float

    def __init__(self, problem: Problem, sampler: Any, means: NDArray[np.float64]) -> None:
        for variable in problem.observed:
            if variable.bins is not None:
                raise WorldError(f"{variable.name!r} is cut into bins; declare it as float or with its levels")
        super().__init__(problem, sampler, means)

    def room(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Arrays for what this many pulls will show: the observed variables with the reward last, and the rewards."""
        return np.empty((count, len(self.problem.observed) + 1)), np.empty(count)

    def rows(self, arms: Ints, seen: NDArray[np.float64], rewards: NDArray[np.float64]) -> Rows:
        """Coded rows from what was drawn."""
        is_real = np.array([variable.is_real for variable in self.problem.observed], dtype=np.bool_)
        values = seen[:, :-1]
        codes = np.where(is_real, 0.0, values).astype(np.int64)
        coded = rewards.copy() if self.problem.reward_is_real else rewards.astype(np.int64)
        return Rows(arms, codes, coded, values[:, is_real])

    def limits(self, separating: object = None) -> NoReturn:
        """Raises an error: the bounds are for rewards of 0 or 1 and mediators with levels."""
        raise WorldError(
            "limits are worked out for rewards of 0 or 1 and mediators with levels; "
            f"{type(self).__name__} has others, and no closed form is known for them"
        )
