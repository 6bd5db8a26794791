"""Cycles among discrete variables: structural equations solved for every value of the noise.

A table is read as a structural equation: X has its own noise, uniform on [0, 1), and takes the level whose share
of the table's row, for the present levels of its parents, holds that noise. This is how worlds draw anyway; on a cycle
it also says which values go together. The noise matters only through the cuts of all rows, so it has finitely many
values, and going through them gives the exact law of a strongly connected component given its parents outside. That law
is then written as a chain of mechanisms without a cycle, for the sampler and for exact means.

Components are solved one after the other, parents first, each from its parents' final levels and its own noises alone.
So the variables obey sigma-separation (Forre and Mooij 2017; Bongers, Forre, Peters and Mooij 2021), also where
iteration chooses one of several solutions. d-separation holds in cyclic discrete worlds only by accident.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.problem import Arm
from ...errors import WorldError, listing
from .mechanisms import Factors, Mechanism

Cycles = Literal["unique", "iterate"]
"""Equations must have exactly one solution for every noise; or updates from a start must converge."""

MOST_CASES = 1 << 22
"""Values of noise and parents together, times the joint levels of the component: about a second."""
SAME = 1e-12
"""Cuts of the uniform noise that are closer differ by rounding alone."""


class Responses(NamedTuple):
    """A table as an equation: for every piece of the noise the level in each row."""

    shares: Floats
    """(pieces,): their probabilities."""
    levels: Ints
    """(pieces, rows)."""


def responses(table: Floats) -> Responses:
    """Cut the uniform noise at the cumulative probabilities of all rows.

    >>> found = responses(np.array([[0.5, 0.5], [0.2, 0.8]]))
    >>> found.shares.round(3).tolist(), found.levels.tolist()
    ([0.2, 0.3, 0.5], [[0, 0], [0, 1], [1, 1]])
    """
    inner = table.reshape(-1, table.shape[-1]).cumsum(axis=1)[:, :-1]
    cuts = np.concatenate(([0.0], np.unique(inner[(inner > SAME) & (inner < 1 - SAME)]), [1.0]))
    cuts = cuts[np.diff(cuts, prepend=-1.0) > SAME]
    middle = (cuts[:-1] + cuts[1:]) / 2
    return Responses(np.diff(cuts), (inner[None] <= middle[:, None, None]).sum(axis=2))


class Equations:
    """The equations of variables that form a cycle, in every case: each value of their noises and parents outside.

    `numbers` are the mechanisms of the cycle, one per variable.
    """

    def __init__(self, factors: Factors, numbers: tuple[int, ...]) -> None:
        self.names = [factors.node_names[number] for number in numbers]
        self.inside = [factors.places[name] for name in self.names]
        self.parents = [factors.parents[number] for number in numbers]
        self.rows = [factors.tables[number].shape[:-1] for number in numbers]
        self.outside = sorted({place for places in self.parents for place in places} - set(self.inside))
        self.sizes = [factors.nodes[place].size for place in self.inside]
        self.given = [factors.nodes[place].size for place in self.outside]
        self.responses = [responses(factors.tables[number]) for number in numbers]
        shape = (*self.given, *(len(each.shares) for each in self.responses))
        self.count = math.prod(shape)
        work = self.count * math.prod(self.sizes)
        if work > MOST_CASES:
            raise WorldError(
                f"the cycle through {listing(self.names)} has {work:,} combinations of noises, parents and levels, and "
                f"{MOST_CASES:,} are the most; use fewer levels, parents or distinct probabilities"
            )
        cases = np.unravel_index(np.arange(self.count), shape)
        self.outer, self.pieces = cases[: len(self.given)], cases[len(self.given) :]

    def update(self, levels: list[Ints]) -> list[Ints]:
        """What the equations make of the levels of all variables, in every case."""
        at = {**dict(zip(self.outside, self.outer, strict=True)), **dict(zip(self.inside, levels, strict=True))}
        found = []
        for each, piece, parents, sizes in zip(self.responses, self.pieces, self.parents, self.rows, strict=True):
            row = np.ravel_multi_index(tuple(at[parent] for parent in parents), sizes)
            found.append(each.levels[piece, row])
        return found

    def constant(self, levels: Iterable[int]) -> list[Ints]:
        """The same levels in every case."""
        return [np.full(self.count, level) for level in levels]

    def law(self, levels: list[Ints]) -> Floats:
        """P(variables | parents outside) where the variables have these levels."""
        shares = [each.shares[piece] for each, piece in zip(self.responses, self.pieces, strict=True)]
        shape = (*self.given, *self.sizes)
        cell = np.ravel_multi_index((*self.outer, *levels), shape)
        law: Floats = np.zeros(math.prod(shape))
        np.add.at(law, cell, np.prod(shares, axis=0))
        return law.reshape(shape)


def only_solution(equations: Equations, arm: Arm) -> list[Ints]:
    """The levels that solve the equations in every case; a WorldError unless there is exactly one solution."""
    solution = equations.constant([0] * len(equations.sizes))
    solutions = np.zeros(equations.count, dtype=np.int64)
    for levels in np.ndindex(*equations.sizes):
        tried = equations.constant(levels)
        solves = np.all([a == b for a, b in zip(equations.update(tried), tried, strict=True)], axis=0)
        solutions += solves
        solution = [np.where(solves, new, old) for new, old in zip(tried, solution, strict=True)]
    for wrong in {int(solutions.min()), int(solutions.max())} - {1}:
        number = f"{wrong} solutions" if wrong else "no solution"
        raise WorldError(
            f"the cycle through {listing(equations.names)} has {number} for some noise under {arm}; make it exactly "
            "one, or make a DiscreteSCM with cycles='iterate', which takes what updates from a start converge at"
        )
    return solution


def converged_solution(equations: Equations, start: list[int], arm: Arm) -> list[Ints]:
    """The fixed point that synchronous updates reach from a start; a WorldError unless they do in every case."""
    levels = equations.constant(start)
    for _ in range(math.prod(equations.sizes)):  # by then, updates that did not converge have met a state twice
        updated = equations.update(levels)
        if all(np.array_equal(new, old) for new, old in zip(updated, levels, strict=True)):
            return levels
        levels = updated
    raise WorldError(
        f"the cycle through {listing(equations.names)} does not converge for some noise under {arm}: its updates "
        "repeat without end; change its mechanisms, or start elsewhere (start=)"
    )


def without_cycles(
    factors: Factors, cycles: Cycles, start: Mapping[str, int], arms: Sequence[Arm], chosen: Sequence[list[int]]
) -> list[list[int]]:
    """For each arm the numbers of mechanisms with the same law, where every cycle is a chain with that of its solution.

    `start` has the level number that updates start from, by variable; the first level where none is given.
    """
    chains: dict[tuple[int, ...], list[Mechanism]] = {}
    found = []
    for arm, before in zip(arms, chosen, strict=True):
        numbers = list(before)
        for part in factors.graph(before).strongly_connected_components():
            if len(part) == 1:
                continue
            cycle = tuple(before[factors.places[name]] for name in part)
            if cycle not in chains:
                equations = Equations(factors, cycle)
                if cycles == "unique":
                    levels = only_solution(equations, arm)
                else:
                    levels = converged_solution(equations, [start.get(name, 0) for name in equations.names], arm)
                chains[cycle] = _chain(factors, equations, equations.law(levels))
            for name, mechanism in zip(part, chains[cycle], strict=True):
                numbers[factors.places[name]] = factors.number(name, mechanism)
        found.append(numbers)
    return found


def _chain(factors: Factors, equations: Equations, law: Floats) -> list[Mechanism]:
    """P(variables | parents outside), one variable after the other."""
    before = [factors.nodes[place].name for place in equations.outside]
    mechanisms = []
    for name in equations.names:
        table = law.sum(axis=tuple(range(len(before) + 1, law.ndim)))
        total = table.sum(axis=-1, keepdims=True)
        # Rows that never come up may hold anything.
        rows = np.divide(table, total, out=np.full_like(table, 1 / table.shape[-1]), where=total > 0)
        mechanisms.append(Mechanism(tuple(before), rows))
        before.append(name)
    return mechanisms
