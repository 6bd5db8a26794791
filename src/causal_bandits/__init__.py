"""Causal bandits without prior knowledge: discover separating sets while playing, and share what every arm learns.

import causal_bandits as cb

problem = cb.Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
policy = cb.CausalThompsonSampling(problem, seed=0)
arm = policy.ask()
policy.tell(arm, {"clicked": 1, "purchase": 0})
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import datasets
from .analysis import analyze
from .data import History
from .discovery import (
    ASD,
    BayesFactors,
    DirectTesting,
    DiscoveredGraphs,
    KnownSets,
    ResidualTesting,
    SeparatingSet,
    discover,
)
from .environments import (
    DiscreteSCM,
    LinearGaussianSCM,
    LoggedWorld,
    Mechanism,
    StructurelessWorld,
    bilodeau_world,
    example_world,
    fix,
    lee_bareinboim_world,
    paper_world,
    parallel_world,
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
    interventional_border,
    latent_projection,
    mis_sets,
    muct,
    pomis_sets,
    random_dag,
    separated,
    separating_sets,
    to_networkx,
)
from .independence import IndependenceResult, g_squared, log_bayes_factor
from .policies import (
    CTS,
    CUCB,
    HACUCB,
    KLUCB,
    UCB1,
    UCBV,
    CausalGaussianThompsonSampling,
    CausalThompsonSampling,
    CausalUCBNormal,
    EpsilonGreedy,
    GaussianThompsonSampling,
    GraphPosteriorThompson,
    LattimoreGeneral,
    LattimoreParallel,
    LuTree,
    MaitiObserving,
    NairObserving,
    PomisKLUCB,
    PomisTS,
    RapsUCB,
    SafeGaussianThompson,
    SafeThompsonSampling,
    SafeUCBNormal,
    SenPhases,
    SmallUCB,
    SuccessiveElimination,
    ThompsonSampling,
    Tier,
    UCBNormal,
    UCBPlus,
    UCBTuned,
    UnknownUCBPlus,
    YabePropagating,
    load_policy,
    preset,
)
from .problem import Arm, Problem, bins
from .simulation import Simulation, observe, play, simulate, told

if TYPE_CHECKING:
    from .experiments import Comparison, compare, reproduce
    from .studies import Study

__version__ = "0.2.0"

_LATER = {"Comparison": "experiments", "compare": "experiments", "reproduce": "experiments", "Study": "studies"}
"""Names whose rooms draw or need a database: imported when first used, so that asking and telling starts quickly."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ASD",
    "CTS",
    "CUCB",
    "HACUCB",
    "KLUCB",
    "UCB1",
    "UCBV",
    "Arm",
    "BayesFactors",
    "CausalBanditsError",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "Comparison",
    "DirectTesting",
    "DiscoveredGraphs",
    "DiscreteSCM",
    "EpsilonGreedy",
    "GaussianThompsonSampling",
    "GraphPosteriorThompson",
    "History",
    "IndependenceResult",
    "KnownSets",
    "LattimoreGeneral",
    "LattimoreParallel",
    "LinearGaussianSCM",
    "LoggedWorld",
    "LuTree",
    "MaitiObserving",
    "Mechanism",
    "MixedGraph",
    "NairObserving",
    "PomisKLUCB",
    "PomisTS",
    "Problem",
    "RapsUCB",
    "ResidualTesting",
    "SafeGaussianThompson",
    "SafeThompsonSampling",
    "SafeUCBNormal",
    "SenPhases",
    "SeparatingSet",
    "Simulation",
    "SmallUCB",
    "StructurelessWorld",
    "Study",
    "SuccessiveElimination",
    "ThompsonSampling",
    "Tier",
    "UCBNormal",
    "UCBPlus",
    "UCBTuned",
    "UnknownUCBPlus",
    "YabePropagating",
    "all_dags",
    "analyze",
    "bilodeau_world",
    "bins",
    "compare",
    "dag_classes",
    "datasets",
    "discover",
    "example_world",
    "fix",
    "from_networkx",
    "g_squared",
    "information_sharing",
    "interventional_border",
    "latent_projection",
    "lee_bareinboim_world",
    "linear_sharing",
    "load_policy",
    "log_bayes_factor",
    "mis_sets",
    "muct",
    "observe",
    "paper_world",
    "parallel_world",
    "perfect",
    "play",
    "pomis_sets",
    "preset",
    "random_dag",
    "random_linear_world",
    "reproduce",
    "scale",
    "separated",
    "separating_sets",
    "sharing_variance",
    "shift",
    "simulate",
    "to_networkx",
    "told",
]
