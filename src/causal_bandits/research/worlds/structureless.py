"""The structureless world of Fig. 2(c): no set separates anything, and every test is there to be fooled."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.seeds import Seed, generator
from ...errors import WorldError, brief
from .world import DiscreteWorld


def _numbers(means: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(means, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise WorldError(f"means is {brief(means)}; expected numbers between 0 and 1, one per arm") from None


class StructurelessWorld(DiscreteWorld):
    """Observed variables as in another world, with the reward replaced by a Bernoulli with a mean per arm.

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
