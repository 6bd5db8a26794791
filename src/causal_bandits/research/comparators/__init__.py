"""The causal bandits that came before, and the plain ones, one file each; see docs/explanation/policies.md."""

from ...core.policies.registry import find_policies
from .back_door import BackDoorBandit
from .base import CountingPolicy
from .elahi import PartialDiscovery
from .epsilon_greedy import EpsilonGreedy
from .galcb import LinearCausalBandit
from .graph_posterior import GraphPosteriorThompson
from .hac_ucb import HACUCB
from .kl_ucb import KLUCB
from .late_rewards import DelayCorrectedThompson, ImpatientBandit
from .lattimore import LattimoreGeneral, LattimoreParallel
from .lu_tree import LuTree
from .main_effects import MainEffectsThompson
from .maiti import MaitiObserving
from .nair import NairObserving
from .ossb import OSSB
from .pomis import PomisKLUCB, PomisTS
from .post_action import PostActionNonSeparator, PostActionSeparator
from .raps import RapsUCB
from .regret_balancing import RegretBalancing
from .sen import SenPhases
from .successive_elimination import SuccessiveElimination
from .told_means import ToldMeans
from .told_set import CTS, CUCB
from .ucb import UCB1, UCBV, SmallUCB, UCBTuned
from .ucb_cv import UCBCV
from .ucb_plus import UCBPlus
from .ucb_plus_unknown import UnknownUCBPlus
from .yabe import YabePropagating

__all__ = [
    "CTS",
    "CUCB",
    "HACUCB",
    "KLUCB",
    "OSSB",
    "UCB1",
    "UCBCV",
    "UCBV",
    "BackDoorBandit",
    "CountingPolicy",
    "DelayCorrectedThompson",
    "EpsilonGreedy",
    "GraphPosteriorThompson",
    "ImpatientBandit",
    "LattimoreGeneral",
    "LattimoreParallel",
    "LinearCausalBandit",
    "LuTree",
    "MainEffectsThompson",
    "MaitiObserving",
    "NairObserving",
    "PartialDiscovery",
    "PomisKLUCB",
    "PomisTS",
    "PostActionNonSeparator",
    "PostActionSeparator",
    "RapsUCB",
    "RegretBalancing",
    "SenPhases",
    "SmallUCB",
    "SuccessiveElimination",
    "ToldMeans",
    "UCBPlus",
    "UCBTuned",
    "UnknownUCBPlus",
    "YabePropagating",
]

find_policies(__path__, __name__)
