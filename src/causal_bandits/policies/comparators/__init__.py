"""The causal bandits that came before, and the plain ones, one file each; see docs/policies.md."""

from .base import TallyPolicy
from .epsilon_greedy import EpsilonGreedy
from .hac_ucb import HACUCB
from .kl_ucb import KLUCB
from .lattimore import LattimoreGeneral, LattimoreParallel
from .lu_tree import LuTree
from .maiti import MaitiObserving
from .nair import NairObserving
from .pomis import PomisKLUCB, PomisTS
from .raps import RapsUCB
from .rules import choose_tally
from .sen import SenPhases
from .successive_elimination import SuccessiveElimination
from .tally import Tally, learn_tally
from .told_set import CTS, CUCB
from .ucb import UCB1, UCBV, SmallUCB, UCBTuned
from .ucb_plus import UCBPlus
from .ucb_plus_unknown import UnknownUCBPlus
from .yabe import YabePropagating

__all__ = [
    "CTS",
    "CUCB",
    "HACUCB",
    "KLUCB",
    "UCB1",
    "UCBV",
    "EpsilonGreedy",
    "LattimoreGeneral",
    "LattimoreParallel",
    "LuTree",
    "MaitiObserving",
    "NairObserving",
    "PomisKLUCB",
    "PomisTS",
    "RapsUCB",
    "SenPhases",
    "SmallUCB",
    "SuccessiveElimination",
    "Tally",
    "TallyPolicy",
    "UCBPlus",
    "UCBTuned",
    "UnknownUCBPlus",
    "YabePropagating",
    "choose_tally",
    "learn_tally",
]
