"""Worlds to simulate: structural causal models, logged data and worlds from the literature.

They know the truth, so no policy imports them.
"""

from ..limits import Limits
from .discrete_scm import DiscreteSCM
from .linear_scm import Change, LinearGaussianSCM, fix, random_linear_world, reweigh, scale, shift
from .literature import DIAGRAMS, bilodeau_world, lee_bareinboim_world, parallel_world, soft_world
from .logged import LoggedWorld
from .mechanisms import Mechanism, Nudge, perfect
from .networks import NETWORKS, from_bif
from .paper import cyclic_world, example_world, paper_world
from .planned import planned_world
from .practice import practice_world
from .real_experiments import hillstrom_spend_world, hillstrom_world, loan_world
from .reward_laws import RewardSCM, fixed, log_normal, negative_binomial, poisson
from .reward_worlds import count_world, ordered_world, revenue_world
from .segmented import segmented_world
from .world import ContinuousWorld, DiscreteWorld, StructurelessWorld

__all__ = [
    "DIAGRAMS",
    "NETWORKS",
    "Change",
    "ContinuousWorld",
    "DiscreteSCM",
    "DiscreteWorld",
    "Limits",
    "LinearGaussianSCM",
    "LoggedWorld",
    "Mechanism",
    "Nudge",
    "RewardSCM",
    "StructurelessWorld",
    "bilodeau_world",
    "count_world",
    "cyclic_world",
    "example_world",
    "fix",
    "fixed",
    "from_bif",
    "hillstrom_spend_world",
    "hillstrom_world",
    "lee_bareinboim_world",
    "loan_world",
    "log_normal",
    "negative_binomial",
    "ordered_world",
    "paper_world",
    "parallel_world",
    "perfect",
    "planned_world",
    "poisson",
    "practice_world",
    "random_linear_world",
    "revenue_world",
    "reweigh",
    "scale",
    "segmented_world",
    "shift",
    "soft_world",
]
