"""Causal bandits without prior knowledge: discover separating sets while playing, and share what every arm learns.

import causal_bandits as cb

problem = cb.Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
policy = cb.CausalThompsonSampling(problem, seed=0)
arm = policy.ask()
policy.tell(arm, {"clicked": 1, "purchase": 0})
"""

from typing import TYPE_CHECKING, Any

from . import datasets
from .analysis import analyze
from .data import History
from .discovery import ASD, DirectTesting, DiscoveredGraphs, KnownSets, ResidualTesting, SeparatingSet, discover
from .environments import (
    DiscreteSCM,
    LinearGaussianSCM,
    LoggedWorld,
    Mechanism,
    StructurelessWorld,
    example_world,
    fix,
    paper_world,
    perfect,
    random_linear_world,
    scale,
    shift,
)
from .errors import CausalBanditsError
from .estimators import information_sharing, linear_sharing, sharing_variance
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
from .policies import (
    CausalGaussianThompsonSampling,
    CausalThompsonSampling,
    CausalUCBNormal,
    GaussianThompsonSampling,
    ThompsonSampling,
    UCBNormal,
    load_policy,
)
from .problem import Arm, Problem, bins
from .simulate import Simulation, play, simulate

if TYPE_CHECKING:
    from .studies import Study

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Studies need a database library, which is imported when the first one is used."""
    if name == "Study":
        from .studies import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ASD",
    "Arm",
    "CausalBanditsError",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "DirectTesting",
    "DiscoveredGraphs",
    "DiscreteSCM",
    "GaussianThompsonSampling",
    "History",
    "IndependenceResult",
    "KnownSets",
    "LinearGaussianSCM",
    "LoggedWorld",
    "Mechanism",
    "MixedGraph",
    "Problem",
    "ResidualTesting",
    "SeparatingSet",
    "Simulation",
    "StructurelessWorld",
    "Study",
    "ThompsonSampling",
    "UCBNormal",
    "all_dags",
    "analyze",
    "bins",
    "dag_classes",
    "datasets",
    "discover",
    "example_world",
    "fix",
    "from_networkx",
    "g_squared",
    "information_sharing",
    "linear_sharing",
    "load_policy",
    "paper_world",
    "perfect",
    "play",
    "random_dag",
    "random_linear_world",
    "scale",
    "separated",
    "separating_sets",
    "sharing_variance",
    "shift",
    "simulate",
    "to_networkx",
]
