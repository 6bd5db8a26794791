"""Worlds to simulate: structural causal models, logged data and worlds from the literature.

They know the truth, so no policy imports them.
"""

from ...core.estimators.limits import Limits
from .bilodeau import bilodeau_world
from .changes import Change, fix, reweigh, scale, shift
from .continuous_world import ContinuousWorld
from .cyclic import cyclic_world
from .discrete_scm import DiscreteSCM
from .examples import example_world
from .hillstrom import hillstrom_spend_world, hillstrom_world
from .layers import layered_world
from .lee_bareinboim import DIAGRAMS, lee_bareinboim_world, random_tables
from .linear_scm import LinearGaussianSCM
from .loans import loan_world
from .logged import LoggedWorld
from .mechanisms import Mechanism, Nudge, perfect
from .networks import NETWORKS, from_bif
from .paper import paper_world
from .parallel import parallel_world
from .planned import planned_world
from .practice import practice_world
from .random_linear import random_linear_world
from .reward_laws import RewardSCM, fixed, log_normal, negative_binomial, poisson
from .reward_worlds import count_world, ordered_world, revenue_world
from .segmented import segmented_world
from .soft import soft_world
from .structureless import StructurelessWorld
from .wind_tunnel import wind_tunnel_world
from .world import DiscreteWorld

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
    "layered_world",
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
    "random_tables",
    "revenue_world",
    "reweigh",
    "scale",
    "segmented_world",
    "shift",
    "soft_world",
    "wind_tunnel_world",
]
