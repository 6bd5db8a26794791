"""The worlds of the paper's experiments, by number."""

from functools import lru_cache
from typing import Literal

import numpy as np

from ...core.datasets import sachs
from ...core.graphs import random_dag
from ...core.graphs.enumeration import DagClass, dag_classes
from ..simulation.one_run import World
from ..worlds import DiscreteSCM, LoggedWorld, StructurelessWorld, paper_world


@lru_cache(maxsize=1)
def four_node_classes() -> tuple[DagClass, ...]:
    """The 64 classes of 4-node DAGs in which Y has a parent, up to permuting the other nodes.

    The paper counts 234 of them; no reading of its text gives that number.
    """
    return tuple(dag_classes(["A", "B", "C", "Y"], "Y"))


def orbit_sizes() -> list[float]:
    """How many labeled graphs each class has."""
    return [float(found.size) for found in four_node_classes()]


def class_world(number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    """A world on the graph of a class, with the paper's distribution (appendix B.1)."""
    return paper_world(four_node_classes()[number].graph, seed=np.random.default_rng(seed))


def structureless_world(number: int, seed: np.random.SeedSequence) -> World:
    """The same, but the reward is replaced by one that depends on the arm alone."""
    of_base, of_means = seed.spawn(2)
    return StructurelessWorld(class_world(number, of_base), seed=np.random.default_rng(of_means))


def random_world(nodes: int, _number: int, seed: np.random.SeedSequence) -> DiscreteSCM:
    """A random graph of appendix B.2."""
    rng = np.random.default_rng(seed)
    names = [f"X{place}" for place in range(1, nodes)]
    return paper_world(random_dag([*names, "Y"], "Y", rng), seed=rng)


@lru_cache(maxsize=2)
def _sachs(scale: Literal["log", "raw"]) -> LoggedWorld:
    return LoggedWorld(*sachs(scale))


def sachs_world(scale: Literal["log", "raw"], _number: int, _seed: np.random.SeedSequence) -> World:
    """The bandit over the protein data."""
    return _sachs(scale)
