"""Worlds to play in: they know the truth, and no learner may import them."""

from .bilodeau import bilodeau_world
from .discrete_scm import DiscreteSCM
from .examples import example_world
from .hillstrom import hillstrom_world
from .lee_bareinboim import DIAGRAMS, lee_bareinboim_world, random_tables
from .linear_scm import Change, LinearGaussianSCM, fix, random_linear_world, scale, shift
from .logged import LoggedWorld
from .mechanisms import Mechanism, Nudge, perfect
from .paper import paper_world
from .parallel import parallel_world
from .practice import practice_world
from .real_sampler import RealSampler, draw_real
from .real_world import RealWorld
from .sampler import Sampler, draw
from .soft import soft_world
from .structureless import StructurelessWorld
from .world import DiscreteWorld

__all__ = [
    "DIAGRAMS",
    "Change",
    "DiscreteSCM",
    "DiscreteWorld",
    "LinearGaussianSCM",
    "LoggedWorld",
    "Mechanism",
    "Nudge",
    "RealSampler",
    "RealWorld",
    "Sampler",
    "StructurelessWorld",
    "bilodeau_world",
    "draw",
    "draw_real",
    "example_world",
    "fix",
    "hillstrom_world",
    "lee_bareinboim_world",
    "paper_world",
    "parallel_world",
    "perfect",
    "practice_world",
    "random_linear_world",
    "random_tables",
    "scale",
    "shift",
    "soft_world",
]
