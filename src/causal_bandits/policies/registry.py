"""Policies by name: a new one is one file and one line here, and every contract test runs on it."""

import os
from pathlib import Path
from typing import Any

from ..errors import SaveFileError, listing
from .base import Policy
from .causal_thompson import CausalThompsonSampling
from .comparators.epsilon_greedy import EpsilonGreedy
from .comparators.hac_ucb import HACUCB
from .comparators.kl_ucb import KLUCB
from .comparators.lattimore import LattimoreGeneral, LattimoreParallel
from .comparators.lu_tree import LuTree
from .comparators.maiti import MaitiObserving
from .comparators.nair import NairObserving
from .comparators.pomis import PomisKLUCB, PomisTS
from .comparators.raps import RapsUCB
from .comparators.sen import SenPhases
from .comparators.successive_elimination import SuccessiveElimination
from .comparators.told_set import CTS, CUCB
from .comparators.ucb import UCB1, UCBV, SmallUCB, UCBTuned
from .comparators.ucb_plus import UCBPlus
from .comparators.ucb_plus_unknown import UnknownUCBPlus
from .comparators.yabe import YabePropagating
from .gaussian_thompson import CausalGaussianThompsonSampling, GaussianThompsonSampling
from .graph_posterior import GraphPosteriorThompson
from .safe_gaussian import SafeGaussianThompson, SafeUCBNormal
from .safe_thompson import SafeThompsonSampling
from .saving import read
from .thompson import ThompsonSampling
from .ucb_normal import CausalUCBNormal, UCBNormal

POLICIES: dict[str, type[Policy[Any]]] = {
    policy.name: policy
    for policy in (
        ThompsonSampling,
        CausalThompsonSampling,
        SafeThompsonSampling,
        GraphPosteriorThompson,
        UCBNormal,
        CausalUCBNormal,
        GaussianThompsonSampling,
        CausalGaussianThompsonSampling,
        SafeGaussianThompson,
        SafeUCBNormal,
        UCB1,
        UCBV,
        UCBTuned,
        SmallUCB,
        KLUCB,
        EpsilonGreedy,
        SuccessiveElimination,
        HACUCB,
        RapsUCB,
        UCBPlus,
        UnknownUCBPlus,
        LuTree,
        YabePropagating,
        NairObserving,
        CUCB,
        CTS,
        LattimoreParallel,
        LattimoreGeneral,
        SenPhases,
        MaitiObserving,
        PomisTS,
        PomisKLUCB,
    )
}


def load_policy(path: str | os.PathLike[str]) -> Policy[Any]:
    """Whatever policy a save file holds, ready to go on."""
    saved = read(Path(path))
    name = saved.header.get("policy")
    if not isinstance(name, str) or name not in POLICIES:
        raise SaveFileError(f"{str(path)!r} holds a {name!r} policy; this release has {listing(POLICIES)}")
    return POLICIES[name].restore(saved)
