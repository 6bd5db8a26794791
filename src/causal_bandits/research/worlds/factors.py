"""The distinct mechanisms of a world, numbered and flattened."""

import math
from collections.abc import Hashable, Iterable

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.graphs import MixedGraph
from ...core.problem import Level, Variable
from ...errors import UnknownVariableError, WorldError, brief
from .mechanisms import Mechanism
from .sampler import Sampler


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
