"""The causal bandits that came before, and the plain ones; see docs/explanation/policies.md."""

from ...core.policies.registry import find_policies
from .base import CountingPolicy
from .baselines import KLUCB, UCB1, UCBV, EpsilonGreedy, SmallUCB, SuccessiveElimination, UCBTuned
from .graph_posterior import GraphPosteriorThompson
from .late_rewards import DelayCorrectedThompson, ImpatientBandit
from .main_effects import MainEffectsThompson
from .ossb import OSSB
from .perfect_interventions import LattimoreParallel, PomisKLUCB, PomisTS, UCBPlus
from .regret_balancing import RegretBalancing
from .told_set import CTS, CUCB, HACUCB, ToldMeans
from .ucb_cv import UCBCV

__all__ = [
    "CTS",
    "CUCB",
    "HACUCB",
    "KLUCB",
    "OSSB",
    "UCB1",
    "UCBCV",
    "UCBV",
    "CountingPolicy",
    "DelayCorrectedThompson",
    "EpsilonGreedy",
    "GraphPosteriorThompson",
    "ImpatientBandit",
    "LattimoreParallel",
    "MainEffectsThompson",
    "PomisKLUCB",
    "PomisTS",
    "RegretBalancing",
    "SmallUCB",
    "SuccessiveElimination",
    "ToldMeans",
    "UCBPlus",
    "UCBTuned",
]

find_policies(__path__, __name__)
