"""Worlds to play in: they know the truth, and no learner may import them."""

from .discrete_scm import DiscreteSCM
from .examples import example_world
from .mechanisms import Mechanism, perfect
from .paper import paper_world
from .sampler import Sampler, draw
from .structureless import StructurelessWorld
from .world import DiscreteWorld

__all__ = [
    "DiscreteSCM",
    "DiscreteWorld",
    "Mechanism",
    "Sampler",
    "StructurelessWorld",
    "draw",
    "example_world",
    "paper_world",
    "perfect",
]
