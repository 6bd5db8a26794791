"""The causal bandits that came before, and the plain ones, one file each; see docs/policies.md."""

from .base import TallyPolicy
from .epsilon_greedy import EpsilonGreedy
from .kl_ucb import KLUCB
from .rules import choose_tally
from .successive_elimination import SuccessiveElimination
from .tally import Tally, learn_tally
from .ucb import UCB1, UCBV, SmallUCB, UCBTuned

__all__ = [
    "KLUCB",
    "UCB1",
    "UCBV",
    "EpsilonGreedy",
    "SmallUCB",
    "SuccessiveElimination",
    "Tally",
    "TallyPolicy",
    "UCBTuned",
    "choose_tally",
    "learn_tally",
]
