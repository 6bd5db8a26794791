"""Mechanisms and levers of discrete worlds, and the arrays that they become."""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.compiled import Floats, Ints
from ...core.graphs import MixedGraph
from ...core.problem import Level, Variable
from ...core.validation import are_names
from ...errors import UnknownVariableError, WorldError, brief
from .sampler import Sampler

IDLE = "idle"


@dataclass(frozen=True, repr=False)
class Mechanism:
    """The mechanism of a variable: its distribution given its parents, which are variables or shared noises.

    Args:
        parents: Names of the parents.
        table: Probabilities with one axis per parent and a last one for the variable's own levels; or a function of the
            parents' levels that returns a level or a sequence of probabilities.

    >>> Mechanism(["A", "B"], lambda a, b: a ^ b).parents
    ('A', 'B')
    """

    parents: tuple[str, ...]
    table: Any

    def __init__(self, parents: Iterable[str], table: ArrayLike | Callable[..., Any]) -> None:
        if not isinstance(parents, str) and not are_names(parents):
            raise WorldError(f"parents is {brief(parents)}; expected a list of names")
        object.__setattr__(self, "parents", (parents,) if isinstance(parents, str) else tuple(parents))
        object.__setattr__(self, "table", table)

    def __repr__(self) -> str:
        try:
            table = "function" if callable(self.table) else f"table of shape {np.shape(self.table)}"
        except ValueError:  # rejected when a world is made of it
            table = "ragged table"
        return f"Mechanism(parents={list(self.parents)}, {table})"

    def probabilities(self, variable: Variable, parents: Sequence[Variable]) -> NDArray[np.float64]:
        """The table, checked, for a variable and its parents."""
        shape = (*(parent.size for parent in parents), variable.size)
        if callable(self.table):
            table = np.empty(shape)
            for cell in np.ndindex(shape[:-1]):
                levels = [parent.levels[code] for parent, code in zip(parents, cell, strict=True)]
                table[cell] = self._row(variable, self._call(variable, levels))
        else:
            table = np.asarray(self.table, dtype=np.float64)
        if table.shape != shape:
            raise WorldError(f"the table of {variable.name!r} has shape {table.shape}; expected {shape}")
        if not np.all(table >= 0) or not np.allclose(table.sum(axis=-1), 1):
            raise WorldError(f"the table of {variable.name!r} holds rows that are not probabilities summing to 1")
        return table

    def _call(self, variable: Variable, levels: list[Level]) -> Any:
        try:
            return self.table(*levels)
        except Exception as error:
            given = ", ".join(f"{name}={brief(level)}" for name, level in zip(self.parents, levels, strict=True))
            raise WorldError(
                f"the mechanism of {variable.name!r} failed at {given or 'no parents'}: {error}"
            ) from error

    @staticmethod
    def _row(variable: Variable, result: Any) -> NDArray[np.float64]:
        if isinstance(result, Sequence | np.ndarray) and not isinstance(result, str):
            chances = np.asarray(result, dtype=np.float64)
            if chances.shape != (variable.size,):
                raise WorldError(
                    f"{variable.name!r} got {brief(result)}; expected {variable.size} probabilities or a level"
                )
            return chances
        row: NDArray[np.float64] = np.eye(variable.size)[variable.code(result)]
        return row


