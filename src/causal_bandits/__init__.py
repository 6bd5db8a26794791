"""Causal bandits without prior knowledge: discover separating sets while playing, and share what every arm learns.

import causal_bandits as cb

problem = cb.Problem(target="purchase", observed={"clicked": 2}, interventions={"banner": ["none", "red"]})
policy = cb.preset("safe", problem, seed=0)
arm = policy.ask()
policy.tell(arm, {"clicked": 1, "purchase": 0})

A live experiment is a study, which stores every decision before it returns it:

study = cb.Study.create("shop", problem, storage="sqlite:///studies.db", seed=0)
decision = study.ask()
study.tell(decision.id, {"clicked": 1}, reward=0)

The names here cover everyday work. The rest is one step away:

cb.policies      every policy, the comparators of the literature among them
cb.discovery     how separating sets are found, and what a discovery returns
cb.graphs        mixed graphs, separation, enumeration
cb.worlds        simulated and logged worlds
cb.datasets      packaged data
cb.simulation    single runs; what a simulated policy is told
cb.estimators    information sharing and its variance
cb.independence  conditional independence tests and Bayes factors
cb.experiments   figures and comparisons
cb.service       studies over HTTP
cb.errors        every exception raised on purpose
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import datasets, discovery, estimators, graphs, independence, policies, simulation, worlds
from ._version import __version__ as __version__
from .analysis import analyze
from .data import History
from .discovery import ASD, BayesFactors, DirectTesting, KnownSets, ResidualTesting, SeparatingSet, discover
from .errors import CausalBanditsError, moved
from .graphs import MixedGraph, pomis_sets, random_dag, separated, separating_sets
from .independence import g_squared
from .policies import (
    CausalThompsonSampling,
    CausalUCBNormal,
    SafePolicy,
    ThompsonSampling,
    UCBNormal,
    load_policy,
    preset,
)
from .problem import Arm, Problem, bins
from .simulation import observe, simulate
from .worlds import DiscreteSCM, LinearGaussianSCM, LoggedWorld, Mechanism, StructurelessWorld, perfect

if TYPE_CHECKING:
    from . import experiments as experiments
    from . import service as service
    from . import studies as studies
    from .experiments import compare, reproduce
    from .service import Client
    from .studies import Study

_ROOMS = (policies, worlds, graphs, discovery, simulation, estimators, independence)
_LATER = {"compare": "experiments", "reproduce": "experiments", "Study": "studies", "Client": "service"}
"""Names whose rooms draw or need a database: imported when first used, so that asking and telling starts quickly."""
_LATER_ROOMS = ("experiments", "service", "studies")


def __getattr__(name: str) -> Any:
    if name in _LATER_ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    if name == "Comparison":
        raise moved(f"{__name__}.{name}", f"{__name__}.experiments.{name}")
    for room in _ROOMS:
        if name in room.__all__:
            raise moved(f"{__name__}.{name}", f"{room.__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    rooms = {room.__name__.rpartition(".")[2] for room in _ROOMS}
    return sorted({*__all__, *rooms, *_LATER_ROOMS, "errors", *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "ASD",
    "Arm",
    "BayesFactors",
    "CausalBanditsError",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "Client",
    "DirectTesting",
    "DiscreteSCM",
    "History",
    "KnownSets",
    "LinearGaussianSCM",
    "LoggedWorld",
    "Mechanism",
    "MixedGraph",
    "Problem",
    "ResidualTesting",
    "SafePolicy",
    "SeparatingSet",
    "StructurelessWorld",
    "Study",
    "ThompsonSampling",
    "UCBNormal",
    "analyze",
    "bins",
    "compare",
    "datasets",
    "discover",
    "discovery",
    "g_squared",
    "graphs",
    "load_policy",
    "observe",
    "perfect",
    "policies",
    "pomis_sets",
    "preset",
    "random_dag",
    "reproduce",
    "separated",
    "separating_sets",
    "simulate",
    "worlds",
]
