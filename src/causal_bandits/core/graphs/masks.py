"""A graph as integers: bit i is the i-th node, so a set of nodes is one int.

Set union, intersection and "is it empty" are then single machine operations, and no result can depend
on hash order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Masks(NamedTuple):
    """Six families of every node, by node index; ``components`` are the strongly connected ones.

    >>> masks = masks_of(3, directed=[(0, 1)], bidirected=[(1, 2)])
    >>> masks.parents, masks.spouses, masks.ancestors
    ((0, 1, 0), (0, 4, 2), (1, 3, 4))
    """

    parents: tuple[int, ...]
    children: tuple[int, ...]
    spouses: tuple[int, ...]
    ancestors: tuple[int, ...]
    descendants: tuple[int, ...]
    components: tuple[int, ...]


def bits(mask: int) -> Iterator[int]:
    """The positions of the bits that are set, lowest first.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def union(masks: Sequence[int], members: int) -> int:
    """The union of the masks of these members.

    >>> union((0b001, 0b010, 0b100), members=0b101)
    5
    """
    result = 0
    for node in bits(members):
        result |= masks[node]
    return result


def masks_of(n: int, directed: Iterable[tuple[int, int]], bidirected: Iterable[tuple[int, int]] = ()) -> Masks:
    """The masks of a graph given by its edges between node indices.

    >>> masks_of(2, directed=[(0, 1), (1, 0)]).components
    (3, 3)
    """
    parents, children, spouses = [0] * n, [0] * n, [0] * n
    for tail, head in directed:
        parents[head] |= 1 << tail
        children[tail] |= 1 << head
    for one, other in bidirected:
        spouses[one] |= 1 << other
        spouses[other] |= 1 << one
    ancestors, descendants = closure(parents), closure(children)
    components = tuple(up & down for up, down in zip(ancestors, descendants, strict=True))
    return Masks(tuple(parents), tuple(children), tuple(spouses), ancestors, descendants, components)


def closure(neighbors: Sequence[int]) -> tuple[int, ...]:
    """What each node reaches in any number of steps, itself included (Warshall's algorithm).

    >>> closure([0b010, 0b100, 0])
    (7, 6, 4)
    """
    reach = [mask | 1 << node for node, mask in enumerate(neighbors)]
    for middle, through in enumerate(reach):
        for node, mask in enumerate(reach):
            if mask >> middle & 1:
                reach[node] = mask | through
    return tuple(reach)
