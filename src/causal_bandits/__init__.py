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

cb.policies      the policies: the default, the paper's, and plain Thompson sampling
cb.discovery     how separating sets are found, and what a discovery returns
cb.graphs        mixed graphs, separation, enumeration
cb.estimators    information sharing and its variance
cb.independence  conditional independence tests and Bayes factors
cb.datasets      packaged data
cb.worlds        simulated and logged worlds
cb.simulation    single runs; what a simulated policy is told
cb.comparators   the other policies of the literature
cb.experiments   figures and comparisons
cb.studies       live experiments
cb.service       studies over HTTP
cb.errors        every exception raised on purpose

Everything is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__

if TYPE_CHECKING:
    from .core import datasets as datasets
    from .core import discovery as discovery
    from .core import estimators as estimators
    from .core import graphs as graphs
    from .core import independence as independence
    from .core import policies as policies
    from .core.data import History as History
    from .core.discovery import ASD as ASD
    from .core.discovery import BayesFactors as BayesFactors
    from .core.discovery import DirectTesting as DirectTesting
    from .core.discovery import KnownSets as KnownSets
    from .core.discovery import ResidualTesting as ResidualTesting
    from .core.discovery import SeparatingSet as SeparatingSet
    from .core.discovery import discover as discover
    from .core.graphs import MixedGraph as MixedGraph
    from .core.graphs import separating_sets as separating_sets
    from .core.policies import CausalThompsonSampling as CausalThompsonSampling
    from .core.policies import CausalUCBNormal as CausalUCBNormal
    from .core.policies import SafePolicy as SafePolicy
    from .core.policies import ThompsonSampling as ThompsonSampling
    from .core.policies import UCBNormal as UCBNormal
    from .core.policies import load_policy as load_policy
    from .core.policies import preset as preset
    from .core.problem import Arm as Arm
    from .core.problem import Problem as Problem
    from .core.problem import bins as bins
    from .errors import CausalBanditsError as CausalBanditsError
    from .product import analysis as analysis
    from .product import service as service
    from .product import studies as studies
    from .product.analysis import analyze as analyze
    from .product.service import Client as Client
    from .product.studies import Study as Study
    from .research import comparators as comparators
    from .research import experiments as experiments
    from .research import simulation as simulation
    from .research import worlds as worlds
    from .research.experiments import compare as compare
    from .research.experiments import reproduce as reproduce
    from .research.simulation import observe as observe
    from .research.simulation import simulate as simulate
    from .research.worlds import DiscreteSCM as DiscreteSCM
    from .research.worlds import LinearGaussianSCM as LinearGaussianSCM
    from .research.worlds import LoggedWorld as LoggedWorld
    from .research.worlds import StructurelessWorld as StructurelessWorld

_PACKAGES = {
    "core": ("datasets", "discovery", "estimators", "graphs", "independence", "policies"),
    "product": ("analysis", "service", "studies"),
    "research": ("comparators", "experiments", "simulation", "worlds"),
}
_NAMES = {
    "core.data": ("History",),
    "core.discovery": (
        *("ASD", "BayesFactors", "DirectTesting", "KnownSets", "ResidualTesting", "SeparatingSet", "discover"),
    ),
    "core.graphs": ("MixedGraph", "separating_sets"),
    "core.policies": (
        *("CausalThompsonSampling", "CausalUCBNormal", "SafePolicy", "ThompsonSampling", "UCBNormal"),
        *("load_policy", "preset"),
    ),
    "core.problem": ("Arm", "Problem", "bins"),
    "errors": ("CausalBanditsError",),
    "product.analysis": ("analyze",),
    "product.service": ("Client",),
    "product.studies": ("Study",),
    "research.experiments": ("compare", "reproduce"),
    "research.simulation": ("observe", "simulate"),
    "research.worlds": ("DiscreteSCM", "LinearGaussianSCM", "LoggedWorld", "StructurelessWorld"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {name: f"{wing}.{name}" for wing, names in _PACKAGES.items() for name in names} | {"errors": "errors"}

__all__ = sorted([*_HOMES, *_MODULES])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        found = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
