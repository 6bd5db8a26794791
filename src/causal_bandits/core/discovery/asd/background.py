"""Background knowledge: edges that must or must not be there."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....errors import OptionError, UnknownVariableError, listing
from .graph_space import Graphs

Edge = tuple[int, int, bool]
"""From, to, and whether it is bidirected."""


@dataclass(frozen=True)
class Background:
    """Forbidden and required edges between system nodes, by number."""

    forbidden: tuple[Edge, ...] = ()
    required: tuple[Edge, ...] = ()

    @classmethod
    def read(cls, names: tuple[str, ...], forbidden: tuple[str, ...], required: tuple[str, ...]) -> "Background":
        """From texts such as "A -> B" and "A <-> B"; what contradicts itself is rejected.

        >>> Background.read(("A", "B"), ("A <-> B",), ("A -> B",))
        Background(forbidden=((0, 1, True),), required=((0, 1, False),))
        """
        no = tuple(_edge(text, names) for text in forbidden)
        yes = tuple(_edge(text, names) for text in required)
        both = sorted(set(no) & set(yes))
        if both:
            raise OptionError(f"edge {_text(both[0], names)!r} is both forbidden and required; drop one of the two")
        return cls(no, yes)

    def allows(self, graphs: Graphs) -> NDArray[np.bool_]:
        """Which graphs have all required edges and no forbidden one."""
        allowed = np.ones(len(graphs.parents), dtype=np.bool_)
        for edge in self.required:
            allowed &= has_edge(graphs, edge)
        for edge in self.forbidden:
            allowed &= ~has_edge(graphs, edge)
        return allowed


def has_edge(graphs: Graphs, edge: Edge) -> NDArray[np.bool_]:
    """Which graphs have an edge."""
    tail, head, bidirected = edge
    masks = graphs.spouses if bidirected else graphs.parents
    present: NDArray[np.bool_] = (masks[:, head] >> tail & 1).astype(np.bool_)
    return present


def split_edge(text: str) -> tuple[str, str, str]:
    """An edge as its first end, arrow and second end."""
    match = re.fullmatch(r"\s*(.+?)\s*(<->|->)\s*(.+?)\s*", text)
    if match is None:
        raise OptionError(f"edge {text!r} cannot be read; expected 'A -> B' or 'A <-> B'")
    return match[1], match[2], match[3]


def _edge(text: str, names: tuple[str, ...]) -> Edge:
    first, arrow, second = split_edge(text)
    ends = []
    for name in (first, second):
        if name not in names:
            raise UnknownVariableError(f"edge {text!r} names {name!r}; expected one of {listing(names)}")
        ends.append(names.index(name))
    if ends[0] == ends[1]:
        raise OptionError(f"edge {text!r} joins a variable with itself")
    if arrow == "<->":
        return min(ends), max(ends), True
    return ends[0], ends[1], False


def _text(edge: Edge, names: tuple[str, ...]) -> str:
    return f"{names[edge[0]]} {'<->' if edge[2] else '->'} {names[edge[1]]}"
