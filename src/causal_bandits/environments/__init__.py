"""Worlds to play in: they know the truth, and no learner may import them."""

from .discrete_scm import DiscreteSCM
from .examples import example_world
from .linear_scm import Change, LinearGaussianSCM, fix, random_linear_world, scale, shift
from .logged import LoggedWorld
from .mechanisms import Mechanism, perfect
from .paper import paper_world
from .real_sampler import RealSampler, draw_real
from .real_world import RealWorld
from .sampler import Sampler, draw
from .structureless import StructurelessWorld
from .world import DiscreteWorld

__all__ = [
    "Change",
    "DiscreteSCM",
    "DiscreteWorld",
    "LinearGaussianSCM",
    "LoggedWorld",
    "Mechanism",
    "RealSampler",
    "RealWorld",
    "Sampler",
    "StructurelessWorld",
    "draw",
    "draw_real",
    "example_world",
    "fix",
    "paper_world",
    "perfect",
    "random_linear_world",
    "scale",
    "shift",
]
