"""Causal bandits without prior knowledge: discover separating sets while playing, and share what every arm learns.

import causal_bandits as cb

problem = cb.Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
policy = cb.CausalThompsonSampling(problem, seed=0)
arm = policy.ask()
policy.tell(arm, {"clicked": 1, "purchase": 0})
"""

from .data import History
from .discovery import ASD, DirectTesting, DiscoveredGraphs, KnownSets, SeparatingSet, discover
from .environments import DiscreteSCM, Mechanism, StructurelessWorld, example_world, paper_world, perfect
from .errors import CausalBanditsError
from .estimators import information_sharing, sharing_variance
from .graphs import (
    MixedGraph,
    all_dags,
    dag_classes,
    from_networkx,
    random_dag,
    separated,
    separating_sets,
    to_networkx,
)
from .independence import IndependenceResult, g_squared
from .policies import CausalThompsonSampling, ThompsonSampling, load_policy
from .problem import Arm, Problem, bins
from .simulate import Simulation, play, simulate

__version__ = "0.1.0"

__all__ = [
    "ASD",
    "Arm",
    "CausalBanditsError",
    "CausalThompsonSampling",
    "DirectTesting",
    "DiscoveredGraphs",
    "DiscreteSCM",
    "History",
    "IndependenceResult",
    "KnownSets",
    "Mechanism",
    "MixedGraph",
    "Problem",
    "SeparatingSet",
    "Simulation",
    "StructurelessWorld",
    "ThompsonSampling",
    "all_dags",
    "bins",
    "dag_classes",
    "discover",
    "example_world",
    "from_networkx",
    "g_squared",
    "information_sharing",
    "load_policy",
    "paper_world",
    "perfect",
    "play",
    "random_dag",
    "separated",
    "separating_sets",
    "sharing_variance",
    "simulate",
    "to_networkx",
]
