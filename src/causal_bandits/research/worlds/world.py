"""What every discrete world can do."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Floats, Ints
from ...core.data import Rows
from ...core.estimators.limits import Limits, limits_of
from ...core.problem import Arm, Level, Problem
from ...core.seeds import check_generator
from ...errors import UnknownVariableError, WorldError, brief, listing, whole_number
from .sampler import Sampler, draw_many
from .segment_draws import DrawsSegments

MOST_CELLS = 2**20
"""Joint values of a set, times arms, that limits are computed for."""


class DiscreteWorld(DrawsSegments):
    """A bandit that knows itself: its problem, the exact mean of every arm, and how to draw.

    Args:
        problem: What is played in it.
        sampler: Draws the observed variables and the reward of an arm.
        means: Exact mean reward of every arm.
    """

    numbers: ClassVar[type] = int
    """What its sampler draws: level numbers."""
    draw: Callable[[np.random.Generator], "DiscreteWorld"] | None = None
    """Draws worlds like this one, if known: the prior of a Bayes oracle."""

    def __init__(self, problem: Problem, sampler: Sampler, means: NDArray[np.float64]) -> None:
        self.problem = problem
        self.sampler = sampler
        self.means = means

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.outline})"

    def pull(self, arm: Arm | Mapping[str, Level], rng: np.random.Generator) -> dict[str, Level]:
        """Pull an arm once: every observed variable and the reward, by name."""
        rows = self.sample(arm, 1, rng)
        seen = {
            variable.name: variable.levels[code]
            for variable, code in zip(self.problem.observed, rows.codes[0], strict=True)
        }
        return {**seen, self.problem.target: int(rows.rewards[0])}

    def sample(self, arm: Arm | Mapping[str, Level], count: int, rng: np.random.Generator) -> Rows:
        """Pull an arm many times; coded rows."""
        check_generator(rng)
        count = whole_number("count", count, 0, 100_000_000)
        number = self.problem.index(arm)
        codes, rewards = self.room(count)
        draw_many(self.sampler, number, rng, codes, rewards)
        return self.rows(np.full(count, number), codes, rewards)

    def room(self, count: int) -> tuple[Ints, Ints]:
        """Arrays for what this many pulls will show: the observed variables, and the rewards."""
        return np.empty((count, len(self.problem.observed)), dtype=np.int64), np.empty(count, dtype=np.int64)

    def rows(self, arms: Ints, codes: Ints, rewards: Ints) -> Rows:
        """Coded rows from what was drawn."""
        return Rows(arms, codes, rewards, np.empty((len(arms), 0)))

    # The truth

    def distribution(self, arm: Arm | Mapping[str, Level], variables: Iterable[str] | None = None) -> Floats:
        """Exact P(variables | arm), one axis per variable in the order named; by default all that is seen."""
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
        """How little regret is possible: lower bounds C ln T without and with mediators, and what they explain.

        Args:
            separating: Names of the set S; by default one that separates the levers from the reward, or all observed
                variables where none does. A set that does not separate is taken as if it did, by E[Y | S] averaged over
                arms, and `separates` says so.

        >>> from causal_bandits.research.worlds import loan_world
        >>> found = loan_world().limits()
        >>> found.separating, found.separates, round(found.eta2, 3)
        (('applied',), False, 0.845)
        """
        if self.problem.segments:
            raise WorldError("limits are of a world without segments; ask for those of each segment's world")
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