@dataclass(frozen=True)
class Nudge:
    """A soft intervention that adds `log_odds` to the log-odds of reaching each higher level of a variable.

    The parents keep their influence, impossible levels stay impossible, and the nudges of several levers add up.

    Args:
        log_odds: Number to add.

    >>> Nudge(1.0).apply(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [[0.269, 0.731], [1.0, 0.0]]
    """

    log_odds: float

    def apply(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The table (levels last) after the nudge."""
        return nudged(table, self.log_odds)


def nudged(table: Floats, log_odds: float | Floats) -> Floats:
    """The table (levels last) after a nudge, or after each of several that broadcast against it."""
    above = table[..., ::-1].cumsum(axis=-1)[..., -2::-1].clip(0.0, 1.0)  # P(level >= 1), P(level >= 2), ...
    odds = np.exp(log_odds)
    shifted = above * odds / (1 - above + above * odds)
    edges = np.ones((*shifted.shape[:-1], 1))
    chain = np.concatenate([edges, shifted, 0 * edges], axis=-1)
    chances: Floats = chain[..., :-1] - chain[..., 1:]
    return chances


Effect = Mapping[str, Level | Mechanism | Nudge]
"""What one value of a lever does: which variables get a fixed level, another mechanism or a nudge."""


def perfect(variable: str, levels: Iterable[Level] = (0, 1)) -> dict[Level, Effect]:
    """A lever that leaves a variable alone or sets it to a level.

    Args:
        variable: Name of the variable.
        levels: Levels to set it to.

    >>> perfect("A")
    {'idle': {}, 0: {'A': 0}, 1: {'A': 1}}
    """
    if not isinstance(variable, str):
        raise WorldError(f"variable is {brief(variable)}; expected a name")
    found = () if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable) else levels
    chosen = tuple(itertools.islice(iter(found), 10_001)) if getattr(found, "ndim", 1) else ()
    if not 0 < len(chosen) <= 10_000 or not all(isinstance(level, Hashable) for level in chosen):
        raise WorldError(f"levels is {brief(levels)}; expected a list of levels, at most 10,000")
    return {IDLE: {}, **{level: {variable: level} for level in chosen}}


class Factors:
    """The distinct mechanisms of all arms, numbered, with their tables."""

    def __init__(self, nodes: list[Variable], places: dict[str, int]) -> None:
        self.nodes = nodes
        self.places = places
        self.node_names: list[str] = []
        self.parents: list[list[int]] = []
        self.tables: list[Floats] = []
        self._numbers: dict[tuple[str, object], int] = {}
        self._kept: list[object] = []

    def number(self, name: str, how: Mechanism | Level) -> int:
        """The number of a mechanism of a node, or of the node being set to a level."""
        if not isinstance(how, Mechanism | Hashable):
            raise WorldError(f"the mechanism of {name!r} is {brief(how)}; expected a Mechanism or a level")
        key = (name, id(how) if isinstance(how, Mechanism) else ("level", how))
        if key not in self._numbers:
            self._kept.append(how)  # an id is only good while its object lives
            node = self.nodes[self.places[name]]
            mechanism = how if isinstance(how, Mechanism) else Mechanism((), np.eye(node.size)[node.code(how)])
            for parent in mechanism.parents:
                if parent not in self.places:
                    raise UnknownVariableError(
                        f"{name!r} has a parent {brief(parent)} that is neither variable nor noise"
                    )
                if parent == name:
                    raise WorldError(f"{name!r} is a parent of itself; a cycle needs two variables or more")
            parents = [self.places[parent] for parent in mechanism.parents]
            self._numbers[key] = len(self.tables)
            self.node_names.append(name)
            self.parents.append(parents)
            self.tables.append(mechanism.probabilities(node, [self.nodes[place] for place in parents]))
        return self._numbers[key]

    def graph(self, numbers: Iterable[int]) -> MixedGraph:
        """The directed edges of some mechanisms, among variables and noises."""
        names = [node.name for node in self.nodes]
        return MixedGraph(
            names, [(names[parent], self.node_names[number]) for number in numbers for parent in self.parents[number]]
        )

    def sampler(self, order: Ints, mechanism: Ints, observed: Ints, target: int) -> Sampler:
        """Everything flat, for the compiled draw."""
        width = max(1, *(len(parents) for parents in self.parents))
        parents = np.full((len(self.tables), width), -1)
        strides = np.zeros((len(self.tables), width), dtype=np.int64)
        for number, places in enumerate(self.parents):
            sizes = self.tables[number].shape[:-1]
            for axis, place in enumerate(places):
                parents[number, axis] = place
                strides[number, axis] = math.prod(sizes[axis + 1 :])
        cumulative = []
        for table in self.tables:
            sums = table.cumsum(axis=-1)
            sums[..., -1] = 1.0  # the last level takes what rounding leaves
            cumulative.append(sums.ravel())
        starts = np.concatenate(([0], np.cumsum([len(flat) for flat in cumulative])[:-1])).astype(np.int64)
        sizes_of = np.array([table.shape[-1] for table in self.tables])
        flat = np.concatenate(cumulative)
        return Sampler(order, mechanism, parents, strides, sizes_of, starts, flat, observed, target)
